"""What the members of a fitted ensemble answer, each on the columns and in the labels it was fitted with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from spinney.core.errors import InputError, InputTypeError
from spinney.members.tables import take_columns

# Classes of scikit-learn, by name: importing them takes longer than all of Spinney.
# These fit their members to the codes 0 … K−1 of the classes.
_CODING = {"BaggingClassifier", "ForestClassifier", "StackingClassifier", "VotingClassifier"}
# These hand their members arrays, whatever they are given; all others hand tables on as they are.
_CONVERTING = {"BaseBagging", "BaseForest", "BaseWeightBoosting"}
# The members of these answer other questions than the whole: one bit of a code, or one output.
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
    """Predict with every member of a fitted ensemble, one column a member, in the labels of the ensemble.

    An ensemble is whatever has ``estimators_``: bagging, forests, boosting, voting, stacking, Spinney's or
    scikit-learn's; also one at the end of a pipeline or found by a search, or a list of fitted estimators.
    Shape (n_rows, n_members); members with several outputs give (n_rows, n_members, n_outputs).

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
    answers = [
        np.asarray(member.predict(table if chosen is None else take_columns(table, chosen)))
        for member, chosen in zip(members, columns, strict=True)
    ]
    if not isinstance(ensemble, list) and is_classifier(ensemble):
        answers = _decode(ensemble, members, answers)
    return np.stack(answers, axis=1)


def member_weights(ensemble: Any) -> NDArray[np.float64] | None:
    """Give the weights by which a voting ensemble averages its members, None for any other ensemble.

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
    """List the members of a fitted ensemble that answer for themselves.

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
                fix="Give a fitted ensemble whose members answer for themselves, as in bagging or AdaBoost; "
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
    """Leave out dropped members; refuse parts of a sum or of a code, which say nothing on their own."""
    divided = _is_one_of(ensemble, _DIVIDING) or hasattr(ensemble, "code_book_")
    members = [member for member in found if not isinstance(member, str)]
    in_stages = any(isinstance(member, list | np.ndarray) for member in members)
    if divided or in_stages or (is_classifier(ensemble) and not all(map(is_classifier, members))):
        raise InputError(
            f"The members of {type(ensemble).__name__} do not answer for themselves: each is a part of the "
            "answer only",
            fix="Diversity is measured for members that vote or are averaged.",
        )
    return members


def _unwrap(ensemble: Any, X: Any) -> tuple[Any, Any]:
    """Go to the ensemble at the end of pipelines and searches, and to the table as it gets there."""
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
    """Give a data frame as an array, anything else as it is."""
    return np.asarray(X) if hasattr(X, "columns") else X


def _is_one_of(ensemble: Any, names: set[str]) -> bool:
    """Tell whether an ensemble is of one of scikit-learn's classes, or of a class made from one."""
    return any(
        base.__name__ in names and base.__module__.startswith("sklearn.") for base in type(ensemble).__mro__
    )


def _decode(ensemble: Any, members: Sequence[Any], answers: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Give answers in the labels of the ensemble, where its members were fitted to codes of them."""
    classes = getattr(ensemble, "classes_", None)
    if not isinstance(classes, np.ndarray) or not _speak_codes(ensemble, classes, members, answers):
        return answers
    return [classes[np.asarray(answer).astype(np.intp)] for answer in answers]


def _speak_codes(
    ensemble: Any, classes: NDArray[Any], members: Sequence[Any], answers: Sequence[NDArray[Any]]
) -> bool:
    """Tell whether the members answer with 0 … K−1 instead of labels.

    Told by what they can answer, all together: one member may have met a few classes only.
    """
    labels, codes = set(classes.tolist()), set(range(len(classes)))
    spoken: set[Any] = set()
    for member, answer in zip(members, answers, strict=True):
        spoken |= set(np.unique(getattr(member, "classes_", answer)).tolist())
    if spoken <= labels and spoken <= codes and labels != codes:
        return _is_one_of(ensemble, _CODING) and getattr(ensemble, "cv", None) != "prefit"
    return not spoken <= labels and spoken <= codes
