"""AdaBoostClassifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from spinney.adaboost import algorithms
from spinney.adaboost.algorithms import Algorithm, find_algorithm
from spinney.adaboost.base import (
    RULES,
    _BaseAdaBoost,
    in_stages,
    per_output,
    side_by_side,
)
from spinney.adaboost.members import Members, Task, flatten, predict_members
from spinney.adaboost.rounds import (
    LOSSES,
    Boosting,
    Draws,
    RegressionBoosting,
    StumpBoosting,
    weighted_median,
)
from spinney.adaboost.row_weights import replay_weights
from spinney.adaboost.stumps import FittedStumps, StumpTables
from spinney.adaboost.tree_sum import score_sum
from spinney.base import ProbabilisticClassifier, parameters
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import OneOf, draw_seed
from spinney.data.target import (
    encode_labels,
    encode_like,
    encode_values,
    has_one_output,
    read_labels,
    read_target,
)
from spinney.data.weights import check_weights
from spinney.inspect.explainable import Explainable
from spinney.io import require
from spinney.members.fitting import takes_weights
from spinney.members.tables import check_labels, count_rows
from spinney.tree.tree_sum import TreeSum
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor

Floats = NDArray[np.float64]


@parameters
class AdaBoostClassifier(Explainable, ProbabilisticClassifier, _BaseAdaBoost):
    """AdaBoost for classification: members are fitted to rows weighted by the errors of those before them.

    Parameters that scikit-learn's ``AdaBoostClassifier`` has keep their meaning and defaults.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Base estimator. None is ``DecisionTreeClassifier(max_depth=1)``, a Gini stump;
        ``DecisionTreeClassifier(criterion="error", max_depth=1)``, the stump of smallest weighted error, for
        ``algorithm="discrete"``; and ``DecisionTreeRegressor(max_depth=1)`` for ``algorithm="logit"``.
    n_estimators : int, default=50
        Maximum number of rounds.
    learning_rate : float, default=1.0
        Factor ν of the weight of every member.
    random_state : int, RandomState, Generator or None, default=None
        Seed of drawn samples, rows held out, and members that draw.
    resample : bool, default=False
        Draw rows by weight instead of fitting members to weighted rows, so that any estimator can be a
        member. A member that is no better than chance is discarded and the sample drawn again.
    warm_start : bool, default=False
        Whether ``fit`` continues from the members of the last fit, up to `n_estimators`.
    early_stopping : bool, default=False
        Hold rows out, and stop when their error has not improved for `n_iter_no_change` rounds; members after
        the best round are dropped.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for early stopping.
    n_iter_no_change : int, default=10
        Number of rounds without improvement after which boosting stops.
    tol : float, default=0.0
        Minimum decrease of the validation error that counts as an improvement.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k rounds.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The ensemble is bit-equal for any number.
    algorithm : {"samme", "discrete", "samme.r", "real", "gentle", "logit"}, default="samme"
        "samme" (Zhu et al. 2009, any number of classes) and "discrete" (Freund and Schapire 1997, two
        classes; weights are half as large) let members vote. "samme.r" (any number) and "real" (two classes)
        add the logarithms of member probabilities, "gentle" (two classes) the probabilities. "logit"
        (LogitBoost, Friedman, Hastie and Tibshirani 2000, any number) fits regressions to the working
        response of the logistic loss. "SAMME" and "SAMME.R", as scikit-learn wrote them, are the same.
    ledger : bool or "full", default=False
        Record every round in `ledger_`; "full" is the same as True.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of such arrays with several outputs
        Class labels in ascending order.
    n_classes_ : int, or list of int with several outputs
        Number of classes.
    algorithm_ : str
        Algorithm of the fit.
    estimator_ : estimator
        The base estimator.
    estimators_ : list of estimators
        Fitted members, one per round; for LogitBoost with more than two classes lists of one regression per
        class.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Weights of the members.
    estimator_errors_ : ndarray of shape (n_rounds,)
        Weighted errors of the members.
    validation_errors_ : ndarray
        Error of the held-out rows after every round, dropped rounds included; only with `early_stopping`.
    feature_importances_ : ndarray of shape (n_features,)
        Weighted mean of the importances of the members, if they have importances.
    outputs_ : list of estimators
        One fitted model per output, instead of the members, if y has several outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.
    ledger_ : RoundLedger
        Record of the rounds; only if `ledger` is set.

    Examples
    --------
    >>> from spinney.datasets import make_box
    >>> X, y = make_box()
    >>> AdaBoostClassifier(n_estimators=60).fit(X, y).score(X, y)
    1.0
    """

    _parameter_rules = RULES | {
        "algorithm": (OneOf(*algorithms.NAMES, "SAMME", "SAMME.R"),),
        "ledger": (OneOf(False, True, "full"),),
    }
    _single_attributes = ("estimators_", "estimator_weights_", "estimator_errors_", "classes_", "algorithm_")
    _state_attributes = ("classes_", "algorithm_", "ledger_")
    _transient_attributes = ("n_classes_", "_tables")

    algorithm: Literal["samme", "discrete", "samme.r", "real", "gentle", "logit", "SAMME", "SAMME.R"] = (
        "samme"
    )
    ledger: bool | Literal["full"] = False

    classes_: NDArray[Any] = field(init=False)
    _tables: StumpTables | None = field(init=False)

    # ---- fitting ----

    def _default_estimator(self) -> Any:
        if self.algorithm == "logit":
            return DecisionTreeRegressor(max_depth=1)
        # Freund and Schapire's h_t has the smallest weighted error; scikit-learn's SAMME boosts Gini stumps.
        criterion = "error" if self.algorithm == "discrete" else "gini"
        return DecisionTreeClassifier(criterion=criterion, max_depth=1)

    def _start(
        self, members: Members, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Boosting, Floats | None, dict[str, Any]]:
        seed = draw_seed(self.random_state)
        codes, classes = encode_labels(y, members.n_rows)
        weights, held_out = self._hold_out(sample_weight, members.n_rows, seed, codes)
        algorithm = find_algorithm(self.algorithm.lower(), len(classes), self.learning_rate)
        task = Task(classes[codes], codes, classes)
        member_task = _member_task(self._base_estimator(), algorithm, task)
        members.prepare(weights)
        in_core = StumpBoosting.supports(algorithm, members, self.resample)
        boosting = (StumpBoosting if in_core else Boosting)(
            algorithm,
            members,
            task,
            member_task,
            weights,
            Draws(seed, seeds_members=self.random_state is not None),
            resample=self.resample,
            keeps_ledger=bool(self.ledger),
            keeps_scores=bool(self.ledger) or held_out is not None,
        )
        return boosting, held_out, {"classes_": classes, "algorithm_": self.algorithm.lower()}

    def _check_earlier_fit(self, X: Any, fitted: Mapping[str, Any]) -> None:
        super()._check_earlier_fit(X, fitted)
        if self.algorithm.lower() != self.algorithm_ or not np.array_equal(fitted["classes_"], self.classes_):
            raise InputError(
                "warm_start=True cannot continue a fit with another algorithm or other classes",
                fix="Fit with warm_start=False.",
            )

    # ---- fitted state ----

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        if "outputs_" in fitted:
            classes = [model.classes_ for model in fitted["outputs_"]]
            return {"classes_": classes, "n_classes_": [len(labels) for labels in classes]}
        classes = fitted["classes_"]
        derived: dict[str, Any] = {"n_classes_": len(classes)}
        if "_stumps" in fitted:  # which have the tables
            return derived
        members, weights = flatten(fitted["estimators_"]), fitted["estimator_weights_"]
        algorithm = find_algorithm(fitted["algorithm_"], len(classes), self.learning_rate)
        return derived | {"_tables": StumpTables.of(members, weights, algorithm, classes)}

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if "outputs_" in vars(self):
            return
        classes = self.classes_
        check_labels(classes)
        require(self.algorithm_ in algorithms.NAMES, "the algorithm is not known")
        algorithm = self._fitted_algorithm()
        needs_regressors = algorithm.needs == "values"
        if len(classes) == 1 and needs_regressors:  # a fit ends after one round, whose responses are all 0
            trees = [getattr(member, "tree_", None) for member in self._members()]
            valid = len(trees) == 1 and (trees[0] is None or not trees[0].value.any())
            require(valid, "the responses of a single class are not 0")
        n_per_round = algorithm.n_regressions if isinstance(algorithm, algorithms.Logit) else 1
        valid = len(self._members()) == n_per_round * len(self.estimators_)
        require(valid, f"there are not {n_per_round} members in each round")
        for member in self._members():
            known = getattr(member, "classes_", classes)
            is_valid = is_regressor(member) or not needs_regressors
            require(is_valid and set(known.tolist()) <= set(classes.tolist()), "a member has other classes")

    def tree_sum(self) -> TreeSum:
        """Return the decision function as a sum of trees, as explanations read it.

        Returns
        -------
        TreeSum
            The trees, with what each of their nodes adds.
        """
        algorithm, weights = self._fitted_algorithm(), self.estimator_weights_
        name = type(self).__name__
        return score_sum(self._members(), weights, algorithm, self.classes_, name, self.n_jobs)

    # ---- prediction ----

    def _fitted_algorithm(self) -> Algorithm:
        check_is_fitted(self)
        self._require_one_output()
        return find_algorithm(self.algorithm_, len(self.classes_), self.learning_rate)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Yield the scores after each round."""
        algorithm, scores = self._fitted_algorithm(), None
        for weight, output in self._round_outputs(X):
            contribution = algorithm.contribution(output, weight)
            scores = contribution if scores is None else scores + contribution
            yield scores

    def _round_outputs(self, X: Any) -> Iterator[tuple[float, Floats]]:
        """Yield the weight of each round's member, and its output for every row."""
        algorithm = self._fitted_algorithm()
        self._check_rows(X)
        members = self._members()
        outputs = predict_members(members, X, algorithm.needs, self.classes_, self._threads())
        n_per_round = len(members) // len(self.estimators_)
        for weight in self.estimator_weights_.tolist():
            output = next(outputs)
            if algorithm.needs == "values":
                output = np.stack([output, *(next(outputs) for _ in range(n_per_round - 1))], axis=1)
            yield weight, output

    def _scores(self, X: Any) -> Floats:
        stumps: FittedStumps | None = vars(self).get("_stumps")
        try:
            tables = self._tables if stumps is None else stumps.tables
        except AttributeError:
            check_is_fitted(self)
            raise
        if tables is not None:
            return tables.scores(X, self._threads(), type(self).__name__)
        for scores in self._staged_scores(X):
            last = scores
        return last

    def _labels(self, scores: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_.take(algorithms.choose_class(scores))
        return labels

    def _decisions(self, scores: Floats, n_rounds: int | None = None) -> Floats:
        return self._fitted_algorithm().decisions(scores, self.estimator_weights_[:n_rounds])

    def _decisive_scores(self, X: Any) -> Floats:
        """Return the scores that decide on classes: those of a subclass's own ``decision_function``."""
        owner = next(cls for cls in type(self).__mro__ if "decision_function" in vars(cls))
        if owner is AdaBoostClassifier:
            return self._scores(X)
        scale = self._fitted_algorithm().decision_scale(self.estimator_weights_)
        return np.asarray(self.decision_function(X) / scale)

    def _probabilities(self, scores: Floats) -> Floats:
        return algorithms.probabilities(scores, len(self.classes_))

    @per_output(side_by_side)
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
        """
        return self._labels(self._decisive_scores(X))

    @available_if(has_one_output)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Compute the score of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            With ``algorithm="samme"`` scikit-learn's: the difference of the votes' shares of the second and
            the first class, times 2, from −2 to 2; with more than two classes one score per class, from
            −1/(K − 1) to 1. With the other algorithms F, half the log-odds of the second class, or centred
            scores per class. Models of several outputs do not have this method.
        """
        return self._decisions(self._scores(X))

    @per_output(list)
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays with several outputs
            1/(1 + exp(−2F)) for the second of two classes, or softmax of the scores.
        """
        return self._probabilities(self._decisive_scores(X))

    @per_output(in_stages(side_by_side))
    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict the class of each row after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels.
        """
        return map(self._labels, self._staged_scores(X))

    @available_if(has_one_output)  # type: ignore[untyped-decorator]
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Compute the scores after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Scores, as from `decision_function`.
        """
        for n_rounds, scores in enumerate(self._staged_scores(X), start=1):
            yield self._decisions(scores, n_rounds)

    @per_output(in_stages(list))
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Predict the class probabilities after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        return map(self._probabilities, self._staged_scores(X))

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Compute the accuracy after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Yields
        ------
        float
            Accuracy.
        """
        from sklearn.metrics import accuracy_score

        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def margins(self, X: Any, y: Any) -> Floats:
        """Compute the margin of each row: the lead of the true class over the best other class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Class labels.

        Returns
        -------
        ndarray of shape (n_rows,)
            Negative for misclassified rows. Where members vote ("samme", "discrete") it is the difference of
            the proportions of the votes, from −1 to 1; for other algorithms the difference of the scores.

        Examples
        --------
        >>> from spinney.datasets import load_xor
        >>> X, y = load_xor()
        >>> AdaBoostClassifier(n_estimators=3).fit(X, y).margins(X, y).round(2).tolist()
        [0.1, 1.0, 0.55, 0.34]
        """
        for margins in self.staged_margins(X, y):
            last = margins
        return last

    def staged_row_weights(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[Floats]:
        """Compute the weights of the training rows at the beginning of every round.

        They are computed again from the members. Rows that early stopping held out count as training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features, as passed to ``fit``.
        y : array-like of shape (n_rows,)
            Class labels, as passed to ``fit``.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights, as passed to ``fit``.

        Yields
        ------
        ndarray of shape (n_rows,)
            Weights with sum 1; (n_rows, n_classes) for LogitBoost with more than two classes.

        Examples
        --------
        >>> from spinney import AdaBoostClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 0]
        >>> model = AdaBoostClassifier(n_estimators=2).fit(X, y)
        >>> [weights.round(2).tolist() for weights in model.staged_row_weights(X, y)]
        [[0.25, 0.25, 0.25, 0.25], [0.17, 0.5, 0.17, 0.17]]
        """
        codes = self._class_codes(X, y)
        given = None if sample_weight is None else check_weights(sample_weight, len(codes))
        initial = np.ones(len(codes)) if given is None else given
        return replay_weights(self._fitted_algorithm(), initial, codes, self._round_outputs(X))

    def staged_margins(self, X: Any, y: Any) -> Iterator[Floats]:
        """Compute the margins after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Class labels.

        Yields
        ------
        ndarray of shape (n_rows,)
            Margins, as from `margins`.
        """
        algorithm = self._fitted_algorithm()
        codes = self._class_codes(X, y)
        total = 0.0
        for scores, weight in zip(self._staged_scores(X), self.estimator_weights_.tolist(), strict=True):
            total += algorithm.max_margin(weight)
            yield algorithms.score_margin(scores, codes) / (total or 1.0)

    def _class_codes(self, X: Any, y: Any) -> NDArray[np.int32]:
        """Return the code of the class of each row; raise InputError for other labels."""
        check_is_fitted(self)
        labels = read_target(y, count_rows(X))
        codes = encode_like(labels, [self.classes_])[:, 0]
        if (codes < 0).any():
            row = int(np.argmin(codes))
            raise InputError(
                f"y contains {show_value(labels.tolist()[row])}, which is none of the classes", row=row
            )
        return codes


@parameters
class AdaBoostRegressor(RegressorMixin, _BaseAdaBoost):  # type: ignore[misc]
    """AdaBoost.R2 for regression: the weighted median of the predictions of many members (Drucker 1997).

    Parameters that scikit-learn's ``AdaBoostRegressor`` has keep their meaning and defaults.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Base estimator. None is ``DecisionTreeRegressor(max_depth=3)``.
    n_estimators : int, default=50
        Maximum number of rounds.
    learning_rate : float, default=1.0
        Factor ν of the weight of every member.
    random_state : int, RandomState, Generator or None, default=None
        Seed of drawn samples, rows held out, and members that draw.
    resample : bool, default=False
        Draw rows by weight, as scikit-learn does, instead of fitting members to weighted rows. Members that
        do not support sample weights are always fitted to drawn rows.
    warm_start : bool, default=False
        Whether ``fit`` continues from the members of the last fit, up to `n_estimators`.
    early_stopping : bool, default=False
        Hold rows out, and stop when their mean absolute error has not improved for `n_iter_no_change` rounds;
        members after the best round are dropped.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for early stopping.
    n_iter_no_change : int, default=10
        Number of rounds without improvement after which boosting stops.
    tol : float, default=0.0
        Minimum decrease of the validation error that counts as an improvement.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k rounds.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The ensemble is bit-equal for any number.
    loss : {"linear", "square", "exponential"}, default="linear"
        Loss of a row as a function of its absolute error, divided by the largest error of the round.

    Attributes
    ----------
    estimator_ : estimator
        The base estimator.
    estimators_ : list of estimators
        Fitted members, one per round.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Weights of the members.
    estimator_errors_ : ndarray of shape (n_rounds,)
        Weighted mean losses of the members.
    validation_errors_ : ndarray
        Error of the held-out rows after every round, dropped rounds included; only with `early_stopping`.
    feature_importances_ : ndarray of shape (n_features,)
        Weighted mean of the importances of the members, if they have importances.
    outputs_ : list of estimators
        One fitted model per output, instead of the members, if y has several outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> AdaBoostRegressor().fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.95
    True
    """

    _parameter_rules = RULES | {"loss": (OneOf(*LOSSES),)}

    loss: Literal["linear", "square", "exponential"] = "linear"

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def _resamples(self) -> bool:
        return self.resample or not takes_weights(self._base_estimator())

    def _start(
        self, members: Members, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[RegressionBoosting, Floats | None, dict[str, Any]]:
        estimator, seed = self._base_estimator(), draw_seed(self.random_state)
        if is_classifier(estimator):
            raise InputError(f"The estimator {type(estimator).__name__} is not a regressor.")
        values = encode_values(read_labels(y, members.n_rows), non_negative=False)
        weights, held_out = self._hold_out(sample_weight, members.n_rows, seed)
        members.prepare(weights)
        boosting = RegressionBoosting(
            members,
            values[:, 0],
            weights,
            Draws(seed, seeds_members=self.random_state is not None),
            loss=self.loss,
            learning_rate=self.learning_rate,
            resample=self._resamples(),
            keeps_predictions=self.early_stopping,
        )
        return boosting, held_out, {}

    def _check_fitted(self) -> None:
        super()._check_fitted()
        members = vars(self).get("estimators_", [])
        require(not any(map(is_classifier, members)), "a member is not a regressor")

    # ---- prediction ----

    def _member_predictions(self, X: Any) -> Floats:
        """Return the predictions of all members.  -> (n_rows, n_members)"""
        self._check_rows(X)
        return np.stack(list(predict_members(self.estimators_, X, "values", None, self._threads())), axis=1)

    @per_output(side_by_side)
    def predict(self, X: Any) -> Floats:
        """Predict the target of each row by the weighted median of the members.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predicted values.
        """
        return weighted_median(self._member_predictions(X), self.estimator_weights_)

    @per_output(in_stages(side_by_side))
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict the target of each row after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predicted values.
        """
        predictions = self._member_predictions(X)
        for n in range(1, len(self.estimators_) + 1):
            yield weighted_median(predictions[:, :n], self.estimator_weights_[:n])

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Compute the coefficient of determination after every round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Target values.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Yields
        ------
        float
            R².
        """
        from sklearn.metrics import r2_score

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))


def _member_task(estimator: Any, algorithm: Algorithm, task: Task) -> Task:
    """Return what members learn, labels or ±1; raise InputError for an estimator of the wrong kind."""
    name = type(estimator).__name__
    if algorithm.needs == "values" and not is_regressor(estimator):
        raise InputError(
            f'algorithm="logit" fits regressions, but {name} is not a regressor',
            fix="Use an estimator such as DecisionTreeRegressor(max_depth=1).",
        )
    if isinstance(algorithm, algorithms.Gentle) and is_regressor(estimator):
        assert task.codes is not None
        return Task(np.where(task.codes == 1, 1.0, -1.0))
    if algorithm.needs != "values" and is_regressor(estimator):
        raise InputError(
            f"The estimator {name} is not a classifier, which this algorithm needs",
            fix="Use an estimator such as DecisionTreeClassifier(max_depth=1).",
        )
    if algorithm.needs == "probabilities" and not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"The estimator {name} does not predict probabilities, which this algorithm needs",
            fix='Use algorithm="samme", for which classes are enough.',
        )
    return task
