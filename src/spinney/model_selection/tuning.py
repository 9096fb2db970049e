"""`tune`: a search for parameters, by Optuna where it is installed and by random search elsewhere."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Literal

import numpy as np

from spinney.core.errors import InputError, SpinneyError, show_value
from spinney.core.frames import free_name, to_frame
from spinney.core.progress import ProgressBar
from spinney.core.seeds import draw_word
from spinney.members.fitting import fit_member
from spinney.members.tables import describe_input
from spinney.model_selection.budget import Budget
from spinney.model_selection.cross_validation import fit_fold, resolve_estimator
from spinney.model_selection.folds import Split
from spinney.model_selection.learners import LEARNERS, find_learner
from spinney.model_selection.metrics import Metric, resolve_metrics
from spinney.model_selection.problem import Problem, read_problem, seeded_copy, task_of
from spinney.model_selection.search_space import Choice, Distribution, Integers, draw_point, read_space
from spinney.model_selection.trial_file import TrialFile, data_fingerprint

_MIN_TRIALS_TO_PRUNE = 5
_STARTUP_TRIALS = 10


@dataclass(frozen=True)
class Trial:
    """One set of parameters and its scores.

    Attributes
    ----------
    number : int
        Number of the trial; trial 0 has the default parameters.
    params : dict
        Parameters that were set.
    scores : list of float
        Scores of the folds that were fitted; fewer than all if the trial was stopped early.
    score : float or None
        Mean score; None if the trial was stopped early or failed.
    seconds : float
        Time of the trial.
    note : str
        "stopped early", or why it failed.

    Examples
    --------
    >>> Trial(0, {}, [0.5, 0.75], 0.625, 1.0, "").score
    0.625
    """

    number: int
    params: dict[str, Any]
    scores: list[float]
    score: float | None
    seconds: float
    note: str


@dataclass(frozen=True, eq=False)
class Tuning:
    """Outcome of a search for parameters.

    Attributes
    ----------
    trials : tuple of Trial
        All trials, those of earlier runs included.
    metric : Metric
        The metric.
    estimator : estimator
        The estimator that was tuned, with the parameters that it had.
    sampler : {"optuna", "random"}
        How parameters were drawn.
    seconds : float
        Time of this run.
    seed : int
        Seed of the search.

    Examples
    --------
    >>> from spinney import tune
    >>> from spinney.datasets import make_box
    >>> found = tune("cart", *make_box(120), n_trials=3, cv=3, sampler="random")
    >>> len(found.trials), sorted(found.trials[1].params)
    (3, ['max_depth', 'min_samples_leaf'])
    """

    trials: tuple[Trial, ...]
    metric: Metric
    estimator: Any
    sampler: str
    seconds: float
    seed: int

    @property
    def best(self) -> Trial:
        """The trial with the best mean score."""
        complete = [trial for trial in self.trials if trial.score is not None]
        if not complete:
            raise InputError("No trial was finished", fix="Allow more time.")
        return max(complete, key=lambda trial: (trial.score or 0.0) * self.metric.sign)

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of the best trial."""
        return self.best.params

    @property
    def best_estimator(self) -> Any:
        """The estimator with the best parameters, not fitted."""
        return seeded_copy(self.estimator, self.seed, None).set_params(**self.best.params)

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, n_jobs: int | None = None) -> Any:
        """Fit the estimator with the best parameters to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Target.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.
        n_jobs : int or None, default=None
            Number of threads.

        Returns
        -------
        estimator
            The fitted estimator.
        """
        return fit_member(seeded_copy(self.best_estimator, self.seed, n_jobs), X, y, sample_weight)

    def to_frame(self) -> Any:
        """Return the trials as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Number, score, time, note and parameters of every trial.
        """
        names = sorted({name for trial in self.trials for name in trial.params})
        columns: dict[str, Any] = {
            "number": [trial.number for trial in self.trials],
            "score": [float("nan") if trial.score is None else trial.score for trial in self.trials],
            "seconds": [trial.seconds for trial in self.trials],
            "note": [trial.note for trial in self.trials],
        }
        for name in names:
            columns[free_name(name, columns)] = [trial.params.get(name) for trial in self.trials]
        return to_frame(columns)

    def __repr__(self) -> str:
        return f"Tuning({len(self.trials)} trials, best {self.metric.name} {self.best.score:.4g})"


