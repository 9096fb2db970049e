"""The page: every kind of model has one, its markup is sound and small, and nothing breaks out of it."""

import json
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney as sp
from contracts.learners import LEARNERS, UNSUPERVISED, mixed_data
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data
from reporting.pages import check_markup, loans, pictures
from spinney.core.errors import InputError
from spinney.reporting import drawing
from spinney.reporting.drawing import markup

ALL = [*LEARNERS, *UNSUPERVISED, *MATRIX_LEARNERS]


def family(learner):
    return learner.make.__module__.split(".")[1], learner.kind


def some_learners():
    """Return a classifier or a regressor of each package in turn, and the other kinds; all: the long test."""
    first_of_each = {family(learner): learner for learner in reversed(ALL)}
    packages = sorted({package for package, _ in first_of_each})
    chosen = [one for one in first_of_each.values() if one.kind not in ("classifier", "regressor")]
    for place, package in enumerate(packages):
        kinds = ("classifier", "regressor") if place % 2 else ("regressor", "classifier")
        chosen += [first_of_each[package, kind] for kind in kinds if (package, kind) in first_of_each][:1]
    return chosen


def report_of(learner, n_rows=90):
    make = matrix_data if learner in MATRIX_LEARNERS else mixed_data
    kind = "classifier" if learner.kind == "ranker" else learner.kind
    (X, y, _), (Xt, yt, _) = make(kind, n_rows), make(kind, n_rows, 1)
    if learner.kind == "unsupervised":
        return sp.report(learner().fit(X), Xt)
    queries = {"qid": np.arange(n_rows) // 10} if learner.kind == "ranker" else {}
    return sp.report(learner().fit(X, y), Xt, yt, X_train=X, y_train=y, **queries)


@pytest.fixture(scope="module")
def boosted():
    X, y = loans(400, 0)
    Xt, yt = loans(300, 1)
    model = sp.GradientBoostingClassifier(n_estimators=30, ledger="full", random_state=0)
    model.fit(X, y, eval_set=[(Xt, yt)])
    return sp.report(model, Xt, yt, X_train=X, y_train=y)


@pytest.mark.parametrize("learner", some_learners(), ids=lambda learner: learner.name)
def test_every_family_has_a_report(learner):
    page = report_of(learner)
    check_markup(page.html)
    assert len(page.html.encode()) < 500_000
    assert (page.record.verdict is None) == (learner.kind == "unsupervised")


@pytest.mark.long
@pytest.mark.parametrize("learner", ALL, ids=lambda learner: learner.name)
def test_every_learner_has_a_report(learner):
    page = report_of(learner, 200)
    check_markup(page.html)
    assert len(page.html.encode()) < 500_000


@pytest.mark.parametrize("make", [sp.LogisticRegression, sp.Ridge], ids=["classifier", "regressor"])
def test_linear_models_have_a_report_with_shap_values(make):
    X, y, _ = matrix_data("classifier" if make is sp.LogisticRegression else "regressor", 90)
    page = sp.report(make().fit(X, y), X, y)
    check_markup(page.html)
    assert page.record.features.importances[0].shap is not None
    assert page.record.trees is None


def test_pictures_are_xml_with_a_name(boosted):
    found = pictures(boosted.html)
    assert len(found) > 20
    for one in found:
        root = ET.fromstring(one)
        assert root.get("aria-label")


def test_sections_that_apply_are_there_and_others_are_not(boosted):
    tabs = re.findall(r'id="tab-(\w+)"', boosted.html)
    assert " ".join(tabs) == "overview data performance learning features trees replay mistakes origin"
    record = boosted.record
    assert record.learning.chosen == record.replay.n_rounds
    assert record.trees.has_ledger
    assert record.members is None
    assert record.pruning is None


def test_script_and_style_are_small():
    folder = Path(drawing.__file__).parent
    assert len((folder / "script.js").read_bytes()) < 30_000
    assert len((folder / "style.css").read_bytes()) < 20_000


@pytest.mark.parametrize(
    "model",
    [
        sp.GradientBoostingClassifier(n_estimators=500, max_depth=3, preset="classic", random_state=0),
        pytest.param(sp.RandomForestClassifier(n_estimators=500, random_state=0), marks=pytest.mark.long),
    ],
    ids=["boosting", "forest"],
)
def test_a_large_model_takes_little_time_and_space(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 200))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=600) > 0).astype(int)
    model.fit(X[:200], y[:200])
    start = time.process_time()
    page = sp.report(model, X[200:], y[200:], X_train=X[:200], y_train=y[:200])
    assert time.process_time() - start < 5
    assert len(page.html.encode()) < 1_000_000


