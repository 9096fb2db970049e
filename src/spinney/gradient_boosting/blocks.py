"""Boosting on rows that are read block by block: the same trees as `core.Booster` grows in memory.

A pass over the rows is a function of one block (`BlockWorker`) whose results are added over the blocks by
an `Engine`: integers in any order, real numbers per chunk and in the order of the chunks. `BlockBooster` asks
for passes and does everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import CHUNK_ROWS
from spinney.gradient_boosting.block_engine import CodeSource, Draw, Engine, PerRow, Traffic
from spinney.native import core

Floats = NDArray[np.float64]


class WeightFacts(NamedTuple):
    """Row weights in numbers; `is_weighted` is False where all are 1."""

    is_weighted: bool
    total: float
    n_positive: int
    integer: bool
    unit: float

    @classmethod
    def of(cls, weights: Floats | None, n_rows: int) -> WeightFacts:
        """Compute them from the weights of all rows."""
        if weights is None or (weights == 1.0).all():
            return cls(False, float(n_rows), n_rows, True, 1.0)
        parts = [weights[begin : begin + CHUNK_ROWS] for begin in range(0, n_rows, CHUNK_ROWS)]
        total = add_in_order(np.array([[add_in_order(part[:, None])[0]] for part in parts]))[0]
        integer = all(bool((part == np.floor(part)).all()) for part in parts)
        return cls(True, *core.weight_facts(total, int(np.count_nonzero(weights)), integer))


def add_in_order(parts: Floats) -> Floats:
    """Add rows one after the other, which NumPy's sum does not do.

    >>> add_in_order(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [4.0, 6.0]
    """
    out: Floats = np.add.accumulate(parts, axis=0)[-1]
    return out


class BlockBooster:
    """Grows the trees of `core.Booster` on blocks of rows, round after round.

    Parameters
    ----------
    columns : CodeMatrix
        Description of the columns; its rows are not read.
    options : BoostOptions
        Parameters of boosting.
    source : CodeSource
        Where the codes are.
    y : ndarray of shape (n_outputs, n_rows)
        Targets.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    scores : ndarray of shape (n_rows, n_scores)
        Raw scores to begin with.
    traffic : Traffic
        Counts what is read.
    """

    def __init__(
        self,
        columns: core.CodeMatrix,
        options: core.BoostOptions,
        source: CodeSource,
        y: Floats,
        weights: Floats | None,
        scores: Floats,
        traffic: Traffic,
    ) -> None:
        self.n_rows, self.n_scores, self.options = source.n_rows, scores.shape[1], options
        self.facts = WeightFacts.of(weights, self.n_rows)
        self.traffic = traffic
        self.round = options.first_round
        kept = weights if self.facts.is_weighted else None
        self.engine: Engine = source.start(y, kept, scores, options.n_threads, traffic)
        self._grower = core.BlockGrower(columns, options)
        self._code_bytes = self.n_rows * columns.n_columns

    @property
    def scores(self) -> Floats:
        """Raw scores of all rows.  (n_rows, n_scores)"""
        return np.ascontiguousarray(np.concatenate(self.engine.map_blocks("scores"), axis=1).T)

    def run(self, loss: str, parameters: Sequence[float], n_rounds: int) -> list[core.GrownTree]:
        """Boost by a loss of the core; one tree for each score and round."""
        trees = []
        for _ in range(n_rounds):
            if loss == "softmax":
                self.engine.map_blocks("log_sum_exp")
            trees += [self._grow(loss, parameters, k) for k in range(self.n_scores)]
            self.round += 1
        return trees

    def step(self, gradient: Floats, hessian: Floats, bounded: bool = False) -> list[core.GrownTree]:
        """Boost one round by gradients and hessians (n_rows, n_scores), both without row weights.

        bounded: the steps of leaves are bounded, as those of losses whose hessian depends on the score.
        """
        like = "log" if bounded else "squared"
        self.engine.map_blocks("given", PerRow(gradient), PerRow(hessian))
        try:
            trees = [self._grow(like, (0.0,), k) for k in range(self.n_scores)]
        finally:
            self.engine.map_blocks("given", None, None)
        self.round += 1
        return trees

    def loss(self, loss: str, parameters: Sequence[float], weights: Floats | None) -> float:
        """Return the mean loss by weight; None: by the weights of training."""
        if loss == "softmax":
            self.engine.map_blocks("log_sum_exp")
        per_row = None if weights is None else PerRow(weights)
        parts = self.engine.map_blocks("losses", loss, parameters, per_row)
        total, weight = add_in_order(np.concatenate(parts))
        return float(total / weight)

    # ---- one tree ----

    def _grow(self, loss: str, parameters: Sequence[float], k: int) -> core.GrownTree:
        """Grow a tree, and add it to the scores."""
        of = loss, parameters, k
        sums = add_in_order(np.concatenate(self.engine.map_blocks("gradients", *of)))
        if not np.isfinite(sums).all():
            raise ValueError(
                f"the gradients of round {self.round} are not finite; scale the target, or lower the "
                "learning rate"
            )
        draw = self._draw(of, sums)
        noise = 0.0
        if self.options.random_strength > 0:
            noise = self._grower.score_noise(self.round, self._n_counted, sums[2], sums[3])
        self._split(of, draw, noise)
        return self._fit_leaves(of)

    @property
    def _n_counted(self) -> float:
        """Number of rows, a row of weight 2 counted twice."""
        return max(self.facts.total, float(self.facts.n_positive))

    def _draw(self, of: tuple[str, Sequence[float], int], sums: Floats) -> Draw:
        """Choose the rows of a tree, and the scales of their gradients."""
        options, facts = self.options, self.facts
        draw = Draw(
            address=core.tree_address(options.seed, self.round, of[2]),
            integer_weights=facts.integer,
            weight_unit=facts.unit,
        )
        gradient, hessian = sums[:2]
        if options.sampling != "none":
            slope = 0.0 if options.sampling == "goss" or not hessian > 0 else gradient / hessian
            counts = np.zeros(core.IMPORTANCE_BINS, dtype=np.int64)
            if options.sampling != "uniform":
                counts = sum(self.engine.map_blocks("importances", *of, slope), counts)
            always, probability, proportional, reweight = core.sampling_rule(options, counts)
            draw = draw._replace(
                all=False,
                always=always,
                probability=probability,
                proportional=proportional,
                reweight=reweight,
                slope=float(slope),
            )
            gradient, hessian = add_in_order(np.concatenate(self.engine.map_blocks("drawn", *of, draw)))
        slack = max(facts.total, float(self.n_rows)) if facts.integer else float(self.n_rows)
        scales = core.gradient_scales(options, of[0], facts.total, facts.integer, gradient, hessian, slack)
        return draw._replace(scales=scales)

    def _split(self, of: tuple[str, Sequence[float], int], draw: Draw, noise: float) -> None:
        """Grow the splits of a tree: passes over the codes until the grower needs no more."""
        quantized, histograms = self._pass("root", 1, *of, draw)
        least, most, n_rows, weight = zip(*quantized, strict=True)
        facts = min(least), max(most), sum(n_rows), sum(weight)
        self._grower.start(histograms[0], tuple(draw), facts, noise)
        while True:
            while len(nodes := self._grower.nodes_to_weigh()):
                self._grower.give_weights(self._pass("weigh", len(nodes), nodes, draw.weight_unit)[1])
            splits = self._grower.splits()
            if not len(splits[0]):
                return
            counts, histograms = self._pass("split", int(splits[4].sum()), splits, draw.weight_unit)
            self._grower.give(np.sum(counts, axis=0), histograms)

    def _pass(self, task: str, n_built: int, *args: Any) -> tuple[list[Any], NDArray[np.int64]]:
        """Read the codes of all rows once."""
        self.traffic.n_reads += 1
        self.traffic.bytes_read += self._code_bytes
        return self.engine.reduce(task, n_built, *args)

    def _fit_leaves(self, of: tuple[str, Sequence[float], int]) -> core.GrownTree:
        """Compute the values of the leaves, and update the scores."""
        loss, parameters, k = of
        grower, every = self._grower, self.options.sampling in ("goss", "mvs")
        leaf_of_node, n_leaves = grower.leaf_of_node(), grower.n_leaves
        parts = np.concatenate(self.engine.map_blocks("leaves", *of, leaf_of_node, n_leaves, every))
        sums = np.ascontiguousarray(add_in_order(parts))
        if loss in ("absolute", "quantile", "huber", "adaptive_huber"):
            listed = self.engine.map_blocks("residuals", k, leaf_of_node, n_leaves, every)
            values = grower.fit_quantiles(*_by_leaf(listed, n_leaves), loss, parameters, k)
        else:
            values = grower.fit_leaves(sums, loss)
        self.engine.map_blocks("update", k, leaf_of_node, values)
        self.traffic.n_trees += 1
        return grower.finish(sums, values)


def _by_leaf(
    listed: Sequence[tuple[NDArray[np.int64], Floats]], n_leaves: int
) -> tuple[NDArray[np.int64], Floats]:
    """Join the residuals of all blocks, leaf by leaf."""
    sizes = np.array([one[0] for one in listed])
    ends = sizes.cumsum(axis=1)
    parts = [
        residuals[end[leaf] - size[leaf] : end[leaf]]
        for leaf in range(n_leaves)
        for (_, residuals), size, end in zip(listed, sizes, ends, strict=True)
    ]
    return sizes.sum(axis=0), np.concatenate(parts)
