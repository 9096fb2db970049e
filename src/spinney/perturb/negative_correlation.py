"""Negative correlation learning: small networks trained together and rewarded for being different."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from spinney.base import TableEstimator, parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, OneOf, Real, Rule, draw_seed
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.core.seeds import stream
from spinney.data import read_table
from spinney.data.target import encode_labels, encode_values, read_target
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.tables import check_labels
from spinney.perturb import networks as nets
from spinney.perturb.inputs import InputCoding, learn_coding, merge_rows, moments
from spinney.perturb.networks import Array, EpochLedger, Examples, Networks, Training

# Rows that are predicted together, so that the hidden values of all networks take little memory.
_BLOCK = 4096


@parameters
class _NegativeCorrelation(TableEstimator):
    """Coding of the table, training of the networks, and the mean of their outputs."""

    _link: ClassVar[nets.Link]
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "n_estimators": (Integer(1),),
        "penalty": (Real(0.0, 1.0),),
        "hidden_size": (Integer(1),),
        "alpha": (Real(0.0),),
        "learning_rate_init": (Real(0.0, open_ends="("),),
        "batch_size": (OneOf("auto"), Integer(1)),
        "max_iter": (Integer(1),),
        "early_stopping": (FLAG,),
        "validation_fraction": (Real(0.0, 1.0, open_ends="()"),),
        "n_iter_no_change": (Integer(1),),
        "tol": (Real(0.0),),
        "categorical_features": (NONE, OneOf("from_dtype"), ArrayRule()),
        "unseen": (OneOf("missing", "error"),),
        "ledger": (FLAG, OneOf("full")),
        "verbose": (FLAG, Integer(0)),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("coding_", "networks_", "n_iter_")
    _state_attributes: ClassVar[tuple[str, ...]] = ("ledger_",)

    n_estimators: int = field(default=10, kw_only=False)
    penalty: float = 0.5
    hidden_size: int = 16
    alpha: float = 1e-4
    learning_rate_init: float = 0.01
    batch_size: int | Literal["auto"] = "auto"
    max_iter: int = 200
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 20
    tol: float = 1e-4
    categorical_features: Any = None
    unseen: Literal["missing", "error"] = "missing"
    random_state: Any = None
    ledger: bool | Literal["full"] = False
    verbose: int = 0

    coding_: InputCoding = field(init=False)
    networks_: Networks = field(init=False)
    n_iter_: int = field(init=False)
    ledger_: EpochLedger = field(init=False)

    @abstractmethod
    def _encode_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        """Return y as values or class codes (n_rows, n_outputs), and fitted attributes."""

    @abstractmethod
    def _network_target(
        self, target: NDArray[Any], weights: Array, fitted: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        """Return the target of the networks (n_rows, n_outputs), and further fitted attributes."""

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train the networks.

        Numeric features are standardized, and a missing value becomes the mean. Categories are one-hot
        encoded; the rarest of more than 32 share a column. A further column marks missing values.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Array, list of lists, sparse matrix, or data frame of pandas, polars or Arrow.
        y : array-like of shape (n_rows,), for regression also (n_rows, n_outputs)
            Target values or class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
        """
        self._check_params()
        seed = draw_seed(self.random_state)
        table = read_table(X, self.categorical_features)
        target, fitted = self._encode_target(y, table.n_rows)
        given = check_weights(sample_weight, table.n_rows)
        table, target, weights = merge_rows(table, target, np.ones(table.n_rows) if given is None else given)
        weights = weights / (math.fsum(weights.tolist()) / len(weights))
        coding = learn_coding(table, weights)
        goal, more = self._network_target(target, weights, fitted)
        examples, held_out = self._hold_out(Examples(coding.apply(table), goal, weights), seed)
        networks = nets.draw_networks(
            self.n_estimators, coding.n_columns, self.hidden_size, goal.shape[1], self._link, seed
        )
        options = Training(*(getattr(self, one.name) for one in fields(Training)))
        networks, epochs = nets.train(networks, examples, options, seed, held_out)
        return self._set_fitted(
            schema_=table.schema,
            coding_=coding,
            networks_=networks,
            n_iter_=len(epochs),
            ledger_=EpochLedger(*np.array(epochs).T.copy()) if self.ledger else None,
            **fitted,
            **more,
        )

    def _hold_out(self, examples: Examples, seed: int) -> tuple[Examples, Examples | None]:
        if not self.early_stopping:
            return examples, None
        n_rows = len(examples)
        n_held = max(1, round(self.validation_fraction * n_rows))
        if n_held >= n_rows:
            raise InputError(
                f"Holding out {n_held} of {n_rows} sample(s) leaves none to train on",
                fix="Set early_stopping=False or a smaller validation_fraction.",
            )
        order = stream(seed, nets.VALIDATION).permutation(n_rows)
        return examples.take(np.sort(order[n_held:])), examples.take(np.sort(order[:n_held]))

    # ---- prediction ----

    @property
    def estimators_(self) -> list[Self]:
        """Each network as a model of its own."""
        members = []
        for m in range(len(self.networks_)):
            member = type(self)(**(self.get_params(deep=False) | {"n_estimators": 1}))
            first, second = (layer[m : m + 1] for layer in self.networks_.layers)
            fitted = self._fitted_attributes() | {"networks_": Networks.of((first, second), self._link)}
            member.__dict__.update(fitted)
            members.append(member)
        return members

    def _outputs(self, X: Any) -> Iterator[Array]:
        """Yield the outputs of the networks for each block of rows.  (n_estimators, n_rows, n_outputs)"""
        table = self._read_table(X)
        inputs = self.coding_.apply(table)
        for begin in range(0, len(inputs), _BLOCK):
            yield self.networks_.outputs(inputs[begin : begin + _BLOCK])

    def _mean_output(self, X: Any) -> Array:
        return np.concatenate([nets.mean_of(outputs) for outputs in self._outputs(X)])

    # ---- files ----

    def _set_state(self, state: dict[str, Any]) -> None:
        fitted = state["fitted"]
        if "n_iter_" not in fitted and isinstance(fitted.get("ledger_"), EpochLedger):
            # Format version 1 always stored the ledger, and its length was n_iter_.
            fitted = {**fitted, "n_iter_": len(fitted["ledger_"])}
            state = {"params": {**state["params"], "ledger": True}, "fitted": fitted}
        super()._set_state(state)

    def _check_fitted(self) -> None:
        kinds = [type(part) for part in (self.coding_, self.networks_, self.n_iter_)]
        valid = kinds == [InputCoding, Networks, int] and self.n_iter_ >= 0
        valid = valid and type(vars(self).get("ledger_")) in (EpochLedger, type(None))
        require(valid, f"the parts of a {type(self).__name__} have wrong types")
        self.coding_.check(self.schema_)
        shape, n_outputs = self.networks_.input_weights.shape, self.networks_.output_bias.shape[2]
        valid = shape[1] == self.coding_.n_columns and self.networks_.link == self._link
        require(valid and n_outputs == self._check_target(), "the networks do not fit inputs and target")

    @abstractmethod
    def _check_target(self) -> int:
        """Return the number of outputs; raise CorruptModelFile if what is known of the target is damaged."""


class NegativeCorrelationRegressor(RegressorMixin, MultiOutputMixin, _NegativeCorrelation):  # type: ignore[misc]
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


class NegativeCorrelationClassifier(ClassifierMixin, _NegativeCorrelation):  # type: ignore[misc]
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
