"""An attribute is computed once, and a fork while another thread computes it leaves the child free to."""

import os
import signal
import threading

import pytest

from spinney.core.cached_attribute import cached_attribute
from spinney.data.features import Feature
from spinney.data.schema import Schema
from spinney.tree.tree_arrays import TreeArrays


class Slow:
    """Compute an attribute that waits until it is allowed to go on."""

    def __init__(self, *, go: bool = False) -> None:
        self.started, self.go = threading.Event(), threading.Event()
        if go:
            self.go.set()

    @cached_attribute
    def value(self) -> int:
        """Wait and return."""
        self.started.set()
        self.go.wait()
        return 7


def test_the_value_is_computed_once() -> None:
    slow = Slow(go=True)
    assert slow.value == 7
    slow.go.clear()
    assert slow.value == 7 and vars(slow)["value"] == 7
    assert Slow.value.__doc__ == "Wait and return."


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_while_a_thread_computes_does_not_wait() -> None:
    slow = Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    slow.started.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that waits
        os._exit(Slow(go=True).value)
    _, status = os.waitpid(child, 0)
    slow.go.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Schema, "names"), (Schema, "categorical"), (Feature, "code_of"), (TreeArrays, "depth")],
)
def test_schemas_and_trees_have_no_locks(owner: type, name: str) -> None:
    assert isinstance(vars(owner)[name], cached_attribute)
