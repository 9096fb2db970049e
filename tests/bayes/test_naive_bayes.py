"""Naive Bayes: scikit-learn's numbers, missing values, batches, and formulas by hand."""

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import spinney as sp
from loops import for_each
from spinney.io import dumps, loads

rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(300, 6)) * rng.uniform(0.1, 50, 6) + rng.normal(size=6) * 10
CODES = rng.integers(0, 5, (300, 6))
Y = rng.integers(0, 3, 300)
NUMBERS[Y == 1] += 3.0
WEIGHTS = rng.integers(1, 4, 300).astype(float)

PAIRS = [
    (sp.GaussianNB, theirs.GaussianNB, {"var_smoothing": 0.0}, NUMBERS),
    (sp.GaussianNB, theirs.GaussianNB, {"priors": [0.2, 0.3, 0.5], "var_smoothing": 0.0}, NUMBERS),
    (sp.MultinomialNB, theirs.MultinomialNB, {"alpha": 0.3}, CODES),
    (sp.MultinomialNB, theirs.MultinomialNB, {"fit_prior": False, "alpha": [0.1, 1, 2, 3, 4, 5]}, CODES),
    (sp.BernoulliNB, theirs.BernoulliNB, {}, NUMBERS),
    (sp.BernoulliNB, theirs.BernoulliNB, {"binarize": 1.5, "class_prior": [0.5, 0.2, 0.3]}, CODES),
    (sp.BernoulliNB, theirs.BernoulliNB, {"binarize": None}, CODES % 2),
    (sp.CategoricalNB, theirs.CategoricalNB, {}, CODES),
    (sp.CategoricalNB, theirs.CategoricalNB, {"min_categories": 9, "alpha": 0.5}, CODES),
]


@for_each("pair", PAIRS)
@for_each("weights", [None, WEIGHTS])
def test_the_numbers_are_those_of_scikit_learn(pair, weights):
    make, other, params, X = pair
    ours, expected = make(**params).fit(X, Y, weights), other(**params).fit(X, Y, weights)
    assert_allclose(ours.predict_log_proba(X), expected.predict_log_proba(X), rtol=1e-10, atol=1e-10)
    assert_allclose(ours.predict_proba(X), expected.predict_proba(X), rtol=1e-10, atol=1e-10)
    assert_array_equal(ours.predict(X), expected.predict(X))
    for name in ("class_count_", "class_prior_", "theta_", "var_", "feature_count_", "class_log_prior_"):
        if hasattr(expected, name):
            assert_allclose(getattr(ours, name), getattr(expected, name), rtol=1e-10)


def test_default_smoothing_of_variances():
    ours, expected = sp.GaussianNB().fit(NUMBERS, Y), theirs.GaussianNB().fit(NUMBERS, Y)
    assert_allclose(ours.epsilon_, expected.epsilon_, rtol=1e-10)
    assert_allclose(ours.var_, expected.var_, rtol=1e-10)


@for_each("pair", [pair for pair in PAIRS if pair[0] in (sp.MultinomialNB, sp.BernoulliNB)])
def test_a_sparse_matrix_gives_the_same_model(pair):
    make, _, params, X = pair
    X = np.where(np.abs(X) < 1, 0, X)
    dense, thin = (make(**params).fit(form, Y, WEIGHTS) for form in (X, sparse.csr_array(X)))
    assert_allclose(dense.feature_log_prob_, thin.feature_log_prob_, rtol=1e-12)
    assert_allclose(dense.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), rtol=1e-10)


@for_each("pair", PAIRS)
def test_batches_give_the_model_of_one_fit(pair):
    make, _, params, X = pair
    whole, parts = make(**params).fit(X, Y, WEIGHTS), make(**params)
    for rows in np.array_split(np.arange(300), 7):
        parts.partial_fit(X[rows], Y[rows], [0, 1, 2], WEIGHTS[rows])
        parts = loads(dumps(parts))  # which goes on where it was
    assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)


def test_missing_values_are_skipped():
    X = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 7.0], [10.0, 1.0], [12.0, np.nan]])
    y = np.array([0, 0, 0, 1, 1])
    model = sp.GaussianNB(var_smoothing=0.0).fit(X, y)
    assert model.theta_.tolist() == [[2.0, 6.0], [11.0, 1.0]]
    assert model.feature_count_.tolist() == [[2.0, 2.0], [2.0, 1.0]]
    # A row with one known value is judged by it alone.
    log_density = -0.5 * np.log(2 * np.pi * model.var_[:, 0]) - (4.0 - model.theta_[:, 0]) ** 2 / (
        2 * model.var_[:, 0]
    )
    joint = model.predict_joint_log_proba([[4.0, np.nan]])[0]
    assert_allclose(joint, log_density + np.log([0.6, 0.4]), rtol=1e-12)
    assert_allclose(model.predict_proba([[np.nan, np.nan]]), [[0.6, 0.4]])


def test_missing_binary_values_are_in_no_denominator():
    X = np.array([[1.0], [np.nan], [0.0], [0.0]])
    for form in (X, sparse.csr_array(X)):
        model = sp.BernoulliNB(alpha=1.0).fit(form, [0, 0, 0, 1])
        assert_allclose(np.exp(model.feature_log_prob_), [[2 / 4], [1 / 3]])
        assert_allclose(model.predict_proba([[np.nan]]), [[0.75, 0.25]])


