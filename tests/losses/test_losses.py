"""Every loss: derivatives by differences, the best constant by looking around it, targets it refuses."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from spinney.io import ModelFileError, dumps, loads
from spinney.losses.losses import (
    HALF_LOGIT,
    IDENTITY,
    LOG,
    LOGIT,
    MULTI_LOGIT,
    AbsoluteLoss,
    AdaptiveHuberLoss,
    ExponentialLoss,
    GammaLoss,
    HuberLoss,
    LogLoss,
    Loss,
    PoissonLoss,
    QuantileLoss,
    SoftmaxLoss,
    SquaredLoss,
    TweedieLoss,
    weighted_quantile,
)

SMOOTH = [SquaredLoss(), PoissonLoss(), GammaLoss(), TweedieLoss(1.3), LogLoss(), ExponentialLoss()]
KINKED = [AbsoluteLoss(), HuberLoss(1.5), QuantileLoss(0.8)]
ONE_SCORE = SMOOTH + KINKED
each_loss = pytest.mark.parametrize("loss", ONE_SCORE, ids=lambda loss: loss.core_name)


def targets(loss, rng, n=60):
    """Draw targets that the loss takes."""
    if isinstance(loss, LogLoss | ExponentialLoss):
        return rng.integers(0, 2, n).astype(float)
    if isinstance(loss, PoissonLoss | TweedieLoss):
        return rng.poisson(2.0, n).astype(float)
    return rng.gamma(2.0, size=n)


@each_loss
def test_the_gradient_is_the_slope_of_the_value(loss):
    rng = np.random.default_rng(0)
    y, score, step = targets(loss, rng), rng.normal(size=60), 1e-6
    slope = (loss.value(y, score + step) - loss.value(y, score - step)) / (2 * step)
    assert_allclose(loss.gradient(y, score), slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.core_name)
def test_the_hessian_is_the_slope_of_the_gradient(loss):
    rng = np.random.default_rng(1)
    y, score, step = targets(loss, rng), rng.normal(size=60), 1e-6
    slope = (loss.gradient(y, score + step) - loss.gradient(y, score - step)) / (2 * step)
    assert_allclose(loss.hessian(y, score), slope, rtol=1e-5, atol=1e-7)


def test_softmax_derivatives_class_by_class():
    rng = np.random.default_rng(2)
    loss, y, score, step = (
        SoftmaxLoss(4),
        rng.integers(0, 4, 30).astype(float),
        rng.normal(size=(30, 4)),
        1e-6,
    )
    for k in range(4):
        up, down = score.copy(), score.copy()
        up[:, k] += step
        down[:, k] -= step
        slope = (loss.value(y, up) - loss.value(y, down)) / (2 * step)
        bend = (loss.gradient(y, up) - loss.gradient(y, down))[:, k] / (2 * step)
        assert_allclose(loss.gradient(y, score)[:, k], slope, rtol=1e-5, atol=1e-8)
        assert_allclose(loss.hessian(y, score)[:, k], bend, rtol=1e-5, atol=1e-8)


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_the_constant_is_the_best_one(loss, weighted):
    rng = np.random.default_rng(3)
    y = targets(loss, rng)
    weights = rng.integers(0, 4, 60).astype(float) if weighted else None

    def mean_loss(score):
        return loss.mean_value(y, np.full(60, float(score)), weights)

    found = mean_loss(loss.constant(y, weights)[0])
    best = minimize_scalar(mean_loss, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10})
    assert found <= best.fun + 1e-9


def test_the_constant_of_softmax_gives_the_class_shares():
    y, weights = np.array([0.0, 1, 2, 2]), np.array([1.0, 1, 1, 3])
    loss = SoftmaxLoss(3)
    assert_allclose(loss.link.mean(loss.constant(y, weights)), [1 / 6, 1 / 6, 4 / 6])
    assert np.isfinite(SoftmaxLoss(4).constant(y, weights)).all()


@each_loss
def test_a_weight_of_two_is_a_row_twice_for_the_constant(loss):
    rng = np.random.default_rng(4)
    y, weights = targets(loss, rng), rng.integers(0, 3, 60)
    assert_allclose(loss.constant(y, weights.astype(float)), loss.constant(np.repeat(y, weights), None))


@each_loss
def test_derivatives_are_finite_for_any_score(loss):
    y = targets(loss, np.random.default_rng(5), 5)
    for score in (-1e4, -800.0, 800.0, 1e4):
        scores = np.full(5, score)
        assert np.isfinite(loss.gradient(y, scores)).all() and np.isfinite(loss.hessian(y, scores)).all()
        assert np.isfinite(loss.link.mean(scores)).all()


@pytest.mark.parametrize("link", [IDENTITY, LOG, LOGIT, HALF_LOGIT], ids=lambda link: type(link).__name__)
def test_a_link_and_its_inverse(link):
    mean = np.array([0.01, 0.3, 0.99])
    assert_allclose(link.mean(link.score(mean)), mean)


def test_the_multi_logit_link_and_its_inverse():
    mean = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]])
    assert_allclose(MULTI_LOGIT.mean(MULTI_LOGIT.score(mean)), mean, atol=1e-15)


def test_links_give_finite_scores_at_the_ends():
    assert np.isfinite(LOGIT.score(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize(
    "loss, y, row",
    [(PoissonLoss(), [1.0, -1.0], 1), (GammaLoss(), [0.0, 1.0], 0), (TweedieLoss(), [2.0, 1.0, -0.5], 2)],
)
def test_targets_that_a_loss_does_not_take(loss, y, row):
    with pytest.raises(ValueError, match=f"{loss.core_name.capitalize()} loss needs targets .*row {row}"):
        loss.check_target(np.array(y), None)


def test_targets_that_are_all_zero():
    for loss in (PoissonLoss(), TweedieLoss()):
        with pytest.raises(ValueError, match="above 0"):
            loss.check_target(np.array([0.0, 0.0, 3.0]), np.array([1.0, 1.0, 0.0]))


def test_the_delta_of_huber_is_chosen_by_the_spread():
    y = np.array([0.0] * 95 + [1.0] * 5)
    assert AdaptiveHuberLoss.for_target(y, None).delta == 1.0
    assert AdaptiveHuberLoss.for_target(np.zeros(5), None).delta == 1.0
    spread = np.random.default_rng(6).normal(scale=3.0, size=5000)
    assert 4.5 < AdaptiveHuberLoss.for_target(spread, None).delta < 5.4
    spread[:1000] = 1e6  # more outliers than the quantile leaves out
    assert 4.5 < AdaptiveHuberLoss.for_target(spread, None).delta < 9.0
    assert AdaptiveHuberLoss.for_target(np.append(spread, 0.0), np.append(np.ones(5000), 1e6)).delta == 1e6


def test_weighted_quantiles_by_counting():
    rng = np.random.default_rng(7)
    for _ in range(50):
        values, weights = rng.integers(0, 6, 9).astype(float), rng.integers(0, 4, 9)
        if not weights.any():
            continue
        rows = np.repeat(values, weights)
        for share in (0.1, 0.5, 0.75):
            expected = np.quantile(rows, share, method="averaged_inverted_cdf")
            assert weighted_quantile(values, weights.astype(float), share) == expected


# ---- a loss of one's own ----


class LogCosh(Loss):
    def gradient(self, y, score):
        return np.tanh(score - y)

    def hessian(self, y, score):
        return 1 - np.tanh(score - y) ** 2


@dataclass(frozen=True)
class Asymmetric(Loss):
    slope: float

    def gradient(self, y, score):
        return np.where(score > y, self.slope, 1.0) * (score - y)

    def hessian(self, y, score):
        return np.where(score > y, self.slope, 1.0)

    def value(self, y, score):
        return 0.5 * self.hessian(y, score) * (score - y) ** 2


def test_a_loss_needs_only_its_derivatives():
    loss, y = LogCosh(), np.array([1.0, 2.0, 3.0])
    start = loss.constant(y, None)
    assert_allclose(np.mean(loss.gradient(y, np.full(3, start[0]))), 0.0, atol=1e-12)
    assert not loss.has_value and Asymmetric(2.0).has_value
    loss.check_target(y, None)
    with pytest.raises(NotImplementedError, match="LogCosh does not define value"):
        loss.value(y, y)
    with pytest.raises(NotImplementedError, match=r"Loss must define gradient\(y, score\)"):
        Loss().gradient(y, y)


def test_losses_go_through_a_file():
    assert loads(dumps(Asymmetric(3.0))) == Asymmetric(3.0)
    loss = LogCosh()
    loss.note = "kept"
    assert loads(dumps(loss)).note == "kept"
    for built_in in [*ONE_SCORE, SoftmaxLoss(3)]:
        assert loads(dumps(built_in)) == built_in


@pytest.mark.parametrize("damaged", [HuberLoss(1.0), QuantileLoss(0.5), TweedieLoss(1.5), SoftmaxLoss(3)])
def test_a_file_with_an_impossible_loss_is_refused(damaged):
    (name,) = vars(damaged)
    object.__setattr__(damaged, name, -1)
    with pytest.raises(ModelFileError, match=name):
        loads(dumps(damaged))


def test_a_perfect_score_has_no_slope():
    y = np.array([1.0, 2.0])
    for loss in (SquaredLoss(), *KINKED):
        assert_array_equal(loss.gradient(y, y), [0.0, 0.0])
