"""Predictions of the members of a fitted ensemble, each on its own columns and in the ensemble's labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from spinney.core.errors import InputError, InputTypeError
from spinney.members.tables import take_columns

# Classes of scikit-learn by name, because importing them takes longer than importing Spinney.
# These fit their members to the codes 0 … K−1 of the classes.
_CODING = {"BaggingClassifier", "ForestClassifier", "StackingClassifier", "VotingClassifier"}
# These convert tables to arrays for their members; all others pass tables unchanged.
_CONVERTING = {"BaseBagging", "BaseForest", "BaseWeightBoosting"}
# The members of these predict something else than the ensemble: one bit of a code, or one output.
_DIVIDING = {
    "ClassifierChain",
    "MultiOutputClassifier",
    "MultiOutputRegressor",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "OutputCodeClassifier",
    "RegressorChain",
}


def member_predictions(ensemble: Any, X: Any) -> NDArray[Any]:
    """Predict with every member of a fitted ensemble, in the labels of the ensemble.

    Parameters
    ----------
    ensemble : estimator or list of estimators
        A fitted ensemble with ``estimators_`` (bagging, forests, boosting, voting, stacking; Spinney's or
        scikit-learn's), a pipeline or search that ends in one, or a list of fitted estimators.
    X : table of shape (n_rows, n_features)
        Rows to predict.

    Returns
    -------
    ndarray of shape (n_rows, n_members) or (n_rows, n_members, n_outputs)
        Predictions, one column per member.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0]], ["no", "yes", "yes"]
    >>> trees = [DecisionTreeClassifier(max_depth=depth).fit(X, y) for depth in (1, 2)]
    >>> member_predictions(trees, X).tolist()
    [['no', 'no'], ['yes', 'yes'], ['yes', 'yes']]
    """
    ensemble, X = _unwrap(list(ensemble) if isinstance(ensemble, tuple) else ensemble, X)
    members = fitted_members(ensemble)
    table = _plain(X) if _is_one_of(ensemble, _CONVERTING) else X
    columns = getattr(ensemble, "estimators_features_", [None] * len(members))
    predictions = [
        np.asarray(member.predict(table if chosen is None else take_columns(table, chosen)))
        for member, chosen in zip(members, columns, strict=True)
    ]
    if not isinstance(ensemble, list) and is_classifier(ensemble):
        classes = getattr(ensemble, "classes_", None)
        if isinstance(classes, np.ndarray) and _predict_codes(ensemble, classes, members, predictions):
            predictions = [classes[codes.astype(np.intp)] for codes in predictions]
    return np.stack(predictions, axis=1)


def member_weights(ensemble: Any) -> NDArray[np.float64] | None:
    """Return the weights by which a voting ensemble averages its members, None for any other ensemble.

    >>> from sklearn.ensemble import VotingRegressor
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> ensemble = VotingRegressor([("a", LinearRegression()), ("b", Ridge())], weights=[1, 3])
    >>> member_weights(ensemble.fit([[0.0], [1.0]], [0.0, 1.0])).tolist()
    [1.0, 3.0]
    """
    ensemble = _unwrap(ensemble, None)[0]
    learned = getattr(ensemble, "weights_", None)
    if learned is not None:
        return np.asarray(learned, dtype=np.float64)
    given = getattr(ensemble, "weights", None)
    if given is None or isinstance(given, str) or not hasattr(ensemble, "estimators"):
        return None
    kept = [weight for weight, (_, one) in zip(given, ensemble.estimators, strict=True) if one != "drop"]
    return np.asarray(kept, dtype=np.float64)


def fitted_members(ensemble: Any) -> list[Any]:
    """Return the members of a fitted ensemble, each of which predicts by itself.

    >>> from sklearn.dummy import DummyClassifier
    >>> len(fitted_members([DummyClassifier(), DummyClassifier()]))
    2
    """
    if isinstance(ensemble, list | tuple):
        members = list(ensemble)
    else:
        found = getattr(ensemble, "estimators_", None)
        if found is None:
            raise InputTypeError(
                f"{type(ensemble).__name__} has no estimators_",
                fix="Give a fitted ensemble whose members predict by themselves, as in bagging or AdaBoost; "
                "a list of fitted estimators; or predictions without X.",
            )
        members = _separate(ensemble, found)
    if not members:
        raise InputError(f"{type(ensemble).__name__} has no members.")
    without = [type(member).__name__ for member in members if not hasattr(member, "predict")]
    if without:
        raise InputTypeError(f"A member is a {without[0]}, which cannot predict.")
    return members


def _separate(ensemble: Any, found: Iterable[Any]) -> list[Any]:
    """Leave out dropped members; refuse parts of a sum or of a code, which do not predict by themselves."""
    divided = _is_one_of(ensemble, _DIVIDING, ("sklearn.", "spinney.")) or hasattr(ensemble, "code_book_")
    members = [member for member in found if not isinstance(member, str)]
    in_stages = any(isinstance(member, list | np.ndarray) for member in members)
    if divided or in_stages or (is_classifier(ensemble) and not all(map(is_classifier, members))):
        raise InputError(
            f"The members of {type(ensemble).__name__} do not predict by themselves: each is only a part of "
            "the prediction",
            fix="Diversity is measured for members that vote or are averaged.",
        )
    return members


def _unwrap(ensemble: Any, X: Any) -> tuple[Any, Any]:
    """Return the ensemble at the end of pipelines and searches, and the table transformed for it."""
    while not isinstance(ensemble, list) and not hasattr(ensemble, "estimators_"):
        if hasattr(ensemble, "steps"):
            X = ensemble[:-1].transform(X) if len(ensemble.steps) > 1 and X is not None else X
            ensemble = ensemble[-1]
        elif hasattr(ensemble, "best_estimator_"):
            ensemble = ensemble.best_estimator_
        else:
            break
    return ensemble, X


def _plain(X: Any) -> Any:
    """Convert a data frame to an array; leave anything else unchanged."""
    return np.asarray(X) if hasattr(X, "columns") else X


def _is_one_of(ensemble: Any, names: set[str], of: str | tuple[str, ...] = "sklearn.") -> bool:
    """Return whether an ensemble is of one of these classes, or of a subclass; `of` begins their modules."""
    return any(base.__name__ in names and base.__module__.startswith(of) for base in type(ensemble).__mro__)


def _predict_codes(
    ensemble: Any, classes: NDArray[Any], members: Sequence[Any], predictions: Sequence[NDArray[Any]]
) -> bool:
    """Return whether the members predict 0 … K−1 instead of labels.

    Decided from the classes of all members together: one member may have seen only a few of them.
    """
    labels, codes = set(classes.tolist()), set(range(len(classes)))
    known: set[Any] = set()
    for member, predicted in zip(members, predictions, strict=True):
        known |= set(np.unique(getattr(member, "classes_", predicted)).tolist())
    if known <= labels and known <= codes and labels != codes:
        return _is_one_of(ensemble, _CODING) and getattr(ensemble, "cv", None) != "prefit"
    return not known <= labels and known <= codes
