"""The commands `predict` and `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from spinney.cli.columns import find_column
from spinney.cli.failures import FileError, ModelError
from spinney.cli.options import data_argument, model_argument, output_options, reading_options
from spinney.cli.output import Output, plain, to_csv, write_result_file
from spinney.cli.saved_models import load_model, read_labelled, read_rows
from spinney.core.frames import free_name


@click.command()
@model_argument
@data_argument
@click.option("--proba", is_flag=True, help="Add the probability of every class.")
@click.option("--keep", multiple=True, metavar="COLUMN", help="Copy a column of the data, such as an id.")
@click.option("-o", "--output", "path", metavar="FILE",
              help="Write .csv, .parquet, .feather or .arrow.  [default: CSV to stdout]")  # fmt: skip
@reading_options
@output_options
def predict(
    model: str,
    data: str,
    proba: bool,
    keep: tuple[str, ...],
    path: str | None,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Predict the rows of a data file.

    \b
    spinney predict churn.spinney new.csv > predictions.csv
    cat new.csv | spinney predict churn.spinney - --proba --keep customer
    """
    output = Output(as_json, quiet)
    saved = load_model(model)
    X, file = read_rows(saved, data, values)
    columns: dict[str, Any] = {name: find_column(file.columns, name, "kept").values for name in keep}
    columns[free_name(_prediction_name(saved.target), columns)] = np.asarray(saved.model.predict(X))
    if proba:
        if not hasattr(saved.model, "predict_proba"):
            raise ModelError(
                f"{type(saved.model).__name__} does not predict probabilities", fix="Leave --proba out."
            )
        for label, part in zip(saved.model.classes_, saved.model.predict_proba(X).T, strict=True):
            columns[free_name(f"probability_{label}", columns)] = part
    if path is not None:
        write_columns(path, columns)
        output.note(f"{file.n_rows:,} predictions written to {path}")
        output.result({"output": path, "n_rows": file.n_rows, "columns": list(columns)})
        return
    if as_json:
        output.result({"n_rows": file.n_rows, "predictions": {k: plain(v) for k, v in columns.items()}})
        return
    output.result({}, text=columns_to_csv(columns))


def _prediction_name(target: str | None) -> str:
    return "prediction" if target is None else f"predicted_{target}"


def columns_to_csv(columns: Mapping[str, Any]) -> str:
    """Return columns as CSV text; numbers have as many digits as they need.

    >>> columns_to_csv({"a": np.array([0.5, 2.0]), "b": np.array(["x", "y"])})
    'a,b\\n0.5,x\\n2.0,y\\n'
    """
    lists = {name: plain(np.asarray(values)) for name, values in columns.items()}
    n_rows = len(next(iter(lists.values())))
    if not n_rows:
        return ",".join(lists) + "\n"
    return to_csv([{name: values[i] for name, values in lists.items()} for i in range(n_rows)])


def write_columns(path: str, columns: Mapping[str, Any]) -> None:
    """Write columns to a file whose format the ending of its name tells."""
    ending = Path(path).suffix.lower()
    if ending in (".csv", ".txt", "") or path == "/dev/stdout":
        write_result_file(path, columns_to_csv(columns).encode())
        return
    if ending not in (".parquet", ".feather", ".arrow"):
        raise FileError(f"{path!r} has no known ending", fix="Use .csv, .parquet, .feather or .arrow.")
    try:
        import pyarrow as pa
        from pyarrow import feather, ipc, parquet
    except ImportError:
        raise ImportError(f'Writing {ending} files needs pyarrow: pip install "spinney[io]".') from None
    table = pa.table({name: plain(np.asarray(values)) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    if ending == ".parquet":
        parquet.write_table(table, sink)
    elif ending == ".feather":
        feather.write_feather(table, sink)
    else:
        with ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    write_result_file(path, sink.getvalue().to_pybytes())


@click.command(short_help="Score a model on rows with known targets.")
@model_argument
@data_argument
@click.option("-t", "--target", metavar="COLUMN", help="Column of true values.  [default: that of training]")
@reading_options
@output_options
def evaluate(model: str, data: str, target: str | None, as_json: bool, quiet: bool, **values: Any) -> None:
    """Score a model on rows with known targets, with intervals of the bootstrap."""
    from spinney.cli.fitting import interval_of
    from spinney.model_selection.metrics import metrics_of, predict_all
    from spinney.model_selection.statistics import bootstrap_interval

    output = Output(as_json, quiet)
    saved = load_model(model)
    X, y, file, _ = read_labelled(saved, data, target, values)
    classes = np.asarray(saved.model.classes_) if saved.is_classifier else None
    predictions = predict_all(saved.model, X, classes)
    metrics = metrics_of("classification" if saved.is_classifier else "regression")
    records = []
    for metric in metrics.values():
        low, high = interval_of(bootstrap_interval, metric, y, predictions, None)
        records.append({"metric": metric.name, "mean": metric(y, predictions), "low": low, "high": high})
    document: dict[str, Any] = {"model": model, "data": file.name, "n_rows": file.n_rows, "scores": records}
    if classes is not None:
        counts = [[int(((y == a) & (predictions.labels == b)).sum()) for b in classes] for a in classes]
        document["confusion"] = {"classes": classes, "counts": counts}
    shown: list[Any] = []
    if output.interactive:
        from rich.text import Text

        from spinney.cli.tables import confusion_table, indented, scores_table

        titles = {metric.name: metric.title for metric in metrics.values()}
        shown = [
            Text.assemble((type(saved.model).__name__, "bold"), f" on {file.n_rows:,} rows of {file.name}:"),
            indented(scores_table(records, titles)),
        ]
        if classes is not None and len(classes) <= 12:
            shown.append(indented(confusion_table(y, predictions.labels, classes.tolist())))
    if saved.metadata.get("data") == file.name:
        output.warn("the model was fitted to this file, so that these scores are too good.")
    rows = [{"metric": r["metric"], "score": r["mean"], "low": r["low"], "high": r["high"]} for r in records]
    output.result(document, rows, *shown)
