"""The commands `explain`, `rules`, `tree`, `diagnose` and `report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from spinney.cli.failures import DataError, ModelError, OptionError
from spinney.cli.options import data_argument, default_path, model_argument, output_options, reading_options
from spinney.cli.output import Output, plain, wrapped, write_result_file
from spinney.cli.predicting import write_columns
from spinney.cli.saved_models import SavedModel, load_model, read_labelled, read_rows

_MAX_CLASSES = 4
"""Of more classes, those of the highest probabilities are shown."""


@click.command(short_help="Explain one prediction, or all (SHAP values).")
@model_argument
@data_argument
@click.option("--row", type=click.IntRange(0), help="Explain one row, counted from 0.  [default: all]")
@click.option("--class", "label", help="Class to explain.  [default: that of the model's raw score, or all]")
@click.option("-t", "--target", metavar="COLUMN", help="Models without SHAP values: column of true values.")
@click.option(
    "-o", "--output", "path", metavar="FILE", help="Write the contributions of every row to a file."
)
@reading_options
@output_options
def explain(
    model: str,
    data: str,
    row: int | None,
    label: str | None,
    target: str | None,
    path: str | None,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Explain predictions by SHAP values: one row in full, or the mean effect of every feature.

    Models that are not sums of trees are explained by permutation importances, which need the target.
    """
    output = Output(as_json, quiet)
    saved = load_model(model)
    if not hasattr(saved.model, "shap_values"):
        _explain_by_permutation(saved, data, row, target, output, values)
        return
    X, file = read_rows(saved, data, values)
    if row is not None:
        if row >= file.n_rows:
            raise DataError(f"There is no row {row}: {file.name} has {file.n_rows:,}, counted from 0.")
        X = {name: column[row : row + 1] for name, column in X.items()}
    found = saved.model.shap_values(X)
    if label is not None:
        found = _of_class(saved, found, label)
    if path is not None:
        write_columns(path, _shap_columns(found))
        output.note(f"contributions written to {path}")
    if row is not None:
        _explain_row(saved, X, found, row, label, output)
    else:
        _explain_all(saved, found, file.n_rows, output)


def _of_class(saved: SavedModel, found: Any, label: str) -> Any:
    """Return the contributions to one class; those to the first of two classes have the other sign."""
    classes = [str(one) for one in saved.model.classes_] if saved.is_classifier else []
    if label in found.output_names:
        return found.select(label)
    if found.output_names or label not in classes:
        names = ", ".join(found.output_names or classes) or "none, there is one value"
        raise OptionError(f"There is no output {label!r}", fix=f"Outputs: {names}.")
    if label == classes[-1]:
        return found
    return replace(found, values=-found.values, base_values=-found.base_values)


def _shap_columns(found: Any) -> dict[str, Any]:
    frame = found.to_frame()
    return {str(name): np.asarray(frame[name]) for name in frame.columns}


def _explain_row(saved: SavedModel, X: Any, found: Any, row: int, label: str | None, output: Output) -> None:
    """Write the contributions of one row: to the class that was named, or to the predicted one of several."""
    prediction = plain(np.asarray(saved.model.predict(X)))[0]
    outputs = found.output_names
    explained = found
    if outputs:
        label = str(prediction) if str(prediction) in outputs else outputs[0]
        explained = found.select(label)
    elif label is None and saved.is_classifier:
        label = str(saved.model.classes_[-1])
    values, base = explained.values[0], float(explained.base_values[0])
    features = [
        {"feature": name, "value": plain(explained.data[0])[j], "contribution": float(values[j])}
        for j, name in enumerate(found.feature_names)
    ]
    features.sort(key=lambda one: -abs(one["contribution"]))
    document: dict[str, Any] = {
        "row": row,
        "prediction": prediction,
        "explained": "value" if label is None else label,
        "space": found.space,
        "base_value": base,
        "output": base + float(values.sum()),
        "contributions": features,
    }
    shares: dict[str, float] = {}
    if hasattr(saved.model, "predict_proba"):
        found_shares = np.asarray(saved.model.predict_proba(X))[0]
        shares = dict(zip(map(str, saved.model.classes_), map(float, found_shares), strict=True))
        document["probabilities"] = shares
    shown: list[Any] = []
    if output.interactive:
        from rich.text import Text

        from spinney.cli.tables import contributions_table, indented

        given = _probabilities_text(shares)
        what = _what_is_explained(label, found.space, len(shares))
        sign = "" if label is None else f", those above 0 speak for {label}"
        shown = [
            Text.assemble(f"row {row}: predicted ", (str(prediction), "bold"), f"  {given}"),
            Text(f"{what}: {base:.4f} on average, {document['output']:.4f} for this row;", "dim"),
            Text(f"contributions add up to the difference{sign}", "dim"),
            "",
            indented(
                contributions_table(
                    found.feature_names, explained.data[0], values, width=output.console.width
                )
            ),
        ]
    output.result(document, features, *shown)


