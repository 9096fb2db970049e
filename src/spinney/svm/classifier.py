"""Support vector classification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Kind, OneOf, Rule, draw_seed
from spinney.data.splits import folds
from spinney.data.target import encode_labels
from spinney.data.weights import class_weights
from spinney.io import require
from spinney.members.fitting import run_jobs
from spinney.members.tables import check_labels, is_array
from spinney.svm.base import C_RULE, SVM_RULES, SupportVectorMachine
from spinney.svm.kernels import KernelRows
from spinney.svm.platt import couple_pairs, fit_sigmoid, pair_probabilities
from spinney.svm.solver import Solution, SolverOptions, solve

_N_FOLDS = 5
Rows = NDArray[np.int64]


def solve_pair(rows: KernelRows, first: Rows, second: Rows, box: Floats, options: SolverOptions) -> Solution:
    """Separate the rows of one class (+1) from those of another (−1).  box: C of all rows"""
    both = np.concatenate([first, second])
    if len(first) == 0 or len(second) == 0:
        winner = 1.0 if len(first) else -1.0
        return Solution(np.zeros(len(both)), winner, 0.0, 0.0, 0, 0, np.zeros((0, 4)))
    sign = np.repeat([1.0, -1.0], [len(first), len(second)])
    lower, upper = np.where(sign > 0, 0.0, -box[both]), np.where(sign > 0, box[both], 0.0)
    return solve(rows.take(both), -sign, lower, upper, np.zeros(len(both)), 0.0, options)


def fit_pair_sigmoid(
    rows: KernelRows, first: Rows, second: Rows, box: Floats, options: SolverOptions, seed: int
) -> tuple[float, float]:
    """Return Platt's A and B, from decision values of rows that were held out."""
    both = np.concatenate([first, second])
    positive = np.arange(len(both)) < len(first)
    fold = folds(_N_FOLDS, seed, len(both), positive.astype(np.int32))
    decision = np.zeros(len(both))
    for k in range(_N_FOLDS):
        inside, held = fold != k, np.flatnonzero(fold == k)
        one = solve_pair(rows, both[inside & positive], both[inside & ~positive], box, options)
        support = np.flatnonzero(one.beta)
        used = both[inside][support]  # in the order of solve_pair, for positive rows come first
        decision[held] = rows.sums(both[held], used, one.beta[support], one.intercept)
    return fit_sigmoid(decision, positive, np.ones(len(both)))


