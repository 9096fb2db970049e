"""What is not set is chosen, told and used: presets, the second fit on all rows, members and what follows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import spinney as sp
from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.gradient_boosting import Checkpoint, TrainingLossWarning, defaults
from spinney.gradient_boosting.defaults import (
    CLASSIC,
    Facts,
    MemberPlan,
    Variant,
    choose,
    member_variants,
    refit_rounds,
)
from spinney.io import dumps, loads
from spinney.io.container import decode, encode
from spinney.losses import Loss

AUTO = {name for name, value in GradientBoostingClassifier().get_params().items() if value == "auto"}
AUTO -= {"preset", "categorical_encoding"}


def rows(n=400, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.7 * rng.normal(size=n)
    return X, np.digitize(signal, [0.0] if n_classes == 2 else [-0.7, 0.7])


def with_text(X):
    names = np.array([f"level {i}" for i in (np.abs(X[:, 3]) * 40).astype(int)], dtype=object)
    return pd.DataFrame(X[:, :3], columns=list("abc")).assign(name=names)


def quick(**params):
    return GradientBoostingClassifier(
        **{"n_estimators": 40, "n_iter_no_change": 8, "growth": "leaf-wise", "random_state": 3} | params
    )


def without_refit(chosen, **more):
    return {name: value for name, value in chosen.items() if name != "refit_rounds"} | more


# ---- what is chosen ----


def test_the_preset_chooses_all_that_is_auto_and_no_more():
    X, y = rows(60)
    for preset in defaults.PRESETS:
        chosen = GradientBoostingClassifier(preset=preset, random_state=0).fit(X, y).chosen_
        assert AUTO <= set(chosen) <= AUTO | {"subsample", "refit_rounds", "members"}
    given = {"learning_rate": 0.2, "max_features": None, "sampling": "goss", "early_stopping": False}
    chosen = quick(**given).fit(X, y).chosen_
    assert not set(chosen) & {*given, "n_estimators", "subsample"}


def test_classic_is_what_it_says():
    X, y = rows()
    named = GradientBoostingClassifier(**CLASSIC, early_stopping=False, random_state=0).fit(X, y)
    classic = GradientBoostingClassifier(preset="classic", random_state=0).fit(X, y)
    assert classic.n_iter_ == 100 and not classic.do_early_stopping_
    assert_array_equal(named.predict_proba(X), classic.predict_proba(X))
    params = GradientBoostingClassifier(preset="classic").get_params()
    for n_rows, stops in ((10_000, False), (10_001, True)):
        chosen = choose(params, Facts(n_rows, "binary"))
        assert (chosen["early_stopping"], chosen["refit"], "subsample" in chosen) == (stops, False, False)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_the_learning_rate_follows_the_law_of_its_kind(kind):
    a, b, c = defaults.RATE_LAW[kind]
    for n_rows in (1000, 3000):
        law = np.exp(a * np.log(n_rows) + b)
        chosen = choose(GradientBoostingClassifier().get_params(), Facts(n_rows, kind))
        assert chosen["learning_rate"] == pytest.approx(min(defaults.MAX_RATE, law))
        few = choose(GradientBoostingClassifier(n_estimators=50).get_params(), Facts(n_rows, kind))
        expected = min(defaults.MAX_RATE_FEW_ROUNDS, law * (50 / defaults.LAW_ROUNDS) ** c)
        assert few["learning_rate"] == pytest.approx(expected)
        assert "n_estimators" not in few


def test_the_kind_is_that_of_the_target():
    X, y = rows(300)
    rates = [
        GradientBoostingClassifier(random_state=0).fit(X, y).chosen_["learning_rate"],
        GradientBoostingClassifier(random_state=0).fit(X, rows(300, 3)[1]).chosen_["learning_rate"],
        GradientBoostingRegressor(random_state=0).fit(X, y * 1.0).chosen_["learning_rate"],
    ]
    for rate, kind in zip(rates, ("binary", "multiclass", "regression"), strict=True):
        assert rate == choose(GradientBoostingClassifier().get_params(), Facts(300, kind))["learning_rate"]


def test_few_rows_are_all_trained_on():
    X, y = rows(60)
    few = defaults.MIN_ROWS - 1
    model = GradientBoostingClassifier(random_state=0).fit(X[:few], y[:few])
    assert not model.do_early_stopping_ and "refit_rounds" not in model.chosen_
    assert (model.ensemble_.n_samples[model.ensemble_.tree_begin[:-1]] == few).all()
    assert (model.chosen_["max_features"], model.chosen_["l2_regularization"]) == (0.1, 3.0)
    fewer = defaults.MIN_ROWS_TO_DRAW - 1  # too few even to draw features
    model.fit(X[:fewer], y[:fewer])
    other = clone(model).set_params(random_state=1).fit(X[:fewer], y[:fewer])
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    enough = clone(model).fit(X[: few + 1], y[: few + 1])
    assert enough.do_early_stopping_ and "refit_rounds" in enough.chosen_
    weights = np.arange(60) < few
    assert not clone(model).fit(X, y, weights).do_early_stopping_
    strong = GradientBoostingClassifier(preset="strong", random_state=0).fit(X[:few], y[:few])
    assert strong.chosen_["n_members"] == 1


def test_a_given_fraction_or_way_of_sampling_wins():
    facts = Facts(5000, "binary")
    for given, sampling, subsample in (
        ({}, defaults.SAMPLING, defaults.SUBSAMPLE),
        ({"subsample": 0.4}, defaults.SAMPLING, None),
        ({"sampling": "uniform"}, None, None),
    ):
        chosen = choose(GradientBoostingClassifier(**given).get_params(), facts)
        assert (chosen.get("sampling"), chosen.get("subsample")) == (sampling, subsample)


def test_a_loss_without_value_is_not_stopped_early():
    class Derivatives(Loss):
        def gradient(self, y, score):
            return score - y

        def hessian(self, y, score):
            return np.ones(len(y))

    X, y = rows()
    model = GradientBoostingRegressor(Derivatives(), growth="symmetric", random_state=0).fit(X, y * 1.0)
    assert (model.do_early_stopping_, model.n_iter_) == (False, defaults.FIXED_ROUNDS)
    by_name = GradientBoostingRegressor(Derivatives(), scoring="r2", random_state=0).fit(X, y * 1.0)
    assert by_name.do_early_stopping_


@pytest.mark.parametrize("growth", ["leaf-wise", "symmetric", "mixed"])
def test_hessians_of_zero_do_not_make_leaves_of_any_size(growth):
    class Signs(Loss):
        def gradient(self, y, score):
            return np.sign(score - y)

        def hessian(self, y, score):
            return np.zeros(len(y))

    X, y = rows()
    settings = {"growth": growth, "n_estimators": 20, "random_state": 0}
    model = GradientBoostingRegressor(Signs(), l2_regularization=0.0, **settings).fit(X, y + X[:, 0])
    assert (model.ensemble_.value == 0).all()
    bounded = GradientBoostingRegressor(Signs(), **settings).fit(X, y + X[:, 0])
    assert (bounded.ensemble_.value != 0).any() == (growth != "leaf-wise")


def test_small_targets_are_not_stopped_sooner():
    X, y = rows(300)
    y = y + X[:, 0]
    settings = {"growth": "leaf-wise", "n_estimators": 60, "n_iter_no_change": 5, "random_state": 0}
    ordinary = GradientBoostingRegressor(**settings).fit(X, y)
    small = GradientBoostingRegressor(**settings).fit(X, y * 2.0**-14)  # exact, so that rounding is the same
    assert small.n_iter_ == ordinary.n_iter_ > 6
    classic = GradientBoostingRegressor(preset="classic", early_stopping=True, **settings)
    assert classic.fit(X, y * 2.0**-14).best_iteration_ < ordinary.n_iter_  # a tolerance of 1e-7


@pytest.mark.parametrize("loss", ["huber", "absolute_error", "quantile"])
def test_outliers_do_not_spoil_robust_losses(loss):
    rng = np.random.default_rng(200)
    X = rng.normal(size=(200, 4))
    truth = X[:, 0] * 2 + (X[:, 1] > 0) * 3
    y = truth + 0.3 * rng.normal(size=200) + 100 * (rng.random(200) < 0.02) * rng.choice([-1, 1], 200)
    quantile = {"quantile": 0.5} if loss == "quantile" else {}
    model = GradientBoostingRegressor(loss, random_state=0, **quantile).fit(X, y)
    assert (model.chosen_["growth"], model.chosen_["min_samples_leaf"]) == ("leaf-wise", 10)
    assert np.sqrt(((model.predict(X) - truth) ** 2).mean()) < 0.6


def test_the_docstrings_have_the_numbers():
    a, b, _ = zip(*defaults.RATE_LAW.values(), strict=True)
    numbers = [*(f"{x:.3f}" for x in a), *(f"−{-x:.3f}" for x in b), f"{defaults.MAX_ROUNDS:,}"]
    numbers += [f"{defaults.FIXED_ROUNDS}", f"fewer than {defaults.MIN_ROWS} rows"]
    values = {
        "validation_fraction": defaults.VALIDATION_FRACTION,
        "n_iter_no_change": defaults.PATIENCE,
        "max_leaf_nodes": defaults.MAX_LEAF_NODES,
        "l2_regularization": defaults.L2_REGULARIZATION,
        "max_features": defaults.MAX_FEATURES,
        "categorical_smoothing": defaults.CATEGORICAL_SMOOTHING,
        "categorical_l2": defaults.CATEGORICAL_L2,
    }
    for cls in (GradientBoostingClassifier, GradientBoostingRegressor):
        text = " ".join(cls.__doc__.split())
        assert [number for number in numbers if number not in text] == []
        for name, value in values.items():
            entry = text.partition(f" {name} : ")[2]
            assert f'"auto" is {value:g}' in entry[: entry.index(" : ")], name
        assert f'"auto" is "{defaults.SAMPLING}"' in text and f"and {defaults.SUBSAMPLE} where" in text


# ---- the second fit ----


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_refit_is_the_fit_of_the_chosen_values(n_classes):
    X, y = rows(n_classes=n_classes)
    X = with_text(X)
    weights = np.random.default_rng(1).integers(0, 3, len(y)) * 0.5
    one = {"random_state": 3, "categorical_encoding": "ordered", "growth": "symmetric"}
    model = GradientBoostingClassifier(**one).fit(X, y, weights)
    rounds = model.chosen_["refit_rounds"]
    assert model.n_iter_ == model.best_iteration_ == rounds
    values = without_refit(model.chosen_, n_estimators=rounds, early_stopping=False)
    same = GradientBoostingClassifier(preset="classic", **one, **values).fit(X, y, weights)
    assert dumps(same.ensemble_) == dumps(model.ensemble_)
    assert_array_equal(same.predict_proba(X), model.predict_proba(X))


def test_a_refit_has_the_rounds_that_were_best_on_a_part_of_the_rows():
    X, y = rows(500)
    model = GradientBoostingClassifier(growth="leaf-wise", random_state=3).fit(X, y)
    search = GradientBoostingClassifier(growth="leaf-wise", random_state=3, refit=False).fit(X, y)
    assert_array_equal(model.validation_score_, search.validation_score_)
    assert_array_equal(model.train_score_, search.train_score_)
    assert len(search.validation_score_) == search.n_iter_ + 1 > search.best_iteration_ + 1
    assert model.n_iter_ == round(search.best_iteration_ / 0.8)
    assert model.do_early_stopping_
    assert (refit_rounds(3, 10, 8), refit_rounds(90, 10, 8), refit_rounds(1, 9, 8)) == (4, 112, 1)
    limited = GradientBoostingClassifier(n_estimators=5, growth="leaf-wise", random_state=3).fit(X, y)
    assert limited.n_iter_ == 5


def test_there_is_no_refit_where_no_rows_were_held_out():
    X, y = rows()
    for model in (
        quick().fit(X[:300], y[:300], eval_set=(X[300:], y[300:])),
        quick(validation_fraction=None).fit(X, y),
        quick(early_stopping=False, refit=True).fit(X, y),
        quick(refit=False).fit(X, y),
    ):
        assert "refit_rounds" not in model.chosen_
    assert "refit_rounds" in quick(preset="classic", early_stopping=True, refit=True).fit(X, y).chosen_


def test_a_refit_has_a_ledger_of_its_own_rounds():
    X, y = rows()
    model = quick(ledger="full").fit(X, y)
    assert len(model.ledger_) == model.n_iter_ + 1
    assert np.isnan(model.ledger_.validation_loss).all()
    assert model.ledger_.train_loss[-1] == pytest.approx(
        model.loss_.mean_value(y.astype(float), model.decision_function(X), None)
    )
    assert model.ledger_.chosen_parameters == model.chosen_
    assert dumps(loads(dumps(model))) == dumps(model)


# ---- members ----


@pytest.mark.parametrize("refit", [True, False])
def test_members_are_averaged(refit):
    X, y = rows(n_classes=3)
    parts = {}

    def keep(round):
        parts[round.member, round.phase] = round.model()

    model = quick(n_members=3, refit=refit, ledger=True).fit(X, y, callbacks=keep)
    members = [parts[i, "refit" if refit else "fit"] for i in range(3)]
    assert_allclose(model.decision_function(X), np.mean([m.decision_function(X) for m in members], axis=0))
    assert model.n_iter_ == model.best_iteration_ == sum(m.best_iteration_ for m in members)
    assert len({m.predict_proba(X).tobytes() for m in members}) == 3
    if refit:
        assert model.chosen_["refit_rounds"] == tuple(m.n_iter_ for m in members)
    assert_array_equal(members[0].predict_proba(X), quick(refit=refit).fit(X, y).predict_proba(X))
    assert_array_equal(model.train_score_, quick(refit=refit).fit(X, y).train_score_)
    assert len(model.ledger_) == model.n_iter_ + 1
    assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    again = loads(dumps(model))
    assert dumps(again) == dumps(model)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_strong_has_members_of_different_settings(n_classes):
    X, y = rows(120, max(n_classes, 2))
    make = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    model = make(preset="strong", n_estimators=10, random_state=0)
    seen = []
    model.fit(
        X, y if n_classes else y * 1.0, callbacks=lambda round: seen.append((round.member, round.phase))
    )
    n_members, kind = model.chosen_["n_members"], ("regression", "", "binary", "multiclass")[n_classes]
    variants = member_variants(model.get_params() | model.chosen_, kind, 120)
    assert len(variants) > 1 and n_members >= 3 * len(variants)
    assert set(range(len(variants))) <= {member for member, _ in seen} <= set(range(n_members))
    names = model.chosen_["members"]
    assert len(names) == len(model.chosen_["refit_rounds"]) <= n_members
    assert set(names) <= {plan_name(variants, member) for member in range(n_members)}
    assert model.score(X, y) > 0.3
    assert dumps(loads(dumps(model))) == dumps(model)


@pytest.mark.parametrize("preset", ["auto", "strong"])
def test_members_are_ordinary_models(preset):
    X, y = rows(200)
    parts = {}

    def keep(round):
        parts[round.member] = round.model()

    settings = {"n_estimators": 30, "max_features": 0.7, "random_state": 4}
    model = GradientBoostingRegressor(preset=preset, **settings).fit(X, y * 1.0, callbacks=keep)
    variants = member_variants(model.get_params() | model.chosen_, "regression", 200)
    for member, variant in enumerate(variants):
        refit = not plan_of(model, "regression", 200).is_kept(member, losses_of(parts, member + 1))
        alone = GradientBoostingRegressor(**variant.settings | settings, refit=not refit).fit(X, y * 1.0)
        assert_array_equal(parts[member].predict(X), alone.predict(X))
    later = parts[len(variants)]  # the first settings again, on other validation rows
    assert (later.validation_score_ != parts[0].validation_score_[: len(later.validation_score_)]).any()
    plan, losses = plan_of(model, "regression", 200), losses_of(parts, model.chosen_["n_members"])
    kept = [i for i in parts if plan.is_kept(i, losses)]
    assert model.chosen_["members"] == tuple(map(plan.name, kept))
    mean = np.mean([parts[i].predict(X) for i in kept], axis=0)
    assert_allclose(model.predict(X), mean, rtol=1e-12, atol=1e-12)


def plan_of(model, kind, n_rows):
    return MemberPlan.of(model.get_params() | model.chosen_, model.chosen_, kind, n_rows)


def losses_of(parts, n):
    return [-parts[i].validation_score_[1:].max() if i in parts else np.nan for i in range(n)]


def plan_name(variants, member):
    variant = variants[member % len(variants)].settings
    others = [f"{name}={value}" for name, value in variant.items() if name != "growth"]
    return ", ".join([variant.get("growth", "symmetric"), *others])


def test_members_are_compared_with_those_of_their_turn():
    plan = MemberPlan({}, (Variant({"growth": "leaf-wise"}), Variant({"growth": "symmetric"})))

    def kept(*losses):
        return [plan.is_kept(member, losses) for member in range(len(losses))]

    assert kept(1.0, 1.05, 3.0, 3.1) == [True] * 4  # turns have other rows, and other losses
    assert kept(1.0, 1.2, 3.0, 2.9) == [True, False, True, True]
    assert kept(1.0, 1.2, 3.0, 3.9) == [True, False, True, False]
    assert kept(-1.0, -0.8) == [True, False]
    assert plan.is_tried(3, [1.0, 1.2, 3.0]) and not plan.is_tried(3, [1.0, 1.4, 3.0])
    assert not plan.is_tried(5, [1.0, 1.4, 3.0, np.nan, 1.0])


def test_a_handicap_must_be_made_up_for():
    plan = MemberPlan({}, (Variant({}), Variant({"max_features": 0.5}, handicap=1.25)))
    assert [plan.is_kept(1, [1.0, loss]) for loss in (1.0, 0.9, 0.85)] == [False, False, True]
    assert [plan.is_kept(0, [1.0, loss]) for loss in (0.9, 0.75, 0.7)] == [True, True, False]


def test_small_noisy_tables_of_two_classes_have_settings_of_their_own():
    rng = np.random.default_rng(0)
    X, y = rows(300)
    noisy = GradientBoostingClassifier(n_estimators=150, random_state=0).fit(X, y)
    assert {name: noisy.chosen_[name] for name in defaults.NOISY} == defaults.NOISY
    assert {name.split(",")[0] for name in noisy.chosen_["members"]} == {"leaf-wise", "symmetric"}
    assert not any("l2_regularization=0.1" in name for name in noisy.chosen_["members"])
    X = rng.integers(0, 2, size=(300, 6))
    rules = GradientBoostingClassifier(n_estimators=150, random_state=0).fit(X, X[:, 0] ^ X[:, 1])
    assert any("l2_regularization=0.1" in name for name in rules.chosen_["members"])
    for more in ({"growth": "leaf-wise"}, {"n_members": 2}, {"early_stopping": False}):
        chosen = choose(GradientBoostingClassifier(**more).get_params(), Facts(300, "binary"))
        assert chosen["max_features"] == defaults.MAX_FEATURES
    large = choose(GradientBoostingClassifier().get_params(), Facts(defaults.SMALL_ROWS, "binary"))
    assert (large["max_features"], large["n_members"]) == (defaults.MAX_FEATURES, 3)


def test_strong_keeps_to_what_was_set():
    X, y = rows(120)
    growth = {"growth": "leaf-wise", "n_estimators": 5, "random_state": 0}
    model = GradientBoostingClassifier(preset="strong", **growth).fit(*rows(120, 3))
    assert plan_of(model, "multiclass", 120).name(0) == "leaf-wise, splitter=random"
    assert model.chosen_["n_members"] == 10
    level = GradientBoostingClassifier(preset="strong", **growth | {"growth": "level-wise"}).fit(X, y)
    assert level.chosen_["n_members"] == 5 and "members" not in level.chosen_
    few = GradientBoostingClassifier(preset="strong", n_members=2, n_estimators=5, random_state=0).fit(X, y)
    assert len(few.chosen_["refit_rounds"]) <= 2
    deep = GradientBoostingClassifier(preset="strong", max_depth=2, n_estimators=5, random_state=0).fit(X, y)
    assert not any("max_depth" in name for name in deep.chosen_["members"])
    large = choose(GradientBoostingClassifier(preset="strong").get_params(), Facts(3000, "binary"))
    assert (large["n_members"], large["n_estimators"]) == (12, defaults.MAX_ROUNDS_STRONG)
    constrained = GradientBoostingClassifier(preset="strong", monotonic_cst=[1, 0, 0, 0], n_estimators=5)
    assert constrained.fit(X, y).chosen_["growth"] == "leaf-wise"


@pytest.mark.parametrize("n_rows, n_turns", [(49, 1), (50, 2), (1999, 2), (2000, 1)])
def test_small_tables_have_more_turns(n_rows, n_turns):
    for kind in ("binary", "multiclass", "regression"):
        params = GradientBoostingClassifier().get_params()
        chosen = choose(params, Facts(n_rows, kind))
        n_variants = len(member_variants(params | chosen, kind, n_rows))
        assert chosen["n_members"] == n_turns * n_variants
        assert n_variants == (1 if n_rows < 50 else 2 if n_rows >= 2000 and kind == "regression" else 3)


@pytest.mark.parametrize("kind, turns", [
    ("binary", {999: 5, 1999: 4, 2000: 2, 49_999: 2, 50_000: 1}),
    ("multiclass", {999: 5, 1999: 3, 4999: 2, 5000: 1}),
    ("regression", {1999: 3, 2000: 2, 49_999: 2, 50_000: 1}),
])  # fmt: skip
def test_turns_of_strong(kind, turns):
    params = GradientBoostingClassifier(preset="strong").get_params()
    for n_rows, n_turns in turns.items():
        chosen = choose(params, Facts(n_rows, kind))
        assert chosen["n_members"] == n_turns * len(member_variants(params | chosen, kind, n_rows))


def test_settings_for_noise_fade_with_the_number_of_rows():
    def members(preset, kind, n_rows):
        params = GradientBoostingClassifier(preset=preset).get_params()
        params |= choose(params, Facts(n_rows, kind))
        return [one.settings | {"handicap": one.handicap} for one in member_variants(params, kind, n_rows)]

    tiny, few, more = (members("auto", "binary", n) for n in (199, 999, 1000))
    leaf_wise, symmetric = ({"growth": growth, "handicap": 1.0} for growth in ("leaf-wise", "symmetric"))
    assert tiny[:2] == [leaf_wise, symmetric | defaults.RANDOM]
    assert few[:2] == [leaf_wise, symmetric]
    assert more[:2] == [leaf_wise, symmetric | defaults.MODERATE]
    for last in (tiny[-1], few[-1], more[-1]):
        assert (last["handicap"], last["splitter"]) == (defaults.HANDICAP, "random")
        assert last["subsample"] == defaults.SUBSAMPLE  # not that of noisy tables
    assert members("strong", "binary", 199) == [*tiny, symmetric]
    further = [leaf_wise | defaults.RANDOM_NOISY, symmetric | defaults.SIMPLE]
    assert members("strong", "binary", 999) == [*few, *further]
    assert further[::-1] == [members("strong", "multiclass", 999)[k] for k in (1, 3)]
    assert [len(members("strong", "binary", n)) for n in (1000, 2000, 5000)] == [4, 6, 5]
    assert [len(members("strong", "multiclass", n)) for n in (999, 1000, 2000)] == [5, 5, 4]
    noisy = [
        any(one.get("max_features") == 0.1 for one in members("auto", "multiclass", n))
        for n in (999, 1000, 2000)
    ]
    assert noisy == [False, True, False]


@pytest.mark.parametrize("preset, n_rows, depths", [
    ("auto", 999, [5, None]), ("auto", 1999, [5, None]), ("auto", 2000, [None]),
    ("strong", 999, [None, 3, None, 3, None]), ("strong", 1999, [None, 3, None]),
    ("strong", 2000, [3, 9, None, None]), ("strong", 5000, [None, 8, 9, None]),
])  # fmt: skip
def test_depths_of_symmetric_trees_in_regression(preset, n_rows, depths):
    params = GradientBoostingRegressor(preset=preset).get_params()
    params |= choose(params, Facts(n_rows, "regression", is_squared=True))
    first, *others = member_variants(params, "regression", n_rows)
    is_random = preset == "auto" and n_rows >= 2000
    assert first.settings == {"growth": "leaf-wise"} | (defaults.RANDOM if is_random else {})
    assert [one.settings.get("max_depth") for one in others] == depths
    unchosen = member_variants(params | {"early_stopping": False, "preset": "auto"}, "regression", n_rows)
    assert [one.settings for one in unchosen] == [{"growth": "leaf-wise"}, {"growth": "symmetric"}]


def test_more_classes_have_members_for_noise_and_for_rules():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 6))
    rules = GradientBoostingClassifier(n_estimators=60, random_state=0).fit(X, X[:, 0] + (X[:, 1] ^ X[:, 2]))
    assert any("l2_regularization=0.1" in name for name in rules.chosen_["members"])
    assert not any("splitter=random" in name for name in rules.chosen_["members"])
    noisy = GradientBoostingClassifier(n_estimators=60, random_state=0).fit(*rows(300, 3))
    assert any("splitter=random" in name for name in noisy.chosen_["members"])
    for more in ({"growth": "symmetric"}, {"n_members": 1}, {"early_stopping": False}):
        params = GradientBoostingClassifier(**more).get_params()
        params |= choose(params, Facts(300, "multiclass"))
        variants = member_variants(params, "multiclass", 300)
        assert [one.settings.get("growth", params["growth"]) for one in variants] == ["symmetric"]
        assert params["n_members"] == 1


def test_leaves_of_squared_errors_are_small():
    params = GradientBoostingRegressor().get_params()
    leaves = [
        choose(params, Facts(n, "regression", is_squared=squared))["min_samples_leaf"]
        for n, squared in ((100, True), (300, True), (5000, True), (5000, False))
    ]
    assert leaves == [1, 3, 3, 20]
    X, y = rows(500)
    for loss, leaf in (("squared_error", 3), ("poisson", 5)):
        model = GradientBoostingRegressor(loss, n_estimators=2, random_state=0).fit(X, y * 1.0)
        assert model.chosen_["min_samples_leaf"] == leaf


@pytest.mark.parametrize("refit", [True, False])
def test_mixed_members_share_seed_and_validation_rows(refit):
    X, y = rows(600)
    settings = {"random_state": 1, "refit": refit, "n_estimators": 60}
    model = GradientBoostingClassifier(n_members=2, **settings).fit(X, y)
    assert model.chosen_["growth"] == "mixed"
    growths = ("leaf-wise", "symmetric")
    pair = [GradientBoostingClassifier(growth=name, **settings).fit(X, y) for name in growths]
    losses = np.array([-one.validation_score_.max() for one in pair])
    kept = losses <= losses.min() * (1 + defaults.MAX_MEMBER_LOSS)
    assert model.chosen_["members"] == tuple(np.array(growths)[kept])
    scores = [one.decision_function(X) for one, keep in zip(pair, kept, strict=True) if keep]
    assert_allclose(model.decision_function(X), np.mean(scores, axis=0), rtol=1e-12)


def test_a_member_that_is_much_worse_is_left_out():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(800, 3))
    y = np.where(X[:, 0] == 1, X[:, 1], X[:, 2]) * 10.0 + 0.01 * rng.normal(size=800)
    model = GradientBoostingRegressor(n_estimators=15, max_leaf_nodes=2, random_state=0).fit(X, y)
    growths = {name.split(",")[0] for name in model.chosen_["members"]}
    assert growths == {"symmetric"}  # stumps cannot learn an interaction


def test_constraints_and_added_rounds_keep_growth_leaf_wise():
    X, y = rows(200)
    for more in ({"monotonic_cst": [1, 0, 0, 0]}, {"interaction_cst": "pairwise"}, {"warm_start": True}):
        model = GradientBoostingClassifier(n_estimators=3, **more).fit(X, y)
        assert (model.chosen_["growth"], model.chosen_["n_members"]) == ("leaf-wise", 1)
    for name in ("symmetric", "mixed"):
        with pytest.raises(ValueError, match="does not support monotonic_cst"):
            GradientBoostingClassifier(growth=name, monotonic_cst=[1, 0, 0, 0]).fit(X, y)


def test_members_with_other_target_statistics_are_refused():
    X, y = rows()
    model = quick(n_members=2, categorical_encoding="ordered", n_estimators=3)
    model.fit(with_text(X), y)
    with pytest.raises(ValueError, match=r"target statistics differ.*refit=True"):
        clone(model).set_params(refit=False).fit(with_text(X), y)


def test_a_member_that_a_callback_stops_is_left_out():
    X, y = rows()
    one = quick().fit(X, y)
    stopped = quick(n_members=3).fit(X, y, callbacks=lambda round: round.member == 1 and round.number == 3)
    assert_array_equal(stopped.predict_proba(X), one.predict_proba(X))
    first = quick(n_members=3).fit(X, y, callbacks=lambda round: round.number == 3)
    assert first.n_iter_ <= 3 and "refit_rounds" not in first.chosen_


# ---- going on ----


def test_rounds_are_added_to_a_refit_on_all_rows():
    X, y = rows()
    model = quick(warm_start=True).fit(X, y)
    before, scores, n_before = dict(model.chosen_), model.validation_score_, model.n_iter_
    model.set_params(n_estimators=60).fit(X, y)
    assert (model.n_iter_, model.chosen_) == (60, before)
    assert_array_equal(model.validation_score_, scores)
    values = without_refit(before, n_estimators=60, early_stopping=False, n_iter_no_change=8)
    whole = GradientBoostingClassifier(preset="classic", random_state=3, **values).fit(X, y)
    assert_array_equal(whole.predict_proba(X), model.predict_proba(X))
    assert dumps(loads(dumps(model))) == dumps(model)
    by_eval_set = quick(warm_start=True).fit(X, y)
    by_eval_set.set_params(n_estimators=90).fit(X, y, eval_set=(X[:100], y[:100]))
    assert np.isnan(by_eval_set.validation_score_[:n_before]).all()
    assert len(by_eval_set.validation_score_) == by_eval_set.n_iter_ + 1 > n_before + 1


def test_nothing_is_added_unless_rounds_are_asked_for():
    X, y = rows()
    model = GradientBoostingClassifier(warm_start=True, random_state=0).fit(X, y)
    expected = dumps(model)
    assert dumps(model.fit(X, y)) == expected
    members = quick(n_members=2, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="several members cannot be continued"):
        members.set_params(n_estimators=90).fit(X, y)


def test_an_older_file_keeps_the_classic_defaults():
    X, y = rows()
    old = GradientBoostingClassifier(preset="classic", n_estimators=5, warm_start=True, random_state=0).fit(
        X, y
    )
    document = decode(dumps(old))
    state = document["state"]
    for name in ("preset", "refit", "n_members"):
        del state["params"][name]
    del state["fitted"]["chosen_"]
    loaded = loads(encode(document))
    assert loaded.preset == "classic"
    assert_array_equal(loaded.predict_proba(X), old.predict_proba(X))
    longer = clone(old).set_params(n_estimators=9).fit(X, y)
    assert_array_equal(loaded.set_params(n_estimators=9).fit(X, y).predict_proba(X), longer.predict_proba(X))


class DeathError(Exception):
    pass


@pytest.mark.parametrize("n_members", [1, 2])
@pytest.mark.parametrize("phase, number", [("search", 1), ("search", 12), ("refit", 1), ("refit", 6)])
def test_a_fit_is_resumed_in_any_pass(phase, number, n_members, tmp_path):
    X, y = rows(300)
    X = with_text(X)
    settings = {"n_members": n_members, "ledger": True, "categorical_encoding": "ordered", "n_estimators": 16}
    whole = quick(**settings).fit(X, y)
    path = tmp_path / "run.spinney"

    def die(round):
        if (round.member, round.phase, round.number) == (n_members - 1, phase, number):
            raise DeathError

    with pytest.raises(DeathError):
        quick(**settings).fit(X, y, callbacks=[Checkpoint(path, every=1), die])
    kept = sp.load(path)
    assert kept.n_iter_ == number and kept.predict(X).shape == (300,)
    assert dumps(GradientBoostingClassifier.resume(path, X, y)) == dumps(whole)


# ---- what is told ----


def test_a_fitted_model_shows_what_was_chosen():
    X, y = rows(60)
    model = quick(learning_rate=0.1)
    assert "chosen" not in repr(model)
    model.fit(X, y)
    shown = repr(model)
    assert shown.startswith("GradientBoostingClassifier(") and "\n# chosen: " in shown
    assert f"refit_rounds={model.chosen_['refit_rounds']}" in shown and "min_samples_leaf=1," in shown
    assert eval(shown).get_params() == model.get_params()
    assert "# chosen" not in repr(make_pipeline(model))


def test_a_rising_training_loss_is_told():
    X, y = rows()
    with pytest.warns(TrainingLossWarning, match="Lower learning_rate"):
        GradientBoostingRegressor(
            preset="classic", learning_rate=2.5, n_estimators=10, ledger=True, random_state=0
        ).fit(X, y * 1.0)
    with pytest.warns(TrainingLossWarning):
        GradientBoostingRegressor(learning_rate=2.5, n_estimators=10, random_state=0).fit(X, y * 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n_classes in (2, 3):
            GradientBoostingClassifier(random_state=0).fit(*rows(300, n_classes))
        GradientBoostingRegressor(random_state=0).fit(X, np.random.default_rng(0).normal(size=len(X)))
        GradientBoostingRegressor(random_state=0).fit(X, np.ones(len(X)))
