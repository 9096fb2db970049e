"""Reading a fitted tree: its size, importances, rules, costs, and the path of cost-complexity pruning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from spinney.base import TableEstimator
from spinney.core.arrays import Floats
from spinney.data.schema import Schema
from spinney.inspect.explainable import Explainable
from spinney.inspect.rules import RuleSet, rules
from spinney.tree import pruning
from spinney.tree.cost import path_costs
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays
from spinney.tree.tree_sum import TreeSum, value_sum
from spinney.trees.parameters import SingleTreeParameters, read_costs


class NoLedger:
    """Class attribute that explains how to record a ledger; the ledger of an instance hides it."""

    def __get__(self, tree: Any, owner: type) -> Any:
        """Raise AttributeError, so that ``hasattr`` is False."""
        if tree is None:
            return self
        fit = "fit it again" if hasattr(tree, "tree_") else "fit it"
        raise AttributeError(
            f"This {owner.__name__} has no ledger_. Set ledger=True (or 'full') and {fit}.",
            name="ledger_",
            obj=tree,
        )


class TreeInspection(Explainable, SingleTreeParameters, TableEstimator, persistent_name=""):
    """Mixin of tree estimators with the methods that describe the fitted tree."""

    ledger_ = NoLedger()
    schema_: Schema
    tree_: TreeArrays

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf.

        Returns
        -------
        int
            The depth; a tree of one leaf has depth 0.
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            The number of leaves.
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """Impurity decrease by the splits of each feature, normalized to sum 1.  (n_features,)"""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def tree_sum(self) -> TreeSum:
        """Return the tree as a sum of trees, as explanations read it.

        Returns
        -------
        TreeSum
            The tree, with class proportions or values.
        """
        check_is_fitted(self)
        trees = TreeEnsemble.from_trees([self.tree_])
        return value_sum(
            trees, self.schema_, self._read_table, vars(self).get("classes_"), n_jobs=self.n_jobs
        )

    def rules(self, *, show_missing: bool | None = None) -> RuleSet:
        """Return the tree as IF–THEN rules.

        Parameters
        ----------
        show_missing : bool or None, default=None
            Whether to include where missing values go; None only for features with missing values in
            training.

        Returns
        -------
        RuleSet
            One rule per leaf; printing it shows one rule per line.

        Examples
        --------
        >>> from spinney import DecisionTreeClassifier
        >>> len(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).rules())
        2
        """
        check_is_fitted(self)
        return rules(self, show_missing=show_missing)

    def expected_cost(self, X: Any = None) -> float:
        """Return the mean cost of the features tested to predict a row, each paid once.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or None, default=None
            Rows to average over; None averages over the training rows by weight.

        Returns
        -------
        float
            The cost. Without ``feature_costs`` every feature costs 1.
        """
        check_is_fitted(self)
        given = read_costs(self.feature_costs, self.cost_rule, self.schema_)
        costs = np.ones(self.schema_.n_features) if given is None else given
        tree = self.tree_
        paid = path_costs(tree, costs)
        if X is None:
            weight = np.where(tree.is_leaf, tree.weight, 0.0)
            return float(paid @ weight) / float(weight.sum())
        reach = self.decision_path(X)
        inner = ~tree.is_leaf
        # A row that ends at an inner node, which has no branch for it, has paid for the test of that node.
        paid[inner] = paid[tree.first_child[inner]]
        ends: Floats = pruning.staying(tree, reach).sum(axis=0) + np.where(inner, 0.0, reach.sum(axis=0))
        return float(paid @ ends) / int(reach.shape[0])

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Fit without pruning, and return the path of minimal cost-complexity pruning.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Labels or values.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Returns
        -------
        Bunch
            ``ccp_alphas``, and ``impurities``, the total impurity of the leaves from each α on.
        """
        unpruned = clone(self).set_params(ccp_alpha=0.0, pruning=None).fit(X, y, sample_weight)
        alphas, impurities = pruning.cost_complexity_path(unpruned.tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)
