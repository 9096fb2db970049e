"""Docstrings of everything public: numpydoc sections that name what the code has, neither more nor less."""

import dataclasses
import inspect
import re
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from contracts.learners import LEARNERS, UNSUPERVISED, mixed_data
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data

PACKAGES = (
    "spinney",
    "spinney.adaboost",
    "spinney.bagging",
    "spinney.bayes",
    "spinney.conformal",
    "spinney.data",
    "spinney.datasets",
    "spinney.discriminant",
    "spinney.distributed",
    "spinney.diversity",
    "spinney.ensembles",
    "spinney.export",
    "spinney.forests",
    "spinney.gradient_boosting",
    "spinney.inspect",
    "spinney.io",
    "spinney.linear",
    "spinney.losses",
    "spinney.model_selection",
    "spinney.multiclass",
    "spinney.online",
    "spinney.perturb",
    "spinney.plotting",
    "spinney.svm",
    "spinney.trees",
)

SECTIONS = {
    "Attributes",
    "Examples",
    "Methods",
    "Notes",
    "Parameters",
    "Raises",
    "References",
    "Returns",
    "See Also",
    "Warns",
    "Yields",
}
POETRY = re.compile(r"(Give|Be|Say|Tell|Hold|Let)\b")


def sections_of(docstring: str) -> dict[str, list[str]]:
    """Split a docstring into its numpydoc sections; the summary and what follows it stand under ''."""
    lines = inspect.cleandoc(docstring).splitlines()
    found: dict[str, list[str]] = {"": []}
    name = ""
    skip = False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if skip:
            skip = False
        elif line in SECTIONS and re.fullmatch("-{3,}", after):
            name, skip = line, True
            found[name] = []
        else:
            found[name].append(line)
    return found


