"""`describe_scoring`: the expressions by which a fitted model predicts, whatever its class is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from spinney.adaboost import AdaBoostClassifier
from spinney.adaboost.algorithms import Algorithm, Logit, Samme, find_algorithm
from spinney.adaboost.members import flatten, read_values
from spinney.bagging import BaggingClassifier, BaggingRegressor
from spinney.bagging.trees import merge_trees
from spinney.core.arrays import Floats
from spinney.core.errors import InputTypeError
from spinney.data.columns import default_names
from spinney.data.features import Feature
from spinney.data.schema import Schema
from spinney.ensembles import (
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    LeastSquaresRegressor,
    LogarithmicPoolClassifier,
    MultiResponseClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from spinney.export.expressions import (
    Apply,
    Column,
    Computed,
    Constant,
    Decision,
    Expression,
    KernelSum,
    Linear,
    OneHot,
    Place,
    Scoring,
    Trees,
    WeightedSum,
    own_columns,
    same_inputs,
    zeros,
)
from spinney.export.expressions import CategoryMeans as Means
from spinney.export.imported import ImportedClassifier, ImportedRegressor
from spinney.forests.forest import BaseForest
from spinney.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from spinney.gradient_boosting.categories import TargetStatistics
from spinney.linear import GeneralizedLinearRegressor
from spinney.linear.base import LinearModel
from spinney.linear.sparse_coef import dense_coefficients
from spinney.losses import losses
from spinney.svm import SVC, SVR
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import LEAF, LINEAR, TreeArrays
from spinney.trees.base import BaseTree


def refuse(model: object, why: str, fix: str = "") -> InputTypeError:
    """Return the error for a model, or a part of one, that cannot be exported.

    >>> raise refuse(0, "it is a number")
    Traceback (most recent call last):
    spinney.core.errors.InputTypeError: A int cannot be exported: it is a number
    """
    text = f"A {type(model).__name__} cannot be exported: {why}"
    return InputTypeError(text, fix=fix or None)


def describe_scoring(model: Any) -> Scoring:
    """Return how a fitted model predicts.

    Parameters
    ----------
    model : estimator
        A fitted model.

    Returns
    -------
    Scoring
        Its expressions.

    Raises
    ------
    InputTypeError
        If the model, or a member of it, is of a kind that no expression describes.
    """
    for kinds, describe in _DESCRIPTIONS:
        if isinstance(model, kinds):
            if hasattr(model, "fit"):  # imported models have none
                check_is_fitted(model)
            return describe(model)
    raise refuse(model, "there is no description of how it predicts", "Save it with spinney.save instead.")


# ---- trees ----


def _classifier(model: Any, schema: Schema, response: Expression) -> Scoring:
    if type(model.classes_) is list:
        raise refuse(model, "it has several outputs", "Fit one model per output.")
    return Scoring(
        type(model).__name__, schema, response, decision=Decision(response), classes=model.classes_
    )


def _of_trees(model: Any, schema: Schema, trees: TreeEnsemble) -> Scoring:
    """Describe one tree, or the mean of several."""
    largest = float(np.abs(trees.value).max())
    if largest > np.finfo(np.float64).max / trees.n_trees:
        raise refuse(model, "the sum of its values overflows")
    start = zeros(trees.n_outputs * trees.width)
    response = Trees(own_columns(schema), trees, start, divisor=float(trees.n_trees))
    if "classes_" in vars(model):
        return _classifier(model, schema, response)
    return Scoring(type(model).__name__, schema, response)


def _tree(model: Any) -> Scoring:
    return _of_trees(model, model.schema_, TreeEnsemble.from_trees([model.tree_]))


def _forest(model: Any) -> Scoring:
    return _of_trees(model, model.schema_, model.ensemble_)


def _boosting(model: Any) -> Scoring:
    statistics: TargetStatistics | None = vars(model).get("statistics_")
    if isinstance(model.loss_, losses.MultiQuantileLoss):
        raise refuse(model, "it sorts its quantiles", "Fit one model per quantile.")
    columns = own_columns(model.schema_) if statistics is None else _encoded(model.schema_, statistics)
    n_scores = model.n_trees_per_iteration_
    trees = model.ensemble_[: model.best_iteration_ * n_scores]
    scores = Trees(columns, trees, model.base_score_, per_round=n_scores)
    name, schema, link = type(model).__name__, model.schema_, model.loss_.link
    if "classes_" not in vars(model):
        return Scoring(name, schema, _linked(model, link, scores))
    classes = model.classes_
    if type(classes) is list:
        raise refuse(model, "it has several outputs", "Fit one model per output.")
    if len(classes) == 1:
        ones = Constant(np.ones(1))
        return Scoring(name, schema, ones, scores, Decision(ones), classes)
    if len(classes) > 2:
        return Scoring(name, schema, Apply("softmax", scores), scores, Decision(scores), classes)
    response = Apply("complement", _linked(model, link or losses.LOGIT, scores))
    return Scoring(name, schema, response, scores, Decision(response, above=0.5), classes)


def _linked(model: Any, link: losses.Link | None, scores: Expression) -> Expression:
    if link is None or link is losses.IDENTITY:
        return scores
    if link is losses.LOG:
        return Apply("exp", scores)
    if link in (losses.LOGIT, losses.HALF_LOGIT):
        return Apply("sigmoid", scores, factor=1.0 if link is losses.LOGIT else 2.0)
    raise refuse(model, "its loss has a link of its own")


def _encoded(schema: Schema, statistics: TargetStatistics) -> tuple[Column, ...]:
    """Return the columns that target statistics make of a table, in their order."""
    columns = list(own_columns(schema))
    extra: list[Column] = []
    for j, means in zip(statistics.features, statistics.means, strict=True):
        columns[j] = Means(j, means[:, 0])
        extra += [Means(j, means[:, k]) for k in range(1, statistics.n_targets)]
    return (*columns, *extra)


def _adaboost(model: Any) -> Scoring:
    """Describe AdaBoost over trees: every leaf has what its output adds to the scores."""
    if hasattr(model, "outputs_"):
        raise refuse(model, "it has several outputs", "Export the models in outputs_.")
    members, classes = flatten(model.estimators_), model.classes_
    algorithm = find_algorithm(model.algorithm_, len(classes), model.learning_rate)
    if not all(isinstance(member, BaseTree) for member in members):
        raise refuse(model, "its members are not trees")
    if isinstance(algorithm, Logit) and algorithm.n_regressions > 1:
        raise refuse(model, "LogitBoost with more than two classes rounds the sums of each round")
    schema = members[0].schema_
    if not same_inputs([member.schema_ for member in members]):
        raise refuse(model, "its members read the table in different ways")
    trees = []
    for member, weight in zip(members, model.estimator_weights_.tolist(), strict=True):
        tree = member.tree_
        if bool(((tree.missing < 0) & ~tree.is_leaf).any()):
            raise refuse(model, "a member sends rows with missing values to several children")
        output = read_values(member, tree.value[:, 0], algorithm.needs, classes)
        added = algorithm.contribution(
            output[:, None] if isinstance(algorithm, Logit) else output, weight
        ).reshape(tree.node_count, 1, -1)
        trees.append(replace(tree, value=added))
    ensemble = TreeEnsemble.from_trees(trees)
    scores = Trees(own_columns(schema), ensemble, zeros(ensemble.width))
    name, decisions = type(model).__name__, _adaboost_decisions(model, algorithm, scores)
    if len(classes) > 2:
        return Scoring(name, schema, Apply("softmax", scores), decisions, Decision(scores), classes)
    if len(classes) == 1:
        ones = Constant(np.ones(1))
        return Scoring(name, schema, ones, scores, Decision(ones), classes)
    response = Apply("complement", Apply("sigmoid", scores, factor=2.0))
    return Scoring(name, schema, response, decisions, Decision(scores, above=0.0), classes)


def _adaboost_decisions(model: Any, algorithm: Algorithm, scores: Expression) -> Expression:
    """Describe the decision function of AdaBoost, a function of its scores."""
    k = algorithm.n_classes
    if isinstance(algorithm, Samme):
        total = algorithm.total_vote(model.estimator_weights_)
        if k <= 2:
            return WeightedSum((scores,), (4.0,), total)
        return WeightedSum((scores, Constant(np.full(k, total))), (float(k), -1.0), (k - 1) * total)
    return scores if k <= 2 else Apply("center", scores)


def _imported(model: Any) -> Scoring:
    """Describe a model of another library; sums in float32 are not those of C and ONNX."""
    if model.precision_ != "float64":
        raise refuse(model, f"{model.origin_} adds the values of trees in {model.precision_}")
    per_round = len(model.base_score_) if model.per_round_ else None
    scores = Trees(
        own_columns(model.schema_), model.ensemble_, model.base_score_, per_round, float(model.divisor_)
    )
    name, schema, link = type(model).__name__, model.schema_, model.link_
    response: Expression = scores
    if link in ("sigmoid", "normalize"):
        response = Apply("sigmoid", scores, factor=model.link_factor_)
        response = Apply("normalize", response) if link == "normalize" else response
    elif link != "identity":
        response = Apply("softmax" if link == "softmax" else "exp", scores)
    if isinstance(model, ImportedRegressor):
        return Scoring(name, schema, response)
    response = Apply("complement", response) if response.width == 1 else response
    own_scores = None if response is scores else scores
    threshold = vars(model).get("score_threshold_")
    decision = Decision(response) if threshold is None else Decision(scores, above=threshold)
    return Scoring(name, schema, response, own_scores, decision, model.classes_)


# ---- linear models ----


def _linear_scores(model: Any, schema: Schema, columns: Sequence[Column]) -> Linear:
    coefficients = dense_coefficients(model.coef_)
    intercept = np.asarray(model.intercept_, np.float64).reshape(-1)
    coding = getattr(model, "coding_", None)
    widths = (1,) * len(columns) if coding is None else tuple(coding.widths.tolist())
    fill = np.full(len(columns), np.nan) if coding is None else coding.fill
    one_hot = tuple(bool(flag) for flag in schema.categorical)
    intercept = np.broadcast_to(intercept, len(coefficients)).copy()
    return Linear(tuple(columns), widths, one_hot, fill, coefficients, intercept)


def _linear(model: Any) -> Scoring:
    return _linear_over(model, model.schema_, own_columns(model.schema_))


def _linear_over(model: Any, schema: Schema, columns: Sequence[Column]) -> Scoring:
    """Describe a linear model of the given columns; schema is that of the input table."""
    own = model.schema_ if hasattr(model, "schema_") else schema
    scores = _linear_scores(model, own, columns)
    name = type(model).__name__
    if isinstance(model, GeneralizedLinearRegressor):
        return Scoring(name, schema, _generalized(model, scores))
    if is_regressor(model):
        return Scoring(name, schema, scores)
    decision = Decision(scores, above=0.0 if scores.width == 1 else None)
    if not hasattr(model, "predict_proba"):
        return Scoring(name, schema, scores, scores, decision, model.classes_)
    if scores.width == 1:
        response: Expression = Apply("complement", Apply("sigmoid", scores))
    elif model.multi_class == "multinomial":
        response = Apply("softmax", scores)
    else:
        response = Apply("normalize", Apply("sigmoid", scores))
    return Scoring(name, schema, response, scores, decision, model.classes_)


def _generalized(model: Any, scores: Linear) -> Expression:
    link, family, power = model.link, model.family, model.power
    if link == "auto":
        identity = family == "normal" or (family == "tweedie" and power <= 0)
        link = "identity" if identity else "logit" if family == "binomial" else "log"
    if link == "identity":
        return scores
    if link in ("log", "logit"):
        return Apply("exp" if link == "log" else "sigmoid", scores)
    raise refuse(model, f"the link {link!r} is not one of identity, log and logit")


def _svm(model: Any) -> Scoring:
    """Describe a support vector machine of one decision function."""
    if getattr(model, "probability", False):
        raise refuse(model, "its probabilities are coupled by iteration", "Fit it with probability=False.")
    if callable(model.kernel) or model.kernel == "precomputed":
        raise refuse(model, "its kernel is not one of those with a formula")
    if model.coding_ is not None:
        raise refuse(model, "it codes the columns itself", "Code them in a pipeline, and export that.")
    classes = vars(model).get("classes_")
    if classes is not None and len(classes) > 2:
        raise refuse(model, "it votes among pairs of classes", "Fit one model per pair, or use LinearSVC.")
    given = vars(model).get("feature_names_in_")
    names = default_names(model.n_features_in_) if given is None else given.tolist()
    schema = Schema(tuple(Feature(one, "numeric", (), "float64") for one in names), given is not None)
    vectors = model.support_vectors_
    vectors = vectors.toarray() if hasattr(vectors, "toarray") else np.asarray(vectors)
    coefficients = np.ravel(dense_coefficients(model.dual_coef_))
    intercept, columns = float(np.ravel(model.intercept_)[0]), own_columns(schema)
    scores: Expression
    if model.kernel == "linear":
        n = len(columns)
        fill, weights = np.full(n, np.nan), dense_coefficients(model.coef_)
        scores = Linear(columns, (1,) * n, (False,) * n, fill, weights, np.array([intercept]))
    else:
        kernel = model.fitted_kernel
        shape = (kernel.gamma, kernel.coef0, kernel.degree)
        scores = KernelSum(columns, model.kernel, *shape, vectors, coefficients, intercept)
    name = type(model).__name__
    if classes is None:
        return Scoring(name, schema, scores)
    return Scoring(name, schema, scores, scores, Decision(scores, above=0.0), classes)


# ---- ensembles of any members ----


def _bagging(model: Any) -> Scoring:
    classes = vars(model).get("classes_")
    members, features = model.estimators_, model.estimators_features_
    is_soft = getattr(model, "voting", "soft") == "soft"
    merged = merge_trees(members, features, model.n_features_in_, classes) if is_soft else None
    if merged is not None:
        return _of_trees(model, merged.schema, merged.trees)
    if type(classes) is list:
        raise refuse(model, "it has several outputs", "Fit one model per output.")
    if any(len(columns) != model.n_features_in_ for columns in features):
        raise refuse(model, "its members have parts of the columns")
    parts = [describe_scoring(member) for member in members]
    if any((columns != np.arange(model.n_features_in_)).any() for columns in features):
        raise refuse(model, "its members have the columns in another order")
    each = [_aligned(part, classes, hard=not is_soft) for part in parts]
    weights = (1.0,) * len(each)
    return _mean_of(model, parts, WeightedSum(tuple(each), weights, float(len(each))))


def _weighted(model: Any) -> Scoring:
    """Describe voting and ensemble selection."""
    if getattr(model, "rule", "plurality") != "plurality":
        raise refuse(model, "it rejects rows without a majority", 'Set rule="plurality".')
    kept = [(float(w), member) for w, member in zip(model.weights_, model.estimators_, strict=True) if w != 0]
    parts = [describe_scoring(member) for _, member in kept]
    hard = getattr(model, "voting", "soft") == "hard" and "classes_" in vars(model)
    each = [_aligned(part, vars(model).get("classes_"), hard) for part in parts]
    return _mean_of(model, parts, WeightedSum(tuple(each), tuple(w for w, _ in kept)))


def _mean_of(model: Any, parts: list[Scoring], response: Expression) -> Scoring:
    schemas = [part.schema for part in parts]
    if not same_inputs(schemas):
        raise refuse(model, "its members read the table in different ways")
    if "classes_" in vars(model):
        return _classifier(model, schemas[0], response)
    if response.width != 1:
        raise refuse(model, "it has several outputs", "Fit one model per output.")
    return Scoring(type(model).__name__, schemas[0], response)


def _aligned(part: Scoring, classes: NDArray[Any] | None, hard: bool) -> Expression:
    """Return probabilities, votes or values of a member as columns in the order of all classes."""
    if classes is None or part.classes is None:
        return part.response
    found = part.response
    if hard or (part.response is part.scores):
        if part.decision is None:
            raise refuse(part, f"{part.name} has no classes")
        found = OneHot(part.decision, len(part.classes))
    positions = tuple(np.searchsorted(classes, part.classes).tolist())
    return found if positions == tuple(range(len(classes))) else Place(found, positions, len(classes))


def _stacking(model: Any) -> Scoring:
    if model.n_outputs_ > 1:
        raise refuse(model, "it has several outputs", "Fit one model per output.")
    parts = [describe_scoring(member) for member in model.estimators_]
    if not same_inputs([part.schema for part in parts]):
        raise refuse(model, "its members read the table in different ways")
    schema, classes = parts[0].schema, vars(model).get("classes_")
    if isinstance(model.final_estimator_, LogarithmicPoolClassifier):
        return replace(_log_pool(model.final_estimator_, schema, parts), name=type(model).__name__)
    columns: list[Column] = []
    for part, method in zip(parts, model.stack_method_, strict=True):
        columns += _stacked(model, part, method, classes)
    if model.passthrough:
        columns += own_columns(schema)
    return replace(_final(model.final_estimator_, schema, columns), name=type(model).__name__)


def _log_pool(final: Any, schema: Schema, parts: list[Scoring]) -> Scoring:
    """Describe a stack whose members' probabilities are multiplied."""
    logs = [Apply("log", _aligned(part, final.classes_, hard=False), float(final.floor)) for part in parts]
    sums = WeightedSum(tuple(logs), tuple(final.coef_.tolist()))
    response, scores = Apply("softmax", sums), cast("Expression", sums)
    if len(final.classes_) == 2:
        both = (Computed(sums, 0), Computed(sums, 1))
        no_fill, difference = np.full(2, np.nan), np.array([[-1.0, 1.0]])
        scores = Linear(both, (1, 1), (False, False), no_fill, difference, np.zeros(1))
    return Scoring("", schema, response, scores, Decision(response), final.classes_)