def test_categories_are_read_as_they_are():
    X = pd.DataFrame({"color": ["red", "red", "green", None], "size": [0, 1, 1, 2]})
    model = sp.CategoricalNB(alpha=1.0).fit(X, [1, 1, 0, 0])
    assert [count.tolist() for count in model.category_count_] == [[[1, 0], [0, 2]], [[0, 1, 1], [1, 1, 0]]]
    red = np.exp(model.feature_log_prob_[0])
    assert_allclose(red, [[2 / 3, 1 / 3], [1 / 4, 3 / 4]])
    unseen, missing = X[:1].assign(color="pink"), X[:1].assign(color=None)
    assert_array_equal(model.predict_proba(unseen), model.predict_proba(missing))
    with pytest.raises(ValueError, match=r"pink.*'color'"):
        model.set_params(unseen="error").predict(unseen)
    with pytest.raises(ValueError, match="Unseen category 7"):
        model.predict(X[:1].assign(size=7))


def test_new_categories_may_come_in_later_batches():
    model = sp.CategoricalNB().partial_fit([[0], [1]], [0, 1], classes=[0, 1]).partial_fit([[4]], [1])
    expected = theirs.CategoricalNB().fit([[0], [1], [4]], [0, 1, 1])
    assert_array_equal(model.category_count_[0], expected.category_count_[0])
    assert model.n_categories_.tolist() == [5]


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"Negative values.*column 1, row 0"):
        sp.MultinomialNB().fit([[1, -1], [2, 3]], [0, 1])
    with pytest.raises(ValueError, match=r"Negative values.*column 0, row 1"):
        sp.CategoricalNB().fit(np.array([[1, 1], [-2, 3]]), [0, 1])
    with pytest.raises(ValueError, match="first call"):
        sp.GaussianNB().partial_fit([[1.0]], [0])
    model = sp.GaussianNB().partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match=r"not exist in the initial classes.*row 1"):
        model.partial_fit([[1.0], [2.0]], [0, 5])
    with pytest.raises(ValueError, match="sum of the priors"):
        sp.GaussianNB(priors=[0.5, 0.6]).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="n_features"):
        sp.MultinomialNB(alpha=[1.0]).fit([[1, 1], [2, 3]], [0, 1])


def test_a_file_whose_parts_do_not_agree_is_refused(monkeypatch):
    model = sp.GaussianNB().fit(NUMBERS, Y)
    state = model._get_state()
    state["fitted"]["theta_"] = np.zeros((3, 2))
    monkeypatch.setattr(sp.GaussianNB, "_get_state", lambda self: state)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="per class and feature"):
        loads(data)


# ---- bins of numbers ----


def binned_table(n=300):
    rng = np.random.default_rng(0)
    number, kind = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    y = (number > 0.2) ^ (kind == "a")
    table = pd.DataFrame({"number": number, "kind": kind, "few": rng.integers(0, 3, n).astype(float)})
    table.loc[::10, "number"] = np.nan
    return table, y.astype(int), rng.integers(1, 4, n).astype(float)


def test_numbers_in_bins_of_equal_weight_are_categories():
    table, y, weights = binned_table()
    model = sp.CategoricalNB(max_bins=5).fit(table, y, weights)
    edges = model.bin_edges_
    assert [len(one) for one in edges] == [4, 0, 2] and edges[2].tolist() == [0.5, 1.5]
    known = table["number"].notna().to_numpy()
    shares = np.bincount(np.searchsorted(edges[0], table["number"][known]), weights[known])
    assert_allclose(shares / weights[known].sum(), 0.2, atol=0.02)
    coded = table.assign(
        number=np.where(known, np.searchsorted(edges[0], table["number"]), np.nan), few=table["few"]
    )
    plain = sp.CategoricalNB().fit(coded, y, weights)
    assert_allclose(model.predict_proba(table), plain.predict_proba(coded), rtol=1e-12)
    assert_allclose(loads(dumps(model)).predict_proba(table), model.predict_proba(table), rtol=0)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    twice = sp.CategoricalNB(max_bins=5).fit(table.iloc[repeated], y[repeated])
    assert_allclose(twice.predict_proba(table), model.predict_proba(table), rtol=1e-10)


def test_batches_keep_the_bins_of_the_first():
    table, y, _ = binned_table()
    model = sp.CategoricalNB(max_bins=4).partial_fit(table[:100], y[:100], classes=[0, 1])
    edges = [one.tolist() for one in model.bin_edges_]
    model.partial_fit(table[100:], y[100:])
    assert [one.tolist() for one in model.bin_edges_] == edges and model.class_count_.sum() == len(y)
    shares = model.predict_proba(pd.DataFrame({"number": [99.0], "kind": ["z"], "few": [7.0]}))
    assert shares.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.int16, np.uint64])
def test_integers_of_any_width_are_codes(dtype):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (3000, 4)), rng.integers(0, 3, 3000)
    expected = sp.CategoricalNB().fit(X.astype(float), y)
    model = sp.CategoricalNB(n_jobs=2).fit(X.astype(dtype), y)
    for a, b in zip(model.category_count_, expected.category_count_, strict=True):
        assert_array_equal(a, b)
    assert_allclose(model.predict_proba(X.astype(dtype)), expected.predict_proba(X.astype(float)))
    with pytest.raises(ValueError, match=r"Negative values.*column 1, row 2"):
        sp.CategoricalNB().fit(np.array([[0, 0], [0, 1], [0, -1]]), [0, 1, 1])


def test_rows_whose_density_is_zero_in_all_classes_get_the_prior():
    X = np.arange(8.0)[:, None]
    y = np.arange(8) % 2
    one_row = sp.GaussianNB().fit(X, y, np.r_[np.zeros(7), 1.0])
    assert one_row.predict_proba(X).tolist() == [[0.0, 1.0]] * 8
    far = sp.GaussianNB(priors=[0.25, 0.75]).fit(X, y).predict_proba([[1e200]])
    assert_allclose(far, [[0.25, 0.75]])
