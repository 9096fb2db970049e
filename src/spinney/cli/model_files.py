"""The commands `convert` and `inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spinney.cli.failures import FileError, ModelError, OptionError
from spinney.cli.options import model_argument, output_options
from spinney.cli.output import Output, write_result_file
from spinney.cli.saved_models import load_model
from spinney.cli.text_values import show_bytes

_ENDINGS = {".onnx": "onnx", ".json": "json", ".c": "c", ".spinney": "spinney"}


@click.command(short_help="Convert a model to ONNX, C or JSON.")
@model_argument
@click.option("--to", "kind", type=click.Choice(["onnx", "json", "c", "spinney"]),
              help="Format.  [default: by the ending of --output]")  # fmt: skip
@click.option(
    "-o", "--output", "path", metavar="FILE", help="File to write.  [default: MODEL with the ending]"
)
@click.option("--name", default="model", show_default=True, help="Prefix of the functions in C.")
@click.option("--compress", is_flag=True, help="Compress a .spinney file.")
@output_options
def convert(
    model: str, kind: str | None, path: str | None, name: str, compress: bool, as_json: bool, quiet: bool
) -> None:
    """Convert a model to ONNX, C source or JSON, or JSON back to a model file."""
    output = Output(as_json, quiet)
    chosen = kind or _ENDINGS.get(Path(path or "").suffix.lower())
    if chosen is None:
        raise OptionError("The format is not known", fix="Pass --to onnx, --to json or --to c.")
    data = _converted(model, chosen, name, compress)
    target = path or f"{Path(model).with_suffix('')}.{chosen}"
    if Path(target).resolve() == Path(model).resolve():
        raise OptionError("The output would replace the model", fix="Pass another file by --output.")
    write_result_file(target, data)
    output.note(f"{target} written: {chosen}, {show_bytes(len(data))}")
    output.result({"output": target, "format": chosen, "n_bytes": len(data)})


def _converted(path: str, kind: str, name: str, compress: bool) -> bytes:
    import spinney
    from spinney.core.errors import InputTypeError
    from spinney.io import dumps, from_json

    if Path(path).suffix.lower() == ".json":
        if not Path(path).is_file():
            raise FileError(f"There is no file {path!r}.")
        loaded: Any = from_json(Path(path).read_bytes())
        metadata: dict[str, Any] = {}
    else:
        saved = load_model(path)
        loaded, metadata = saved.model, saved.metadata
    try:
        if kind == "onnx":
            return bytes(spinney.to_onnx(loaded).SerializeToString())
        if kind == "c":
            return spinney.to_c(loaded, name=name).encode()
    except InputTypeError as error:
        raise ModelError(str(error)) from None
    if kind == "json":
        return spinney.to_json(loaded, metadata=metadata).encode()
    return dumps(loaded, metadata=metadata, compress=compress)


@click.command(short_help="Describe a model file.")
@model_argument
@output_options
def inspect(model: str, as_json: bool, quiet: bool) -> None:
    """Describe a model file without loading the model: class, parameters, features, how it was made."""
    from spinney.io import inspect_file

    output = Output(as_json, quiet)
    if not Path(model).is_file():
        raise FileError(f"There is no model file {model!r}.")
    found = inspect_file(model)
    document = {name: getattr(found, name) for name in found.__dataclass_fields__}
    lines = {
        "class": found.class_name,
        "task": found.metadata.get("task", "classification" if found.classes else "regression"),
        "target": found.metadata.get("target"),
        "classes": None if found.classes is None else ", ".join(map(str, found.classes[:10])),
        "features": _features_text(found),
        "trees": f"{found.n_trees:,} with {found.n_nodes:,} nodes" if found.n_trees else None,
        "size": show_bytes(found.n_bytes) + (", compressed" if found.compressed else ""),
        "parameters": _parameters_text(found.params),
        "scores": _scores_text(found.metadata.get("scores")),
        "command": found.metadata.get("command"),
        "data": found.metadata.get("data"),
        "version": f"Spinney {found.spinney_version}, file format {found.format_version}",
        "hash": found.content_hash,
    }
    known = {name: str(value) for name, value in lines.items() if value not in (None, "")}
    shown: list[Any] = []
    if output.interactive:
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for name, value in known.items():
            grid.add_row(Text(name, "dim"), Text(value))
        shown = [grid]
    rows = [{"field": name, "value": value} for name, value in known.items()]
    output.result(document, rows, *shown)


def _features_text(found: Any) -> str | None:
    if found.n_features is None:
        return None
    names = found.feature_names or []
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    return f"{found.n_features}" + (f": {shown}" if shown else "")


def _parameters_text(params: dict[str, Any]) -> str:
    set_ones = {name: value for name, value in params.items() if value not in (None, "auto", False)}
    return ", ".join(f"{name}={value!r}" for name, value in sorted(set_ones.items()))


def _scores_text(scores: Any) -> str | None:
    if not isinstance(scores, dict):
        return None
    return ", ".join(f"{name} {value:.4g}" for name, value in scores.items() if isinstance(value, float))