def _stacked(model: Any, part: Scoring, method: str, classes: NDArray[Any] | None) -> list[Column]:
    """Return the columns that a member of a stack adds."""
    if classes is None:
        return [Computed(part.response, 0)]
    if method == "predict_proba":
        found = _aligned(part, classes, hard=False)
        return [Computed(found, k) for k in range(1 if len(classes) == 2 else 0, len(classes))]
    same = part.classes is not None and np.array_equal(part.classes, classes)
    if method == "decision_function" and same and part.scores is not None:
        return [Computed(part.scores, k) for k in range(part.scores.width)]
    raise refuse(model, f"a member is used by its method {method}")


def _final(final: Any, schema: Schema, columns: list[Column]) -> Scoring:
    if isinstance(final, MultiResponseClassifier | LeastSquaresRegressor):
        no_categories = np.zeros(len(columns), np.bool_)
        sums = Linear(
            tuple(columns),
            (1,) * len(columns),
            tuple(no_categories.tolist()),
            np.full(len(columns), np.nan),
            final.coef_,
            final.intercept_,
        )
        if isinstance(final, LeastSquaresRegressor):
            return Scoring("", schema, sums)
        both: Expression = Apply("complement", sums) if len(final.classes_) == 2 else sums
        response = Apply("simplex", both)
        scores: Expression = sums
        if both is not sums:
            scores = WeightedSum((sums, Constant(np.full(1, 0.5))), (1.0, -1.0))
        return Scoring("", schema, response, scores, Decision(response), final.classes_)
    if isinstance(final, LinearModel):
        return _linear_over(final, schema, columns)
    inner = describe_scoring(final)
    if not isinstance(inner.response, Trees):
        raise refuse(final, "as the final estimator of a stack it is not one sum of trees")
    trees = replace(inner.response, columns=tuple(columns))
    decision = None if inner.decision is None else Decision(trees)
    return replace(inner, schema=schema, response=trees, decision=decision)


