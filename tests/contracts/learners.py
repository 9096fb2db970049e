"""Every learner of Spinney, in the settings the contracts are tested under; a new class joins these lists."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import spinney as sp


@dataclass(frozen=True)
class Learner:
    """Name a setting of an estimator, how it is made, and what it predicts."""

    name: str
    make: Callable[..., Any]
    kind: Literal["classifier", "regressor", "unsupervised", "ranker"]
    params: tuple[tuple[str, Any], ...] = ()

    def __call__(self, **more: Any) -> Any:
        """Make a new, unfitted estimator."""
        return self.make(**dict(self.params) | more)

    def has(self, parameter: str) -> bool:
        """Return whether the estimator has a parameter of this name."""
        return parameter in self().get_params(deep=False)

    def with_threads(self, n_jobs: int) -> Any:
        """Make an estimator that uses so many threads, if it has a say in that."""
        return self(n_jobs=n_jobs) if self.has("n_jobs") else self()


def _learner(make: Callable[..., Any], name: str = "", **params: Any) -> Learner:
    kinds = {"Classifier": "classifier", "Ranker": "ranker"}
    kind: Any = next((kind for end, kind in kinds.items() if make.__name__.endswith(end)), "regressor")
    return Learner(f"{make.__name__}{name and '-' + name}", make, kind, tuple(params.items()))


# One tree, or trees that are one sum: they have tree_ or ensemble_.
OF_TREES = [
    _learner(sp.DecisionTreeClassifier),
    _learner(sp.DecisionTreeClassifier, "exact", max_bins=None),
    _learner(
        sp.DecisionTreeClassifier, "entropy-random", criterion="entropy", splitter="random", random_state=3
    ),
    _learner(sp.DecisionTreeClassifier, "fractional", missing="fractional", pruning="pessimistic"),
    _learner(sp.DecisionTreeClassifier, "leaves", max_leaf_nodes=8, max_features="sqrt", random_state=1),
    _learner(sp.DecisionTreeClassifier, "cv", pruning="cost-complexity", pruning_cv=3, random_state=0),
    _learner(sp.DecisionTreeRegressor),
    _learner(sp.DecisionTreeRegressor, "exact", max_bins=None, ledger=True),
    _learner(sp.DecisionTreeRegressor, "absolute", criterion="absolute_error", max_depth=5),
    _learner(sp.DecisionTreeRegressor, "reduced", pruning="reduced-error", random_state=0),
    _learner(sp.ExtraTreeClassifier, random_state=0),
    _learner(sp.ExtraTreeRegressor, random_state=0),
    _learner(sp.ID3Classifier),
    _learner(sp.C45Classifier),
    _learner(sp.C45Classifier, "release8", mdl_correction=True, subtree_raising=True),
    _learner(sp.C45Classifier, "subset", categorical_split="subset", pruning=None, ledger="full"),
    _learner(sp.ObliqueTreeClassifier, random_state=0),
    _learner(sp.ObliqueTreeRegressor, random_state=0),
    _learner(sp.RandomForestClassifier, n_estimators=9, random_state=0),
    _learner(
        sp.RandomForestClassifier,
        "subsample",
        n_estimators=5,
        class_weight="balanced_subsample",
        max_samples=0.8,
        max_bins=None,
        random_state=1,
    ),
    _learner(sp.RandomForestRegressor, n_estimators=9, random_state=0),
    _learner(sp.RandomForestRegressor, "oblique", n_estimators=4, n_directions=3, random_state=0),
    _learner(sp.ExtraTreesClassifier, n_estimators=9, random_state=0),
    _learner(sp.ExtraTreesRegressor, n_estimators=9, random_state=0),
    _learner(
        sp.ExtraTreesRegressor, "targets", n_estimators=4, keep_targets=True, bootstrap=True, random_state=0
    ),
    _learner(sp.GradientBoostingClassifier, n_estimators=20, random_state=0),
    _learner(
        sp.GradientBoostingClassifier,
        "stopping",
        early_stopping=True,
        n_estimators=20,
        min_samples_leaf=1,
        sampling="mvs",
        max_features="sqrt",
        categorical_encoding="ordered",
        ledger=True,
        random_state=0,
    ),
    _learner(sp.GradientBoostingRegressor, n_estimators=20, random_state=0),
    _learner(
        sp.GradientBoostingRegressor,
        "absolute",
        loss="absolute_error",
        learning_rate=0.3,
        n_estimators=15,
        growth="level-wise",
        ledger="full",
        random_state=0,
    ),
    _learner(sp.HistGradientBoostingClassifier, max_iter=10, min_samples_leaf=5, random_state=0),
    _learner(sp.HistGradientBoostingRegressor, max_iter=10, min_samples_leaf=5, random_state=0),
    _learner(sp.GradientBoostingRanker, gain="linear", growth="leaf-wise", n_estimators=15, random_state=0),
]

_TREES = [("cart", sp.DecisionTreeClassifier(max_depth=4)), ("c4.5", sp.C45Classifier())]
_NUMBER_TREES = [("deep", sp.DecisionTreeRegressor()), ("shallow", sp.DecisionTreeRegressor(max_depth=3))]

# Members of any kind: whatever is fitted many times, and so is tested on fewer rows.
ENSEMBLES = [
    _learner(sp.VotingClassifier, estimators=_TREES),
    _learner(sp.VotingClassifier, "learned", estimators=_TREES, voting="soft", weights="learned", cv=2),
    _learner(sp.VotingRegressor, estimators=_NUMBER_TREES),
    _learner(sp.StackingClassifier, estimators=_TREES, cv=2),
    _learner(
        sp.StackingClassifier,
        "tree",
        estimators=_TREES,
        final_estimator=sp.DecisionTreeClassifier(max_depth=3),
        passthrough=True,
        cv=2,
        random_state=0,
    ),
    _learner(sp.StackingRegressor, estimators=_NUMBER_TREES, cv=2),
    _learner(sp.EnsembleSelectionClassifier, estimators=_TREES, cv=2, n_steps=9),
    _learner(sp.EnsembleSelectionRegressor, estimators=_NUMBER_TREES, n_bags=3, cv=2, random_state=0),
    _learner(sp.BaggingClassifier, n_estimators=5, random_state=0),
    _learner(
        sp.BaggingClassifier,
        "votes",
        n_estimators=5,
        voting="hard",
        max_samples=0.8,
        bootstrap=False,
        random_state=0,
    ),
    _learner(sp.BaggingClassifier, "C45", estimator=sp.C45Classifier(), n_estimators=3, random_state=0),
    _learner(sp.BaggingRegressor, n_estimators=5, random_state=0),
    _learner(
        sp.BaggingRegressor,
        "patches",
        n_estimators=6,
        max_features=0.7,
        max_samples=0.7,
        oob_pruning=True,
        random_state=0,
    ),
    _learner(sp.OutputFlippingClassifier, n_estimators=5, random_state=0),
    _learner(
        sp.OutputFlippingClassifier, "soft", n_estimators=5, voting="soft", bootstrap=True, random_state=0
    ),
    _learner(sp.OutputSmearingRegressor, n_estimators=5, random_state=0),
    _learner(sp.OutputCodeClassifier, n_candidates=50, random_state=0),
    _learner(sp.OutputCodeClassifier, "pairs", code="one-vs-one", decoding="hamming", random_state=0),
    _learner(
        sp.OutputCodeClassifier,
        "coupled",
        code="sparse",
        n_candidates=50,
        decoding="probability",
        random_state=0,
    ),
    _learner(sp.NegativeCorrelationClassifier, n_estimators=4, max_iter=20, random_state=0),
    _learner(sp.NegativeCorrelationRegressor, n_estimators=4, max_iter=20, random_state=0),
    _learner(
        sp.NegativeCorrelationRegressor,
        "stopping",
        n_estimators=3,
        max_iter=40,
        early_stopping=True,
        random_state=0,
    ),
    _learner(
        sp.OneVsRestClassifier,
        estimator=sp.GradientBoostingClassifier(preset="classic", n_estimators=4, random_state=0),
    ),
    _learner(sp.OneVsOneClassifier, estimator=sp.DecisionTreeClassifier(max_depth=4)),
    _learner(sp.AdaBoostClassifier),
    _learner(
        sp.AdaBoostClassifier, "depth", estimator=sp.DecisionTreeClassifier(max_depth=2), n_estimators=8
    ),
    _learner(
        sp.AdaBoostClassifier, "C45", estimator=sp.C45Classifier(max_depth=2), n_estimators=6, ledger=True
    ),
    _learner(sp.AdaBoostClassifier, "samme.r", algorithm="samme.r", n_estimators=10),
    _learner(sp.AdaBoostClassifier, "logit", algorithm="logit", n_estimators=8),
    _learner(sp.AdaBoostClassifier, "drawn", resample=True, n_estimators=8, random_state=0),
    _learner(sp.AdaBoostClassifier, "stopping", early_stopping=True, n_iter_no_change=5, random_state=0),
    _learner(sp.AdaBoostRegressor, n_estimators=15),
    _learner(sp.AdaBoostRegressor, "drawn", loss="square", resample=True, n_estimators=8, random_state=0),
]


LEARNERS = [*OF_TREES, *ENSEMBLES]
# Learners without a target.
_FIVE_TREES = (("n_estimators", 5), ("random_state", 0))
UNSUPERVISED = [
    Learner(make.__name__, make, "unsupervised", _FIVE_TREES)
    for make in (sp.IsolationForest, sp.RandomTreesEmbedding)
]
# One setting of each class.
EACH_CLASS = [learner for learner in LEARNERS if "-" not in learner.name]
DEFAULTS = [learner for learner in EACH_CLASS if learner in OF_TREES]
# One setting of each class, and one of each kind of setting that takes another path through the code.
KINDS = (
    "DecisionTreeClassifier-exact",
    "DecisionTreeClassifier-fractional",
    "DecisionTreeRegressor-absolute",
    "RandomForestClassifier-subsample",
    "RandomForestRegressor-oblique",
    "GradientBoostingClassifier-stopping",
    "VotingClassifier-learned",
    "BaggingRegressor-patches",
    "AdaBoostClassifier-depth",
    "AdaBoostClassifier-logit",
    "AdaBoostClassifier-drawn",
)
EACH_KIND = [learner for learner in LEARNERS if learner in EACH_CLASS or learner.name in KINDS]


def holds_out(params: Mapping[str, Any]) -> bool:
    """Whether rows are held out: one row is then too few, and which ones depends on how many there are.

    A weight of 2 is then not the same as a row twice.
    """
    by_pruning = params.get("pruning") in ("pre", "reduced-error", "cost-complexity")
    by_rounds = params.get("n_iter_no_change") is not None and "early_stopping" not in params
    by_preset = params.get("preset") in ("auto", "strong") and params["early_stopping"] is not False
    return by_pruning or by_rounds or by_preset or params.get("early_stopping") is True


def depends_on_chance(params: Mapping[str, Any]) -> bool:
    """Return whether rows are held out or drawn, so that no weight counts as copies of a row."""
    return holds_out(params) or params.get("resample") is True or params.get("oob_pruning") is True


def makes_folds(learner: Learner) -> bool:
    """Return whether the learner divides the rows into folds."""
    return "cv" in dict(learner.params)


def fewer(learner: Learner, n_rows: int) -> int:
    """Return a tenth of the rows to what is fitted many times."""
    return n_rows if learner in OF_TREES else max(n_rows // 10, 150)


def mixed_data(kind: str, n_rows: int = 300, seed: int = 0) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
    """Make a data frame of numbers, text and missing values, a target that depends on them, and weights."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n_rows), rng.integers(0, 5, n_rows).astype(float)
    color = np.array(["red", "green", "blue", "black"], dtype=object)[rng.integers(0, 4, n_rows)]
    signal = a + (color == "red") * 1.5 - 0.4 * b + rng.normal(scale=0.3, size=n_rows)
    a[rng.random(n_rows) < 0.1] = np.nan
    color[rng.random(n_rows) < 0.1] = None
    X = pd.DataFrame({"a": a, "b": b, "color": color, "noise": rng.normal(size=n_rows).astype(np.float32)})
    y = signal if kind == "regressor" else np.digitize(signal, [-1.0, 0.5])
    return X, y, rng.integers(0, 4, n_rows) + 0.5 * rng.random(n_rows)
