"""Model files with the metadata that the command line needs, and data as a saved model takes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.cli.columns import features_of
from spinney.cli.data_files import DataFile, ReadOptions, read_data_file
from spinney.cli.failures import DataError, FileError
from spinney.cli.options import TrainingData, as_task, command_line, read_options, target_values
from spinney.core.errors import suggest_columns


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model, and how it was made.

    Attributes
    ----------
    model : estimator
        The fitted model.
    path : str
        Its file.
    metadata : dict
        Command, data file, target, task and kinds of the columns; empty for models of other programs.
    """

    model: Any
    path: str
    metadata: dict[str, Any]

    @property
    def target(self) -> str | None:
        """Name of the target, None if it is not known."""
        target = self.metadata.get("target")
        return target if isinstance(target, str) else None

    @property
    def is_classifier(self) -> bool:
        """Whether the model predicts classes."""
        return hasattr(self.model, "classes_")


def describe_run(data: TrainingData, **more: Any) -> dict[str, Any]:
    """Return the metadata of a model: the command, the data and the kinds of the columns."""
    return {
        "command": command_line(),
        "data": data.file.name,
        "n_rows": data.file.n_rows,
        "target": data.target,
        "task": data.task,
        "columns": {column.name: column.kind for column in data.features},
        **more,
    }


def load_model(path: str) -> SavedModel:
    """Load a model and its metadata."""
    from spinney.io import inspect_file, load

    if not Path(path).is_file():
        raise FileError(f"There is no model file {path!r}", fix="spinney fit writes one.")
    return SavedModel(load(path), path, inspect_file(path).metadata)


def read_rows(saved: SavedModel, data: str, values: dict[str, Any]) -> tuple[dict[str, Any], DataFile]:
    """Read the features of a model from a data file, with the kinds that the columns had in training."""
    given = saved.metadata.get("columns")
    kinds = {str(name): str(kind) for name, kind in given.items()} if isinstance(given, dict) else {}
    options = read_options(values)
    file = _read_with(data, options, kinds)
    names = feature_names(saved.model)
    found = features_of(list(file.columns.values()), with_time=True)
    if names is None:
        return found, file
    for name in names:
        if name not in found:
            raise DataError(
                f"{file.name} has no column {name!r}, which the model needs",
                fix=suggest_columns(name, list(found)),
            )
    return {name: found[name] for name in names}, file


def _read_with(data: str, options: ReadOptions, kinds: dict[str, str]) -> DataFile:
    """Read a file; the kinds of training apply to the columns that it has."""
    wanted = _LooseKinds(kinds | dict(options.kinds))
    own = tuple(name for name in options.drop)
    return read_data_file(data, ReadOptions(options.csv, wanted, own, options.n_rows, options.max_memory))


class _LooseKinds(dict[str, str]):
    """Kinds of columns of which the file need not have all."""

    def __iter__(self) -> Any:
        return iter(())


def feature_names(model: Any) -> list[str] | None:
    """Return the names of the features of a model, None if it has none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def read_labelled(
    saved: SavedModel, data: str, target: str | None, values: dict[str, Any]
) -> tuple[dict[str, Any], NDArray[Any], DataFile, str]:
    """Read features and target; the target is that of training unless another is named."""
    X, file = read_rows(saved, data, values)
    name = target or saved.target
    if name is None:
        raise DataError(f"{saved.path!r} does not say what its target is called", fix="Pass --target.")
    if name not in file.columns:
        raise DataError(
            f"{file.name} has no target column {name!r}",
            fix=f"{suggest_columns(name, list(file.columns))} It is needed to score predictions.",
        )
    column = file.columns[name]
    task = "classification" if saved.is_classifier else "regression"
    y = as_task(column, target_values(column), task)
    if saved.is_classifier:
        y = _as_labels(y, np.asarray(saved.model.classes_), name)
    return X, y, file, name


def _as_labels(y: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the target as labels of the model, text or numbers; others are an error."""
    by_text = {str(label): label for label in classes.tolist()}
    texts = [str(value) for value in y.tolist()]
    for row, text in enumerate(texts):
        if text not in by_text:
            known = ", ".join(list(by_text)[:8])
            raise DataError(
                f"The model does not know the class {text!r}", column=name, row=row, fix=f"Classes: {known}."
            )
    labels = np.empty(len(texts), dtype=classes.dtype)
    labels[:] = [by_text[text] for text in texts]
    return labels
