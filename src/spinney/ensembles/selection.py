"""`EnsembleSelectionClassifier` and `EnsembleSelectionRegressor`: a few members chosen from many models."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from spinney.core.parameters import FLAG, NONE, Kind, Real, Rule, Whole
from spinney.core.seeds import draw_seed, stream
from spinney.ensembles.averaging import _BaseMean
from spinney.ensembles.base import RULES, Problem, require
from spinney.ensembles.greedy import Judge, LogJudge, ScorerJudge, Selection, SquaredJudge, select
from spinney.ensembles.out_of_fold import OutOfFold
from spinney.ensembles.responses import Method, choose_method
from spinney.ensembles.votes import decide
from spinney.members.tables import describe_input


class _Function:
    """Allow what can be called."""

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""
        return callable(value)

    def __str__(self) -> str:
        return "a function of (estimator, X, y)"


class _BaseSelection(_BaseMean):
    """Choose members greedily by what they answer for unseen rows, and average those chosen."""

    _state_attributes: ClassVar[tuple[str, ...]] = ("path_",)
    _parameter_rules: ClassVar[dict[str, tuple[Rule, ...]]] = RULES | {
        "scoring": (NONE, Kind("the name of a scorer", str), _Function()),
        "n_steps": (Whole(1),),
        "n_initial": (Whole(1),),
        "replacement": (FLAG,),
        "n_bags": (Whole(1),),
        "bag_fraction": (Real(0.0, 1.0, open_ends="("),),
    }

    scoring: Any
    n_steps: int
    n_initial: int
    replacement: bool
    n_bags: int
    bag_fraction: float
    path_: list[list[tuple[str, float]]]

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None, **metadata: Any
    ) -> Self:
        """Choose members by their answers for rows they have not seen, and fit those chosen to all rows.

        X may be anything that all members take: it is handed to them untouched. Row weights go to every
        member and count in the choice. ``groups`` goes to the splitter; ``metadata``, where scikit-learn's
        metadata routing is on, to those members that ask for it. With cv="prefit" the members are taken as
        they are, and X should be rows that they have not seen.
        """
        problem = self._read(X, y, sample_weight, groups, metadata)
        methods = self._methods(problem)
        judge = self._judge(problem, methods, self._held_out(problem, methods))
        selections = self._select(judge, problem)
        weights = np.mean([one.counts / one.counts.sum() for one in selections], axis=0)
        chosen = problem.only(np.flatnonzero(weights))
        names = problem.team.names
        return self._adopt(
            estimators_=self._fit_members(chosen),
            _names=list(chosen.team.names),
            weights_=weights[weights > 0],
            classes_=problem.lesson.classes,
            path_=[
                [(names[i], loss) for i, loss in zip(one.members, one.losses, strict=True)]
                for one in selections
            ],
            **describe_input(X),
        )

    def _judge(self, problem: Problem, methods: list[Method], held_out: OutOfFold) -> Judge:
        lesson, rows = problem.lesson, held_out.rows
        weights = None if problem.weights is None else problem.weights[rows]
        answers = self._spoken(held_out.answers, methods, lesson.classes)
        if self.scoring is not None:
            scorer = get_scorer(self.scoring)
            return ScorerJudge(scorer, answers, lesson.y[rows], lesson.classes, weights)
        if lesson.classes is None:
            return SquaredJudge(answers, lesson.codes[rows][:, None], weights)
        return LogJudge(answers, lesson.codes[rows], weights)

    def _select(self, judge: Judge, problem: Problem) -> list[Selection]:
        """Select from all members or, with several bags, from a random part of them for each bag."""
        n = judge.n_members
        parts: list[NDArray[np.bool_] | None] = [None]
        if self.n_bags > 1:
            seed = draw_seed(None) if problem.seed is None else problem.seed
            size = max(1, round(self.bag_fraction * n))
            # The streams before these are those of the members.
            orders = [stream(seed, len(self.estimators) + bag).permutation(n) for bag in range(self.n_bags)]
            parts = [np.isin(np.arange(n), order[:size]) for order in orders]
        again = bool(self.replacement)
        return [
            select(judge, self.n_steps, n_initial=self.n_initial, replacement=again, allowed=part)
            for part in parts
        ]

    def _check_state(self) -> None:
        super()._check_state()
        if "estimators_" in vars(self):
            path = vars(self).get("path_")
            require(type(path) is list and all(type(steps) is list for steps in self.path_), "it has no path")
            pairs = [pair for steps in self.path_ for pair in steps]
            valid = all(type(pair) is tuple and [*map(type, pair)] == [str, float] for pair in pairs)
            require(valid, "a step is not a member and a loss")


class EnsembleSelectionClassifier(ClassifierMixin, _BaseSelection):  # type: ignore[misc]
    """Choose from many classifiers those whose mean probability is best, one after the other.

    Forward selection with replacement (Caruana et al., 2004): start with the ``n_initial`` best members, add
    at each step the one that helps most, a member several times if need be, up to ``n_steps``; keep the best
    ensemble met. A member's weight is how often it was chosen. ``n_bags`` above 1 selects that many times,
    each time from a random ``bag_fraction`` of the members, and averages, which guards against overfitting
    where there are many models and few rows.

    The judge is the log loss, or any scikit-learn scorer given by ``scoring``, on out-of-fold predictions
    made by ``cv``; with cv="prefit" the members are fitted already, and the rows given to ``fit`` are held
    out. Only chosen members are fitted to all rows. A member without ``predict_proba`` gives votes.

    >>> from spinney import DecisionTreeClassifier, EnsembleSelectionClassifier
    >>> models = [(f"depth {d}", DecisionTreeClassifier(max_depth=d)) for d in (1, 2, 3)]
    >>> X, y = [[i] for i in range(12)], ["a", "a", "a", "b", "b", "b"] * 2
    >>> EnsembleSelectionClassifier(models, cv=3).fit(X, y).named_estimators_.keys() <= dict(models).keys()
    True
    """

    _task = "classification"

    def __init__(
        self,
        estimators: Any = None,
        *,
        scoring: Any = None,
        n_steps: int = 50,
        n_initial: int = 1,
        replacement: bool = True,
        n_bags: int = 1,
        bag_fraction: float = 0.5,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimators = estimators
        self.scoring = scoring
        self.n_steps = n_steps
        self.n_initial = n_initial
        self.replacement = replacement
        self.n_bags = n_bags
        self.bag_fraction = bag_fraction
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self, name: str, member: Any) -> Method:
        return choose_method(name, member, ("predict_proba", "predict"))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the mean probability of the chosen members, by their weights.  -> (n_rows, n_classes)"""
        return self._mean(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likeliest class.  -> (n_rows,)"""
        codes = decide(self._mean(X), None)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels


class EnsembleSelectionRegressor(RegressorMixin, _BaseSelection):  # type: ignore[misc]
    """Choose from many regressors those whose mean prediction is best, one after the other.

    The parameters are those of :class:`EnsembleSelectionClassifier`; the judge is the squared error, or any
    scikit-learn scorer given by ``scoring``.

    >>> from spinney import DecisionTreeRegressor, EnsembleSelectionRegressor
    >>> models = [(f"depth {d}", DecisionTreeRegressor(max_depth=d)) for d in (1, 2, 3)]
    >>> X, y = [[i] for i in range(12)], [1.0, 1.0, 1.0, 5.0, 5.0, 5.0] * 2
    >>> EnsembleSelectionRegressor(models, cv=3).fit(X, y).weights_.sum()
    np.float64(1.0)
    """

    _task = "regression"

    def __init__(
        self,
        estimators: Any = None,
        *,
        scoring: Any = None,
        n_steps: int = 50,
        n_initial: int = 1,
        replacement: bool = True,
        n_bags: int = 1,
        bag_fraction: float = 0.5,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimators = estimators
        self.scoring = scoring
        self.n_steps = n_steps
        self.n_initial = n_initial
        self.replacement = replacement
        self.n_bags = n_bags
        self.bag_fraction = bag_fraction
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean of what the chosen members predict, by their weights.  -> (n_rows,)"""
        return self._mean(X)[:, 0]
