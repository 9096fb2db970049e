import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import spinney
from spinney.core.errors import InputError
from spinney.datasets import make_box
from spinney.model_selection.cross_validation import SharedStopping


@pytest.fixture(scope="module")
def box():
    X, y = make_box(240, frame=None)
    flipped = np.random.default_rng(0).random(240) < 0.1
    return X, np.where(flipped, -y, y)


def mixed(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = {
        "a": rng.normal(size=n),
        "b": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "c": rng.choice(np.array(["u", "v", "w"], dtype=object), n),
    }
    return X, X["a"] * 2 + (X["c"] == "u")


def test_scores_are_those_of_scikit_learn_on_the_same_folds(box):
    X, y = box
    pairs = [
        (np.flatnonzero(np.arange(240) % 4 != k), np.flatnonzero(np.arange(240) % 4 == k)) for k in range(4)
    ]
    model = spinney.DecisionTreeClassifier(max_depth=3, random_state=0)
    found = spinney.cross_validate(model, X, y, cv=pairs)
    assert found.scores["accuracy"] == pytest.approx(cross_val_score(model, X, y, cv=pairs))
    assert found.scores["roc_auc"] == pytest.approx(cross_val_score(model, X, y, cv=pairs, scoring="roc_auc"))
    assert (found.scores["log_loss"] > 0).all()
    assert found.held_out.all() and found.mean == pytest.approx(found.scores["roc_auc"].mean())
    assert found.to_frame().shape[0] == 4


@pytest.mark.parametrize("learner", ["cart", "linear", "random-forest"])
def test_learners_by_name_take_categories_and_missing_values(learner):
    X, y = mixed()
    found = spinney.cross_validate(learner, X, y, cv=3)
    assert found.task == "regression" and found.metrics[0].name == "rmse"
    assert found.mean < y.std()


def test_weights_reach_fits_and_scores(box):
    X, y = box
    weights = np.where(y == 1, 1.0, 0.01)
    split = (np.arange(160), np.arange(160, 240))
    found = spinney.cross_validate("cart", X, y, cv=[split], sample_weight=weights)
    model = found.estimator.set_params(random_state=0)
    own = spinney.cross_validate(model, X, y, cv=[split], sample_weight=weights, return_models=True)
    labels = model.fit(X[:160], y[:160], weights[:160]).predict(X[160:])
    assert (own.models[0].predict(X[160:]) == labels).all()
    expected = np.average(labels == y[160:], weights=weights[160:])
    assert own.scores["accuracy"][0] == pytest.approx(expected)


def test_a_class_that_a_fold_lacks_does_not_end_it():
    X, y = make_box(60, frame=None)
    labels = y.astype(str)
    labels[0] = "rare"
    found = spinney.cross_validate("cart", X, labels, cv=3)
    assert np.isfinite(found.scores["accuracy"]).all() and np.isfinite(found.scores["log_loss"]).all()


def test_text_that_no_training_row_of_a_fold_has_does_not_end_it():
    X = {"a": np.arange(12.0), "rare": np.array(["Y"] + [None] * 11, dtype=object)}
    pairs = [(np.arange(1, 12), np.arange(1)), (np.arange(8), np.arange(8, 12))]
    found = spinney.cross_validate("cart", X, X["a"] * 2.5, cv=pairs)
    assert np.isfinite(found.scores["rmse"]).all()


def test_shared_early_stopping_has_one_round_for_all_folds(box):
    X, y = box
    model = spinney.GradientBoostingClassifier(learning_rate=0.3, growth="leaf-wise", random_state=1)
    found = spinney.cross_validate(model, X, y, cv=3, early_stopping="shared", patience=10)
    mean = found.curve.mean(axis=1)
    assert found.best_round == mean.argmax() + 1 and len(mean) == found.best_round + 10
    assert found.estimator.n_estimators == found.best_round
    assert found.scores["log_loss"] == pytest.approx(-found.curve[found.best_round - 1], rel=1e-6)


def test_shared_early_stopping_does_not_depend_on_threads(box):
    X, y = box
    model = spinney.GradientBoostingRegressor(learning_rate=0.3, growth="leaf-wise")
    curves = [
        spinney.cross_validate(
            model, X, y, cv=3, early_stopping="shared", patience=5, n_jobs=n, task="regression"
        ).curve
        for n in (1, 3)
    ]
    assert (curves[0] == curves[1]).all()


def test_a_fold_that_ends_early_or_fails_does_not_block_the_others():
    import threading
    from types import SimpleNamespace

    stopping = SharedStopping(2, patience=3)
    ended = []

    def fold(number, n_rounds):
        after = stopping.callback(number)
        for r in range(n_rounds):
            if after(SimpleNamespace(validation_score=-float(r))):
                break
        stopping.finish(failed=number == 1)
        ended.append(number)

    threads = [threading.Thread(target=fold, args=(k, n), daemon=True) for k, n in ((0, 10**6), (1, 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(ended) == [0, 1]


def test_what_has_no_rounds_is_refused():
    with pytest.raises(InputError, match="no rounds"):
        spinney.cross_validate("cart", *make_box(30), early_stopping="shared")
    with pytest.raises(InputError, match="Did you mean 'random-forest'"):
        spinney.cross_validate("randomforest", *make_box(30))
    with pytest.raises(InputError, match="roc_auc"):
        spinney.cross_validate("cart", *make_box(30), scoring="roc_au")


def test_the_same_seed_gives_the_same_scores(box):
    a, b, c = (spinney.cross_validate("extra-trees", *box, cv=3, random_state=s).scores for s in (1, 1, 2))
    assert (a["log_loss"] == b["log_loss"]).all() and (a["log_loss"] != c["log_loss"]).any()
