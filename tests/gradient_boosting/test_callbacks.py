"""Callbacks are called after every round, may stop the training, and are ended whatever happens."""

import io

import numpy as np
import pytest
from rich.console import Console

from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.gradient_boosting import Progress, Round, StopAfter
from spinney.gradient_boosting.callbacks import check_callbacks
from spinney.gradient_boosting.rounds import Callbacks
from spinney.io import dumps

X = np.random.default_rng(0).normal(size=(200, 3))
Y = X[:, 0] + 0.1 * X[:, 1]


def test_a_function_sees_every_round_and_may_stop():
    seen = []

    def look(round):
        seen.append((round.number, round.n_rounds, round.train_score, round.validation_score))
        return round.number == 7

    model = GradientBoostingRegressor(n_estimators=20, preset="classic").fit(X, Y, callbacks=look)
    assert seen == [(number, 20, None, None) for number in range(1, 8)]
    assert (model.n_iter_, model.best_iteration_) == (7, 7)


def test_scores_are_told_where_they_are_computed():
    seen = []
    model = GradientBoostingRegressor(n_estimators=5, early_stopping=True, random_state=0, preset="classic")
    model.fit(X, Y, callbacks=[lambda round: seen.append((round.train_score, round.validation_score))])
    assert seen == list(zip(model.train_score_[1:], model.validation_score_[1:], strict=True))


def test_callbacks_leave_no_trace_in_the_model():
    plain = GradientBoostingRegressor(n_estimators=5, preset="classic").fit(X, Y)
    watched = GradientBoostingRegressor(n_estimators=5, preset="classic").fit(
        X, Y, callbacks=[lambda round: None]
    )
    assert dumps(plain.set_params(random_state=0)) != b""
    assert (plain.predict(X) == watched.predict(X)).all()
    one, other = (
        GradientBoostingRegressor(n_estimators=5, random_state=3, preset="classic").fit(
            X, Y, callbacks=callbacks
        )
        for callbacks in (None, [StopAfter(seconds=1e6), lambda round: False])
    )
    assert dumps(one) == dumps(other)


def test_the_model_can_be_had_after_any_round():
    kept = []
    model = GradientBoostingClassifier(n_estimators=6, random_state=0, preset="classic")
    model.fit(X, Y > 0, callbacks=[lambda round: kept.append(round.model())])
    assert [copy.n_iter_ for copy in kept] == [1, 2, 3, 4, 5, 6]
    for copy, stage in zip(kept, model.staged_predict_proba(X), strict=True):
        assert (copy.predict_proba(X) == stage).all()


def test_stopping_by_time_and_by_score():
    assert (
        GradientBoostingRegressor(n_estimators=50, preset="classic")
        .fit(X, Y, callbacks=StopAfter(seconds=0))
        .n_iter_
        == 1
    )
    model = GradientBoostingRegressor(n_estimators=50, early_stopping=True, random_state=0, preset="classic")
    model.fit(X, Y, callbacks=StopAfter(score=-0.2))
    assert model.n_iter_ < 50
    assert model.validation_score_[-1] >= -0.2 > model.validation_score_[-2]
    with pytest.raises(ValueError, match="seconds"):
        StopAfter()


def test_every_callback_is_called_even_if_the_first_one_stops():
    called = []
    callbacks = [lambda round: True, lambda round: called.append(round.number)]
    GradientBoostingRegressor(n_estimators=5, preset="classic").fit(X, Y, callbacks=callbacks)
    assert called == [1]


class Recorder:
    def __init__(self, fails=False):
        self.events, self.fails = [], fails

    def begin(self, n_done, n_rounds):
        self.events.append(("begin", n_done, n_rounds))

    def __call__(self, round):
        self.events.append(round.number)
        if self.fails:
            raise RuntimeError("no more")

    def end(self):
        self.events.append("end")


def test_begin_and_end():
    recorder = Recorder()
    model = GradientBoostingRegressor(n_estimators=2, warm_start=True, preset="classic").fit(
        X, Y, callbacks=recorder
    )
    model.set_params(n_estimators=3).fit(X, Y, callbacks=recorder)
    assert recorder.events == [("begin", 0, 2), 1, 2, "end", ("begin", 2, 3), 3, "end"]


