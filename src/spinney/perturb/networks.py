"""Networks with one hidden layer, many at once: their outputs, and the gradient of their joint objective.

A stack of M networks is four arrays with the network as the first axis, so that each step is one batched
matrix product: M products of the same shape as for one network alone, and so the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.core.seeds import stream
from spinney.io import CorruptModelFile, Persistent
from spinney.perturb.decoding import softmax

Array = NDArray[np.float64]
Link = Literal["identity", "softmax"]

# What the seed is used for: rows held out, the order of rows in each epoch, and network m by WEIGHTS + m.
VALIDATION, BATCHES, WEIGHTS = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Networks(Persistent):
    """Hold M networks x → tanh(x W + b) V + c, all of one size; softmax of that where the link says so.

    input_weights W (M, n_inputs, n_hidden), hidden_bias b (M, 1, n_hidden), output_weights V (M, n_hidden,
    n_outputs), output_bias c (M, 1, n_outputs).
    """

    input_weights: Array
    hidden_bias: Array
    output_weights: Array
    output_bias: Array
    link: str

    def __post_init__(self) -> None:
        arrays = self.arrays
        if not all(isinstance(a, np.ndarray) and a.dtype == np.float64 and a.ndim == 3 for a in arrays):
            raise CorruptModelFile("The weights of networks are no arrays of numbers with three axes.")
        n, _, hidden = self.input_weights.shape
        outputs = self.output_weights.shape[2]
        shapes = [(n, 1, hidden), (n, hidden, outputs), (n, 1, outputs)]
        if min(n, hidden, outputs) < 1 or [a.shape for a in arrays[1:]] != shapes:
            raise CorruptModelFile("The weights of networks do not fit together.")
        if self.link not in ("identity", "softmax") or not all(np.isfinite(a).all() for a in arrays):
            raise CorruptModelFile(
                "Networks have weights that are not finite, or another link than there is."
            )

    @classmethod
    def of(cls, arrays: Iterable[Array], link: str) -> Networks:
        """Make networks of the four arrays."""
        input_weights, hidden_bias, output_weights, output_bias = arrays
        return cls(input_weights, hidden_bias, output_weights, output_bias, link)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Give the four arrays in their order."""
        return self.input_weights, self.hidden_bias, self.output_weights, self.output_bias

    def __len__(self) -> int:
        return len(self.input_weights)

    def outputs(self, inputs: Array) -> Array:
        """Give what every network says.  inputs (n_rows, n_inputs) -> (M, n_rows, n_outputs)"""
        return _forward(self.arrays, inputs, self.link)[1]


def _forward(arrays: tuple[Array, ...], inputs: Array, link: str) -> tuple[Array, Array]:
    """Give the hidden values (M, n_rows, n_hidden) and the outputs (M, n_rows, n_outputs)."""
    input_weights, hidden_bias, output_weights, output_bias = arrays
    hidden = np.tanh(inputs @ input_weights + hidden_bias)
    outputs = hidden @ output_weights + output_bias
    if link == "softmax":
        outputs = softmax(outputs)
    return hidden, outputs


class Spread(NamedTuple):
    """Hold the mean squared error of the members, that of their mean, and the ambiguity between the two.

    All are sums over the outputs and weighted means over the rows: ensemble = members − ambiguity.
    """

    members: float
    ensemble: float
    ambiguity: float


def spread(outputs: Array, target: Array, shares: Array) -> Spread:
    """Measure E = Ē − Ā.  outputs (M, n_rows, n_outputs), target (n_rows, n_outputs), shares (n_rows,), sum 1

    >>> spread(np.array([[[0.0]], [[2.0]]]), np.array([[1.0]]), np.ones(1))
    Spread(members=1.0, ensemble=0.0, ambiguity=1.0)
    """
    mean = outputs.mean(axis=0)
    return Spread(
        float(shares @ np.square(outputs - target).sum(axis=2).mean(axis=0)),
        float(shares @ np.square(mean - target).sum(axis=1)),
        float(shares @ np.square(outputs - mean).sum(axis=2).mean(axis=0)),
    )


@dataclass(frozen=True)
class Objective:
    """Define what training makes small: a sum over networks of penalized error and decay of weights.

    Σ_m [ Σ_i s_i (½ ‖F_m(x_i) − y_i‖² − ½ λ ‖F_m(x_i) − F̄(x_i)‖²) + ½ α (‖W_m‖² + ‖V_m‖²) ], F̄ the mean of
    the F_m and s_i the rows' shares. The derivative by F_m(x_i) is s_i (F_m − y_i − λ (F_m − F̄)), that of Liu
    and Yao (1999). Since E = Ē − Ā, the sum is (1 − λ) times the members' errors plus λ M times the error of
    their mean: bounded from below for λ up to 1, and not beyond.
    """

    penalty: float
    alpha: float

    def value(self, networks: Networks, inputs: Array, target: Array, shares: Array) -> float:
        """Give the objective."""
        found = spread(networks.outputs(inputs), target, shares)
        decay = sum(float(np.square(w).sum()) for w in (networks.input_weights, networks.output_weights))
        penalized = found.members - self.penalty * found.ambiguity
        return 0.5 * (len(networks) * penalized + self.alpha * decay)

    def gradient(
        self, arrays: tuple[Array, ...], link: str, inputs: Array, target: Array, shares: Array
    ) -> tuple[tuple[Array, ...], Array]:
        """Give the derivative by each of the networks' arrays, and the outputs (M, n_rows, n_outputs)."""
        hidden, outputs = _forward(arrays, inputs, link)
        slope = outputs - target
        if self.penalty:
            slope = slope - self.penalty * (outputs - outputs.mean(axis=0))
        slope = slope * shares[:, None]
        if link == "softmax":
            slope = outputs * (slope - (outputs * slope).sum(axis=2, keepdims=True))
        inner = (slope @ arrays[2].swapaxes(1, 2)) * (1.0 - np.square(hidden))
        by_arrays = (
            inputs.T @ inner + self.alpha * arrays[0],
            inner.sum(axis=1, keepdims=True),
            hidden.swapaxes(1, 2) @ slope + self.alpha * arrays[2],
            slope.sum(axis=1, keepdims=True),
        )
        return by_arrays, outputs


def draw_networks(n: int, n_inputs: int, n_hidden: int, n_outputs: int, link: Link, seed: int) -> Networks:
    """Draw n networks by Glorot's rule, each from a stream of its own.

    >>> len(draw_networks(3, 2, 4, 1, "identity", seed=0))
    3
    """
    drawn = []
    for m in range(n):
        rng = stream(seed, WEIGHTS + m)
        reach_in, reach_out = np.sqrt(6.0 / (n_inputs + n_hidden)), np.sqrt(6.0 / (n_hidden + n_outputs))
        drawn.append(
            (
                rng.uniform(-reach_in, reach_in, (n_inputs, n_hidden)),
                rng.uniform(-reach_in, reach_in, (1, n_hidden)),
                rng.uniform(-reach_out, reach_out, (n_hidden, n_outputs)),
                np.zeros((1, n_outputs)),
            )
        )
    return Networks.of((np.stack(parts) for parts in zip(*drawn, strict=True)), link)
