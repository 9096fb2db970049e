"""The commands `fit` and `resume`."""

from __future__ import annotations

import inspect
from math import isfinite
from time import perf_counter
from typing import Any

import click

from spinney.cli.failures import DataError, FileError, OptionError
from spinney.cli.options import (
    TrainingData,
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
from spinney.cli.text_values import count_of, parse_pairs, parse_value, show_bytes, show_seconds

_MAX_ROWS_OF_FOLDS = 10_000
"""More rows are scored by one hold-out set unless folds are asked for."""

learner_option = click.option(
    "-l",
    "--learner",
    default="auto",
    show_default=True,
    shell_complete=complete_learner,
    help="Name such as random-forest, cart, c4.5, linear or svm; auto is gradient boosting.",
)
set_option = click.option(
    "--set", "settings", multiple=True, metavar="PARAMETER=VALUE",
    help="Set a parameter of the learner, such as max_depth=3. Repeat for several.",
)  # fmt: skip
metric_option = click.option("--metric", help="Metric to order by, such as roc_auc, accuracy or rmse.")


@click.command(short_help="Fit a learner, score it, and save it.")
@data_argument
@target_option
@learner_option
@set_option
@click.option("--holdout", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE",
              help="Score on a share of the rows, held out.  [default: 0.2 above 10,000 rows]")  # fmt: skip
@click.option("--cv", type=click.IntRange(2), metavar="FOLDS",
              help="Score by cross-validation.  [default: 5 up to 10,000 rows]")  # fmt: skip
@click.option("--no-score", is_flag=True, help="Fit only.")
@metric_option
@click.option("-o", "--output", "path", metavar="FILE", help="Model file.  [default: DATA.spinney]")
@click.option(
    "--report",
    "report_path",
    metavar="FILE",
    help="Write a report page as well, on a fifth of the rows, held out.",
)
@click.option("--checkpoint", metavar="FILE", help="Boosting: save the state every minute, for resume.")
@task_options
@reading_options
@run_options
@output_options
def fit(
    data: str,
    learner: str,
    settings: tuple[str, ...],
    holdout: float | None,
    cv: int | None,
    no_score: bool,
    metric: str | None,
    path: str | None,
    report_path: str | None,
    checkpoint: str | None,
    seed: int,
    n_jobs: int | None,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Fit a learner, score it on rows held out, and save it.

    The saved model is fitted to all rows.

    \b
    spinney fit churn.csv --target churn
    spinney fit houses.parquet -t price -l random-forest --set n_estimators=500
    """
    if sum((holdout is not None, cv is not None, no_score)) > 1:
        raise OptionError("--holdout, --cv and --no-score exclude each other.")
    output = Output(as_json, quiet)
    training = read_training(data, values, output)
    estimator = make_estimator(learner, training, settings, n_jobs, seed)
    scores = None
    if not no_score:
        scores = score(estimator, training, holdout, cv, metric, seed, output)
    begin = perf_counter()
    model = fit_all(estimator, training, checkpoint, output, {"learner": learner, "seed": seed})
    seconds = perf_counter() - begin
    target_path = path or default_path(data, ".spinney")
    _finish(model, training, target_path, report_path, scores, seconds, learner, seed, output)


def make_estimator(
    learner: str, training: TrainingData, settings: tuple[str, ...], n_jobs: int | None, seed: int
) -> Any:
    """Return the unfitted estimator that the options describe."""
    from spinney.core.errors import InputError
    from spinney.model_selection.learners import find_learner
    from spinney.model_selection.problem import seeded_copy

    params = {name: parse_value(text) for name, text in parse_pairs(settings, "--set").items()}
    try:
        estimator = find_learner(learner).make(training.task, **params)
    except (InputError, TypeError) as error:
        raise OptionError(str(error)) from None
    return seeded_copy(estimator, seed, n_jobs)


def score(
    estimator: Any,
    training: TrainingData,
    holdout: float | None,
    cv: int | None,
    metric: str | None,
    seed: int,
    output: Output,
) -> Any:
    """Score an estimator by a hold-out set or by cross-validation."""
    from spinney.core.errors import InputError
    from spinney.model_selection import cross_validate
    from spinney.model_selection.folds import split_once
    from spinney.model_selection.metrics import default_metric, find_metric, metrics_of
    from spinney.model_selection.problem import read_problem

    problem = read_problem(
        training.X, training.y, task=training.task, random_state=seed, **training.splitting
    )
    try:
        first = find_metric(metric or default_metric(training.task, problem.n_classes), training.task)
    except InputError as error:
        raise OptionError(str(error)) from None
    scoring = [first, *(one for one in metrics_of(training.task).values() if one is not first)]
    if cv is None and (holdout is not None or problem.n_rows > _MAX_ROWS_OF_FOLDS):
        share = holdout or 0.2
        splits: Any = [
            split_once(
                problem.codes, problem.n_rows, share, groups=problem.groups, order=problem.order,
                seed=problem.seed % 2**32,
            )
        ]  # fmt: skip
        how = f"hold-out of {len(splits[0][1]):,} rows"
    else:
        splits = cv or min(5, problem.n_rows)
        how = f"{splits} folds"
    arguments: dict[str, Any] = (
        {} if isinstance(splits, list) else {"groups": training.groups, "order": training.order}
    )
    found = cross_validate(
        estimator, training.X, training.y, cv=splits, scoring=scoring, task=training.task,
        sample_weight=training.weights, random_state=seed, verbose=output.interactive, **arguments,
    )  # fmt: skip
    return found, how, score_records(found, problem, isinstance(splits, list))


def score_records(found: Any, problem: Any, single: bool) -> list[dict[str, Any]]:
    """Return the scores; those of a single hold-out set with intervals of the bootstrap."""
    if not single:
        records: list[dict[str, Any]] = found.to_records()
        return records
    import numpy as np

    from spinney.model_selection.statistics import bootstrap_interval

    rows = np.flatnonzero(found.held_out)
    y, predictions = problem.y[rows], found.predictions.take(rows)
    weights = None if problem.weights is None else problem.weights[rows]
    return [
        {"metric": m.name, "mean": float(found.scores[m.name][0]), "std": float("nan")}
        | dict(zip(("low", "high"), interval_of(bootstrap_interval, m, y, predictions, weights), strict=True))
        for m in found.metrics
    ]


def interval_of(bootstrap: Any, metric: Any, y: Any, predictions: Any, weights: Any) -> Any:
    """Return the bootstrap interval of a metric."""

    def statistic(rows: Any) -> float:
        return float(metric(y[rows], predictions.take(rows), None if weights is None else weights[rows]))

    return bootstrap(statistic, len(y))


def fit_all(
    estimator: Any, training: TrainingData, checkpoint: str | None, output: Output, notes: dict[str, Any]
) -> Any:
    """Fit an estimator to all rows, with a progress bar and a checkpoint where it has rounds."""
    from spinney.cli.saved_models import describe_run
    from spinney.members.fitting import fit_member

    arguments: dict[str, Any] = {}
    has_callbacks = "callbacks" in inspect.signature(estimator.fit).parameters
    if checkpoint is not None:
        if not has_callbacks:
            raise OptionError(f"{type(estimator).__name__} has no rounds to save in a checkpoint.")
        from spinney.gradient_boosting.callbacks import Checkpoint

        arguments["callbacks"] = [
            Checkpoint(checkpoint, seconds=60.0, metadata=describe_run(training, **notes))
        ]
    if output.interactive and "verbose" in estimator.get_params():
        estimator = estimator.set_params(verbose=1)
    model = fit_member(estimator, training.X, training.y, training.weights, **arguments)
    return model.set_params(verbose=0) if "verbose" in model.get_params() else model


def _finish(
    model: Any,
    training: TrainingData,
    path: str,
    report_path: str | None,
    scores: Any,
    seconds: float,
    learner: str,
    seed: int,
    output: Output,
) -> None:
    """Save a model, show its scores, and write the report."""
    from spinney.cli.saved_models import describe_run
    from spinney.io import inspect_file, save

    records = [] if scores is None else scores[2]
    held_out = {record["metric"]: record["mean"] for record in records}
    notes = {"learner": learner, "seed": seed, "scores": {k: v for k, v in held_out.items() if isfinite(v)}}
    try:
        save(model, path, metadata=describe_run(training, **notes))
    except OSError as error:
        raise FileError(str(error)) from None
    summary = inspect_file(path)
    shown: list[Any] = []
    if output.interactive:
        from rich.text import Text

        from spinney.cli.tables import indented, scores_table

        if scores is not None:
            titles = {metric.name: metric.title for metric in scores[0].metrics}
            shown += [
                f"[bold]{type(model).__name__}[/], {scores[1]}:",
                indented(scores_table(records, titles)),
            ]
        trees = f", {count_of(summary.n_trees, 'tree')}" if summary.n_trees else ""
        shown.append(
            Text.assemble(
                "saved ", (path, "bold green"), f"  {show_bytes(summary.n_bytes)}{trees}, "
                f"fitted to all {training.file.n_rows:,} rows in {show_seconds(seconds)}",
            )
        )  # fmt: skip
        shown.append(
            Text(f"next: spinney predict {path} NEW_DATA\n      spinney explain {path} DATA --row 0", "dim")
        )
    document = {
        "model": path,
        "class": type(model).__name__,
        "task": training.task,
        "target": training.target,
        "scored_by": None if scores is None else scores[1],
        "scores": records,
        "fit_seconds": seconds,
        "n_rows": training.file.n_rows,
        "columns": {column.name: column.kind for column in training.features},
        "content_hash": summary.content_hash,
        "report": report_path,
    }
    if report_path is not None:
        _report_held_out(model, training, report_path, seed, output)
    output.result(document, records, *shown)


def _report_held_out(model: Any, training: TrainingData, path: str, seed: int, output: Output) -> None:
    """Write the report of a copy of the model that is fitted to four fifths of the rows, on the others."""
    from spinney.cli.explaining import write_report
    from spinney.cli.saved_models import describe_run
    from spinney.members.fitting import fit_member
    from spinney.model_selection.folds import split_once
    from spinney.model_selection.problem import read_problem, seeded_copy

    problem = read_problem(
        training.X, training.y, task=training.task, random_state=seed, **training.splitting
    )
    fitted, held_out = split_once(
        problem.codes, problem.n_rows, 0.2, groups=problem.groups, order=problem.order, seed=seed
    )
    part, rest = problem.take(fitted), problem.take(held_out)
    copied = fit_member(seeded_copy(model, seed, None), part.X, part.y, part.weights)
    rows, train = (rest.X, training.y[held_out]), (part.X, training.y[fitted])
    notes = describe_run(training, seed=seed)
    write_report(copied, rows, path, output, train=train, metadata=notes, sample_weight=rest.weights)


@click.command(short_help="Continue an interrupted fit or tune.")
@click.argument("checkpoint", type=click.Path(), metavar="FILE")
@click.argument("data", type=click.Path(allow_dash=True), metavar="[DATA]", required=False)
@click.option(
    "-t", "--target", metavar="COLUMN", help="Column to predict.  [default: that of the checkpoint]"
)
@click.option("-o", "--output", "path", metavar="FILE", help="Model file.  [default: DATA.spinney]")
@task_options
@reading_options
@output_options
def resume(
    checkpoint: str,
    data: str | None,
    target: str | None,
    path: str | None,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Continue an interrupted fit from its checkpoint, or an interrupted tune from its file of trials.

    The model is the same as that of a fit without interruption. The data, in the same order, are those of
    the checkpoint unless others are named.
    """
    from spinney.cli.saved_models import load_model

    if _is_trial_file(checkpoint):
        _resume_tuning(checkpoint)
        return
    output = Output(as_json, quiet)
    saved = load_model(checkpoint)
    source, name = data or saved.metadata.get("data"), target or saved.target
    if not isinstance(source, str) or name is None or source == "standard input":
        raise DataError(
            f"{checkpoint!r} does not say what it was trained on", fix="Pass the data file and --target."
        )
    values["task"] = saved.metadata.get("task", values["task"])
    kinds = saved.metadata.get("columns")
    if isinstance(kinds, dict):
        values["kinds"] = (*(f"{column}={kind}" for column, kind in kinds.items()), *values["kinds"])
    training = read_training(source, {"target": name, **values}, output)
    cls = type(saved.model)
    if not hasattr(cls, "resume"):
        raise OptionError(f"{checkpoint!r} has a {cls.__name__}, which cannot be resumed.")
    begin = perf_counter()
    model = cls.resume(checkpoint, training.X, training.y, training.weights)
    seed = saved.metadata.get("seed", 0)
    learner = str(saved.metadata.get("learner", cls.__name__))
    target_path = path or default_path(source, ".spinney")
    _finish(model, training, target_path, None, None, perf_counter() - begin, learner, seed, output)


def _is_trial_file(path: str) -> bool:
    from pathlib import Path

    if not Path(path).is_file():
        raise FileError(
            f"There is no file {path!r}",
            fix="fit --checkpoint writes one, and tune writes DATA.trials.jsonl.",
        )
    with Path(path).open("rb") as stream:
        return stream.read(1) == b"{"


def _resume_tuning(path: str) -> None:
    """Run the command of a file of trials again, which continues from that file."""
    from spinney.cli.main import cli
    from spinney.model_selection.trial_file import read_trials

    command = read_trials(path)[0].get("command")
    if not isinstance(command, list) or not command:
        raise OptionError(f"{path!r} was not written by spinney tune", fix="Call spinney.tune(path=…) again.")
    cli.main([str(one) for one in command], prog_name="spinney", standalone_mode=False)