def tune(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    space: Mapping[str, Any] | None = None,
    n_trials: int = 50,
    time: float | None = None,
    cv: Any = 5,
    groups: Any = None,
    order: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    sampler: Literal["auto", "optuna", "random"] = "auto",
    path: str | os.PathLike[str] | None = None,
    command: Sequence[str] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    callback: Callable[[Trial], object] | None = None,
    verbose: int = 0,
) -> Tuning:
    """Search for the parameters with the best cross-validated score.

    Trial 0 has the parameters as they are. The parameters of a trial depend on the seed and the trials
    before it only, so that a search that continues from its file ends as one that was not interrupted. After
    five trials, one whose first folds are worse than the median of the others is stopped early.

    Parameters
    ----------
    estimator : estimator or str
        What to tune; names such as "random-forest" have a search space of their own.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Class labels or target values.
    space : dict or None, default=None
        Parameter to (low, high), (low, high, "log"), list of options, `Uniform`, `Integers` or `Choice`.
        None is the search space of the learner.
    n_trials : int, default=50
        Number of trials, those of earlier runs included.
    time : float or None, default=None
        Time budget of this run in seconds; a trial that has begun is finished.
    cv : int, splitter or iterable, default=5
        Number of folds, a scikit-learn splitter, or pairs of positions (train, test).
    groups : array-like of shape (n_rows,) or None, default=None
        Groups of rows that are never divided between training and test.
    order : array-like of shape (n_rows,) or None, default=None
        Times: every fold is trained on earlier rows than those it is tested on.
    scoring : str, Metric or None, default=None
        The metric; None is ROC AUC (two classes), accuracy (more) or RMSE.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Row weights, for fits and for scores.
    task : {"classification", "regression"} or None, default=None
        None is the task of the estimator, or for a name that which the target asks for.
    sampler : {"auto", "optuna", "random"}, default="auto"
        How parameters are drawn: by Optuna's tree-structured Parzen estimator, or independently. "auto" is
        Optuna if it is installed.
    path : str, path or None, default=None
        File that every trial is appended to; a search continues from a file that exists.
    command : sequence of str or None, default=None
        Command line to note in the file.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds, parameters and learners.
    n_jobs : int or None, default=None
        Number of threads of each fit.
    callback : callable or None, default=None
        Called with every finished `Trial`.
    verbose : int, default=0
        Above 0: show a progress bar.

    Returns
    -------
    Tuning
        Trials and the best parameters.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier, tune
    >>> from spinney.datasets import make_box
    >>> found = tune(DecisionTreeClassifier(), *make_box(120), space={"max_depth": (1, 6)}, n_trials=4, cv=3)
    >>> 1 <= found.trials[1].params["max_depth"] <= 6
    True
    """
    budget = Budget(time)
    named = None if isinstance(estimator, str) else task_of(estimator)
    problem = read_problem(
        X, y, task=task or named, sample_weight=sample_weight, groups=groups, order=order,
        random_state=random_state,
    )  # fmt: skip
    base = resolve_estimator(estimator, problem)
    metric = resolve_metrics(scoring, problem.task, problem.n_classes)[0]
    chosen_space = _space_of(estimator, base, space)
    kind = _choose_sampler(sampler)
    file = None
    if path is not None:
        file = TrialFile(path, _header(base, problem, metric, cv, kind, chosen_space, command))
    trials = [] if file is None else [Trial(**trial) for trial in file.trials]
    splits = problem.folds(cv)
    draw = _draw_random if kind == "random" else _draw_optuna
    with ProgressBar("trials", n_trials, shown=verbose, done=len(trials)) as bar:
        while len(trials) < n_trials and (budget.left > 0 or not trials):
            number = len(trials)
            params = {} if number == 0 else draw(chosen_space, trials, metric, problem.seed)
            trial = _run(number, params, base, problem, splits, metric, trials, n_jobs)
            trials.append(trial)
            if file is not None:
                file.append(asdict(trial))
            if callback is not None:
                callback(trial)
            bar.update(len(trials))
    return Tuning(tuple(trials), metric, base, kind, budget.spent, problem.seed)


def _header(
    base: Any,
    problem: Problem,
    metric: Metric,
    cv: Any,
    kind: str,
    space: Mapping[str, Distribution],
    command: Sequence[str] | None,
) -> dict[str, Any]:
    names = describe_input(problem.X).get("feature_names_in_", ())
    return {
        "estimator": repr(base),
        "data": data_fingerprint(names, problem.y, problem.n_rows),
        "metric": metric.name,
        "cv": repr(cv),
        "sampler": kind,
        "seed": problem.seed,
        "space": {name: repr(one) for name, one in sorted(space.items())},
        "command": None if command is None else list(command),
    }


