"""AdaBoostClassifier: members that vote, each trained on what those before it got wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, is_classifier, is_regressor
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from spinney.adaboost import algorithms
from spinney.adaboost.algorithms import Algorithm, find_algorithm
from spinney.adaboost.base import RULES, _BaseAdaBoost
from spinney.adaboost.ledger import RoundLedger
from spinney.adaboost.members import Task, members_of, open_members, outputs, share_schema
from spinney.adaboost.rounds import Boosting, Draws, Watch
from spinney.adaboost.state import require
from spinney.adaboost.stumps import StumpBoosting, StumpTables
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import OneOf, check_parameters, draw_seed
from spinney.core.progress import Progress
from spinney.data.target import encode_like, read_target
from spinney.data.weights import check_weights
from spinney.members.tables import check_input, count_rows, describe_input, encode_labels
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor

Stage = NDArray[np.float64]


class AdaBoostClassifier(ClassifierMixin, _BaseAdaBoost):  # type: ignore[misc]
    """Classify by many weak members, each fitted to the rows weighted by how wrong those before it were.

    The parameters of scikit-learn's ``AdaBoostClassifier`` come first, with their meaning and defaults;
    members are then Spinney's stumps, ``DecisionTreeClassifier(max_depth=1)``. Beyond them:

    algorithm : "samme", "discrete", "samme.r", "real", "gentle" or "logit"
        "samme" (any number of classes) and "discrete" (two; α is half as large) let members vote. "samme.r"
        and, for two classes, "real" add up the logarithms of their probabilities, "gentle" (two classes) the
        probabilities; "logit" (any number) fits regressions to the working response of the logistic loss,
        by default ``DecisionTreeRegressor(max_depth=1)``.
    resample : bool
        Draw rows by their weight instead of fitting to weighted rows; any estimator can then be a member. One
        no better than chance is discarded and the sample drawn again.
    warm_start : bool
        Go on from the members of the last fit, up to ``n_estimators``.
    validation_fraction, n_iter_no_change, tol : float, int or None, float
        Hold this part of the rows out, and stop when the error on them has not fallen by more than ``tol``
        for so many rounds; the members after the best round are dropped. None: use all rows, never stop.
    ledger : bool
        Record every round in ``ledger_``.
    verbose : bool
        Show progress on standard error.
    n_jobs : int or None
        Number of threads. The fitted ensemble is the same for any number.

    Attributes: ``estimators_`` (in "logit" with more than two classes a list of regressions a round),
    ``estimator_weights_``, ``estimator_errors_``, ``classes_``, ``n_classes_``, ``feature_importances_``,
    ``validation_errors_`` when rows were held out, ``ledger_``.

    >>> from spinney.datasets import make_box
    >>> X, y = make_box()
    >>> AdaBoostClassifier(n_estimators=60).fit(X, y).score(X, y)
    1.0
    """

    _parameter_rules = RULES | {
        "algorithm": (OneOf(*algorithms.NAMES),),
        "ledger": (OneOf(False, True, "full"),),
    }
    _state_attributes = ("classes_", "ledger_", "algorithm_")
    _transient_attributes = ("n_classes_", "_tables")
    _required_attributes = ("classes_", "algorithm_")

    classes_: NDArray[Any]
    n_classes_: int
    ledger_: RoundLedger
    algorithm_: str
    _tables: StumpTables | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        algorithm: Literal["samme", "discrete", "samme.r", "real", "gentle", "logit"] = "samme",
        random_state: Any = None,
        resample: bool = False,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        ledger: bool | Literal["full"] = False,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.random_state = random_state
        self.resample = resample
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ledger = ledger
        self.verbose = verbose
        self.n_jobs = n_jobs

    # ---- fitting ----

    def _default_estimator(self) -> Any:
        tree = DecisionTreeRegressor if self.algorithm == "logit" else DecisionTreeClassifier
        return tree(max_depth=1)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble to rows X (n_rows, n_features) and labels y (n_rows,).

        X may be anything that the members take; for Spinney's trees that is an array, a sparse matrix or a
        data frame, missing values and text included. Rows count by ``sample_weight``.

        >>> from spinney import AdaBoostClassifier
        >>> AdaBoostClassifier().fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2]]).tolist()
        ['a']
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        earlier = self._earlier()
        boosting, held = self._open(X, y, sample_weight)
        if earlier:
            self._go_on_from(boosting, X)
        watch = Watch(self.n_iter_no_change, self.tol) if self.early_stopping else None
        self._make_rounds(boosting, held, watch)
        return self._adopt(self._fitted(boosting, X, watch))

    def _open(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Boosting, NDArray[np.float64] | None]:
        """Read everything that is given; also give the weight of the rows held out, None if none are."""
        estimator, seed = self._pattern(), draw_seed(self.random_state)
        members = open_members(estimator, X, self.resample, self._threads())
        codes, classes = encode_labels(y, members.n_rows)
        given = check_weights(sample_weight, members.n_rows)
        weights, held = self._split(given, members.n_rows, seed, codes)
        algorithm = find_algorithm(self.algorithm, len(classes), self.learning_rate)
        task = Task(classes[codes], codes, classes)
        member_task = _member_task(estimator, algorithm, task)
        members.prepare(weights)
        draws = Draws(seed, seeds_members=self.random_state is not None)
        kind = StumpBoosting if StumpBoosting.takes(algorithm, members, self.resample) else Boosting
        boosting = kind(
            algorithm,
            members,
            task,
            member_task,
            weights,
            draws,
            resample=self.resample,
            keeps_ledger=bool(self.ledger),
            keeps_scores=bool(self.ledger) or held is not None,
        )
        return boosting, held

    def _go_on_from(self, boosting: Boosting, X: Any) -> None:
        check_input(self, X)
        classes = boosting.task.classes
        assert classes is not None
        if self.algorithm != self.algorithm_ or not np.array_equal(classes, self.classes_):
            raise InputError(
                "warm_start=True goes on from a fit with another algorithm or other classes",
                fix="Fit with warm_start=False.",
            )
        boosting.replay(
            list(self.estimators_), self.estimator_weights_.tolist(), self.estimator_errors_.tolist()
        )

    def _make_rounds(self, boosting: Boosting, held: NDArray[np.float64] | None, watch: Watch | None) -> None:
        done = boosting.is_complete()
        with Progress(self.verbose, type(self).__name__, self.n_estimators) as progress:
            while not done and len(boosting.estimators) < self.n_estimators:
                before = len(boosting.estimators)
                done = not boosting.step()
                n_done = len(boosting.estimators)
                progress.report(n_done, f"round {n_done}, error {boosting.estimator_errors[-1]:.4f}")
                if watch is not None and held is not None and len(boosting.estimators) > before:
                    done |= watch.stops(boosting.error_on(held))

    def _fitted(self, boosting: Boosting, X: Any, watch: Watch | None) -> dict[str, Any]:
        """Give the fitted attributes; of an ensemble that was watched, up to its best round."""
        n = len(boosting.estimators)
        if watch is not None:
            n += watch.best_round - len(watch.errors)
        classes = boosting.task.classes
        assert classes is not None
        fitted: dict[str, Any] = {
            "estimator_": self._pattern(),
            "estimators_": boosting.estimators[:n],
            "estimator_weights_": np.array(boosting.estimator_weights[:n]),
            "estimator_errors_": np.array(boosting.estimator_errors[:n]),
            "classes_": classes,
            "n_classes_": len(classes),
            "algorithm_": self.algorithm,
        }
        if watch is not None:
            fitted["validation_errors_"] = np.array(watch.errors)
        if self.ledger:
            fitted["ledger_"] = RoundLedger.from_rows(boosting.ledger[:n])
        members, weights = fitted["estimators_"], fitted["estimator_weights_"]
        share_schema(members_of(members))
        fitted["_tables"] = StumpTables.of(members, weights, boosting.algorithm, classes)
        return fitted | describe_input(X)

    # ---- prediction ----

    def _fitted_algorithm(self) -> Algorithm:
        check_is_fitted(self)
        return find_algorithm(self.algorithm_, len(self.classes_), self.learning_rate)

    def _stages(self, X: Any) -> Iterator[Stage]:
        """Give the score after each round."""
        algorithm = self._fitted_algorithm()
        self._check_rows(X)
        members = self._members()
        answers = outputs(members, X, algorithm.needs, self.classes_, self._threads())
        several = len(members) // len(self.estimators_)
        scores: Stage | None = None
        for weight in self.estimator_weights_.tolist():
            output = next(answers)
            if algorithm.needs == "values":
                output = np.stack([output, *(next(answers) for _ in range(several - 1))], axis=1)
            contribution = algorithm.contribution(output, weight)
            scores = contribution if scores is None else scores + contribution
            yield scores

    def _scores(self, X: Any) -> Stage:
        check_is_fitted(self)
        if self._tables is not None:
            return self._tables.scores(X, self._threads(), type(self).__name__)
        for scores in self._stages(X):
            last = scores
        return last

    def _words(self, scores: Stage) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_.take(algorithms.choose_class(scores))
        return labels

    def _decision(self, scores: Stage) -> NDArray[np.float64]:
        return scores if scores.ndim == 1 else scores - scores.mean(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.  -> (n_rows,)"""
        return self._words(self._scores(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the score of each row: F, half the log-odds of the second class, or one number a class.

        -> (n_rows,), with more than two classes (n_rows, n_classes), each row adding up to 0
        """
        return self._decision(self._scores(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class: 1/(1 + exp(−2F)), or softmax of the scores.

        -> (n_rows, n_classes)
        """
        return algorithms.probabilities(self._scores(X), len(self.classes_))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the logarithm of ``predict_proba``, −inf where that is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Give the predictions after each round."""
        return (self._words(scores) for scores in self._stages(X))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Give the scores after each round."""
        return (self._decision(scores) for scores in self._stages(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Give the probabilities after each round."""
        return (algorithms.probabilities(scores, len(self.classes_)) for scores in self._stages(X))

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Give the accuracy after each round."""
        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def margins(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Give each row's margin: by how much its own class leads the best other.  -> (n_rows,)

        Where members vote ("samme", "discrete") it is the share of the votes by weight, from −1 to 1; in the
        other algorithms the lead in score, which has no limits. Below 0 the row is misclassified.

        >>> from spinney.datasets import load_xor
        >>> X, y = load_xor()
        >>> AdaBoostClassifier(n_estimators=3).fit(X, y).margins(X, y).round(2).tolist()
        [0.1, 1.0, 0.55, 0.34]
        """
        for margins in self.staged_margins(X, y):
            last = margins
        return last

    def staged_margins(self, X: Any, y: Any) -> Iterator[NDArray[np.float64]]:
        """Give the margins after each round, the distribution that boosting pushes to the right."""
        check_is_fitted(self)
        algorithm = self._fitted_algorithm()
        labels = read_target(y, count_rows(X))
        codes = encode_like(labels, [self.classes_])[:, 0]
        if (codes < 0).any():
            row = int(np.argmin(codes))
            raise InputError(
                f"y has a label that is none of the classes: {show_value(labels.tolist()[row])}", row=row
            )
        total = 0.0
        for scores, weight in zip(self._stages(X), self.estimator_weights_.tolist(), strict=True):
            total += algorithm.most(weight)
            yield algorithms.score_margin(scores, codes) / (total or 1.0)

    # ---- its file ----

    def _check_state(self) -> None:
        super()._check_state()
        if not hasattr(self, "estimators_"):
            return
        classes = self.classes_
        require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0, "no classes")
        require(len(set(classes.tolist())) == len(classes), "a class is listed twice")
        require(self.algorithm_ in algorithms.NAMES, "its algorithm has another name")
        algorithm = self._fitted_algorithm()
        for member in self._members():
            of_kind = is_regressor(member) if algorithm.needs == "values" else True
            known = getattr(member, "classes_", classes)
            require(of_kind and set(known.tolist()) <= set(classes.tolist()), "a member has other classes")
        self.n_classes_ = len(classes)
        self._tables = StumpTables.of(self._members(), self.estimator_weights_, algorithm, classes)


def _member_task(estimator: Any, algorithm: Algorithm, task: Task) -> Task:
    """Give what members learn, labels or ±1, and refuse an estimator of the wrong kind."""
    name = type(estimator).__name__
    if algorithm.needs == "values" and not is_regressor(estimator):
        raise InputError(
            f'algorithm="logit" fits regressions, and {name} is no regressor',
            fix="Use an estimator such as DecisionTreeRegressor(max_depth=1).",
        )
    if isinstance(algorithm, algorithms.Gentle) and is_regressor(estimator):
        assert task.codes is not None
        return Task(np.where(task.codes == 1, 1.0, -1.0))
    if algorithm.needs != "values" and not is_classifier(estimator):
        raise InputError(
            f"The estimator {name} is no classifier, which this algorithm needs",
            fix="Use an estimator such as DecisionTreeClassifier(max_depth=1).",
        )
    if algorithm.needs == "probabilities" and not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"The estimator {name} gives no probabilities, which this algorithm needs",
            fix='Use algorithm="samme", for which classes are enough.',
        )
    return task
