"""The stub `_core.pyi` names what the compiled core has, and nothing else."""

import ast
from pathlib import Path

from spinney import native

STUB = ast.parse(Path(native.__file__).with_name("_core.pyi").read_text())


def public(names):
    return {name for name in names if not name.startswith("_") or name in ("__len__",)}


def members(node):
    """The methods of a class of the stub, and its attributes, which are read-only."""
    attributes = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
    return attributes | {item.name for item in node.body if isinstance(item, ast.FunctionDef)}


def test_the_stub_has_the_names_of_the_core():
    stubbed = {node.name for node in STUB.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    constants = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    stubbed |= {name for name in constants if name.isupper()}
    assert public(stubbed) == public(vars(native.core))


def test_every_class_of_the_stub_has_the_members_of_the_core():
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            assert public(members(node)) == public(vars(getattr(native.core, node.name))), node.name


def test_the_keywords_of_options_are_their_properties():
    for node in STUB.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Options"):
            functions = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
            keywords = {argument.arg for argument in functions["__init__"].args.kwonlyargs}
            assert keywords == public(members(node)) - {"replace"}
            assert {argument.arg for argument in functions["replace"].args.kwonlyargs} <= keywords
