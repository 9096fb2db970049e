import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

import spinney as sp

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
CODES = ["one-vs-one", "one-vs-rest", "dense", "sparse", "exhaustive"]


class Recorder(KNeighborsClassifier):
    """Remember what it was fitted to."""

    def fit(self, X, y):
        self.rows_, self.sides_ = X, y
        return super().fit(X, y)


@pytest.mark.parametrize("code", [*CODES, [[1, 0], [-1, 1], [0, -1]]], ids=str)
def test_members_learn_the_sides_of_their_column_and_rows_of_others_are_left_out(code):
    model = sp.OutputCodeClassifier(Recorder(), code=code, random_state=0).fit(X, NAMES)
    assert len(model.estimators_) == model.code_book_.shape[1]
    for column, member in zip(model.code_book_.T, model.estimators_, strict=True):
        used = column[Y] != 0
        assert_array_equal(member.rows_, X[used])
        assert_array_equal(member.sides_, column[Y][used])


@pytest.mark.parametrize("decoding", ["hamming", "loss", "probability"])
@pytest.mark.parametrize("code", CODES)
def test_every_code_and_decoding_classifies(code, decoding):
    model = sp.OutputCodeClassifier(code=code, decoding=decoding, random_state=0).fit(X[::2], NAMES[::2])
    assert model.score(X[1::2], NAMES[1::2]) > 0.88
    proba, scores = model.predict_proba(X), model.decision_function(X)
    assert_allclose(proba.sum(axis=1), 1.0)
    for answer in (proba, scores):
        assert_array_equal(model.classes_[answer.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("code", [*CODES, [[-1], [1]]], ids=str)
@pytest.mark.parametrize("decoding", ["hamming", "loss", "probability"])
def test_two_classes_are_one_question(code, decoding):
    keep = Y < 2
    model = sp.OutputCodeClassifier(
        LinearDiscriminantAnalysis(), code=code, decoding=decoding, random_state=0
    )
    model.fit(X[keep], NAMES[keep])
    assert len(model.estimators_) == 1
    alone = LinearDiscriminantAnalysis().fit(X[keep], NAMES[keep])
    assert_array_equal(model.predict(X), alone.predict(X))
    assert model.decision_function(X).shape == (150,)
    assert_array_equal(model.decision_function(X) > 0, alone.decision_function(X) > 0)
    if decoding == "probability":
        assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=2e-6)


def test_an_error_of_one_member_is_corrected(monkeypatch):
    """Four classes and all seven dichotomies: any two rows differ in four columns, so one may be wrong."""
    model = sp.OutputCodeClassifier(code="exhaustive", decoding="hamming").fit(
        np.arange(40.0)[:, None], np.arange(40) // 10
    )
    for column in range(7):
        margins = model.code_book_[[2]].astype(float)
        margins[0, column] *= -1
        monkeypatch.setattr(model, "margins", lambda _, margins=margins: margins)
        assert model.predict([[0.0]]).tolist() == [2]


def test_an_output_code_is_better_than_a_tree_on_many_classes():
    digits, labels = load_digits(return_X_y=True)
    train, test = slice(0, 1000), slice(1000, None)
    tree = sp.DecisionTreeClassifier(random_state=0).fit(digits[train], labels[train])
    code = sp.OutputCodeClassifier(random_state=0).fit(digits[train], labels[train])
    assert code.score(digits[test], labels[test]) > tree.score(digits[test], labels[test]) + 0.08


def test_coupled_probabilities_are_calibrated_where_members_are():
    """Linear members on normal classes know their probabilities; the softmax of a loss does not."""
    T, t = make_classification(
        1600, 6, n_informative=4, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=0
    )
    losses = {}
    for decoding in ("probability", "loss", "hamming"):
        model = sp.OutputCodeClassifier(
            LinearDiscriminantAnalysis(), code="dense", decoding=decoding, random_state=0
        )
        losses[decoding] = log_loss(t[800:], model.fit(T[:800], t[:800]).predict_proba(T[800:]))
    direct = LinearDiscriminantAnalysis().fit(T[:800], t[:800]).predict_proba(T[800:])
    assert losses["probability"] < min(losses["loss"], losses["hamming"])
    assert losses["probability"] < log_loss(t[800:], direct) + 0.15


def test_margins_come_from_what_members_have():
    linear = sp.OutputCodeClassifier(RidgeClassifier(), code="one-vs-rest").fit(X, Y)
    assert_array_equal(linear.margins(X)[:, 1], linear.estimators_[1].decision_function(X))
    logistic = sp.OutputCodeClassifier(LinearDiscriminantAnalysis(), response="predict_proba").fit(X, Y)
    assert_allclose(logistic.margins(X)[:, 0], 2 * logistic.estimators_[0].predict_proba(X)[:, 1] - 1)
    labels = sp.OutputCodeClassifier(LinearDiscriminantAnalysis(), response="predict").fit(X, Y)
    assert set(np.unique(labels.margins(X))) == {-1.0, 1.0}
    with pytest.raises(ValueError, match=r"decoding='probability'.*RidgeClassifier"):
        linear.set_params(decoding="probability").fit(X, Y)
    with pytest.raises(ValueError, match=r"response='decision_function'.*DecisionTreeClassifier"):
        sp.OutputCodeClassifier(response="decision_function").fit(X, Y)


def test_members_keep_their_weights_and_rows_of_none_do_not_count():
    weights = np.arange(150) % 3
    model = sp.OutputCodeClassifier(code="one-vs-one", random_state=0).fit(X, Y, weights)
    tree = model.estimators_[0].tree_
    assert tree.weight[0] == weights[Y < 2].sum()


def test_a_class_without_weight_takes_no_part():
    weights = (Y != 1) * 1.0
    model = sp.OutputCodeClassifier(code="one-vs-rest").fit(X, NAMES, weights)
    assert model.code_book_.tolist() == [[1], [0], [-1]]
    assert_array_equal(model.predict_proba(X)[:, 1], 0.0)
    given = sp.OutputCodeClassifier(code=[[1, 1, 0], [-1, 0, 1], [0, -1, -1]]).fit(X, NAMES, weights)
    assert given.code_book_.tolist() == [[1], [0], [-1]]


def test_the_code_depends_on_the_seed_alone():
    digits, labels = load_digits(return_X_y=True)
    books = [
        sp.OutputCodeClassifier(sp.DecisionTreeClassifier(max_depth=1), code_size=1, random_state=seed)
        .fit(digits[:200], labels[:200])
        .code_book_
        for seed in (1, 1, 2)
    ]
    assert_array_equal(books[0], books[1])
    assert not np.array_equal(books[0], books[2])


@pytest.mark.parametrize("name", ["decoding", "loss", "response"])
def test_how_to_decode_may_be_set_after_the_fit_but_is_checked(name):
    X, y = np.arange(9.0)[:, None], np.arange(9) % 3
    model = sp.OutputCodeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=name):
        model.set_params(**{name: "magic"}).predict(X)
