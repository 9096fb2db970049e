"""The weights of the rows in every round of AdaBoost, computed again from its members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from spinney.adaboost.algorithms import Algorithm, Logit, RowWeights, zero_scores
from spinney.core.arrays import Floats


def replay_weights(
    algorithm: Algorithm,
    initial: Floats,
    codes: NDArray[np.int32],
    rounds: Iterable[tuple[float, Floats]],
) -> Iterator[Floats]:
    """Yield the weights with which each round fitted its member, with sum 1.

    initial, codes (n_rows,); rounds: the weight of each member and its output.
    """
    weights, scores = RowWeights(initial), zero_scores(len(codes), algorithm.n_classes)
    for weight, output in rounds:
        if isinstance(algorithm, Logit):
            start = RowWeights(initial)
            parts = [start.scaled(w).values for _, w in algorithm.responses(scores, codes)]
            yield np.stack([part / part.sum() for part in parts], axis=1).squeeze(
                axis=1 if len(parts) == 1 else ()
            )
            scores = scores + algorithm.contribution(output, weight)
            continue
        yield weights.values / weights.initial_total
        added, wrong = algorithm.contribution(output, weight), algorithm.wrong(output, codes)
        algorithm.reweight(weights, added, wrong, weight, codes)
