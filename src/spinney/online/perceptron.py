"""The perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from spinney.core.arrays import Floats
from spinney.core.parameters import NONE, OneOf, Real, Rule
from spinney.data.matrix import Matrix
from spinney.io import require
from spinney.native import core
from spinney.online.base import CLASS_WEIGHT_RULE, ONLINE_RULES, OnlineClassifier
from spinney.online.training import PERCEPTRON, Learned, UpdateRule


class Perceptron(OnlineClassifier):
    """Perceptron (Rosenblatt, 1958): w ← w + η y x for every row on the wrong side.

    If a hyperplane separates the rows with the margin γ and no row is longer than R, there are at most
    (R/γ)² mistakes over all epochs (Novikoff, 1962). The fitted model reports its number of mistakes and
    the bound for the margin that it has itself. More than two classes are separated one against the rest.

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
        Number of classes trained in parallel; −1 uses all cores. The model does not depend on it.
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
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
    }
    _required_attributes = ("n_mistakes_", "margin_", "radius_", "mistake_bound_")

    n_mistakes_: Any
    margin_: Floats
    mistake_bound_: Floats
    radius_: float

    def __init__(
        self,
        *,
        penalty: Literal["l2", "l1", "elasticnet"] | None = None,
        alpha: float = 1e-4,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        ledger: bool = False,
    ) -> None:
        self._store_params(locals())

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
        return self._fit(X, y, coef_init, intercept_init, sample_weight)

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
        bound = np.full(len(margin), np.inf)
        if applies:
            np.divide(radius, margin, out=bound, where=margin > 0)
        return {
            "n_mistakes_": np.array([sum(m for _, _, m in one.epochs) for one in learned], dtype=np.int64),
            "margin_": margin,
            "radius_": radius,
            "mistake_bound_": bound**2,
        }

    def _check_fitted(self) -> None:
        super()._check_fitted()
        shapes = {np.shape(part) for part in (self.n_mistakes_, self.margin_, self.mistake_bound_)}
        require(shapes == {self.intercept_.shape}, "there are not mistakes for every class")
