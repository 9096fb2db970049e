"""Reference data sets of the textbooks, each as (X, y)."""

from spinney.datasets.loaders import (
    load_tic_tac_toe,
    load_watermelon2_missing,
    load_watermelon3,
    load_xor,
    make_box,
)

__all__ = ["load_tic_tac_toe", "load_watermelon2_missing", "load_watermelon3", "load_xor", "make_box"]
