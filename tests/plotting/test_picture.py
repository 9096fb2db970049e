import pytest

from plotting import models_by_hand as models
from spinney.plotting.picture import shorten, text_width, tree_picture, wrap
from tree.trees_by_hand import build, leaf, linear, numeric


@pytest.mark.parametrize("name", models.ALL)
def test_nothing_overlaps_and_everything_is_inside(name):
    picture = tree_picture(models.ALL[name](), show_missing=True)
    for box in picture.boxes:
        assert box.x - box.width / 2 >= 0 and box.x + box.width / 2 <= picture.width
        assert box.y >= 0 and box.y + box.height <= picture.height
    for one, other in zip(picture.boxes, picture.boxes[1:], strict=False):
        if one.y == other.y:
            assert one.x + one.width / 2 < other.x - other.width / 2
    for edge in picture.edges:
        assert edge.y1 - edge.y0 > 20  # room for the label
        half = text_width(edge.label) / 2
        assert edge.x1 - half >= 0 and edge.x1 + half <= picture.width


def test_a_node_tells_its_test_and_statistics():
    first, *_ = tree_picture(models.iris()).boxes
    assert first.lines == (
        "petal width (cm) ≤ 0.8",
        "gini = 0.6667",
        "samples = 150",
        "value = [0.333, 0.333, 0.333]",
        "class = setosa",
    )
    assert first.n_bold == 1 and [round(share, 3) for _, share in first.proportions] == [0.333] * 3


def test_branches_are_labelled():
    labels = [edge.label for edge in tree_picture(models.mixed(), show_missing=True).edges]
    assert labels == ["yes", "no", "模糊", "清晰", "yes", "no or missing", "yes", "no"]


def test_deeper_branches_are_counted():
    picture = tree_picture(models.iris(), max_depth=1)
    assert len(picture.boxes) == 3 and len(picture.edges) == 2
    assert picture.boxes[2].lines[-1] == "… 14 more nodes below"
    assert not any("more nodes" in line for line in picture.boxes[1].lines)
    with pytest.raises(ValueError, match="max_depth"):
        tree_picture(models.iris(), max_depth=-1)


def test_regression_is_coloured_by_the_mean():
    picture = tree_picture(models.diabetes())
    tree = models.diabetes().tree_
    lowest, highest = tree.value[:, 0, 0].argmin(), tree.value[:, 0, 0].argmax()
    lightness = [sum(int(box.fill[i : i + 2], 16) for i in (1, 3, 5)) for box in picture.boxes]
    assert lightness[lowest] == max(lightness) and lightness[highest] == min(lightness)
    assert picture.legend == () and picture.boxes[0].proportions == ()


def test_one_leaf_alone():
    picture = tree_picture(build(leaf(2.5, 4), 1))
    assert picture.boxes[0].lines == ("2.5", "impurity = 0", "samples = 4") and picture.edges == ()


def test_long_text_is_wrapped_or_cut():
    assert wrap("aaa bbb ccc ddd", 7, 2) == ["aaa bbb", "ccc ddd"]
    assert wrap("aaa bbb ccc ddd eee", 7, 2) == ["aaa bbb", "ccc dd…"]
    assert wrap("", 7, 2) == [""]
    assert shorten("纹理纹理", 6) == "纹理…" and shorten("abc", 3) == "abc"


def test_known_or_missing_is_said_in_words():
    picture = tree_picture(build(numeric(0, 1.7976931348623157e308, leaf(1.0), leaf(2.0), missing=1), 1))
    assert picture.boxes[0].lines[0] == "x0 is known"
    assert [edge.label for edge in picture.edges] == ["yes", "no"]


def test_a_long_sum_is_cut_in_the_box_and_whole_in_the_hint():
    picture = tree_picture(build(linear([(j, 1.0, 0.0) for j in range(9)], 0.5, leaf(0.0), leaf(1.0)), 9))
    assert " ".join(picture.boxes[0].lines).count("*") == 6
    assert "3 more terms ≤ 0.5" in " ".join(picture.boxes[0].lines)
    assert picture.boxes[0].hint.count("*") == 9
