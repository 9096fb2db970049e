"""Networks with one hidden layer, trained together by Adam, with the same bits on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.core.early_stopping import EarlyStopping
from spinney.core.errors import InputError
from spinney.core.ledger import Ledger
from spinney.core.progress import ProgressBar
from spinney.core.seeds import stream
from spinney.io import Persistent, require

Array = NDArray[np.float64]
Link = Literal["identity", "softmax"]
Layers = tuple[Array, Array]
"""(M, n_inputs + 1, n_hidden) and (M, n_hidden + 1, n_outputs); the last row of each is the bias."""

# Purposes of the random streams: validation rows, row order of each epoch, and network m by WEIGHTS + m.
VALIDATION, BATCHES, WEIGHTS = 0, 1, 2

_TAYLOR = [1.0 / math.factorial(degree) for degree in range(13, -1, -1)]
_MIN_BATCH, _MAX_BATCH = 32, 256
_BLOCK = 4096  # elements whose intermediate results fit into the first-level cache

# ---- arithmetic ----
#
# BLAS, NumPy's reductions and its exponential round differently from processor to processor. What follows
# uses correctly rounded elementwise operations in a fixed order, and sums that are exact in any order.


def product(a: Array, b: Array, max_a: float | None = None) -> Array:
    """Return a @ b to about 44 bits, the same bits whatever order BLAS sums in (Ozaki et al., 2012).

    Rows of ``a`` and columns of ``b`` are scaled and cut into two slices of integers, which are so small
    that every sum of their products is exact. A row of the result depends on no other row of ``a``.
    ``max_a`` is a known bound of the entries of ``a``, which saves looking for it.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [0.5]])).tolist()
    [[4.0]]
    """
    bits = (53 - a.shape[-1].bit_length()) // 2
    largest = np.abs(a).max(axis=-1, keepdims=True) if max_a is None else max_a
    high_a, low_a, unit_a = _slices(a, largest, bits)
    high_b, low_b, unit_b = _slices(b, np.abs(b).max(axis=-2, keepdims=True), bits)
    total = high_a @ low_b
    total += low_a @ high_b
    total *= 2.0**-bits
    total += high_a @ high_b
    total *= unit_a * unit_b
    return total


def _slices(values: Array, largest: Array | float, bits: int) -> tuple[Array, Array, Array]:
    """Return integers high and low and a power of 2, unit: values ≈ (high + low · 2^−bits) · unit."""
    exponent = np.maximum(np.frexp(largest)[1], -900)  # smaller values count as 0
    low = values * np.ldexp(1.0, bits - exponent)
    high = np.rint(low)
    low -= high
    low *= 2.0**bits
    return high, np.rint(low, out=low), np.ldexp(1.0, exponent - bits)


def exponential(x: Array) -> Array:
    """Return e^x by its Taylor series, with an error below 2 ulp; arguments beyond ±708 count as ±708.

    >>> exponential(np.array([0.0, 1.0])).tolist()
    [1.0, 2.718281828459045]
    """
    result = np.empty(x.size)
    for begin in range(0, x.size, _BLOCK):
        block = np.clip(x.reshape(-1)[begin : begin + _BLOCK], -708.0, 708.0)
        k = np.rint(block * 1.4426950408889634)  # x = k ln 2 + rest
        block -= k * float.fromhex("0x1.62e42feep-1")
        block -= k * float.fromhex("0x1.a39ef35793c76p-33")
        series = block * _TAYLOR[0]
        for factor in _TAYLOR[1:-1]:
            series += factor
            series *= block
        series += _TAYLOR[-1]
        powers = (k.astype(np.int64) + 1023) << 52  # the bits of 2^k
        result[begin : begin + _BLOCK] = series * powers.view(np.float64)
    return result.reshape(x.shape)


def sum_over_last(values: Array) -> Array:
    """Return the sum over the last axis, added up in its order."""
    return np.asarray(sum(values.T)).T


def weighted_sum(values: Array, weights: Array) -> float:
    """Return Σ weights · values, rounded once."""
    return math.fsum((values * weights).tolist())


# ---- networks ----


@dataclass(frozen=True, eq=False)
class Networks(Persistent):
    """M networks x → tanh(x W + b) V + c of one size, followed by a softmax if the link says so.

    Parameters
    ----------
    input_weights : array (M, n_inputs, n_hidden)
        W.
    hidden_bias : array (M, 1, n_hidden)
        b.
    output_weights : array (M, n_hidden, n_outputs)
        V.
    output_bias : array (M, 1, n_outputs)
        c.
    link : {"identity", "softmax"}
        What the outputs pass through.
    """

    input_weights: Array
    hidden_bias: Array
    output_weights: Array
    output_bias: Array
    link: str

    def __post_init__(self) -> None:
        arrays = (self.input_weights, self.hidden_bias, self.output_weights, self.output_bias)
        valid = all(isinstance(a, np.ndarray) and a.dtype == np.float64 and a.ndim == 3 for a in arrays)
        valid = valid and all(np.isfinite(a).all() for a in arrays)
        if valid:
            (n, _, hidden), outputs = self.input_weights.shape, self.output_weights.shape[2]
            shapes = [(n, 1, hidden), (n, hidden, outputs), (n, 1, outputs)]
            valid = min(n, hidden, outputs) >= 1 and [a.shape for a in arrays[1:]] == shapes
        require(valid, "the weights of the networks are not finite arrays of matching shapes")
        require(self.link in ("identity", "softmax"), "the networks have an unknown link")

    @classmethod
    def of(cls, layers: Layers, link: str) -> Networks:
        """Build networks from their two layers."""
        w, b, v, c = (part.copy() for layer in layers for part in (layer[:, :-1], layer[:, -1:]))
        return cls(w, b, v, c, link)

    @property
    def layers(self) -> Layers:
        """Copies of the weights of the hidden and of the output layer, with the biases as last rows."""
        hidden = np.concatenate([self.input_weights, self.hidden_bias], axis=1)
        return hidden, np.concatenate([self.output_weights, self.output_bias], axis=1)

    def __len__(self) -> int:
        return len(self.input_weights)

    def outputs(self, inputs: Array) -> Array:
        """Return the outputs of every network.  inputs (n_rows, n_inputs) -> (M, n_rows, n_outputs)"""
        return _forward(self.layers, self.link, inputs)[2]


def draw_networks(n: int, n_inputs: int, n_hidden: int, n_outputs: int, link: Link, seed: int) -> Networks:
    """Draw n networks by Glorot's rule, each from a random stream of its own.

    >>> len(draw_networks(3, 2, 4, 1, "identity", seed=0))
    3
    """
    layers = np.empty((n, n_inputs + 1, n_hidden)), np.zeros((n, n_hidden + 1, n_outputs))
    for m in range(n):
        rng = stream(seed, WEIGHTS + m)
        for layer, drawn in zip(layers, (n_inputs + 1, n_hidden), strict=True):
            reach = math.sqrt(6.0 / (layer.shape[1] - 1 + layer.shape[2]))
            layer[m, :drawn] = reach * (2.0 * rng.random((drawn, layer.shape[2])) - 1.0)
    return Networks.of(layers, link)


def _with_ones(values: Array) -> Array:
    """Append a column of ones, the input of the bias."""
    return np.concatenate([values, np.ones((*values.shape[:-1], 1))], axis=-1)


def _forward(layers: Layers, link: str, inputs: Array) -> tuple[Array, Array, Array]:
    """Return inputs and hidden values (M, n_rows, n_hidden), each with ones appended, and the outputs."""
    inputs = _with_ones(inputs)
    hidden = _with_ones(1.0 - 2.0 / (exponential(2.0 * product(inputs, layers[0])) + 1.0))  # tanh
    outputs = product(hidden, layers[1], max_a=1.0)
    if link == "softmax":
        outputs = exponential(outputs - outputs.max(axis=2, keepdims=True))
        outputs /= sum_over_last(outputs)[..., None]
    return inputs, hidden, outputs


class Spread(NamedTuple):
    """Mean squared error of the members, that of their mean, and the ambiguity, their difference."""

    members: float
    ensemble: float
    ambiguity: float


def mean_of(outputs: Array) -> Array:
    """Return the mean over the networks, added up in their order.  (M, …) -> (…)"""
    return np.asarray(sum(outputs)) / len(outputs)


def spread(outputs: Array, target: Array, weights: Array) -> Spread:
    """Measure E = Ē − Ā, summed over the outputs and weighted over the rows.

    outputs (M, n_rows, n_outputs), target (n_rows, n_outputs), weights (n_rows,) with sum 1

    >>> spread(np.array([[[0.0]], [[2.0]]]), np.array([[1.0]]), np.ones(1))
    Spread(members=1.0, ensemble=0.0, ambiguity=1.0)
    """
    mean = mean_of(outputs)
    errors, ambiguities = mean_of(np.square(outputs - target)), mean_of(np.square(outputs - mean))
    squares = errors, np.square(mean - target), ambiguities
    return Spread(*(weighted_sum(sum_over_last(one), weights) for one in squares))


# ---- training ----


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs (n_rows, n_inputs), targets (n_rows, n_outputs) and weights (n_rows,)."""

    inputs: Array
    target: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, rows: Any) -> Examples:
        """Return some of the rows, their weights unchanged."""
        return Examples(self.inputs[rows], self.target[rows], self.weights[rows])


