"""Pictures of what other folders computed: trees, by matplotlib or as plain SVG, and the κ–error diagram."""

from spinney.plotting.kappa_error import plot_kappa_error
from spinney.plotting.matplotlib_tree import plot_tree
from spinney.plotting.svg import tree_svg

__all__ = ["plot_kappa_error", "plot_tree", "tree_svg"]
