"""The forest estimators: random forests and extremely randomized trees."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from spinney.base import CountsAs, ProbabilisticClassifier, parameters
from spinney.core.errors import InputError, show_value
from spinney.data.target import by_output, most_probable
from spinney.forests.forest import RULES, BaseForest, Floats
from spinney.forests.leaf_targets import LeafTargets
from spinney.tree.predictor import as_probabilities, as_targets
from spinney.trees.parameters import criteria


@parameters
class ClassifierForest(ProbabilisticClassifier, BaseForest, persistent_name=""):
    """Base class of forests that average class probabilities."""

    _task = "classification"
    _parameter_rules = RULES | {"criterion": (criteria("classification"),)}
    _state_attributes = ("oob_decision_function_",)

    criterion: str = "gini"
    max_features: int | float | str | None = "sqrt"
    class_weight: Any = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the highest mean probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels; of ties, the first in ``classes_``.
        """
        return most_probable(by_output(self.predict_proba(X)), self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities: the mean over the trees of the class proportions in the leaf.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of ndarray
            Probabilities, a list if there are several outputs.
        """
        return as_probabilities(self._mean(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class RandomForestClassifier(ClassifierForest):
    """Random forest classifier (Breiman 2001).

    Averages the class probabilities of trees, each grown on a bootstrap sample of the rows with a random
    subset of the features per node. The parameters of scikit-learn's ``RandomForestClassifier`` have the same
    meaning and defaults.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss", "error"}, default="gini"
        Impurity that splits reduce.
    categorical_features : list of str or int, mask or None, default=None
        Numeric columns that are categorical. Columns of text, booleans and categorical types always are.
    categorical_split : {"subset", "one-vs-rest"}, default="subset"
        Whether to split categories into any two sets, or one from all others.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Monotonicity constraint per feature, −1, 0 or 1, or a dict by feature name, on the probability of the
        second of two classes.
    max_bins : int, BinMapper or None, default=255
        Maximum number of bins of a numeric feature, 2 to 255, or the bins of another forest; None considers
        every threshold.
    missing : {"direction", "fractional"}, default="direction"
        Whether a missing value goes to the child that was best in training, or to both children in proportion
        to their weights (C4.5).
    max_depth : int or None, default=None
        Maximum depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows to split a node, or fraction of the rows of a sample.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, or fraction of the rows of a sample.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features considered per node; a float is a fraction, None is all.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves, grown best-first; None is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum impurity decrease of a split.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Cost of measuring each feature; a dict is by feature name, others cost 1.
    cost_rule : {"tan", "tan-linear", "nunez"}, default="tan"
        How costs change the score of a split: Gain²/Cost, Gain/Cost, or (2^Gain − 1)/(Cost + 1)^ω.
    cost_omega : float, default=1.0
        ω of the rule "nunez", from 0 to 1.
    ccp_alpha : float, default=0.0
        Complexity parameter of cost-complexity pruning; 0 does not prune.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit: as missing values, or as an
        error.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws. None draws it from NumPy's global generator.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The fitted forest is the same, to the last bit, for any number.
    n_directions : int, default=0
        Above 0, grow oblique trees, which also split by weighted sums of features, with this many random
        directions per node (see `ObliqueTreeClassifier`).
    max_samples : int, float or None, default=None
        Rows per sample, with or without replacement: a number, a fraction, or None for all. With integer
        sample weights, a row of weight k counts as k rows.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement. Without, a sample of all rows is the training set itself.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_decision_function_`` and ``oob_score_`` from out-of-bag rows. The score is
        the accuracy, or ``oob_score(y, predicted)``, with ``sample_weight`` if it has such an argument.
    warm_start : bool, default=False
        Whether ``fit`` keeps the trees of the previous fit and adds more, up to ``n_estimators``.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k trees.
    class_weight : {"balanced", "balanced_subsample"}, dict, list of dict or None, default=None
        Weights of the classes; "balanced" makes all classes weigh the same in the training rows,
        "balanced_subsample" in each sample.

    Attributes
    ----------
    estimator_ : DecisionTree or ObliqueTree estimator
        An unfitted tree with the parameters of the members.
    estimators_ : list of estimator
        The trees as fitted estimators, made at the first access.
    estimators_samples_ : list of ndarray
        Rows that each tree drew, ascending and with repetitions. They are drawn again at every access.
    ensemble_ : TreeEnsemble
        All trees as concatenated arrays.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity decrease by the splits of each feature, averaged over the trees, with sum 1.
    max_features_ : int
        Number of features considered per node.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.
    n_outputs_ : int
        Number of outputs.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, a list if there are several outputs.
    n_classes_ : int, or ndarray of shape (n_outputs,)
        Number of classes.
    oob_score_ : float
        Out-of-bag score, if ``oob_score`` is set.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes) or (n_rows, n_classes, n_outputs)
        Out-of-bag probabilities, if ``oob_score`` is set; NaN for rows that every tree has seen.

    Examples
    --------
    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> model.score(X, y), 0.4 < model.oob_score_ < 1.0
    (1.0, True)
    """


@parameters
class ExtraTreesClassifier(ClassifierForest):
    """Extremely randomized trees classifier (Geurts, Ernst and Wehenkel 2006).

    Averages the class probabilities of trees that draw one random threshold per feature and node instead of
    searching the best one. By default, every tree is grown on all rows. The parameters of scikit-learn's
    ``ExtraTreesClassifier`` have the same meaning and defaults.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss", "error"}, default="gini"
        Impurity that splits reduce.
    categorical_features : list of str or int, mask or None, default=None
        Numeric columns that are categorical. Columns of text, booleans and categorical types always are.
    categorical_split : {"subset", "one-vs-rest"}, default="subset"
        Whether to split categories into any two sets, or one from all others.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Monotonicity constraint per feature, −1, 0 or 1, or a dict by feature name, on the probability of the
        second of two classes.
    max_bins : int, BinMapper or None, default=255
        Maximum number of bins of a numeric feature, 2 to 255, or the bins of another forest; None considers
        every threshold.
    missing : {"direction", "fractional"}, default="direction"
        Whether a missing value goes to the child that was best in training, or to both children in proportion
        to their weights (C4.5).
    max_depth : int or None, default=None
        Maximum depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows to split a node, or fraction of the rows of a sample.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, or fraction of the rows of a sample.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features considered per node; a float is a fraction, None is all.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves, grown best-first; None is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum impurity decrease of a split.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Cost of measuring each feature; a dict is by feature name, others cost 1.
    cost_rule : {"tan", "tan-linear", "nunez"}, default="tan"
        How costs change the score of a split: Gain²/Cost, Gain/Cost, or (2^Gain − 1)/(Cost + 1)^ω.
    cost_omega : float, default=1.0
        ω of the rule "nunez", from 0 to 1.
    ccp_alpha : float, default=0.0
        Complexity parameter of cost-complexity pruning; 0 does not prune.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit: as missing values, or as an
        error.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws. None draws it from NumPy's global generator.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The fitted forest is the same, to the last bit, for any number.
    n_directions : int, default=0
        Above 0, grow oblique trees, which also split by weighted sums of features, with this many random
        directions per node (see `ObliqueTreeClassifier`).
    max_samples : int, float or None, default=None
        Rows per sample, with or without replacement: a number, a fraction, or None for all. With integer
        sample weights, a row of weight k counts as k rows.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement. Without, a sample of all rows is the training set itself.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_decision_function_`` and ``oob_score_`` from out-of-bag rows. The score is
        the accuracy, or ``oob_score(y, predicted)``, with ``sample_weight`` if it has such an argument.
    warm_start : bool, default=False
        Whether ``fit`` keeps the trees of the previous fit and adds more, up to ``n_estimators``.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k trees.
    class_weight : {"balanced", "balanced_subsample"}, dict, list of dict or None, default=None
        Weights of the classes; "balanced" makes all classes weigh the same in the training rows,
        "balanced_subsample" in each sample.

    Attributes
    ----------
    estimator_ : DecisionTree or ObliqueTree estimator
        An unfitted tree with the parameters of the members.
    estimators_ : list of estimator
        The trees as fitted estimators, made at the first access.
    estimators_samples_ : list of ndarray
        Rows that each tree drew, ascending and with repetitions. They are drawn again at every access.
    ensemble_ : TreeEnsemble
        All trees as concatenated arrays.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity decrease by the splits of each feature, averaged over the trees, with sum 1.
    max_features_ : int
        Number of features considered per node.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.
    n_outputs_ : int
        Number of outputs.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, a list if there are several outputs.
    n_classes_ : int, or ndarray of shape (n_outputs,)
        Number of classes.
    oob_score_ : float
        Out-of-bag score, if ``oob_score`` is set.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes) or (n_rows, n_classes, n_outputs)
        Out-of-bag probabilities, if ``oob_score`` is set; NaN for rows that every tree has seen.

    Examples
    --------
    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _splitter = "random"

    bootstrap: bool = False