def gradient(
    layers: Layers, link: str, batch: Examples, penalty: float, alpha: float
) -> tuple[Layers, Array]:
    """Return the derivative of the objective by each layer, and the outputs (M, n_rows, n_outputs).

    The objective is Σ_m [ Σ_i s_i (½ ‖F_m(x_i) − y_i‖² − ½ λ ‖F_m(x_i) − F̄(x_i)‖²) + ½ α (‖W_m‖² + ‖V_m‖²) ]
    with F̄ the mean of the F_m and s_i the weights of the rows. Its derivative by F_m(x_i) is
    s_i (F_m − y_i − λ (F_m − F̄)), that of Liu and Yao (1999). Since E = Ē − Ā, the objective is (1 − λ) times
    the members' errors plus λ M times the error of their mean: bounded from below for λ up to 1 only.
    """
    inputs, hidden, outputs = _forward(layers, link, batch.inputs)
    slope = outputs - batch.target
    if penalty:
        slope -= penalty * (outputs - mean_of(outputs))
    slope *= batch.weights[:, None]
    if link == "softmax":
        slope = outputs * (slope - sum_over_last(outputs * slope)[..., None])
    inner = product(slope, layers[1][:, :-1].swapaxes(1, 2)) * (1.0 - np.square(hidden[..., :-1]))
    slopes = product(inputs.T, inner), product(hidden.swapaxes(1, 2), slope, max_a=1.0)
    for by_layer, layer in zip(slopes, layers, strict=True):
        by_layer[:, :-1] += alpha * layer[:, :-1]
    return slopes, outputs


