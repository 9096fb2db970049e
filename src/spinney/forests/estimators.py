"""Random forests and extremely randomised trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from spinney.forests.base import RULES
from spinney.forests.tasks import _ClassifierForest, _RegressorForest
from spinney.trees.parameters import criteria


class _RandomCuts:
    """Let trees draw one threshold a feature instead of looking for the best."""

    @property
    def _splitter(self) -> Literal["best", "random"]:
        return "random"


class RandomForestClassifier(_ClassifierForest):
    """Classify by the mean of trees, each grown to a bag of the rows and trying few features at a node.

    The parameters of scikit-learn's ``RandomForestClassifier`` come first, with their meaning and defaults.
    The table is coded once and all trees grow on its codes, a tree a thread. Beyond them:

    max_samples : int, float or None
        Rows in a bag; also where ``bootstrap`` is False.
    oob_score : bool, or a function of (y, predicted)
        Give ``oob_decision_function_`` and ``oob_score_`` from the rows that trees left out.
    verbose : int
        Above 0, draw a progress bar.
    n_directions : int
        0: tests of single features. Above: oblique trees, which try sums of features as
        `ObliqueTreeClassifier` does, with so many random directions a node.

    ``max_bins``, ``categorical_features``, ``categorical_split``, ``missing``, ``unseen``,
    ``feature_costs``, ``cost_rule`` and ``cost_omega`` are those of `DecisionTreeClassifier`. Whole sample
    weights count copies of rows; others are chances of being drawn. The fitted forest is the same, to the
    last bit, for any ``n_jobs``.

    Fitted: ``ensemble_`` (all trees as one), ``estimators_``, ``estimators_samples_``, ``classes_``,
    ``n_classes_``, ``n_outputs_``, ``n_features_in_``, ``feature_names_in_``, ``feature_importances_``, and
    with ``oob_score`` the two named there.

    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> model.score(X, y), 0.4 < model.oob_score_ < 1.0
    (1.0, True)
    """

    _parameter_rules = RULES | {"criterion": (criteria("classification"),)}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        missing: Literal["direction", "fractional"] = "direction",
        unseen: Literal["missing", "error"] = "missing",
        feature_costs: Any = None,
        cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan",
        cost_omega: float = 1.0,
        n_directions: int = 0,
    ) -> None:
        self._keep(locals())


class RandomForestRegressor(_RegressorForest):
    """Predict the mean of trees, each grown to a bag of the rows.

    The parameters of scikit-learn's ``RandomForestRegressor`` come first, with their meaning and defaults.

    keep_targets : bool
        Keep the training targets in the leaves, for ``predict_quantiles``: a quantile regression forest.

    The others are those of `RandomForestClassifier`. Fitted: as there, with ``oob_prediction_`` and, where
    targets are kept, ``leaf_targets_``.

    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = RandomForestRegressor(oob_score=True, random_state=0).fit(X, X[:, 0])
    >>> bool(model.oob_score_ > 0.99)
    True
    """

    _parameter_rules = RULES | {"criterion": (criteria("regression"),)}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        missing: Literal["direction", "fractional"] = "direction",
        unseen: Literal["missing", "error"] = "missing",
        feature_costs: Any = None,
        cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan",
        cost_omega: float = 1.0,
        n_directions: int = 0,
        keep_targets: bool = False,
    ) -> None:
        self._keep(locals())


class ExtraTreesClassifier(_RandomCuts, _ClassifierForest):
    """Classify by the mean of trees whose thresholds are drawn at random, the best of few features' taken.

    The parameters of scikit-learn's ``ExtraTreesClassifier`` come first, with their meaning and defaults; the
    others are those of `RandomForestClassifier`. By default every tree is grown to all rows.

    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _parameter_rules = RULES | {"criterion": (criteria("classification"),)}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        missing: Literal["direction", "fractional"] = "direction",
        unseen: Literal["missing", "error"] = "missing",
        feature_costs: Any = None,
        cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan",
        cost_omega: float = 1.0,
        n_directions: int = 0,
    ) -> None:
        self._keep(locals())


class ExtraTreesRegressor(_RandomCuts, _RegressorForest):
    """Predict the mean of trees whose thresholds are drawn at random.

    The parameters of scikit-learn's ``ExtraTreesRegressor`` come first, with their meaning and defaults; the
    others are those of `RandomForestRegressor`. By default every tree is grown to all rows.

    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> ExtraTreesRegressor(random_state=0).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.99
    True
    """

    _parameter_rules = RULES | {"criterion": (criteria("regression"),)}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        missing: Literal["direction", "fractional"] = "direction",
        unseen: Literal["missing", "error"] = "missing",
        feature_costs: Any = None,
        cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan",
        cost_omega: float = 1.0,
        n_directions: int = 0,
        keep_targets: bool = False,
    ) -> None:
        self._keep(locals())
