"""GradientBoostingRanker: gradient boosted trees that rank rows, LambdaMART."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.base import parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, OneOf, Real, Rule
from spinney.data.queries import Queries
from spinney.data.schema import memory_for
from spinney.data.training_set import Task
from spinney.gradient_boosting.base import _BaseGradientBoosting
from spinney.gradient_boosting.callbacks import Callback
from spinney.gradient_boosting.evaluation import EvalSet
from spinney.gradient_boosting.parameters import RULES
from spinney.gradient_boosting.ranking import RankedValidation, RankingScorer, RankingSet
from spinney.gradient_boosting.rounds import Scorer
from spinney.gradient_boosting.training_set import BoostingSet, QueryArguments, ValidationRows
from spinney.losses.losses import Loss
from spinney.losses.ranking import GAINS, RANKING_LOSSES, RankingLoss
from spinney.metrics import ndcg

Floats = NDArray[np.float64]

_RULES: dict[str, tuple[Rule, ...]] = RULES | {
    "loss": (OneOf(*RANKING_LOSSES),),
    "scoring": (NONE, OneOf("ndcg", "map")),
    "k": (NONE, Integer(1)),
    "gain": (OneOf(*GAINS),),
    "sigma": (Real(0.0, open_ends="("),),
    "truncation_level": (OneOf("auto"), NONE, Integer(1)),
    "normalize": (FLAG,),
}
# Pairs that have one row among so many first ones, as in LightGBM.
_TRUNCATION_LEVEL = 30
# Early stopping is not chosen with fewer queries than this.
_MIN_QUERIES = 10


@parameters
class GradientBoostingRanker(_BaseGradientBoosting):
    """Gradient boosted trees that rank the rows of queries: LambdaMART (Burges 2010).

    A query is a list of rows, such as the pages found for a search, and y is their relevance. The model
    gives every row a score; rows of a query with higher scores come first. Parameters that are "auto" are
    chosen from the table, and ``chosen_`` tells how.

    Parameters
    ----------
    loss : {"ndcg", "map", "pairwise", "xendcg"}, default="ndcg"
        What is optimised: LambdaMART with the change of the NDCG, or of the average precision (y is 0 or 1),
        by swapping two rows; the logistic loss of all pairs (RankNet, Burges et al. 2005); or the cross
        entropy XE-NDCG (Bruch et al. 2020).
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
        is two rows. Weights below 1 on average are taken relative to their mean. "auto" is a hundredth of the
        rows, between 1 and 20. Classic: 20.
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
        Constraint per feature: the score may only fall (-1), only rise (1), or is free (0).
    interaction_cst : "pairwise", "no_interactions", sequence of sets of features, or None, default=None
        Sets of features that may occur on one path of a tree. Features in no set form a set of their own.
    warm_start : bool, default=False
        Whether ``fit`` continues from the rounds of the last fit, up to `n_estimators`, with the values that
        the last fit chose. Rounds that are added to a refit model use all rows and, without an ``eval_set``,
        are not stopped early.
    early_stopping : bool or "auto", default="auto"
        Stop when the score has not improved for `n_iter_no_change` rounds. "auto" stops early if an
        ``eval_set`` is given, or there are at least 50 rows and 10 queries. Classic: more than 10,000 rows.
    scoring : {"ndcg", "map"} or None, default="ndcg"
        Score for early stopping: the mean NDCG at `k` or the mean average precision at `k` of the validation
        queries; None is "ndcg", which is ``score``.
    validation_fraction : int, float, "auto" or None, default="auto"
        Number or fraction of queries held out for early stopping; None scores the training rows. Ignored if
        an ``eval_set`` is given. "auto" is 0.2. Classic: 0.1.
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
        "mixed"; "leaf-wise" with constraints, with `warm_start`, or below 50 rows. Classic:
        "leaf-wise".
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
    k : int or None, default=10
        Number of first rows of a query that ``score`` and early stopping look at; None is all.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of relevance y in the NDCG: 2^y − 1 for integers from 0 to 30, or y for any numbers of at least
        0.
    sigma : float, default=1.0
        Steepness of the logistic function of the difference of two scores.
    truncation_level : int, "auto" or None, default="auto"
        Pairs of rows are compared if one of them is among so many first rows by score. "auto" is 30 for the
        losses "ndcg" and "map", and all for "pairwise".
    normalize : bool, default=True
        Whether the weight of a pair is divided by the difference of the scores (not in "pairwise"), and the
        gradients of a query are divided by S / log2(1 + S), where S is the sum of their sizes, as in
        LightGBM.

    Attributes
    ----------
    evals_result_ : dict
        Score of the ``eval_set`` after every round, of the first member: lists by the name of the set,
        validation_0, and of the score. Empty without ``eval_set``. `evals_frame` returns them as a data
        frame.
    schema_ : Schema
        Names, kinds and categories of the features.
    ensemble_ : TreeEnsemble
        All trees, those after `best_iteration_` included.
    loss_ : RankingLoss
        The loss.
    base_score_ : ndarray of shape (n_trees_per_iteration_,)
        Constant that the trees are added to, 0.
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
        Number of trees per round.
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
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> y = np.clip(np.round(X[:, 0] + 1), 0, 4)
    >>> model = GradientBoostingRanker(n_estimators=50).fit(X, y, group=[10] * 100)
    >>> round(model.score(X, y, group=[10] * 100), 2)
    1.0
    """

    _task: ClassVar[Task] = "regression"
    _parameter_rules = _RULES

    loss: Literal["ndcg", "map", "pairwise", "xendcg"] = field(default="ndcg", kw_only=False)
    scoring: str | Callable[..., float] | None = "ndcg"
    k: int | None = 10
    gain: Literal["exponential", "linear"] = "exponential"
    sigma: float = 1.0
    truncation_level: int | Literal["auto"] | None = "auto"
    normalize: bool = True

    # ---- fitting ----

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        eval_set: EvalSet | None = None,
        eval_group: ArrayLike | None = None,
        eval_qid: ArrayLike | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
    ) -> Self:
        """Fit the model; with ``warm_start`` add rounds to the ones of the last fit.

        With ``refit`` there are two passes: rounds with early stopping on a part of the queries, then as many
        as were best, on all queries.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinnedDataset of shape (n_rows, n_features)
            Features. Missing values and columns of text are allowed.
        y : array-like of shape (n_rows,) or None, default=None
            Relevance of the rows, at least 0; integers with ``gain="exponential"``. None if X is a
            `BinnedDataset`, which has its own target and groups.
        sample_weight : array-like of shape (n_rows,) or (n_queries,) or None, default=None
            Weights of the rows, which multiply their gradients, or one weight per query, in the order in
            which queries first occur. Rows of weight 0 are ignored.
        group : array-like of shape (n_queries,) or None, default=None
            Number of rows of each query; the rows of a query are consecutive.
        qid : array-like of shape (n_rows,) or None, default=None
            Query of each row, numbers or text, in any order. Without `group` and `qid` all rows are one
            query.
        init_score : array-like of shape (n_rows,) or None, default=None
            Raw score that each row starts from.
        eval_set : tuple, list of tuples or None, default=None
            Validation rows: (X, y), (X, y, sample_weight) or (X, y, sample_weight, init_score), or several
            such sets, of which the last is for early stopping. They replace ``validation_fraction``.
        eval_group : array-like of shape (n_eval_queries,), list of such arrays or None, default=None
            Number of rows of each query of the ``eval_set``, or of each of its sets.
        eval_qid : array-like of shape (n_eval_rows,), list of such arrays or None, default=None
            Query of each row of the ``eval_set``, or of each of its sets.
        callbacks : callable or sequence of callables or None, default=None
            Called with a `Round` after every round. Training stops if one of them returns True.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> from spinney import GradientBoostingRanker
        >>> X, y = [[0.0], [1.0], [2.0], [1.5]] * 10, [0, 1, 2, 1] * 10
        >>> model = GradientBoostingRanker(min_samples_leaf=1).fit(X, y, group=[4] * 10)
        >>> model.predict([[0.0], [2.0]]).argmax()
        np.int64(1)
        """
        warm = self.warm_start and hasattr(self, "ensemble_")
        queries = QueryArguments(group, qid, eval_group, eval_qid)
        with memory_for(X):
            return self._fit(X, y, sample_weight, init_score, eval_set, callbacks, warm, queries=queries)

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        eval_set: EvalSet | None = None,
        eval_group: ArrayLike | None = None,
        eval_qid: ArrayLike | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
    ) -> Self:
        """Resume training from a `Checkpoint`; the result is bit-equal to an uninterrupted fit.

        Parameters
        ----------
        path : str or path-like
            File of the checkpoint.
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features, as passed to ``fit``.
        y : array-like of shape (n_rows,)
            Relevance, as passed to ``fit``.
        sample_weight : array-like of shape (n_rows,) or (n_queries,) or None, default=None
            Weights, as passed to ``fit``.
        group : array-like of shape (n_queries,) or None, default=None
            Number of rows of each query, as passed to ``fit``.
        qid : array-like of shape (n_rows,) or None, default=None
            Query of each row, as passed to ``fit``.
        init_score : array-like of shape (n_rows,) or None, default=None
            Initial raw scores, as passed to ``fit``.
        eval_set : tuple, list of tuples or None, default=None
            Validation rows, as passed to ``fit``.
        eval_group : array-like of shape (n_eval_queries,), list of such arrays or None, default=None
            Number of rows of each query of the ``eval_set``, as passed to ``fit``.
        eval_qid : array-like of shape (n_eval_rows,), list of such arrays or None, default=None
            Query of each row of the ``eval_set``, as passed to ``fit``.
        callbacks : callable or sequence of callables or None, default=None
            Callbacks of the remaining rounds.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> GradientBoostingRanker.resume("run.spinney", X, y, qid=qid)  # doctest: +SKIP
        """
        queries = QueryArguments(group, qid, eval_group, eval_qid)
        model = cls._load_checkpoint(path)
        with memory_for(X):
            return cls._fit(model, X, y, sample_weight, init_score, eval_set, callbacks, True, path, queries)

    def _make_loss(self, training: BoostingSet) -> Loss:
        n_top = self.truncation_level
        if isinstance(n_top, str):  # "auto"
            n_top = None if self.loss == "pairwise" else _TRUNCATION_LEVEL
        return RankingLoss(self.loss, self.gain, float(self.sigma), int(n_top or 0), bool(self.normalize))

    def _has_score(self, training: BoostingSet) -> bool:
        assert isinstance(training, RankingSet)
        return training.queries.n_queries >= _MIN_QUERIES

    def _make_scorer(self, training: BoostingSet) -> Scorer:
        return RankingScorer("map" if self.scoring == "map" else "ndcg", self.k)

    def _read_training_set(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        init_score: ArrayLike | None,
        warm: bool,
        queries: QueryArguments | None,
    ) -> BoostingSet:
        training = super()._read_training_set(X, y, None, init_score, warm, queries)
        given = queries or QueryArguments()
        dataset = training.table.dataset
        if dataset is not None and dataset.group is not None:
            if given.group is not None or given.qid is not None:
                raise InputError("The dataset has its own groups", fix="Leave out group and qid.")
            given = given._replace(qid=dataset.group)
        if dataset is not None and sample_weight is not None:
            raise InputError(
                "Weights of a dataset are its own", fix="Pass sample_weight to BinnedDataset.build."
            )
        read = Queries.read(training.n_rows, given.group, given.qid)
        return RankingSet.make(training, read, sample_weight)

    def _read_eval_set(
        self, eval_set: EvalSet, training: BoostingSet, queries: QueryArguments
    ) -> ValidationRows:
        rows = super()._read_eval_set(eval_set, training, queries)
        read = Queries.read(rows.table.n_rows, queries.eval_group, queries.eval_qid, of="eval_")
        assert isinstance(training.loss, RankingLoss)
        return RankedValidation.make(rows, read, training.loss)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags

    # ---- outputs ----

    def predict(self, X: Any) -> Floats:
        """Predict the score of each row; within a query, rows with higher scores are ranked first.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores. They can be compared within a query only.
        """
        return self._raw_scores(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict the score of each row after every round up to ``best_iteration_``.

        The rounds of several members follow each other.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,)
            Scores, as from `predict`.
        """
        return (scores[:, 0] for scores in self._staged_scores(X))

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> float:
        """Compute the mean NDCG at `k` over queries, see `spinney.metrics.ndcg`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Relevance of the rows.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights: a query weighs the mean of its rows.
        group : array-like of shape (n_queries,) or None, default=None
            Number of rows of each query; the rows of a query are consecutive.
        qid : array-like of shape (n_rows,) or None, default=None
            Query of each row, in any order. Without `group` and `qid` all rows are one query.

        Returns
        -------
        float
            The mean NDCG.
        """
        scores, rows = self.predict(X), {"group": group, "qid": qid, "sample_weight": sample_weight}
        return ndcg(y, scores, k=self.k, gain=self.gain, **rows)
