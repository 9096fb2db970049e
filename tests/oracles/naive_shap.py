"""SHAP values by their definition: every subset of the features, each evaluated by walking the tree."""

from itertools import chain, combinations
from math import factorial

import numpy as np

from spinney.tree.tree_arrays import LEAF, MULTIWAY, NUMERIC


def _children(tree, node, value):
    """The children of a value with their shares; none if the node itself answers."""
    kids = list(tree.children(node))
    shares = [tree.weight[c] / tree.weight[node] if tree.weight[node] > 0 else 1 / len(kids) for c in kids]
    if value is None:
        return list(zip(kids, shares, strict=True))
    if value != value or (tree.kind[node] != NUMERIC and value < 0):
        missing = int(tree.missing[node])
        return list(zip(kids, shares, strict=True)) if missing < 0 else [(kids[missing], 1.0)]
    if tree.kind[node] == NUMERIC:
        which = 0 if value <= tree.threshold[node] else 1
    elif tree.kind[node] == MULTIWAY:
        branches = tree.branches(node)
        which = int(branches[int(value)]) if value < len(branches) else -1
        if which < 0:
            return []
    else:
        which = 0 if tree.goes_first(node, max(256, int(value) + 1))[int(value)] else 1
    return [(kids[which], 1.0)]


def expectation(tree, known, node=0):
    """The value of a row of which only some features are known; None elsewhere, by training weight."""
    if tree.kind[node] == LEAF:
        return tree.value[node].ravel()
    children = _children(tree, node, known[int(tree.feature[node])])
    if not children:
        return tree.value[node].ravel()
    return sum(share * expectation(tree, known, child) for child, share in children)


def game(tree, row, owner=None):
    """The value of each coalition of features: absent ones are averaged by training weight."""
    owner = range(len(row)) if owner is None else owner

    def value(coalition):
        return expectation(tree, [x if o in coalition else None for x, o in zip(row, owner, strict=True)])

    return value


def background_game(tree, row, background):
    """The value of each coalition: absent features are those of the background rows, on average."""

    def value(coalition):
        mixed = [[x if j in coalition else b[j] for j, x in enumerate(row)] for b in background]
        return np.mean([expectation(tree, one) for one in mixed], axis=0)

    return value


def _subsets(players):
    return chain.from_iterable(combinations(players, n) for n in range(len(players) + 1))


def shapley(value, n_players):
    """Shapley values of a game.  -> (n_players, n_outputs)"""
    known = {frozenset(s): value(frozenset(s)) for s in _subsets(range(n_players))}
    n = factorial(n_players)
    out = []
    for i in range(n_players):
        others = [j for j in range(n_players) if j != i]
        out.append(
            sum(
                factorial(len(s)) * factorial(n_players - len(s) - 1) / n
                * (known[frozenset((*s, i))] - known[frozenset(s)])
                for s in _subsets(others)
            )
        )  # fmt: skip
    return np.array(out)


def interactions(value, n_players):
    """Shapley interaction values as in Lundberg et al. (2018).  -> (n_players, n_players, n_outputs)"""
    known = {frozenset(s): value(frozenset(s)) for s in _subsets(range(n_players))}
    single = shapley(value, n_players)
    out = np.zeros((n_players, n_players, single.shape[1]))
    for i, j in combinations(range(n_players), 2):
        others = [k for k in range(n_players) if k not in (i, j)]
        total = 0
        for s in _subsets(others):
            f = frozenset(s)
            weight = factorial(len(s)) * factorial(n_players - len(s) - 2) / (2 * factorial(n_players - 1))
            total = total + weight * (known[f | {i, j}] - known[f | {i}] - known[f | {j}] + known[f])
        out[i, j] = out[j, i] = total
    for i in range(n_players):
        out[i, i] = single[i] - out[i].sum(axis=0)
    return out
