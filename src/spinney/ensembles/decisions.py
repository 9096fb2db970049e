"""Decisions of a vote: the class of each row, rejection, and risk–coverage curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.core.frames import to_frame
from spinney.ensembles.predictions import Array

REJECTED = -1
# Probabilities are sums of a few weights; smaller differences are rounding.
_TOLERANCE = 1e-12

# ---- decisions ----


def decide(probabilities: Array, quorum: float | None) -> NDArray[np.intp]:
    """Return the class with the largest probability, REJECTED unless it exceeds the quorum.

    probabilities (n_rows, n_classes), each row with sum 1 -> (n_rows,). Of equal classes the first is chosen.

    >>> decide(np.array([[0.5, 0.5], [0.4, 0.6]]), quorum=0.5).tolist()
    [-1, 1]
    """
    largest = probabilities.max(axis=1)
    codes = np.argmax(probabilities >= largest[:, None] - _TOLERANCE, axis=1)
    return codes if quorum is None else np.where(largest > quorum + _TOLERANCE, codes, REJECTED)


def choose_labels(
    probabilities: list[Array], outputs: list[NDArray[Any]], quorum: float | None = None
) -> NDArray[Any]:
    """Return the labels that `decide` chooses.  -> (n_rows,), or (n_rows, n_outputs) if there are several

    >>> choose_labels([np.array([[0.3, 0.7]])], [np.array(["no", "yes"])]).tolist()
    ['yes']
    """
    chosen = [labels.take(decide(part, quorum)) for part, labels in zip(probabilities, outputs, strict=True)]
    return chosen[0] if len(chosen) == 1 else np.stack(chosen, axis=1)


def labels_with_rejection(classes: NDArray[Any], reject_label: Any) -> NDArray[Any]:
    """Return the classes followed by the label of rejected rows, which the code −1 then selects.

    A label of another type than the classes makes an object array: 7 does not become "7".

    >>> labels_with_rejection(np.array(["no", "yes"]), "unsure").tolist()
    ['no', 'yes', 'unsure']
    """
    if reject_label is None:
        raise InputError(
            'With rule="majority" some rows may have no class with enough votes',
            fix="Set reject_label to the label that predict returns for them.",
        )
    if reject_label in classes.tolist():
        raise InputError(
            f"The reject_label {show_value(reject_label)} is also a class",
            fix="Choose a label that no row has.",
        )
    kind = classes.dtype.kind
    if kind in "Ob" or isinstance(reject_label, str) != (kind in "US"):
        joined = np.empty(len(classes) + 1, dtype=object)
        joined[:-1], joined[-1] = classes.tolist(), reject_label
        return joined
    return np.append(classes, np.asarray(reject_label))


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Risk–coverage curve: the error among predicted rows for every number of rows that are not rejected.

    Point i predicts the rows whose largest probability is at least ``threshold[i]``.

    Parameters
    ----------
    threshold : ndarray of shape (n_points,)
        Smallest confidence of the predicted rows, descending.
    coverage : ndarray of shape (n_points,)
        Fraction of the total row weight that is predicted.
    risk : ndarray of shape (n_points,)
        Fraction of the predicted weight that is predicted wrongly.

    Examples
    --------
    >>> from spinney.ensembles.decisions import risk_coverage
    >>> curve = risk_coverage(np.array([0.9, 0.6, 0.6]), np.array([True, False, True]))
    >>> curve.coverage.round(2).tolist(), curve.risk.round(2).tolist()
    ([0.33, 1.0], [0.0, 0.33])
    """

    threshold: Array
    coverage: Array
    risk: Array

    @property
    def area(self) -> float:
        """Area under the steps: the mean risk over all coverages. Less is better."""
        return float(self.risk @ np.diff(self.coverage, prepend=0.0))

    def to_frame(self) -> Any:
        """Return the curve as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per point; polars if pandas is not installed.
        """
        return to_frame({name: column.tolist() for name, column in vars(self).items()})


def risk_coverage(
    confidence: Array, correct: NDArray[np.bool_], weights: Array | None = None
) -> RiskCoverage:
    """Return risk and coverage at each distinct confidence, largest first.  All arguments (n_rows,)"""
    weights = np.ones(len(confidence)) if weights is None else weights
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    last = np.append(ranked[:-1] > ranked[1:], True)
    weight, wrong = np.cumsum(weights[order]), np.cumsum((weights * ~correct)[order])
    last &= weight > 0  # there is no risk before the first row with weight
    return RiskCoverage(ranked[last], weight[last] / weight[-1], wrong[last] / weight[last])
