import numpy as np
import pytest

from spinney import C45Classifier
from spinney.datasets import load_watermelon2_missing, load_watermelon3
from trees.reference import noisy, root_candidates


def test_gains_ratios_and_thresholds_of_the_textbook_at_the_root():
    X, y = load_watermelon3()
    found = root_candidates(C45Classifier(ledger=True, pruning=None, min_samples_leaf=1).fit(X, y))
    gains = {
        "color": 0.108, "root": 0.143, "sound": 0.141, "texture": 0.381,
        "navel": 0.289, "touch": 0.006, "density": 0.262, "sugar": 0.349,
    }  # fmt: skip
    assert {name: row["gain"] for name, row in found.items()} == pytest.approx(gains, abs=0.0015)
    ratios = {"color": 0.068, "root": 0.102, "sound": 0.106, "texture": 0.263, "navel": 0.187, "touch": 0.007}
    assert {name: found[name]["gain_ratio"] for name in ratios} == pytest.approx(ratios, abs=0.0015)
    assert found["density"]["threshold"] == pytest.approx(0.381, abs=0.001)
    assert found["sugar"]["threshold"] == pytest.approx(0.126, abs=0.001)


def test_the_ratio_chooses_only_among_features_of_average_gain():
    X, y = load_watermelon3()
    found = root_candidates(C45Classifier(ledger=True, pruning=None, min_samples_leaf=1).fit(X, y))
    average = np.mean([row["gain"] for row in found.values()])
    allowed = {name: row["gain_ratio"] for name, row in found.items() if row["gain"] >= average}
    chosen = [name for name, row in found.items() if row["chosen"]]
    assert chosen == [max(allowed, key=allowed.get)]


def test_missing_values_are_rows_in_parts():
    X, y = load_watermelon2_missing()
    model = C45Classifier(ledger=True, pruning=None, min_samples_leaf=1).fit(X, y)
    gains = {name: row["gain"] for name, row in root_candidates(model).items()}
    expected = {
        "color": 0.252,
        "root": 0.171,
        "sound": 0.145,
        "texture": 0.424,
        "navel": 0.289,
        "touch": 0.006,
    }
    assert gains == pytest.approx(expected, abs=0.0015)
    leaves = model.decision_path(X)[:, model.tree_.is_leaf]
    assert leaves.sum(axis=1) == pytest.approx(np.ones(17), abs=1e-9)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(17), abs=1e-9)


def test_every_candidate_threshold_is_in_the_ledger():
    X, y = load_watermelon3()
    model = C45Classifier(ledger="full", pruning=None, min_samples_leaf=1).fit(X, y)
    density = [r for r in model.ledger_.to_records() if r["node"] == 0 and r["feature"] == "density"]
    values = np.unique(X["density"])
    assert sorted(r["threshold"] for r in density) == pytest.approx((values[:-1] + values[1:]) / 2)


def test_pessimistic_pruning_makes_a_smaller_tree_that_generalises_better():
    X, y = noisy(800)
    X_new, y_new = noisy(4000, seed=1)
    full = C45Classifier(pruning=None).fit(X, y)
    pruned = C45Classifier().fit(X, y)
    harder = C45Classifier(confidence=0.01).fit(X, y)
    assert harder.get_n_leaves() < pruned.get_n_leaves() < full.get_n_leaves()
    assert harder.score(X_new, y_new) > full.score(X_new, y_new)


def test_categories_in_two_sets():
    X = np.array([["a"], ["b"], ["c"], ["d"]] * 6, dtype=object)
    y = [0, 1, 0, 1] * 6
    subset = C45Classifier(categorical_split="subset").fit(X, y)
    assert subset.tree_.n_children[0] == 2
    assert subset.score(X, y) == 1.0
    assert C45Classifier().fit(X, y).tree_.n_children[0] == 4


def test_the_charge_on_thresholds_is_that_of_release_8():
    X, y = noisy(300)
    X = X.copy()
    X[::7, 0] = np.nan
    labels, least = np.unique(y, return_inverse=True)[1], 2
    model = C45Classifier(mdl_correction=True, ledger="full", pruning=None, min_samples_leaf=least).fit(X, y)
    free = C45Classifier(ledger="full", pruning=None, min_samples_leaf=least).fit(X, y)

    def gains(fitted, j):
        records = fitted.ledger_.to_records()
        return {r["threshold"]: r["gain"] for r in records if r["node"] == 0 and r["feature"] == f"x{j}"}

    def entropy(codes):
        share = np.bincount(codes)[np.bincount(codes) > 0] / len(codes)
        return -(share * np.log2(share)).sum()

    for j in range(X.shape[1]):
        known = ~np.isnan(X[:, j])
        values, codes = X[known, j], labels[known]
        expected = {}
        for threshold in gains(free, j):
            left, right = codes[values <= threshold], codes[values > threshold]
            within = (len(left) * entropy(left) + len(right) * entropy(right)) / len(codes)
            expected[threshold] = known.mean() * (entropy(codes) - within)
        charge = np.log2(len(expected)) / known.sum()
        assert len(expected) > 100
        assert gains(model, j) == pytest.approx({t: gain - charge for t, gain in expected.items()}, abs=1e-12)
    best = [max(gains(model, j).values()) for j in range(X.shape[1])]
    assert max(best) > 0 and model.get_n_leaves() < free.get_n_leaves()


def test_a_feature_that_does_not_pay_for_its_threshold_is_not_used():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    assert C45Classifier(pruning=None).fit(X, y).get_n_leaves() > 10
    assert C45Classifier(pruning=None, mdl_correction=True).fit(X, y).get_n_leaves() == 1


def test_the_charge_counts_rows_and_not_weight():
    X, y = noisy(300)
    one = C45Classifier(mdl_correction=True).fit(X, y)
    light = C45Classifier(mdl_correction=True).fit(X, y, sample_weight=np.full(300, 0.25))
    assert light.tree_.threshold.tolist() == one.tree_.threshold.tolist()
