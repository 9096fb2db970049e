"""Pages of the API reference, from the signatures and numpydoc docstrings of the public names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import griffe

import spinney

GROUPS: dict[str, tuple[str, ...]] = {
    "Trees": ("spinney.trees",),
    "Forests and bagging": ("spinney.forests", "spinney.bagging"),
    "Boosting": ("spinney.gradient_boosting", "spinney.adaboost"),
    "Combining models": ("spinney.ensembles", "spinney.perturb", "spinney.multiclass"),
    "Linear models": ("spinney.linear", "spinney.online"),
    "Support vector machines": ("spinney.svm",),
    "Naive Bayes and discriminant analysis": ("spinney.bayes", "spinney.discriminant"),
}
"""Estimators by heading: the packages that define them."""

MODULES = (
    "spinney.datasets",
    "spinney.model_selection",
    "spinney.inspect",
    "spinney.plotting",
    "spinney.conformal",
    "spinney.diversity",
    "spinney.metrics",
    "spinney.gradient_boosting",
    "spinney.ensembles",
    "spinney.export",
    "spinney.io",
)
"""Modules with public names of their own, one page each."""

_ROLE = re.compile(r":(?:class|func|meth):`~?([\w.]+)`")
_LITERAL = re.compile(r"``([^`]+)``")
_NAME = re.compile(r"(?<![`\w\[])`([\w.]+)`(?!`)")
_OUTSIDE = {"BaseEstimator", "_MetadataRequester"}
_FOR_ENSEMBLES = {
    "fit_training_set",
    "grow_plan",
    "read_training_set",
    "read_training_table",
    "set_tree",
    "tree_sum",
    "weigh_validation_rows",
}
"""Methods that Spinney's ensembles call on their members."""


def public_names() -> dict[str, Any]:
    """Return the public objects of `spinney` by name, modules left out."""
    found = {name: getattr(spinney, name) for name in spinney.__all__ if name != "__version__"}
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


def module_names(module: str) -> dict[str, Any]:
    """Return the public objects of a module that `spinney` itself does not have."""
    loaded, known = import_module(module), public_names()
    found = {name: getattr(loaded, name) for name in loaded.__all__ if name not in known}
    return {
        name: value for name, value in found.items() if inspect.isroutine(value) or inspect.isclass(value)
    }


def pages() -> dict[str, str]:
    """Return the Markdown of every page by its path in the site."""
    found = {f"api/{name}.md": _page(name, value) for name, value in public_names().items()}
    found |= {f"api/{module}.md": _module_page(module) for module in MODULES}
    return {"api/index.md": _index()} | found


def navigation() -> list[dict[str, Any]]:
    """Return the part of the navigation that lists the reference."""
    groups = [
        {heading: [{name: f"api/{name}.md"} for name in names]} for heading, names in _grouped().items()
    ]
    modules = {"Modules": [{module: f"api/{module}.md"} for module in MODULES]}
    return ["api/index.md", *groups, modules]  # type: ignore[list-item]


def _grouped() -> dict[str, list[str]]:
    """Return the public names by heading."""
    rest = dict(public_names())
    found: dict[str, list[str]] = {}
    for heading, packages in GROUPS.items():
        members = [
            name
            for name, value in rest.items()
            if inspect.isclass(value) and value.__module__.startswith(packages)
        ]
        found[heading] = sorted(members)
        rest = {name: value for name, value in rest.items() if name not in members}
    return found | {"Functions and others": sorted(rest)}


def _index() -> str:
    lines = ["# API reference", "", "Every public name, from the docstrings of the code.", ""]
    known = public_names()
    for heading, names in _grouped().items():
        lines += [f"## {heading}", "", "| name | |", "|---|---|"]
        lines += [f"| [`{name}`]({name}.md) | {_summary(known[name])} |" for name in names] + [""]
    lines += ["## Modules", "", "| module | |", "|---|---|"]
    lines += [f"| [`{module}`]({module}.md) | {_summary(import_module(module))} |" for module in MODULES]
    return "\n".join(lines) + "\n"


def _module_page(module: str) -> str:
    names = module_names(module)
    lines = [f"# {module}", "", _prose(inspect.getdoc(import_module(module)) or ""), ""]
    also = sorted(set(import_module(module).__all__) & set(public_names()))
    if also:
        lines += ["Also: " + ", ".join(f"[`{name}`]({name}.md)" for name in also) + ".", ""]
    for name, value in names.items():
        lines += [*_describe(name, value, level=2)]
    return "\n".join(lines) + "\n"


def _page(name: str, value: Any) -> str:
    lines = [*_describe(name, value, level=1)]
    return "\n".join(lines) + "\n"


