"""C4.5: gain ratio, fractional instances and pessimistic pruning."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from spinney.base import CountsAs, parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, OneOf, Use
from spinney.data.bin_mapper import BinMapper
from spinney.data.training_set import TrainingSet
from spinney.tree.plan import LEAST_GAIN
from spinney.tree.raising import raise_subtrees
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.base import ClassifierTree
from spinney.trees.parameters import NO_LEAF_LIMIT, RULES, TREE_USES, TreeParameters
from spinney.trees.pruning import Decisions


@parameters
class C45Classifier(CountsAs, ClassifierTree):
    """C4.5 classifier.

    A node is split by the feature with the best gain ratio among those of at least average gain, or by the
    one with the largest gain. Numeric features are split in two at the best threshold, categorical features
    have one child per category. A row with a missing value goes to every child with part of its weight
    (fractional instances).

    Parameters
    ----------
    max_depth : int or None, default=None
        Maximum depth of the tree.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node to be split; a float is a fraction of the training rows, rounded
        up.
    min_samples_leaf : int, float or None, default=2
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
    pruning : {"pre", "reduced-error", "pessimistic", "cost-complexity"} or None, default="pessimistic"
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
    categorical_features : array-like of str, int or bool, or None, default=None
        Names, positions or mask of numeric columns whose values are categories. Columns of text, booleans
        and categorical types are categorical anyway.
    categorical_split : {"multiway", "subset"}, default="multiway"
        One child per category, each feature at most once per path; or two sets of categories.
    max_bins : int, BinMapper or None, default=None
        Number of bins of numeric features with more distinct values, from 2 to 255, or the bins of a forest,
        which its members have. None considers every threshold.
    criterion : {"gain_ratio", "gain"}, default="gain_ratio"
        How features are compared: by the gain ratio among those of at least average gain, or by the
        information gain.
    mdl_correction : bool, default=False
        Whether the gain of a numeric split is reduced by log2(number of thresholds) / number of rows with a
        known value, as in release 8 of C4.5 [2]_. A feature whose gain does not exceed that is not used.
    subtree_raising : bool, default=False
        Whether pessimistic pruning may also replace a node by its largest branch, which is refitted to all
        rows of the node, as in release 8 of C4.5 and J48.

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
    .. [1] J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993.
    .. [2] J. R. Quinlan, "Improved Use of Continuous Attributes in C4.5", 1996.

    Examples
    --------
    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> C45Classifier().fit(X, y).get_n_leaves()
    4
    """

    counts_as: ClassVar = ("sklearn.tree", "DecisionTreeClassifier")
    _parameter_rules = (
        RULES
        | NO_LEAF_LIMIT
        | {
            "categorical_split": (OneOf("multiway", "subset"),),
            "criterion": (OneOf("gain_ratio", "gain"),),
            "mdl_correction": (FLAG,),
            "subtree_raising": (FLAG,),
        }
    )

    _parameter_uses = (*TREE_USES, Use(("subtree_raising",), "pruning", values=("pessimistic",)))

    min_samples_leaf: int | float | None = 2
    categorical_features: Any = None
    categorical_split: Literal["multiway", "subset"] = "multiway"
    max_bins: int | BinMapper | None = None
    criterion: Literal["gain_ratio", "gain"] = "gain_ratio"
    mdl_correction: bool = False
    subtree_raising: bool = False
    pruning: Literal["pre", "reduced-error", "pessimistic", "cost-complexity"] | None = "pessimistic"

    def _tree_parameters(self, **fixed: Any) -> TreeParameters:
        return super()._tree_parameters(
            criterion="entropy", score=self.criterion, missing="fractional", min_gain=LEAST_GAIN
        )

    def _prune_pessimistically(
        self, tree: TreeArrays, training: TrainingSet
    ) -> tuple[TreeArrays, Decisions | None]:
        if not self.subtree_raising:
            return super()._prune_pessimistically(tree, training)
        if self.ledger:
            raise InputError(
                "subtree_raising moves nodes to where the candidates of the ledger do not belong",
                fix="Set ledger=False or subtree_raising=False.",
            )
        raised = raise_subtrees(
            tree, training.table, training.y, training.full_weights, self.confidence, training.row_weight
        )
        return raised, None
