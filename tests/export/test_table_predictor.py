"""Predictors of tables: the bits of the model's predictions, NumPy alone, and files that do no harm."""

import copy
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from persistence.test_container import bounds
from spinney.core.errors import InputError, InputTypeError, ModelFileError, UnseenCategoryError
from spinney.export.expressions import Apply, Constant, Place, WeightedSum
from spinney.export.steps import from_steps, to_steps
from spinney.io import dumps, loads
from spinney.io.container import decode, encode
from spinney.io.document import Tagged

METHODS = ("predict", "predict_proba", "decision_function")
HEAVY = ("sklearn", "scipy", "pandas", "joblib", "narwhals", "threadpoolctl", "polars", "pyarrow")
REFUSED = (
    *("OutputFlipping", "OutputSmearing", "OutputCode", "NegativeCorrelation", "OneVs"),
    *("AdaBoostRegressor", "AdaBoostClassifier-C45", "AdaBoostClassifier-logit"),
)
DESCRIBED = [one for one in LEARNERS if not one.name.startswith(REFUSED)]


def predictor_of(model):
    """Return a predictor that has been saved and loaded, by file and by JSON text."""
    predictor = sp.to_predictor(model)
    data = dumps(predictor)
    assert dumps(sp.from_json(sp.to_json(predictor))) == data
    assert dumps(copy.deepcopy(predictor)) == dumps(pickle.loads(pickle.dumps(predictor))) == data
    return loads(data)


def check(model, *tables, exact=METHODS):
    predictor = predictor_of(model)
    assert predictor.n_features_in_ == model.n_features_in_
    assert hasattr(predictor, "feature_names_in_") == hasattr(model, "feature_names_in_")
    assert hasattr(predictor, "classes_") == hasattr(model, "classes_")
    for method in METHODS:
        assert hasattr(predictor, method) == hasattr(model, method)
        for X in tables if hasattr(model, method) else ():
            expected, found = getattr(model, method)(X), getattr(predictor, method)(X)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            if found.dtype.kind != "f" or method in exact:
                assert found.tolist() == expected.tolist()
            else:
                assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("learner", DESCRIBED, ids=lambda learner: learner.name)
def test_every_learner_that_can_be_described_predicts_the_same_bits(learner):
    X, y, _ = mixed_data(learner.kind, 120)
    model = learner().fit(X, y)
    new = X.copy()
    new.loc[:3, "color"] = "a color that is unknown"
    new.iloc[4:9] = None
    frames = [X, new, pl.DataFrame(X.to_dict("list"), strict=False), X.to_dict("list"), X.iloc[:0]]
    check(model, *frames, X.to_dict("records"))


@pytest.mark.parametrize(
    "learner", [one for one in LEARNERS if one not in DESCRIBED], ids=lambda one: one.name
)
def test_what_cannot_be_described_is_refused(learner):
    X, y, _ = mixed_data(learner.kind, 60)
    with pytest.raises(InputTypeError, match="cannot be exported"):
        sp.to_predictor(learner().fit(X, y))


RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5))
TWO, THREE = (X[:, 0] > 0).astype(int), (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)
VALUES = np.abs(X[:, 0] + X[:, 1] ** 2) + 0.1
ARRAYS = (X, X.astype(np.float32), np.asfortranarray(X), X.tolist(), X[:1])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "laplacian"])
def test_support_vector_machines(kernel):
    check(sp.SVC(kernel=kernel).fit(X, TWO), *ARRAYS)
    check(sp.SVR(kernel=kernel).fit(X, VALUES), *ARRAYS)
    with pytest.raises(InputError, match="column 2"):
        sp.to_predictor(sp.SVR(kernel=kernel).fit(X, VALUES)).predict([[0.0, 0.0, None, 0.0, 0.0]])
    if kernel == "rbf":
        broken = sp.SVC().fit(X, TWO)
        broken.dual_coef_ = np.full_like(broken.dual_coef_, np.nan)
        with pytest.raises(
            InputTypeError, match="exported: the coefficients of support vectors are not valid"
        ):
            sp.to_predictor(broken)


