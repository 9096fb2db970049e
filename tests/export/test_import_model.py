"""Models of other libraries predict the same in Spinney, also at thresholds, and what cannot is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble, tree
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

import spinney as sp
from export.foreign_models import edges, random_rows
from spinney.core.errors import InputError, InputTypeError
from spinney.export import ImportedClassifier
from spinney.export.foreign_trees import at_most_single, below_single
from spinney.io import dumps


def all_rows(ours, X):
    kind, threshold = ours.ensemble_.kind, ours.ensemble_.threshold
    thresholds = threshold[(kind == 1) & (np.abs(threshold) < 1e30)]
    return edges(X, thresholds)


def check_sklearn(theirs, X):
    ours = sp.import_model(theirs)
    assert dumps(sp.from_json(sp.to_json(ours))) == dumps(ours)
    beside = all_rows(ours, X)
    # Models that were fitted without missing values may refuse them.
    for rows in (X, beside if X.isna().any().any() else beside.fillna(0.5)):
        assert_array_equal(ours.predict(rows), theirs.predict(rows))
        if hasattr(theirs, "predict_proba"):
            assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), rtol=4e-16, atol=4e-16)
        if hasattr(theirs, "decision_function"):
            assert_array_equal(ours.decision_function(rows), theirs.decision_function(rows))


def sklearn_models(seed):
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 9))
    yield tree.DecisionTreeClassifier(max_depth=depth), "y"
    yield tree.ExtraTreeRegressor(max_depth=depth, random_state=seed), "z"
    yield ensemble.RandomForestClassifier(7, max_depth=depth, random_state=seed), "y"
    yield ensemble.ExtraTreesRegressor(5, max_depth=depth, random_state=seed), "z"
    yield ensemble.HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=2 + depth), "y"
    yield ensemble.HistGradientBoostingRegressor(max_iter=5, loss="absolute_error"), "z"
    yield ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=depth), "full y"
    yield ensemble.GradientBoostingRegressor(n_estimators=4, max_depth=depth, loss="huber"), "full z"


def check_sklearn_models(seed):
    X, y, z = random_rows(seed, categorical=False)
    for theirs, target in sklearn_models(seed):
        rows = X.fillna(0.0) if "full" in target else X
        theirs.fit(rows, y if target.endswith("y") else z)
        check_sklearn(theirs, rows)
    mixed, y, z = random_rows(seed, categorical=True)
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5)
    theirs.set_params(categorical_features="from_dtype").fit(mixed, z)
    check_sklearn(theirs, mixed)


def test_scikit_learn():
    with threadpool_limits(1):  # OpenMP threads would wait for each other
        check_sklearn_models(1)


def test_thresholds_of_rounded_numbers():
    rng = np.random.default_rng(0)
    limits = np.concatenate([rng.normal(size=200), [0.0, 1.0, -1.0, 1e-45, 3e38, -3e38]]).astype(np.float32)
    lower, upper = at_most_single(limits), below_single(limits)
    for step in (limits.astype(np.float64), lower, upper):
        for x in (step, np.nextafter(step, np.inf), np.nextafter(step, -np.inf)):
            assert_array_equal(x <= lower, x.astype(np.float32) <= limits)
            assert_array_equal(x <= upper, x.astype(np.float32) < limits)


def test_imported_models_are_models():
    X, y, _ = random_rows(3, categorical=False)
    ours = sp.import_model(ensemble.RandomForestClassifier(5, random_state=0).fit(X, y))
    assert isinstance(ours, ImportedClassifier) and ours.origin_ == "scikit-learn"
    assert "trees_0_value" in sp.to_c(ours) or "static const trees" in sp.to_c(ours)
    assert ours.apply(X).shape == (len(X), 5)
    assert sp.inspect_file(dumps(ours)).n_trees == 5


def test_what_cannot_be_imported_is_refused_by_name():
    with pytest.raises(InputTypeError, match="LinearRegression"):
        sp.import_model(LinearRegression().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(InputTypeError, match="int"):
        sp.import_model(3)
    for text in ("{}", "no\nmodel", '{"learner2": 1}'):
        with pytest.raises(InputError):
            sp.import_model(text)


# ---- 50 random models per library ----

each_seed = pytest.mark.parametrize("seed", range(50))


@pytest.mark.long
@each_seed
def test_random_models_of_scikit_learn(seed):
    check_sklearn_models(seed)


@pytest.mark.long
@each_seed
def test_random_models_of_lightgbm(seed):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(seed)
    X, y, z = random_rows(seed, categorical=seed % 2 == 0)
    params = {"verbose": -1, "num_leaves": int(rng.integers(2, 32)), "min_child_samples": 3, "n_jobs": 1}
    params |= {"use_missing": bool(rng.random() < 0.8), "cat_smooth": 1, "min_data_per_group": 2}
    objective = rng.choice(["regression", "poisson", "quantile", "huber"])
    target = np.abs(z) if objective == "poisson" else z
    regressor = lightgbm.LGBMRegressor(n_estimators=8, objective=str(objective), **params).fit(X, target)
    forest = lightgbm.LGBMRegressor(
        n_estimators=5, boosting_type="rf", subsample=0.7, subsample_freq=1, **params
    ).fit(X, z)
    classifier = lightgbm.LGBMClassifier(n_estimators=5, **params).fit(X, np.array(list("abcde"))[y])
    for theirs in (regressor, forest, classifier):
        for ours in (sp.import_model(theirs), sp.import_model(theirs.booster_.model_to_string())):
            for rows in (X, all_rows(ours, X)):
                if theirs is not classifier:
                    assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=3e-16)
                    continue
                found = ours.decision_function(rows)
                assert_array_equal(found, theirs.predict(rows, raw_score=True))
                assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-15)
        assert dumps(sp.from_json(sp.to_json(ours))) == dumps(ours)
    assert_array_equal(sp.import_model(classifier).predict(X), classifier.predict(X))


@pytest.mark.long
@each_seed
def test_random_models_of_xgboost(seed):
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(seed)
    X, y, z = random_rows(seed, categorical=seed % 2 == 0)
    params = {"max_depth": int(rng.integers(1, 8)), "enable_categorical": True, "n_jobs": 1}
    params |= {
        "max_cat_to_onehot": int(rng.choice([1, 4, 100])),
        "num_parallel_tree": int(rng.integers(1, 3)),
    }
    regressor = xgboost.XGBRegressor(n_estimators=8, **params).fit(X, z)
    counts = xgboost.XGBRegressor(n_estimators=4, objective="count:poisson", **params).fit(X, np.abs(z))
    classifier = xgboost.XGBClassifier(n_estimators=5, **params).fit(X, y)
    for theirs in (regressor, counts, classifier):
        ours = sp.import_model(theirs)
        for rows in (X, all_rows(ours, X)):
            margin = theirs.predict(rows, output_margin=True)
            if theirs is classifier:
                assert_array_equal(ours.decision_function(rows), margin)
                assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=3e-7)
            elif theirs is regressor:
                assert_array_equal(ours.predict(rows), margin)
            else:
                assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-6)
        assert dumps(sp.from_json(sp.to_json(ours))) == dumps(ours)


@pytest.mark.long
@each_seed
def test_random_models_of_catboost(seed):
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(seed)
    X, y, z = random_rows(seed, categorical=False)
    params = {"depth": int(rng.integers(1, 7)), "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    params |= {"nan_mode": str(rng.choice(["Min", "Max"]))}
    regressor = catboost.CatBoostRegressor(iterations=12, **params).fit(X, z)
    classifier = catboost.CatBoostClassifier(iterations=6, **params).fit(X, np.array(list("abcde"))[y])
    for theirs in (regressor, classifier):
        ours = sp.import_model(theirs)
        for rows in (X, all_rows(ours, X)):
            raw = theirs.predict(rows, prediction_type="RawFormulaVal")
            found = ours.predict(rows) if theirs is regressor else ours.decision_function(rows)
            assert_allclose(found, raw, rtol=2e-15, atol=2e-15)
            if theirs is classifier:
                assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-14)
                assert_array_equal(ours.predict(rows), theirs.predict(rows).ravel())
        assert dumps(sp.from_json(sp.to_json(ours))) == dumps(ours)
