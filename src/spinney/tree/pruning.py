"""Pruning: cost-complexity (CART), reduced-error, pre-pruning and pessimistic (C4.5)."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import betaincinv, chdtri

from spinney.core.arrays import Floats
from spinney.data.training_set import Task
from spinney.tree.tree_arrays import TreeArrays

Reach = Any
"""The share with which rows reach nodes, sparse (n_rows, n_nodes), as from ``decision_path``."""

# Sums over a subtree and at its root add the same numbers in another order; smaller differences are ties.
ROUNDING = 1e-10

# C4.5 keeps a subtree only when it saves more than this many expected errors.
MIN_SAVING = 0.1


# ---- cost-complexity ----


def cost_complexity_path(tree: TreeArrays) -> tuple[Floats, Floats]:
    """Return the α at which each subtree of the path is pruned, and the impurity of the leaves from there on.

    The first entry is the full tree at α = 0, the last the root alone; as scikit-learn's
    ``cost_complexity_pruning_path``.

    >>> alphas, impurities = cost_complexity_path(model.tree_)  # doctest: +SKIP
    """
    links = weakest_links(tree)
    risk = node_risk(tree)
    alphas = np.array([0.0] + [alpha for alpha, _, _ in links])
    rises = np.array([risk[tree.is_leaf].sum()] + [rise for _, _, rise in links])
    return alphas, np.cumsum(rises)


def cost_complexity(tree: TreeArrays, alpha: float) -> TreeArrays:
    """Return the smallest subtree that minimizes impurity + α · leaves.

    >>> cost_complexity(model.tree_, alpha=0.01).n_leaves  # doctest: +SKIP
    """
    marked = np.zeros(tree.node_count, dtype=np.bool_)
    marked[[node for at, node, _ in weakest_links(tree) if at <= alpha]] = True
    return tree.subset(marked)


def node_risk(tree: TreeArrays) -> Floats:
    """Return R(t), a node's impurity times its share of the weight.  -> (n_nodes,)"""
    total = float(tree.weight[0])
    return tree.weight / total * tree.impurity if total > 0 else np.zeros(tree.node_count)


def weakest_links(tree: TreeArrays) -> list[tuple[float, int, float]]:
    """Return the steps of cost-complexity pruning in order: (α, node, rise of the leaves' impurity).

    Bottom-up, the best cost of the subtree at t as a function of α is the minimum of the line R(t) + α and
    the sum of its children's costs. So t is pruned where they cross, and later steps of its descendants are
    removed from a heap, each once. Merging the smaller heap into the larger takes O(n log² n) in total for
    any depth; searching for one weakest link after another would be quadratic.
    """
    risk = node_risk(tree).tolist()
    order = _depth_first_order(tree)
    first, count = tree.first_child.tolist(), tree.n_children.tolist()
    # By node: a heap of (−α, −order, node, rise, leaves removed).
    steps: dict[int, list[tuple[float, int, int, float, int]]] = {}
    for node in range(tree.node_count - 1, -1, -1):
        if count[node] == 0:
            continue
        children = range(first[node], first[node] + count[node])
        heap: list[tuple[float, int, int, float, int]] = []
        for child in children:
            other = steps.pop(child, [])
            if len(other) > len(heap):
                heap, other = other, heap
            for step in other:
                heapq.heappush(heap, step)
        below, leaves = sum(risk[child] for child in children), count[node]
        alpha = max((risk[node] - below) / (leaves - 1), 0.0)
        while heap and -heap[0][0] >= alpha:
            _, _, _, rise, fewer = heapq.heappop(heap)
            below, leaves = below - rise, leaves + fewer
            alpha = max((risk[node] - below) / (leaves - 1), 0.0)
        heapq.heappush(heap, (-alpha, -order[node], node, risk[node] - below, leaves - 1))
        steps[node] = heap
    path = sorted(steps.get(0, []), key=lambda step: (-step[0], -step[1]))
    return [(-negative, node, rise) for negative, _, node, rise, _ in path]


