import sys
import warnings

import numpy as np
import pytest

from plotting.models_by_hand import HOSTILE
from spinney.core.errors import InputError
from spinney.diversity import kappa_error
from spinney.plotting import plot_kappa_error

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def points(seed=0):
    return kappa_error(np.random.default_rng(seed).integers(0, 2, (60, 5)), np.ones(60, dtype=int))


def test_every_pair_is_a_point_and_the_middle_is_marked():
    cloud = points()
    ax = plot_kappa_error(cloud)
    (scatter,) = ax.collections
    assert np.array_equal(scatter.get_offsets(), np.column_stack([cloud.kappa, cloud.error]))
    for line in ax.lines:
        assert line.get_xydata().tolist() == [[cloud.mean_kappa, cloud.mean_error]]
    assert ax.get_legend() is None
    assert "κ" in ax.get_xlabel() and "error" in ax.get_ylabel()


def test_clouds_have_names_colours_and_marks_of_their_own():
    ax = plot_kappa_error({"boosted": points(0), "bagged": points(1)})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["boosted", "bagged"]
    first, second = ax.collections
    assert not np.array_equal(first.get_facecolor()[:, :3], second.get_facecolor()[:, :3])
    assert not np.array_equal(first.get_paths()[0].vertices, second.get_paths()[0].vertices)
    # The legend shows colours at full strength, however faint the points of a large cloud are.
    assert [handle.get_alpha() for handle in ax.get_legend().legend_handles] == [1.0, 1.0]


def test_draws_into_given_axes_and_returns_them():
    _, ax = plt.subplots()
    assert plot_kappa_error(points(), ax=ax) is ax
    assert plt.get_fignums() == [1]


def test_names_are_text():
    names = ["$x^{", "_hidden", HOSTILE]
    ax = plot_kappa_error({name: points() for name in names})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax.figure.canvas.draw()
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown[:2] == ["$x^{", " _hidden"]
    assert len(shown) == 3 and "\x1b" not in shown[2]


def test_what_is_no_cloud_is_refused():
    with pytest.raises(InputError, match="kappa_error returns"):
        plot_kappa_error([1, 2])
    with pytest.raises(InputError, match="'bagged'"):
        plot_kappa_error({"bagged": None})


def test_says_what_to_do_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plot_kappa_error(points())