def test_a_callback_that_fails_ends_the_others_and_leaves_no_model():
    recorder, failing = Recorder(), Recorder(fails=True)
    model = GradientBoostingRegressor(n_estimators=5, preset="classic")
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X, Y, callbacks=[recorder, failing])
    assert recorder.events[-1] == failing.events[-1] == "end"
    assert not hasattr(model, "ensemble_")


def test_one_that_cannot_begin_is_ended_with_those_before_it():
    class Never(Recorder):
        def begin(self, n_done, n_rounds):
            raise OSError("full")

    recorder, never = Recorder(), Never()
    with pytest.raises(OSError, match="full"), Callbacks([recorder, never, Recorder()], 0, 5):
        pass
    assert recorder.events == [("begin", 0, 5), "end"]
    assert never.events == ["end"]


def test_progress_shows_rounds_and_scores():
    screen = io.StringIO()
    progress = Progress(Console(file=screen, width=120, force_terminal=True))
    model = GradientBoostingRegressor(n_estimators=4, early_stopping=True, random_state=0, preset="classic")
    model.fit(X, Y, callbacks=progress)
    shown = screen.getvalue()
    assert "4/4" in shown and "validation loss 0." in shown and "loss -" not in shown
    screen.truncate(0)
    model.set_params(scoring="r2").fit(X, Y, callbacks=progress)
    assert "validation 0." in screen.getvalue() and "loss" not in screen.getvalue()


def test_verbose_shows_progress_on_the_error_stream(capsys):
    GradientBoostingRegressor(n_estimators=4, verbose=1, preset="classic").fit(X, Y)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "4/4" in printed.err


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ValueError, match="'stop', which cannot be called"):
        check_callbacks(["stop"])
    assert check_callbacks(len) == [len]
    assert Round(1, 2, None, None, lambda: None).number == 1


# ---- two passes ----


def two_passes(**params):
    defaults = {"n_estimators": 12, "growth": "leaf-wise", "random_state": 0}
    return GradientBoostingRegressor(**defaults | params)


def test_callbacks_are_told_the_pass_and_begin_once():
    seen, calls = [], []

    class Watching:
        def begin(self, n_done, n_rounds):
            calls.append((n_done, n_rounds))

        def __call__(self, round):
            seen.append((round.member, round.phase, round.number, round.n_rounds))

        def end(self):
            calls.append("end")

    model = two_passes(n_members=2).fit(X, Y, callbacks=Watching())
    assert calls == [(0, 12), "end"]
    for member, n_rounds in enumerate(model.chosen_["refit_rounds"]):
        own = [entry[1:] for entry in seen if entry[0] == member]
        n_search = len(own) - n_rounds
        assert own[:n_search] == [("search", number, 12) for number in range(1, n_search + 1)]
        assert own[n_search:] == [("refit", number, n_rounds) for number in range(1, n_rounds + 1)]
    one_pass = []
    two_passes(early_stopping=False).fit(X, Y, callbacks=lambda round: one_pass.append(round.phase))
    assert one_pass == ["fit"] * 12


def test_training_stopped_in_the_search_has_no_refit():
    model = two_passes().fit(X, Y, callbacks=lambda round: round.number == 4)
    assert (model.n_iter_, len(model.validation_score_)) == (4, 5)
    assert "refit_rounds" not in model.chosen_
    model = two_passes().fit(X, Y, callbacks=lambda round: round.phase == "refit" and round.number == 4)
    assert model.n_iter_ == model.best_iteration_ == 4 < model.chosen_["refit_rounds"]


def test_the_time_limit_is_that_of_both_passes(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("spinney.gradient_boosting.callbacks.time.monotonic", lambda: clock[0])

    def tick(round):
        clock[0] += 1.0

    whole = two_passes().fit(X, Y)
    n_search = len(whole.train_score_) - 1
    model = two_passes().fit(X, Y, callbacks=[tick, StopAfter(seconds=n_search + 2)])
    assert model.n_iter_ == 2 < whole.n_iter_


def test_every_pass_has_its_bar():
    drawn = io.StringIO()
    model = two_passes().fit(X, Y, callbacks=Progress(Console(file=drawn, force_terminal=True, width=100)))
    text = drawn.getvalue()
    assert "boosting on all rows" in text
    assert f"{model.n_iter_}/{model.n_iter_}" in text and f"{len(model.train_score_) - 1}/12" in text