def test_few_points_in_every_picture(boosted):
    for one in pictures(boosted.html):
        assert one.count("h0") + one.count("<circle") <= 2000
        assert all(len(line.split()) <= 2000 for line in re.findall(r'points="([^"]*)"', one))


# ---- hostile names and values ----

ATTACKS = [
    "<script>alert({})</script>",
    '"><img src=x onerror=alert({})>',
    "'><svg onload=alert({})>",
    "</script><script>alert({})</script>",
    "</style><style>*{{display:none}}{}",
    "javascript:alert({})",
    "<!-- {} --><iframe src='//evil.example'>",
    "]]><a href=//evil.example/{}>x</a>",
    "&lt;b onclick=alert({})&gt;",
    "{{{{constructor.constructor('alert({})')()}}}}",
    "\x00\x1b\u202e\u2028\u2029{}",
    "style=background:url(//evil.example/{})",
]


def hostile(n):
    return [ATTACKS[k % len(ATTACKS)].format(k) for k in range(n)]


@pytest.mark.parametrize("part", range(2))
def test_hostile_names_and_values_inject_nothing(part):
    rng = np.random.default_rng(part)
    texts = hostile(1000)[500 * part : 500 * part + 500]
    names, values = texts[:100], texts[100:]
    n = 120
    X = pd.DataFrame({name: rng.normal(size=n) for name in names[:60]})
    for k, name in enumerate(names[60:]):
        X[name] = np.resize(values[k::40], n)
    y = np.array(values[:2], dtype=object)[(X.iloc[:, 0] + (X.iloc[:, 70] == values[10]) > 0).astype(int)]
    tree = sp.DecisionTreeClassifier(ledger=True, max_depth=6)
    model = (
        tree if part % 2 else sp.AdaBoostClassifier(tree.set_params(max_depth=2), n_estimators=5, ledger=True)
    )
    model.fit(X, y)
    page = sp.report(model, X, y, title=texts[0], command=texts[1], metadata={texts[2]: texts[3]}).html
    found = check_markup(page)
    shown = "".join(found.texts)
    assert (
        sum(one.strip()[:12] in shown for one in names if one.isprintable()) > 50
    )  # as text, they are there
    for one in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S):
        assert "<" not in one
        json.loads(one)
    for one in pictures(page):
        ET.fromstring(one)


def test_characters_that_no_page_may_have_are_replaced():
    assert markup.text("a\ud800\x00\x1b\u202eb<") == "a\ufffd\ufffd\ufffd\ufffdb&lt;"
    assert markup.clean("a\ud800\x00b</script>") == "a\ufffd\ufffdb</script>"
    assert "<" not in markup.data("d", ["</script>\u2028"]).split(">", 1)[1].rsplit("<", 1)[0]


# ---- arguments ----


def test_save_is_atomic_and_the_notebook_shows_a_frame(boosted, tmp_path):
    place = boosted.save(tmp_path / "page.html")
    assert place.read_text(encoding="utf-8") == boosted.html
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError, match="no directory"):
        boosted.save(tmp_path / "none" / "page.html")
    assert boosted._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert "sandbox" in boosted._repr_html_()


