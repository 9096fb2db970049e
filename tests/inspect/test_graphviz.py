"""export_graphviz: scikit-learn's text for numeric trees, every kind of split, and hostile names."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn import tree

import spinney as sp
from loops import for_each
from spinney.core.errors import InputError

X = [[-2, 0], [-1, 0], [-1, 0], [1, 0], [1, 0], [2, 0]]
TARGETS = {
    "classes": ("DecisionTreeClassifier", [-1, -1, -1, 1, 1, 1], None),
    "outputs": ("DecisionTreeClassifier", [[-1, 1], [-1, 1], [-1, 1], [1, 2], [1, 2], [1, 3]], None),
    "weights": ("DecisionTreeClassifier", [0, 0, 0, 1, 1, 2], [1, 1, 1, 0.5, 0.5, 0.5]),
    "values": ("DecisionTreeRegressor", [-1, -1, -1, 1, 1, 2], None),
    "two values": ("DecisionTreeRegressor", [[-1, 1], [-1, 1], [-1, 1], [1, 2], [1, 2], [1, 3]], None),
    "one class": ("DecisionTreeClassifier", [1] * 6, None),
    "one value": ("DecisionTreeRegressor", [1] * 6, None),
}
OPTIONS = [
    {},
    {"filled": True, "rounded": True, "class_names": ["a", "b", "c"]},
    {"leaves_parallel": True, "rotate": True, "node_ids": True, "fontname": "sans"},
    {"special_characters": True, "filled": True, "class_names": True},
    {"max_depth": 0, "filled": True, "leaves_parallel": True},
    {"feature_names": ['a "b"', "c"], "proportion": True, "label": "root"},
    {"impurity": False, "label": "none", "precision": 1},
]


@pytest.mark.parametrize("target", TARGETS)
@for_each("options", OPTIONS)
def test_numeric_trees_are_written_as_by_scikit_learn(target, options):
    name, y, weights = TARGETS[target]
    ours = getattr(sp, name)(max_depth=2).fit(X, y, weights)
    theirs = getattr(tree, name)(max_depth=2, random_state=0).fit(X, y, weights)
    assert sp.export_graphviz(ours, **options) == tree.export_graphviz(theirs, **options)


def test_categories_missing_values_sums_and_multiway_splits():
    frame = pd.DataFrame({"color": ["red", "green", "blue"] * 6, "size": np.arange(18.0)})
    y = ["r", "g", "b"] * 6
    text = sp.export_graphviz(sp.C45Classifier(pruning=None).fit(frame, y))
    assert '0 [label="color\\n' in text and '0 -> 3 [label="color = red"] ;' in text
    text = sp.export_graphviz(sp.DecisionTreeClassifier(max_depth=1).fit(frame, np.array(y) == "r"))
    assert 'label="color ' in text and 'headlabel="True"' in text
    frame.loc[:3, "size"] = np.nan
    text = sp.export_graphviz(sp.DecisionTreeClassifier(max_depth=1).fit(frame[["size"]], np.arange(18) > 9))
    assert "size <= 9.5 or missing\\n" in text
    line = np.random.default_rng(0).normal(size=(90, 2))
    oblique = sp.ObliqueTreeClassifier(random_state=0).fit(line, line @ [1.0, 1.0] > 0)
    assert "*x[0] " in sp.export_graphviz(oblique).splitlines()[3]


def test_hostile_names_stay_text():
    hostile = 'a"];\n} evil -> {\\N &lt; <b>'
    frame = pd.DataFrame({hostile: ["x", 'y"]; bad', "z"] * 4})
    y = [1, 2, 3] * 4
    for make in (sp.DecisionTreeClassifier(), sp.C45Classifier(pruning=None)):
        model = make.fit(frame, y)
        for options in ({}, {"special_characters": True, "class_names": ["<i>", "&", hostile]}):
            text = sp.export_graphviz(model, fontname='f"; x', **options)
            for line in text.splitlines()[1:-1]:
                assert line.endswith(" ;")
                outside = line.replace("\\\\", "").replace('\\"', "")
                assert outside.count('"') % 2 == 0 or "label=<" in outside
            assert "&amp;lt;" in text and "<i>" not in text


def test_files_handles_and_wrong_arguments(tmp_path):
    model = sp.DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    text, handle = sp.export_graphviz(model), io.StringIO()
    assert sp.export_graphviz(model, str(tmp_path / "a.dot")) is None
    assert sp.export_graphviz(model, handle) is None
    assert (tmp_path / "a.dot").read_text() == handle.getvalue() == text
    assert sp.export_graphviz(model.tree_).replace("impurity", "gini") == text
    for wrong in (
        {"feature_names": ["a"]},
        {"feature_names": [1, 2]},
        {"class_names": ["a"]},
        {"label": "all!"},
    ):
        with pytest.raises(InputError, match=next(iter(wrong)).partition("_")[0]):
            sp.export_graphviz(model, **wrong)
    with pytest.raises(ValueError, match="not fitted"):
        sp.export_graphviz(sp.DecisionTreeClassifier())


def test_a_deep_chain_is_written_without_recursion():
    n = 5000
    chain = sp.DecisionTreeRegressor(max_bins=None).fit(np.arange(n)[:, None], 3.0 ** (np.arange(n) % 600))
    assert sp.export_graphviz(chain).count("->") == chain.tree_.node_count - 1
