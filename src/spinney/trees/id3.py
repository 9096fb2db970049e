"""ID3: one child per category, the largest information gain, each feature once per path."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from spinney.base import CountsAs, parameters
from spinney.core.parameters import OneOf, Real
from spinney.data.columns import open_source
from spinney.data.schema import Table, read_table
from spinney.tree.plan import LEAST_GAIN
from spinney.trees.base import ClassifierTree
from spinney.trees.parameters import NO_LEAF_LIMIT, RULES, TreeParameters


@parameters
class ID3Classifier(CountsAs, ClassifierTree):
    """ID3 classifier: multiway splits of discrete features by information gain.

    Every column is categorical: the distinct values of a numeric column are its categories, unless
    ``numeric_split="threshold"`` splits numbers in two. A row with a missing value goes to every child with
    part of its weight. A node without a child for a category predicts itself.

    Parameters
    ----------
    max_depth : int or None, default=None
        Maximum depth of the tree.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node to be split; a float is a fraction of the training rows, rounded
        up.
    min_samples_leaf : int, float or None, default=None
        Minimum weight of a leaf, in rows; a float is a fraction of the training rows, rounded up. Weights
        with a mean below 1 are counted in multiples of their mean. None is no limit: a branch may have less
        than one row, by parts of rows with missing values, which multiply if many values are missing.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf as a fraction of the total weight, from 0 to 0.5.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of features considered per node: a count, a fraction, the square root or the logarithm of
        their number, or None for all. Features are drawn anew at every node.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; the tree is then grown best-first.
    min_impurity_decrease : float, default=0.0
        Minimum impurity decrease of a split, weighted by the fraction of the rows in the node.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Cost of measuring each feature, or costs by feature name; others cost 1. Splits then maximize the
        score of `cost_rule`.
    cost_rule : {"tan", "tan-linear", "nunez"}, default="tan"
        Score of a split with costs: gain² / cost (Tan), gain / cost, or (2^gain − 1) / (cost + 1)^ω
        (Núñez).
    cost_omega : float, default=1.0
        ω of `cost_rule="nunez"`, from 0 to 1.
    ccp_alpha : float, default=0.0
        Complexity parameter α of minimal cost-complexity pruning; 0 prunes nothing.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The fitted tree does not depend on it.
    pruning : {"pre", "reduced-error", "pessimistic", "cost-complexity"} or None, default=None
        "pre" and "reduced-error" prune by the loss on the `eval_set` of ``fit`` or on held-out rows;
        "pessimistic" by C4.5's upper limit of the error; "cost-complexity" by `ccp_alpha`, or if that is 0
        by the α that is best in cross-validation.
    prune_ties : bool, default=True
        Whether "reduced-error" also replaces subtrees that are as good on the validation rows as a leaf.
        False replaces a subtree only if that lowers the loss.
    validation_fraction : float, default=0.25
        Fraction of the training rows held out by "pre" and "reduced-error" pruning without `eval_set`.
    confidence : float, default=0.25
        Confidence level of pessimistic pruning; lower values prune more.
    pruning_cv : int, default=5
        Number of folds that choose α.
    one_se : bool, default=False
        Choose the largest α within one standard error of the best one.
    ledger : {False, True, "full"}, default=False
        Record split candidates in ``ledger_``: the best one of each feature per node, or "full" every
        threshold.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes; "balanced" gives all classes the same total weight. With several outputs, a
        list of dicts.
    epsilon : float, default=0.0
        Smallest information gain of a split, in bits.
    numeric_split : {"multiway", "threshold"}, default="multiway"
        One child per distinct number; or two children at the threshold of largest information gain among the
        midpoints of neighbouring values (bi-partition), which may be split again below.

    Attributes
    ----------
    tree_ : TreeArrays
        The fitted tree.
    schema_ : Schema
        Names, kinds and categories of the features.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Classes; with several outputs one array per output.
    n_classes_ : int or ndarray of shape (n_outputs,)
        Number of classes.
    n_outputs_ : int
        Number of target columns.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X have names.
    max_features_ : int
        Number of features considered per node.
    ccp_alpha_ : float
        α that the tree was pruned with.
    ledger_ : CandidateLedger
        Split candidates, if `ledger` is set.
    pruning_ledger_ : PruningLedger
        Losses of every node as a leaf and as a subtree, if `ledger` is set and the tree was pruned.
    predictor_ : Predictor
        The tree packed for prediction.
    feature_importances_ : ndarray of shape (n_features,)
        Impurity decrease by the splits of each feature, normalized to sum 1.

    References
    ----------
    .. [1] J. R. Quinlan, "Induction of Decision Trees", Machine Learning 1, 1986.

    Examples
    --------
    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> ID3Classifier().fit(X.iloc[:, :6], y).get_depth()
    4
    >>> ID3Classifier(numeric_split="threshold").fit(X, y).get_n_leaves()
    5
    """

    counts_as: ClassVar = ("sklearn.tree", "DecisionTreeClassifier")
    criterion = "entropy"  # the impurity of nodes, which scikit-learn's drawings name
    _parameter_rules = (
        RULES | NO_LEAF_LIMIT | {"epsilon": (Real(0.0),), "numeric_split": (OneOf("multiway", "threshold"),)}
    )
    min_samples_leaf: int | float | None = None
    epsilon: float = 0.0
    numeric_split: Literal["multiway", "threshold"] = "multiway"

    def read_training_table(self, X: Any) -> Table:
        """Check the parameters and read the features of training rows, numbers as categories by default.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training rows.

        Returns
        -------
        Table
            The features.
        """
        if self.numeric_split == "threshold":
            return super().read_training_table(X)
        self._check_params()
        return read_table(X, range(open_source(X).shape[1]))

    def _tree_parameters(self, **fixed: Any) -> TreeParameters:
        return super()._tree_parameters(
            criterion="entropy",
            categorical_split="multiway",
            missing="fractional",
            min_gain=max(self.epsilon, LEAST_GAIN),
        )
