"""Base classes of online learners: fitting by epochs or batches, linear predictions, model files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin

from spinney.base import MatrixEstimator
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import (
    FLAG,
    NONE,
    VALIDATION_ROWS,
    Integer,
    Kind,
    OneOf,
    Real,
    Rule,
    Use,
    draw_seed,
    thread_count,
)
from spinney.core.progress import track
from spinney.data.coding import CODING_RULES
from spinney.data.matrix import Matrix
from spinney.data.splits import hold_out
from spinney.data.target import encode_labels, encode_like, read_target
from spinney.data.weights import check_weights, class_weights
from spinney.io import require
from spinney.linear.sparse_coef import SparseCoefficients, dense_coefficients
from spinney.members.fitting import run_jobs
from spinney.members.tables import check_labels, count_rows, is_array
from spinney.native import core
from spinney.online.training import (
    Learned,
    MistakeLedger,
    Schedule,
    TrainingRows,
    UpdateRule,
    learned_arrays,
    sides,
    train,
)

ONLINE_RULES: Mapping[str, tuple[Rule, ...]] = {
    **CODING_RULES,
    "fit_intercept": (FLAG,),
    "max_iter": (Integer(1),),
    "tol": (NONE, Real(0.0)),
    "early_stopping": (FLAG,),
    "validation_fraction": (Real(0.0, 1.0, open_ends="()"),),
    "n_iter_no_change": (Integer(1),),
    "shuffle": (FLAG,),
    "verbose": (FLAG, Integer(0)),
    "warm_start": (FLAG,),
    "ledger": (FLAG,),
}
CLASS_WEIGHT_RULE: tuple[Rule, ...] = (NONE, OneOf("balanced"), Kind("a dict by class", Mapping))


class OnlineModel(MatrixEstimator, persistent_name=""):
    """Base class of linear models that are trained row by row."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("intercept_", "n_iter_", "t_")
    _state_attributes: ClassVar[tuple[str, ...]] = ("coef_", "ledger_")
    _parameter_uses: ClassVar[tuple[Use, ...]] = (VALIDATION_ROWS,)

    coef_: Floats
    intercept_: Floats
    n_iter_: int
    t_: float
    ledger_: MistakeLedger

    @abstractmethod
    def _update_rule(self) -> UpdateRule:
        """Return how rows change the weights."""

    def _schedule(self, one_epoch: bool) -> Schedule:
        seed = draw_seed(self.random_state)
        if one_epoch:
            return Schedule(1, None, 1, self.shuffle, seed)
        tol = None if self.tol is None else float(self.tol)
        return Schedule(self.max_iter, tol, self.n_iter_no_change, self.shuffle, seed)

    def _train_all(
        self,
        matrix: Matrix,
        targets: list[Floats],
        weights: list[Floats | None],
        start: tuple[Floats, Floats],
        strata: NDArray[np.int32] | None,
        one_epoch: bool,
    ) -> list[Learned]:
        """Train one problem per target, in parallel.  start: coefficients and intercepts of the problems"""
        schedule, rule = self._schedule(one_epoch), self._update_rule()
        held = None
        if self.early_stopping and not one_epoch:
            held = hold_out(self.validation_fraction, schedule.seed, matrix.shape[0], strata)
        rows = TrainingRows(matrix, held)
        calls = [
            (rows, target, weights[k], rule, schedule, (start[0][k], start[1][k]))
            for k, target in enumerate(targets)
        ]
        title = f"{type(self).__name__}: training" if self.verbose else None
        if len(calls) == 1:
            thread_count(self.n_jobs if hasattr(self, "n_jobs") else None)
            return [train(*call) for call in track(calls, title, 1)]
        return run_jobs(train, calls, self.n_jobs, title)

    def _start(
        self, n_problems: int, n_features: int, coef: Any, intercept: Any, keep: bool
    ) -> tuple[Floats, Floats]:
        """Return the weights to start from: given, those of the last fit, or zeros."""
        start = (np.zeros((n_problems, n_features)), np.zeros(n_problems))
        if keep and hasattr(self, "coef_"):
            start = (dense_coefficients(self.coef_), self.intercept_)
        given = [
            part if one is None else np.asarray(one, dtype=np.float64)
            for part, one in zip(start, (coef, intercept), strict=True)
        ]
        if given[0].size != n_problems * n_features or given[1].size != n_problems:
            raise InputError("Provided coef_init or intercept_init does not match dataset.")
        return given[0].reshape(n_problems, n_features), given[1].reshape(n_problems)

    def _linear(self, X: Any) -> Floats:
        """Return X @ coef_ + intercept_ of all problems.  -> (n_rows, n_problems)"""
        matrix, coef = self._read_matrix(X), dense_coefficients(self.coef_)
        if sparse.issparse(matrix):
            return np.asarray(matrix @ coef.T) + self.intercept_
        threads = thread_count(getattr(self, "n_jobs", None))
        return core.matrix_product(matrix, np.ascontiguousarray(coef), self.intercept_, threads)

    def _check_weights_of_fit(self) -> int:
        """Return the number of problems; raise CorruptModelFile if the weights are damaged."""
        require("coef_" in vars(self), "there are no weights")
        coef = np.atleast_2d(self.coef_)
        valid = isinstance(self.coef_, np.ndarray) and is_array(coef, np.float64, len(coef), self._n_columns)
        require(valid and is_array(self.intercept_, np.float64, len(coef)), "the weights are damaged")
        ledger = vars(self).get("ledger_")
        require(ledger is None or isinstance(ledger, MistakeLedger), "the ledger is damaged")
        return len(coef)