@parameters
class RegressorForest(RegressorMixin, BaseForest, persistent_name=""):  # type: ignore[misc]
    """Base class of forests that average values, or compute quantiles of the targets in their leaves."""

    _task = "regression"
    _parameter_rules = RULES | {"criterion": (criteria("regression"),)}
    _state_attributes = ("oob_prediction_", "leaf_targets_")

    criterion: str = "squared_error"
    max_features: int | float | str | None = 1.0
    keep_targets: bool = False

    def predict(self, X: Any) -> Floats:
        """Predict the mean of the trees' predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predicted values.
        """
        return as_targets(self._mean(X))

    def predict_quantiles(self, X: Any, quantiles: ArrayLike = (0.05, 0.5, 0.95)) -> Floats:
        """Predict quantiles of the target (quantile regression forest, Meinshausen 2006).

        They are quantiles of the training targets in the leaves of a row. The forest must have been fitted
        with ``keep_targets=True``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Numbers from 0 to 1.

        Returns
        -------
        ndarray of shape (n_rows, n_quantiles) or (n_rows, n_outputs, n_quantiles)
            The smallest target at or below which at least this fraction of the targets lies.

        Examples
        --------
        >>> from spinney import RandomForestRegressor
        >>> X = np.repeat([[0.0], [1.0]], 50, axis=0)
        >>> y = np.r_[np.arange(50.0), np.arange(50.0) + 100]
        >>> model = RandomForestRegressor(keep_targets=True, random_state=0).fit(X, y)
        >>> model.predict_quantiles([[1.0]], [0.0, 1.0]).tolist()
        [[100.0, 149.0]]
        """
        table = self._read_table(X)
        targets: LeafTargets | None = vars(self).get("leaf_targets_")
        if targets is None:
            raise InputError(
                f"This {type(self).__name__} has no targets in its leaves",
                fix="Set keep_targets=True and fit it again.",
            )
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or not len(wanted) or not ((wanted >= 0) & (wanted <= 1)).all():
            raise InputError(f"quantiles is {show_value(quantiles)}; it takes numbers from 0 to 1.")
        leaves = self._predictor.apply(table, self._threads_for(table))
        found = targets.quantiles(leaves + self.ensemble_.tree_begin[:-1], wanted)
        return found[:, 0] if self.n_outputs_ == 1 else found


