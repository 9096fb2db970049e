"""GradientBoostingRanker: queries in any order, losses, early stopping, weights, files and threads."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import spinney
from spinney import GradientBoostingRanker
from spinney.core.errors import InputError
from spinney.data import read_table
from spinney.data.queries import Queries
from spinney.gradient_boosting import Checkpoint
from spinney.gradient_boosting.ranking import RankingSet
from spinney.gradient_boosting.training_set import BoostingSet
from spinney.metrics import mean_average_precision, ndcg

N_QUERIES, N_DOCS = 60, 12


def queries(seed=0, noise=0.2):
    """Make rows of numbers, missing values and text whose relevance within a query depends on all of them."""
    rng = np.random.default_rng(seed)
    n = N_QUERIES * N_DOCS
    numbers, kind = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    level = rng.normal(size=N_QUERIES).repeat(N_DOCS)  # of the query: it must not matter
    utility = numbers[:, 0] + (kind == 1) + np.isnan(numbers[:, 1]) + noise * rng.normal(size=n)
    numbers[rng.random(n) < 0.1, 1] = np.nan
    X = pd.DataFrame(numbers, columns=["a", "b", "c"])
    X["kind"], X["level"] = np.array(["page", "answer", "video"])[kind], level
    y = np.digitize(utility, [0.3, 1.0, 1.8])
    return X, y, np.arange(N_QUERIES).repeat(N_DOCS)


def small(**params):
    return GradientBoostingRanker(
        **{"n_estimators": 20, "learning_rate": 0.2, "random_state": 0, "preset": "classic"} | params
    )


@pytest.mark.parametrize("loss", ["ndcg", "map", "pairwise", "xendcg"])
def test_every_loss_ranks_new_queries(loss):
    (X, y, qid), (new, new_y, new_qid) = queries(0), queries(1)
    y = y > 1 if loss == "map" else y
    model = small(loss=loss).fit(X, y.astype(int), qid=qid)
    chance = ndcg(new_y, np.zeros(len(new)), qid=new_qid, k=10)
    assert model.score(new, new_y, qid=new_qid) > 0.9 > 0.75 > chance
    assert mean_average_precision(new_y > 1, model.predict(new), qid=new_qid) > 0.9
    assert len(list(model.staged_predict(new))) == 20 and model.feature_importances_.argmax() in (0, 3)


def test_queries_may_come_in_any_order():
    X, y, qid = queries()
    expected = small().fit(X, y, group=[N_DOCS] * N_QUERIES).predict(X)
    order = np.random.default_rng(2).permutation(len(y))
    order = order[np.argsort(order % N_DOCS, kind="stable")]  # rows of a query keep their order
    names = np.array([f"query {i}" for i in qid])
    mixed = small().fit(X.iloc[order], y[order], qid=names[order])
    assert_allclose(mixed.predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("loss", ["ndcg", "xendcg"])
def test_models_have_the_same_bytes_for_any_threads_after_a_file_and_after_a_resume(tmp_path, loss):
    X, y, qid = queries()
    params = {"loss": loss, "preset": "auto", "growth": "leaf-wise", "n_estimators": 12}
    model = small(**params, n_jobs=1).fit(X, y, qid=qid)
    assert model.do_early_stopping_ and "refit_rounds" in model.chosen_
    path = tmp_path / "run.spinney"
    callbacks = [Checkpoint(path, every=4), lambda round: round.number == 6]
    small(**params, n_jobs=1).fit(X, y, qid=qid, callbacks=callbacks)
    again = [small(**params, n_jobs=3).fit(X, y, qid=qid), GradientBoostingRanker.resume(path, X, y, qid=qid)]
    with pytest.raises(InputError, match="not those that the checkpoint"):
        GradientBoostingRanker.resume(path, X, y, qid=np.roll(qid, 1))
    spinney.save(model, tmp_path / "model.spinney")
    for other in (*again, spinney.load(tmp_path / "model.spinney")):
        assert_array_equal(other.ensemble_.value, model.ensemble_.value)
        assert_array_equal(other.predict(X), model.predict(X))


def test_early_stopping_looks_at_the_ndcg_of_the_eval_set():
    (X, y, qid), (new, new_y, new_qid) = queries(0, noise=1.0), queries(1, noise=1.0)
    model = small(n_estimators=80, n_iter_no_change=10, k=3, learning_rate=0.5)
    model.fit(X, y, qid=qid, eval_set=(new, new_y), eval_qid=new_qid)
    scores = model.validation_score_
    assert len(scores) < 81 and model.best_iteration_ == 1 + np.argmax(scores[1:])
    assert scores[model.best_iteration_] == pytest.approx(model.score(new, new_y, qid=new_qid), rel=1e-12)
    by_map = small(scoring="map").fit(X, y, qid=qid, eval_set=(new, new_y), eval_qid=new_qid)
    expected = mean_average_precision(new_y, by_map.predict(new), qid=new_qid, k=10)
    assert by_map.validation_score_[by_map.best_iteration_] == pytest.approx(expected, rel=1e-12)


def test_whole_queries_are_held_out():
    X, y, qid = queries()
    training = BoostingSet.read(read_table(X), y, task="regression")
    held = RankingSet.make(training, Queries.read(len(y), qid=qid), None).hold_out_rows(0.25)
    by_query = held.validation_weights.reshape(N_QUERIES, N_DOCS)
    assert (by_query == by_query[:, :1]).all() and by_query[:, 0].sum() == N_QUERIES / 4
    assert_array_equal(held.weights, 1 - held.validation_weights)
    with pytest.raises(InputError, match=r"cannot hold out 0\.1 of the queries; their number is 1"):
        small(early_stopping=True).fit(X, y)


def test_weights_are_of_rows_or_of_queries_and_zero_leaves_rows_out():
    X, y, qid = queries()
    weights = np.random.default_rng(0).integers(1, 4, N_QUERIES).astype(float)
    by_query = small().fit(X, y, weights, qid=qid)
    by_row = small().fit(X, y, weights.repeat(N_DOCS), qid=qid)
    assert_array_equal(by_query.ensemble_.value, by_row.ensemble_.value)
    assert not np.array_equal(by_query.predict(X), small().fit(X, y, qid=qid).predict(X))
    # Rows of weight 0 with absurd relevance change nothing.
    kept = np.arange(len(y)) % N_DOCS != 0
    spoilt = np.where(kept, y, 3)
    assert_array_equal(
        small().fit(X, spoilt, kept.astype(float), qid=qid).predict(X),
        small().fit(X, y, kept.astype(float), qid=qid).predict(X),
    )


def test_queries_of_one_row_teach_nothing():
    X, y, _ = queries()
    model = small().fit(X, y, qid=np.arange(len(y)))
    assert (model.predict(X) == 0).all() and model.score(X, y, qid=np.arange(len(y))) == 1.0


def test_rounds_are_added_by_warm_start_and_stopped_by_callbacks():
    X, y, qid = queries()
    model = small(n_estimators=6, warm_start=True).fit(X, y, qid=qid)
    model.set_params(n_estimators=20).fit(X, y, qid=qid)
    assert_allclose(model.predict(X), small().fit(X, y, qid=qid).predict(X), rtol=1e-12)
    stopped = small().fit(X, y, qid=qid, callbacks=lambda round: round.number == 3)
    assert stopped.n_iter_ == 3


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({}, lambda y: y - 1, "must not be negative"),
        ({}, lambda y: y + 0.5, r'gain="exponential" needs integers from 0 to 30 in row 0.*gain="linear"'),
        ({"loss": "map"}, lambda y: y, 'loss="map" needs relevance 0 or 1'),
    ],
)
def test_bad_relevance_is_named(params, change, message):
    X, y, qid = queries()
    with pytest.raises(InputError, match=message):
        small(**params).fit(X, change(y), qid=qid)
    with pytest.raises(InputError, match="eval_group add up to 3, but there are 720 rows"):
        small().fit(X, y, qid=qid, eval_set=(X, y), eval_group=[3])


@pytest.mark.parametrize("name", ["eval_group", "eval_qid"])
def test_several_evaluation_sets_have_their_own_queries(name):
    X, y, qid = queries()
    parts = [qid < 40, qid >= 40]
    by = {"eval_qid": lambda ids: ids, "eval_group": lambda ids: np.unique(ids, return_counts=True)[1]}[name]
    sets = [(X[part], y[part]) for part in parts]
    both = small(early_stopping=False).fit(
        X, y, qid=qid, eval_set=sets, **{name: [by(qid[part]) for part in parts]}
    )
    for k, part in enumerate(parts):
        for given in (by(qid[part]), [by(qid[part])]):
            alone = small(early_stopping=False).fit(X, y, qid=qid, eval_set=sets[k : k + 1], **{name: given})
            assert alone.evals_result_["validation_0"] == both.evals_result_[f"validation_{k}"]
    with pytest.raises(InputError, match=f"{name} is one array for 2 sets"):
        small(early_stopping=False).fit(X, y, qid=qid, eval_set=sets, **{name: by(qid)})
    with pytest.raises(InputError, match=f"{name} has 1 entries, and eval_set 2"):
        small(early_stopping=False).fit(X, y, qid=qid, eval_set=sets, **{name: [by(qid)]})
