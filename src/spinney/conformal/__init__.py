"""Conformal prediction: intervals and sets of classes that contain the truth with a chosen probability."""

from spinney.conformal.intervals import (
    CrossIntervals,
    QuantileIntervals,
    SplitIntervals,
    calibrate_intervals,
    calibrate_quantiles,
    cross_intervals,
)
from spinney.conformal.sets import PredictionSets, calibrate_sets

__all__ = [
    "CrossIntervals",
    "PredictionSets",
    "QuantileIntervals",
    "SplitIntervals",
    "calibrate_intervals",
    "calibrate_quantiles",
    "calibrate_sets",
    "cross_intervals",
]