def _describe(name: str, value: Any, level: int) -> Iterator[str]:
    """Yield the lines about a class or a function."""
    yield from ("#" * level + f" {name}", "")
    yield from _docstring(name, value)
    if not inspect.isclass(value):
        return
    methods = _methods(value)
    if methods:
        yield from ("#" * (level + 1) + " Methods", "")
        for method, function in methods.items():
            yield from ("#" * (level + 2) + f" {method}", "")
            yield from _docstring(method, function)


def _has_signature(value: Any) -> bool:
    """Return whether users call it: records that functions return are not made by them."""
    own = "__init__" in getattr(value, "__dict__", {}) or hasattr(value, "get_params")
    return not inspect.isclass(value) or own or hasattr(value, "__dataclass_fields__")


def _methods(cls: type) -> dict[str, Any]:
    """Return the public methods, those that scikit-learn adds to every estimator left out."""
    found = {}
    for name in sorted(dir(cls)):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        ours = owner.__module__.startswith(("spinney", "sklearn")) and owner.__name__ not in _OUTSIDE
        ours = ours and name not in _FOR_ENSEMBLES and not name.endswith("_request")
        value = inspect.unwrap(getattr(cls, name)) if not name.startswith("_") and ours else None
        if inspect.isfunction(value) or inspect.ismethod(value):
            found[name] = value
    return found


def _signature(name: str, value: Any) -> Iterator[str]:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    if len(text) > 80:
        parts = [str(parameter) for parameter in bare]
        first_keyword = next((i for i, p in enumerate(bare) if p.kind is p.KEYWORD_ONLY), None)
        variable = any(p.kind is p.VAR_POSITIONAL for p in bare)
        if first_keyword is not None and not variable:
            parts.insert(first_keyword, "*")
        text = "(\n" + "".join(f"    {part},\n" for part in parts) + ")"
    yield from ("```py", f"{name}{text}", "```", "")


def _docstring(name: str, value: Any) -> Iterator[str]:
    """Yield the summary, the signature, and the other sections of a docstring."""
    text = inspect.getdoc(value) or ""
    sections = griffe.Docstring(text, parser="numpy").parse(warnings=False)
    if sections and sections[0].kind.value == "text":
        yield from (_prose(sections.pop(0).value), "")
    if _has_signature(value):
        yield from _signature(name, value)
    for section in sections:
        render = _SECTIONS.get(section.kind.value)
        if render is not None:
            yield from render(section)
            yield ""


def _text_section(section: Any) -> Iterator[str]:
    yield _prose(section.value)


def _entries(title: str, named: bool = True) -> Callable[[Any], Iterator[str]]:
    def render(section: Any) -> Iterator[str]:
        yield from (f"**{title}**", "")
        for entry in section.value:
            name = getattr(entry, "name", "") if named else ""
            kind = str(entry.annotation or "").strip()
            default = getattr(entry, "value", None)
            kind += f", default {default}" if default is not None else ""
            if not name and not kind:
                continue
            head = f"`{name}`" if name else ""
            head += (" · " if head and kind else "") + (f"*{_plain(kind)}*" if kind else "")
            yield from (head, "")
            body = _prose(str(entry.description or ""))
            yield ":   " + body.replace("\n", "\n    ").rstrip() if body else ":   "
            yield ""

    return render


def _examples(section: Any) -> Iterator[str]:
    yield from ("**Examples**", "")
    for kind, text in section.value:
        if kind.value == "examples":
            shown = re.sub(r" *# doctest: \S+", "", text)
            yield from ("```pycon", shown, "```", "")
        else:
            yield from (_prose(text), "")


def _admonition(section: Any) -> Iterator[str]:
    yield from (f"**{section.title}**", "", _prose(section.value.contents))


_SECTIONS: dict[str, Callable[[Any], Iterator[str]]] = {
    "text": _text_section,
    "parameters": _entries("Parameters"),
    "other parameters": _entries("Other parameters"),
    "attributes": _entries("Attributes"),
    "returns": _entries("Returns"),
    "yields": _entries("Yields"),
    "raises": _entries("Raises"),
    "warns": _entries("Warns"),
    "examples": _examples,
    "admonition": _admonition,
}


def _summary(value: Any) -> str:
    return _prose((inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")).replace("|", "\\|")


def _plain(text: str) -> str:
    """Escape what Markdown would read as marks."""
    text = _LITERAL.sub(r"\1", text).replace("`", "")
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)


def _prose(text: str) -> str:
    """Turn the marks of a docstring into Markdown, and names of public objects into links."""
    text = _ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    text = re.sub(r"^(\.\. )?(\[\d+\])_?", r"\2", text, flags=re.MULTILINE)
    text = re.sub(r"(\[\d+\])_", r"\1", text)
    text = re.sub(r"(?<!\w)\*(?=\w+\b(?!\*))", r"\\*", text)
    known = public_names()

    def link(match: re.Match[str]) -> str:
        name = match[1].removeprefix("spinney.")
        return f"[`{match[1]}`]({name}.md)" if name in known else match[0]

    return _LITERAL.sub(r"`\1`", _NAME.sub(link, text))
