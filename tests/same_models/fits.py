"""A list of fits whose models must stay the same, and a hash of what each model file holds.

The hash covers class names and fitted state. Parameters are left out: they are the input of a fit, and their
names may change. So are the values that a fit chose for them.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

import spinney as sp
from spinney.core.elementary import exp
from spinney.ensembles import MultiResponseClassifier
from spinney.io import dumps
from spinney.io.container import decode
from spinney.io.document import Tagged


@dataclass(frozen=True)
class Fit:
    """One fit of the list: an estimator class, its parameters, and the table it is fitted to."""

    name: str
    make: Any
    params: dict[str, Any]
    table: str
    fit_params: dict[str, Any] = field(default_factory=dict)

    def run(self, **more: Any) -> Any:
        X, y, weight = TABLES[self.table]
        weights = {} if weight is None else {"sample_weight": weight}
        return self.make(**self.params | more).fit(X, y, **weights, **self.fit_params)


def _tables() -> dict[str, tuple[Any, Any, Any]]:
    rng = np.random.default_rng(20)
    n = 260
    numeric = rng.normal(size=(n, 6))
    numeric[:, 3] = rng.integers(0, 4, n)
    signal = numeric[:, 0] - 0.7 * numeric[:, 1] * numeric[:, 2] + 0.3 * numeric[:, 3]
    noise = rng.normal(scale=0.4, size=n)
    color = np.array(["red", "green", "blue", "black", "white", "grey"], dtype=object)[rng.integers(0, 6, n)]
    size = np.array(["s", "m", "l"], dtype=object)[rng.integers(0, 3, n)]
    with_categories = signal + 0.8 * (color == "red") - 0.6 * (size == "l") + noise
    a, b = numeric[:, 0].copy(), numeric[:, 3].copy()
    a[rng.random(n) < 0.15] = np.nan
    color[rng.random(n) < 0.1] = None
    frame = pd.DataFrame(
        {"a": a, "b": b, "color": color, "size": size, "c": numeric[:, 1].astype(np.float32)}
    )
    levels = pd.DataFrame(
        {"city": rng.integers(0, 40, n).astype(str), "a": numeric[:, 0], "b": numeric[:, 1]}
    )
    levels_y = signal + (levels["city"].astype(int) % 7) * 0.4 + noise
    sparse = csr_matrix(np.where(rng.random((n, 12)) < 0.8, 0.0, rng.normal(size=(n, 12))))
    sparse_signal = np.asarray(sparse.sum(axis=1)).ravel()
    weight = rng.integers(0, 4, n) + 0.5 * rng.random(n)
    two, three = (signal + noise > 0).astype(int), np.digitize(with_categories, [-0.7, 0.7])
    words = np.array(["no", "perhaps", "yes"], dtype=object)[three]
    melons = pd.DataFrame({"color": color, "size": size, "b": b.astype(int).astype(str)})
    return {
        "two": (numeric, two, None),
        "three": (frame, words, weight),
        "three-numeric": (numeric, np.digitize(signal + noise, [-1, 1]), None),
        "values": (numeric, signal + noise, None),
        "values-mixed": (frame, with_categories, weight),
        "counts": (frame, rng.poisson(exp(0.4 * signal.clip(-3, 3))).astype(float), None),
        "positive": (numeric, exp(0.5 * signal + noise), None),
        "levels": (levels, (levels_y > 1).astype(int), None),
        "levels-values": (levels, levels_y.to_numpy(), None),
        "sparse": (sparse, (sparse_signal > 0).astype(int), None),
        "sparse-values": (sparse, sparse_signal, None),
        "outputs": (numeric, np.column_stack([two, np.digitize(noise, [-0.2, 0.2])]), None),
        "outputs-values": (numeric, np.column_stack([signal, noise]), None),
        "discrete": (melons, words, None),
        "one-class": (numeric[:40], np.zeros(40, int), None),
        "float32": (numeric.astype(np.float32), two, weight),
    }


TABLES = _tables()
_TREES = [("cart", sp.DecisionTreeClassifier(max_depth=4)), ("c4.5", sp.C45Classifier())]
_VALUE_TREES = [("deep", sp.DecisionTreeRegressor()), ("shallow", sp.DecisionTreeRegressor(max_depth=3))]
_CLASSES = ("two", "three", "three-numeric", "sparse")
_VALUES = ("values", "values-mixed", "sparse-values")


def _cross(make: Any, tables: tuple[str, ...], *settings: dict[str, Any]) -> Iterator[Fit]:
    for params in settings or ({},):
        text = ",".join(f"{name}={_short(value)}" for name, value in params.items() if name != "preset")
        for table in tables:
            yield Fit(f"{make.__name__}({text}) on {table}", make, params, table)


def _short(value: Any) -> str:
    return f"{type(value).__name__}()" if hasattr(value, "get_params") else str(value).replace("\n", "")[:40]


def _trees() -> Iterator[Fit]:
    yield from _cross(
        sp.DecisionTreeClassifier,
        _CLASSES,
        {},
        {"criterion": "entropy", "max_depth": 5},
        {"max_bins": None},
        {"splitter": "random", "random_state": 3},
        {"max_features": "sqrt", "random_state": 1, "min_samples_leaf": 3},
        {"max_leaf_nodes": 9, "class_weight": "balanced"},
    )
    yield from _cross(
        sp.DecisionTreeClassifier,
        ("three",),
        {"missing": "fractional"},
        {"missing": "fractional", "pruning": "pessimistic"},
        {"pruning": "reduced-error", "random_state": 0},
        {"pruning": "pre", "random_state": 0},
        {"pruning": "cost-complexity", "pruning_cv": 3, "random_state": 0},
        {"categorical_split": "one-vs-rest"},
        {"ccp_alpha": 0.01, "ledger": True},
        {"ledger": "full", "max_depth": 3},
        {"feature_costs": [1.0, 2.0, 3.0, 1.0, 5.0], "cost_rule": "tan"},
        {"min_impurity_decrease": 0.01, "min_weight_fraction_leaf": 0.02},
    )
    yield from _cross(sp.DecisionTreeClassifier, ("outputs", "one-class", "float32"), {}, {"max_bins": 16})
    yield from _cross(
        sp.DecisionTreeClassifier, ("two",), {"monotonic_cst": [1, 0, 0, 0, 0, 0], "max_depth": 5}
    )
    yield from _cross(
        sp.DecisionTreeRegressor,
        _VALUES,
        {},
        {"max_bins": None, "min_samples_leaf": 4},
        {"criterion": "absolute_error", "max_depth": 4},
        {"splitter": "random", "random_state": 5},
        {"pruning": "reduced-error", "random_state": 2},
    )
    yield from _cross(sp.DecisionTreeRegressor, ("counts",), {"criterion": "poisson", "max_depth": 4})
    yield from _cross(sp.DecisionTreeRegressor, ("outputs-values",), {}, {"max_depth": 3})
    yield from _cross(sp.ID3Classifier, ("discrete",), {}, {"ledger": True}, {"max_depth": 2})
    yield from _cross(
        sp.C45Classifier,
        ("two", "three", "discrete"),
        {},
        {"categorical_split": "subset"},
        {"pruning": None, "ledger": "full"},
        {"min_samples_leaf": 5, "confidence": 0.1},
    )
    yield from _cross(sp.ObliqueTreeClassifier, ("two", "three"), {"random_state": 0})
    yield from _cross(
        sp.ObliqueTreeRegressor, ("values", "values-mixed"), {"random_state": 0, "max_depth": 4}
    )


def _forests() -> Iterator[Fit]:
    for make in (sp.RandomForestClassifier, sp.ExtraTreesClassifier):
        yield from _cross(
            make,
            _CLASSES,
            {"n_estimators": 5, "random_state": 0},
            {"n_estimators": 4, "random_state": 1, "max_features": 1.0, "bootstrap": True, "oob_score": True},
            {"n_estimators": 4, "random_state": 2, "max_bins": None, "min_samples_leaf": 3},
        )
    yield from _cross(
        sp.RandomForestClassifier,
        ("three", "outputs", "levels"),
        {"n_estimators": 4, "random_state": 3, "class_weight": "balanced_subsample", "max_samples": 0.7},
        {"n_estimators": 3, "random_state": 3, "n_directions": 3},
    )
    for make in (sp.RandomForestRegressor, sp.ExtraTreesRegressor):
        yield from _cross(
            make,
            _VALUES,
            {"n_estimators": 5, "random_state": 0},
            {
                "n_estimators": 3,
                "random_state": 4,
                "keep_targets": True,
                "bootstrap": True,
                "max_features": 0.5,
            },
        )
    yield from _cross(
        sp.RandomForestRegressor, ("counts",), {"n_estimators": 3, "criterion": "poisson", "random_state": 1}
    )
    yield from _cross(
        sp.BaggingClassifier,
        ("two", "three"),
        {"random_state": 0, "n_estimators": 4},
        {"random_state": 0, "n_estimators": 4, "voting": "hard", "bootstrap": False, "max_samples": 0.8},
        {"random_state": 1, "n_estimators": 3, "estimator": sp.C45Classifier(), "max_features": 0.7},
        {"random_state": 2, "n_estimators": 3, "oob_score": True, "oob_pruning": True},
    )
    yield from _cross(
        sp.BaggingRegressor,
        ("values", "values-mixed"),
        {"random_state": 0, "n_estimators": 4},
        {"random_state": 1, "n_estimators": 3, "max_features": 0.7, "max_samples": 0.7, "oob_pruning": True},
    )


def _boosting() -> Iterator[Fit]:
    small = {"n_estimators": 8, "random_state": 0, "min_samples_leaf": 5, "preset": "classic"}
    yield from _cross(
        sp.GradientBoostingClassifier,
        ("two", "three", "levels"),
        small,
        small | {"sampling": "goss"},
        small | {"sampling": "mvs", "max_features": "sqrt"},
        small | {"subsample": 0.6, "colsample_bytree": 0.5, "growth": "level-wise"},
        small | {"early_stopping": True, "ledger": True, "n_iter_no_change": 3},
        small | {"categorical_encoding": "ordered", "l2_regularization": 1.0},
        small | {"categorical_split": "one-vs-rest", "max_bins": 20, "class_weight": "balanced"},
    )
    yield from _cross(sp.GradientBoostingClassifier, ("two",), small | {"loss": "exponential"})
    yield from _cross(sp.GradientBoostingClassifier, ("one-class", "float32", "sparse"), small)
    yield from _cross(
        sp.GradientBoostingClassifier, ("two",), small | {"monotonic_cst": [1, -1, 0, 0, 0, 0]},
        small | {"interaction_cst": "no_interactions", "min_gain": 0.1, "min_hessian": 0.5},
    )  # fmt: skip
    for loss in ("squared_error", "absolute_error", "huber", "quantile"):
        yield from _cross(sp.GradientBoostingRegressor, ("values", "values-mixed"), small | {"loss": loss})
    for loss in ("poisson", "tweedie"):
        yield from _cross(sp.GradientBoostingRegressor, ("counts",), small | {"loss": loss})
    yield from _cross(sp.GradientBoostingRegressor, ("positive",), small | {"loss": "gamma"})
    yield from _cross(
        sp.GradientBoostingRegressor,
        ("values-mixed", "levels-values"),
        small | {"ledger": "full", "growth": "level-wise", "max_depth": 3},
        small | {"early_stopping": True, "validation_fraction": 0.2, "n_iter_no_change": 3},
    )
    for algorithm in ("samme", "samme.r", "logit"):
        yield from _cross(
            sp.AdaBoostClassifier,
            ("two", "three"),
            {"algorithm": algorithm, "n_estimators": 6, "random_state": 0},
        )
    yield from _cross(
        sp.AdaBoostClassifier,
        ("two",),
        {"algorithm": "discrete", "n_estimators": 6},
        {"algorithm": "gentle", "n_estimators": 6},
    )
    yield from _cross(
        sp.AdaBoostClassifier,
        ("two", "three"),
        {"estimator": sp.DecisionTreeClassifier(max_depth=2), "n_estimators": 5, "ledger": True},
        {"estimator": sp.C45Classifier(max_depth=2), "n_estimators": 4},
        {"resample": True, "n_estimators": 5, "random_state": 0},
        {"early_stopping": True, "n_iter_no_change": 4, "n_estimators": 20, "random_state": 0},
    )
    for loss in ("linear", "square", "exponential"):
        yield from _cross(sp.AdaBoostRegressor, ("values", "values-mixed"), {"loss": loss, "n_estimators": 4})
    yield from _cross(
        sp.AdaBoostRegressor, ("values",), {"resample": True, "n_estimators": 4, "random_state": 0}
    )


def _combinations() -> Iterator[Fit]:
    yield from _cross(
        sp.VotingClassifier,
        ("two", "three"),
        {"estimators": _TREES},
        {"estimators": _TREES, "voting": "soft", "weights": "learned", "cv": 2},
    )
    yield from _cross(sp.VotingRegressor, ("values", "values-mixed"), {"estimators": _VALUE_TREES})
    yield from _cross(
        sp.StackingClassifier,
        ("two", "three"),
        # The default final estimator is fitted by SciPy's L-BFGS-B, whose last bits are its own.
        {"estimators": _TREES, "cv": 2, "final_estimator": MultiResponseClassifier(columns="own")},
        {
            "estimators": _TREES,
            "cv": 2,
            "passthrough": True,
            "final_estimator": sp.DecisionTreeClassifier(max_depth=3),
        },
    )
    yield from _cross(sp.StackingRegressor, ("values", "values-mixed"), {"estimators": _VALUE_TREES, "cv": 2})
    yield from _cross(
        sp.EnsembleSelectionClassifier, ("two", "three"), {"estimators": _TREES, "cv": 2, "n_steps": 7}
    )
    yield from _cross(
        sp.EnsembleSelectionRegressor,
        ("values",),
        {"estimators": _VALUE_TREES, "cv": 2, "n_bags": 3, "random_state": 0},
    )
    yield from _cross(
        sp.OutputFlippingClassifier,
        ("two", "three"),
        {"n_estimators": 4, "random_state": 0},
        {"n_estimators": 3, "random_state": 0, "voting": "soft", "bootstrap": True},
    )
    yield from _cross(
        sp.OutputSmearingRegressor, ("values", "values-mixed"), {"n_estimators": 4, "random_state": 0}
    )
    yield from _cross(
        sp.OutputCodeClassifier,
        ("three", "three-numeric"),
        {"random_state": 0},
        {"random_state": 0, "code": "one-vs-one", "decoding": "hamming"},
        {"random_state": 0, "code": "sparse", "decoding": "probability"},
    )


FITS = [*_trees(), *_forests(), *_boosting(), *_combinations()]


# Name in a file today -> its name when the hashes were taken.
_BEFORE = {"template": "pattern"}


def content_hash(model: Any) -> str:
    """Hash what a model file holds: classes and fitted state, without parameters and later records."""
    document = decode(dumps(model))
    digest = hashlib.sha256()
    _add(digest, {"class": document["class"], "state": document["state"]})
    return digest.hexdigest()[:16]


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("params", "chosen_", "chosen_parameters", "evals_result_", "pruning_ledger_"):
                digest.update(repr(_BEFORE.get(key, key)).encode())
                _add(digest, part)
    elif isinstance(value, Tagged):
        digest.update(repr(value.name).encode())
        _add(digest, value.value)
    elif isinstance(value, list | tuple):
        digest.update(f"[{len(value)}".encode())
        for part in value:
            _add(digest, part)
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    else:
        digest.update(repr(value).encode())


def prediction_hash(model: Any, table: str) -> str:
    """Hash the predictions for the training rows, with probabilities where there are any."""
    X = TABLES[table][0]
    digest = hashlib.sha256(repr(model.predict(X).tolist()).encode())
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        for part in probabilities if isinstance(probabilities, list) else [probabilities]:
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]
