"""Output codes: many classes as several questions of two sides each, and answers decoded to a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, is_classifier

from spinney.core.errors import InputError
from spinney.core.parameters import (
    FLAG,
    NONE,
    OneOf,
    Real,
    Rule,
    Whole,
    check_parameters,
    draw_seed,
    thread_count,
)
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.core.seeds import stream
from spinney.data.weights import check_weights
from spinney.io import CorruptModelFile
from spinney.members.base_estimators import AnyEstimator, make_member
from spinney.members.fitting import fit_member, run_jobs
from spinney.members.tables import (
    check_input,
    count_rows,
    count_training_rows,
    describe_input,
    encode_labels,
    take_rows,
)
from spinney.perturb.base import _MemberEnsemble, check_labels
from spinney.perturb.codes import MAKERS, Code, check_rows_differ, given_code, random_code
from spinney.perturb.decoding import LOSSES, by_hamming, by_loss, couple, softmax
from spinney.trees import DecisionTreeClassifier

_DECODING = ("decoding", "loss", "response")
_RESPONSES = ("decision_function", "predict_proba", "predict")
# What the seed is used for: the code, and member number t by _MEMBERS + t.
_CODE, _MEMBERS = 0, 1


class OutputCodeClassifier(ClassifierMixin, _MemberEnsemble):  # type: ignore[misc]
    """Classify among many classes by members that each answer one question of two sides.

    A code has a row a class and a column a member: 1 and −1 are the two sides that the member tells apart,
    and rows whose class has a 0 are left out of its training. A class is predicted whose row of the code
    agrees best with all answers, so that a few wrong ones can be corrected.

    estimator : estimator or None
        What members are copies of; None is a full ``DecisionTreeClassifier``.
    code : str or array (n_classes, n_members)
        "one-vs-one": a column each pair of classes; "one-vs-rest": a column each class; "dense": random ±1;
        "sparse": random, half of it 0; "exhaustive": every division of up to 12 classes; or a matrix of −1, 0
        and 1 whose rows are in the order of ``classes_``.
    code_size : number or None
        Columns of a random code, as a multiple of the number of classes; None is 10 log2(n_classes) columns
        for "dense" and 15 log2(n_classes) for "sparse". No dichotomy is ever taken twice.
    n_candidates : int
        Random codes that are drawn; the one with the largest least distance between two classes is taken.
    decoding : "loss", "hamming" or "probability"
        Take the class of least total loss; of least Hamming distance to the signs of the answers (equal ones
        by the sum of the margins); or of largest probability by a model of all members' probabilities.
    loss : "hinge", "exponential" or "logistic"
        What decoding by loss adds up, of code × margin.
    response : "auto", "decision_function", "predict_proba" or "predict"
        Where the margin comes from: the decision function itself, 2p − 1 of the probability p, or ±1. "auto"
        takes the first that the members have; decoding "probability" needs ``predict_proba``.
    random_state : int, numpy generator or None
        Seed of the code and of the members.
    n_jobs : int or None
        Members that are fitted at a time, −1 for all cores; never changes the model.
    verbose : int
        Above 0: a progress bar while fitting.

    Fitted: ``estimators_``, ``code_book_`` (n_classes, n_members), ``classes_``, ``n_classes_``,
    ``n_features_in_``, ``feature_names_in_``. Two classes are one question; a class without weight has a row
    of zeros and is never predicted.

    >>> from sklearn.datasets import load_iris
    >>> model = OutputCodeClassifier(code="one-vs-one").fit(*load_iris(return_X_y=True))
    >>> model.code_book_.tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "estimator": (NONE, AnyEstimator()),
        "code": (OneOf(*MAKERS, "dense", "sparse"), ArrayRule()),
        "code_size": (NONE, Real(0.0, open_ends="(")),
        "n_candidates": (Whole(1),),
        "decoding": (OneOf("loss", "hamming", "probability"),),
        "loss": (OneOf(*LOSSES),),
        "response": (OneOf("auto", *_RESPONSES),),
        "verbose": (FLAG, Whole(0)),
    }
    _required_attributes = ("classes_", "code_book_")

    classes_: NDArray[Any]
    code_book_: Code

    def __init__(
        self,
        estimator: Any = None,
        *,
        code: Any = "dense",
        code_size: float | None = None,
        n_candidates: int = 1000,
        decoding: Literal["loss", "hamming", "probability"] = "loss",
        loss: Literal["hinge", "exponential", "logistic"] = "logistic",
        response: Literal["auto", "decision_function", "predict_proba", "predict"] = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _pattern(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    @property
    def n_classes_(self) -> int:
        """Count the classes."""
        return len(self.classes_)

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Make the code, and fit one member a column to X (n_rows, n_features) and the sides of y (n_rows,).

        X may be whatever the members take; missing values, categories and data frames reach them untouched.
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        thread_count(self.n_jobs)
        seed, n_rows, pattern = draw_seed(self.random_state), count_training_rows(X), self._pattern()
        self._method(pattern)
        described = describe_input(X)
        codes, classes = encode_labels(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        present = np.bincount(codes, weights, minlength=len(classes)) > 0
        code = self._make_code(present, stream(seed, _CODE))
        n_members = code.shape[1] if present.sum() > 1 else 0
        calls = [
            (make_member(pattern, _member_seed(seed, t)), X, code[codes, t], weights)
            for t in range(n_members)
        ]
        members = self._fit_members(_fit_sides, calls, X)
        return self._adopt(estimators_=members, classes_=classes, code_book_=code, **described)

    def _make_code(self, present: NDArray[np.bool_], rng: np.random.Generator) -> Code:
        """Make a code for the classes that are present; the others have rows of zeros."""
        n_present = int(present.sum())
        if not isinstance(self.code, str):
            code = np.where(present[:, None], given_code(self.code, len(present)), 0).astype(np.int8)
            asked = (code == 1).any(axis=0) & (code == -1).any(axis=0)
            if n_present > 1 and not asked.all():
                code = code[:, asked]
                check_rows_differ(code[present])
            return code
        if n_present <= 2:
            # One question, or with a single class none: whatever is asked, the answer is the class there is.
            some = np.array([[1], [-1]], np.int8)[:n_present]
        elif self.code in MAKERS:
            some = MAKERS[self.code](n_present)
        else:
            some = random_code(n_present, self.code == "sparse", self.code_size, self.n_candidates, rng)
        code = np.zeros((len(present), some.shape[1]), np.int8)
        code[present] = some
        return code

    def _method(self, pattern: Any) -> str:
        """Name the method that members answer by."""
        wanted = "predict_proba" if self.decoding == "probability" else self.response
        for method in _RESPONSES:
            if wanted in ("auto", method) and hasattr(pattern, method):
                return method
        setting = "decoding='probability'" if self.decoding == "probability" else f"response={wanted!r}"
        raise InputError(
            f"{setting} asks for {wanted}, which {type(pattern).__name__} does not have",
            fix="Choose another one, or another estimator.",
        )

    # ---- prediction ----

    def margins(self, X: Any) -> NDArray[np.float64]:
        """Give what each member says of its question: positive for side 1.  -> (n_rows, n_members)

        >>> model = OutputCodeClassifier(code="one-vs-rest").fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
        >>> model.margins([[1.0]]).tolist()
        [[-1.0, 1.0, -1.0]]
        """
        check_input(self, X)
        # They may have been set anew since the fit.
        check_parameters(
            type(self).__name__, vars(self), {name: self._parameter_rules[name] for name in _DECODING}
        )
        if not self.estimators_:
            return np.ones((count_rows(X), self.code_book_.shape[1]))
        method = self._method(self.estimators_[0])
        calls = [(member, X, method) for member in self.estimators_]
        return np.stack(run_jobs(_margin, calls, self.n_jobs), axis=1)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the score of each class: minus its distance or loss, or the logarithm of its probability.

        -> (n_rows, n_classes); with two classes (n_rows,), the score of the second minus that of the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of the largest score, of several the first.  -> (n_rows,)"""
        best = self._scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_.take(best)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give a probability of each class, in the order of the scores.  -> (n_rows, n_classes)

        With decoding "probability" that which fits the members' probabilities best: it is right if they are.
        Otherwise shares by exp(score), which order the classes but promise no more.
        """
        scores = self._scores(X)
        shares = softmax(scores)
        shares[:, ~self.code_book_.any(axis=1)] = 0.0
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        margins = self.margins(X)
        present = np.asarray(self.code_book_.any(axis=1))
        code = self.code_book_[present]
        if self.decoding == "probability" and self.estimators_:
            known = np.log(np.maximum(couple(code, (1.0 + margins) / 2.0), np.finfo(np.float64).tiny))
        elif self.decoding == "hamming":
            known = by_hamming(code, margins)
        else:
            known = by_loss(code, margins, self.loss)
        scores = np.repeat(known.min(axis=1, keepdims=True) - 1.0, len(present), axis=1)
        scores[:, present] = known
        return scores

    # ---- files ----

    def _check_state(self) -> None:
        if "estimators_" not in vars(self):
            return
        name, members = type(self).__name__, self.estimators_
        code: Any = self.code_book_
        check_labels(self.classes_, name)
        valid = isinstance(code, np.ndarray) and code.dtype == np.int8 and code.ndim == 2
        if not valid or len(code) != len(self.classes_) or not np.isin(code, (-1, 0, 1)).all():
            raise CorruptModelFile(
                f"The code_book_ of an {name} is no matrix of -1, 0 and 1 with a row a class."
            )
        if type(members) is not list or (members and len(members) != code.shape[1]):
            raise CorruptModelFile(f"The members of an {name} are not one for each column of the code.")
        if not code.any() or (not members and np.count_nonzero(code.any(axis=1)) != 1):
            raise CorruptModelFile(f"The code_book_ of an {name} asks nothing.")
        self._check_members()

    def _check_member(self, member: Any) -> None:
        super()._check_member(member)
        sides: Any = getattr(member, "classes_", None)
        if not is_classifier(member) or not np.array_equal(sides, [-1, 1]):
            raise CorruptModelFile("A member of an OutputCodeClassifier does not tell two sides apart.")


def _member_seed(seed: int, t: int) -> int:
    return int(stream(seed, _MEMBERS + t).integers(2**63))


def _fit_sides(member: Any, X: Any, sides: NDArray[np.int8], weights: NDArray[np.float64] | None) -> Any:
    """Fit a member to the rows that have a side.  sides (n_rows,)"""
    asked = np.flatnonzero(sides)
    everything = len(asked) == len(sides)
    table = X if everything else take_rows(X, asked)
    return fit_member(
        member, table, sides[asked].astype(np.int64), None if weights is None else weights[asked]
    )


def _margin(member: Any, X: Any, method: str) -> NDArray[np.float64]:
    """Give one member's margins.  -> (n_rows,)"""
    answer = np.asarray(getattr(member, method)(X), dtype=np.float64)
    if method == "predict_proba":
        return np.asarray(2.0 * answer[:, 1] - 1.0)
    return answer.reshape(len(answer))