def test_no_rows_are_shown_if_they_are_private():
    X, y = loans(200, 0)
    X["history"] = [f"secret {k}" for k in range(200)]
    model = sp.DecisionTreeClassifier(max_depth=3).fit(X[["income", "age"]], y)
    with_rows = sp.report(model, X[["income", "age"]], y)
    without = sp.report(model, X[["income", "age"]], y, show_rows=False)
    assert with_rows.record.mistakes.rows
    assert with_rows.record.trees.followed
    assert not without.record.mistakes.rows
    assert not without.record.trees.followed


def test_groups_by_column_by_array_and_by_name():
    X, y = loans(200, 0)
    model = sp.DecisionTreeClassifier(max_depth=3).fit(X, y)
    region = np.where(np.arange(200) % 3 == 0, "north", "south")
    by_column = sp.report(model, X, y, groups="history").record.groups
    assert [one.by for one in by_column] == ["history"]
    assert {name for name, _, _ in by_column[0].groups} == {"good", "late", "none"}
    by_name = sp.report(model, X, y, groups={"region": region}, max_rows=150).record.groups
    assert by_name[0].by == "region"
    assert sum(n for _, n, _ in by_name[0].groups) == 150
    with pytest.raises(InputError, match=r"no column 'histor'.*Did you mean 'history'"):
        sp.report(model, X, y, groups="histor")


def test_replay_of_chosen_features():
    X, y = loans(200, 0)
    model = sp.AdaBoostClassifier(n_estimators=5).fit(X, y)
    found = sp.report(model, X, y, replay_features=["history", "age"]).record.replay
    assert [axis.name for axis in found.axes] == ["history", "age"]
    X["region"] = np.resize(["a", "b", "c", "d", "e"], 200)
    model.fit(X, y)
    found = sp.report(model, X, y, replay_features=["region", "history"]).record.replay
    row = {axis.name: axis.levels for axis in found.axes}
    places = {(row["region"][int(a)], row["history"][int(b)]) for a, b, _ in found.points}
    assert places <= set(zip(X.region, X.history, strict=True))
    with pytest.raises(InputError, match="no feature 'ages'"):
        sp.report(model, X, y, replay_features=["ages", "income"])


def test_wrong_arguments_are_named():
    X, y = loans(60, 0)
    model = sp.DecisionTreeClassifier().fit(X, y)
    with pytest.raises(InputError, match="X_train is given without y_train"):
        sp.report(model, X, y, X_train=X)
    with pytest.raises(InputError, match="y_train is given without X_train"):
        sp.report(model, X, y, y_train=y)
    with pytest.raises(InputError, match="class 'other' in row 3"):
        sp.report(model, X, np.where(np.arange(60) == 3, "other", y))
    with pytest.raises(InputError, match="inconsistent"):
        sp.report(model, X, y[:-1])


@pytest.mark.parametrize(
    "kind", ["polars", "sparse", "list", "dict", "foreign", "several outputs", "weights"]
)
def test_all_kinds_of_input(kind):
    X, y = loans(150, 0)
    numbers = X[["income", "debt_ratio"]]
    options = {}
    model = sp.GradientBoostingClassifier(n_estimators=5, random_state=0)
    if kind == "polars":
        pl = pytest.importorskip("polars")
        X = pl.from_pandas(X)
    elif kind == "sparse":
        from scipy import sparse

        X = sparse.csr_matrix(numbers.to_numpy())
    elif kind == "list":
        X = numbers.to_numpy().tolist()
    elif kind == "dict":
        X = {name: X[name].tolist() for name in X}
    elif kind == "foreign":
        X, model = numbers, make_pipeline(StandardScaler(), LogisticRegression())
    elif kind == "several outputs":
        y = np.column_stack([y, X.history])
        model, options = sp.RandomForestClassifier(n_estimators=3, random_state=0), {"output": 1}
    else:
        options = {"sample_weight": np.arange(150) % 3}
    page = sp.report(model.fit(X, y), X, y, **options)
    check_markup(page.html)
    if kind == "several outputs":
        assert page.record.classes.classes == ("good", "late", "none")
