"""`to_predictor`: the predictions of a fitted model as an object that needs NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputTypeError, ModelFileError
from spinney.core.fitted_rules import broken_rule
from spinney.core.parameters import thread_count
from spinney.data.schema import Schema
from spinney.export.expressions import Decision, Expression
from spinney.export.steps import Known, from_steps, read_decision, to_steps
from spinney.export.table_values import TableValues
from spinney.io import Persistent, require
from spinney.tree.predictor import Predictor

_MIN_ROWS_FOR_THREADS = 256
_PARTS = {"name", "schema", "unseen", "steps", "response", "scores", "decision", "classes"}


def to_predictor(model: Any) -> TablePredictor:
    """Return the predictions of a fitted model, without what fitting needs.

    The predictor is saved by `spinney.save` and loaded by `spinney.load` like the model. A process that loads
    it imports NumPy and nothing else, neither scikit-learn nor SciPy, and so starts faster; data frames and
    sparse matrices import the libraries that read them when they are given.

    Parameters
    ----------
    model : estimator
        A fitted model that `to_c` accepts, or a support vector machine with one decision function.

    Returns
    -------
    TablePredictor
        The predictor. Sums of trees, regressions and decisions have the same bits as those of the model.
        Probabilities of two classes that are computed from linear scores or from those of AdaBoost, averages
        over members, and linear sums over sparse matrices or one-hot columns may differ by 1e-12.

    Raises
    ------
    InputTypeError
        If the model, or a member of it, is of a kind that cannot be described.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> X = {"color": ["red", "blue"], "size": [1.0, 2.0]}
    >>> predictor = to_predictor(DecisionTreeClassifier().fit(X, ["no", "yes"]))
    >>> predictor.predict({"color": ["blue", None], "size": [2.0, 1.0]}).tolist()
    ['yes', 'no']
    """
    return TablePredictor(model)


def _describe(model: Any) -> dict[str, Any]:
    """Return the state of a predictor of a fitted model."""
    from spinney.export.scoring import describe_scoring, refuse  # imports every learner
    from spinney.linear.base import LinearModel

    scoring = describe_scoring(model)
    if scoring.classes is None and isinstance(model, LinearModel) and np.shape(model.coef_)[:-1] == (1,):
        raise refuse(model, "it predicts a table of one column", "Fit it to a target of one dimension.")
    roots = [one for one in (scoring.response, scoring.scores) if one is not None]
    decided = [] if scoring.decision is None else [scoring.decision.of]
    steps, position = to_steps([*roots, *decided])
    state: dict[str, Any] = {
        "name": scoring.name,
        "schema": scoring.schema.to_state(),
        "unseen": _unseen(model),
        "steps": steps,
        "response": position[id(scoring.response)],
        "scores": None if scoring.scores is None else position[id(scoring.scores)],
        "decision": None,
        "classes": scoring.classes,
    }
    if scoring.decision is not None:
        above = scoring.decision.above
        above = None if above is None else float(above)
        state["decision"] = ["Decision", position[id(scoring.decision.of)], above]
    return state


def _unseen(model: Any) -> str:
    """Return what a model does with categories that it has not seen, as ``unseen`` of the estimators."""
    if hasattr(model, "unseen"):
        return str(model.unseen)
    members = getattr(model, "estimators_", ())
    return "error" if any(_unseen(member) == "error" for member in members) else "missing"


class _WhereKnown:
    """A method that objects have only if one of their attributes is not None."""

    def __init__(self, attribute: str, method: Callable[..., Any]) -> None:
        self._attribute, self._method = attribute, method

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        if getattr(instance, self._attribute) is None:
            raise AttributeError(f"This {instance.name} has no {self._method.__name__}")
        return MethodType(self._method, instance)


def _where_known(attribute: str) -> Callable[[Callable[..., Any]], Any]:
    return lambda method: _WhereKnown(attribute, method)


class TablePredictor(Persistent):
    """Predicts tables like a fitted model, and needs NumPy alone; made by `to_predictor`.

    It has the methods `predict_proba` and `decision_function` if the model has them.

    Parameters
    ----------
    model : estimator
        A fitted model.

    Attributes
    ----------
    name : str
        Class of the model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the table of the fit had any.
    classes_ : ndarray of shape (n_classes,)
        Class labels, of classifiers.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> predictor = to_predictor(DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0]))
    >>> predictor.predict([[0.9], [0.1]]).tolist(), hasattr(predictor, "predict_proba")
    ([3.0, 2.0], False)
    """

    name: str
    classes_: NDArray[Any]
    feature_names_in_: NDArray[Any]
    n_features_in_: int
    _state: dict[str, Any]
    _schema: Schema
    _unseen: Any
    _response: Expression
    _scores: Expression | None
    _probabilities: Expression | None
    _decision: Decision | None
    _predictors: dict[int, Predictor]

    def __init__(self, model: Any) -> None:
        try:
            self._set_state(_describe(model))
        except ModelFileError as error:
            why = (
                str(error).removeprefix("The model file is damaged: ").removesuffix(" Save the model again.")
            )
            raise InputTypeError(f"A {type(model).__name__} cannot be exported: {why}") from error

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class or value of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels or values.
        """
        values = self._values(X)
        if self._decision is not None:
            return np.asarray(self.classes_.take(values.chosen(self._decision)))
        return _flat(values.of(self._response))

    @_where_known("_probabilities")
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities in the order of `classes_`.
        """
        return self._values(X).of(self._response)

    @_where_known("_scores")
    def decision_function(self, X: Any) -> Floats:
        """Return the raw scores of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Scores, one column per class; with two classes, the score of the second.
        """
        assert self._scores is not None
        return _flat(self._values(X).of(self._scores))

    def __repr__(self) -> str:
        return f"TablePredictor({self.name}, n_features_in_={self.n_features_in_})"

    def _values(self, X: Any) -> TableValues:
        table = self._schema.read(X, self._unseen, self.name)
        n_threads = thread_count(None) if table.n_rows >= _MIN_ROWS_FOR_THREADS else 1
        return TableValues(self.name, table, n_threads, self._predictors)

    # ---- model files ----

    def _get_state(self) -> dict[str, Any]:
        return self._state

    def _set_state(self, state: dict[str, Any]) -> None:
        require(set(state) == _PARTS, "a predictor does not have the parts of one")
        require(type(state["name"]) is str, "the name of a predictor is not a text")
        unseen, classes = state["unseen"], state["classes"]
        valid = type(unseen) is str and unseen in ("missing", "error")
        require(valid, "what a predictor does with unseen categories is not valid")
        broken = None if classes is None else broken_rule({"classes_": classes})
        require(broken is None and type(classes) is not list, "the classes of a predictor are not valid")
        schema = Schema.from_state(state["schema"])
        known = from_steps(state["steps"], schema, 0 if classes is None else len(classes))
        self.name, self._unseen, self._schema, self._state = state["name"], unseen, schema, state
        self._response = known.get(state["response"])
        self._scores = None if state["scores"] is None else known.get(state["scores"])
        self._decision = None if classes is None else read_decision(state["decision"], known)
        self._predictors = {}
        self._set_described(classes, known)

    def _set_described(self, classes: NDArray[Any] | None, known: Known) -> None:
        """Set the public attributes, and check that there is one output per class."""
        self.n_features_in_ = self._schema.n_features
        if self._schema.has_names:
            self.feature_names_in_ = np.array(self._schema.names, dtype=object)
        self._probabilities = None
        if classes is None:
            require(self._scores is None, "a predictor of values has scores")
            return
        self.classes_ = classes
        assert self._decision is not None
        valid = known.n_decided(self._decision) == len(classes)
        require(valid, "a predictor does not decide among its classes")
        if self._response is not self._scores:
            self._probabilities = self._response
            valid = known.width(self._response) == len(classes)
            require(valid, "a predictor does not have one probability per class")


def _flat(values: Floats) -> Floats:
    """Return values of one column as a vector."""
    return values[:, 0] if values.shape[1] == 1 else values
