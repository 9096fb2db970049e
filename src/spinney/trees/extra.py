"""Single extremely randomized trees: CART with random thresholds."""

from __future__ import annotations

from typing import ClassVar, Literal

from spinney.base import parameters
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor


@parameters
class ExtraTreeClassifier(DecisionTreeClassifier):
    """Extremely randomized tree classifier (Geurts, Ernst and Wehenkel 2006).

    At every node one random threshold is drawn for each of the features considered, and the best of these is
    taken. Such a tree is weak by itself; `ExtraTreesClassifier` averages many of them. The parameters that
    scikit-learn's ``ExtraTreeClassifier`` has, too, have the same meaning and defaults.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "error"}, default="gini"
        Impurity that splits reduce. "log_loss" is "entropy".
    categorical_features : array-like of str, int or bool, or None, default=None
        Names, positions or mask of numeric columns whose values are categories. Columns of text, booleans
        and categorical types are categorical anyway.
    categorical_split : {"subset", "one-vs-rest"}, default="subset"
        Split categories into two sets, or one category from all others.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        Monotonicity constraint per feature, or by feature name: 1 increasing, −1 decreasing, 0 none. It
        holds for the prediction; with two classes for the probability of the second one.
    max_bins : int, BinMapper or None, default=255
        Number of bins of numeric features with more distinct values, from 2 to 255, or the bins of a forest,
        which its members have. None considers every threshold.
    missing : {"direction", "fractional"}, default="direction"
        Send missing values to the child where they reduced the impurity most in training, or to both
        children with part of their weight (fractional instances).
    max_depth : int or None, default=None
        Maximum depth of the tree.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node to be split; a float is a fraction of the training rows, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of rows of a leaf; a float is a fraction of the training rows, rounded up. It counts
        by weight if missing values are split into fractional instances.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf as a fraction of the total weight, from 0 to 0.5.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
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
        Seed of all draws, and of the order of features whose splits are equally good. With None that order
        depends on the data alone.
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
    splitter : {"best", "random"}, default="random"
        "random" draws one threshold per feature; "best" searches all thresholds.

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
    .. [1] P. Geurts, D. Ernst and L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    counts_as: ClassVar = ("sklearn.tree", "ExtraTreeClassifier")

    max_features: int | float | str | None = "sqrt"
    splitter: Literal["best", "random"] = "random"


@parameters
class ExtraTreeRegressor(DecisionTreeRegressor):
    """Extremely randomized tree regressor (Geurts, Ernst and Wehenkel 2006).

    At every node one random threshold is drawn for each of the features considered, and the best of these is
    taken. Such a tree is weak by itself; `ExtraTreesRegressor` averages many of them. The parameters that
    scikit-learn's ``ExtraTreeRegressor`` has, too, have the same meaning and defaults.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, default="squared_error"
        Impurity that splits reduce. "absolute_error" predicts the median of the leaf, the others its mean;
        "poisson" needs values of at least 0.
    categorical_features : array-like of str, int or bool, or None, default=None
        Names, positions or mask of numeric columns whose values are categories. Columns of text, booleans
        and categorical types are categorical anyway.
    categorical_split : {"subset", "one-vs-rest"}, default="subset"
        Split categories into two sets, or one category from all others.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        Monotonicity constraint per feature, or by feature name: 1 increasing, −1 decreasing, 0 none. It
        holds for the prediction; with two classes for the probability of the second one.
    max_bins : int, BinMapper or None, default=255
        Number of bins of numeric features with more distinct values, from 2 to 255, or the bins of a forest,
        which its members have. None considers every threshold.
    missing : {"direction", "fractional"}, default="direction"
        Send missing values to the child where they reduced the impurity most in training, or to both
        children with part of their weight (fractional instances).
    max_depth : int or None, default=None
        Maximum depth of the tree.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node to be split; a float is a fraction of the training rows, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of rows of a leaf; a float is a fraction of the training rows, rounded up. It counts
        by weight if missing values are split into fractional instances.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf as a fraction of the total weight, from 0 to 0.5.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
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
        Seed of all draws, and of the order of features whose splits are equally good. With None that order
        depends on the data alone.
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
    splitter : {"best", "random"}, default="random"
        "random" draws one threshold per feature; "best" searches all thresholds.

    Attributes
    ----------
    tree_ : TreeArrays
        The fitted tree.
    schema_ : Schema
        Names, kinds and categories of the features.
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
    .. [1] P. Geurts, D. Ernst and L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> ExtraTreeRegressor(random_state=0).fit([[1], [2], [8], [9]], [0.0, 0.0, 5.0, 7.0]).predict([[9.5]])
    array([7.])
    """

    counts_as: ClassVar = ("sklearn.tree", "ExtraTreeRegressor")

    max_features: int | float | str | None = 1.0
    splitter: Literal["best", "random"] = "random"
