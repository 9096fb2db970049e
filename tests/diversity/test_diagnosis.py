import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import AdaBoostRegressor, BaggingClassifier, RandomForestRegressor, VotingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.tree import DecisionTreeClassifier

from diversity.tables import random_votes
from spinney import diversity
from spinney.core.errors import InputError
from spinney.diversity import Diagnosis, RegressionDiagnosis, diagnose, ensemble_error, pair_mean

OF_LABELS = ("disagreement", "kappa")
OF_RIGHT = (
    "correlation",
    "q_statistic",
    "double_fault",
    "entropy",
    "kohavi_wolpert",
    "interrater",
    "difficulty",
    "generalized_diversity",
    "coincident_failure",
)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_diagnosis_holds_every_measure(n_classes, weighted):
    predictions, y = random_votes(150, 6, n_classes)
    weights = np.random.default_rng(1).integers(0, 3, 150) if weighted else None
    found = diagnose(predictions, None, y, sample_weight=weights)
    for name in OF_LABELS:
        expected = getattr(diversity, name)(predictions, sample_weight=weights)
        assert np.array_equal(getattr(found, name), expected), name
    for name in OF_RIGHT:
        expected = getattr(diversity, name)(predictions, y, sample_weight=weights)
        assert np.array_equal(getattr(found, name), expected), name
    errors = np.average(predictions != y[:, None], axis=0, weights=weights)
    np.testing.assert_allclose(found.error_by_member, errors)
    votes = (predictions[:, :, None] == np.arange(n_classes)).sum(axis=1)
    assert found.error == pytest.approx(np.average(votes.argmax(axis=1) != y, weights=weights))
    assert found.independent_error == ensemble_error(6, found.error_by_member.mean())
    assert found.hoeffding_bound == ensemble_error(6, found.error_by_member.mean(), "hoeffding")
    points = diversity.kappa_error(predictions, y, sample_weight=weights)
    assert np.array_equal(found.kappa_error.kappa, points.kappa)
    assert np.array_equal(found.kappa_error.error, points.error)
    assert found.ambiguity.mean_error == pytest.approx(errors.mean())


def test_the_error_is_that_of_the_ensembles_own_answers():
    X, target = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[target]
    train = np.random.default_rng(0).random(150) < 0.4
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 5, random_state=0).fit(X[train], y[train])
    found = diagnose(model, X[~train], y[~train])
    assert found.error == pytest.approx(1 - model.score(X[~train], y[~train]))
    assert (found.n_members, found.n_rows) == (5, (~train).sum())
    listed = [DecisionTreeClassifier(max_depth=d).fit(X[train], y[train]) for d in (1, 2, 3)]
    assert diagnose(listed, X, y).n_members == 3


def test_tables_by_measure_pair_and_member():
    predictions, y = random_votes(100, 4, 3)
    found = diagnose(predictions, None, y)
    table = found.to_frame()
    values = dict(zip(table["measure"], table["value"], strict=True))
    assert set(OF_LABELS + OF_RIGHT) <= set(values)
    assert values["kappa"] == pair_mean(found.kappa)
    assert values["entropy"] == found.entropy
    assert values["error"] == found.error
    assert values["mean_error"] == pytest.approx(found.error_by_member.mean())
    assert values["ambiguity"] == found.ambiguity.ambiguity
    assert set(table["more_diverse"]) == {"", "higher", "lower"}
    pairs = found.to_frame(by="pair")
    assert pairs["q_statistic"].tolist() == found.q_statistic[np.triu_indices(4, 1)].tolist()
    assert pairs["error"].tolist() == found.kappa_error.error.tolist()
    members = found.to_frame("member")
    assert members["error"].tolist() == found.error_by_member.tolist()
    assert members["kappa"][1] == pytest.approx(np.delete(found.kappa[1], 1).mean())
    with pytest.raises(InputError, match='"measure", "pair" or "member"'):
        found.to_frame("row")


