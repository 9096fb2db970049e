"""Voting: the source's reference numbers, rules and rejection, weights given and learned, any table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import spinney as sp
from contracts.learners import mixed_data

RNG = np.random.default_rng(0)


class Fixed(ClassifierMixin, BaseEstimator):
    """Return the same probabilities for every row."""

    def __init__(self, shares=(1.0,)):
        self.shares = shares

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.shares, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Constant(RegressorMixin, BaseEstimator):
    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y, sample_weight=None):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


def fixed(*shares, **settings):
    members = [(f"m{i}", Fixed(one)) for i, one in enumerate(shares)]
    return sp.VotingClassifier(members, **settings).fit([[0.0]] * 3, [1, 2, 3])


# ---- the references ----

REFERENCE = ((0.2, 0.5, 0.3), (0.6, 0.3, 0.1), (0.3, 0.4, 0.3))


def test_hard_votes_1_1_2_give_class_1():
    votes = [(1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    assert fixed(*votes).predict([[0.0]]).tolist() == [1]
    assert_allclose(fixed(*votes).predict_proba([[0.0]]), [[2 / 3, 1 / 3, 0.0]])


def test_soft_votes_of_the_source_give_class_2():
    model = fixed(*REFERENCE, voting="soft")
    assert_array_equal(model.predict_proba([[0.0]]).round(2), [[0.37, 0.40, 0.23]])
    assert model.predict([[0.0]]).tolist() == [2]


# ---- rules ----


def test_a_majority_is_more_than_half_and_ties_go_to_the_first_class():
    one, two = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    halves = [two, one]
    assert fixed(*halves).predict([[0.0]]).tolist() == [1]
    majority = {"rule": "majority", "reject_label": -9}
    assert fixed(*halves, **majority).predict([[0.0]]).tolist() == [-9]
    assert fixed(two, one, two, **majority).predict([[0.0]]).tolist() == [2]
    assert fixed(*halves, **majority, quorum=0.49).predict([[0.0]]).tolist() == [1]
    assert fixed(two, one, two, **majority, quorum=0.7).predict([[0.0]]).tolist() == [-9]


def test_exactly_half_by_weights_that_do_not_add_up_exactly_is_no_majority():
    one, two = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    weights = [0.1, 0.2, 0.3]
    assert weights[0] + weights[1] > weights[2]  # by rounding only
    model = fixed(one, one, two, weights=weights, rule="majority", reject_label=-9)
    assert model.predict([[0.0]]).tolist() == [-9]
    model = fixed(two, two, one, weights=weights)
    assert model.predict([[0.0]]).tolist() == [1]


def test_a_quorum_of_the_mean_probability():
    settings = {"voting": "soft", "rule": "majority", "reject_label": 0}
    assert fixed(*REFERENCE, **settings).predict([[0.0]]).tolist() == [0]
    assert fixed(*REFERENCE, **settings, quorum=0.39).predict([[0.0]]).tolist() == [2]


@pytest.mark.parametrize(
    "labels, reject_label, expected",
    [
        (["no", "yes"], "undecided", "undecided"),
        ([1, 2], "undecided", "undecided"),
        ([1, 2], 77, 77),
        ([True, False], "undecided", "undecided"),
        (["no", "yes"], -1, -1),
    ],
)
def test_reject_labels_keep_their_type_and_so_do_the_classes(labels, reject_label, expected):
    members = [("a", Fixed((0.0, 1.0))), ("b", Fixed((1.0, 0.0))), ("c", Fixed((0.0, 1.0)))]
    model = sp.VotingClassifier(members, rule="majority", quorum=0.8, reject_label=reject_label)
    model.fit([[0.0], [1.0]], labels)
    assert model.predict([[0.0]]).tolist() == [expected]
    model.set_params(quorum=0.5)
    assert model.predict([[0.0]]).tolist() == [sorted(labels)[1]]


def test_a_majority_needs_a_label_for_the_rejected_that_is_no_class():
    with pytest.raises(ValueError, match="reject_label"):
        fixed(*REFERENCE, rule="majority")
    with pytest.raises(ValueError, match="reject_label 2 is also a class"):
        fixed(*REFERENCE, rule="majority", reject_label=2)
    with pytest.raises(ValueError, match="quorum"):
        fixed(*REFERENCE, quorum=0.5)


# ---- coverage and risk ----


def test_coverage_is_the_part_that_is_answered():
    X, y, _ = mixed_data("classifier")
    members = [(str(d), sp.DecisionTreeClassifier(max_depth=d, random_state=d)) for d in (1, 2, 3, 6)]
    model = sp.VotingClassifier(members, rule="majority", reject_label=-1).fit(X, y)
    predicted = model.predict(X)
    assert 0 < (predicted == -1).mean() < 1
    assert model.coverage(X) == (predicted != -1).mean()
    assert model.set_params(rule="plurality").coverage(X) == 1.0


def test_the_risk_coverage_curve_counts_rows_by_hand():
    X, y, weights = mixed_data("classifier")
    members = [(str(d), sp.DecisionTreeClassifier(max_depth=d)) for d in (1, 2, 3)]
    model = sp.VotingClassifier(members, voting="soft").fit(X, y)
    curve = model.risk_coverage(X, y, weights)
    most, wrong = model.predict_proba(X).max(axis=1), model.predict(X) != y
    for threshold, coverage, risk in zip(curve.threshold, curve.coverage, curve.risk, strict=True):
        answered = most >= threshold
        assert_allclose(coverage, weights[answered].sum() / weights.sum())
        assert_allclose(risk, weights[answered & wrong].sum() / weights[answered].sum())
    assert curve.coverage[-1] == 1.0
    assert_allclose(curve.risk[-1], weights[wrong].sum() / weights.sum())
    assert (np.diff(curve.coverage) > 0).all() and (np.diff(curve.threshold) < 0).all()
    assert curve.to_frame().columns.tolist() == ["threshold", "coverage", "risk"]


# ---- weights ----


def test_learned_weights_are_the_best_on_the_simplex():
    X = RNG.normal(size=(300, 4))
    y = X[:, 0] + 0.5 * np.abs(X[:, 1]) + 0.3 * RNG.normal(size=300)
    members = [
        ("line", LinearRegression()),
        ("tree", sp.DecisionTreeRegressor(max_depth=4)),
        ("nonsense", Constant(100.0)),
    ]
    model = sp.VotingRegressor(members, weights="learned", cv=4).fit(X, y)
    assert_allclose(model.weights_.sum(), 1.0)
    assert (model.weights_ >= 0).all() and model.weights_[2] == 0
    held_out = np.empty((300, 3))
    for test in np.array_split(np.arange(300), 4):
        train = np.setdiff1d(np.arange(300), test)
        held_out[test] = sp.VotingRegressor(members).fit(X[train], y[train]).transform(X[test])
    error = np.mean((held_out @ model.weights_ - y) ** 2)
    for weight in np.linspace(0, 1, 201):
        assert error <= np.mean((held_out @ [weight, 1 - weight, 0] - y) ** 2) + 1e-12
    assert error < min(np.mean((held_out - y[:, None]) ** 2, axis=0))


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_learned_weights_of_votes_favour_the_better_member(voting):
    X = RNG.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "right", "left")
    members = [("good", sp.DecisionTreeClassifier()), ("blind", Fixed((0.6, 0.4)))]
    model = sp.VotingClassifier(members, voting=voting, weights="learned").fit(X, y)
    assert model.weights_[0] > 0.9
    assert_allclose(model.weights_.sum(), 1.0)


def test_learned_weights_count_rows_by_their_weights():
    X, y = np.zeros((40, 1)), np.repeat([0.0, 10.0], 20)
    members = [("low", Constant(0.0)), ("high", Constant(10.0))]
    rows = np.repeat([1.0, 3.0], 20)
    model = sp.VotingRegressor(members, weights="learned").fit(X, y, rows)
    assert_allclose(model.weights_, [0.25, 0.75])


def test_weights_are_one_an_estimator_and_no_less_than_0():
    X, y = [[0.0], [1.0]], [0, 1]
    members = [("a", sp.DecisionTreeClassifier()), ("b", "drop"), ("c", sp.C45Classifier())]
    model = sp.VotingClassifier(members, weights=[3, 5, 1]).fit(X, y)
    assert_allclose(model.weights_, [0.75, 0.25])
    for wrong in ([1, 1], [1, 1, -1], [1, 1, np.nan], [0, 1, 0], "best"):
        with pytest.raises(ValueError, match="weights"):
            sp.VotingClassifier(members, weights=wrong).fit(X, y)


# ---- members ----


def test_frames_with_text_and_missing_values_reach_the_members_untouched():
    X, y, weights = mixed_data("classifier")
    seen = []

    class Watcher(sp.DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append((X, sample_weight))
            return super().fit(X, y, sample_weight)

    sp.VotingClassifier([("one", Watcher()), ("two", Watcher())]).fit(X, y, weights)
    assert all(table is X for table, _ in seen) and len(seen) == 2
    assert_array_equal(seen[0][1], weights)
    polars = pl.from_pandas(X)
    members = [("a", sp.DecisionTreeClassifier()), ("b", sp.C45Classifier())]
    with_pandas = sp.VotingClassifier(members).fit(X, y, weights)
    with_polars = sp.VotingClassifier(members).fit(polars, y, weights)
    assert_array_equal(with_pandas.predict(X), with_polars.predict(polars))
    assert with_polars.feature_names_in_.tolist() == ["a", "b", "color", "noise"]


def test_a_member_that_takes_no_weights_is_named():
    members = [("tree", sp.DecisionTreeClassifier()), ("near", KNeighborsClassifier(1))]
    X, y = RNG.normal(size=(20, 2)), np.arange(20) % 2
    assert len(sp.VotingClassifier(members).fit(X, y).predict(X)) == 20
    with pytest.raises(ValueError, match="KNeighborsClassifier"):
        sp.VotingClassifier(members).fit(X, y, np.ones(20))


def test_soft_voting_needs_probabilities():
    members = [("tree", sp.DecisionTreeClassifier()), ("svm", LinearSVC())]
    with pytest.raises(ValueError, match=r"'svm', a LinearSVC, does not implement the method predict_proba"):
        sp.VotingClassifier(members, voting="soft").fit([[0.0], [1.0]], [0, 1])


def test_members_are_known_by_name_and_speak_the_labels():
    X, y, _ = mixed_data("classifier")
    y = np.array(["low", "middle", "high"])[y]
    model = sp.VotingClassifier([("a", sp.DecisionTreeClassifier()), ("b", "drop")]).fit(X, y)
    assert set(model.named_estimators_) == {"a", "b"}
    assert set(model.named_estimators_["a"].predict(X)) <= {"low", "middle", "high"}
    assert model.set_params(a__max_depth=2).get_params()["a__max_depth"] == 2


def test_a_seed_reaches_every_member_and_none_leaves_them_alone():
    X, y, _ = mixed_data("classifier")
    random = sp.DecisionTreeClassifier(splitter="random", random_state=5)
    members = [("a", random), ("b", make_pipeline("passthrough", random))]
    seeded = sp.VotingClassifier(members, random_state=1).fit(X, y)
    states = [seeded.estimators_[0].random_state, seeded.estimators_[1][-1].random_state]
    assert len({5, *states}) == 3
    again = sp.VotingClassifier(members, random_state=1).fit(X, y)
    assert_array_equal(seeded.predict(X), again.predict(X))
    assert sp.VotingClassifier(members).fit(X, y).estimators_[0].random_state == 5


def test_fitted_members_can_vote_as_they_are():
    X, y, _ = mixed_data("regressor")
    one, two = (sp.DecisionTreeRegressor(max_depth=d).fit(X, y) for d in (1, 4))
    model = sp.VotingRegressor([("one", one), ("two", two)], cv="prefit", weights="learned").fit(X, y)
    assert model.estimators_ == [one, two]
    assert model.weights_[1] > model.weights_[0]


def test_other_processes_give_the_same_model():
    X, y = RNG.normal(size=(30, 3)), np.arange(30) % 2
    members = [
        ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
        ("near", KNeighborsClassifier()),
    ]
    alone = sp.VotingClassifier(members, voting="soft", weights="learned", cv=2).fit(X, y)
    together = sp.VotingClassifier(members, voting="soft", weights="learned", cv=2, n_jobs=2).fit(X, y)
    assert_array_equal(alone.weights_, together.weights_)
    assert_array_equal(alone.predict_proba(X), together.predict_proba(X))


def test_progress_is_shown_only_when_asked_for(capsys):
    members = [("near", KNeighborsRegressor(1))]
    sp.VotingRegressor(members).fit([[0.0], [1.0]], [0.0, 1.0])
    assert capsys.readouterr() == ("", "")
    sp.VotingRegressor(members, verbose=1).fit([[0.0], [1.0]], [0.0, 1.0])
    out, err = capsys.readouterr()
    assert out == "" and "VotingRegressor" in err


def test_set_output_gives_a_frame_of_answers():
    X, y, _ = mixed_data("classifier")
    model = sp.VotingClassifier([("a", sp.DecisionTreeClassifier())], voting="soft").fit(X, y)
    frame = model.set_output(transform="pandas").transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == [f"votingclassifier_a{k}" for k in range(3)]


def test_le_codes_labels_as_theirs_does():
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["b", "a", "b", "a"]
    voting = sp.VotingClassifier([("tree", sp.DecisionTreeClassifier())])
    assert not hasattr(voting, "le_")
    assert voting.fit(X, y).le_.transform(["a", "b"]).tolist() == [0, 1]
    outputs = voting.fit(X, np.column_stack([y, ["u", "v", "w", "w"]])).le_
    assert [list(encoder.classes_) for encoder in outputs] == [["a", "b"], ["u", "v", "w"]]
