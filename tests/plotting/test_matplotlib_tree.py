import sys
import warnings

import pytest

import spinney as sp
from plotting import models_by_hand as models
from spinney.plotting import plot_tree
from spinney.plotting.picture import tree_picture

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", ["iris", "diabetes", "hostile"])
@pytest.mark.parametrize("own_axes", [False, True])
def test_every_line_of_text_is_inside_its_box(name, own_axes):
    model = models.ALL[name]()
    picture = tree_picture(model)
    ax = plot_tree(model, ax=plt.subplots(figsize=(5, 7))[1] if own_axes else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a machine without a Chinese font says so
        ax.figure.canvas.draw()
    to_data = ax.transData.inverted()
    drawn = {}
    for text in ax.texts:
        drawn.setdefault(tuple(round(c, 3) for c in text.get_position()), text)
    for box in picture.boxes:
        inside = [t for (x, y), t in drawn.items() if x == round(box.x, 3) and box.y < y < box.y + box.height]
        assert tuple(text.get_text() for text in inside) == box.lines
        for text in inside:
            (x0, y0), (x1, y1) = to_data.transform(text.get_window_extent())
            assert box.x - box.width / 2 - 1 <= x0 and x1 <= box.x + box.width / 2 + 1, text.get_text()
            assert box.y - 1 <= min(y0, y1) and max(y0, y1) <= box.y + box.height + 1


def test_draws_into_given_axes_and_returns_them():
    _, ax = plt.subplots()
    assert plot_tree(models.iris(), ax=ax, max_depth=1) is ax
    assert len(ax.texts) == 3 + 5 + 4 + 6 + 2  # legend, three nodes, labels


def test_dollar_signs_are_not_mathematics():
    ax = plot_tree(models.mixed(names=["$x^{", "b", "c", "d"]))
    ax.figure.canvas.draw()
    assert any(text.get_text() == "$x^{ ≤ 1.5" for text in ax.texts)


def test_says_what_to_do_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="tree_svg"):
        plot_tree(models.iris())


def test_plot_tree_is_a_function_of_the_package_with_scikit_learns_parameters():
    model = sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    ax = sp.plot_tree(model, filled=False, fontsize=7, class_names=True)
    assert {text.get_fontsize() for text in ax.texts} == {7}
    boxes = [patch for patch in ax.patches if type(patch).__name__ == "FancyBboxPatch"]
    assert {tuple(box.get_facecolor()) for box in boxes} == {(1.0, 1.0, 1.0, 1.0)}
    coloured = sp.plot_tree(model, class_names=["no", "yes"])
    assert any("yes" in text.get_text() for text in coloured.texts)


def test_other_parameters_of_scikit_learn_give_its_drawing():
    model = sp.DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"])
    notes = sp.plot_tree(
        model, feature_names=["size"], class_names=["a", "b"], filled=True, rounded=True, impurity=False
    )
    assert [note.get_text() for note in notes][:2] == [
        "size <= 0.5\nsamples = 2\nvalue = [1, 1]\nclass = a",
        "samples = 1\nvalue = [1, 0]\nclass = a",
    ]