class RandomForestRegressor(CountsAs, RegressorForest):
    """Random forest regressor (Breiman 2001).

    Averages the predictions of trees, each grown on a bootstrap sample of the rows. It is a quantile
    regression forest (Meinshausen 2006) if ``keep_targets=True``. The parameters of scikit-learn's
    ``RandomForestRegressor`` have the same meaning and defaults.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, default="squared_error"
        Impurity that splits reduce.
    categorical_features : list of str or int, mask or None, default=None
        Numeric columns that are categorical. Columns of text, booleans and categorical types always are.
    categorical_split : {"subset", "one-vs-rest"}, default="subset"
        Whether to split categories into any two sets, or one from all others.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Monotonicity constraint of the prediction per feature, −1, 0 or 1, or a dict by feature name.
    max_bins : int, BinMapper or None, default=255
        Maximum number of bins of a numeric feature, 2 to 255, or the bins of another forest; None considers
        every threshold.
    missing : {"direction", "fractional"}, default="direction"
        Whether a missing value goes to the child that was best in training, or to both children in proportion
        to their weights (C4.5).
    max_depth : int or None, default=None
        Maximum depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows to split a node, or fraction of the rows of a sample.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, or fraction of the rows of a sample.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Number of features considered per node; a float is a fraction, None is all.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves, grown best-first; None is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum impurity decrease of a split.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Cost of measuring each feature; a dict is by feature name, others cost 1.
    cost_rule : {"tan", "tan-linear", "nunez"}, default="tan"
        How costs change the score of a split: Gain²/Cost, Gain/Cost, or (2^Gain − 1)/(Cost + 1)^ω.
    cost_omega : float, default=1.0
        ω of the rule "nunez", from 0 to 1.
    ccp_alpha : float, default=0.0
        Complexity parameter of cost-complexity pruning; 0 does not prune.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit: as missing values, or as an
        error.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws. None draws it from NumPy's global generator.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The fitted forest is the same, to the last bit, for any number.
    n_directions : int, default=0
        Above 0, grow oblique trees, which also split by weighted sums of features, with this many random
        directions per node (see `ObliqueTreeClassifier`).
    max_samples : int, float or None, default=None
        Rows per sample, with or without replacement: a number, a fraction, or None for all. With integer
        sample weights, a row of weight k counts as k rows.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement. Without, a sample of all rows is the training set itself.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_prediction_`` and ``oob_score_`` from out-of-bag rows. The score is R², or
        ``oob_score(y, predicted)``, with ``sample_weight`` if it has such an argument.
    warm_start : bool, default=False
        Whether ``fit`` keeps the trees of the previous fit and adds more, up to ``n_estimators``.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k trees.
    keep_targets : bool, default=False
        Whether to keep the training targets of every leaf, for ``predict_quantiles``.

    Attributes
    ----------
    estimator_ : DecisionTree or ObliqueTree estimator
        An unfitted tree with the parameters of the members.
    estimators_ : list of estimator
        The trees as fitted estimators, made at the first access.
    estimators_samples_ : list of ndarray
        Rows that each tree drew, ascending and with repetitions. They are drawn again at every access.
    ensemble_ : TreeEnsemble
        All trees as concatenated arrays.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity decrease by the splits of each feature, averaged over the trees, with sum 1.
    max_features_ : int
        Number of features considered per node.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.
    n_outputs_ : int
        Number of outputs.
    leaf_targets_ : LeafTargets
        Training targets of every leaf, if ``keep_targets`` is set.
    oob_score_ : float
        Out-of-bag score, if ``oob_score`` is set.
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions, if ``oob_score`` is set; NaN for rows that every tree has seen.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = RandomForestRegressor(oob_score=True, random_state=0).fit(X, X[:, 0])
    >>> bool(model.oob_score_ > 0.99)
    True
    """

    counts_as: ClassVar = ("sklearn.ensemble", "RandomForestRegressor")


