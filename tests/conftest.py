"""What every test relies on."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def _sigint_raises():
    """Make SIGINT raise KeyboardInterrupt, also in background jobs, which inherit it as ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
