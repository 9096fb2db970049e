"""The perceptron."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import NONE, VALIDATION_ROWS, Integer, OneOf, Real, Rule, Use, thread_count
from spinney.data.matrix import Matrix
from spinney.data.target import encode_labels
from spinney.io import require
from spinney.members.tables import is_array
from spinney.native import core
from spinney.online.base import CLASS_WEIGHT_RULE, ONLINE_RULES, OnlineClassifier
from spinney.online.dual import DualPerceptron
from spinney.online.training import PERCEPTRON, Learned, MistakeLedger, UpdateRule, sides
from spinney.svm.kernels import KERNEL_USES, KERNELS, KernelFunction, kernel_sums, resolve_gamma


@parameters
class Perceptron(OnlineClassifier):
    """Perceptron (Rosenblatt, 1958): w ← w + η y x for every row on the wrong side.

    If a hyperplane separates the rows with the margin γ and no row is longer than R, there are at most
    (R/γ)² mistakes over all epochs (Novikoff, 1962). The fitted model reports its number of mistakes and
    the bound for the margin that it has itself. More than two classes are separated one against the rest.

    The dual form has a coefficient per row, which counts its mistakes: w = Σ c_j φ(x_j). It gives the same
    hyperplane, and with a kernel a curved border.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None, default=None
        Regularization.
    alpha : float, default=1e-4
        Strength of the penalty.
    l1_ratio : float in [0, 1], default=0.15
        Share of L1 in penalty="elasticnet".
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    max_iter : int, default=1000
        Maximum number of epochs.
    tol : float or None, default=1e-3
        Training stops when the mean loss has not improved by this for `n_iter_no_change` epochs.
    shuffle : bool, default=True
        Whether to visit the rows of each epoch in a new random order.
    verbose : int, default=0
        Above 0: show a progress bar.
    eta0 : float, default=1.0
        Learning rate η.
    n_jobs : int or None, default=None
        Number of classes trained in parallel. None and −1 use all cores, None within the limits of an active
        joblib or threadpoolctl context. The model does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the order of the rows.
    early_stopping : bool, default=False
        Whether to hold out rows and stop by their accuracy instead of the training loss.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the rows held out.
    n_iter_no_change : int, default=5
        Number of epochs without improvement after which training stops.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    warm_start : bool, default=False
        Whether to start from the weights of the last fit.
    ledger : bool, default=False
        Whether to record mistakes, updates and loss of every epoch in ``ledger_``.
    form : {"primal", "dual"}, default="primal"
        Weights of features, or coefficients of rows. The dual form has no penalty, `partial_fit`, early
        stopping or warm start.
    kernel : {"linear", "poly", "rbf", "laplacian", "sigmoid"}, default="linear"
        Kernel of the dual form, as in :class:`~spinney.SVC`.
    degree : int, default=3
        Degree of kernel="poly".
    gamma : {"scale", "auto"} or float, default="scale"
        γ of the kernel.
    coef0 : float, default=0.0
        Constant of kernel="poly" and "sigmoid".
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; not with a kernel other than "linear".
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Coefficients of the rows that were mistaken, if form="dual".
    support_ : ndarray of shape (n_support,)
        Rows that were mistaken, if form="dual".
    support_vectors_ : ndarray of shape (n_support, n_features)
        Those rows, if form="dual".
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_iter_ : int
        Number of epochs, the most of all classes.
    t_ : float
        Number of rows visited, plus 1.
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Mistakes over all epochs.
    margin_ : ndarray of shape (1,) or (n_classes,)
        γ: the least y (wᵀx + b) / ‖(w, b)‖ of the training rows; positive if they are separated.
    radius_ : float
        R: the length of the longest row, its constant 1 for the intercept included.
    mistake_bound_ : ndarray of shape (1,) or (n_classes,)
        (R/γ)²; infinite where rows are not separated, or where the theorem does not hold: with weights,
        a penalty, or another start than zero.
    ledger_ : MistakeLedger
        One row per class and epoch, if ``ledger``.
    coding_ : ColumnCoding
        How columns are coded, if ``categorical`` or ``missing`` is set; coefficients and support vectors
        belong to the coded columns.
    schema_ : Schema
        Names, kinds and categories of the features, if they are coded.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import Perceptron
    >>> model = Perceptron().fit([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]], [0, 0, 1, 1])
    >>> bool(model.n_mistakes_[0] <= model.mistake_bound_[0])
    True
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **ONLINE_RULES,
        "penalty": (NONE, OneOf("l2", "l1", "elasticnet")),
        "alpha": (Real(0.0),),
        "l1_ratio": (Real(0.0, 1.0),),
        "eta0": (Real(0.0, open_ends="("),),
        "class_weight": CLASS_WEIGHT_RULE,
        "form": (OneOf("primal", "dual"),),
        "kernel": (OneOf("linear", "poly", "rbf", "laplacian", "sigmoid"),),
        "degree": (Integer(0, 2**31 - 1),),
        "gamma": (OneOf("scale", "auto"), Real(0.0)),
        "coef0": (Real(-np.inf),),
    }
    _parameter_uses = (
        Use(("alpha",), "penalty", unless=(None,)),
        Use(("l1_ratio",), "penalty", values=("elasticnet",)),
        Use(("kernel", "degree", "coef0", "gamma"), "form", values=("dual",)),
        *KERNEL_USES,
        VALIDATION_ROWS,
    )
    _state_attributes = ("dual_coef_", "support_", "support_vectors_", "_gamma")
    _required_attributes = ("n_mistakes_", "margin_", "radius_", "mistake_bound_")
    _multiplies_values = True

    penalty: Literal["l2", "l1", "elasticnet"] | None = None
    alpha: float = 1e-4
    l1_ratio: float = 0.15
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    shuffle: bool = True
    verbose: int = 0
    eta0: float = 1.0
    n_jobs: int | None = None
    random_state: Any = 0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    class_weight: Any = None
    warm_start: bool = False
    ledger: bool = False
    form: Literal["primal", "dual"] = "primal"
    kernel: Literal["linear", "poly", "rbf", "laplacian", "sigmoid"] = "linear"
    degree: int = 3
    gamma: float | Literal["scale", "auto"] = "scale"
    coef0: float = 0.0
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    n_mistakes_: Any = field(init=False)
    margin_: Floats = field(init=False)
    mistake_bound_: Floats = field(init=False)
    radius_: float = field(init=False)
    dual_coef_: Floats = field(init=False)
    support_: NDArray[np.int64] = field(init=False)
    support_vectors_: Floats = field(init=False)
    _gamma: float = field(init=False)

    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train the perceptron.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Training rows of numbers, dense or sparse.
        y : array-like of shape (n_rows,)
            Class labels.
        coef_init : array-like of shape (n_classes, n_features), default=None
            Weights to start from.
        intercept_init : array-like of shape (n_classes,), default=None
            Intercepts to start from.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; each is a factor of the update.

        Returns
        -------
        self
            The fitted classifier.
        """
        if self.form == "dual":
            return self._fit_dual(X, y, coef_init is None and intercept_init is None, sample_weight)
        return self._fit(X, y, coef_init, intercept_init, sample_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Visit the rows of a batch once; primal form only.

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
        if self.form == "dual":
            raise InputError("The dual form of Perceptron has no partial_fit", fix="Use form='primal'.")
        return super().partial_fit(X, y, classes, sample_weight)

    # ---- the dual form ----

    def _fit_dual(self, X: Any, y: Any, from_zero: bool, sample_weight: Any) -> Self:
        """Count mistakes by row."""
        self._check_params()
        if self.penalty is not None or self.early_stopping or self.warm_start or not from_zero:
            raise InputError(
                "form='dual' has no penalty, early_stopping, warm_start or initial weights",
                fix="Leave them out, or use form='primal'.",
            )
        thread_count(self.n_jobs)  # raises InputError if n_jobs is not valid
        matrix, described = self._read_training_matrix(X, sample_weight)
        codes, classes = encode_labels(y, matrix.shape[0])
        if len(classes) < 2:
            raise InputError("The number of classes has to be greater than one; got 1 class")
        weights = self._row_weights(codes, classes, sample_weight)
        gamma = resolve_gamma(self.gamma, matrix, None)
        dual = DualPerceptron(matrix, self._kernel(gamma), float(self.fit_intercept))
        schedule, targets = self._schedule(one_epoch=False), sides(codes, len(classes))
        learned = [
            dual.train(target, one, float(self.eta0), schedule)
            for target, one in zip(targets, weights, strict=True)
        ]
        margin = np.array([one.least_margin / one.length if one.length > 0 else 0.0 for one in learned])
        applies = sample_weight is None and self.class_weight is None
        n_iter = max(len(one.epochs) for one in learned)
        return self._set_fitted(
            classes_=classes,
            intercept_=np.array([one.intercept for one in learned]),
            n_iter_=n_iter,
            t_=float(1 + n_iter * matrix.shape[0]),
            ledger_=MistakeLedger.of(learned) if self.ledger else None,
            _gamma=gamma,
            **self._support(matrix, np.stack([one.coef for one in learned])),
            **self._mistakes(learned, margin, dual.radius(), applies),
            **described,
        )

    def _support(self, matrix: Any, coef: Floats) -> dict[str, Any]:
        """Return the rows with a coefficient, and the weights of features that a linear kernel has."""
        support = np.flatnonzero(coef.any(axis=0))
        chosen = matrix[support]
        vectors = np.asarray(chosen.toarray() if isinstance(chosen, sparse.csr_matrix) else chosen)
        dual_coef = np.ascontiguousarray(coef[:, support])
        linear = np.einsum("ks,sj->kj", dual_coef, vectors) if self.kernel == "linear" else None
        return {
            "coef_": linear,
            "dual_coef_": dual_coef,
            "support_": support,
            "support_vectors_": vectors,
        }

    def _kernel(self, gamma: float) -> KernelFunction:
        return KernelFunction(KERNELS.index(self.kernel), gamma, float(self.coef0), int(self.degree))

    def _linear(self, X: Any) -> Floats:
        if not hasattr(self, "dual_coef_") or self.kernel == "linear":
            return super()._linear(X)
        n_problems, n = self.dual_coef_.shape
        terms = np.array([[k, 0, n, k * n] for k in range(n_problems)], dtype=np.int64)
        return kernel_sums(
            self._kernel(self._gamma),
            self._read_matrix(X),
            self.support_vectors_,
            terms,
            self.dual_coef_.ravel(),
            self.intercept_,
            thread_count(self.n_jobs),
        )

    # ---- the primal form ----

    def _update_rule(self) -> UpdateRule:
        strength = float(self.eta0) * float(self.alpha)
        share = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": float(self.l1_ratio)}[self.penalty]
        used = 0.0 if self.penalty is None else strength
        return UpdateRule(
            PERCEPTRON,
            float(self.eta0),
            l1=used * share,
            l2=used * (1.0 - share),
            fit_intercept=self.fit_intercept,
        )

    def _diagnose(
        self, matrix: Matrix, targets: list[Floats], learned: list[Learned], valid: bool
    ) -> dict[str, Any]:
        coef = np.stack([one.coef for one in learned])
        intercept = np.array([one.intercept for one in learned])
        if sparse.issparse(matrix):
            scores, squares = np.asarray(matrix @ coef.T) + intercept, matrix.multiply(matrix).sum(axis=1)
        else:
            scores = core.matrix_product(matrix, coef, intercept, 1)
            squares = np.einsum("ij,ij->i", matrix, matrix)
        radius = float(np.sqrt(np.max(squares) + float(self.fit_intercept)))
        length = np.sqrt((coef**2).sum(axis=1) + intercept**2)
        signed = np.array([(target * scores[:, k]).min() for k, target in enumerate(targets)])
        margin = np.divide(signed, length, out=np.zeros_like(signed), where=length > 0)
        applies = valid and self.penalty is None and self.class_weight is None and not self.early_stopping
        return self._mistakes(learned, margin, radius, applies)

    @staticmethod
    def _mistakes(learned: Sequence[Learned], margin: Floats, radius: float, applies: bool) -> dict[str, Any]:
        """Return mistakes, margin, radius, and the bound where the theorem applies."""
        bound = np.full(len(margin), np.inf)
        if applies:
            np.divide(radius, margin, out=bound, where=margin > 0)
        return {
            "n_mistakes_": np.array([sum(m for _, _, m in one.epochs) for one in learned], dtype=np.int64),
            "margin_": margin,
            "radius_": radius,
            "mistake_bound_": bound**2,
        }

    def _check_weights_of_fit(self) -> int:
        if "dual_coef_" not in vars(self):
            return super()._check_weights_of_fit()
        n = len(self.support_) if isinstance(self.support_, np.ndarray) else -1
        n_problems = len(self.intercept_)
        valid = is_array(self.dual_coef_, np.float64, n_problems, n) and type(self._gamma) is float
        valid = valid and is_array(self.support_vectors_, np.float64, n, self._n_columns)
        require(valid, "the coefficients do not fit the support vectors")
        return super()._check_weights_of_fit() if "coef_" in vars(self) else n_problems

    def _check_fitted(self) -> None:
        super()._check_fitted()
        shapes = {np.shape(part) for part in (self.n_mistakes_, self.margin_, self.mistake_bound_)}
        require(shapes == {self.intercept_.shape}, "there are not mistakes for every class")
