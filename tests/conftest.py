"""What every test relies on."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# No test depends on the clock: other programs may use the same cores.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")


@pytest.fixture(autouse=True, scope="session")
def _sigint_raises():
    """Make SIGINT raise KeyboardInterrupt, also in background jobs, which inherit it as ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
