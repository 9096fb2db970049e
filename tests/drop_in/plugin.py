"""A pytest plugin that runs scikit-learn's own tests with Spinney's classes in the place of scikit-learn's.

`expected_failures.toml` names every test that fails, by reason. A test that fails and is not in it, one that
is in it and passes, and a name in it that is no test are failures of the run. `--failures-to FILE` writes the
names of tests that fail unexpectedly, which are to be mended, or put into the list with a reason.
"""

import fnmatch
import importlib
import os
import tomllib
from pathlib import Path

os.environ.setdefault("SKLEARN_SEED", "0")  # of the random numbers that its tests draw

import pytest
import sklearn
from sklearn.utils.discovery import all_estimators

import spinney

PACKAGES = (
    "discriminant_analysis",
    "ensemble",
    "inspection",
    "linear_model",
    "multiclass",
    "multioutput",
    "naive_bayes",
    "svm",
    "tree",
)
LIST = Path(__file__).with_name("expected_failures.toml")
REPLACED = pytest.StashKey[list[str]]()


def put_in_place() -> list[str]:
    """Replace each public name of scikit-learn that Spinney has, too, and return the names."""
    left = tomllib.loads(LIST.read_text())["not_replaced"]
    all_estimators()  # imports every module of scikit-learn, whose own use of its classes stays as it is
    importlib.import_module("sklearn.tests.metadata_routing_common")
    replaced = []
    for package in PACKAGES:
        module = importlib.import_module(f"sklearn.{package}")
        for name in getattr(module, "__all__", dir(module)):
            if name not in spinney.__all__ or name in left:
                continue
            theirs, ours = getattr(module, name), getattr(spinney, name)
            if theirs.__module__.startswith(f"sklearn.{package}"):
                if getattr(ours, "counts_as", None) is not None:
                    theirs.register(ours)  # as happens at its first use, by a name that now is its own
                setattr(module, name, ours)
                replaced.append(name)
    return replaced


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures-to", type=Path, help="file for the names of unexpected failures")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPLACED] = put_in_place()


def pytest_report_header(config: pytest.Config) -> str:
    names = config.stash[REPLACED]
    return f"scikit-learn {sklearn.__version__} with {len(names)} names of Spinney: {', '.join(names)}"


def test_name(item: pytest.Item) -> str:
    """The name of a test as in the list: `ensemble/tests/test_voting.py::test_predict[42]`."""
    path = item.path.relative_to(Path(sklearn.__file__).parent).as_posix()
    return f"{path}::{item.name}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    listed = tomllib.loads(LIST.read_text())
    if not sklearn.__version__.startswith(listed["scikit-learn"] + "."):
        raise pytest.UsageError(f"{LIST.name} is for scikit-learn {listed['scikit-learn']}.")
    by_name = {test_name(item): item for item in items}
    files = {name.split("::")[0] for name in by_name}
    for name, item in by_name.items():
        item.user_properties.append(("name", name))
    unknown = []
    for group in listed["failures"]:
        strict = not group.get("may_pass", False)
        for pattern in group["tests"]:
            # Brackets are part of a test's name, only * is a wildcard.
            matching = fnmatch.filter(by_name, pattern.replace("[", "[[]"))
            if not matching and pattern.split("::")[0] in files:
                unknown.append(pattern)
            for name in matching:
                by_name[name].add_marker(pytest.mark.xfail(reason=group["reason"], strict=strict))
    if unknown:
        raise pytest.UsageError(f"{LIST.name} names tests that do not exist: {', '.join(unknown)}")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    path = config.getoption("--failures-to")
    if path is not None:
        failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        path.write_text("".join(f"{dict(report.user_properties).get('name')}\n" for report in failed))
