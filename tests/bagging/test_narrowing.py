"""Parameters by column, restated for some of the columns."""

import numpy as np
import pandas as pd
import pytest

import spinney as sp
from spinney.bagging.trees import select_parameters

NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "parameter, given, expected",
    [
        ("categorical_features", ["a", "d"], [2]),
        ("categorical_features", [3, 1], [0, 1, 2]),
        ("categorical_features", [True, False, True, True], [2]),
        ("categorical_features", np.array([False, True, False, False]), [0, 1]),
        ("categorical_features", "from_dtype", "from_dtype"),
        ("categorical_features", None, None),
        ("categorical_features", ["z"], ["z"]),
        ("categorical_features", [True], [True]),
        ("feature_costs", {"b": 3.0}, [3.0, 3.0, 1.0]),
        ("feature_costs", [1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 4.0]),
        ("feature_costs", {"z": 1.0}, {"z": 1.0}),
        ("feature_costs", [1.0], [1.0]),
        ("monotonic_cst", {"d": -1}, [0, 0, -1]),
        ("monotonic_cst", np.array([0, 1, 0, -1]), [1, 1, -1]),
    ],
)
def test_each_way_to_name_columns(parameter, given, expected):
    tree = sp.DecisionTreeClassifier(**{parameter: given})
    select_parameters(tree, np.array([1, 1, 3]), NAMES)
    assert getattr(tree, parameter) == expected


def test_trees_without_some_of_the_parameters():
    tree = sp.C45Classifier(feature_costs={"a": 2.0})
    select_parameters(tree, np.array([0]), NAMES)
    assert tree.feature_costs == [2.0]


@pytest.mark.parametrize("more", [{"max_features": 2}, {"bootstrap_features": True}])
def test_members_obey_the_parameters_of_their_columns(more):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"up": rng.normal(size=200), "code": rng.integers(0, 5, 200), "noise": rng.normal(size=200)}
    )
    y = (X["up"] + 0.8 * rng.normal(size=200) + (X["code"] == 2) > 0).astype(int)
    pattern = sp.DecisionTreeClassifier(categorical_features=["code"], monotonic_cst={"up": 1})
    model = sp.BaggingClassifier(pattern, random_state=0, **more).fit(X, y)
    for tree, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert tree.schema_.categorical.tolist() == (columns == 1).tolist()
        assert list(tree.monotonic_cst) == (columns == 0).astype(int).tolist()
    rising = np.linspace(-3, 3, 50)
    table = pd.DataFrame({"up": rising, "code": 1, "noise": 0.0})
    assert (np.diff(model.predict_proba(table)[:, 1]) >= -1e-12).all()


def test_a_wrong_name_is_refused_as_ever():
    with pytest.raises(ValueError, match="'z', which is not a column"):
        pattern = sp.DecisionTreeClassifier(feature_costs={"z": 1.0})
        sp.BaggingClassifier(pattern, max_features=1).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
