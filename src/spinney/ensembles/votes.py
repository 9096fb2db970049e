"""From shares of the votes to labels: the rules of plurality and majority, rejection, risk and coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.core.frames import to_frame

REJECTED = -1
# Shares are sums of a few weights; what differs by less than this differs by rounding.
_EQUAL = 1e-12


def decide(shares: NDArray[np.float64], quorum: float | None) -> NDArray[np.intp]:
    """Give the class with the largest share; of equals the first; REJECTED unless it exceeds the quorum.

    shares (n_rows, n_classes), each row summing to one -> (n_rows,)

    >>> decide(np.array([[0.5, 0.5], [0.4, 0.6]]), quorum=0.5).tolist()
    [-1, 1]
    """
    most = shares.max(axis=1)
    codes = np.argmax(shares >= most[:, None] - _EQUAL, axis=1)
    return codes if quorum is None else np.where(most > quorum + _EQUAL, codes, REJECTED)


def labels_with_rejection(classes: NDArray[Any], reject_label: Any) -> NDArray[Any]:
    """Give the classes and after them the label of rejected rows, so that the code −1 stands for it.

    Labels of another kind than the classes make an array of objects: 7 does not become "7".

    >>> labels_with_rejection(np.array(["no", "yes"]), "unsure").tolist()
    ['no', 'yes', 'unsure']
    """
    if reject_label in classes.tolist():
        raise InputError(
            f"The reject_label {show_value(reject_label)} is a class too",
            fix="Choose a label that no row has.",
        )
    alike = isinstance(reject_label, str) == (classes.dtype.kind in "US") and classes.dtype.kind not in "Ob"
    joined = np.empty(len(classes) + 1, dtype=object)
    joined[:-1], joined[-1] = classes.tolist(), reject_label
    if not alike or reject_label is None:
        return joined
    return np.append(classes, np.asarray(reject_label))


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Hold the error among the rows that are answered, for every number of rows one may choose to answer.

    Point i answers the rows whose largest share is at least ``threshold[i]``: these are the part
    ``coverage[i]`` of the weight of all rows, and ``risk[i]`` of their weight is answered wrongly.

    >>> curve = risk_coverage(np.array([0.9, 0.6, 0.6]), np.array([True, False, True]))
    >>> curve.coverage.round(2).tolist(), curve.risk.round(2).tolist()
    ([0.33, 1.0], [0.0, 0.33])
    """

    threshold: NDArray[np.float64]
    coverage: NDArray[np.float64]
    risk: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Give the mean risk over all coverages, the area under the steps; less is better."""
        return float(self.risk @ np.diff(self.coverage, prepend=0.0))

    def to_frame(self) -> Any:
        """Give one row a point, as a data frame."""
        return to_frame({name: column.tolist() for name, column in vars(self).items()})


def risk_coverage(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_], weights: NDArray[np.float64] | None = None
) -> RiskCoverage:
    """Order rows by confidence, and give risk and coverage at each distinct confidence."""
    weights = np.ones(len(confidence)) if weights is None else weights
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    last = np.append(ranked[:-1] > ranked[1:], True)
    weight, wrong = np.cumsum(weights[order]), np.cumsum((weights * ~correct)[order])
    last &= weight > 0  # before the first row with weight nothing is answered
    return RiskCoverage(ranked[last], weight[last] / weight[-1], wrong[last] / weight[last])
