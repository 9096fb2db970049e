"""The reference data sets of the textbooks, each as (X, y)."""

from spinney.datasets.boards import load_tic_tac_toe
from spinney.datasets.points import load_xor, make_box
from spinney.datasets.watermelons import load_watermelon2_missing, load_watermelon3

__all__ = ["load_tic_tac_toe", "load_watermelon2_missing", "load_watermelon3", "load_xor", "make_box"]
