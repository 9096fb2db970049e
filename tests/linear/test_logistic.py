"""LogisticRegression against scikit-learn, its optimality conditions, and the textbook's boundary."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import spinney as sp
from linear.problems import classes_of, regression_problems
from loops import for_each
from spinney.core.errors import InputError
from spinney.io import dumps, loads

PROBLEMS = list(regression_problems(range(100)))


def gradient_of(model, X, codes, weights):
    """Return the gradient of the summed loss in (coefficients, intercept) of each score."""
    probabilities = model.predict_proba(X)
    one_hot = np.eye(probabilities.shape[1])[codes]
    rest = (probabilities - one_hot) * (1.0 if weights is None else weights[:, None])
    if probabilities.shape[1] == 2:
        rest = rest[:, 1:]
    return rest.T @ X, rest.sum(axis=0)


def check_optimal(model, problem, codes, C, l1_ratio, tol):
    """The optimality conditions hold, in units of each column."""
    slope, constant = gradient_of(model, problem.X, codes, problem.weights)
    coef, size = model.coef_, np.abs(problem.X).max(axis=0) + 1.0
    smooth = slope + (1 - l1_ratio) / C * coef
    l1 = l1_ratio / C
    worst = np.where(coef != 0, np.abs(smooth + l1 * np.sign(coef)), np.maximum(np.abs(smooth) - l1, 0.0))
    assert (worst / size).max() < tol
    if problem.intercept:
        assert np.abs(constant).max() < tol


@for_each("problem", PROBLEMS)
def test_l2_agrees_with_scikit_learn(problem):
    for n_classes in (2, 3):
        codes = classes_of(problem, n_classes)
        params = {"C": 2.0, "fit_intercept": problem.intercept}
        model = sp.LogisticRegression(tol=1e-9, **params).fit(problem.X, codes, problem.weights)
        check_optimal(model, problem, codes, 2.0, 0.0, 1e-6)
        if problem.name.startswith("scales") or problem not in PROBLEMS[:30]:
            continue  # scikit-learn stops by the gradient, which says little about small columns
        other = theirs.LogisticRegression(solver="newton-cholesky", tol=1e-9, max_iter=100, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its tolerance is out of reach, its answer is not
            other.fit(problem.X, codes, problem.weights)
        scale = np.abs(other.coef_).max()
        assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-6 * scale)
        assert_allclose(model.predict_proba(problem.X), other.predict_proba(problem.X), atol=1e-6)


@for_each("problem", PROBLEMS)
def test_l1_and_elastic_net_are_optimal(problem):
    for n_classes, ratio in ((2, 1.0), (2, 0.5), (3, 1.0)):
        codes = classes_of(problem, n_classes)
        params = {"C": 0.7, "l1_ratio": ratio, "fit_intercept": problem.intercept}
        model = sp.LogisticRegression(tol=1e-8, **params).fit(problem.X, codes, problem.weights)
        check_optimal(model, problem, codes, 0.7, ratio, 1e-5)


@for_each("problem", PROBLEMS[:12])
def test_every_solver_finds_the_same_minimum(problem):
    if problem.name.startswith("scales"):
        return  # L-BFGS stops by the gradient, which says little about small columns
    for n_classes in (2, 3):
        codes = classes_of(problem, n_classes)
        fits = [
            sp.LogisticRegression(solver=solver, tol=1e-10, max_iter=2000).fit(problem.X, codes)
            for solver in ("newton-cholesky", "lbfgs")
        ]
        assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-4, atol=1e-5)


def test_one_vs_rest_is_one_binary_problem_per_class():
    problem = PROBLEMS[0]
    codes = classes_of(problem, 3)
    model = sp.LogisticRegression(multi_class="ovr", tol=1e-10).fit(problem.X, codes)
    for k in range(3):
        one = sp.LogisticRegression(tol=1e-10).fit(problem.X, codes == k)
        assert_allclose(model.coef_[k], one.coef_[0], rtol=1e-8)
    assert_allclose(model.predict_proba(problem.X).sum(axis=1), 1.0)


def test_the_circle_of_the_textbook():
    """With x1² and x2² as features, the boundary is x1² + x2² = 36."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(4000, 2))
    y = ((X**2).sum(axis=1) < 36).astype(int)
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), sp.LogisticRegression(C=1e4))
    model.fit(X, y)
    _, _, squares1, both, squares2 = model[-1].coef_[0]
    assert_allclose([squares2 / squares1, both / squares1], [1.0, 0.0], atol=0.02)
    assert_allclose(-model[-1].intercept_[0] / squares1, 36.0, rtol=0.01)
    assert model.score(X, y) > 0.995


