import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import spinney as sp
from spinney.perturb.output_perturbation import flip_labels, make_copies

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=400), [-0.8, 0.9])


class Recorder(KNeighborsClassifier):
    """Remember the labels that it was fitted to."""

    def fit(self, X, y):
        self.seen_ = np.asarray(y)
        return super().fit(X, y)


def flipped(**params):
    model = sp.OutputFlippingClassifier(Recorder(1), random_state=3, **params).fit(X, Y)
    return model, np.array([member.seen_ for member in model.estimators_])


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_so_many_labels_change_and_no_class_grows(rate):
    model, labels = flipped(flip_rate=rate, n_estimators=60)
    assert model.flip_rate_ == rate
    changed = (labels != Y).mean()
    assert abs(changed - rate) < 4 * np.sqrt(rate / (60 * 400))
    for one in labels:
        np.testing.assert_array_equal(np.bincount(one), np.bincount(Y))


def test_labels_change_in_proportion_to_the_classes():
    """P(i → j) = rate · p_j / (1 − Σ p²) for j ≠ i (Breiman, 2000)."""
    _, labels = flipped(flip_rate=0.3, n_estimators=200)
    shares = np.bincount(Y) / len(Y)
    for i in range(3):
        found = np.bincount(labels[:, i == Y].ravel(), minlength=3) / (labels[:, i == Y].size)
        expected = 0.3 * shares / (1 - (shares**2).sum())
        expected[i] = 1 - expected[np.arange(3) != i].sum()
        np.testing.assert_allclose(found, expected, atol=0.012)


def test_each_member_has_its_own_flips():
    _, labels = flipped(n_estimators=10)
    assert len({one.tobytes() for one in labels}) == 10


def test_no_rate_no_flips():
    _, labels = flipped(flip_rate=0.0, n_estimators=3)
    assert (labels == Y).all()


def test_auto_is_a_share_of_what_chance_would_change():
    model, labels = flipped(n_estimators=40)
    shares = np.bincount(Y) / len(Y)
    assert model.flip_rate_ == pytest.approx(0.4 * (1 - (shares**2).sum()))
    assert abs((labels != Y).mean() - model.flip_rate_) < 0.02


def test_a_rate_that_only_chance_could_reach_is_refused():
    rare = np.zeros(400, int)
    rare[:20] = 1
    with pytest.raises(ValueError, match=r"flip_rate is 0.2, .* 0.095 of the rows"):
        sp.OutputFlippingClassifier(flip_rate=0.2).fit(X, rare)
    assert sp.OutputFlippingClassifier(n_estimators=2).fit(X, rare).flip_rate_ < 0.095


def test_fractions_of_a_flip_are_right_on_average():
    labels = np.array([0, 1, 0, 1, 1, 0])
    units = make_copies(np.arange(6.0)[:, None], labels, None)
    dealt = 1 + 0.1 * 5 / 0.5
    rng = np.random.default_rng(0)
    found = [(flip_labels(labels, units, dealt, rng) != labels).mean() for _ in range(3000)]
    assert abs(np.mean(found) - 0.1) < 0.01


def test_the_vote_is_better_than_a_tree():
    rng = np.random.default_rng(1)
    T = rng.normal(size=(3000, 4))
    truth = np.digitize(T[:, 0] + 0.5 * rng.normal(size=3000), [-0.8, 0.9])
    tree = sp.DecisionTreeClassifier(random_state=0).fit(X, Y).score(T, truth)
    vote = sp.OutputFlippingClassifier(random_state=0).fit(X, Y).score(T, truth)
    assert vote > tree + 0.02


def test_hard_votes_are_counted_and_soft_ones_averaged():
    model = sp.OutputFlippingClassifier(LogisticRegression(), n_estimators=5, random_state=0).fit(X, Y)
    votes = np.array([member.predict(X) for member in model.estimators_])
    counted = np.array([(votes == k).mean(axis=0) for k in range(3)]).T
    np.testing.assert_allclose(model.predict_proba(X), counted, atol=1e-15)
    soft = np.mean([member.predict_proba(X) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.set_params(voting="soft").predict_proba(X), soft, atol=1e-15)


def test_equal_votes_go_to_the_first_class():
    model = sp.OutputFlippingClassifier(n_estimators=2, flip_rate=0.4, random_state=0).fit(X, Y)
    proba = model.predict_proba(X)
    tied = np.isclose(np.sort(proba, axis=1)[:, -1], 0.5)
    assert tied.any()
    np.testing.assert_array_equal(model.predict(X)[tied], proba[tied].argmax(axis=1))


@pytest.mark.parametrize("member", [LinearSVC(), KNeighborsClassifier(), sp.C45Classifier()])
def test_any_member_and_labels_of_text(member):
    names = np.array(["one", "two", "three"])[Y]
    model = sp.OutputFlippingClassifier(member, n_estimators=5, random_state=0).fit(X, names)
    assert model.classes_.tolist() == ["one", "three", "two"]
    assert model.score(X, names) > 0.6


def test_a_class_weight_of_the_members_names_the_labels():
    names = np.array(["one", "two", "three"])[Y]
    heavy = sp.DecisionTreeClassifier(
        class_weight={"one": 1e6, "two": 1.0, "three": 1.0}, min_samples_leaf=100
    )
    assert set(sp.OutputFlippingClassifier(heavy, random_state=0).fit(X, names).predict(X)) == {"one"}


def test_members_without_weights_take_whole_ones_as_copies():
    counts = np.arange(400) % 3
    model = sp.OutputFlippingClassifier(Recorder(1), n_estimators=2, random_state=0).fit(X, Y, counts)
    assert len(model.estimators_[0].seen_) == counts.sum()
    with pytest.raises(ValueError, match="Recorder does not support sample weights"):
        model.fit(X, Y, counts + 0.5)


def test_texts_reach_a_vectorizer_untouched():
    texts = ["good tree", "bad tree", "good wood", "bad wood"] * 10
    model = sp.OutputFlippingClassifier(
        make_pipeline(CountVectorizer(), MultinomialNB()), n_estimators=15, random_state=0
    ).fit(texts, [1, 0] * 20)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]


def test_a_bootstrap_leaves_rows_out():
    counts = []
    for member in (sp.DecisionTreeClassifier(), KNeighborsClassifier(1)):
        model = sp.OutputFlippingClassifier(
            member, n_estimators=30, bootstrap=True, flip_rate=0.0, random_state=0
        )
        # A row's nearest neighbour, or leaf, is itself: where it is wrong, the row was left out.
        right = [one.predict(X) == Y for one in model.fit(X, Y).estimators_]
        counts.append(np.mean(right))
    assert all(0.7 < share < 0.95 for share in counts)