def test_the_arrows_of_the_table_point_where_diversity_is():
    """Members that err apart, against copies of one member: every measure moves as the table says."""
    draw = np.random.default_rng(0)
    y = np.ones(3000, dtype=int)
    apart = (draw.random((3000, 5)) < 0.7).astype(int)
    together = np.where(draw.random((3000, 5)) < 0.2, apart, apart[:, :1])
    frames = [diagnose(predictions, None, y).to_frame() for predictions in (together, apart)]
    for alike, differ in zip(*(frame.itertuples() for frame in frames), strict=True):
        if alike.more_diverse:
            assert (differ.value > alike.value) == (alike.more_diverse == "higher"), alike.measure


def test_records_are_frozen():
    found = diagnose(*random_votes(20, 3, 2)[:1], None, random_votes(20, 3, 2)[1])
    assert isinstance(found, Diagnosis)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.error = 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_regressors(weighted, n_targets):
    X, y = make_regression(120, 5, n_targets=n_targets, noise=10, random_state=0)
    weights = np.random.default_rng(0).random(120) if weighted else None
    forest = RandomForestRegressor(6, max_depth=3, random_state=0).fit(X[:60], y[:60])
    found = diagnose(forest, X, y, sample_weight=weights)
    assert isinstance(found, RegressionDiagnosis)
    assert found.error == pytest.approx(mean_squared_error(y, forest.predict(X), sample_weight=weights))
    assert found.error == pytest.approx(found.ambiguity.mean_error - found.ambiguity.ambiguity)
    assert found.error == pytest.approx(found.squared_bias + found.error_variance)
    expected = ensemble_error(6, found.variance, "correlated", covariance=found.covariance)
    assert found.error_variance == expected
    if n_targets == 1:
        residuals = np.array([tree.predict(X) for tree in forest.estimators_]) - y
        covariances = np.cov(residuals, aweights=weights, ddof=0)
        assert found.variance == pytest.approx(np.diagonal(covariances).mean())
        spread = np.sqrt(np.outer(*[np.diagonal(covariances)] * 2))
        np.testing.assert_allclose(found.correlation, covariances / spread, atol=1e-10)
    assert found.to_frame()["measure"].tolist()[0] == "error"
    assert len(found.to_frame("pair")) == 15


def test_an_ensemble_that_takes_the_median_has_another_error_than_the_mean():
    X, y = make_regression(100, 5, noise=30, random_state=0)
    model = AdaBoostRegressor(n_estimators=8, random_state=0).fit(X, y)
    found = diagnose(model, X, y)
    assert found.error == pytest.approx(mean_squared_error(y, model.predict(X)))
    assert found.error != pytest.approx(found.ambiguity.error)


def test_weights_of_regressors():
    X, y = make_regression(50, 5, noise=30, random_state=0)
    model = VotingRegressor([("a", Ridge(1.0)), ("b", Ridge(100.0))], weights=[3, 1]).fit(X, y)
    assert diagnose(model, X, y).ambiguity.weights.tolist() == [0.75, 0.25]
    assert diagnose(model, X, y, weights=[1, 1]).ambiguity.weights.tolist() == [0.5, 0.5]
    with pytest.raises(InputError, match="weights are those of regressors"):
        diagnose([["a", "b"]], None, ["a"], weights=[1, 1])


def test_a_matrix_of_numbers_is_of_regressors_where_y_is_continuous():
    found = diagnose([[0.5, 1.5], [2.0, 2.0], [1.0, 4.0]], None, [1.25, 2.0, 2.5])
    assert found.ambiguity.error == pytest.approx(found.error)
    constant = diagnose(
        [[0.5, 1.5], [1.5, 2.0]], None, [1.25, 2.25]
    )  # the first is wrong by as much each time
    assert constant.correlation.tolist() == [[1, 0], [0, 1]]


def test_says_what_is_missing():
    with pytest.raises(InputError, match="y is None"):
        diagnose([["a", "b"]], None, None)
    with pytest.raises(InputError, match="no estimators_"):
        diagnose(np.zeros((2, 2)), np.zeros((2, 2)), [0, 1])


def test_one_member_is_not_diverse():
    with pytest.raises(InputError, match="at least 2 members"):
        diagnose([["a"], ["b"]], None, ["a", "b"])
    with pytest.raises(InputError, match="at least 2 members"):
        diagnose([[0.5], [1.5]], None, [0.2, 1.7])