@parameters
class ExtraTreesRegressor(RegressorForest):
    """Extremely randomized trees regressor (Geurts, Ernst and Wehenkel 2006).

    Averages the predictions of trees that draw one random threshold per feature and node instead of searching
    the best one. By default, every tree is grown on all rows. The parameters of scikit-learn's
    ``ExtraTreesRegressor`` have the same meaning and defaults.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, default="squared_error"
        Impurity that splits reduce.
    categorical_features : list of str or int, mask or None, default=None
        Numeric columns that are categorical. Columns of text, booleans and categorical types always are.
    categorical_split : {"subset", "one-vs-rest"}, default="subset"
        Whether to split categories into any two sets, or one from all others.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Monotonicity constraint of the prediction per feature, −1, 0 or 1, or a dict by feature name.
    max_bins : int, BinMapper or None, default=255
        Maximum number of bins of a numeric feature, 2 to 255, or the bins of another forest; None considers
        every threshold.
    missing : {"direction", "fractional"}, default="direction"
        Whether a missing value goes to the child that was best in training, or to both children in proportion
        to their weights (C4.5).
    max_depth : int or None, default=None
        Maximum depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows to split a node, or fraction of the rows of a sample.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, or fraction of the rows of a sample.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Number of features considered per node; a float is a fraction, None is all.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves, grown best-first; None is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum impurity decrease of a split.
    feature_costs : array-like of shape (n_features,), dict or None, default=None
        Cost of measuring each feature; a dict is by feature name, others cost 1.
    cost_rule : {"tan", "tan-linear", "nunez"}, default="tan"
        How costs change the score of a split: Gain²/Cost, Gain/Cost, or (2^Gain − 1)/(Cost + 1)^ω.
    cost_omega : float, default=1.0
        ω of the rule "nunez", from 0 to 1.
    ccp_alpha : float, default=0.0
        Complexity parameter of cost-complexity pruning; 0 does not prune.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit: as missing values, or as an
        error.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws. None draws it from NumPy's global generator.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The fitted forest is the same, to the last bit, for any number.
    n_directions : int, default=0
        Above 0, grow oblique trees, which also split by weighted sums of features, with this many random
        directions per node (see `ObliqueTreeClassifier`).
    max_samples : int, float or None, default=None
        Rows per sample, with or without replacement: a number, a fraction, or None for all. With integer
        sample weights, a row of weight k counts as k rows.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement. Without, a sample of all rows is the training set itself.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_prediction_`` and ``oob_score_`` from out-of-bag rows. The score is R², or
        ``oob_score(y, predicted)``, with ``sample_weight`` if it has such an argument.
    warm_start : bool, default=False
        Whether ``fit`` keeps the trees of the previous fit and adds more, up to ``n_estimators``.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k trees.
    keep_targets : bool, default=False
        Whether to keep the training targets of every leaf, for ``predict_quantiles``.

    Attributes
    ----------
    estimator_ : DecisionTree or ObliqueTree estimator
        An unfitted tree with the parameters of the members.
    estimators_ : list of estimator
        The trees as fitted estimators, made at the first access.
    estimators_samples_ : list of ndarray
        Rows that each tree drew, ascending and with repetitions. They are drawn again at every access.
    ensemble_ : TreeEnsemble
        All trees as concatenated arrays.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity decrease by the splits of each feature, averaged over the trees, with sum 1.
    max_features_ : int
        Number of features considered per node.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.
    n_outputs_ : int
        Number of outputs.
    leaf_targets_ : LeafTargets
        Training targets of every leaf, if ``keep_targets`` is set.
    oob_score_ : float
        Out-of-bag score, if ``oob_score`` is set.
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions, if ``oob_score`` is set; NaN for rows that every tree has seen.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> ExtraTreesRegressor(random_state=0).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.99
    True
    """

    _splitter = "random"

    bootstrap: bool = False
