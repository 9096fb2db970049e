"""One-vs-rest, one-vs-one and chains: scikit-learn's answers, many labels, tables of any kind."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.multiclass as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.multioutput import ClassifierChain as TheirChain

import spinney as sp
from contracts.learners import mixed_data
from loops import for_each
from spinney.io import dumps, loads

X, Y = make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=0)
XM, YM = make_multilabel_classification(150, 8, n_classes=4, random_state=0)
MEMBERS = [sp.GaussianNB(), sp.SVC(tol=1e-8), sp.DecisionTreeClassifier(max_depth=3, random_state=0)]


@for_each("member", MEMBERS)
@for_each("n_classes", [2, 4])
def test_one_vs_rest_is_that_of_scikit_learn(member, n_classes):
    rows = n_classes > Y
    ours = sp.OneVsRestClassifier(member).fit(X[rows], Y[rows])
    expected = theirs.OneVsRestClassifier(member).fit(X[rows], Y[rows])
    assert_array_equal(ours.predict(X), expected.predict(X))
    assert len(ours.estimators_) == len(expected.estimators_)
    if hasattr(member, "decision_function"):
        assert_allclose(ours.decision_function(X), expected.decision_function(X))
    if hasattr(member, "predict_proba"):
        assert_allclose(ours.predict_proba(X), expected.predict_proba(X), rtol=1e-12)


@for_each("n_classes", [2, 4])
def test_one_vs_one_is_that_of_scikit_learn(n_classes):
    rows = n_classes > Y
    member = sp.SVC(tol=1e-8)
    ours = sp.OneVsOneClassifier(member, n_jobs=2).fit(X[rows], Y[rows])
    expected = theirs.OneVsOneClassifier(member).fit(X[rows], Y[rows])
    assert_array_equal(ours.predict(X), expected.predict(X))
    if n_classes > 2:
        assert_allclose(ours.decision_function(X), expected.decision_function(X))
    else:  # the confidence itself, to which theirs adds a vote
        assert_array_equal(ours.decision_function(X), ours.estimators_[0].decision_function(X))


def test_ties_of_votes_go_to_the_largest_sum_of_confidences():
    # 0 beats 1, 2 beats 0, 1 beats 2: one vote each, and confidences −1, −0.9999, 1.9999 for 0, 1, 2.
    model = sp.OneVsOneClassifier(sp.GaussianNB()).fit([[0.0], [1.0], [2.0]] * 2, [0, 1, 2] * 2)
    model._collect = lambda function, X: np.array([[-1.0, 2.0, -0.0001]])
    votes = model.decision_function([[0.0]])[0]
    assert votes.round().tolist() == [1, 1, 1] and votes.argmax() == 2
    assert model.n_classes_ == 3


def test_probabilities_of_pairs_are_coupled():
    model = sp.OneVsOneClassifier(sp.GaussianNB()).fit(X, Y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert (p.argmax(axis=1) == model.predict(X)).mean() > 0.95


def test_precomputed_kernels_lose_the_columns_of_other_classes():
    K = X @ X.T
    given = sp.OneVsOneClassifier(sp.SVC(kernel="precomputed", tol=1e-8)).fit(K, Y)
    direct = sp.OneVsOneClassifier(sp.SVC(kernel="linear", tol=1e-8)).fit(X, Y)
    assert_allclose(given.decision_function(K), direct.decision_function(X), atol=1e-5)
    assert len(given.pairwise_indices_) == 6
    assert_array_equal(loads(dumps(given)).predict(K), given.predict(K))


def test_many_labels_have_a_member_each():
    ours = sp.OneVsRestClassifier(sp.GaussianNB()).fit(XM, YM)
    expected = theirs.OneVsRestClassifier(sp.GaussianNB()).fit(XM, YM)
    assert ours.multilabel_
    assert_array_equal(ours.predict(XM), expected.predict(XM))
    assert_allclose(ours.predict_proba(XM), expected.predict_proba(XM))
    light = sp.OneVsRestClassifier(sp.GaussianNB()).fit(XM, sparse.csr_array(YM))
    assert_array_equal(light.predict(XM), ours.predict(XM))
    constant = YM.copy()
    constant[:, 1] = 1
    answers = sp.OneVsRestClassifier(sp.SVC()).fit(XM, constant).predict(XM)
    assert (answers[:, 1] == 1).all()
    with pytest.raises(ValueError, match="0 and 1 only"):
        sp.OneVsRestClassifier(sp.GaussianNB()).fit(XM, YM + 1)


@for_each("params", [{}, {"order": [2, 0, 3, 1]}, {"chain_method": "predict_proba"}, {"cv": 3}])
def test_chains_are_those_of_scikit_learn(params):
    member = sp.GaussianNB()
    ours, expected = (
        sp.ClassifierChain(member, **params).fit(XM, YM),
        TheirChain(member, **params).fit(XM, YM),
    )
    assert_array_equal(ours.predict(XM), expected.predict(XM))
    assert_allclose(ours.predict_proba(XM), expected.predict_proba(XM))
    assert_array_equal(ours.order_, expected.order_)
    loaded = loads(dumps(ours))
    assert_array_equal(loaded.predict(XM), ours.predict(XM))


def test_later_members_of_a_chain_see_the_labels_before():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 2))
    first = (points[:, 0] > 0).astype(int)
    labels = np.stack([first, first & (points[:, 1] > 0)], axis=1)
    shallow = sp.DecisionTreeClassifier(max_depth=2)
    chain = sp.ClassifierChain(shallow, order=[0, 1]).fit(points, labels)
    assert (chain.predict(points) == labels).mean() > 0.99
    assert [member.n_features_in_ for member in chain.estimators_] == [2, 3]
    random = sp.ClassifierChain(shallow, order="random", random_state=1).fit(points, labels)
    assert sorted(random.order_.tolist()) == [0, 1]
    with pytest.raises(ValueError, match="invalid order"):
        sp.ClassifierChain(shallow, order=[0, 0]).fit(points, labels)
    with pytest.raises(ValueError, match="multi-label"):
        sp.ClassifierChain(shallow).fit(points, first)


def test_tables_with_categories_and_missing_values_are_passed_on():
    table, y, weights = mixed_data("classifier", 120)
    labels = np.stack([y == 0, y == 2], axis=1).astype(int)
    tree = sp.DecisionTreeClassifier(max_depth=4, random_state=0)
    for form in (table, pl.from_pandas(table)):
        for make in (sp.OneVsRestClassifier, sp.OneVsOneClassifier):
            assert make(tree, n_jobs=2).fit(form, y, weights).score(form, y) > 0.7
        chain = sp.ClassifierChain(tree).fit(form, labels, weights)
        assert (chain.predict(form) == labels).mean() > 0.7
        assert chain.estimators_[1].feature_names_in_.tolist() == [*table.columns, "label 0"]
    assert isinstance(table, pd.DataFrame) and "label 0" not in table.columns


@for_each("name", ["OneVsRestClassifier", "OneVsOneClassifier"])
def test_batches_are_learned_as_by_scikit_learn(name):
    ours, expected = getattr(sp, name)(sp.GaussianNB()), getattr(theirs, name)(sp.GaussianNB())
    order = np.argsort(Y, kind="stable")  # the first batch lacks the last classes
    for rows in (order[:120], order[120:]):
        for model in (ours, expected):
            model.partial_fit(X[rows], Y[rows], classes=None if hasattr(model, "classes_") else range(4))
    assert_array_equal(ours.predict(X), expected.predict(X))
    assert_array_equal(loads(dumps(ours)).decision_function(X), ours.decision_function(X))
    with pytest.raises(ValueError, match=r"contains .*9.* it must be subset of \[0 1 2 3\]"):
        ours.partial_fit(X[:2], [0, 9])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        getattr(sp, name)(sp.GaussianNB()).partial_fit(X, Y)
    assert not hasattr(getattr(sp, name)(sp.SVC()), "partial_fit")


def test_a_chain_without_a_random_state_leaves_members_theirs():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    Y = rng.integers(0, 2, (60, 2))
    chain = sp.ClassifierChain(sp.RandomForestClassifier(3, random_state=0))
    first, second = (chain.fit(X, Y).predict_proba(X) for _ in range(2))
    assert_array_equal(first, second)
    assert all(member.random_state == 0 for member in chain.estimators_)
    assert sp.ClassifierChain(chain.estimator, random_state=1).fit(X, Y).estimators_[0].random_state != 0


@pytest.mark.parametrize("y", [["b", "a", "c"], ["b", "a", "a"], np.array([[0, 1], [1, 0], [1, 1]])])
def test_label_binarizer_codes_labels_as_theirs_does(y):
    X = [[0.0], [1.0], [2.0]]
    ours = sp.OneVsRestClassifier(sp.LogisticRegression())
    assert not hasattr(ours, "label_binarizer_")
    expected = theirs.OneVsRestClassifier(sp.LogisticRegression()).fit(X, y).label_binarizer_.transform(y)
    assert_array_equal(ours.fit(X, y).label_binarizer_.transform(y).toarray(), expected.toarray())


def test_constant_labels_are_warned_of():
    labels = np.array([[0, 1, 0], [1, 1, 0], [0, 1, 0]])
    model = sp.OneVsRestClassifier(sp.LogisticRegression())
    with pytest.warns(UserWarning, match="is present in all training") as warned:
        model.fit([[0.0], [1.0], [2.0]], labels)
    assert [str(one.message)[:11] for one in warned] == ["Label 1 is ", "Label not 2"]


def chain_rows():
    """Return rows of a number and a text, and two labels, the second of which depends on the first."""
    rng = np.random.default_rng(4)
    number, text = rng.normal(size=80), np.array(["u", "v", "w"])[rng.integers(0, 3, 80)]
    first = number > 0
    return number.tolist(), text.tolist(), np.column_stack([first, first ^ (text == "u")]).astype(int)


def test_a_chain_adds_labels_to_every_kind_of_table():
    number, text, Y = chain_rows()
    tables = [
        {"x": number, "t": text},
        [{"x": x, "t": t} for x, t in zip(number, text, strict=True)],
        [[x, t] for x, t in zip(number, text, strict=True)],  # numbers beside text stay numbers
        pd.DataFrame({3: number, 5: text}),
        pd.DataFrame([[x, t] for x, t in zip(number, text, strict=True)]),
    ]
    expected = sp.ClassifierChain(sp.DecisionTreeClassifier(max_depth=3))
    expected.fit(pd.DataFrame({"x": number, "t": text}), Y)
    for X in tables:
        model = sp.ClassifierChain(sp.DecisionTreeClassifier(max_depth=3)).fit(X, Y)
        assert_array_equal(model.predict(X), Y)
        assert_array_equal(model.estimators_[1].tree_.threshold, expected.estimators_[1].tree_.threshold)
        assert_array_equal(loads(dumps(model)).predict(X), Y)


def test_a_chain_keeps_columns_with_names_like_its_own():
    number, text, Y = chain_rows()
    X = pd.DataFrame({"x": number, "label 0": text})
    model = sp.ClassifierChain(sp.DecisionTreeClassifier(max_depth=3)).fit(X, Y)
    assert_array_equal(model.predict(X), Y)
    assert model.estimators_[1].feature_names_in_.tolist() == ["x", "label 0", "label_ 0"]


@pytest.mark.filterwarnings("ignore")
@for_each("kind", [sp.OneVsRestClassifier, sp.OneVsOneClassifier, sp.OutputCodeClassifier])
def test_models_of_a_single_class_are_saved_and_loaded(kind):
    model = kind(sp.DecisionTreeClassifier()).fit([[0.0], [1.0]], ["a", "a"])
    assert loads(dumps(model)).predict([[2.0]]).tolist() == ["a"]