def _probabilities_text(shares: dict[str, float]) -> str:
    """Return the probabilities as text; of many classes the most probable ones.

    >>> _probabilities_text({"no": 0.25, "yes": 0.75})
    'no 25.0% · yes 75.0%'
    """
    shown = (
        sorted(shares, key=lambda one: -shares[one])[:_MAX_CLASSES]
        if len(shares) > _MAX_CLASSES
        else list(shares)
    )
    more = f" · {len(shares) - len(shown)} others" if len(shown) < len(shares) else ""
    return " · ".join(f"{label} {shares[label]:.1%}" for label in shown) + more


def _what_is_explained(label: str | None, space: str, n_classes: int) -> str:
    """Return what contributions add up to.

    >>> _what_is_explained("yes", "raw", 2)
    'raw score (log odds) of yes'
    """
    if label is None:
        return "predicted value"
    raw = "raw score (log odds)" if n_classes == 2 else "raw score"
    return f"{raw if space == 'raw' else 'probability'} of {label}"


def _explain_all(saved: SavedModel, found: Any, n_rows: int, output: Output) -> None:
    mean = found.mean_abs()
    total = mean if mean.ndim == 1 else mean.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    records = [{"feature": found.feature_names[j], "importance": float(total[j])} for j in order]
    document = {"method": "mean |SHAP|", "space": found.space, "n_rows": n_rows, "features": records}
    shown: list[Any] = []
    if output.interactive:
        from spinney.cli.tables import importance_table, indented

        shown = [
            f"[bold]{type(saved.model).__name__}[/]: mean absolute SHAP value over {n_rows:,} rows",
            indented(importance_table(records, "mean |SHAP|")),
        ]
    output.result(document, records, *shown)


def _explain_by_permutation(
    saved: SavedModel, data: str, row: int | None, target: str | None, output: Output, values: dict[str, Any]
) -> None:
    from spinney.inspect import permutation_importance

    name = type(saved.model).__name__
    if row is not None:
        raise ModelError(
            f"{name} is not a sum of trees, so that single rows have no SHAP values",
            fix="Leave --row out for permutation importances, or fit a tree, a forest or boosting.",
        )
    X, y, file, _ = read_labelled(saved, data, target, values)
    found = permutation_importance(saved.model, as_frame(X), y, random_state=0)
    importances = found.values
    records = [
        {"feature": list(X)[j], "importance": float(importances[j])}
        for j in np.argsort(-importances, kind="stable")
    ]
    shown: list[Any] = []
    if output.interactive:
        from spinney.cli.tables import importance_table, indented

        shown = [
            f"[bold]{name}[/]: loss of score if a column is shuffled, {file.n_rows:,} rows",
            indented(importance_table(records, "importance")),
        ]
    output.result({"method": "permutation", "n_rows": file.n_rows, "features": records}, records, *shown)


# ---- trees ----

tree_option = click.option("--tree", "number", type=click.IntRange(0), help="Tree of an ensemble, from 0.")


def find_tree(saved: SavedModel, number: int | None) -> Any:
    """Return a single tree: the model itself, or a tree of an ensemble."""
    model = saved.model
    if hasattr(model, "tree_"):
        return model
    name = type(model).__name__
    n_trees = (
        len(getattr(model, "estimators_", ())) if not hasattr(model, "ensemble_") else model.ensemble_.n_trees
    )
    if not n_trees or not hasattr(type(model), "__getitem__"):
        raise ModelError(f"{name} is not a tree and has none to show", fix="Fit cart, c4.5 or a forest.")
    if number is None:
        raise OptionError(f"{name} has {n_trees:,} trees", fix="Choose one by --tree 0.")
    if number >= n_trees:
        raise OptionError(f"There is no tree {number}: {name} has {n_trees:,}, counted from 0.")
    return model[number]


@click.command(short_help="Print the IF–THEN rules of a tree.")
@model_argument
@tree_option
@click.option("-o", "--output", "path", metavar="FILE", help="Write to a file.")
@output_options
def rules(model: str, number: int | None, path: str | None, as_json: bool, quiet: bool) -> None:
    """Print the IF–THEN rules of a tree, or of one tree of an ensemble."""
    output = Output(as_json, quiet)
    found = find_tree(load_model(model), number).rules()
    if path is not None:
        write_result_file(path, (str(found) + "\n").encode())
        output.result({"output": path, "n_rules": len(found)})
        return
    output.result({"rules": found.to_records()}, text=wrapped(str(found)))


@click.command(short_help="Draw a tree: text, Graphviz or SVG.")
@model_argument
@tree_option
@click.option("--format", "kind", type=click.Choice(["text", "dot", "svg"]),
              help="Text, Graphviz or a picture.  [default: text, or by the ending of --output]")  # fmt: skip
