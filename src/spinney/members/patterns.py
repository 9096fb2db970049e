"""What may be a member of an ensemble, or the pattern that its members are copies of."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags


@dataclass(frozen=True)
class AnyEstimator:
    """Allow whatever can be fitted, cloned and asked, as the rule of a parameter; a class is no estimator.

    >>> from spinney.trees import C45Classifier
    >>> AnyEstimator().allows(C45Classifier()), AnyEstimator().allows(C45Classifier)
    (True, False)
    """

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""
        able = all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        return able and not isinstance(value, type)

    def __str__(self) -> str:
        return "an estimator with fit and predict"


def pattern_tags(pattern: Any) -> Tags:
    """Give what scikit-learn may know of a pattern; of what is no estimator, as in a damaged file, nothing.

    >>> from spinney.trees import C45Classifier
    >>> pattern_tags(C45Classifier()).input_tags.allow_nan, pattern_tags("oak").input_tags.allow_nan
    (True, False)
    """
    return deepcopy(get_tags(pattern if AnyEstimator().allows(pattern) else BaseEstimator()))
