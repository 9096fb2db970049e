"""Importances by gain, split, SHAP and permutation, the steps of a row, and the trees of a model."""

import numpy as np
import pytest

import spinney as sp
from contracts.learners import mixed_data
from spinney.core.errors import InputError
from spinney.inspect import feature_importances, permutation_importance

X, y, _ = mixed_data("regressor", 150)


@pytest.fixture(scope="module")
def boosted():
    return sp.GradientBoostingRegressor(n_estimators=8, min_samples_leaf=3, random_state=0).fit(X, y)


def test_gain_splits_and_shap(boosted):
    assert feature_importances(boosted).values.tolist() == boosted.feature_importances_.tolist()
    splits = feature_importances(boosted, "split", normalize=False)
    assert splits.values.tolist() == boosted.split_counts().tolist()
    shap = feature_importances(boosted, "shap", X, normalize=False)
    np.testing.assert_array_equal(shap.values, np.abs(boosted.shap_values(X).values).mean(axis=0))
    assert shap.to_frame()["feature"][0] == X.columns[shap.values.argmax()]
    with pytest.raises(InputError, match="needs rows"):
        feature_importances(boosted, "shap")


def test_permutation_of_columns_and_groups(boosted):
    found = permutation_importance(boosted, X, y, n_repeats=4, random_state=0)
    assert found.names == tuple(X.columns) and found.repeats.shape == (4, 4)
    assert ((found.low <= found.values) & (found.values <= found.high)).all()
    again = permutation_importance(boosted, X, y, n_repeats=4, random_state=0)
    assert again.repeats.tobytes() == found.repeats.tobytes()
    groups = {"all": list(X.columns), "noise": ["noise"]}
    together = permutation_importance(boosted, X, y, n_repeats=4, groups=groups, random_state=0)
    assert together.names == ("all", "noise") and together.values[0] > found.values.max()
    with pytest.raises(InputError, match="'colour', which X does not have"):
        permutation_importance(boosted, X, y, groups={"g": ["colour"]})
    numbers = X[["b", "noise"]].to_numpy()
    oblique = sp.ObliqueTreeRegressor(random_state=0).fit(numbers, y)
    assert (permutation_importance(oblique, numbers, y, n_repeats=2, random_state=0).values > 0).all()


@pytest.mark.parametrize("row", [0, 7, 20])
def test_the_steps_of_a_row_sum_to_its_output(boosted, row):
    one = X.iloc[row : row + 1]
    steps = boosted.decision_steps(one)
    np.testing.assert_allclose(
        steps.base_value + steps.contribution.sum(axis=0), boosted.predict(one), atol=1e-12
    )
    labels = (y > 0).astype(int)
    for model in (
        sp.C45Classifier().fit(X, labels),
        sp.RandomForestClassifier(3, random_state=0).fit(X, labels),
    ):
        steps = model.decision_steps(one)
        total = steps.base_value + steps.contribution.sum(axis=0)
        np.testing.assert_allclose(total, model.predict_proba(one)[0], atol=1e-12)
        assert len(steps.to_frame()) == len(steps)
    with pytest.raises(InputError, match="X has 2"):
        boosted.decision_steps(X[:2])


def test_boosted_trees_are_read_one_by_one_and_as_a_table(boosted):
    view = boosted[0]
    assert len(boosted) == boosted.best_iteration_ and repr(view).startswith("TreeView(")
    text = view.to_text() + str(view.rules()) + sp.plotting.tree_svg(view)
    assert "color = red" in text and "feature_" not in text
    frame = boosted.nodes_frame()
    assert len(frame) == boosted.ensemble_[: len(boosted)].node_count
    assert frame["feature"].dropna().isin(X.columns).all()
    leaves = frame[frame["kind"] == "leaf"]
    assert (leaves["n_children"] == 0).all() and leaves["split"].isna().all()
    forest = sp.RandomForestClassifier(2, random_state=0).fit(X, y > 0).nodes_frame()
    assert {"value False", "value True"} <= set(forest.columns)