class Adam:
    """Steps of Adam (Kingma and Ba, 2015): each weight moves by its own running mean of slopes.

    No step depends on the slope of another weight, so that networks without a penalty stay independent. A
    line search, or the curvature of all networks, would tie them to each other.
    """

    def __init__(self, arrays: Sequence[Array], rate: float) -> None:
        self._rate, self._decay, self._decay_squares = rate, 1.0, 1.0
        self._means = [np.zeros_like(array) for array in arrays]
        self._squares = [np.zeros_like(array) for array in arrays]

    def step(self, arrays: Sequence[Array], slopes: Sequence[Array]) -> None:
        """Update the arrays in place."""
        self._decay *= 0.9
        self._decay_squares *= 0.999
        rate = self._rate * math.sqrt(1.0 - self._decay_squares) / (1.0 - self._decay)
        for array, slope, mean, square in zip(arrays, slopes, self._means, self._squares, strict=True):
            np.add(mean, 0.1 * (slope - mean), out=mean)
            np.add(square, 0.001 * (slope * slope - square), out=square)
            np.subtract(array, rate * mean / (np.sqrt(square) + 1e-8), out=array)


@dataclass(frozen=True)
class Training:
    """Parameters of the estimator that training uses: the objective, steps of Adam, and when to stop."""

    penalty: float
    alpha: float
    learning_rate_init: float
    batch_size: int | Literal["auto"]
    max_iter: int
    tol: float
    n_iter_no_change: int
    verbose: int = 0


