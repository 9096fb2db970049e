"""scikit-learn's checks of estimators, without those that repeat others."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

# scipy's matrices and arrays take the same path: a class per reader of tables shows both, the others arrays.
READERS = ("DecisionTreeClassifier", "BaggingClassifier", "Ridge", "LogisticRegression", "BernoulliNB", "SVC")


def each_check(estimators: list[Any], settings: list[Any] | None = None) -> pytest.MarkDecorator:
    """Parametrize a test by estimator and check.

    Parameters
    ----------
    estimators : list of estimators
        One setting of each class.
    settings : list of estimators or None, default=None
        Other settings of the same classes, which read tables as those do.
    """
    mark = parametrize_with_checks([*estimators, *(settings or [])])
    names, pairs = mark.args
    others = {id(estimator) for estimator in settings or []}

    def tells_more(estimator: Any, check: Callable[..., None]) -> bool:
        name = getattr(check, "func", check).__name__
        if name == "check_estimator_sparse_matrix":
            return type(estimator).__name__ in READERS and id(estimator) not in others
        return name != "check_estimator_sparse_array" or id(estimator) not in others

    kept = [pair for pair in pairs if tells_more(*getattr(pair, "values", pair))]
    return pytest.mark.parametrize(names, kept, **mark.kwargs)
