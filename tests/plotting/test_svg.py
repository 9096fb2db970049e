import xml.etree.ElementTree as ET

import pytest

from plotting import models_by_hand as models
from spinney.plotting import tree_svg

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", models.ALL)
def test_is_well_formed_and_shows_every_node(name):
    model = models.ALL[name]()
    text = tree_svg(model)
    root = ET.fromstring(text.encode("utf-8"))
    assert len(root.findall(f"{SVG}g")) == model.tree_.node_count
    assert len(root.findall(f"{SVG}path")) == model.tree_.node_count - 1


def test_hostile_names_inject_nothing():
    root = ET.fromstring(tree_svg(models.hostile()).encode("utf-8"))
    assert {element.tag for element in root.iter()} == {
        SVG + tag for tag in ("svg", "title", "rect", "text", "path", "g")
    }
    allowed = {
        "x",
        "y",
        "width",
        "height",
        "rx",
        "fill",
        "stroke",
        "stroke-width",
        "stroke-linejoin",
        "paint-order",
    }
    allowed |= {"text-anchor", "font-weight", "font-family", "font-size", "viewBox", "role", "d"}
    assert {name for element in root.iter() for name in element.attrib} <= allowed
    words = "".join(root.itertext())
    assert "<script>" in words and "\x1b" not in words and "\x00" not in words


def test_hovering_shows_what_was_cut():
    model = models.mixed(names=["a name that goes on and on and on and never ends at all"] * 4)
    titles = [title.text for title in ET.fromstring(tree_svg(model)).findall(f"{SVG}g/{SVG}title")]
    assert "never ends at all ≤ 1.5" in titles[0]


def test_the_same_model_gives_the_same_picture():
    assert tree_svg(models.mixed()) == tree_svg(models.mixed())
