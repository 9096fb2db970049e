"""The table of learners: names for the command line, families, parameters and search spaces."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from spinney.adaboost import AdaBoostClassifier, AdaBoostRegressor
from spinney.bagging import BaggingClassifier, BaggingRegressor
from spinney.bayes import GaussianNB
from spinney.core.errors import InputError
from spinney.core.parameter_names import suggest_parameter
from spinney.discriminant import LinearDiscriminantAnalysis
from spinney.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.linear import LogisticRegression, RidgeCV
from spinney.members.encoded import EncodedClassifier, EncodedRegressor
from spinney.model_selection.search_space import Choice, Distribution, Integers, Uniform
from spinney.perturb import NegativeCorrelationClassifier, NegativeCorrelationRegressor
from spinney.svm import SVC, SVR
from spinney.trees import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)

Task: TypeAlias = Literal["classification", "regression"]


@dataclass(frozen=True)
class Learner:
    """A learner by name, for either task.

    Parameters
    ----------
    name : str
        Name on the command line.
    family : str
        Family, as in the documentation.
    classifier, regressor : class or None
        Estimators of the two tasks; None if there is none.
    params : dict, default={}
        Parameters that differ from the defaults.
    encoded : bool, default=False
        Whether the estimator takes numeric matrices only, so that tables are encoded for it.
    compared : bool, default=True
        Whether `compare` tries it.
    max_rows : int or None, default=None
        Most rows that `compare` fits it to; for learners whose time grows faster than the rows.
    is_slow : bool, default=False
        Whether `compare` fits it after all others only, if a third of the time is left.
    relative_time : pair of str and float or None, default=None
        Another learner, and how many times as long as that one a fit takes, so that `compare` does not begin
        what it has no time for. None if that is not known.
    space : dict, default={}
        Search space of `tune`.

    Examples
    --------
    >>> find_learner("cart").make("classification", max_depth=3)
    DecisionTreeClassifier(max_depth=3, pruning='cost-complexity')
    """

    name: str
    family: str
    classifier: Callable[..., Any] | None
    regressor: Callable[..., Any] | None
    params: Mapping[str, Any] = field(default_factory=dict)
    encoded: bool = False
    compared: bool = True
    max_rows: int | None = None
    is_slow: bool = False
    relative_time: tuple[str, float] | None = None
    space: Mapping[str, Distribution] = field(default_factory=dict)

    def supports(self, task: Task) -> bool:
        """Return whether there is an estimator for the task.

        Parameters
        ----------
        task : {"classification", "regression"}
            The task.

        Returns
        -------
        bool
            Whether there is one.
        """
        return (self.classifier if task == "classification" else self.regressor) is not None

    def make(self, task: Task, **params: Any) -> Any:
        """Return an unfitted estimator.

        Parameters
        ----------
        task : {"classification", "regression"}
            The task.
        **params : dict
            Parameters, those of the estimator itself also where the table is encoded for it.

        Returns
        -------
        estimator
            The estimator.
        """
        make = self.classifier if task == "classification" else self.regressor
        if make is None:
            raise InputError(
                f"{self.name!r} has no estimator for {task}",
                fix=f"Learners of this task: {', '.join(names(task))}.",
            )
        known = make().get_params(deep=False)
        chosen = {name: value for name, value in self.params.items() if name in known}
        for name in params:
            if name.partition("__")[0] not in known:
                raise InputError(
                    f"{make.__name__} has no parameter {name!r}", fix=suggest_parameter(name, list(known))
                )
        estimator = make(**chosen).set_params(**params)
        if not self.encoded:
            return estimator
        return (EncodedClassifier if task == "classification" else EncodedRegressor)(estimator)


_TREE_SPACE: dict[str, Distribution] = {
    "max_depth": Integers(2, 20),
    "min_samples_leaf": Integers(1, 50, log=True),
}
_FOREST_SPACE: dict[str, Distribution] = {
    "max_features": Uniform(0.1, 1.0),
    "min_samples_leaf": Integers(1, 20, log=True),
    "max_depth": Choice((None, 8, 16, 24)),
}
_BOOSTING_SPACE: dict[str, Distribution] = {
    "learning_rate": Uniform(0.01, 0.3, log=True),
    "max_leaf_nodes": Integers(4, 128, log=True),
    "min_samples_leaf": Integers(1, 60, log=True),
    "l2_regularization": Uniform(0.001, 30.0, log=True),
    "max_features": Uniform(0.2, 1.0),
    "subsample": Uniform(0.4, 1.0),
    "growth": Choice(("leaf-wise", "symmetric", "mixed")),
}

LEARNERS: tuple[Learner, ...] = (
    Learner(
        "gradient-boosting",
        "boosting",
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        space=_BOOSTING_SPACE,
    ),
    Learner(
        "random-forest",
        "forests",
        RandomForestClassifier,
        RandomForestRegressor,
        {"n_estimators": 200},
        space=_FOREST_SPACE,
    ),
    Learner(
        "linear",
        "linear models",
        LogisticRegression,
        RidgeCV,
        {"alphas": (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)},
        encoded=True,
        space={"C": Uniform(0.001, 100.0, log=True)},
    ),
    Learner(
        "cart",
        "trees",
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        {"pruning": "cost-complexity"},
        space=_TREE_SPACE,
    ),
    Learner(
        "extra-trees",
        "forests",
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        {"n_estimators": 200},
        space=_FOREST_SPACE,
    ),
    Learner(
        "c4.5",
        "trees",
        C45Classifier,
        None,
        space={
            "confidence": Uniform(0.01, 0.5, log=True),
            "min_samples_leaf": Integers(1, 30, log=True),
            "subtree_raising": Choice((False, True)),
        },
    ),
    Learner(
        "adaboost",
        "boosting",
        AdaBoostClassifier,
        AdaBoostRegressor,
        {"n_estimators": 100},
        space={
            "n_estimators": Integers(20, 400, log=True),
            "learning_rate": Uniform(0.05, 1.5, log=True),
        },
    ),
    Learner(
        "bagging",
        "bagging",
        BaggingClassifier,
        BaggingRegressor,
        {"n_estimators": 50},
        space={"max_samples": Uniform(0.3, 1.0), "max_features": Uniform(0.3, 1.0)},
    ),
    Learner("naive-bayes", "naive Bayes", GaussianNB, None, encoded=True),
    Learner("discriminant", "discriminant analysis", LinearDiscriminantAnalysis, None, encoded=True),
    Learner(
        "svm",
        "support vector machines",
        SVC,
        SVR,
        {"probability": True},
        encoded=True,
        max_rows=8_000,
        space={"C": Uniform(0.01, 100.0, log=True), "gamma": Uniform(1e-4, 1.0, log=True)},
    ),
    Learner(
        "networks",
        "negative correlation",
        NegativeCorrelationClassifier,
        NegativeCorrelationRegressor,
        {"n_estimators": 5, "max_iter": 100},
        max_rows=20_000,
        is_slow=True,
        space={
            "hidden_size": Integers(4, 64, log=True),
            "penalty": Uniform(0.0, 0.9),
            "alpha": Uniform(1e-6, 1e-1, log=True),
        },
    ),
    Learner(
        "oblique", "trees", ObliqueTreeClassifier, ObliqueTreeRegressor, max_rows=20_000, space=_TREE_SPACE
    ),
    Learner(
        "gradient-boosting-strong",
        "boosting",
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        {"preset": "strong"},
        is_slow=True,
        relative_time=("gradient-boosting", 5.0),
        space=_BOOSTING_SPACE,
    ),
    Learner("id3", "trees", ID3Classifier, None, compared=False, space=_TREE_SPACE),
)
"""In the order in which `compare` tries them: the likely best and the quick ones first."""

AUTO = "gradient-boosting"
"""The learner of ``auto``."""


def names(task: Task | None = None) -> list[str]:
    """Return the names of the learners, or of those for one task.

    Parameters
    ----------
    task : {"classification", "regression"} or None, default=None
        The task; None is either.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> "c4.5" in names("classification"), "c4.5" in names("regression")
    (True, False)
    """
    return [learner.name for learner in LEARNERS if task is None or learner.supports(task)]


def find_learner(name: str) -> Learner:
    """Return a learner by its name; "auto" is gradient boosting.

    Parameters
    ----------
    name : str
        The name; class names such as ``RandomForestClassifier`` will do.

    Returns
    -------
    Learner
        The learner.

    Examples
    --------
    >>> find_learner("auto").name
    'gradient-boosting'
    """
    if name == "auto":
        name = AUTO
    wanted = name.lower().replace("_", "-")
    for learner in LEARNERS:
        classes = {getattr(make, "__name__", "") for make in (learner.classifier, learner.regressor)}
        if learner.name == wanted or name in classes:
            return learner
    near = difflib.get_close_matches(wanted, names(), n=1, cutoff=0.5)
    fix = f"Did you mean {near[0]!r}?" if near else f"Learners: auto, {', '.join(names())}."
    raise InputError(f"There is no learner {name!r}", fix=fix)