@parameters
class SVC(ClassifierMixin, SupportVectorMachine):  # type: ignore[misc]
    """Support vector classification with kernels, soft or hard margin.

    Minimizes ½‖w‖² + Σ C_i ξ_i subject to y_i (wᵀφ(x_i) + b) ≥ 1 − ξ_i, ξ ≥ 0, in its dual form. Sequential
    minimal optimization takes working sets of two by second-order information (Fan, Chen and Lin, 2005), with
    shrinking, kernel rows in blocks, and a cache of them. More than two classes are separated one against
    one.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin; infinity is the hard margin.
    kernel : str or callable, default="rbf"
        "linear": xᵀz; "poly": (γ xᵀz + coef0)^degree; "rbf": exp(−γ ‖x − z‖²), γ = 1/(2σ²); "laplacian":
        exp(−γ ‖x − z‖), γ = 1/σ; "sigmoid": tanh(γ xᵀz + coef0); "precomputed": X is the kernel matrix; or a
        function of two matrices.
    degree : int, default=3
        Degree of kernel="poly".
    gamma : {"scale", "auto"} or float, default="scale"
        γ. "scale" is 1 / (n_features × variance of X), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant of kernel="poly" and "sigmoid".
    shrinking : bool, default=True
        Whether to set variables aside that stay at a bound.
    probability : bool, default=False
        Whether to learn probabilities by Platt scaling on 5 folds, which takes 5 more fits.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    cache_size : float, default=200
        Megabytes of kernel rows that are kept.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.
    verbose : bool, default=False
        Whether to show a progress bar.
    max_iter : int, default=-1
        Limit of iterations; −1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` has one column per class or per pair of classes.
    break_ties : bool, default=False
        Whether `predict` breaks ties of votes by the decision function, which takes more time.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds of ``probability``.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    ledger : bool, default=False
        Whether to record gap and objective by iteration in ``ledger_``.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C.
    support_ : ndarray of shape (n_support,), int32
        Rows that are support vectors, by class.
    support_vectors_ : ndarray or csr_matrix of shape (n_support, n_features)
        Support vectors; empty for kernel="precomputed".
    n_support_ : ndarray of shape (n_classes,), int32
        Number of support vectors per class.
    dual_coef_ : ndarray of shape (n_classes − 1, n_support)
        y α of the support vectors, in the layout of LIBSVM.
    intercept_ : ndarray of shape (n_pairs,)
        Intercepts.
    coef_ : ndarray of shape (n_pairs, n_features)
        Weights of the features; kernel="linear" only.
    margin_ : ndarray of shape (n_pairs,)
        Width 2/‖w‖ between the two margins.
    kkt_residual_ : ndarray of shape (n_pairs,)
        Largest violation of the optimality conditions at the solution.
    dual_objective_ : ndarray of shape (n_pairs,)
        ½ βᵀKβ − Σ|β| with β = y α.
    n_iter_ : ndarray of shape (n_pairs,), int32
        Number of iterations.
    probA_, probB_ : ndarray of shape (n_pairs,)
        Parameters of Platt scaling, if ``probability``.
    fit_status_ : int
        0 if all problems were solved, 1 if max_iter ended one.
    shape_fit_ : tuple
        Shape of X.
    ledger_ : SmoLedger
        Progress of the solver, if ``ledger``.
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
    >>> from spinney import SVC
    >>> xor = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> SVC(gamma=1.0, C=10.0).fit(xor, [1, 1, -1, -1]).predict(xor).tolist()
    [1, 1, -1, -1]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **SVM_RULES,
        "C": C_RULE,
        "probability": (FLAG,),
        "class_weight": (NONE, OneOf("balanced"), Kind("a dict by class", Mapping)),
        "decision_function_shape": (OneOf("ovr", "ovo"),),
        "break_ties": (FLAG,),
    }
    _required_attributes = ("classes_", "class_weight_", "margin_")
    _state_attributes = ("probA_", "probB_")

    C: float = 1.0
    kernel: str | Callable[[Any, Any], Any] = "rbf"
    degree: int = 3
    gamma: float | Literal["scale", "auto"] = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    probability: bool = False
    tol: float = 1e-3
    cache_size: float = 200
    class_weight: Any = None
    verbose: bool = False
    max_iter: int = -1
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    ledger: bool = False
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    classes_: NDArray[Any] = field(init=False)
    probA_: Floats = field(init=False)
    probB_: Floats = field(init=False)

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_rows, n_features), or (n_rows, n_rows) for kernel="precomputed"
            Training rows of numbers, dense or sparse.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Factors of C by row.

        Returns
        -------
        self
            The fitted classifier.
        """
        matrix, rows, weights, gamma, described = self._read_kernel_rows(X, sample_weight)
        seed = 0 if self.random_state is None and not self.probability else draw_seed(self.random_state)
        codes, classes = encode_labels(y, matrix.shape[0])
        if len(classes) < 2:
            raise InputError("The number of classes has to be greater than one; got 1 class")
        weights = np.ones(len(codes)) if weights is None else weights
        factors = self._class_factors(codes, classes)
        box = float(self.C) * np.where(weights > 0, factors[codes] * weights, 1.0)
        members = [np.flatnonzero((codes == k) & (weights > 0)) for k in range(len(classes))]
        if sum(len(one) > 0 for one in members) < 2:
            raise InputError("Invalid input - all samples with positive weights belong to the same class.")
        pairs = list(combinations(range(len(classes)), 2))
        options = self._options(self._threads() if len(pairs) == 1 else 1)
        calls = [(rows, members[i], members[j], box, options) for i, j in pairs]
        solutions = self._run(solve_pair, calls)
        more: dict[str, Any] = {}
        if self.probability:
            sigmoids = self._run(fit_pair_sigmoid, [(*call, seed) for call in calls])
            more = {
                "probA_": np.array([A for A, _ in sigmoids]),
                "probB_": np.array([B for _, B in sigmoids]),
            }
        arrays, support = self._collect(members, pairs, solutions)
        return self._set_fitted(
            classes_=classes,
            class_weight_=factors,
            n_iter_=np.array([one.n_iter for one in solutions], dtype=np.int32),
            **arrays,
            **more,
            **self._fitted_by(matrix, support, solutions, gamma),
            **described,
        )

    def _run(self, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        title = f"{type(self).__name__}: {len(calls)} pairs of classes" if self.verbose else None
        return run_jobs(function, calls, self.n_jobs if len(calls) > 1 else 1, title)

    def _class_factors(self, codes: NDArray[np.int32], classes: NDArray[Any]) -> Floats:
        """Return the factor of C of each class."""
        factors = np.ones(len(classes))
        by_row = class_weights(self.class_weight, classes[codes])
        if by_row is not None:
            factors[codes] = by_row
        return factors

    def _collect(
        self, members: list[Rows], pairs: list[tuple[int, int]], solutions: list[Solution]
    ) -> tuple[dict[str, Any], Rows]:
        """Return coefficients as in LIBSVM: for class i, row j − 1 is against j > i, row j against j < i."""
        n_classes = len(members)
        coef = [np.zeros((n_classes - 1, len(rows))) for rows in members]
        for (i, j), one in zip(pairs, solutions, strict=True):
            coef[i][j - 1] = one.beta[: len(members[i])]
            coef[j][i] = one.beta[len(members[i]) :]
        used = [np.flatnonzero(part.any(axis=0)) for part in coef]
        dual = np.concatenate([part[:, kept] for part, kept in zip(coef, used, strict=True)], axis=1)
        intercept = np.array([one.intercept for one in solutions])
        if n_classes == 2:  # positive for the second class, as in scikit-learn
            dual, intercept = -dual, -intercept
        # ½‖w‖² = objective + Σ|β|
        norms = np.array([2.0 * (one.objective + np.abs(one.beta).sum()) for one in solutions])
        margin = np.full(len(norms), np.inf)
        np.divide(2.0, np.sqrt(np.maximum(norms, 0.0)), out=margin, where=norms > 0)
        support = np.concatenate([rows[kept] for rows, kept in zip(members, used, strict=True)])
        return {
            "dual_coef_": np.ascontiguousarray(dual),
            "intercept_": intercept,
            "margin_": margin,
            "n_support_": np.array([len(kept) for kept in used], dtype=np.int32),
        }, support

    # ---- prediction ----

    def _pair_decisions(self, X: Any) -> Floats:
        """Return the decision values of all pairs, positive for the first class.  -> (n_rows, n_pairs)

        With two classes they are positive for the second class.
        """
        check_is_fitted(self)
        n_classes, n_support = len(self.classes_), len(self.support_)
        begin = np.concatenate([[0], np.cumsum(self.n_support_)]).tolist()
        if n_classes == 2:
            return self._sums(X, np.array([[0, 0, n_support, 0]], dtype=np.int64), 1)
        terms = []
        for p, (i, j) in enumerate(combinations(range(n_classes), 2)):
            terms.append((p, begin[i], begin[i + 1], (j - 1) * n_support + begin[i]))
            terms.append((p, begin[j], begin[j + 1], i * n_support + begin[j]))
        return self._sums(X, np.array(terms, dtype=np.int64), len(self.intercept_))

    def decision_function(self, X: Any) -> Floats:
        """Compute decision values.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,), (n_rows, n_classes) or (n_rows, n_pairs)
            For two classes wᵀφ(x) + b, positive for the second. For more, one column per pair, or per class:
            votes, and ties by the sum of confidences.
        """
        decisions = self._pair_decisions(X)
        if len(self.classes_) == 2:
            return decisions[:, 0]
        if self.decision_function_shape == "ovo":
            return decisions
        return np.asarray(_ovr_decision_function(decisions < 0, -decisions, len(self.classes_)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes of the pairs, the first one of ties.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InputError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and n_classes > 2:
            return np.asarray(self.classes_.take(self.decision_function(X).argmax(axis=1)))
        decisions = self._pair_decisions(X)
        if n_classes == 2:
            return np.asarray(self.classes_.take((decisions[:, 0] >= 0).astype(np.intp)))
        votes = np.zeros((len(decisions), n_classes), dtype=np.int64)
        for p, (i, j) in enumerate(combinations(range(n_classes), 2)):
            votes[:, i] += decisions[:, p] > 0
            votes[:, j] += decisions[:, p] <= 0
        return np.asarray(self.classes_.take(votes.argmax(axis=1)))

    def _has_probability(self) -> bool:
        if not self.probability:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities by Platt scaling; needs ``probability=True``.

        The most probable class need not be the predicted one: probabilities come from other fits.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        decisions = self._pair_decisions(X)
        if not hasattr(self, "probA_"):
            raise InputError("predict_proba is not available when fitted with probability=False")
        decisions = -decisions if len(self.classes_) == 2 else decisions
        return couple_pairs(pair_probabilities(decisions, self.probA_, self.probB_), len(self.classes_))

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Predict log probabilities; needs ``probability=True``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Log probabilities.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @property
    def coef_(self) -> Floats:
        """Weights of the features by pair; kernel="linear" only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        if len(self.classes_) == 2:
            return self._primal(self.dual_coef_, self.support_vectors_)
        begin = np.concatenate([[0], np.cumsum(self.n_support_)])
        rows = []
        for i, j in combinations(range(len(self.classes_)), 2):
            parts = [
                self._primal(self.dual_coef_[row : row + 1, part], self.support_vectors_[part])
                for row, part in ((j - 1, slice(begin[i], begin[i + 1])), (i, slice(begin[j], begin[j + 1])))
            ]
            rows.append(parts[0] + parts[1])
        return np.concatenate(rows)

    # ---- files ----

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes = check_labels(self.classes_)
        n_pairs = n_classes * (n_classes - 1) // 2
        valid = is_array(self.n_support_, np.int32, n_classes) and int(self.n_support_.min()) >= 0
        require(valid and int(self.n_support_.sum()) == len(self.support_), "support vectors are miscounted")
        valid = len(self.dual_coef_) == n_classes - 1 and is_array(self.intercept_, np.float64, n_pairs)
        for name in ("probA_", "probB_"):
            part = vars(self).get(name)
            valid = valid and (part is None or is_array(part, np.float64, n_pairs))
        require(valid, "there is not one decision function per pair of classes")