def _depth_first_order(tree: TreeArrays) -> list[int]:
    """Return each node's position in depth-first order, by which scikit-learn breaks ties.  -> (n_nodes,)"""
    parent, first, count = tree.parent.tolist(), tree.first_child.tolist(), tree.n_children.tolist()
    size = [1] * tree.node_count
    for node in range(tree.node_count - 1, 0, -1):
        size[parent[node]] += size[node]
    position = [0] * tree.node_count
    for node in range(tree.node_count):
        following = position[node] + 1
        for child in range(first[node], first[node] + count[node]):
            position[child] = following
            following += size[child]
    return position


def choose_alpha(alphas: Floats, scores: Floats, one_se: bool = False) -> float:
    """Choose α by cross-validated scores; greater is better.

    alphas (n_alphas,); scores (n_folds, n_alphas). The best mean wins; with ``one_se`` the largest α whose
    mean is within one standard error of it. Ties go to the larger α, the smaller tree.

    >>> choose_alpha(np.array([0.0, 0.1, 0.2]), np.array([[0.8, 0.9, 0.9], [0.8, 0.9, 0.7]]))
    0.1
    """
    mean = scores.mean(axis=0)
    best = int(np.argmax(mean))
    slack = ROUNDING * abs(mean[best])
    if one_se and len(scores) > 1:
        slack += scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return float(alphas[mean >= mean[best] - slack].max())


# ---- by a validation set ----


def leaf_losses(tree: TreeArrays, reach: Reach, y: NDArray[Any], weight: Floats, task: Task) -> Floats:
    """Return each node's validation loss if it predicted all rows that reach it.  -> (n_nodes,)

    reach (n_rows, n_nodes) sparse; y (n_rows,) or (n_rows, n_outputs), class codes or values;
    weight (n_rows,). The loss is the weight of wrongly classified rows, or the weighted squared error, summed
    over the outputs. A fractional row counts at each node by the share that reaches it.
    """
    entries = csr_array(reach).tocoo()
    rows, nodes = entries.coords
    target = np.asarray(y).reshape(len(y), -1)[rows]
    if task == "classification":
        loss = (tree.value.argmax(axis=2)[nodes] != target).sum(axis=1)
    else:
        loss = ((tree.value[:, :, 0][nodes] - target) ** 2).sum(axis=1)
    share = entries.data * weight[rows]
    return np.bincount(nodes, weights=share * loss, minlength=tree.node_count).astype(np.float64)


def staying(tree: TreeArrays, reach: Reach) -> csr_array[np.float64, tuple[int, int]]:
    """Return the share of each row that ends at an inner node, which has no branch for it.

    Same shape as reach, 0 at leaves. ``leaf_losses`` of it is the ``staying_loss`` of the functions below.
    """
    reach = csr_array(reach)
    inner = np.flatnonzero(~tree.is_leaf)
    children = np.arange(1, tree.node_count)
    shape = (tree.node_count, tree.node_count)
    to_parent = csr_array((np.ones(len(children)), (children, tree.parent[1:])), shape=shape)
    keep_inner = csr_array((np.ones(len(inner)), (inner, inner)), shape=shape)
    left = csr_array(reach @ keep_inner - reach @ to_parent)
    left.data[np.abs(left.data) < ROUNDING] = 0.0
    left.eliminate_zeros()
    return left


def no_better_split(
    tree: TreeArrays, leaf_loss: Floats, staying_loss: Floats
) -> tuple[NDArray[np.bool_], Floats]:
    """Pre-pruning: mark the nodes whose children as leaves have no less validation loss than the node.

    leaf_loss, staying_loss (n_nodes,), from `leaf_losses`. ``tree.subset`` of the marks is the same tree as
    when deciding during growth, because no split depends on those below it. Returns the marks and the loss of
    the children.  -> two (n_nodes,)
    """
    split_loss = np.where(tree.is_leaf, leaf_loss, tree.sum_over_children(leaf_loss) + staying_loss)
    return split_loss >= leaf_loss - ROUNDING * np.abs(leaf_loss), split_loss


