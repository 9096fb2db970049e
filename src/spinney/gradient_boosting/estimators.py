"""GradientBoostingClassifier and GradientBoostingRegressor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from spinney.base import CountsAs, ProbabilisticClassifier, parameters
from spinney.core.errors import InputError
from spinney.data.target import has_one_output, most_probable
from spinney.data.training_set import Task
from spinney.gradient_boosting.fit_methods import FitMethods
from spinney.gradient_boosting.parameters import (
    CLASSIFICATION_RULES,
    POSITIVE_LOSSES,
    REGRESSION_RULES,
    check_loss_parameters,
)
from spinney.gradient_boosting.training_set import BoostingSet
from spinney.losses import losses
from spinney.losses.losses import Link, Loss
from spinney.losses.multi_output import MultiClassOutputsLoss, MultiOutputLoss

Floats = NDArray[np.float64]


@parameters
class GradientBoostingClassifier(CountsAs, ProbabilisticClassifier, FitMethods):
    """Gradient boosted trees for classification.

    Trees are grown on histograms of binned features, with Newton steps on the loss. Parameters that
    scikit-learn's ``HistGradientBoostingClassifier`` has keep their meaning. Parameters that are "auto" are
    chosen from the table, and ``chosen_`` tells how; ``preset="classic"`` has scikit-learn's fixed defaults.
    With more than two classes a round has one tree per class. Several outputs, such as the columns of an
    indicator matrix of labels, are learned by one model, whose rounds have the trees of every output.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or Loss, default="log_loss"
        Loss to minimise: log loss (softmax for more than two classes), the exponential loss of AdaBoost (two
        classes only), or an instance of a subclass of `spinney.losses.Loss`.
    preset : {"auto", "classic", "strong"}, default="auto"
        Where the values of parameters that are "auto" come from: from the number of rows and the kind of
        target ("auto"), from those and with an average over members of different settings ("strong"), or
        from fixed numbers, those of scikit-learn ("classic").
    learning_rate : float or "auto", default="auto"
        Shrinkage: the factor of every leaf value. "auto" is min(0.1, exp(A ln n + B)) for n rows, with
        CatBoost's A and B: (0.247, −5.158) for two classes, (0.020, −2.364) for more, (0.157, −4.062) in
        regression; more where `n_estimators` is set to fewer than 1,000 rounds; 0.1 for fewer than 50 rows.
        Classic: 0.1.
    n_estimators : int or "auto", default="auto"
        Maximum number of rounds; `max_iter` in scikit-learn's histogram gradient boosting. "auto" is 1,500
        with early stopping and 500 without; 100 for fewer than 50 rows. Classic: 100.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves of a tree. "auto" is 31.
    max_depth : int or None, default=None
        Maximum depth of a tree.
    min_samples_leaf : int, float or "auto", default="auto"
        Minimum number of rows in a leaf, or a fraction of the rows. Rows count by weight: a row of weight 2
        is two rows. Weights with a mean below 1 are divided by their mean. "auto" is a hundredth of the rows,
        between 1 and 20. Classic: 20.
    l2_regularization : float or "auto", default="auto"
        λ, added to the sum of hessians of a leaf; shrinks leaf values towards 0. "auto" is 1, or
        3 for two classes and fewer than 2,000 rows, or for 20 to 49 rows. Classic: 0.
    max_features : int, float, "sqrt", "log2", "auto" or None, default="auto"
        Number or fraction of features drawn at every node, among those of the tree. "auto" is 0.5, or
        0.1 for two classes and fewer than 2,000 rows, or for 20 to 49 rows; all for fewer. Classic: 1.0, all.
    max_bins : int, default=255
        Maximum number of bins per numeric feature, from 2 to 255.
    categorical_features : array-like of names, indices or bool, or None, default=None
        Numeric columns to treat as categorical. Columns of text, bool and categorical types always are.
    monotonic_cst : array-like of -1, 0 or 1, dict by feature name, or None, default=None
        Constraint per feature: the probability of the second class may only fall (-1), only rise (1), or is
        free (0). Two classes only.
    interaction_cst : "pairwise", "no_interactions", sequence of sets of features, or None, default=None
        Sets of features that may occur on one path of a tree. Features in no set form a set of their own.
    warm_start : bool, default=False
        Whether ``fit`` continues from the rounds of the last fit, up to `n_estimators`, with the values that
        the last fit chose. Rounds that are added to a refit model use all rows and, without an ``eval_set``,
        are not stopped early.
    early_stopping : bool or "auto", default="auto"
        Stop when the score has not improved for `n_iter_no_change` rounds. "auto" stops early if an
        ``eval_set`` is given or there are at least 50 rows. Classic: more than 10,000 rows.
    scoring : str, callable or None, default="loss"
        Score for early stopping: "loss" is the negative loss, otherwise the name of a scikit-learn scorer or
        a callable; None is ``score``.
    validation_fraction : int, float, "auto" or None, default="auto"
        Number or fraction of rows held out for early stopping; None scores the training rows. Ignored if an
        ``eval_set`` is given. "auto" is 0.2. Classic: 0.1.
    n_iter_no_change : int or "auto", default="auto"
        Number of rounds without improvement after which training stops. Predictions then use the best round,
        `best_iteration_`. "auto" is 60. Classic: 10.
    tol : float or "auto", default="auto"
        Minimum increase of the score that counts as an improvement. "auto" is 0. Classic: 1e-7.
    refit : bool or "auto", default="auto"
        After early stopping on rows that were held out, fit again from scratch on all rows, with the best
        number of rounds times the ratio of the numbers of rows, at most `n_estimators` if that is set. "auto"
        is True.
        Classic: False.
    n_members : int or "auto", default="auto"
        Number of models whose raw scores are averaged. Members of different settings, such as leaf-wise and
        symmetric trees of ``growth="mixed"``, take turns. Those of one turn share seed and validation rows,
        and a member whose validation loss exceeds the least one of its turn by more than 10 % is left out
        (by more than 30 %, its settings are not tried again). For fewer than 2,000 rows, members have
        settings for noisy tables; the third one of two classes is for rules without noise and kept only
        where its loss is less by an eighth. "auto" is two turns below 2,000 rows and one above;
        one turn where `growth` is set. With ``preset="strong"`` there are more settings and turns.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k rounds.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all random draws: rows, columns, rows held out, and the order of target statistics.
    growth : {"auto", "leaf-wise", "level-wise", "symmetric", "mixed"}, default="auto"
        Split the leaf with the largest gain first; grow level by level; grow symmetric (oblivious) trees, in
        which all nodes of a level share one split, as in CatBoost; or "mixed": members of several
        settings, leaf-wise or symmetric. Symmetric trees have depth 6 if `max_depth` is None;
        `max_leaf_nodes`, `min_samples_leaf` and `min_hessian` do not apply to them, and they support no
        constraints. "auto" is "mixed"; "leaf-wise" with constraints, with `warm_start`, or below 50 rows.
        Classic: "leaf-wise".
    random_strength : float or "auto", default="auto"
        Noise on the scores of symmetric splits, as in CatBoost. A score is the root of the sum of G²/H over
        the children, and the deviation of the noise is this value times that of the gradients; it fades when
        the sum of the learning rates of the rounds exceeds the logarithm of the number of rows. "auto" is 1
        where trees are symmetric, or 2 for two classes and fewer than 2,000 rows, else 0. Classic: 0.
    splitter : {"auto", "best", "random"}, default="auto"
        Take the best threshold of a feature, or one that is drawn among those of the node, as in extra-trees
        and LightGBM's ``extra_trees``; the feature is the best one either way. "auto" is "best", but some of
        the members of ``growth="mixed"`` and of ``preset="strong"`` have "random". Classic: "best".
    min_gain : float, default=0.0
        Minimum gain of a split (γ in XGBoost).
    min_hessian : float, default=1e-3
        Minimum sum of hessians in a leaf.
    sampling : {"auto", "uniform", "goss", "mvs"}, default="auto"
        How the rows of a round are drawn: with equal probability; by gradient-based one-side sampling, which
        keeps the rows with large gradients (GOSS, Ke et al. 2017); or by minimal variance sampling (MVS,
        Ibragimov and Gusev 2019). "auto" is "mvs", and "uniform" for fewer than 50 rows. Classic: "uniform".
    subsample : float or None, default=None
        Fraction of rows drawn per round. None is 1.0 (uniform), 0.3 (GOSS) or 0.8 (MVS), and 0.7 where
        `sampling` is chosen as "mvs", or 0.5 for two classes and fewer than 2,000 rows.
    colsample_bytree : float, default=1.0
        Fraction of columns drawn per tree.
    categorical_split : {"auto", "subset", "one-vs-rest"}, default="auto"
        Split categories into two sets, or one category from all others. "auto" is "subset".
    categorical_encoding : {"auto", "subset", "ordered"}, default="auto"
        Split categories as they are ("subset"), or encode them by ordered target statistics (Prokhorenkova et
        al. 2018): the mean target of the rows of the same category that come before in a random order. "auto"
        encodes features with more than 50 categories and fewer than 250 rows per category.
    categorical_smoothing : float or "auto", default="auto"
        Added to the hessians of a category when categories are sorted; keeps rare ones in the middle. "auto"
        is 1. Classic: 10.
    categorical_l2 : float or "auto", default="auto"
        L2 regularization of both sides of a category split, in addition to `l2_regularization`. "auto" is 1.
        Classic: 10.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.
    ledger : bool or "full", default=False
        Record one row per round in `ledger_`: losses, number of leaves and gain. "full" also records each
        feature's best split candidate at every node.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model is bit-equal for any number.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" gives every class the same total weight.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such arrays
        Class labels in ascending order; with several outputs a list.
    n_classes_ : int or ndarray of shape (n_outputs,)
        Number of classes; with several outputs an array.
    evals_result_ : dict
        Metrics of every set of ``eval_set`` after every round, of the first member: lists by the name of the
        set and of the metric. Empty without ``eval_set``. `evals_frame` returns them as a data frame.
    schema_ : Schema
        Names, kinds and categories of the features.
    ensemble_ : TreeEnsemble
        All trees, those after `best_iteration_` included.
    loss_ : Loss
        The loss.
    base_score_ : ndarray of shape (n_trees_per_iteration_,)
        Constant that the trees are added to.
    chosen_ : dict
        Values of the parameters that were "auto", by name. After a second fit on all rows also
        "refit_rounds", its number of rounds, or a tuple of the numbers of several members.
    n_iter_ : int
        Number of rounds of the model, of all members together.
    best_iteration_ : int
        Number of rounds that predictions use: the best round with early stopping and without a second fit,
        else all. Those of several members are added up, as in `n_iter_`, so that it may exceed
        `n_estimators`; ``chosen_["refit_rounds"]`` has the number of each.
    n_trees_per_iteration_ : int
        Number of trees per round: 1 for two classes, else one per class; with several outputs one per output.
    do_early_stopping_ : bool
        Whether early stopping was active.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Score of the training rows before the first and after every round; empty without early stopping and
        ``eval_set``. After a second fit on all rows these are the scores of the first one, of the first
        member.
    validation_score_ : ndarray of shape (n_rounds + 1,)
        Score of the validation rows, likewise; empty without validation rows.
    statistics_ : TargetStatistics
        Target statistics of encoded categorical features; only where there are some.
    ledger_ : GradientLedger
        Record of the rounds; only if `ledger` is set.
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits of each feature up to `best_iteration_`, as fractions of the sum.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> from spinney.datasets import make_box
    >>> X, y = make_box(500)
    >>> GradientBoostingClassifier().fit(X, y).score(X, y)
    1.0
    """

    counts_as: ClassVar = ("sklearn.ensemble", "HistGradientBoostingClassifier")
    _task: ClassVar[Task] = "classification"
    _multi_output: ClassVar[bool] = True
    _parameter_rules = CLASSIFICATION_RULES
    _required_attributes = ("classes_",)
    n_classes_: int = field(init=False)

    loss: str | Loss = field(default="log_loss", kw_only=False)
    class_weight: Any = None

    def _make_loss(self, training: BoostingSet) -> Loss:
        if training.n_outputs > 1:
            return self._loss_of_outputs(training)
        n_classes = len(training.classes[0])
        if n_classes == 1:  # nothing to learn: the class code 0 is a target that every tree predicts
            return losses.SquaredLoss()
        if isinstance(self.loss, Loss):
            return self.loss
        if self.loss == "exponential":
            if n_classes == 2:
                return losses.ExponentialLoss()
            raise InputError(
                f'loss="exponential" is for two classes; y has {n_classes}', fix='Use loss="log_loss".'
            )
        return losses.LogLoss() if n_classes == 2 else losses.SoftmaxLoss(n_classes)

    def _loss_of_outputs(self, training: BoostingSet) -> Loss:
        """Return the loss of several outputs."""
        output, n_classes = int(np.argmax(training.n_classes)), max(training.n_classes)
        if n_classes > 2:
            if self.loss != "log_loss":
                raise InputError(
                    f"y has {n_classes} classes in output {output}; of several outputs with more than two "
                    "classes the loss is the log loss",
                    fix='Use loss="log_loss", or fit one model per output.',
                )
            return MultiClassOutputsLoss(tuple(training.n_classes))
        if isinstance(self.loss, Loss):
            return MultiOutputLoss(self.loss, training.n_outputs)
        loss = losses.ExponentialLoss() if self.loss == "exponential" else losses.LogLoss()
        return MultiOutputLoss(loss, training.n_outputs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = self._multi_output
        return tags

    # ---- outputs ----

    @property
    def _link(self) -> Link:
        if not has_one_output(self):
            return self.loss_.link or losses.LOGIT
        return self.loss_.link or (losses.LOGIT if self.n_classes_ == 2 else losses.MULTI_LOGIT)

    def _probabilities(self, scores: Floats) -> Any:
        if isinstance(self.loss_, MultiClassOutputsLoss):
            return self.loss_.probabilities(scores)
        if not has_one_output(self):
            mean = self._link.mean(scores)
            return [
                np.column_stack([1.0 - p, p]) if n == 2 else np.ones((len(scores), 1))
                for n, p in zip(np.asarray(self.n_classes_), mean.T, strict=True)
            ]
        if self.n_classes_ == 1:
            return np.ones((len(scores), 1))
        mean = self._link.mean(scores if self.n_classes_ > 2 else scores[:, 0])
        return mean if self.n_classes_ > 2 else np.column_stack([1.0 - mean, mean])

    def _labels(self, scores: Floats) -> NDArray[Any]:
        if not has_one_output(self):
            return most_probable(self._probabilities(scores), self.classes_)
        if self.n_classes_ == 2:  # half the time of argmax over two columns
            codes = (self._link.mean(scores[:, 0]) > 0.5).astype(np.intp)
        else:
            codes = scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels

    def _decisions(self, scores: Floats) -> Floats:
        return scores if scores.shape[1] > 1 else scores[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels.

        Examples
        --------
        >>> from spinney import GradientBoostingClassifier
        >>> model = GradientBoostingClassifier(min_samples_leaf=1).fit([["red"], ["blue"]] * 9, [1, 0] * 9)
        >>> model.predict([["red"]]).tolist()
        [1]
        """
        return self._labels(self._raw_scores(X))

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays
            Probabilities in the order of `classes_`.
        """
        return self._probabilities(self._raw_scores(X))

    @available_if(has_one_output)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Compute the raw score of each row. Models of several outputs do not have this method.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw score of the second of two classes, or of each of more classes.
        """
        return self._decisions(self._raw_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict the class of each row after every round up to ``best_iteration_``.

        The rounds of several members follow each other.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels, as from `predict`.
        """
        return map(self._labels, self._staged_scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict the class probabilities after every round up to ``best_iteration_``.

        The rounds of several members follow each other.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows, n_classes), or list of such arrays
            Probabilities, as from `predict_proba`.
        """
        return map(self._probabilities, self._staged_scores(X))

    @available_if(has_one_output)  # type: ignore[untyped-decorator]
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Compute the raw scores after every round up to ``best_iteration_``.

        The rounds of several members follow each other.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores, as from `decision_function`.
        """
        return map(self._decisions, self._staged_scores(X))


@parameters
class GradientBoostingRegressor(CountsAs, RegressorMixin, FitMethods):  # type: ignore[misc]
    """Gradient boosted trees for regression.

    Trees are grown on histograms of binned features, with Newton steps on the loss. Parameters that
    scikit-learn's ``HistGradientBoostingRegressor`` has keep their meaning. Parameters that are "auto" are
    chosen from the table, and ``chosen_`` tells how; ``preset="classic"`` has scikit-learn's fixed defaults.
    Several outputs are learned by one tree per output and round.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        Loss to minimise: "squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma" or
        "tweedie". Poisson, gamma and Tweedie predict exp(raw score) and need targets of at least 0 (gamma:
        above 0). Or an instance of a subclass of `spinney.losses.Loss`.
    preset : {"auto", "classic", "strong"}, default="auto"
        Where the values of parameters that are "auto" come from: from the number of rows and the kind of
        target ("auto"), from those and with an average over members of different settings ("strong"), or
        from fixed numbers, those of scikit-learn ("classic").
    learning_rate : float or "auto", default="auto"
        Shrinkage: the factor of every leaf value. "auto" is min(0.1, exp(A ln n + B)) for n rows, with
        CatBoost's A and B: (0.247, −5.158) for two classes, (0.020, −2.364) for more, (0.157, −4.062) in
        regression; more where `n_estimators` is set to fewer than 1,000 rounds; 0.1 for fewer than 50 rows.
        Classic: 0.1.
    n_estimators : int or "auto", default="auto"
        Maximum number of rounds; `max_iter` in scikit-learn's histogram gradient boosting. "auto" is 1,500
        with early stopping and 500 without; 100 for fewer than 50 rows. Classic: 100.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves of a tree. "auto" is 31.
    max_depth : int or None, default=None
        Maximum depth of a tree.
    min_samples_leaf : int, float or "auto", default="auto"
        Minimum number of rows in a leaf, or a fraction of the rows. Rows count by weight: a row of weight 2
        is two rows. Weights with a mean below 1 are divided by their mean. "auto" is a hundredth of the rows,
        between 1 and 3 for the squared error and between 1 and 20 for other losses; at least a twentieth,
        between 5 and 10, for losses that bound the effect of outliers: "absolute_error", "huber" and
        "quantile". Classic: 20.
    l2_regularization : float or "auto", default="auto"
        λ, added to the sum of hessians of a leaf; shrinks leaf values towards 0. "auto" is 1, or
        3 for 20 to 49 rows. Classic: 0.
    max_features : int, float, "sqrt", "log2", "auto" or None, default="auto"
        Number or fraction of features drawn at every node, among those of the tree. "auto" is 0.5, or
        0.3 for 20 to 49 rows; all for fewer. Classic: 1.0, all.
    max_bins : int, default=255
        Maximum number of bins per numeric feature, from 2 to 255.
    categorical_features : array-like of names, indices or bool, or None, default=None
        Numeric columns to treat as categorical. Columns of text, bool and categorical types always are.
    monotonic_cst : array-like of -1, 0 or 1, dict by feature name, or None, default=None
        Constraint per feature: the prediction may only fall (-1), only rise (1), or is free (0).
    interaction_cst : "pairwise", "no_interactions", sequence of sets of features, or None, default=None
        Sets of features that may occur on one path of a tree. Features in no set form a set of their own.
    warm_start : bool, default=False
        Whether ``fit`` continues from the rounds of the last fit, up to `n_estimators`, with the values that
        the last fit chose. Rounds that are added to a refit model use all rows and, without an ``eval_set``,
        are not stopped early.
    early_stopping : bool or "auto", default="auto"
        Stop when the score has not improved for `n_iter_no_change` rounds. "auto" stops early if an
        ``eval_set`` is given or there are at least 50 rows. Classic: more than 10,000 rows.
    scoring : str, callable or None, default="loss"
        Score for early stopping: "loss" is the negative loss, otherwise the name of a scikit-learn scorer or
        a callable; None is ``score``.
    validation_fraction : int, float, "auto" or None, default="auto"
        Number or fraction of rows held out for early stopping; None scores the training rows. Ignored if an
        ``eval_set`` is given. "auto" is 0.2. Classic: 0.1.
    n_iter_no_change : int or "auto", default="auto"
        Number of rounds without improvement after which training stops. Predictions then use the best round,
        `best_iteration_`. "auto" is 60. Classic: 10.
    tol : float or "auto", default="auto"
        Minimum increase of the score that counts as an improvement. "auto" is 0. Classic: 1e-7.
    refit : bool or "auto", default="auto"
        After early stopping on rows that were held out, fit again from scratch on all rows, with the best
        number of rounds times the ratio of the numbers of rows, at most `n_estimators` if that is set. "auto"
        is True.
        Classic: False.
    n_members : int or "auto", default="auto"
        Number of models whose raw scores are averaged. Members of different settings, such as leaf-wise and
        symmetric trees of ``growth="mixed"``, take turns. Those of one turn share seed and validation rows,
        and a member whose validation loss exceeds the least one of its turn by more than 10 % is left out
        (by more than 30 %, its settings are not tried again). "auto" is two turns below 2,000 rows and one
        above; one turn where `growth` is set. With ``preset="strong"`` there are more settings and turns.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k rounds.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all random draws: rows, columns, rows held out, and the order of target statistics.
    growth : {"auto", "leaf-wise", "level-wise", "symmetric", "mixed"}, default="auto"
        Split the leaf with the largest gain first; grow level by level; grow symmetric (oblivious) trees, in
        which all nodes of a level share one split, as in CatBoost; or "mixed": members alternate between
        leaf-wise and symmetric trees. Symmetric trees have depth 7 if `max_depth` is None; `max_leaf_nodes`,
        `min_samples_leaf` and `min_hessian` do not apply to them, and they support no constraints. "auto" is
        "mixed"; "leaf-wise" with constraints, with `warm_start`, below 50 rows, or for the losses
        "absolute_error", "huber" and "quantile". Classic: "leaf-wise".
    random_strength : float or "auto", default="auto"
        Noise on the scores of symmetric splits, as in CatBoost. A score is the root of the sum of G²/H over
        the children, and the deviation of the noise is this value times that of the gradients; it fades when
        the sum of the learning rates of the rounds exceeds the logarithm of the number of rows. "auto" is 1
        where trees are symmetric, else 0. Classic: 0.
    splitter : {"auto", "best", "random"}, default="auto"
        Take the best threshold of a feature, or one that is drawn among those of the node, as in extra-trees
        and LightGBM's ``extra_trees``; the feature is the best one either way. "auto" is "best", but some of
        the members of ``growth="mixed"`` and of ``preset="strong"`` have "random". Classic: "best".
    min_gain : float, default=0.0
        Minimum gain of a split (γ in XGBoost).
    min_hessian : float, default=1e-3
        Minimum sum of hessians in a leaf.
    sampling : {"auto", "uniform", "goss", "mvs"}, default="auto"
        How the rows of a round are drawn: with equal probability; by gradient-based one-side sampling, which
        keeps the rows with large gradients (GOSS, Ke et al. 2017); or by minimal variance sampling (MVS,
        Ibragimov and Gusev 2019). "auto" is "mvs", and "uniform" for fewer than 50 rows. Classic: "uniform".
    subsample : float or None, default=None
        Fraction of rows drawn per round. None is 1.0 (uniform), 0.3 (GOSS) or 0.8 (MVS), and 0.7 where
        `sampling` is chosen as "mvs".
    colsample_bytree : float, default=1.0
        Fraction of columns drawn per tree.
    categorical_split : {"auto", "subset", "one-vs-rest"}, default="auto"
        Split categories into two sets, or one category from all others. "auto" is "subset".
    categorical_encoding : {"auto", "subset", "ordered"}, default="auto"
        Split categories as they are ("subset"), or encode them by ordered target statistics (Prokhorenkova et
        al. 2018): the mean target of the rows of the same category that come before in a random order. "auto"
        encodes features with more than 50 categories and fewer than 250 rows per category.
    categorical_smoothing : float or "auto", default="auto"
        Added to the hessians of a category when categories are sorted; keeps rare ones in the middle. "auto"
        is 1. Classic: 10.
    categorical_l2 : float or "auto", default="auto"
        L2 regularization of both sides of a category split, in addition to `l2_regularization`. "auto" is 1.
        Classic: 10.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.
    ledger : bool or "full", default=False
        Record one row per round in `ledger_`: losses, number of leaves and gain. "full" also records each
        feature's best split candidate at every node.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model is bit-equal for any number.
    quantile : float, list of float or None, default=None
        Quantile that ``loss="quantile"`` predicts; None is the median. A list of increasing levels makes one
        model of all of them: `predict` returns one column per quantile, sorted so that they never cross
        (Chernozhukov, Fernández-Val and Galichon 2010), and `score` is the mean D² of the pinball losses.
    huber_delta : float or None, default=None
        Residual from which on ``loss="huber"`` is linear. None takes the 0.9 quantile of the absolute
        residuals before every round, as `alpha` of scikit-learn's ``GradientBoostingRegressor``, and at most
        three times their median, so that more than 10 % of outliers are still outliers; a leaf then moves by
        at most three times delta per round.
    tweedie_power : float, default=1.5
        Power of the variance of ``loss="tweedie"``, between 1 (Poisson) and 2 (gamma).

    Attributes
    ----------
    evals_result_ : dict
        Metrics of every set of ``eval_set`` after every round, of the first member: lists by the name of the
        set and of the metric. Empty without ``eval_set``. `evals_frame` returns them as a data frame.
    schema_ : Schema
        Names, kinds and categories of the features.
    ensemble_ : TreeEnsemble
        All trees, those after `best_iteration_` included.
    loss_ : Loss
        The loss.
    base_score_ : ndarray of shape (n_trees_per_iteration_,)
        Constant that the trees are added to.
    chosen_ : dict
        Values of the parameters that were "auto", by name. After a second fit on all rows also
        "refit_rounds", its number of rounds, or a tuple of the numbers of several members.
    n_iter_ : int
        Number of rounds of the model, of all members together.
    best_iteration_ : int
        Number of rounds that predictions use: the best round with early stopping and without a second fit,
        else all. Those of several members are added up, as in `n_iter_`, so that it may exceed
        `n_estimators`; ``chosen_["refit_rounds"]`` has the number of each.
    n_trees_per_iteration_ : int
        Number of trees per round: one per output.
    do_early_stopping_ : bool
        Whether early stopping was active.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Score of the training rows before the first and after every round; empty without early stopping and
        ``eval_set``. After a second fit on all rows these are the scores of the first one, of the first
        member.
    validation_score_ : ndarray of shape (n_rounds + 1,)
        Score of the validation rows, likewise; empty without validation rows.
    statistics_ : TargetStatistics
        Target statistics of encoded categorical features; only where there are some.
    ledger_ : GradientLedger
        Record of the rounds; only if `ledger` is set.
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits of each feature up to `best_iteration_`, as fractions of the sum.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> X, y = [[float(i)] for i in range(40)], [float(i // 20) for i in range(40)]
    >>> GradientBoostingRegressor().fit(X, y).predict([[35.0]]).round(3).tolist()
    [1.0]
    """

    counts_as: ClassVar = ("sklearn.ensemble", "HistGradientBoostingRegressor")
    _task: ClassVar[Task] = "regression"
    _multi_output: ClassVar[bool] = True
    _parameter_rules = REGRESSION_RULES

    loss: str | Loss = field(default="squared_error", kw_only=False)
    quantile: float | Sequence[float] | None = None
    huber_delta: float | None = None
    tweedie_power: float = 1.5

    def _check_params(self) -> None:
        super()._check_params()
        check_loss_parameters(type(self).__name__, vars(self))

    def _make_loss(self, training: BoostingSet) -> Loss:
        loss = self._output_loss(training)
        if training.n_outputs == 1:
            return loss
        if isinstance(loss, losses.MultiQuantileLoss):
            raise InputError(
                f"Several quantiles of {training.n_outputs} outputs are not learned by one model",
                fix="Fit one model per output.",
            )
        return MultiOutputLoss(loss, training.n_outputs)

    def _output_loss(self, training: BoostingSet) -> Loss:
        """Return the loss of one output."""
        if isinstance(self.loss, Loss):
            return self.loss
        make: dict[str, Callable[[], Loss]] = {
            "squared_error": losses.SquaredLoss,
            "absolute_error": losses.AbsoluteLoss,
            "huber": lambda: self._huber_loss(training),
            "quantile": self._quantile_loss,
            "poisson": losses.PoissonLoss,
            "gamma": losses.GammaLoss,
            "tweedie": lambda: losses.TweedieLoss(float(self.tweedie_power)),
        }
        return make[self.loss]()

    def _quantile_loss(self) -> Loss:
        if self.quantile is None or isinstance(self.quantile, float | int):
            return losses.QuantileLoss(float(self.quantile or 0.5))
        return losses.MultiQuantileLoss(tuple(map(float, self.quantile)))

    def _huber_loss(self, training: BoostingSet) -> Loss:
        if self.huber_delta is None and training.n_outputs > 1:
            raise InputError(
                f'loss="huber" takes delta from the residuals; {training.n_outputs} outputs do not share it',
                fix="Set huber_delta, or fit one model per output.",
            )
        if self.huber_delta is None:
            return losses.AdaptiveHuberLoss.for_target(training.targets, training.full_weights)
        return losses.HuberLoss(float(self.huber_delta))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._multi_output
        tags.target_tags.positive_only = isinstance(self.loss, str) and self.loss in POSITIVE_LOSSES
        return tags

    # ---- outputs ----

    def _predictions(self, scores: Floats) -> Floats:
        if isinstance(self.loss_, losses.MultiQuantileLoss):
            return np.sort(scores, axis=1)
        return (self.loss_.link or losses.IDENTITY).mean(scores if scores.shape[1] > 1 else scores[:, 0])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², or the mean D² of the pinball losses of several quantiles.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Returns
        -------
        float
            1 is best; 0 is as good as the mean, or the quantiles, of y.
        """
        loss = vars(self).get("loss_")
        if not isinstance(loss, losses.MultiQuantileLoss):
            return float(super().score(X, y, sample_weight))
        from sklearn.metrics import d2_pinball_score

        columns = zip(loss.quantiles, self.predict(X).T, strict=True)
        scores = [
            d2_pinball_score(y, column, sample_weight=sample_weight, alpha=level) for level, column in columns
        ]
        return float(np.mean(scores))

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predicted values.

        Examples
        --------
        >>> from spinney import GradientBoostingRegressor
        >>> model = GradientBoostingRegressor(min_samples_leaf=1).fit([[0.0], [1.0]], [2.0, 3.0])
        >>> model.predict([[0.9]]).round(3).tolist()
        [3.0]
        """
        return self._predictions(self._raw_scores(X))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict the target of each row after every round up to ``best_iteration_``.

        The rounds of several members follow each other.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predicted values, as from `predict`.
        """
        return map(self._predictions, self._staged_scores(X))
