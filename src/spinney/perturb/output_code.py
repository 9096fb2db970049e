"""Output codes: a multiclass problem as several binary ones, decoded to a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.utils.validation import _check_method_params

from spinney.base import parameters
from spinney.core.elementary import log, softmax
from spinney.core.errors import InputError
from spinney.core.parameters import (
    FLAG,
    NONE,
    Integer,
    OneOf,
    Real,
    Rule,
    Use,
    check_parameters,
    draw_seed,
    thread_count,
)
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.core.seeds import stream
from spinney.data.target import encode_labels
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, make_member
from spinney.members.fitting import fit_member, fit_members, run_jobs
from spinney.members.metadata import RoutesToEstimator
from spinney.members.tables import (
    check_input,
    check_labels,
    count_rows,
    count_training_rows,
    describe_input,
    take_rows,
)
from spinney.perturb import codes as output_codes
from spinney.perturb.base import _MemberEnsemble
from spinney.trees import DecisionTreeClassifier

_RESPONSES = ("decision_function", "predict_proba", "predict")
# Purposes of the random streams: the code, and member t by _MEMBERS + t.
_CODE, _MEMBERS = 0, 1


@parameters
class OutputCodeClassifier(ClassifierMixin, RoutesToEstimator, _MemberEnsemble):  # type: ignore[misc]
    """Error-correcting output codes (Dietterich and Bakiri, 1995) over any classifier.

    A code has one row per class and one column per member: 1 and −1 are the two sides that the member
    separates, and rows of a class with a 0 are left out of its training. The class is predicted whose row of
    the code fits the predictions of all members best, so that a few wrong ones are corrected. With two
    classes there is one member. A class without weight has a row of zeros and is never predicted.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What members are copies of; None is a full :class:`~spinney.DecisionTreeClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the code and of the members.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    verbose : int, default=0
        Above 0: show a progress bar.
    code : str or array-like of shape (n_classes, n_members), default="dense"
        "one-vs-one": one column per pair of classes; "one-vs-rest": one column per class; "dense": random
        ±1; "sparse": random with half of the entries 0; "exhaustive": every division of up to 12 classes; or
        a matrix of −1, 0 and 1 with rows in the order of ``classes_``.
    code_size : float or None, default=None
        Columns of a random code, as a multiple of the number of classes. None is 10 log2(n_classes) columns
        for "dense" and 15 log2(n_classes) for "sparse". Columns never repeat.
    n_candidates : int, default=1000
        Number of random codes drawn; the one with the largest minimum distance between classes is used.
    decoding : {"loss", "hamming", "probability"}, default="loss"
        Predict the class with the smallest total loss, the smallest Hamming distance to the signs of the
        margins (ties are broken by the sum of the margins), or the largest probability under the generalized
        Bradley–Terry model of the members' probabilities (Huang, Weng and Lin, 2006).
    loss : {"hinge", "exponential", "logistic"}, default="logistic"
        Loss of code × margin for decoding="loss".
    response : {"auto", "decision_function", "predict_proba", "predict"}, default="auto"
        Source of the margins: the decision function, 2p − 1 of the probability p, or ±1 of the prediction.
        "auto" is the first that the members have; decoding="probability" needs ``predict_proba``.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members, one per column of the code; empty if there is one class.
    code_book_ : ndarray of shape (n_classes, n_members), int8
        The code.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import OutputCodeClassifier
    >>> model = OutputCodeClassifier(code="one-vs-one").fit(*load_iris(return_X_y=True))
    >>> model.code_book_.tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "estimator": (NONE, AnyEstimator()),
        "code": (OneOf(*output_codes.MAKERS, "dense", "sparse"), ArrayRule()),
        "code_size": (NONE, Real(0.0, open_ends="(")),
        "n_candidates": (Integer(1),),
        "decoding": (OneOf("loss", "hamming", "probability"),),
        "loss": (OneOf(*output_codes.LOSSES),),
        "response": (OneOf("auto", *_RESPONSES),),
        "verbose": (FLAG, Integer(0)),
    }
    _parameter_uses = (
        Use(("code_size", "n_candidates"), "code", values=("dense", "sparse")),
        Use(("loss",), "decoding", values=("loss",)),
    )
    _required_attributes = ("classes_", "code_book_")
    _default_estimator = DecisionTreeClassifier

    code: Any = "dense"
    code_size: float | None = None
    n_candidates: int = 1000
    decoding: Literal["loss", "hamming", "probability"] = "loss"
    loss: Literal["hinge", "exponential", "logistic"] = "logistic"
    response: Literal["auto", "decision_function", "predict_proba", "predict"] = "auto"

    classes_: NDArray[Any] = field(init=False)
    code_book_: output_codes.Code = field(init=False)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **metadata: Any) -> Self:
        """Make the code and fit one member per column.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that the members accept; it is passed on unchanged.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_params()
        thread_count(self.n_jobs)
        seed, n_rows, template = draw_seed(self.random_state), count_training_rows(X), self._template()
        self._method(template)
        described = describe_input(X)
        codes, classes = encode_labels(y, n_rows)
        weights, metadata = self._route("fit", sample_weight, metadata, n_rows)
        present = np.bincount(codes, weights, minlength=len(classes)) > 0
        code = self._make_code(present, stream(seed, _CODE))
        n_members = code.shape[1] if present.sum() > 1 else 0
        calls = [
            (
                make_member(template, int(stream(seed, _MEMBERS + t).integers(2**63))),
                X,
                code[codes, t],
                weights,
                metadata,
            )
            for t in range(n_members)
        ]
        members = fit_members(self, _fit_sides, calls, X)
        return self._set_fitted(estimators_=members, classes_=classes, code_book_=code, **described)

    def _make_code(self, present: NDArray[np.bool_], rng: np.random.Generator) -> output_codes.Code:
        """Return a code for the classes that are present; the others have rows of zeros."""
        n_present = int(present.sum())
        if not isinstance(self.code, str):
            code = np.where(present[:, None], output_codes.check_code(self.code, len(present)), 0).astype(
                np.int8
            )
            used = (code == 1).any(axis=0) & (code == -1).any(axis=0)
            if n_present > 1 and not used.all():
                code = code[:, used]
                output_codes.check_rows_differ(code[present])
            return code
        if n_present <= 2:
            # One member, or none for a single class.
            some = np.array([[1], [-1]], np.int8)[:n_present]
        elif self.code in output_codes.MAKERS:
            some = output_codes.MAKERS[self.code](n_present)
        else:
            some = output_codes.random_code(
                n_present, self.code == "sparse", self.code_size, self.n_candidates, rng
            )
        code = np.zeros((len(present), some.shape[1]), np.int8)
        code[present] = some
        return code

    def _method(self, template: Any) -> str:
        """Return the prediction method of the members."""
        wanted = "predict_proba" if self.decoding == "probability" else self.response
        for method in _RESPONSES:
            if wanted in ("auto", method) and hasattr(template, method):
                return method
        setting = "decoding='probability'" if self.decoding == "probability" else f"response={wanted!r}"
        raise InputError(
            f"{setting} needs {wanted}, which {type(template).__name__} does not have",
            fix="Choose another setting, or another estimator.",
        )

    # ---- prediction ----

    def margins(self, X: Any) -> NDArray[np.float64]:
        """Compute the margin of each member, positive for side 1.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_members)
            Margins.

        Examples
        --------
        >>> from spinney import OutputCodeClassifier
        >>> model = OutputCodeClassifier(code="one-vs-rest").fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
        >>> model.margins([[1.0]]).tolist()
        [[-1.0, 1.0, -1.0]]
        """
        check_input(self, X)
        # decoding, loss and response may have been set again since the fit
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        if not self.estimators_:
            return np.ones((count_rows(X), self.code_book_.shape[1]))
        method = self._method(self.estimators_[0])
        calls = [(member, X, method) for member in self.estimators_]
        return np.stack(run_jobs(_margin, calls, self.n_jobs), axis=1)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of each class: its negative distance or loss, or the log of its probability.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            Scores; for two classes, the score of the second minus that of the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest score, of equal classes the first.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities, in the order of the scores.

        With decoding="probability" they are calibrated if those of the members are. Otherwise they are the
        softmax of the scores, which only orders the classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        probabilities = softmax(self._scores(X))
        probabilities[:, ~self.code_book_.any(axis=1)] = 0.0
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        margins = self.margins(X)
        present = np.asarray(self.code_book_.any(axis=1))
        code = self.code_book_[present]
        if self.decoding == "probability" and self.estimators_:
            probabilities = output_codes.couple(code, (1.0 + margins) / 2.0)
            known = log(np.maximum(probabilities, np.finfo(np.float64).tiny))
        elif self.decoding == "hamming":
            known = output_codes.by_hamming(code, margins)
        else:
            known = output_codes.by_loss(code, margins, self.loss)
        scores = np.repeat(known.min(axis=1, keepdims=True) - 1.0, len(present), axis=1)
        scores[:, present] = known
        return scores

    # ---- files ----

    def _check_fitted(self) -> None:
        members, code = self.estimators_, self.code_book_
        check_labels(self.classes_)
        valid = isinstance(code, np.ndarray) and code.dtype == np.int8 and code.ndim == 2
        valid = valid and len(code) == len(self.classes_) and bool(np.isin(code, (-1, 0, 1)).all())
        require(valid, "the code is not a matrix of -1, 0 and 1 with one row per class")
        valid = type(members) is list and (not members or len(members) == code.shape[1])
        require(valid, "there is not one member per column of the code")
        valid = bool(code.any()) and (bool(members) or np.count_nonzero(code.any(axis=1)) == 1)
        require(valid, "the code separates no classes")
        self._check_members()

    def _is_member(self, member: Any) -> bool:
        sides: Any = getattr(member, "classes_", None)
        return bool(is_classifier(member)) and np.array_equal(sides, [-1, 1])


def _fit_sides(
    member: Any,
    X: Any,
    sides: NDArray[np.int8],
    weights: NDArray[np.float64] | None,
    metadata: Mapping[str, Any],
) -> Any:
    """Fit a member to the rows with a side.  sides (n_rows,)"""
    used = np.flatnonzero(sides)
    everything = len(used) == len(sides)
    table = X if everything else take_rows(X, used)
    others = _check_method_params(X, dict(metadata), used)
    given = None if weights is None else weights[used]
    return fit_member(member, table, sides[used].astype(np.int64), given, **others)


def _margin(member: Any, X: Any, method: str) -> NDArray[np.float64]:
    """Return the margins of one member.  -> (n_rows,)"""
    predicted = np.asarray(getattr(member, method)(X), dtype=np.float64)
    if method == "predict_proba":
        return np.asarray(2.0 * predicted[:, 1] - 1.0)
    return predicted.reshape(len(predicted))