def train(
    networks: Networks,
    examples: Examples,
    options: Training,
    seed: int,
    held_out: Examples | None = None,
    record: bool = False,
) -> tuple[Networks, list[tuple[float, ...]]]:
    """Train all networks on the same batches; return those of the last epoch, or the best on held-out rows.

    Also returns Ē, E, Ā and the error on the held-out rows (NaN without any) of each epoch, up to and
    including the one whose networks are returned. With ``record`` they are measured after the epoch on all
    rows, otherwise on each batch before its step, which is free.
    """
    layers, link = networks.layers, networks.link
    adam, rng = Adam(layers, options.learning_rate_init), stream(seed, BATCHES)
    stopping = EarlyStopping(options.n_iter_no_change, options.tol, best_so_far=True)
    epochs: list[tuple[float, ...]] = []
    kept, n_kept, done = networks, 0, False
    with ProgressBar("Training networks", options.max_iter, shown=options.verbose) as bar:
        while len(epochs) < options.max_iter and not done:
            found = _run_epoch(layers, link, adam, examples, options, rng)
            if not all(np.isfinite(layer).all() for layer in layers):
                raise InputError(
                    f"Training diverged in epoch {len(epochs) + 1}", fix="Use a smaller learning_rate_init."
                )
            now, error = Networks.of(layers, link), math.nan
            if held_out is not None:
                error = _measure(now, held_out).ensemble
            epochs.append((*(_measure(now, examples) if record else found), error))
            score = options.penalty * found.ambiguity - found.members if held_out is None else -error
            if held_out is None or score > stopping.best_score:
                kept, n_kept = now, len(epochs)
            done = stopping.update(score)
            bar.update(len(epochs))
    return kept, epochs[:n_kept]


def _measure(networks: Networks, examples: Examples) -> Spread:
    """Return Ē, E and Ā on some rows."""
    weights = examples.weights / math.fsum(examples.weights.tolist())
    return spread(networks.outputs(examples.inputs), examples.target, weights)


def _run_epoch(
    layers: Layers, link: str, adam: Adam, examples: Examples, options: Training, rng: np.random.Generator
) -> Spread:
    """Step through all rows once in random order; return Ē, E and Ā over the batches before their steps."""
    order, spreads = rng.permutation(len(examples)), []
    auto = min(max(len(examples) // 8, _MIN_BATCH), _MAX_BATCH)
    size = auto if options.batch_size == "auto" else options.batch_size
    for begin in range(0, len(examples), size):
        rows = order[begin : begin + size]
        batch = examples.take(rows)
        mean = replace(batch, weights=batch.weights / len(rows))
        slopes, outputs = gradient(layers, link, mean, options.penalty, options.alpha)
        spreads.append(spread(outputs, batch.target, batch.weights / len(examples)))
        adam.step(layers, slopes)
    return Spread(*map(math.fsum, zip(*spreads, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class EpochLedger(Ledger, Persistent):
    """Errors and ambiguity of the networks after each epoch; the last ones are the fitted networks.

    All are means over the training rows, in units of the variance of the targets (regression) or Brier
    scores (classification).

    Parameters
    ----------
    members : array (n_epochs,)
        Mean error of the members, Ē.
    ensemble : array (n_epochs,)
        Error of their mean, E = Ē − Ā.
    ambiguity : array (n_epochs,)
        Mean squared distance of the members from their mean, Ā.
    validation : array (n_epochs,)
        E on the validation rows, NaN without any.

    Examples
    --------
    >>> ledger = EpochLedger(np.array([1.0]), np.array([0.8]), np.array([0.2]), np.array([np.nan]))
    >>> ledger.to_records()[0]["ambiguity"]
    0.2
    """

    members: Array
    ensemble: Array
    ambiguity: Array
    validation: Array

    optional_columns = ("validation",)
    counter = ("epoch", 1)
    row_name = "epochs"

    def __post_init__(self) -> None:
        self.check_columns()
