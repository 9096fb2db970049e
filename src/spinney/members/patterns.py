"""What may be a member of an ensemble, or the pattern that its members are copies of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