def test_linear_models():
    for model in (sp.LinearRegression(), sp.Ridge(), sp.Lasso()):
        check(model.fit(X, VALUES), *ARRAYS)
    check(sp.Ridge().fit(X, np.column_stack([VALUES, X[:, 0]])), *ARRAYS)
    for link in ("log", "identity"):
        check(sp.GeneralizedLinearRegressor(family="poisson", link=link).fit(X, VALUES), *ARRAYS)
    for y in (TWO, THREE):
        check(sp.LinearSVC().fit(X, y), *ARRAYS)
        check(sp.LogisticRegression().fit(X, y), *ARRAYS, exact=("predict", "decision_function"))
    with pytest.raises(InputTypeError, match="one dimension"):
        sp.to_predictor(sp.LinearRegression().fit(X, VALUES[:, None]))
    with pytest.raises(InputError, match="NaN in column 1, row 0"):
        sp.to_predictor(sp.Ridge().fit(X, VALUES)).predict([[0.0, np.nan, 0.0, 0.0, 0.0]])
    frame = pd.DataFrame({"c": RNG.integers(0, 300, 600).astype(str), "x": X[:, 0]})
    frame.loc[:5, "x"] = None
    model = sp.Ridge(categorical="one-hot", missing="mean").fit(frame, VALUES)
    check(model, frame, pd.DataFrame({"c": ["none of them", None], "x": [0.0, None]}), exact=())


def test_boosting_of_many_classes_other_losses_and_several_outputs():
    many = RNG.integers(0, 30, 600).astype(str)
    check(sp.GradientBoostingClassifier(n_estimators=3).fit(X, many), *ARRAYS)
    check(sp.GradientBoostingClassifier(n_estimators=3).fit(X, np.zeros(600)), *ARRAYS)
    for loss in ("gamma", "absolute_error", "quantile"):
        check(sp.GradientBoostingRegressor(loss=loss, n_estimators=3).fit(X, VALUES), *ARRAYS)
    both = np.column_stack([VALUES, X[:, 0]])
    check(sp.GradientBoostingRegressor(n_estimators=3).fit(X, both), *ARRAYS)
    check(sp.RandomForestRegressor(n_estimators=3).fit(X, both), *ARRAYS)
    check(sp.GradientBoostingRanker(n_estimators=3).fit(X, THREE, group=[300, 300]), *ARRAYS)
    for algorithm in ("samme", "samme.r", "logit", "gentle", "real"):
        model = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=3).fit(X, TWO)
        check(model, *ARRAYS, exact=("predict", "decision_function"))
    imported = sp.import_model(HistGradientBoostingClassifier(max_iter=3).fit(X, THREE))
    check(imported, *ARRAYS)
    with pytest.raises(InputTypeError, match="several outputs"):
        sp.to_predictor(sp.RandomForestClassifier(n_estimators=3).fit(X, np.column_stack([TWO, THREE])))


def test_stacks_of_every_final_estimator():
    members = [("tree", sp.DecisionTreeClassifier(max_depth=2)), ("linear", sp.LogisticRegression())]
    for final in (sp.RandomForestClassifier(n_estimators=3), sp.LogisticRegression(), None):
        for y in (TWO, THREE):
            model = sp.StackingClassifier(members, final_estimator=final, passthrough=final is not None)
            check(model.fit(X, y), *ARRAYS, exact=("predict",))


def test_sparse_matrices():
    matrix = sparse.random(400, 30, 0.1, random_state=0, format="csr")
    y = (matrix.toarray()[:, 0] > 0).astype(int)
    forms = [matrix, matrix.tocsc(), sparse.coo_array(matrix)]
    for model in (sp.RandomForestClassifier(n_estimators=3), sp.GradientBoostingClassifier(n_estimators=3)):
        check(model.fit(matrix, y), *forms)
    check(sp.LogisticRegression().fit(matrix, y), *forms, exact=("predict",))


