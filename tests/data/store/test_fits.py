"""A fit on a store has the bytes of the fit on the same rows in memory."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from spinney import (
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.core.errors import InputError
from spinney.data import BinnedDataset
from spinney.io import dumps

FEATURES = ["a", "b", "color", "zip", "e", "flag"]
FEW = {"n_estimators": 4, "random_state": 0}
CLASSIFIERS = [
    DecisionTreeClassifier(max_bins=255, random_state=0),
    DecisionTreeClassifier(max_bins=255, class_weight="balanced", max_depth=5),
    DecisionTreeClassifier(max_bins=255, ccp_alpha=0.001),
    RandomForestClassifier(**FEW),
    RandomForestClassifier(**FEW, class_weight="balanced_subsample", max_samples=0.5),
    ExtraTreesClassifier(**FEW),
    GradientBoostingClassifier(**FEW, preset="classic"),
    GradientBoostingClassifier(**FEW, preset="classic", early_stopping=True, class_weight="balanced"),
    GradientBoostingClassifier(**FEW, preset="classic", categorical_encoding="ordered"),
    GradientBoostingClassifier(**FEW, preset="classic", categorical_encoding="subset", sampling="goss"),
    GradientBoostingClassifier(**FEW, learning_rate=0.2, early_stopping=True, scoring="roc_auc"),
    HistGradientBoostingClassifier(max_iter=3, random_state=0, early_stopping=True),
]
REGRESSORS = [
    DecisionTreeRegressor(max_bins=255, max_depth=6),
    RandomForestRegressor(**FEW, min_samples_leaf=5),
    ExtraTreesRegressor(**FEW, min_samples_leaf=5),
    GradientBoostingRegressor(**FEW, loss="absolute_error", preset="classic"),
    GradientBoostingRegressor(**FEW, growth="symmetric", sampling="mvs", preset="classic"),
    GradientBoostingRegressor(**FEW, splitter="random", max_features=0.5, preset="classic"),
    GradientBoostingRegressor(**FEW),
]


@pytest.fixture(scope="module")
def stores(frame, tmp_path_factory):
    """Datasets by target and whether they have weights."""
    directory = tmp_path_factory.mktemp("stores")
    return {
        (target, weighted): BinnedDataset.build(
            frame[[*FEATURES, target, "w"] if weighted else [*FEATURES, target]],
            directory / f"{target}-{weighted}",
            target=target,
            sample_weight="w" if weighted else None,
            block_rows=4096,
        )
        for target in ("y", "value")
        for weighted in (False, True)
    }


def check_same_bytes(model, frame, stores, target):
    for weighted in (False, True):
        weights = frame["w"] if weighted else None
        expected = dumps(model.fit(frame[FEATURES], frame[target], weights))
        assert dumps(model.fit(stores[target, weighted])) == expected, weighted


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: " ".join(str(m).split("#")[0].split()))
def test_classifiers(model, frame, stores):
    check_same_bytes(model, frame, stores, "y")


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: " ".join(str(m).split("#")[0].split()))
def test_regressors(model, frame, stores):
    check_same_bytes(model, frame, stores, "value")


def test_ranker(frame, tmp_path):
    X, y = frame[["a", "e", "b"]], frame["b"]
    group = np.repeat(np.arange(900), 10)
    dataset = BinnedDataset.build(X, tmp_path / "store", target=y, group=group)
    model = GradientBoostingRanker(n_estimators=3, random_state=0)
    assert dumps(model.fit(dataset)) == dumps(model.fit(X, y, qid=group))
    with pytest.raises(InputError, match="has its own groups"):
        model.fit(dataset, qid=group)


def test_several_outputs(frame, tmp_path):
    y = frame[["value", "e"]].to_numpy()
    dataset = BinnedDataset.build(frame, tmp_path / "store", target=["value", "e"], features=["a", "b"])
    model = RandomForestRegressor(3, random_state=0, min_samples_leaf=20)
    assert dumps(model.fit(dataset)) == dumps(model.fit(frame[["a", "b"]], y))
    np.testing.assert_array_equal(dataset.block(0).target, y)


def test_exact_splits_need_a_bin_per_value(frame, stores, tmp_path):
    model = DecisionTreeClassifier(max_bins=None, max_depth=4)
    with pytest.raises(InputError, match=r"exact splits.* in column 'a'. Set max_bins=255"):
        model.fit(stores["y", False])
    X = frame[["b", "color", "zip"]]
    dataset = BinnedDataset.build(X, tmp_path / "store", target=frame["y"])
    assert dumps(model.fit(dataset)) == dumps(model.fit(X, frame["y"]))


def test_a_given_target_replaces_that_of_the_dataset(frame, stores):
    model = DecisionTreeRegressor(max_bins=255, max_depth=3)
    assert dumps(model.fit(stores["y", False], frame["value"])) == dumps(model.fit(stores["value", False]))


def test_what_does_not_fit_the_dataset_is_refused(frame, stores, tmp_path):
    dataset = stores["y", False]
    with pytest.raises(InputError, match="max_bins is 32, and the dataset was built with max_bins=255"):
        RandomForestClassifier(max_bins=32).fit(dataset)
    with pytest.raises(InputError, match=r"Pass sample_weight to BinnedDataset.build"):
        RandomForestClassifier().fit(dataset, sample_weight=frame["w"])
    with pytest.raises(InputError, match=r"categorical_features.* in column 'b'"):
        RandomForestClassifier(categorical_features=["b"]).fit(dataset)
    RandomForestClassifier(2, categorical_features=["color"]).fit(dataset)
    with pytest.raises(InputError, match="without a target, and y is None"):
        RandomForestClassifier().fit(BinnedDataset.build(frame[["a"]], tmp_path / "store"))
    with pytest.raises(InputError, match="bins of a BinnedDataset"):
        BaggingClassifier().fit(dataset, frame["y"])
    with pytest.raises(InputError, match="requires y to be passed"):
        RandomForestClassifier().fit(frame[FEATURES])


def test_some_rows_are_a_dataset(frame, stores):
    dataset = stores["y", True]
    rows = np.random.default_rng(0).permutation(len(dataset))[:5000]
    part = dataset.subset(rows)
    assert part.shape == (5000, 6) and part.n_blocks == 2 and part.block(1).n_rows == 5000 - 4096
    np.testing.assert_array_equal(part.target, frame["y"].to_numpy()[rows])
    np.testing.assert_array_equal(part.block(1).weights, frame["w"].to_numpy()[rows[4096:]])
    for j in range(6):
        np.testing.assert_array_equal(part.matrix().codes(j), dataset.matrix().codes(j)[rows])
        np.testing.assert_array_equal(part.column(j), dataset.column(j)[rows])
    np.testing.assert_array_equal(part.subset([-1, 0]).target, part.target[[-1, 0]])
    mask = np.zeros(len(dataset), dtype=bool)
    mask[:10] = True
    assert dataset[mask].n_rows == dataset[:10].n_rows == 10
    copied = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(copied.target, part.target)
    with pytest.raises(InputError, match="out of range"):
        dataset.subset([len(dataset)])


def test_folds_of_a_dataset_are_fitted_and_scored(frame, stores):
    dataset = stores["y", False]
    model = GradientBoostingClassifier(n_estimators=20, preset="classic")
    scores = cross_val_score(model, dataset, dataset.target, cv=3, error_score="raise")
    in_memory = cross_val_score(model, frame[FEATURES], frame["y"], cv=3)
    np.testing.assert_allclose(scores, in_memory, atol=0.02)
    assert scores.min() > 0.6


def test_predictions_of_the_training_rows_are_those_of_their_values(frame, stores, tmp_path):
    model = GradientBoostingClassifier(n_estimators=9, preset="classic").fit(stores["y", False])
    np.testing.assert_array_equal(
        model.predict_proba(stores["y", False]), model.predict_proba(frame[FEATURES])
    )
    other = BinnedDataset.build(frame[["a", "b", "zip"]], tmp_path / "store")
    with pytest.raises(InputError, match=r"differs from that of the fit.* in column 'color'"):
        model.predict(other)
