"""The page of a comparison, from the attributes that `spinney.compare` gives it."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import spinney as sp
from reporting.pages import check_markup, loans
from spinney.core.errors import InputError


def comparison(p_values, names=("boosting", "forest", "<b>linear</b>")):
    metrics = (
        SimpleNamespace(name="roc_auc", title="ROC AUC", greater_is_better=True),
        SimpleNamespace(name="log_loss", title="log loss", greater_is_better=False),
    )
    entries = [
        SimpleNamespace(
            name=name,
            family="family",
            score=0.9 - k / 10,
            low=0.85 - k / 10 if k else np.nan,
            high=0.95 - k / 10 if k else np.nan,
            p_value=p,
            scores={"roc_auc": 0.9 - k / 10 + np.array([-0.01, 0.01]), "log_loss": np.array([0.3, 0.4])},
            fit_seconds=0.1 * (k + 1),
            predict_seconds=0.01,
            note="",
            estimator=sp.DecisionTreeClassifier(max_depth=k),
        )
        for k, (name, p) in enumerate(zip(names, p_values, strict=True))
    ]
    return SimpleNamespace(
        entries=tuple(entries),
        metrics=metrics,
        skipped={"svm": "too slow for <1 s"},
        task="classification",
        n_rows=100,
        n_rows_used=80,
        n_folds=2,
        seconds=3.0,
        seed=0,
        to_records=list,
    )


def test_a_comparison_has_a_page():
    page = sp.report(comparison([np.nan, 0.4, 0.01]), title="Which learner?")
    found = check_markup(page.html)
    shown = "".join(found.texts)
    assert "Not clearly better than forest:" in shown
    assert "<b>linear</b>" in shown
    assert "too slow for <1 s" in shown
    assert page.record.rivals == ["forest"]
    assert page.record.entries[0].low is None
    clear = sp.report(comparison([np.nan, 0.001, 0.01]))
    assert "Better than every other learner" in clear.html


def test_names_of_learners_with_the_same_score_do_not_overlap():
    found = comparison([np.nan, 0.4, 0.01])
    for entry in found.entries:
        entry.score, entry.fit_seconds = 0.9, 0.1
    heights = re.findall(r'class="note" x="[\d.]+" y="([\d.]+)"', sp.report(found).html)
    assert len(heights) == 3 and np.diff(np.array(heights, float)).min() >= 12


@pytest.mark.skipif(not hasattr(sp, "compare"), reason="there is no spinney.compare yet")
def test_the_page_of_a_real_comparison():
    X, y = loans(120, 0)
    found = sp.compare(X, y, learners=["cart", "naive-bayes"], cv=3, repeats=1, ensemble=False)
    page = sp.report(found)
    check_markup(page.html)
    assert [one.name for one in page.record.entries] == [entry.name for entry in found.entries]
    assert all(len(one.folds) == 3 for one in page.record.entries)


def test_a_model_needs_rows():
    model = sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="no rows to report on"):
        sp.report(model)