_DESCRIPTIONS: tuple[tuple[Any, Callable[[Any], Scoring]], ...] = (
    (BaseTree, _tree),
    (BaseForest, _forest),
    ((ImportedClassifier, ImportedRegressor), _imported),
    ((GradientBoostingClassifier, GradientBoostingRegressor, GradientBoostingRanker), _boosting),
    (AdaBoostClassifier, _adaboost),
    ((BaggingClassifier, BaggingRegressor), _bagging),
    ((StackingClassifier, StackingRegressor), _stacking),
    (
        (VotingClassifier, VotingRegressor, EnsembleSelectionClassifier, EnsembleSelectionRegressor),
        _weighted,
    ),
    (LinearModel, _linear),
    ((SVC, SVR), _svm),
)
"""Base classes, and the functions that describe their models."""


def has_fractions(trees: TreeEnsemble | TreeArrays) -> bool:
    """Return whether a node sends rows with missing values to all of its children.

    >>> from spinney import DecisionTreeClassifier
    >>> has_fractions(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_)
    False
    """
    return bool(((trees.missing < 0) & (trees.kind != LEAF) & (trees.kind != LINEAR)).any())


def n_outputs_of(values: Floats) -> int:
    """Return the number of values per node.

    >>> n_outputs_of(np.zeros((3, 2, 2)))
    4
    """
    return int(np.prod(values.shape[1:]))