def test_weights_are_copies_of_rows_and_classes_have_weights():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    copies = rng.integers(0, 4, 60)
    weighted = sp.LogisticRegression(tol=1e-9).fit(X, y, copies)
    repeated = sp.LogisticRegression(tol=1e-9).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)
    balanced = sp.LogisticRegression(class_weight="balanced", tol=1e-9).fit(X, y)
    by_hand = sp.LogisticRegression(tol=1e-9).fit(X, y, 20.0 / np.bincount(y)[y])
    assert_allclose(balanced.coef_, by_hand.coef_, rtol=1e-10)


def test_many_columns_use_working_sets_and_lbfgs():
    rng = np.random.default_rng(2)
    X = sparse.random_array((200, 1500), density=0.05, rng=rng, format="csr")
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() + 0.1 * rng.normal(size=200) > 0.5
    thin = sp.LogisticRegression(C=5.0, l1_ratio=1.0, tol=1e-7).fit(X, y)
    dense = sp.LogisticRegression(C=5.0, l1_ratio=1.0, tol=1e-7).fit(X.toarray(), y)
    assert 0 < (thin.coef_ != 0).sum() < 200
    assert_allclose(thin.coef_, dense.coef_, atol=1e-5)
    slope = gradient_of(thin, X.toarray(), y.astype(int), None)[0]
    assert np.abs(slope).max() < 0.2 + 1e-5
    ridge = sp.LogisticRegression(tol=1e-8, max_iter=500).fit(X, y)
    other = theirs.LogisticRegression(tol=1e-10, max_iter=2000).fit(X, y)
    assert_allclose(ridge.coef_, other.coef_, atol=1e-5)


def test_many_rows_are_warmed_up_on_some():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9000, 3))
    for y in (X[:, 0] + rng.normal(size=9000) > 1, np.digitize(X[:, 0] + rng.normal(size=9000), [-1, 1])):
        model = sp.LogisticRegression(tol=1e-8).fit(X, y)
        other = theirs.LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(X, y)
        assert_allclose(model.coef_, other.coef_, atol=1e-6)
    rare = np.zeros(9000, int)
    rare[1::900] = 1  # which no eighth row has
    model = sp.LogisticRegression(tol=1e-8).fit(X, rare)
    other = theirs.LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(X, rare)
    assert_allclose(model.coef_, other.coef_, atol=1e-5)