def test_errors_are_those_of_the_estimator():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": ["x", "y", "x"]})
    model = sp.DecisionTreeClassifier(unseen="error").fit(frame, [0, 1, 0])
    predictor = predictor_of(model)
    wrong = [
        frame[["a"]],
        frame[["c", "a"]],
        frame.assign(c=[1, 2, 3]),
        frame.assign(a=np.inf),
        [1.0],
        "text",
    ]
    wrong += [frame.assign(c=["x", "z", None]), frame.rename(columns={"a": "b"}), np.zeros((2, 3))]
    for X_wrong in wrong:
        messages = []
        for one in (model, predictor):
            with warnings.catch_warnings(), pytest.raises((InputError, InputTypeError)) as caught:
                warnings.simplefilter("ignore")
                one.predict(X_wrong)
            messages.append((type(caught.value), str(caught.value)))
        assert messages[0] == messages[1]
    linear = sp.LogisticRegression(categorical="one-hot").fit(frame, [0, 1, 0])
    voting = sp.VotingClassifier([("tree", sp.DecisionTreeClassifier()), ("linear", linear)])
    for strict in (linear, voting.fit(frame, [0, 1, 0])):
        with pytest.raises(UnseenCategoryError, match="'z'"):
            sp.to_predictor(strict).predict(frame.assign(c="z"))
    with pytest.raises(AttributeError, match="no decision_function"):
        _ = predictor.decision_function


def test_a_fresh_interpreter_needs_numpy_alone(tmp_path):
    frame, y, _ = mixed_data("classifier", 300)
    models = [sp.GradientBoostingClassifier(n_estimators=3).fit(frame, y)]
    members = [("tree", sp.DecisionTreeClassifier(max_depth=3)), ("c4.5", sp.C45Classifier())]
    models += [sp.StackingClassifier(members, cv=2).fit(frame, y)]
    models += [sp.RandomForestClassifier(n_estimators=3).fit(frame, y)]
    models += [sp.LogisticRegression(categorical="one-hot", missing="mean").fit(frame, y)]
    for i, model in enumerate(models):
        sp.save(sp.to_predictor(model), tmp_path / f"{i}.spinney")
        (tmp_path / f"{i}.json").write_text(sp.to_json(sp.to_predictor(model)))
    columns = {name: [None if value != value else value for value in frame[name]] for name in frame}
    code = f"""
    import importlib.abc, pathlib, sys
    class Refuse(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {HEAVY}:
                raise ImportError(name + " is refused")
    sys.meta_path.insert(0, Refuse())
    import spinney
    columns = {columns!r}
    rows = [list(row) for row in zip(*columns.values())]
    for path in sorted(pathlib.Path({str(tmp_path)!r}).iterdir()):
        model = spinney.load(path) if path.suffix == ".spinney" else spinney.from_json(path.read_text())
        labels = model.predict(columns).tolist()
        assert model.classes_[model.predict_proba(columns).argmax(axis=1)].tolist() == labels
        import warnings; warnings.simplefilter("ignore")
        assert model.predict(rows).tolist() == labels
        print(labels)
    """
    run = [sys.executable, "-c", textwrap.dedent(code)]
    printed = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    assert printed == [str(model.predict(frame).tolist()) for model in models for _ in range(2)]


# ---- hostile files ----


BAD = (
    *(
        None,
        True,
        -1,
        0,
        1,
        3,
        2**40,
        2**70,
        -1.0,
        0.0,
        1.5,
        1e300,
        float("nan"),
        float("inf"),
        "",
        "error",
        "Apply",
    ),
    *([], (), [0], (0,), (0, 0), ["Computed", 0, 0], ["Decision", 0, None], {}, {"kind": "Constant"}),
    *(
        np.zeros(0),
        np.zeros(1),
        np.full(3, np.nan),
        np.zeros((2, 2)),
        np.zeros(2, np.float32),
        Tagged("text", np.ones((1, 1), np.uint32)),
    ),
)


