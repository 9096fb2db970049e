"""The commands `compare` and `tune`."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from spinney.cli.failures import OptionError
from spinney.cli.fitting import learner_option, make_estimator, metric_option, set_option
from spinney.cli.options import (
    command_line,
    complete_learner,
    data_argument,
    default_path,
    output_options,
    read_training,
    reading_options,
    run_options,
    target_option,
    task_options,
)
from spinney.cli.output import Output
from spinney.cli.text_values import parse_pairs, parse_seconds, parse_value, show_bytes, show_score


@click.command(short_help="Compare learners of every family: a leaderboard.")
@data_argument
@target_option
@click.option("-l", "--learner", "given", metavar="NAMES", multiple=True, shell_complete=complete_learner,
              help="Learners, separated by commas.  [default: every family]")  # fmt: skip
@click.option(
    "--time", "seconds", default="2m", show_default=True, help="Time budget, such as 60s, 5m or 1h."
)
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Number of folds.")
@click.option(
    "--repeats", type=click.IntRange(1), help="Repetitions with other folds.  [default: 3 for few rows]"
)
@click.option("--no-ensemble", is_flag=True, help="Leave out the ensemble of the best.")
@metric_option
@click.option("-o", "--output", "path", metavar="FILE", help="Fit the best to all rows and save it.")
@click.option("--report", "report_path", metavar="FILE", help="Write the leaderboard as a page (HTML).")
@task_options
@reading_options
@run_options
@output_options
def compare(
    data: str,
    given: tuple[str, ...],
    seconds: str,
    cv: int,
    repeats: int | None,
    no_ensemble: bool,
    metric: str | None,
    path: str | None,
    report_path: str | None,
    seed: int,
    n_jobs: int | None,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Compare learners of every family on the same folds: a leaderboard.

    \b
    spinney compare churn.csv --target churn --time 60s
    spinney compare churn.csv -t churn -l c4.5,gradient-boosting -o best.spinney
    """
    from spinney import report as report_of
    from spinney.cli.explaining import save_page
    from spinney.core.errors import InputError
    from spinney.model_selection import compare as compare_learners
    from spinney.model_selection.learners import find_learner
    from spinney.model_selection.metrics import default_metric, find_metric, metrics_of

    output = Output(as_json, quiet)
    budget = parse_seconds(seconds)
    learners = [name.strip() for names in given for name in names.split(",")]
    try:
        for name in learners:
            find_learner(name)
    except InputError as error:
        raise OptionError(str(error)) from None
    training = read_training(data, values, output)
    try:
        for name in learners:
            find_learner(name).make(training.task)
        first = default_metric(training.task, len(set(training.y.tolist()))) if metric is None else metric
        chosen = find_metric(first, training.task)
    except InputError as error:
        raise OptionError(str(error)) from None
    others = [one for one in metrics_of(training.task).values() if one is not chosen]
    found = compare_learners(
        training.X,
        training.y,
        learners=learners or None,
        cv=cv,
        repeats=repeats or "auto",
        time=budget,
        ensemble=not no_ensemble,
        scoring=[chosen, *others],
        task=training.task,
        random_state=seed,
        n_jobs=n_jobs,
        verbose=output.interactive,
        **training.splitting,
    )
    records = found.to_records()
    shown: list[Any] = []
    if output.interactive:
        from rich.text import Text

        from spinney.cli.tables import leaderboard

        shown = list(leaderboard(found, output.console.width))
    if report_path is not None:
        save_page(report_of(found, command=command_line()), report_path, output)
    if path is not None:
        model = found.fit(training.X, training.y, sample_weight=training.weights, n_jobs=n_jobs)
        shown.append(_save(model, training, path, found.best.name, seed, found.best.score))
    elif shown:
        command = shlex.join(["spinney", "fit", data, "-t", training.target, "-l", _single(found)])
        shown.append(Text(f"next: {command}", "dim"))
    output.result(_document(found) | {"model": path, "report": report_path}, records, *shown)


def _document(found: Any) -> dict[str, Any]:
    """Return a comparison for ``--json``."""
    return {
        "task": found.task,
        "metric": found.metrics[0].name,
        "best": found.best.name,
        "entries": found.to_records(),
        "skipped": found.skipped,
        "n_rows": found.n_rows,
        "n_rows_used": found.n_rows_used,
        "n_folds": found.n_folds,
        "seconds": found.seconds,
    }


def _single(found: Any) -> str:
    """Return the best entry that is one learner."""
    return str(next(entry.name for entry in found.entries if entry.family != "ensembles"))


def _save(model: Any, training: Any, path: str, learner: str, seed: int, score: float) -> Any:
    from rich.text import Text

    from spinney.cli.saved_models import describe_run
    from spinney.io import inspect_file, save

    save(model, path, metadata=describe_run(training, learner=learner, seed=seed, score=score))
    size = show_bytes(inspect_file(path).n_bytes)
    return Text.assemble("saved ", (path, "bold green"), f"  {type(model).__name__} ({learner}), {size}")


