"""Greedy selection against a naive one that tries every member and computes the loss from the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score, get_scorer, log_loss, mean_squared_error

from loops import for_each
from spinney.ensembles.selection import LogLoss, ScorerLoss, SquaredLoss, select

N, M = 60, 5


def problem(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, N)
    predictions = [rng.dirichlet(1 + 2 * np.eye(n_classes)[code], M) for code in codes]
    weights = rng.integers(1, 4, N).astype(float)
    return [np.array([row[m] for row in predictions]) for m in range(M)], codes, weights


def naive(loss_of_mean, predictions, n_steps, n_initial=1, replacement=True):
    """Choose as Caruana's text says, with no shortcut; give the members chosen at the best step, in order."""
    chosen, losses = [], []
    by_themselves = sorted(range(len(predictions)), key=lambda m: loss_of_mean(predictions[m]))
    while len(chosen) < n_steps and (replacement or len(chosen) < len(predictions)):
        if len(chosen) < n_initial:
            chosen.append(by_themselves[len(chosen)])
        else:
            tried = [m for m in range(len(predictions)) if replacement or m not in chosen]
            trials = [loss_of_mean(np.mean([predictions[i] for i in [*chosen, m]], axis=0)) for m in tried]
            chosen.append(tried[int(np.argmin(np.round(trials, 12)))])
        losses.append(loss_of_mean(np.mean([predictions[i] for i in chosen], axis=0)))
    best = n_initial + int(np.argmin(np.round(losses[n_initial - 1 :], 12)))
    return chosen, losses, np.bincount(chosen[:best], minlength=len(predictions))


@for_each("seed", range(3))
@pytest.mark.parametrize("n_initial", [1, 3])
@pytest.mark.parametrize("replacement", [True, False])
def test_every_loss_chooses_as_the_naive_selection_does(seed, n_initial, replacement):
    predictions, codes, weights = problem(3, seed)
    numbers = [one[:, :1] * 5 for one in predictions]
    target = np.eye(3)[codes][:, :1] * 5
    classes = np.arange(3)
    cases = [
        (
            LogLoss(predictions, np.eye(predictions[0].shape[1])[codes] > 0, weights),
            predictions,
            lambda mean: log_loss(codes, mean, sample_weight=weights),
        ),
        (
            SquaredLoss(numbers, target, weights),
            numbers,
            lambda mean: mean_squared_error(target, mean, sample_weight=weights),
        ),
        (
            ScorerLoss(get_scorer("accuracy"), predictions, codes, classes, weights),
            predictions,
            lambda mean: -accuracy_score(codes, mean.argmax(axis=1), sample_weight=weights),
        ),
    ]
    for found_loss, given, loss in cases:
        found = select(found_loss, 7, n_initial=n_initial, replacement=replacement)
        members, losses, counts = naive(loss, given, 7, n_initial, replacement)
        assert list(found.members) == members
        assert_allclose(found.losses, losses, rtol=1e-9, atol=1e-12)
        assert found.counts.tolist() == counts.tolist()


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1", "average_precision"])
def test_scorers_that_ask_for_labels_or_probabilities(scoring):
    predictions, codes, _ = problem(2)
    labels = np.array(["no", "yes"], dtype=object)
    if scoring in ("f1", "average_precision"):
        labels = np.array([0, 1])
    loss = ScorerLoss(get_scorer(scoring), predictions, labels[codes], labels)
    losses = loss.losses(np.zeros(M, dtype=np.int64))
    assert losses.shape == (M,) and np.isfinite(losses).all()


def test_only_allowed_members_are_chosen():
    predictions, codes, _ = problem(3)
    allowed = np.array([False, True, False, True, False])
    found = select(
        LogLoss(predictions, np.eye(predictions[0].shape[1])[codes] > 0), 10, n_initial=5, allowed=allowed
    )
    assert set(found.members) <= {1, 3}
    assert found.counts[[0, 2, 4]].sum() == 0
