"""Negative correlation learning: small networks trained together, and rewarded where they differ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from spinney.base import ReadsTables, describe_features
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, OneOf, Real, Rule, Whole, check_parameters, check_weights
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.core.seeds import draw_seed, stream
from spinney.data import Schema, read_table
from spinney.data.target import encode_values, read_target
from spinney.io import CorruptModelFile
from spinney.members.tables import encode_labels
from spinney.perturb.base import _Ensemble, check_labels
from spinney.perturb.inputs import InputCoding, learn_coding, merge_rows, moments
from spinney.perturb.networks import VALIDATION, Array, Link, Networks, Objective, draw_networks
from spinney.perturb.training import EpochLedger, Examples, Schedule, train

# Rows that are answered together, so that the hidden values of all networks take little memory.
_BLOCK = 4096
_SMALLEST_BATCH, _LARGEST_BATCH = 32, 256


class _NegativeCorrelation(ReadsTables, _Ensemble):
    """Code the table, train the networks, and give the mean of what they say."""

    _link: ClassVar[Link]
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "n_estimators": (Whole(1),),
        "penalty": (Real(0.0, 1.0),),
        "hidden_size": (Whole(1),),
        "alpha": (Real(0.0),),
        "learning_rate_init": (Real(0.0, open_ends="("),),
        "batch_size": (OneOf("auto"), Whole(1)),
        "max_iter": (Whole(1),),
        "tol": (Real(0.0),),
        "n_iter_no_change": (Whole(1),),
        "early_stopping": (FLAG,),
        "validation_fraction": (Real(0.0, 1.0, open_ends="()"),),
        "categorical_features": (NONE, OneOf("from_dtype"), ArrayRule()),
        "unseen": (OneOf("missing", "error"),),
        "verbose": (FLAG, Whole(0)),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("schema_", "coding_", "networks_", "ledger_")
    _transient_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")

    n_estimators: int
    penalty: float
    hidden_size: int
    alpha: float
    learning_rate_init: float
    batch_size: int | Literal["auto"]
    max_iter: int
    tol: float
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    categorical_features: Any
    unseen: Literal["missing", "error"]
    random_state: Any
    verbose: int

    schema_: Schema
    coding_: InputCoding
    networks_: Networks
    ledger_: EpochLedger

    @abstractmethod
    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        """Give y as numbers or codes (n_rows, n_outputs), and what there is to remember of it."""

    @abstractmethod
    def _goal(
        self, target: NDArray[Any], weights: Array, remembered: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        """Give what the networks are to say (n_rows, n_outputs), and what there is to remember of it."""

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train the networks together on X (n_rows, n_features) and y.

        X may be an array, a list of lists, a sparse matrix, or a data frame of pandas, polars or Arrow.
        Numbers are standardized; categories have a column each, the rarest of more than 32 one together; a
        missing number is the mean, a missing category none, and a further column tells that it was missing.
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        seed = draw_seed(self.random_state)
        table = read_table(X, self.categorical_features)
        target, remembered = self._read_target(y, table.n_rows)
        weights = check_weights(sample_weight, table.n_rows)
        given = np.ones(table.n_rows) if weights is None else weights
        table, target, given = merge_rows(table, target, given)
        shares = given / given.mean()
        coding = learn_coding(table, shares)
        goal, more = self._goal(target, shares, remembered)
        examples, held_out = self._hold_out(Examples(coding.apply(table), goal, shares), seed)
        networks = draw_networks(
            self.n_estimators, coding.n_columns, self.hidden_size, goal.shape[1], self._link, seed
        )
        objective = Objective(float(self.penalty), float(self.alpha))
        networks, ledger = train(networks, examples, objective, self._schedule(len(examples)), seed, held_out)
        fitted = {"schema_": table.schema, "coding_": coding, "networks_": networks, "ledger_": ledger}
        return self._adopt(**fitted, **describe_features(table.schema), **remembered, **more)

    def _schedule(self, n_rows: int) -> Schedule:
        if isinstance(self.batch_size, str):
            size = min(max(n_rows // 8, _SMALLEST_BATCH), _LARGEST_BATCH)
        else:
            size = int(self.batch_size)
        return Schedule(
            min(size, n_rows),
            float(self.learning_rate_init),
            self.max_iter,
            float(self.tol),
            self.n_iter_no_change,
            f"{type(self).__name__}: epochs" if self.verbose else None,
        )

    def _hold_out(self, examples: Examples, seed: int) -> tuple[Examples, Examples | None]:
        if not self.early_stopping:
            return examples, None
        n_rows = len(examples)
        n_held = max(1, round(self.validation_fraction * n_rows))
        if n_held >= n_rows:
            raise InputError(
                f"Holding out {n_held} of {n_rows} sample(s) leaves none to learn from",
                fix="Set early_stopping=False or a smaller validation_fraction.",
            )
        order = stream(seed, VALIDATION).permutation(n_rows)
        return examples.take(np.sort(order[n_held:])), examples.take(np.sort(order[:n_held]))

    # ---- prediction ----

    @property
    def n_iter_(self) -> int:
        """Count the epochs."""
        return len(self.ledger_)

    @property
    def estimators_(self) -> list[Self]:
        """Give each network as a model of its own.  (n_estimators,)"""
        members = []
        for m in range(len(self.networks_)):
            member = type(self)(**(self.get_params(deep=False) | {"n_estimators": 1}))
            arrays = (array[m : m + 1] for array in self.networks_.arrays)
            fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
            members.append(member._adopt(**fitted | {"networks_": Networks.of(arrays, self._link)}))
        return members

    def _blocks(self, X: Any) -> Iterator[Array]:
        """Give what the networks say of each block of rows.  -> (n_estimators, n_rows, n_outputs)"""
        inputs = self.coding_.apply(self._table(X))
        for begin in range(0, len(inputs), _BLOCK):
            yield self.networks_.outputs(inputs[begin : begin + _BLOCK])

    def _mean(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.concatenate([outputs.mean(axis=0) for outputs in self._blocks(X)])

    # ---- files ----

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        fitted = dict(state["fitted"])
        if "schema_" in fitted:
            fitted["schema_"] = fitted["schema_"].to_state()
        return {**state, "fitted": fitted}

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        if "schema_" in vars(self):
            self.schema_ = Schema.from_state(self.schema_)
            self.__dict__.update(describe_features(self.schema_))

    def _check_state(self) -> None:
        if "schema_" not in vars(self):
            return
        kinds = {"coding_": InputCoding, "networks_": Networks, "ledger_": EpochLedger}
        if not all(isinstance(getattr(self, name), kind) for name, kind in kinds.items()):
            raise CorruptModelFile(f"The parts of a {type(self).__name__} are not what they should be.")
        self.coding_.check(self.schema_)
        networks = self.networks_
        valid = networks.input_weights.shape[1] == self.coding_.n_columns and networks.link == self._link
        if not valid or networks.output_bias.shape[2] != self._n_goals():
            raise CorruptModelFile(f"The networks of a {type(self).__name__} do not fit what they are for.")

    @abstractmethod
    def _n_goals(self) -> int:
        """Count the outputs that a network must have; CorruptModelFile if what was remembered is unsound."""


class NegativeCorrelationRegressor(RegressorMixin, MultiOutputMixin, _NegativeCorrelation):  # type: ignore[misc]
    """Predict numbers by the mean of small networks that are trained together to err differently.

    Each of M networks with one hidden layer (tanh) learns ½ (F_m − y)² − ½ λ (F_m − F̄)²: its own error, less
    the distance to the mean F̄ of all. λ = 0 is independent training, λ = 1 trains the mean as if it were one
    large network. In between, members give up a little accuracy for the ambiguity that lowers E = Ē − Ā.
    Training is by Adam, in batches, on inputs and targets that are standardized inside.

    n_estimators : int
        Number of networks, M.
    penalty : number from 0 to 1
        λ. With the strength γ of other texts, λ = 2 γ (M − 1) / M, and the limit 1 is γ = M / (2 (M − 1));
        beyond it the objective has no lower bound.
    hidden_size : int
        Hidden units of each network.
    alpha : number of at least 0
        Decay of the weights: ½ α times their squares is added to the mean error of each network.
    learning_rate_init, batch_size : number, int or "auto"
        Step of Adam, and rows a step; "auto" is an eighth of the rows, from 32 to 256.
    max_iter, tol, n_iter_no_change : int, number, int
        Epochs at most; training ends after ``n_iter_no_change`` epochs that did not gain ``tol``.
    early_stopping, validation_fraction : bool, number
        Judge by the error on that share of the distinct rows, held out, and keep the best epoch's networks.
    categorical_features, unseen
        As in ``DecisionTreeRegressor``.
    random_state : int, numpy generator or None
        Seed of the first weights, the batches and the rows held out.
    verbose : int
        Above 0: a progress bar of the epochs.

    Fitted: ``networks_`` (the weights, network by network), ``estimators_`` (each as a model of its own),
    ``ledger_`` (errors and ambiguity by epoch), ``n_iter_``, ``n_outputs_``, ``n_features_in_``,
    ``feature_names_in_``.

    >>> X = [[i / 50] for i in range(-50, 50)]
    >>> model = NegativeCorrelationRegressor(random_state=0).fit(X, [x[0] ** 2 for x in X])
    >>> model.predict([[0.5]]).round(1).tolist()
    [0.2]
    """

    _link: ClassVar[Link] = "identity"
    _required_attributes: ClassVar[tuple[str, ...]] = ("target_center_", "target_scale_")

    target_center_: Array
    target_scale_: Array

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        penalty: float = 0.5,
        hidden_size: int = 16,
        alpha: float = 1e-4,
        learning_rate_init: float = 0.01,
        batch_size: int | Literal["auto"] = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: int = 20,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        categorical_features: Any = None,
        unseen: Literal["missing", "error"] = "missing",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    @property
    def n_outputs_(self) -> int:
        """Count the targets."""
        return len(self.target_center_)

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        return encode_values(read_target(y, n_rows), non_negative=False), {}

    def _goal(
        self, target: NDArray[Any], weights: Array, remembered: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        size, center, scale = np.array([moments(column, weights) for column in target.T]).T
        goal = (target / size - center) / scale
        # Of a constant there is nothing to learn: it is the answer, to the last bit.
        constant = (target == target[0]).all(axis=0)
        center, scale = np.where(constant, target[0], center * size), np.where(constant, 0.0, scale * size)
        return goal, {"target_center_": center, "target_scale_": scale}

    def predict(self, X: Any) -> Array:
        """Predict the mean of the networks.  -> (n_rows,) or (n_rows, n_outputs)"""
        return self._in_units(self._mean(X))

    def predict_members(self, X: Any) -> Array:
        """Give what each network predicts.  -> (n_rows, n_estimators) or (n_rows, n_estimators, n_outputs)

        >>> model = NegativeCorrelationRegressor(3, max_iter=2, random_state=0).fit([[0.0], [1.0]], [0, 1])
        >>> model.predict_members([[0.5]]).shape
        (1, 3)
        """
        check_is_fitted(self)
        outputs = np.concatenate([outputs.swapaxes(0, 1) for outputs in self._blocks(X)])
        return self._in_units(outputs)

    def _in_units(self, outputs: Array) -> Array:
        with np.errstate(over="ignore"):
            values = outputs * self.target_scale_ + self.target_center_
        largest = np.finfo(np.float64).max
        values = np.clip(values, -largest, largest)
        return np.asarray(values[..., 0] if self.n_outputs_ == 1 else values)

    def _n_goals(self) -> int:
        parts: list[Any] = [self.target_center_, self.target_scale_]
        valid = all(isinstance(p, np.ndarray) and p.dtype == np.float64 and p.ndim == 1 for p in parts)
        if not valid or len(self.target_center_) != len(self.target_scale_) or not np.isfinite(parts).all():
            raise CorruptModelFile("The targets' means and scales in a model file are damaged.")
        return self.n_outputs_


class NegativeCorrelationClassifier(ClassifierMixin, _NegativeCorrelation):  # type: ignore[misc]
    """Classify by the mean of small networks that are trained together to err differently.

    As `NegativeCorrelationRegressor`, with the same parameters: each network ends in a softmax over the
    classes, and learns ½ ‖F_m − y‖² − ½ λ ‖F_m − F̄‖², y being 1 for the right class and 0 for others. So its
    outputs are probabilities, their mean F̄ is one, and E = Ē − Ā holds for its Brier score, which no softmax
    with the logarithmic loss would give.

    Fitted: besides those of the regressor, ``classes_`` and ``n_classes_``.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NegativeCorrelationClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _link: ClassVar[Link] = "softmax"
    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_",)

    classes_: NDArray[Any]

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        penalty: float = 0.5,
        hidden_size: int = 16,
        alpha: float = 1e-4,
        learning_rate_init: float = 0.01,
        batch_size: int | Literal["auto"] = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: int = 20,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        categorical_features: Any = None,
        unseen: Literal["missing", "error"] = "missing",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    @property
    def n_classes_(self) -> int:
        """Count the classes."""
        return len(self.classes_)

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        codes, classes = encode_labels(y, n_rows)
        return codes[:, None], {"classes_": classes}

    def _goal(
        self, target: NDArray[Any], weights: Array, remembered: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        return np.eye(len(remembered["classes_"]))[target[:, 0]], {}

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likeliest class of each row.  -> (n_rows,)"""
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_.take(best)
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Give the mean over the networks of their probabilities.  -> (n_rows, n_classes)"""
        return self._mean(X)

    def predict_members(self, X: Any) -> NDArray[Any]:
        """Give the class that each network predicts.  -> (n_rows, n_estimators)"""
        check_is_fitted(self)
        best = np.concatenate([outputs.argmax(axis=2).T for outputs in self._blocks(X)])
        labels: NDArray[Any] = self.classes_.take(best)
        return labels

    def _n_goals(self) -> int:
        check_labels(self.classes_, type(self).__name__)
        return self.n_classes_
