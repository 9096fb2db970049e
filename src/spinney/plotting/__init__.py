"""Plots of trees, with matplotlib or as SVG, and the κ–error diagram."""

from spinney.plotting.matplotlib_plots import plot_kappa_error, plot_tree
from spinney.plotting.svg import tree_svg

__all__ = ["plot_kappa_error", "plot_tree", "tree_svg"]