def places(document, path=()):
    """Yield the path of every value of a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        inner = value.value if isinstance(value, Tagged) else value
        if isinstance(inner, dict | list | tuple):
            yield from places(inner, (*path, key))


def changed(document, path, value):
    """Return a document with another value at a place."""
    if isinstance(document, Tagged):
        return Tagged(document.name, changed(document.value, path, value))
    if not path:
        return value
    if isinstance(document, dict):
        return {**document, path[0]: changed(document[path[0]], path[1:], value)}
    items = list(document)
    items[path[0]] = changed(items[path[0]], path[1:], value)
    return type(document)(items)


def subjects():
    frame, y, _ = mixed_data("classifier", 60)
    members = [("tree", sp.DecisionTreeClassifier(max_depth=1))]
    stack = sp.StackingClassifier(
        members, final_estimator=sp.DecisionTreeClassifier(max_depth=1), passthrough=True
    )
    yield stack.fit(frame, y), frame
    yield sp.GradientBoostingClassifier(n_estimators=1, max_leaf_nodes=3).fit(frame, y), frame
    yield sp.LogisticRegression(categorical="one-hot", missing="mean").fit(frame, y), frame
    votes = [
        ("tree", sp.DecisionTreeClassifier(max_depth=1)),
        ("other", sp.DecisionTreeClassifier(max_depth=1)),
    ]
    yield sp.VotingClassifier(votes, voting="hard").fit(frame, y), frame
    yield sp.SVC().fit(X[:40], TWO[:40]), X
    yield sp.GradientBoostingRegressor(loss="gamma", n_estimators=1, max_leaf_nodes=3).fit(X, VALUES), X


@pytest.mark.parametrize("which", range(6))
def test_a_change_of_any_value_is_refused_or_harmless(which):
    model, rows = list(subjects())[which]
    rows = rows[:20]
    data = dumps(sp.to_predictor(model))
    document = decode(data)
    refused = loaded = 0
    for path in places(document["state"], ("state",)):
        for value in BAD:
            try:
                predictor = loads(encode(changed(document, path, value)))
            except ModelFileError:
                refused += 1
                continue
            loaded += 1
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for method in METHODS:
                    if not hasattr(predictor, method):
                        continue
                    try:
                        assert len(getattr(predictor, method)(rows)) == 20
                    except InputError:  # other features
                        assert "schema" in path or "unseen" in path or "fill" in path
    assert refused > 5 * loaded


def test_long_deep_and_wide_files_are_refused_or_quick():
    predictor = sp.to_predictor(sp.GradientBoostingClassifier(n_estimators=1).fit(X, TWO))
    schema = predictor._schema
    one = {"kind": "Constant", "values": np.ones(1)}
    apply = {"kind": "Apply", "function": "exp", "factor": 1.0}
    deep = [one, *({**apply, "of": i} for i in range(200))]
    wide = [one, *({"kind": "Place", "of": 0, "positions": (0,), "width": 2000} for _ in range(20_000))]
    twice = {"kind": "WeightedSum", "weights": (1.0, 1.0), "divisor": 2.0}
    with bounds(10_000), pytest.raises(ModelFileError, match="levels deep"):
        from_steps(deep, schema, 2)
    with bounds(1_000_000), pytest.raises(ModelFileError, match="numbers per row"):
        from_steps(wide, schema, 2000)
    with bounds(10_000), pytest.raises(ModelFileError, match="none before it"):
        from_steps([{**apply, "of": 0}], schema, 2)
    # Sixty sums of twice the same part are computed once each.
    state = {**predictor._state, "steps": [one, *({**twice, "parts": (i, i)} for i in range(60))]}
    state |= {"response": 60, "scores": None, "decision": None, "classes": None}
    document = decode(dumps(predictor))
    document["state"] = state
    assert loads(encode(document)).predict(X[:3]).tolist() == [1.0] * 3


def test_steps_store_shared_expressions_once():
    ones = Constant(np.ones(2))
    total = WeightedSum((ones, Apply("exp", ones)), (np.float64(1.0), 2.0))
    steps, position = to_steps([Place(total, (0, 1), 3), ones])
    assert [step["kind"] for step in steps] == ["Constant", "Apply", "WeightedSum", "Place"]
    assert position[id(ones)] == 0 and steps[2]["parts"] == (0, 1)
    assert type(steps[2]["weights"][0]) is float


def test_a_predictor_describes_itself():
    predictor = sp.to_predictor(sp.LinearSVC().fit(X, TWO))
    assert repr(predictor) == "TablePredictor(LinearSVC, n_features_in_=5)"
    assert sp.inspect_file(dumps(predictor)).class_name == "TablePredictor"
