"""Pictures of what ``model/`` computed: a tree drawn by matplotlib, or as SVG with no library at all."""

from spinney.plotting.matplotlib_tree import plot_tree
from spinney.plotting.svg import tree_svg

__all__ = ["plot_tree", "tree_svg"]
