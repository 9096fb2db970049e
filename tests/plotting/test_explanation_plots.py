"""Plots of explanations: what they show, and what they refuse."""

import numpy as np
import pytest

import spinney as sp
from contracts.learners import mixed_data
from spinney.core.errors import InputError, InputTypeError
from spinney.inspect import feature_importances, partial_dependence
from spinney.plotting import plot_calibration, plot_dependence, plot_importance, plot_metric, plot_shap

plt = pytest.importorskip("matplotlib.pyplot")
X, y, _ = mixed_data("regressor", 120)
X = X.rename(columns={"a": "$a_1$\n"})  # neither mathematics nor a line break


@pytest.fixture(scope="module")
def model():
    return sp.GradientBoostingRegressor(n_estimators=6, early_stopping=True, random_state=0).fit(X, y)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def labels(ax):
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.get_yticklabels()]


def test_rows_are_features_the_most_important_on_top(model):
    values = model.shap_values(X)
    best = int(values.mean_abs().argmax())
    for ax in (plot_shap(values), plot_shap(values, "bar"), plot_importance(feature_importances(model))):
        assert sorted(labels(ax)) == ["$a_1$\\n", "b", "color", "noise"]
    assert labels(plot_shap(values, "bar"))[-1] == ["$a_1$\\n", "b", "color", "noise"][best]


def test_a_waterfall_ends_at_the_output(model):
    values = model.shap_values(X)
    ax = plot_shap(values, "waterfall", row=3, max_features=3)
    assert labels(ax)[0] == "2 other features" and len(ax.patches) == 3
    last = ax.patches[-1]
    assert last.get_x() + last.get_width() == pytest.approx(model.predict(X[3:4])[0])


def test_curves(model):
    assert len(plot_metric(model).get_lines()) == 3
    assert plot_shap(model.shap_values(X), "dependence", feature="b", color_by="noise").get_xlabel() == "b"
    assert "missing" in [
        t.get_text() for t in plot_shap(model.shap_values(X), "dependence", feature="color").get_xticklabels()
    ]
    lines = plot_dependence(partial_dependence(model, X, "b", kind="individual")).get_lines()
    assert len(lines) == len(X) + 1
    plot_dependence(partial_dependence(model, X, ("b", "color")))
    ax = plot_calibration([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], n_bins=2, name="one")
    assert ax.get_lines()[1].get_ydata().tolist() == [0.0, 1.0]
    assert plot_calibration([0, 1], [0.1, 0.9], ax) is ax and len(ax.get_lines()) == 3


def test_mistakes_are_named(model):
    values = model.shap_values(X)
    classes = sp.DecisionTreeClassifier(max_depth=2).fit(X, y > 0).shap_values(X)
    with pytest.raises(InputError, match=r"2 outputs.*select"):
        plot_shap(classes)
    with pytest.raises(InputError, match="kind must be"):
        plot_shap(values, "bee")
    with pytest.raises(InputError, match="row 999"):
        plot_shap(values, "waterfall", row=999)
    with pytest.raises(InputTypeError, match="what spinney"):
        plot_shap(values.values)
    with pytest.raises(InputError, match="two classes"):
        plot_calibration([0, 1, 2], np.zeros(3))
    fixed = sp.GradientBoostingRegressor(n_estimators=3, early_stopping=False, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="early_stopping"):
        plot_metric(fixed)