@click.command(short_help="Search for good parameters.")
@data_argument
@target_option
@learner_option
@set_option
@click.option("--space", "spaces", multiple=True, metavar="PARAMETER=RANGE",
              help="Search 2:8, 0.01:0.3:log, or a,b,c. Repeat.  [default: the learner's]")  # fmt: skip
@click.option("--trials", "n_trials", type=click.IntRange(1), default=50, show_default=True)
@click.option("--time", "seconds", help="Time budget, such as 60s, 5m or 1h.")
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Number of folds.")
@metric_option
@click.option("--sampler", type=click.Choice(["auto", "optuna", "random"]), default="auto", show_default=True,
              help="auto is optuna if it is installed.")  # fmt: skip
@click.option("--trial-file", metavar="FILE", help="Trials are appended to it.  [default: DATA.trials.jsonl]")
@click.option("-o", "--output", "path", metavar="FILE", help="Model file.  [default: DATA.spinney]")
@task_options
@reading_options
@run_options
@output_options
def tune(
    data: str,
    learner: str,
    settings: tuple[str, ...],
    spaces: tuple[str, ...],
    n_trials: int,
    seconds: str | None,
    cv: int,
    metric: str | None,
    sampler: Any,
    trial_file: str | None,
    path: str | None,
    seed: int,
    n_jobs: int | None,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Search for good parameters, fit with the best, and save the model.

    The same command again, or spinney resume FILE, continues an interrupted search.
    """
    from spinney.core.errors import InputError
    from spinney.model_selection import tune as tune_parameters

    output = Output(as_json, quiet)
    budget = None if seconds is None else parse_seconds(seconds)
    space = {name: parse_range(text) for name, text in parse_pairs(spaces, "--space").items()} or None
    training = read_training(data, values, output)
    estimator = make_estimator(learner, training, settings, None, seed)
    file = trial_file or default_path(data, ".trials.jsonl")
    try:
        found = tune_parameters(
            estimator, training.X, training.y, space=space, n_trials=n_trials, time=budget, cv=cv,
            scoring=metric, task=training.task, sampler=sampler, path=file, command=sys.argv[1:],
            random_state=seed, n_jobs=n_jobs, verbose=output.interactive, **training.splitting,
        )  # fmt: skip
    except InputError as error:
        if "metric" in str(error) or "parameter" in str(error) or "search space" in str(error):
            raise OptionError(str(error)) from None
        raise
    model = found.fit(training.X, training.y, sample_weight=training.weights, n_jobs=n_jobs)
    target_path = path or default_path(data, ".spinney")
    saved = _save(model, training, target_path, learner, seed, float(found.best.score or 0.0))
    document = {
        "metric": found.metric.name,
        "best_score": found.best.score,
        "default_score": found.trials[0].score,
        "best_params": found.best_params,
        "sampler": found.sampler,
        "n_trials": len(found.trials),
        "trial_file": file,
        "model": target_path,
    }
    shown = [*_tuning_tables(found), saved] if output.interactive else []
    output.result(document, [{"parameter": k, "value": v} for k, v in found.best_params.items()], *shown)


def _tuning_tables(found: Any) -> list[Any]:
    """Return the best trials and what they gained over the default parameters."""
    from rich.text import Text

    from spinney.cli.tables import indented, make_table

    names = sorted({name for trial in found.trials for name in trial.params})
    complete = sorted(
        (trial for trial in found.trials if trial.score is not None),
        key=lambda trial: -trial.score * found.metric.sign,
    )
    table = make_table("trial", found.metric.title, *(n.split("__")[-1] for n in names), numbers=("trial",))
    for trial in complete[:5]:
        cells = [_short(trial.params.get(name, "default")) for name in names]
        style = "bold green" if trial is complete[0] else ""
        table.add_row(str(trial.number), show_score(trial.score), *cells, style=style)
    stopped = sum(trial.note == "stopped early" for trial in found.trials)
    summary = (
        f"{len(found.trials)} trials ({stopped} stopped early) by {found.sampler}; {found.metric.title} "
        f"{show_score(found.best.score)}, {show_score(found.trials[0].score)} before tuning"
    )
    return [indented(table), Text(summary, "dim")]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def parse_range(text: str) -> Any:
    """Return a range or list of options as `tune` takes it.

    >>> parse_range("0.01:0.3:log"), parse_range("2:8"), parse_range("gini,entropy")
    ((0.01, 0.3, 'log'), (2, 8), ['gini', 'entropy'])
    """
    parts = text.split(":")
    if len(parts) in (2, 3) and (len(parts) == 2 or parts[2] == "log"):
        ends = [parse_value(part) for part in parts[:2]]
        if all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
            return (*ends, *parts[2:])
    if ":" in text:
        raise OptionError(f"--space {text!r} is not a range", fix="Write low:high, low:high:log, or a,b,c.")
    return [parse_value(part) for part in text.split(",")]