@click.option("--max-depth", type=click.IntRange(1), help="Deepest level to show.")
@click.option("-o", "--output", "path", metavar="FILE", help="Write to a file: .txt, .dot or .svg.")
@output_options
def tree(
    model: str,
    number: int | None,
    kind: str | None,
    max_depth: int | None,
    path: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Draw a tree as text, as a Graphviz graph or as an SVG picture."""
    from spinney import export_graphviz, export_text
    from spinney.plotting import tree_svg

    output = Output(as_json, quiet)
    found = find_tree(load_model(model), number)
    endings = {".dot": "dot", ".gv": "dot", ".svg": "svg"}
    chosen = kind or endings.get(Path(path or "").suffix.lower(), "text")
    limit: dict[str, Any] = {} if max_depth is None else {"max_depth": max_depth}
    if chosen == "dot":
        text = str(export_graphviz(found, **limit))
    elif chosen == "svg":
        text = str(tree_svg(found, **limit))
    else:
        text = export_text(found, **limit)
    if path is not None:
        write_result_file(path, text.encode())
        output.note(f"written to {path}")
        output.result({"output": path, "format": chosen})
        return
    output.result({"format": chosen, "tree": text}, text=wrapped(text) if chosen == "text" else text)


# ---- ensembles ----


@click.command(short_help="Measure the diversity of an ensemble.")
@model_argument
@data_argument
@click.option("-t", "--target", metavar="COLUMN", help="Column of true values.  [default: that of training]")
@click.option("--by", type=click.Choice(["measure", "member", "pair"]), default="measure", show_default=True)
@reading_options
@output_options
def diagnose(
    model: str, data: str, target: str | None, by: str, as_json: bool, quiet: bool, **values: Any
) -> None:
    """Measure the accuracy and diversity of the members of an ensemble."""
    from spinney.core.errors import InputError
    from spinney.diversity import diagnose as diagnose_members

    output = Output(as_json, quiet)
    saved = load_model(model)
    X, y, file, _ = read_labelled(saved, data, target, values)
    try:
        found = diagnose_members(saved.model, X, y)
    except (InputError, AttributeError, TypeError) as error:
        raise ModelError(f"{type(saved.model).__name__} has no members to compare ({error})") from None
    frame = found.to_frame(by)
    records = [
        {str(name): plain(np.asarray(frame[name])[i]) for name in frame.columns} for i in range(len(frame))
    ]
    document = {"n_rows": file.n_rows, "n_members": found.n_members, "error": found.error, by: records}
    shown: list[Any] = []
    if output.interactive:
        from rich.text import Text

        from spinney.cli.tables import indented, make_table

        table = make_table(*records[0], numbers=[k for k, v in records[0].items() if not isinstance(v, str)])
        for record in records[:30]:
            cells = (Text(f"{one:.4f}" if isinstance(one, float) else str(one)) for one in record.values())
            table.add_row(*cells)
        mean = float(np.mean(found.error_by_member))
        shown = [
            f"[bold]{type(saved.model).__name__}[/]: {found.n_members} members on {file.n_rows:,} rows; "
            f"error {found.error:.4f}, of the members {mean:.4f} on average",
            indented(table),
        ]
    output.result(document, records, *shown)


@click.command(short_help="Write a report page (HTML).")
@model_argument
@data_argument
@click.option("-t", "--target", metavar="COLUMN", help="Column of true values.  [default: that of training]")
@click.option("-o", "--output", "path", metavar="FILE", help="HTML file.  [default: DATA.html]")
@reading_options
@output_options
def report(
    model: str, data: str, target: str | None, path: str | None, as_json: bool, quiet: bool, **values: Any
) -> None:
    """Write a report page: one HTML file with scores, data, importances and trees."""
    output = Output(as_json, quiet)
    saved = load_model(model)
    X, y, _, _ = read_labelled(saved, data, target, values)
    chosen = path or default_path(data, ".html")
    size = write_report(saved.model, (X, y), chosen, output, metadata=saved.metadata)
    output.result({"report": chosen, "n_bytes": size}, text=None if output.interactive else chosen)


def as_frame(X: Any) -> Any:
    """Return features as a data frame, which functions beyond fit and predict take."""
    from spinney.core.frames import to_frame

    return to_frame({name: column.tolist() for name, column in X.items()})


def write_report(
    model: Any, rows: tuple[Any, Any], path: str, output: Output, *, train: Any = None, **more: Any
) -> int:
    """Write the report page of a model on rows (X, y) that it was not fitted to; return its size.

    ``train`` are the rows (X, y) that it was fitted to; ``more`` goes to `spinney.report`.
    """
    from spinney import report as make_report

    if train is not None:
        more |= {"X_train": as_frame(train[0]), "y_train": train[1]}
    return save_page(make_report(model, as_frame(rows[0]), rows[1], **more), path, output)


def save_page(page: Any, path: str, output: Output) -> int:
    """Write a report to a file, show how to open it, and return its size."""
    place: Path = page.save(path)
    if output.interactive:
        from rich.text import Text

        output.show(Text.assemble("report ", (path, "bold green"), f"  open it: xdg-open {place}"))
    return place.stat().st_size
