"""From shares to labels: ties, quorums, labels of the rejected, and the risk–coverage curve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spinney.ensembles.decisions import decide, labels_with_rejection, risk_coverage


def test_the_first_of_equal_classes_is_chosen_and_a_quorum_is_exceeded():
    shares = np.array([[0.5, 0.5], [0.1 + 0.2, 0.3], [0.2, 0.8], [0.75, 0.25]])
    assert decide(shares, None).tolist() == [0, 0, 1, 0]
    assert decide(shares, 0.5).tolist() == [-1, -1, 1, 0]
    assert decide(shares, 0.75).tolist() == [-1, -1, 1, -1]
    assert decide(shares, 0.0).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    "classes, label, kind",
    [
        (np.array(["a", "b"]), "unsure", "U"),
        (np.array([1, 2]), -1, "i"),
        (np.array([1, 2]), np.nan, "f"),
        (np.array([1, 2]), "?", "O"),
        (np.array(["a", "b"]), -1, "O"),
        (np.array(["a", "b"], dtype=object), "?", "O"),
        (np.array([False, True]), "?", "O"),
    ],
)
def test_the_label_of_the_rejected_comes_after_the_classes(classes, label, kind):
    labels = labels_with_rejection(classes, label)
    assert labels.dtype.kind == kind
    assert labels[:-1].tolist() == classes.tolist()
    assert labels[-1] == label or labels[-1] != labels[-1]


def test_a_curve_by_hand():
    confidence = np.array([0.6, 0.9, 0.6, 1.0])
    correct = np.array([False, True, True, True])
    curve = risk_coverage(confidence, correct)
    assert curve.threshold.tolist() == [1.0, 0.9, 0.6]
    assert curve.coverage.tolist() == [0.25, 0.5, 1.0]
    assert curve.risk.tolist() == [0.0, 0.0, 0.25]
    assert curve.area == 0.125
    weighted = risk_coverage(confidence, correct, np.array([3.0, 1.0, 0.0, 0.0]))
    assert weighted.threshold.tolist() == [0.9, 0.6]
    assert_allclose(weighted.coverage, [0.25, 1.0])
    assert_allclose(weighted.risk, [0.0, 0.75])
    assert_array_equal(curve.to_frame()["risk"], curve.risk)
