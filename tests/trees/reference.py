"""Small problems and comparisons that several tests of trees share."""

import numpy as np

import spinney as sp


def root_candidates(model):
    """Return the ledger's rows of the root by feature name."""
    return {row["feature"]: row for row in model.ledger_.to_records() if row["node"] == 0}


def stairs(n_rows=400, seed=0):
    """Make a target of three steps along x0, noise columns beside it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 4))
    return X, np.digitize(X[:, 0], [0.3, 0.6])


def noisy(n_rows=600, seed=0):
    """Make two classes of which a fifth of the labels are wrong, so that a full tree overfits."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    truth = X[:, 0] + X[:, 1] > 0
    return X, np.where(rng.random(n_rows) < 0.2, ~truth, truth).astype(int)


def same_tree(first, second):
    """Return whether two trees have the same shape and tests."""
    names = ("kind", "feature", "first_child", "n_children")
    return all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in names
    ) and np.array_equal(first.threshold, second.threshold, equal_nan=True)


FULL_TREES = (sp.DecisionTreeClassifier, sp.ID3Classifier, sp.C45Classifier, sp.ObliqueTreeClassifier)