class OnlineClassifier(SparseCoefficients, ClassifierMixin, OnlineModel, persistent_name=""):  # type: ignore[misc]
    """Base class of online classifiers; more than two classes are separated one against the rest."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_",)

    classes_: NDArray[Any]

    def _fit(self, X: Any, y: Any, coef_init: Any, intercept_init: Any, sample_weight: Any) -> Self:
        """Train until the loss does not improve any more."""
        self._check_params()
        matrix, described = self._read_training_matrix(X, sample_weight)
        codes, classes = encode_labels(y, matrix.shape[0])
        if len(classes) < 2:
            raise InputError("The number of classes has to be greater than one; got 1 class")
        weights = self._row_weights(codes, classes, sample_weight)
        targets = sides(codes, len(classes))
        keep = self.warm_start and np.array_equal(getattr(self, "classes_", []), classes)
        start = self._start(len(targets), matrix.shape[1], coef_init, intercept_init, keep)
        learned = self._train_all(matrix, targets, weights, start, codes, one_epoch=False)
        more = self._diagnose(matrix, targets, learned, sample_weight is None and not start[0].any())
        return self._set_learned(matrix.shape[0], learned, classes_=classes, **described, **more)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Visit the rows of a batch once.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows of the batch.
        y : array-like of shape (n_rows,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will be seen; required in the first call.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; each is a factor of the update.

        Returns
        -------
        self
            The updated classifier.
        """
        self._check_params()
        if isinstance(getattr(self, "class_weight", None), str):
            raise InputError(
                "class_weight 'balanced' is not supported for partial_fit, which does not see all rows",
                fix="Give the weights as a dict, or as sample_weight.",
            )
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise InputError("classes must be passed on the first call to partial_fit.")
        if first:
            matrix, described = self._read_training_matrix(X, sample_weight)
        else:
            matrix, described = self._read_matrix(X), self._described()
        labels = encode_labels(classes, count_rows(classes))[1] if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), labels):
            raise InputError("`classes` is not the same as on last call to partial_fit.")
        codes = encode_like(read_target(y, matrix.shape[0]), [labels])[:, 0]
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise InputError("y has a label that is not among the classes", row=row)
        weights = self._row_weights(codes, labels, sample_weight)
        targets = sides(codes, len(labels))
        start = self._start(len(targets), matrix.shape[1], None, None, keep=True)
        learned = self._train_all(matrix, targets, weights, start, None, one_epoch=True)
        more = self._diagnose(matrix, targets, learned, valid=False)
        return self._set_learned(
            matrix.shape[0], learned, getattr(self, "t_", 1.0), classes_=labels, **described, **more
        )

    def _row_weights(
        self, codes: NDArray[np.int32], classes: NDArray[Any], sample_weight: Any
    ) -> list[Floats | None]:
        """Return the row weights of each problem: against the rest, only the class itself has its weight."""
        weights = check_weights(sample_weight, len(codes))
        n_problems = 1 if len(classes) == 2 else len(classes)
        by_class = class_weights(self.class_weight, classes[codes]) if self.class_weight else None
        if by_class is None:
            return [weights] * n_problems
        given = np.ones(len(codes)) if weights is None else weights
        if n_problems == 1:
            return [given * by_class]
        return [np.where(codes == k, given * by_class, given) for k in range(n_problems)]

    def _diagnose(
        self, matrix: Matrix, targets: list[Floats], learned: list[Learned], valid: bool
    ) -> dict[str, Any]:
        """Return further fitted attributes; ``valid`` if rows had no weights and training began at zero."""
        return {}

    def _set_learned(self, n_rows: int, learned: list[Learned], t: float = 1.0, **fitted: Any) -> Self:
        arrays = learned_arrays(learned)
        return self._set_fitted(
            t_=float(t + arrays["n_iter_"] * n_rows),
            ledger_=MistakeLedger.of(learned) if self.ledger else None,
            **arrays,
            **fitted,
        )

    # ---- prediction ----

    def decision_function(self, X: Any) -> Floats:
        """Compute signed scores; their distance from 0 grows with the distance from the hyperplane.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            Scores; for two classes, positive for the second.
        """
        scores = self._linear(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest score.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes = check_labels(self.classes_)
        n_problems = self._check_weights_of_fit()
        require(n_problems == (1 if n_classes == 2 else n_classes), "there are not weights for every class")
