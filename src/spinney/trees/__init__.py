"""The tree estimators: each a file that chooses the parts of its algorithm."""

from spinney.trees.c45 import C45Classifier
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from spinney.trees.extra import ExtraTreeClassifier, ExtraTreeRegressor
from spinney.trees.id3 import ID3Classifier
from spinney.trees.oblique import ObliqueTreeClassifier, ObliqueTreeRegressor

__all__ = [
    "C45Classifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ID3Classifier",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
]