def entries_of(section: list[str]) -> dict[str, str]:
    """Return name -> description of a section such as Parameters; ``a, b : int`` describes two."""
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in section:
        if line and not line[0].isspace():
            names = [name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")]
            entries |= dict.fromkeys(names, "")
        else:
            for name in names:
                entries[name] += line.strip()
    return entries


def owner_of(thing: Any) -> str:
    """Return the package that a class or function is defined in."""
    return ".".join(thing.__module__.split(".")[:2])


def public_things() -> dict[str, Any]:
    """Return every public class and function by its shortest name."""
    found: dict[int, tuple[str, Any]] = {}
    for package in PACKAGES:
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and id(thing) not in found:
                found[id(thing)] = (f"{package}.{name}", thing)
    return dict(found.values())


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the methods that Spinney defines, inherited ones among them, by name."""
    for name in dir(cls):
        attribute = inspect.getattr_static(cls, name)
        if isinstance(attribute, classmethod | staticmethod):
            attribute = attribute.__func__
        function = getattr(attribute, "fn", attribute)  # behind scikit-learn's available_if
        ours = inspect.isfunction(function) and function.__module__.startswith("spinney.")
        if ours and not name.startswith("_"):
            yield name, function


def parameters_of(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def is_record(cls: type) -> bool:
    """A dataclass or named tuple: its fields may be described as parameters or as attributes."""
    return hasattr(cls, "_fields") or (dataclasses.is_dataclass(cls) and not is_estimator(cls))


def is_estimator(cls: type) -> bool:
    return hasattr(cls, "get_params")


def problems_of(function: Any, name: str, *, example: bool) -> Iterator[str]:
    """Yield what is wrong with the docstring of a function or method."""
    docstring = inspect.getdoc(function)
    if not docstring:
        yield f"{name}: no docstring"
        return
    sections = sections_of(docstring)
    yield from summary_problems(name, sections[""])
    yield from entry_problems(name, "Parameters", sections, parameters_of(function))
    returned = inspect.signature(function).return_annotation
    if returned not in (None, "None", inspect.Signature.empty) and not {"Returns", "Yields"} & set(sections):
        yield f"{name}: no Returns section"
    if example and "Examples" not in sections:
        yield f"{name}: no Examples section"


def summary_problems(name: str, summary: list[str]) -> Iterator[str]:
    if not summary or POETRY.match(summary[0]):
        yield f"{name}: the summary line is {summary[:1]}"


def entry_problems(
    name: str, title: str, sections: dict[str, list[str]], expected: list[str]
) -> Iterator[str]:
    entries = entries_of(sections.get(title, []))
    if list(entries) != expected:
        yield f"{name}: {title} are {list(entries)}, should be {expected}"
    for entry, text in entries.items():
        if not text:
            yield f"{name}: {title} do not describe {entry!r}"


@cache
def fitted_attributes(cls: type) -> frozenset[str]:
    """Return the public fitted attributes of a class, over all settings of the contracts."""
    found: set[str] = set()
    for learner in (*LEARNERS, *UNSUPERVISED, *MATRIX_LEARNERS):
        if learner.make is not cls:
            continue
        make_data = matrix_data if learner in MATRIX_LEARNERS else mixed_data
        X, y, _ = make_data(learner.kind, 80)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = learner().fit(X, y)
        names = {name for name in dir(cls) if isinstance(inspect.getattr_static(cls, name), property)}
        found |= {name for name in (*vars(model), *names) if name.endswith("_") and name[0] != "_"}
    return frozenset(found)


def may_have(cls: type, name: str) -> bool:
    """Whether a class declares an attribute, which only some settings set."""
    declared = ("__annotations__", "_state_attributes", "_required_attributes", "_transient_attributes")
    return hasattr(cls, name) or any(
        name in vars(base).get(where, ()) for base in cls.__mro__ for where in declared
    )


def class_problems(cls: Any) -> Iterator[str]:
    """Yield what is wrong with the docstrings of a class and of its methods."""
    name = cls.__name__
    if not cls.__doc__:
        yield f"{name}: no docstring"
        return
    sections = sections_of(cls.__doc__)
    yield from summary_problems(name, sections[""])
    for method, function in public_methods(cls):
        yield from problems_of(function, f"{name}.{method}", example=False)
    if issubclass(cls, BaseException):
        return
    parameters = parameters_of(cls)
    if is_record(cls) and "Attributes" in sections:
        described = entries_of(sections["Attributes"])
        missing = [field for field in parameters if not described.get(field)]
        if missing:
            yield f"{name}: Attributes do not describe {missing}"
    else:
        yield from entry_problems(name, "Parameters", sections, parameters)
    if "Examples" not in sections:
        yield f"{name}: no Examples section"
    if is_estimator(cls):
        yield from attribute_problems(cls, sections)


def attribute_problems(cls: type, sections: dict[str, list[str]]) -> Iterator[str]:
    described = entries_of(sections.get("Attributes", []))
    found = fitted_attributes(cls)
    if missing := sorted(found - set(described)):
        yield f"{cls.__name__}: Attributes do not name {missing}"
    if extra := sorted(name for name in set(described) - found if not may_have(cls, name)):
        yield f"{cls.__name__}: Attributes name {extra}, which no fitted model has"
    if empty := sorted(name for name, text in described.items() if not text):
        yield f"{cls.__name__}: Attributes do not describe {empty}"


THINGS = public_things()


@pytest.mark.parametrize("name", THINGS)
def test_the_docstring_describes_what_the_code_has(name: str) -> None:
    thing = THINGS[name]
    problems = class_problems(thing) if inspect.isclass(thing) else problems_of(thing, name, example=True)
    assert not (found := list(problems)), "\n".join(found)


def test_the_parser_reads_numpydoc() -> None:
    sections = sections_of(
        """Compute something.

        Parameters
        ----------
        X, y : array
            Two of them.
        *rest : int
            More.

            Still more.
        verbose : int, default=0

        Returns
        -------
        float
            The sum.
        """
    )
    assert sections[""] == ["Compute something.", ""]
    entries = entries_of(sections["Parameters"])
    assert list(entries) == ["X", "y", "rest", "verbose"]
    assert entries["rest"] == "More.Still more." and not entries["verbose"]
    assert list(entry_problems("f", "Parameters", sections, ["X", "y", "rest", "verbose"]))
    assert list(summary_problems("f", ["Give a number."])) and not list(
        summary_problems("f", ["Given a number."])
    )


def test_there_are_public_things_of_every_family() -> None:
    assert {owner_of(thing) for thing in THINGS.values()} >= set(PACKAGES[1:])
