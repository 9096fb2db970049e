"""Small learners that can be saved, each with the validation that a real one needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from spinney.io import CorruptModelFile, Persistent


@dataclass(frozen=True, eq=False)
class ToyTree(Persistent):
    """A chain of tests: node i answers when x[feature[i]] <= threshold[i], the last one always."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    answer: NDArray[np.int64]

    def __post_init__(self) -> None:
        n = len(self.feature)
        for array, dtype in ((self.feature, np.int32), (self.threshold, np.float64), (self.answer, np.int64)):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != (n,) or n == 0:
                raise CorruptModelFile("The arrays of a ToyTree do not fit together.")

    def apply(self, X: NDArray[Any]) -> NDArray[Any]:
        passed = X[:, self.feature] <= self.threshold
        passed[:, -1] = True
        return self.answer[passed.argmax(axis=1)]


class ToyClassifier(ClassifierMixin, BaseEstimator, Persistent):
    """A committee of toy trees."""

    _state_attributes = ("feature_names_in_", "_note")
    _required_attributes = ("classes_", "n_features_in_", "trees_")
    _transient_attributes = ("_cache",)

    def __init__(self, n_trees=2, criterion="gini", class_weight=None, random_state=None):
        self.n_trees = n_trees
        self.criterion = criterion
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X, y):
        X = np.asarray(X, dtype=float)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.n_features_in_ = X.shape[1]
        self._note = ("fitted", len(X))
        self._cache = object()
        self.trees_ = []
        for t in range(self.n_trees):
            feature = np.array([t % X.shape[1], 0], dtype=np.int32)
            cut = float(np.median(X[:, feature[0]]))
            left = X[:, feature[0]] <= cut
            answer = [int(np.median(codes[left])), int(np.median(codes[~left] if (~left).any() else codes))]
            self.trees_.append(ToyTree(feature, np.array([cut, 0.0]), np.array(answer)))
        return self

    def predict(self, X):
        check_is_fitted(self, "trees_")
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {X.shape}, the model {self.n_features_in_} features.")
        votes = np.mean([tree.apply(X) for tree in self.trees_], axis=0)
        return self.classes_[np.floor(votes).astype(int)]

    def _check_state(self) -> None:
        if not hasattr(self, "trees_"):
            return
        if type(self.n_features_in_) is not int or not isinstance(self.classes_, np.ndarray):
            raise CorruptModelFile("A ToyClassifier has n_features_in_ and classes_.")
        if self.classes_.ndim != 1 or type(self.trees_) is not list or not self.trees_:
            raise CorruptModelFile("A ToyClassifier has classes and at least one tree.")
        for tree in self.trees_:
            if not isinstance(tree, ToyTree):
                raise CorruptModelFile("A ToyClassifier is made of ToyTrees.")
            for array, bound in ((tree.feature, self.n_features_in_), (tree.answer, len(self.classes_))):
                if array.min() < 0 or array.max() >= bound:
                    raise CorruptModelFile("A ToyTree refers to a feature or class that is not there.")


class Free(BaseEstimator, Persistent):
    """An estimator that declares nothing: whatever ends in an underscore is fitted."""

    def __init__(self, value=None, base=None):
        self.value = value
        self.base = base


def toy_data() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "ripe", "unripe")


def fitted_toy() -> ToyClassifier:
    return ToyClassifier(n_trees=3, class_weight={"ripe": 2.0, "unripe": 1.0}, random_state=7).fit(
        *toy_data()
    )
