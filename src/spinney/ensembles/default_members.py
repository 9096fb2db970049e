"""The members of stacking and ensemble selection where none are given."""

from __future__ import annotations

from typing import Any, Literal

from spinney.bayes import BernoulliNB, CategoricalNB
from spinney.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.linear import LogisticRegression, RidgeCV
from spinney.members.encoded import EncodedClassifier, EncodedRegressor
from spinney.svm import SVC, SVR

MAX_SVM_ROWS = 10_000
"""Up to this many rows there is a support vector machine, whose time grows with their square."""


def default_members(
    task: Literal["classification", "regression"],
    several_outputs: bool = False,
    n_rows: int = 0,
    is_sparse: bool = False,
) -> list[tuple[str, Any]]:
    """Return members of different kinds that read any table: categories, missing values, sparse columns.

    Parameters
    ----------
    task : {"classification", "regression"}
        What is learned.
    several_outputs : bool, default=False
        Whether y has several columns. Of the classifiers only the forests learn any such y, and a support
        vector machine learns none.
    n_rows : int, default=0
        Number of rows. Above `MAX_SVM_ROWS` there is no support vector machine.
    is_sparse : bool, default=False
        Whether X is a sparse matrix, whose columns are counted as present or absent by naive Bayes.

    Returns
    -------
    list of (str, estimator) pairs
        Gradient boosting, two kinds of forest, a linear model, a support vector machine, and for classes
        naive Bayes.

    Examples
    --------
    >>> [name for name, _ in default_members("regression")]
    ['boosting', 'random_forest', 'extra_trees', 'linear', 'svm']
    >>> [name for name, _ in default_members("classification", n_rows=1_000_000)]
    ['boosting', 'random_forest', 'extra_trees', 'linear', 'bayes']
    """
    coded: dict[str, Any] = {"categorical": "one-hot", "missing": "mean"}
    has_svm = n_rows <= MAX_SVM_ROWS and not several_outputs
    if task == "regression":
        svm: list[tuple[str, Any]] = [("svm", EncodedRegressor(SVR()))] if has_svm else []
        return [
            ("boosting", GradientBoostingRegressor()),
            ("random_forest", RandomForestRegressor()),
            ("extra_trees", ExtraTreesRegressor()),
            ("linear", RidgeCV(**coded)),
            *svm,
        ]
    forests = [("random_forest", RandomForestClassifier()), ("extra_trees", ExtraTreesClassifier())]
    if several_outputs:
        return forests
    svm = [("svm", EncodedClassifier(SVC(probability=True)))] if has_svm else []
    bayes = BernoulliNB() if is_sparse else CategoricalNB(max_bins=10)
    linear = LogisticRegression(**coded)
    return [("boosting", GradientBoostingClassifier()), *forests, ("linear", linear), *svm, ("bayes", bayes)]