def no_worse_as_leaf(
    tree: TreeArrays, leaf_loss: Floats, staying_loss: Floats, slack: float = 0.0, ties: bool = True
) -> tuple[NDArray[np.bool_], Floats]:
    """Reduced-error pruning: mark, bottom-up, the nodes that are no worse as a leaf than as a subtree.

    leaf_loss, staying_loss (n_nodes,), from `leaf_losses`. A node is marked if its loss as a leaf is at most
    that of the pruned subtree + slack, so ``tree.subset`` of the marks is the smallest of the best subtrees;
    without ``ties`` it must be less, and the result is the largest. Returns the marks and the losses of the
    subtrees, pruned below the node.  -> two (n_nodes,)
    """
    best, subtree = leaf_loss.copy(), leaf_loss.copy()
    marked = np.zeros(tree.node_count, dtype=np.bool_)
    for begin, end in reversed(tree.levels):
        inner = begin + np.flatnonzero(tree.n_children[begin:end])
        if len(inner) == 0:
            continue
        below = np.add.reduceat(best, tree.first_child[inner])
        last = int(inner[-1])
        # reduceat sums its last segment to the end of the array; the last node's children end before that.
        below[-1] = best[tree.first_child[last] : tree.first_child[last] + tree.n_children[last]].sum()
        below += staying_loss[inner]
        if ties:
            marked[inner] = leaf_loss[inner] <= below + slack + ROUNDING * np.abs(leaf_loss[inner])
        else:
            marked[inner] = leaf_loss[inner] < below + slack - ROUNDING * np.abs(below)
        best[inner] = np.where(marked[inner], leaf_loss[inner], below)
        subtree[inner] = below
    return marked, subtree


# ---- pessimistic ----


def upper_error_rate(errors: ArrayLike, n: ArrayLike, confidence: float = 0.25) -> Floats:
    """Return the upper limit of a binomial error rate, C4.5's U_CF(E, N); E and N may be fractional.

    It is the rate at which E or fewer errors among N have the probability CF; 1 if all are errors.
    Computed exactly: the C4.5 program interpolates a short table of normal deviates for E ≥ 1, so that the
    book prints U_25%(1, 16) = .157 where the limit is .160.

    >>> float(upper_error_rate(0, 6).round(3))
    0.206
    """
    wrong, total = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(n, np.float64))
    rate = np.ones(total.shape)
    # Most leaves make no error, and for them the limit has a closed form.
    clean, some = (wrong == 0) & (total > 0), (wrong > 0) & (total > wrong)
    rate[clean] = -np.expm1(np.log(confidence) / total[clean])
    rate[some] = betaincinv(wrong[some] + 1.0, total[some] - wrong[some], 1.0 - confidence)
    return rate


def pessimistic_errors(tree: TreeArrays, confidence: float, row_weight: float) -> Floats:
    """Return N · U_CF(E, N), the errors expected of each node as a leaf, in rows.  -> (n_nodes,)"""
    rows = tree.weight / row_weight
    wrong = np.maximum(1.0 - tree.value.max(axis=2), 0.0) * rows[:, None]
    expected: Floats = (rows[:, None] * upper_error_rate(wrong, rows[:, None], confidence)).sum(axis=1)
    return expected


def no_worse_pessimistically(
    tree: TreeArrays, confidence: float, row_weight: float
) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Pessimistic pruning (C4.5): mark, bottom-up, the nodes that are not clearly better as a subtree.

    Classification: a leaf with E errors of weight N is expected to make N · U_CF(E, N). Regression
    (``value`` of width 1, impurity the variance): a leaf of weight N and sum of squares S is expected to have
    N times the upper limit of its variance, S / χ²_CF(N − 1), unbounded for one row. A subtree of a
    classifier stays only if it saves more than 0.1 errors. Weights are counted in rows of weight
    ``row_weight``, outputs are summed. Returns the marks and the expected losses as leaf and as subtree.
    -> three (n_nodes,)
    """
    none, rows = np.zeros(tree.node_count), tree.weight / row_weight
    if tree.max_n_classes > 1:
        estimate, slack = pessimistic_errors(tree, confidence, row_weight), MIN_SAVING
    else:
        degrees, slack = rows - 1.0, 0.0
        # chdtri takes the upper tail, so 1 − CF is the quantile with CF below it.
        quantile = chdtri(np.where(degrees > 0, degrees, 1.0), 1.0 - confidence)
        squares = np.maximum(rows * tree.impurity, 0.0)
        estimate = np.where(degrees > 0, rows * squares / np.maximum(quantile, 1e-300), np.inf)
    marked, subtree = no_worse_as_leaf(tree, estimate, none, slack)
    return marked, estimate, subtree
