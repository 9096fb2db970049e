"""Options that commands share, and the data that they describe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
from numpy.typing import NDArray

from spinney.cli.columns import Column, as_texts, features_of, find_column, missing_rows
from spinney.cli.csv_files import CsvOptions
from spinney.cli.data_files import DataFile, ReadOptions, read_data_file
from spinney.cli.failures import DataError
from spinney.cli.output import Output
from spinney.cli.text_values import parse_bytes, parse_pairs

Command = TypeVar("Command", bound=Callable[..., Any])
_HEADER_BYTES = 1 << 16


def complete_column(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the columns of the data file whose names begin as typed, for shell completion."""
    # After an option without its value click leaves the arguments as they are; the data file is the last.
    data = context.params.get("data") or next(
        (one for one in reversed(context.args) if Path(one).is_file()), None
    )
    try:
        names = list(read_data_file(str(data), ReadOptions(n_rows=1)).columns) if data else []
    except Exception:  # nothing to complete
        return []
    return [name for name in names if name.startswith(begun)]


def complete_learner(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the learners whose names begin as typed, after a comma too, for shell completion."""
    from spinney.model_selection.learners import names

    before, comma, last = begun.rpartition(",")
    return [before + comma + name for name in ["auto", *names()] if name.startswith(last)]


def _chain(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


data_argument = click.argument("data", type=click.Path(allow_dash=True), metavar="DATA")
model_argument = click.argument("model", type=click.Path(), metavar="MODEL")

output_options = _chain(
    click.option("--json", "as_json", is_flag=True, help="Write the result as JSON to standard output."),
    click.option("-q", "--quiet", is_flag=True, help="Show no tables, bars and warnings."),
)

reading_options = _chain(
    click.option(
        "--type",
        "kinds",
        multiple=True,
        metavar="COLUMN=KIND",
        shell_complete=complete_column,
        help="Use a column as numeric, categorical, date or identifier. Repeat for several.",
    ),
    click.option(
        "--drop",
        multiple=True,
        metavar="COLUMN",
        shell_complete=complete_column,
        help="Leave a column out. Repeat for several.",
    ),
    click.option("--rows", type=click.IntRange(1), help="Read the first rows only."),
    click.option("--delimiter", metavar="CHAR", help="Separator of CSV fields.  [default: recognised]"),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of CSV text."),
    click.option("--no-header", is_flag=True, help="CSV without names of columns: they are x0, x1, …"),
    click.option(
        "--missing", multiple=True, metavar="TEXT", help="One more text that counts as missing, such as -999."
    ),
    click.option("--skip-ragged", is_flag=True, help="Leave out CSV lines with too few or too many fields."),
    click.option("--max-memory", metavar="SIZE", help="Memory for data, such as 4GB.  [default: half of it]"),
)

target_option = click.option(
    "-t", "--target", required=True, metavar="COLUMN", shell_complete=complete_column,
    help="Column to predict.",
)  # fmt: skip

task_options = _chain(
    click.option(
        "--task",
        type=click.Choice(["auto", "classification", "regression"]),
        default="auto",
        show_default=True,
        help="What to learn. auto: text and few whole numbers are classes.",
    ),
    click.option("--weight", metavar="COLUMN", shell_complete=complete_column, help="Column of row weights."),
    click.option(
        "--group",
        metavar="COLUMN",
        shell_complete=complete_column,
        help="Column of groups, such as customers, whose rows are not divided between training and test.",
    ),
    click.option(
        "--order",
        metavar="COLUMN",
        shell_complete=complete_column,
        help="Column of times: train on earlier rows, test on later ones.",
    ),
)

run_options = _chain(
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed."),
    click.option("--n-jobs", type=int, help="Number of threads.  [default: all cores]"),
)


def read_options(values: dict[str, Any], more_kinds: dict[str, str] | None = None) -> ReadOptions:
    """Take the options of reading out of the arguments of a command."""
    maximum = values.pop("max_memory")
    return ReadOptions(
        CsvOptions(
            values.pop("delimiter"),
            values.pop("encoding"),
            not values.pop("no_header"),
            values.pop("missing"),
            values.pop("skip_ragged"),
        ),
        (more_kinds or {}) | parse_pairs(values.pop("kinds"), "--type"),
        values.pop("drop"),
        values.pop("rows"),
        None if maximum is None else parse_bytes(maximum),
    )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features and target of a data file, with groups, times and weights.

    Attributes
    ----------
    file : DataFile
        The file.
    X : dict of str to ndarray
        Features by name.
    y : ndarray of shape (n_rows,)
        Target.
    target : str
        Name of the target.
    task : str
        The task.
    features : list of Column
        Columns that features come from, identifiers among them.
    groups, order, weights : ndarray or None
        Groups, times and weights.
    """

    file: DataFile
    X: dict[str, NDArray[Any]]
    y: NDArray[Any]
    target: str
    task: Any
    features: list[Column]
    groups: NDArray[Any] | None
    order: NDArray[Any] | None
    weights: NDArray[Any] | None

    @property
    def splitting(self) -> dict[str, Any]:
        """Arguments of the functions that cross-validate."""
        return {"groups": self.groups, "order": self.order, "sample_weight": self.weights}


def read_training(data: str, values: dict[str, Any], output: Output) -> TrainingData:
    """Read the data of a command that learns, and show what was recognised."""
    from spinney.model_selection.metrics import recognise_task

    target, task = values.pop("target"), values.pop("task", "auto")
    roles = {role: values.pop(role, None) for role in ("group", "order", "weight")}
    file = read_data_file(data, read_options(values))
    column = find_column(file.columns, target, "target")
    y = target_values(column)
    chosen = recognise_task(y) if task == "auto" else task
    y = as_task(column, y, chosen)
    extra = {role: _role(file, name, role) for role, name in roles.items() if name is not None}
    taken = {target, *(name for name in roles.values() if name is not None)}
    features = [one for name, one in file.columns.items() if name not in taken]
    X = features_of(features)
    if not X:
        raise DataError(f"{file.name} has no columns to learn from beside the target {target!r}.")
    found = TrainingData(
        file, X, y, target, chosen, features, extra.get("group"), extra.get("order"), extra.get("weight")
    )
    _show_data(found, output, task == "auto")
    return found


def target_values(column: Column) -> NDArray[Any]:
    """Return a target; missing values are an error that names the row."""
    missing = missing_rows(column.values)
    if missing.any():
        raise DataError(
            f"The target is missing ({int(missing.sum()):,} rows in all)",
            column=column.name, row=int(np.argmax(missing)), fix="Remove the rows whose target is not known.",
        )  # fmt: skip
    return np.asarray(column.values) if column.values.dtype.kind != "M" else as_texts(column.values)


def as_task(column: Column, y: NDArray[Any], task: str) -> NDArray[Any]:
    """Return the target as the task takes it: whole numbers as integers, numbers for a regression."""
    if task == "regression":
        if y.dtype.kind not in "fiu":
            raise DataError("The target holds text, so it has no regression", column=column.name,
                              fix="Pass --task classification.")  # fmt: skip
        return y.astype(np.float64)
    return y.astype(np.int64) if y.dtype.kind == "f" and (y == np.round(y)).all() else y


def _role(file: DataFile, name: str, role: str) -> NDArray[Any]:
    column = find_column(file.columns, name, role)
    if role == "weight" and column.kind != "numeric":
        raise DataError("Weights must be numbers", column=name)
    missing = missing_rows(column.values)
    if missing.any():
        raise DataError(f"The {role} is missing", column=name, row=int(np.argmax(missing)))
    values: NDArray[Any] = column.values
    return values.astype(np.int64) if values.dtype.kind == "M" else values


def _show_data(data: TrainingData, output: Output, recognised: bool) -> None:
    if output.interactive:
        from spinney.cli.tables import data_table

        output.show(*data_table(data, recognised, output.console.width))
    left_out = [one.name for one in data.features if one.kind == "identifier"]
    if left_out:
        names = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
        verbs = ("differs", "is") if len(left_out) == 1 else ("differ", "are")
        output.warn(
            f"{names} {verbs[0]} in nearly every row and {verbs[1]} left out; "
            f"--type {left_out[0]}=categorical uses it."
        )


def command_line() -> str:
    """Return the command as it was typed."""
    import shlex

    return shlex.join(["spinney", *sys.argv[1:]])


def default_path(data: str, ending: str) -> str:
    """Return a path in the working directory, named after the data file.

    >>> default_path("folder/churn.csv.gz", ".spinney")
    'churn.spinney'
    """
    stem = "model" if data == "-" else Path(data).name.split(".")[0]
    return (stem or "model") + ending
