"""Base class of negative correlation learning: the steps of ``fit``, validation rows, outputs and files."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.base import TableEstimator, parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, VALIDATION_ROWS, Integer, OneOf, Real, Rule, draw_seed
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.core.seeds import stream
from spinney.data import read_table
from spinney.data.schema import Schema
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.perturb import networks as nets
from spinney.perturb.inputs import InputCoding, learn_coding, merge_rows
from spinney.perturb.networks import Array, EpochLedger, Examples, Networks, Training

# Rows that are predicted together, so that the hidden values of all networks take little memory.
_BLOCK = 4096


@parameters
class NetworkEnsemble(TableEstimator, persistent_name=""):
    """Coding of the table, training of the networks, and the mean of their outputs."""

    _link: ClassVar[nets.Link]
    _parameter_uses = (VALIDATION_ROWS,)
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

    @abstractmethod
    def _validation_target(self, y: Any, n_rows: int, fitted: dict[str, Any]) -> Array:
        """Return the target of the networks for rows that are not trained on.  -> (n_rows, n_outputs)"""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
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
        eval_set : tuple (X, y) or (X, y, sample_weight), or None, default=None
            Rows that ``early_stopping`` scores the networks on, instead of holding out training rows.

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
        examples = Examples(coding.apply(table), goal, weights)
        if eval_set is None:
            examples, held_out = self._hold_out(examples, seed)
        else:
            held_out = self._read_eval_set(eval_set, table.schema, coding, fitted | more)
        networks = nets.draw_networks(
            self.n_estimators, coding.n_columns, self.hidden_size, goal.shape[1], self._link, seed
        )
        options = Training(*(getattr(self, one.name) for one in fields(Training)))
        networks, epochs = nets.train(networks, examples, options, seed, held_out, bool(self.ledger))
        return self._set_fitted(
            schema_=table.schema,
            coding_=coding,
            networks_=networks,
            n_iter_=len(epochs),
            ledger_=EpochLedger(*np.array(epochs).T.copy()) if self.ledger else None,
            **fitted,
            **more,
        )

    def _read_eval_set(
        self, eval_set: Any, schema: Schema, coding: InputCoding, fitted: dict[str, Any]
    ) -> Examples:
        if not self.early_stopping:
            raise InputError(
                "An eval_set was given, but early_stopping=False does not use one",
                fix="Set early_stopping=True, or leave out the eval_set.",
            )
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise InputError("eval_set must be (X, y) or (X, y, sample_weight).")
        table = schema.read(eval_set[0], self.unseen, type(self).__name__)
        given = check_weights(eval_set[2] if len(eval_set) == 3 else None, table.n_rows)
        target = self._validation_target(eval_set[1], table.n_rows, fitted)
        return Examples(coding.apply(table), target, np.ones(table.n_rows) if given is None else given)

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
        for begin in range(0, max(len(inputs), 1), _BLOCK):
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
