"""Plots of trees, with matplotlib or as SVG, of explanations, and the κ–error diagram."""

from spinney.plotting.explanation_plots import (
    plot_calibration,
    plot_dependence,
    plot_importance,
    plot_metric,
    plot_shap,
)
from spinney.plotting.matplotlib_plots import plot_kappa_error, plot_tree
from spinney.plotting.svg import tree_svg

__all__ = [
    "plot_calibration",
    "plot_dependence",
    "plot_importance",
    "plot_kappa_error",
    "plot_metric",
    "plot_shap",
    "plot_tree",
    "tree_svg",
]
