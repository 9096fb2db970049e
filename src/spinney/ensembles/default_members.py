"""The members of stacking and ensemble selection where none are given."""

from __future__ import annotations

from typing import Any, Literal

from spinney.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.linear import LogisticRegression, RidgeCV


def default_members(
    task: Literal["classification", "regression"], several_outputs: bool = False
) -> list[tuple[str, Any]]:
    """Return members of different kinds that read any table: categories, missing values, sparse columns.

    Parameters
    ----------
    task : {"classification", "regression"}
        What is learned.
    several_outputs : bool, default=False
        Whether y has several columns. Of the classifiers only the forests learn any such y.

    Returns
    -------
    list of (str, estimator) pairs
        Gradient boosting, two kinds of forest, and a linear model.

    Examples
    --------
    >>> [name for name, _ in default_members("regression")]
    ['boosting', 'random_forest', 'extra_trees', 'linear']
    """
    if task == "regression":
        return [
            ("boosting", GradientBoostingRegressor()),
            ("random_forest", RandomForestRegressor()),
            ("extra_trees", ExtraTreesRegressor()),
            ("linear", RidgeCV(categorical="one-hot", missing="mean")),
        ]
    forests = [("random_forest", RandomForestClassifier()), ("extra_trees", ExtraTreesClassifier())]
    if several_outputs:
        return forests
    linear = LogisticRegression(categorical="one-hot", missing="mean")
    return [("boosting", GradientBoostingClassifier()), *forests, ("linear", linear)]
