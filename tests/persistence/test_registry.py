"""Classes are known by name as soon as they are defined, and two never share one."""

import pytest

from persistence.toys import ToyClassifier
from spinney.io import Persistent, UnknownClass
from spinney.io.registry import find_class, name_of


def test_a_users_class_is_known_by_module_and_name() -> None:
    name = f"{ToyClassifier.__module__}:ToyClassifier"
    assert name_of(ToyClassifier) == name
    assert find_class(name) is ToyClassifier


def test_a_class_of_the_library_is_known_by_its_bare_name_unless_private() -> None:
    public = type("Hornbeam", (Persistent,), {"__module__": "spinney.trees.hornbeam"})
    private = type("_Base", (Persistent,), {"__module__": "spinney.trees.hornbeam"})
    assert name_of(public) == "Hornbeam" and find_class("Hornbeam") is public
    assert name_of(private) is None


def test_two_classes_cannot_share_a_name() -> None:
    class First(Persistent, persistent_name="Aspen"): ...

    assert find_class("Aspen") is First
    with pytest.raises(TypeError, match="Aspen"):

        class Second(Persistent, persistent_name="Aspen"): ...

    assert find_class("Aspen") is First


def test_a_class_may_be_defined_again() -> None:
    def define() -> type:
        class Again(Persistent): ...

        return Again

    first, second = define(), define()
    assert name_of(first) == name_of(second)
    assert find_class(str(name_of(first))) is second


def test_an_unknown_class_says_what_to_import() -> None:
    with pytest.raises(UnknownClass, match=r"Import 'forest\.lib' before loading"):
        find_class("forest.lib:Tree")
    with pytest.raises(UnknownClass, match="version of Spinney"):
        find_class("Baobab")
