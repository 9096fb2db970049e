"""Negative correlation learning: small networks trained together and rewarded for being different."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from spinney.core.errors import InputError
from spinney.data.target import encode_labels, encode_like, encode_values, read_target
from spinney.io import require
from spinney.members.tables import check_labels
from spinney.perturb.inputs import moments
from spinney.perturb.network_ensemble import NetworkEnsemble
from spinney.perturb.networks import Array


class NegativeCorrelationRegressor(RegressorMixin, MultiOutputMixin, NetworkEnsemble):  # type: ignore[misc]
    """Regression by the mean of small networks trained by negative correlation learning (Liu and Yao, 1999).

    Each of M networks with one hidden layer (tanh) minimizes ½ (F_m − y)² − ½ λ (F_m − F̄)²: its own error
    minus its distance from the mean F̄ of all networks. λ = 0 is independent training, λ = 1 trains the mean
    as one large network. In between, members trade accuracy for the ambiguity Ā that lowers E = Ē − Ā.
    Training uses Adam on batches of standardized inputs and targets. The fitted model has the same bytes on
    every machine.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks M.
    penalty : float in [0, 1], default=0.5
        λ. In terms of the strength γ used in other texts, λ = 2 γ (M − 1) / M. Above 1 the objective has no
        lower bound.
    hidden_size : int, default=16
        Hidden units per network.
    alpha : float, default=1e-4
        Weight decay: ½ α times the squared weights is added to the mean error of each network.
    learning_rate_init : float, default=0.01
        Step size of Adam.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is an eighth of the rows, between 32 and 256.
    max_iter : int, default=200
        Maximum number of epochs.
    early_stopping : bool, default=False
        Hold out validation rows, stop by their error, and keep the networks of the best epoch. If False,
        training stops by the training objective.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the distinct rows held out for early stopping.
    n_iter_no_change : int, default=20
        Training stops after this many epochs without an improvement of more than ``tol``.
    tol : float, default=1e-4
        Smallest change of the error, in units of the target variance, that counts as an improvement.
    categorical_features : array-like, "from_dtype" or None, default=None
        Categorical columns, by name, index or mask, as in :class:`~spinney.DecisionTreeRegressor`.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights, the batches and the validation rows.
    ledger : False, True or "full", default=False
        Record errors and ambiguity per epoch in ``ledger_``; "full" is the same as True.
    verbose : int, default=0
        Above 0: show a progress bar.

    Attributes
    ----------
    networks_ : Networks
        Weights of the networks.
    estimators_ : list of NegativeCorrelationRegressor
        Each network as a model of its own.
    coding_ : InputCoding
        How features become inputs of the networks.
    schema_ : Schema
        Names, kinds and categories of the features.
    target_center_ : ndarray of shape (n_outputs,)
        Mean of each target.
    target_scale_ : ndarray of shape (n_outputs,)
        Standard deviation of each target, 0 for a constant.
    n_iter_ : int
        Number of epochs that the fitted networks were trained for.
    ledger_ : EpochLedger
        Errors and ambiguity of these epochs. Only with ``ledger=True``.
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import NegativeCorrelationRegressor
    >>> X = [[i / 50] for i in range(-50, 50)]
    >>> model = NegativeCorrelationRegressor(random_state=0).fit(X, [x[0] ** 2 for x in X])
    >>> model.predict([[0.5]]).round(1).tolist()
    [0.2]
    """

    _link = "identity"
    _required_attributes = ("target_center_", "target_scale_")

    target_center_: Array
    target_scale_: Array

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        return len(self.target_center_)

    def _encode_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        return encode_values(read_target(y, n_rows), non_negative=False), {}

    def _network_target(
        self, target: NDArray[Any], weights: Array, fitted: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        size, center, scale = np.array([moments(column, weights) for column in target.T]).T
        goal = (target / size - center) / scale
        # A constant target is predicted exactly.
        constant = (target == target[0]).all(axis=0)
        center, scale = np.where(constant, target[0], center * size), np.where(constant, 0.0, scale * size)
        return goal, {"target_center_": center, "target_scale_": scale}

    def _validation_target(self, y: Any, n_rows: int, fitted: dict[str, Any]) -> Array:
        values, scale = encode_values(read_target(y, n_rows), non_negative=False), fitted["target_scale_"]
        if values.shape[1] != len(scale):
            raise InputError(f"The eval_set has {values.shape[1]} outputs where {len(scale)} are expected.")
        return np.asarray((values - fitted["target_center_"]) / np.where(scale > 0, scale, 1.0))

    def predict(self, X: Any) -> Array:
        """Predict the mean of the networks.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        return self._in_units(self._mean_output(X))

    def predict_members(self, X: Any) -> Array:
        """Predict with each network.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_estimators) or (n_rows, n_estimators, n_outputs)

        Examples
        --------
        >>> from spinney import NegativeCorrelationRegressor
        >>> model = NegativeCorrelationRegressor(3, max_iter=2, random_state=0).fit([[0.0], [1.0]], [0, 1])
        >>> model.predict_members([[0.5]]).shape
        (1, 3)
        """
        return self._in_units(np.concatenate([outputs.swapaxes(0, 1) for outputs in self._outputs(X)]))

    def _in_units(self, outputs: Array) -> Array:
        """Return outputs in the units of the targets, without overflow."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            values = np.clip(outputs * self.target_scale_ + self.target_center_, -largest, largest)
        return np.asarray(values[..., 0] if self.n_outputs_ == 1 else values)

    def _check_target(self) -> int:
        parts: list[Any] = [self.target_center_, self.target_scale_]
        valid = all(isinstance(p, np.ndarray) and p.dtype == np.float64 and p.ndim == 1 for p in parts)
        valid = valid and len(parts[0]) == len(parts[1]) and bool(np.isfinite(parts).all())
        require(valid, "means and scales of the targets are not valid")
        return self.n_outputs_


class NegativeCorrelationClassifier(ClassifierMixin, NetworkEnsemble):  # type: ignore[misc]
    """Classification by the mean of small networks trained by negative correlation learning.

    As :class:`NegativeCorrelationRegressor`, but each network ends in a softmax over the classes and
    minimizes ½ ‖F_m − y‖² − ½ λ ‖F_m − F̄‖², with y the one-hot encoded class. Its outputs are probabilities,
    and E = Ē − Ā holds for the Brier score, which it would not for the log loss.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks M.
    penalty : float in [0, 1], default=0.5
        λ, the weight of the distance from the mean.
    hidden_size : int, default=16
        Hidden units per network.
    alpha : float, default=1e-4
        Weight decay: ½ α times the squared weights is added to the mean error of each network.
    learning_rate_init : float, default=0.01
        Step size of Adam.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is an eighth of the rows, between 32 and 256.
    max_iter : int, default=200
        Maximum number of epochs.
    early_stopping : bool, default=False
        Hold out validation rows, stop by their error, and keep the networks of the best epoch. If False,
        training stops by the training objective.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the distinct rows held out for early stopping.
    n_iter_no_change : int, default=20
        Training stops after this many epochs without an improvement of more than ``tol``.
    tol : float, default=1e-4
        Smallest change of the Brier score that counts as an improvement.
    categorical_features : array-like, "from_dtype" or None, default=None
        Categorical columns, by name, index or mask, as in :class:`~spinney.DecisionTreeClassifier`.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights, the batches and the validation rows.
    ledger : False, True or "full", default=False
        Record Brier scores and ambiguity per epoch in ``ledger_``; "full" is the same as True.
    verbose : int, default=0
        Above 0: show a progress bar.

    Attributes
    ----------
    networks_ : Networks
        Weights of the networks.
    estimators_ : list of NegativeCorrelationClassifier
        Each network as a model of its own.
    coding_ : InputCoding
        How features become inputs of the networks.
    schema_ : Schema
        Names, kinds and categories of the features.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_iter_ : int
        Number of epochs that the fitted networks were trained for.
    ledger_ : EpochLedger
        Brier scores and ambiguity of these epochs. Only with ``ledger=True``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import NegativeCorrelationClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> NegativeCorrelationClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _link = "softmax"
    _required_attributes = ("classes_",)

    classes_: NDArray[Any]

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _encode_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        codes, classes = encode_labels(y, n_rows)
        return codes[:, None], {"classes_": classes}

    def _network_target(
        self, target: NDArray[Any], weights: Array, fitted: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        return np.eye(len(fitted["classes_"]))[target[:, 0]], {}

    def _validation_target(self, y: Any, n_rows: int, fitted: dict[str, Any]) -> Array:
        classes = fitted["classes_"]
        codes = encode_like(read_target(y, n_rows), (classes,))[:, 0]
        return np.asarray(codes[:, None] == np.arange(len(classes)), np.float64)  # 0 for an unknown class

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities, the mean of those of the networks.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._mean_output(X)

    def predict_members(self, X: Any) -> NDArray[Any]:
        """Predict the class with each network.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_estimators)
        """
        best = np.concatenate([outputs.argmax(axis=2).T for outputs in self._outputs(X)])
        return np.asarray(self.classes_.take(best))

    def _check_target(self) -> int:
        return check_labels(self.classes_)