def test_no_penalty_and_separable_classes():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = sp.LogisticRegression(C=np.inf, max_iter=30).fit(X, [0, 0, 1, 1])
    assert_array_equal(model.predict(X), [0, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    for penalty in ({"penalty": None}, {"C": np.inf}):
        free = sp.LogisticRegression(tol=1e-10, **penalty).fit(X, y)
        other = theirs.LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(X, y)
        assert_allclose(free.predict_proba(X), other.predict_proba(X), atol=1e-7)


def test_warm_start_and_few_iterations():
    problem = PROBLEMS[0]
    codes = classes_of(problem, 2)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        sp.LogisticRegression(max_iter=1).fit(problem.X, codes)
    model = sp.LogisticRegression(warm_start=True, tol=1e-10).fit(problem.X, codes)
    first = model.coef_
    assert model.fit(problem.X, codes).n_iter_[0] == 1
    assert_allclose(model.coef_, first, rtol=1e-8)


@pytest.mark.parametrize("params", [{}, {"l1_ratios": [0.0, 1.0]}, {"scoring": "neg_log_loss"}])
def test_cross_validation_agrees_with_scikit_learn(params):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 5))
    y = np.digitize(X[:, 0] + rng.normal(size=150), [-0.5, 0.5])
    mine = sp.LogisticRegressionCV(Cs=5, cv=4, tol=1e-8, **params).fit(X, y)
    ratios = params.get("l1_ratios", [0.0])
    for i, ratio in enumerate(ratios):
        for c, C in enumerate(mine.Cs_):
            solver = "saga" if ratio else "newton-cholesky"
            if ratio and C != 1:
                continue  # saga takes long, and without coefficients classes are tied
            other = theirs.LogisticRegression(C=C, l1_ratio=ratio, solver=solver, tol=1e-8, max_iter=5000)
            scoring = params.get("scoring", "accuracy")
            expected = cross_val_score(other, X, y, cv=4, scoring=scoring)
            assert_allclose(mine.scores_[:, i, c], expected, atol=1e-5)
    means = mine.scores_.mean(axis=0)
    assert means.max() == means[list(mine.l1_ratios_).index(mine.l1_ratio_), list(mine.Cs_).index(mine.C_)]
    again = sp.LogisticRegression(C=mine.C_, l1_ratio=mine.l1_ratio_, tol=1e-8).fit(X, y)
    assert_allclose(mine.coef_, again.coef_, atol=1e-6)
    averaged = sp.LogisticRegressionCV(Cs=5, cv=4, refit=False, **params).fit(X, y)
    assert averaged.coef_.shape == mine.coef_.shape


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="one class"):
        sp.LogisticRegression().fit([[1.0], [2.0]], [1, 1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "params", [{}, {"l1_ratios": [0.0, 0.5]}, {"refit": False}, {"fit_intercept": False}]
)
def test_the_path_has_the_shapes_of_scikit_learn(n_classes, params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + rng.normal(size=90), [0.0, 0.8][: n_classes - 1])]
    common = {"Cs": [0.1, 1.0], "cv": 3, "scoring": "neg_log_loss", "tol": 1e-8} | params
    for legacy in (False, True):
        mine = sp.LogisticRegressionCV(use_legacy_attributes=legacy, **common).fit(X, y)
        other = theirs.LogisticRegressionCV(
            use_legacy_attributes=legacy, max_iter=5000, **{"l1_ratios": [0.0]} | common, solver="saga"
        ).fit(X, y)
        names = ["C_", "l1_ratio_", "n_iter_", "scores_", "coefs_paths_", "coef_", "intercept_"]
        for name in names if "l1_ratios" in params or not legacy else names[:2]:
            ours, his = getattr(mine, name), getattr(other, name)
            if isinstance(his, dict):
                assert list(ours) == [str(label) for label in his]
                ours, his = np.array(list(ours.values())), np.array(list(his.values()))
            assert np.shape(ours) == np.shape(his), name
            if name != "n_iter_":
                assert_allclose(ours, his, atol=2e-4, err_msg=name)
        assert_allclose(mine.score(X, y), other.score(X, y), atol=1e-4)
        assert dumps(loads(dumps(mine))) == dumps(mine)


def test_folds_may_lack_classes():
    X, y = np.arange(6.0)[:, None], np.array(["a", "a", "b", "b", "c", "c"])
    model = sp.LogisticRegressionCV(cv=KFold(3), scoring="neg_brier_score", Cs=np.logspace(-6, 6, 5)).fit(
        X, y
    )
    assert np.isfinite(model.scores_).all() and model.C_ == 1e-6


def test_metadata_reach_the_splitter_and_the_scorer():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    groups = np.arange(40) // 8
    weights = 1.0 + np.arange(40) % 3
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        sp.LogisticRegressionCV(cv=GroupKFold(5)).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        blind = get_scorer("accuracy").set_score_request(sample_weight=False)
        sees = get_scorer("accuracy").set_score_request(sample_weight=True)
        models = [
            sp.LogisticRegressionCV(cv=GroupKFold(5), scoring=scoring).fit(
                X, y, sample_weight=weights, groups=groups
            )
            for scoring in (blind, sees)
        ]
        assert not np.allclose(models[0].scores_, models[1].scores_)
        with pytest.raises(TypeError, match="sample_weight"):
            models[0].score(X, y, sample_weight=weights)


def test_parameters_without_effect_warn():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    with pytest.warns(UserWarning, match="ignore the C"):
        sp.LogisticRegression(penalty=None, C=4.0).fit(X, y)
    with pytest.warns(UserWarning, match="l1_ratio parameter is only used"):
        sp.LogisticRegression(penalty="l1", l1_ratio=0.5).fit(X, y)
    with pytest.warns(UserWarning, match="l1_ratios parameter is only used"):
        sp.LogisticRegressionCV(penalty="l2", l1_ratios=[0.5], cv=2).fit(X, y)
    for model in (sp.LogisticRegression(l1_ratio=None), sp.LogisticRegressionCV(cv=2)):
        with pytest.raises(InputError, match="needs"):
            model.set_params(penalty="elasticnet").fit(X, y)


def test_a_tolerance_below_rounding_ends():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    model = sp.LogisticRegression(tol=1e-18, max_iter=10_000, fit_intercept=False)
    assert model.fit(X, rng.integers(0, 3, 30)).n_iter_[0] < 100
