"""Gradients of ranking losses against naive sums over all pairs, and ranking metrics against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from spinney.core.errors import InputError
from spinney.data.queries import Queries
from spinney.losses.ranking import RankingLoss, gains
from spinney.metrics import RankedQueries, mean_average_precision, ndcg


def _dcg(gain, order, k):
    return sum(gain[row] / np.log2(place + 2) for place, row in enumerate(order[: k or None]))


def _average_precision(relevant, order):
    hits = np.cumsum(relevant[order])
    return np.sum(relevant[order] * hits / np.arange(1, len(order) + 1)) / relevant.sum()


def _naive_pairs(loss, y, score):
    """Sum the pairs of one query, with |Δ| by swapping the two rows and computing the metric again."""
    gain, n = gains(y, loss.gain), len(y)
    order = sorted(range(n), key=lambda row: (-score[row], row))
    ideal = _dcg(gain, sorted(range(n), key=lambda row: -gain[row]), loss.n_top)
    gradient, hessian, total = np.zeros(n), np.zeros(n), 0.0
    for a in range(min(loss.n_top or n, n)):
        for b in range(a + 1, n):
            i, j = order[a], order[b]
            if y[i] == y[j]:
                continue
            high, low = (i, j) if y[i] > y[j] else (j, i)
            swapped = list(order)
            swapped[a], swapped[b] = j, i
            delta = {
                "pairwise": lambda: 1.0,
                "map": lambda: _average_precision(y, order) - _average_precision(y, swapped),  # noqa: B023
                "ndcg": lambda: (_dcg(gain, order, 0) - _dcg(gain, swapped, 0)) / ideal,  # noqa: B023
            }[loss.name]()
            delta = abs(delta)
            if loss.normalize and loss.name != "pairwise" and score.max() > score.min():
                delta /= 0.01 + abs(score[i] - score[j])
            rho = 1 / (1 + np.exp(loss.sigma * (score[high] - score[low])))
            gradient[high] -= loss.sigma * rho * delta
            gradient[low] += loss.sigma * rho * delta
            hessian[[i, j]] += loss.sigma**2 * rho * (1 - rho) * delta
            total += 2 * loss.sigma * rho * delta
    factor = np.log2(1 + total) / total if loss.normalize and total > 0 else 1.0
    return gradient * factor, hessian * factor


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", ["ndcg", "map", "pairwise"])
def test_gradients_equal_a_sum_over_all_pairs(name, normalize):
    rng = np.random.default_rng(5)
    qid = rng.integers(0, 12, 150)
    qid[:3] = [100, 101, 102]  # queries of one row
    y = rng.integers(0, 2 if name == "map" else 5, 150).astype(float)
    y[qid == 4] = 0.0
    score = rng.normal(size=150).round(1)  # some are equal
    for n_top, n_threads in ((0, 1), (4, 3)):
        loss = RankingLoss(name, "exponential", 1.3, n_top, normalize)
        ranked = RankedQueries.make(Queries.read(150, qid=qid), y, loss.gain, None, n_threads)
        gradient, hessian = ranked.derivatives(loss, score, 0)
        for query in np.unique(qid):
            rows = qid == query
            expected = _naive_pairs(loss, y[rows], score[rows])
            np.testing.assert_allclose(gradient[rows], expected[0], rtol=1e-10, atol=1e-14)
            np.testing.assert_allclose(hessian[rows], expected[1], rtol=1e-10, atol=1e-14)


def _mix(a, b):
    """Hash two numbers as the core does (SplitMix64)."""
    z, mask = a + 0x9E3779B97F4A7C15 * (b + 1), 2**64 - 1
    z = ((z & mask) ^ ((z & mask) >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    return z ^ (z >> 31)


def test_xendcg_equals_its_three_terms():
    rng = np.random.default_rng(0)
    y, score, address = rng.integers(0, 5, 40).astype(float), rng.normal(size=40), 7
    ranked = RankedQueries.make(Queries.read(40), y, "exponential", None, 1)
    gradient, hessian = ranked.derivatives(RankingLoss("xendcg"), score, address)
    draws = np.array([(_mix(_mix(address, row), 0) >> 11) * 2.0**-53 for row in range(40)])
    rho, phi = np.exp(score) / np.exp(score).sum(), 2.0**y - draws
    first = rho - phi / phi.sum()
    second = rho * np.array([sum(first[j] / (1 - rho[j]) for j in range(40) if j != i) for i in range(40)])
    third = rho * np.array([sum(second[j] / (1 - rho[j]) for j in range(40) if j != i) for i in range(40)])
    np.testing.assert_allclose(gradient, first + second + third, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(hessian, rho * (1 - rho), rtol=1e-12)
    assert not np.array_equal(ranked.derivatives(RankingLoss("xendcg"), score, 8)[0], gradient)


def test_metrics_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    y, score = rng.integers(0, 4, 60), rng.normal(size=60).round(1)
    for k in (None, 5, 100):
        expected = [ndcg_score([2.0 ** y[a : a + 20] - 1], [score[a : a + 20]], k=k) for a in (0, 20, 40)]
        assert ndcg(y, score, group=[20, 20, 20], k=k) == pytest.approx(np.mean(expected))
    assert ndcg(y, score, gain="linear") == pytest.approx(ndcg_score([y], [score]))
    distinct = rng.permutation(60).astype(float)
    assert mean_average_precision(y, distinct) == pytest.approx(average_precision_score(y > 0, distinct))
    assert mean_average_precision([0, 0, 1], [3, 2, 1], k=2) == 0.0
    assert ndcg([0, 0], [1, 2]) == mean_average_precision([0, 0], [1, 2]) == 1.0


def test_queries_weigh_the_mean_of_their_rows_and_weight_zero_leaves_rows_out():
    y, score, qid = [1, 0, 0, 1, 0], [2, 1, 2, 1, 9], ["b", "b", "a", "a", "a"]
    second = 1 / np.log2(3)
    weights = [3, 3, 1, 1, 0]
    assert ndcg(y, score, qid=qid, sample_weight=weights) == pytest.approx((3 + second) / 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Queries.read(5, group=[2, 2]), "add up to 4, but there are 5 rows"),
        (lambda: Queries.read(5, group=[5, 0]), "entry 1 is 0"),
        (lambda: Queries.read(5, group=[2.5, 2.5]), "entry 0 is 2.5"),
        (lambda: Queries.read(5, group=[5], qid=[1] * 5), "Both group and qid"),
        (lambda: Queries.read(5, qid=[1, 2], of="eval_"), "eval_qid has 2 entries, X has 5 rows"),
        (lambda: Queries.read(2, qid=[1.0, np.nan]), "qid is missing in row 1"),
        (lambda: Queries.read(2, qid=[[1], [2]]), "must be 1-D"),
        (lambda: ndcg([0, -1], [1, 2]), "must not be negative"),
        (lambda: ndcg([0, 0.5], [1, 2]), "needs integers from 0 to 30"),
        (lambda: ndcg([0, 31], [1, 2]), "needs integers from 0 to 30"),
        (lambda: ndcg([0, 1], [1, 2], k=0), "k must be"),
        (lambda: RankingLoss("map").check_target(np.array([0.0, 2.0]), None), 'loss="map" needs'),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
