import numpy as np
import pytest

from spinney import ID3Classifier
from spinney.datasets import load_watermelon2_missing, load_watermelon3
from trees.reference import root_candidates


def test_gains_of_the_textbook_at_the_root():
    X, y = load_watermelon3()
    model = ID3Classifier(ledger=True).fit(X.iloc[:, :6], y)
    found = root_candidates(model)
    expected = {
        "color": 0.108,
        "root": 0.143,
        "sound": 0.141,
        "texture": 0.381,
        "navel": 0.289,
        "touch": 0.006,
    }
    assert {name: row["gain"] for name, row in found.items()} == pytest.approx(expected, abs=0.0015)
    assert [name for name, row in found.items() if row["chosen"]] == ["texture"]
    assert model.score(X.iloc[:, :6], y) == 1.0


def test_gains_with_missing_values_and_the_fractional_rows():
    X, y = load_watermelon2_missing()
    model = ID3Classifier(ledger=True).fit(X, y)
    expected = {
        "color": 0.252,
        "root": 0.171,
        "sound": 0.145,
        "texture": 0.424,
        "navel": 0.289,
        "touch": 0.006,
    }
    gains = {name: row["gain"] for name, row in root_candidates(model).items()}
    assert gains == pytest.approx(expected, abs=0.0015)

    tree = model.tree_
    assert model.schema_.names[tree.feature[0]] == "texture"
    branch_of = dict(zip(model.schema_.features[3].categories, tree.branches(0), strict=True))
    assert len(branch_of) == 3
    reach = model.decision_path(X).toarray()
    children = list(tree.children(0))
    values = X["texture"].tolist()
    for row, value in enumerate(values):
        if isinstance(value, str):
            expected_share = np.zeros(3)
            expected_share[branch_of[value]] = 1.0
            assert reach[row, children].tolist() == expected_share.tolist()
    by_size = sorted(children, key=lambda child: -tree.weight[child])
    for row in (7, 9):  # melons 8 and 10, whose texture is not known
        assert not isinstance(values[row], str)
        assert reach[row, by_size] == pytest.approx([7 / 15, 5 / 15, 3 / 15], abs=1e-12)
    assert tree.weight[by_size] == pytest.approx([7 + 14 / 15, 5 + 10 / 15, 3 + 6 / 15], abs=1e-9)


def test_each_feature_is_used_once_a_path_and_epsilon_stops():
    X, y = load_watermelon3()
    X = X.iloc[:, :6]
    tree = ID3Classifier().fit(X, y).tree_
    for node in range(tree.node_count):
        above = []
        up = tree.parent[node]
        while up >= 0:
            above.append(int(tree.feature[up]))
            up = tree.parent[up]
        assert len(above) == len(set(above))
    assert ID3Classifier(epsilon=0.5).fit(X, y).get_n_leaves() == 1
    assert ID3Classifier(epsilon=0.35).fit(X, y).get_depth() >= 1


def test_a_category_without_a_branch_is_answered_by_its_node_and_paid_for():
    X = np.array([["a", "p"], ["b", "p"], ["b", "q"], ["b", "r"]], dtype=object)
    model = ID3Classifier(feature_costs=[1.0, 10.0], cost_rule="nunez", cost_omega=0.0).fit(X, [0, 1, 2, 3])
    stranger = np.array([["a", "q"]], dtype=object)
    tree = model.tree_
    assert tree.feature[0] == 1  # the larger gain; the price does not count with ω = 0
    assert model.predict(stranger).tolist() == [2]
    assert model.expected_cost(stranger) == 10.0
    below_p = np.array([["z", "p"]], dtype=object)
    assert model.predict_proba(below_p)[0].tolist() == [0.5, 0.5, 0.0, 0.0]
    assert model.expected_cost(below_p) == 11.0


def test_numbers_are_categories_by_value():
    X = np.array([[3.0], [1.0], [2.0], [3.0], [1.0], [2.0]])
    y = [0, 1, 0, 0, 1, 0]
    model = ID3Classifier().fit(X, y)
    assert model.tree_.n_children[0] == 3
    assert model.predict([[1], [2], [3]]).tolist() == [1, 0, 0]
    assert model.predict([[7.5]]).tolist() == [0]  # never seen: missing, answered by the majority