def _space_of(given: Any, base: Any, space: Mapping[str, Any] | None) -> dict[str, Distribution]:
    """Return the search space with the full names of the parameters, checked."""
    known = base.get_params()
    if space is None:
        found = find_learner(given) if isinstance(given, str) else _learner_of(base)
        prefix = "estimator__" if found is not None and found.encoded else ""
        own = {} if found is None else {prefix + name: one for name, one in found.space.items()}
        own = {name: one for name, one in own.items() if name in known}
        if not own:
            raise InputError(
                f"There is no search space for {type(base).__name__}",
                fix='Pass space={"parameter": (low, high)}.',
            )
        return own
    checked = {}
    for name, one in read_space(space).items():
        full = name if name in known or f"estimator__{name}" not in known else f"estimator__{name}"
        seeded_copy(base, 0, None).set_params(**{full: known.get(full)})  # names the parameter that was meant
        checked[full] = one
    return checked


def _learner_of(base: Any) -> Any:
    """Return the entry of the table of learners for an estimator, None if there is none."""
    own = getattr(base, "estimator", None) if type(base).__name__.startswith("Encoded") else base
    kinds = (type(own), type(base))
    return next((one for one in LEARNERS if one.classifier in kinds or one.regressor in kinds), None)


def _choose_sampler(sampler: str) -> Literal["optuna", "random"]:
    installed = find_spec("optuna") is not None
    if sampler == "optuna" and not installed:
        raise ImportError('sampler="optuna" needs the package optuna: pip install "spinney[tune]".')
    if sampler not in ("auto", "optuna", "random"):
        raise InputError(f'sampler is {show_value(sampler)}; it takes "auto", "optuna" or "random".')
    return "optuna" if installed and sampler != "random" else "random"


def _draw_random(
    space: Mapping[str, Distribution], trials: Sequence[Trial], metric: Metric, seed: int
) -> dict[str, Any]:
    return draw_point(space, [seed, len(trials)])


def _draw_optuna(
    space: Mapping[str, Distribution], trials: Sequence[Trial], metric: Metric, seed: int
) -> dict[str, Any]:
    """Return what Optuna suggests after the trials so far.

    The study is made anew from them for every trial, with a seed of the trial's own, so that the suggestion
    does not depend on interruptions.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {name: _optuna_distribution(one) for name, one in space.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own_seed = draw_word(seed, len(trials)) % 2**32
        tpe = optuna.samplers.TPESampler(
            seed=own_seed, n_startup_trials=_STARTUP_TRIALS, multivariate=True, constant_liar=False
        )
        study = optuna.create_study(
            direction="maximize" if metric.greater_is_better else "minimize", sampler=tpe
        )
        for trial in trials:
            if trial.params:
                study.add_trial(_past_trial(optuna, trial, distributions, metric))
        asked = study.ask(distributions)
    return {name: asked.params[name] for name in sorted(space)}


def _optuna_distribution(one: Distribution) -> Any:
    from optuna import distributions

    if isinstance(one, Choice):
        return distributions.CategoricalDistribution(one.options)
    if isinstance(one, Integers):
        return distributions.IntDistribution(one.low, one.high, log=one.log)
    return distributions.FloatDistribution(one.low, one.high, log=one.log)


def _past_trial(optuna: Any, trial: Trial, distributions: Mapping[str, Any], metric: Metric) -> Any:
    """Return a finished trial; one that was stopped early counts with its folds, a failure as the worst."""
    value = trial.score
    if value is None:
        value = float(np.mean(trial.scores)) if trial.scores else -metric.sign * 1e30
    return optuna.trial.create_trial(params=trial.params, distributions=distributions, value=value)


def _run(
    number: int,
    params: dict[str, Any],
    base: Any,
    problem: Problem,
    splits: Sequence[Split],
    metric: Metric,
    before: Sequence[Trial],
    n_jobs: int | None,
) -> Trial:
    """Fit one set of parameters fold by fold."""
    begin = perf_counter()
    scores: list[float] = []
    note = ""
    try:
        estimator = seeded_copy(base, problem.seed, n_jobs).set_params(**params)
        for fold, split in enumerate(splits):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = fit_fold(estimator, problem, split, [metric], seed=problem.seed + fold)
            scores.append(result.scores[metric.name])
            if fold + 1 < len(splits) and _is_hopeless(scores, before, metric):
                note = "stopped early"
                break
    except (SpinneyError, ValueError, MemoryError, ArithmeticError) as error:
        if number == 0:  # the parameters as they are: an error of the data or of the estimator itself
            raise
        note = f"failed: {str(error).split('. ')[0]}"
    score = float(np.mean(scores)) if not note else None
    return Trial(number, params, scores, score, perf_counter() - begin, note)


def _is_hopeless(scores: Sequence[float], before: Sequence[Trial], metric: Metric) -> bool:
    """Return whether the folds so far are worse than the median of the same folds of the other trials."""
    n = len(scores)
    others = [float(np.mean(trial.scores[:n])) for trial in before if len(trial.scores) >= n]
    if len(others) < _MIN_TRIALS_TO_PRUNE:
        return False
    return metric.is_better(float(np.median(others)), float(np.mean(scores)))
