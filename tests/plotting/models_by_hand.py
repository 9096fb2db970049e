"""Stand-ins for fitted estimators: every kind of test, and names that try to break a picture."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tree.trees_by_hand import from_sklearn, mixed_tree

HOSTILE = '</text><script>alert("1")</script>&\x1b[31m\x00\ud800]]>'


def feature(name, categories=()):
    return SimpleNamespace(name=name, kind="categorical" if categories else "numeric", categories=categories)


def mixed(names=("密度", "纹理", "city", "含糖率"), classes=("好瓜", "坏瓜")):
    features = [
        feature(names[0]),
        feature(names[1], ("清晰", "稍糊", "模糊")),
        feature(names[2], tuple(f"c{i}" for i in range(70))),
        feature(names[3]),
    ]
    schema = SimpleNamespace(features=features, has_names=True)
    return SimpleNamespace(
        tree_=mixed_tree()[0], schema_=schema, classes_=np.array(classes), criterion="gini"
    )


def hostile():
    return mixed([HOSTILE] * 4, [HOSTILE, "b"])


def iris():
    data = load_iris()
    tree = from_sklearn(DecisionTreeClassifier(random_state=0).fit(data.data, data.target).tree_)
    return SimpleNamespace(
        tree_=tree, feature_names_in_=data.feature_names, classes_=data.target_names, criterion="gini"
    )


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    tree = from_sklearn(DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y).tree_)
    return SimpleNamespace(tree_=tree, criterion="squared_error")


def digits():
    X, y = load_digits(return_X_y=True)
    tree = from_sklearn(DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y).tree_)
    return SimpleNamespace(tree_=tree, classes_=np.arange(10), criterion="gini")


ALL = {"mixed": mixed, "hostile": hostile, "iris": iris, "diabetes": diabetes, "digits": digits}
