"""Bagging over any estimator: bags of rows, of columns, or of both; members vote or are averaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.answers import (
    Answer,
    Array,
    answers_left_out,
    by_output,
    describe_classes,
    give_numbers,
    give_scores,
    give_shares,
    give_votes,
    likeliest,
    split_shares,
)
from spinney.bagging.base import _BaseBagging
from spinney.bagging.draws import Bags
from spinney.bagging.fitted import check_fitted, check_labels, check_left_out
from spinney.bagging.out_of_bag import accuracy, out_of_bag_mean, out_of_bag_score, r_squared
from spinney.data.target import encode_classes, encode_values
from spinney.members.base_estimators import base_estimator_tags
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor


def _members_have(name: str) -> Callable[[Any], bool]:
    return lambda ensemble: hasattr(ensemble._pattern(), name)


class BaggingClassifier(ClassifierMixin, _BaseBagging):  # type: ignore[misc]
    """Classify by the vote of members that each learned from a bag of rows, of columns, or of both.

    The parameters of scikit-learn's ``BaggingClassifier`` come first, with their meaning; ``estimator`` is
    by default Spinney's ``DecisionTreeClassifier``. Bagging is ``bootstrap=True``, pasting
    ``bootstrap=False, max_samples=0.5``, random subspaces ``bootstrap=False, max_features=0.5``, random
    patches both.

    max_samples : int, float or None
        Rows in a bag: a number, a share, or None for as many as there are. Whole sample weights count
        copies of rows, also here.
    oob_score : bool, or a function of (y, predicted)
        Give ``oob_decision_function_`` and ``oob_score_``: the accuracy, or what the function says, over the
        rows that some member left out. Also for bags without replacement, and with ``warm_start``.
    verbose : int
        Above 0, draw a progress bar.
    voting : "soft" or "hard"
        Average the members' probabilities, or count their votes; of classes with as many votes the first
        in ``classes_`` wins. Members without probabilities vote in any case.
    parameter_distributions : dict or None
        Random hyper-parameters: each member draws a value of every parameter named, from a list, a frozen
        distribution of ``scipy.stats``, or a function of a ``numpy.random.Generator``.
    oob_pruning : bool
        Prune each member, which must be one of Spinney's trees, by reduced error on the rows that it left
        out. ``oob_score_`` is then a little too good, as these rows had a say.

    Fitted: ``estimators_``, ``estimators_samples_``, ``estimators_features_``, ``classes_``, ``n_classes_``,
    ``n_features_in_``, ``feature_names_in_``, and with ``oob_score`` the two named there.

    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> model = BaggingClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    >>> model.predict(X).shape, 0.0 <= model.oob_score_ <= 1.0
    ((17,), True)
    """

    _state_attributes = ("classes_", "oob_decision_function_")
    _required_attributes = ("classes_",)
    _transient_attributes = ("n_classes_",)

    voting: Literal["soft", "hard"]
    classes_: Any
    n_classes_: Any
    oob_decision_function_: Any

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: int | float | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        voting: Literal["soft", "hard"] = "soft",
        parameter_distributions: Mapping[str, Any] | None = None,
        oob_pruning: bool = False,
    ) -> None:
        self._keep(locals())

    def _default(self) -> Any:
        return DecisionTreeClassifier()

    def _learns_another_kind(self, estimator: Any) -> bool:
        return bool(is_regressor(estimator))

    def _read_classes(self, y: Array) -> dict[str, Any]:
        classes = list(encode_classes(y).classes)
        return describe_classes(classes[0] if y.ndim == 1 else classes)

    def _same_targets(self, targets: dict[str, Any]) -> bool:
        old, new = by_output(self.classes_), by_output(targets["classes_"])
        return len(old) == len(new) and all(map(np.array_equal, old, new))

    def _answer(self, classes: Any) -> Answer:
        return partial(give_votes if self.voting == "hard" else give_shares, classes=by_output(classes))

    def _judge(
        self, members: list[Any], X: Any, y: Array, bags: Bags, targets: dict[str, Any]
    ) -> dict[str, Any]:
        classes = targets["classes_"]
        parts = answers_left_out(members, bags, X, self._answer(classes), self.n_jobs)
        shares, n_answers = out_of_bag_mean(bags.n_rows, parts)
        outputs = split_shares(shares, classes)
        score = self.oob_score if callable(self.oob_score) else accuracy
        predicted = likeliest(outputs, classes)
        return {
            "oob_decision_function_": outputs if type(classes) is list else outputs[0],
            "oob_score_": out_of_bag_score(score, y, predicted, n_answers > 0, bags.weights),
        }

    def predict(self, X: Any) -> Array:
        """Predict the class that the members give the most.  -> (n_rows,) or (n_rows, n_outputs)

        >>> from spinney import BaggingClassifier
        >>> model = BaggingClassifier(random_state=0).fit([["red"], ["blue"]] * 5, [1, 0] * 5)
        >>> model.predict([["red"]]).tolist()
        [1]
        """
        return likeliest(self._shares(X), self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Give the mean of the members' probabilities, or with hard voting the share of votes.

        -> (n_rows, n_classes), with several outputs a list of such arrays.
        """
        shares = self._shares(X)
        return shares if type(self.classes_) is list else shares[0]

    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithm of ``predict_proba``, −inf where that is 0."""
        with np.errstate(divide="ignore"):
            logarithms = [np.log(shares) for shares in self._shares(X)]
        return logarithms if type(self.classes_) is list else logarithms[0]

    @available_if(_members_have("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the mean of the members' scores.  -> (n_rows,) with two classes, else (n_rows, n_classes)

        In a member that never met a class, this class has the least score of the row.
        """
        return self._mean(X, lambda member, part: give_scores(member, part, by_output(self.classes_)))

    def _shares(self, X: Any) -> list[NDArray[np.float64]]:
        check_is_fitted(self)
        values = self._mean_of_trees(X) if self.voting == "soft" else None
        if values is not None:
            return [values[:, k, : len(labels)] for k, labels in enumerate(by_output(self.classes_))]
        return split_shares(self._mean(X, self._answer(self.classes_)), self.classes_)

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        if hasattr(self, "classes_"):
            self.__dict__ |= describe_classes(self.classes_)

    def _check_parts(self) -> None:
        outputs = check_labels(self.classes_)
        check_fitted(self, outputs)
        if hasattr(self, "oob_decision_function_"):
            answers = by_output(self.oob_decision_function_)
            for labels, part in zip(outputs, answers, strict=True):
                check_left_out(part, (self._bags.n_rows, len(labels)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = base_estimator_tags(self._pattern()).classifier_tags
        if base is not None:
            tags.classifier_tags.multi_class = base.multi_class
            tags.classifier_tags.multi_label = base.multi_label
        return tags


class BaggingRegressor(RegressorMixin, _BaseBagging):  # type: ignore[misc]
    """Predict the mean of members that each learned from a bag of rows, of columns, or of both.

    The parameters of scikit-learn's ``BaggingRegressor`` come first; ``estimator`` is by default Spinney's
    ``DecisionTreeRegressor``. ``max_samples``, ``oob_score`` (by default R²), ``verbose``,
    ``parameter_distributions`` and ``oob_pruning`` are as in ``BaggingClassifier``.

    Fitted: ``estimators_``, ``estimators_samples_``, ``estimators_features_``, ``n_features_in_``,
    ``feature_names_in_``, and with ``oob_score`` ``oob_prediction_`` and ``oob_score_``.

    >>> X, y = np.arange(40.0)[:, None], np.arange(40.0)
    >>> model = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    >>> bool(model.oob_score_ > 0.95)
    True
    """

    _state_attributes = ("oob_prediction_",)
    oob_prediction_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: int | float | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        parameter_distributions: Mapping[str, Any] | None = None,
        oob_pruning: bool = False,
    ) -> None:
        self._keep(locals())

    def _default(self) -> Any:
        return DecisionTreeRegressor()

    def _learns_another_kind(self, estimator: Any) -> bool:
        return bool(is_classifier(estimator))

    def _read_classes(self, y: Array) -> dict[str, Any]:
        encode_values(y, non_negative=False)
        return {}

    def _judge(
        self, members: list[Any], X: Any, y: Array, bags: Bags, targets: dict[str, Any]
    ) -> dict[str, Any]:
        parts = answers_left_out(members, bags, X, give_numbers, self.n_jobs)
        means, n_answers = out_of_bag_mean(bags.n_rows, parts)
        score = self.oob_score if callable(self.oob_score) else r_squared
        return {
            "oob_prediction_": means,
            "oob_score_": out_of_bag_score(score, y, means, n_answers > 0, bags.weights),
        }

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean of what the members predict.  -> (n_rows,) or (n_rows, n_outputs)"""
        values = self._mean_of_trees(X)
        if values is None:
            return self._mean(X, give_numbers)
        return values[:, 0, 0] if values.shape[1] == 1 else values[:, :, 0]

    def _check_parts(self) -> None:
        check_fitted(self, None)
        if hasattr(self, "oob_prediction_"):
            more = np.shape(self.oob_prediction_)[1:]
            check_left_out(self.oob_prediction_, (self._bags.n_rows, *more))
