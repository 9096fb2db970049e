"""What all combinations share: metadata and its routing, groups, tags, and nested parameters."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import spinney as sp
from contracts.learners import mixed_data

RNG = np.random.default_rng(0)
X, Y, WEIGHTS = RNG.normal(size=(60, 3)), np.arange(60) % 2, RNG.integers(1, 4, 60).astype(float)


class Recorder(GaussianNB):
    """Keep the metadata of each fit."""

    def fit(self, X, y, sample_weight=None, *, remark=None):
        super().fit(X, y, sample_weight)
        self.given_ = (None if sample_weight is None else list(sample_weight), remark)
        return self


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def given(model, name):
    return model.named_estimators_[name].given_


@pytest.mark.parametrize("make", [sp.VotingClassifier, sp.StackingClassifier, sp.EnsembleSelectionClassifier])
def test_metadata_goes_to_those_who_ask_for_it(make, routing):
    asking = Recorder().set_fit_request(sample_weight=True, remark=True)
    deaf = Recorder().set_fit_request(sample_weight=False, remark=False)
    settings = {"n_steps": 2, "n_initial": 2} if make is sp.EnsembleSelectionClassifier else {}
    model = make([("asking", asking), ("deaf", deaf)], **settings).fit(
        X, Y, sample_weight=WEIGHTS, remark="hm"
    )
    assert given(model, "asking") == (WEIGHTS.tolist(), "hm")
    if "deaf" in model.named_estimators_:
        assert given(model, "deaf") == (None, None)


def test_metadata_nobody_decided_on_is_an_error(routing):
    with pytest.raises(ValueError, match="sample_weight"):
        sp.VotingClassifier([("tree", sp.DecisionTreeClassifier())]).fit(X, Y, sample_weight=WEIGHTS)


def test_the_final_estimator_takes_part_in_routing(routing):
    tree = sp.DecisionTreeClassifier(max_depth=2).set_fit_request(sample_weight=True)
    final = Recorder().set_fit_request(sample_weight=True, remark=True)
    model = sp.StackingClassifier([("tree", tree)], final).fit(X, Y, sample_weight=WEIGHTS, remark="hm")
    assert model.final_estimator_.given_ == (WEIGHTS.tolist(), "hm")
    easy = np.where(np.arange(len(X)) % 5, X[:, 0] > np.median(X[:, 0]), Y)
    default = sp.StackingClassifier([("tree", tree)]).fit(X, easy, sample_weight=WEIGHTS)
    without = sp.StackingClassifier([("tree", tree)]).fit(X, easy)
    assert not np.array_equal(default.final_estimator_.coef_, without.final_estimator_.coef_)


def test_groups_reach_the_splitter_with_and_without_routing(routing):
    groups = np.arange(60) % 4
    model = sp.StackingClassifier([("tree", sp.DecisionTreeClassifier())], cv=GroupKFold(4))
    with_routing = clone(model).fit(X, Y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=False):
        without = clone(model).fit(X, Y, groups=groups)
    assert_array_equal(with_routing.predict_proba(X), without.predict_proba(X))
    with pytest.raises(ValueError, match="groups"):
        clone(model).fit(X, Y)


def test_a_search_over_an_ensemble_routes_its_weights(routing):
    tree = sp.DecisionTreeClassifier().set_fit_request(sample_weight=True)
    voting = sp.VotingClassifier([("tree", tree)]).set_fit_request(sample_weight=True)
    voting.set_score_request(sample_weight=False)
    search = GridSearchCV(voting, {"tree__max_depth": [1, 3]}, cv=3).fit(X, Y, sample_weight=WEIGHTS)
    assert search.best_params_["tree__max_depth"] in (1, 3)


def test_without_routing_other_metadata_is_refused():
    with pytest.raises(ValueError, match="'remark'"):
        sp.VotingClassifier([("tree", Recorder())]).fit(X, Y, remark="hm")


def test_weights_are_cut_to_the_rows_of_each_fold():
    seen = []

    class Watcher(sp.DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append((X[:, 0], sample_weight))
            return super().fit(X, y, sample_weight)

    sp.StackingClassifier([("tree", Watcher())], cv=3).fit(X, Y, WEIGHTS)
    weight_of = dict(zip(X[:, 0].tolist(), WEIGHTS.tolist(), strict=True))
    assert len(seen) == 4
    for first, weights in seen:
        assert [weight_of[value] for value in first.tolist()] == weights.tolist()


def test_tags_are_what_all_members_take():
    tree, line = sp.DecisionTreeClassifier(), make_pipeline(StandardScaler(), LogisticRegression())
    for members, expected in [([tree, tree], True), ([tree, line], False)]:
        tags = get_tags(sp.StackingClassifier([(f"m{i}", one) for i, one in enumerate(members)]))
        assert tags.input_tags.allow_nan is expected
        assert tags.input_tags.string is expected
    assert not get_tags(sp.StackingClassifier([("a", tree)], passthrough=True)).input_tags.allow_nan
    assert get_tags(sp.StackingClassifier([("a", tree)], tree, passthrough=True)).input_tags.allow_nan
    assert get_tags(sp.VotingClassifier()).input_tags.allow_nan is False


def test_members_are_set_dropped_and_searched_by_name():
    model = sp.StackingClassifier([("tree", sp.DecisionTreeClassifier()), ("near", KNeighborsClassifier())])
    search = GridSearchCV(model, {"near": ["drop", KNeighborsClassifier(3)], "tree__max_depth": [2, 4]}, cv=2)
    assert search.fit(X, Y).best_estimator_.named_estimators["tree"].max_depth in (2, 4)
    assert list(model.set_params(near="drop").fit(X, Y).named_estimators_) == ["tree", "near"]
    assert not hasattr(sp.StackingClassifier(), "named_estimators_")


def test_cross_validation_of_text_and_missing_values():
    frame, y, _ = mixed_data("classifier", 200)
    y = np.array(["low", "middle", "high"])[y]
    members = [("cart", sp.DecisionTreeClassifier(max_depth=4)), ("c4.5", sp.C45Classifier())]
    for model in (sp.VotingClassifier(members), sp.StackingClassifier(members, cv=3)):
        assert cross_val_score(model, frame, y, cv=3).mean() > 0.55


def test_texts_go_to_pipelines_that_read_them():
    from sklearn.feature_extraction.text import CountVectorizer

    texts, labels = ["red apple", "green pear", "red cherry", "green lime"] * 5, ["red", "green"] * 10
    reader = make_pipeline(CountVectorizer(), LogisticRegression())
    model = sp.StackingClassifier([("words", reader)], cv=2).fit(texts, labels)
    assert model.predict(["red pear pear"]).tolist() in (["red"], ["green"])
    assert model.score(texts, labels) == 1.0
    assert not hasattr(model, "n_features_in_")
