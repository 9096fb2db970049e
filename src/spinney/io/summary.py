"""What a model file says about its model, read without building the model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from spinney.io.container import BytesLike, decode, encode, read_header
from spinney.io.document import Document, Tagged
from spinney.io.errors import require
from spinney.io.files import read_source
from spinney.io.values import check_document, describe


@dataclass(frozen=True)
class ModelFileSummary:
    """What a model file contains.

    Attributes
    ----------
    class_name : str
        Class of the model. It need not be defined in this process.
    params : dict
        Parameters of the constructor; estimators among them as their class names.
    n_features : int or None
        Number of features; None if the model is not fitted.
    feature_names : list of str or None
        Names of the features, None if the training rows had none.
    categories : dict
        Position of each categorical feature -> list of its categories.
    classes : list or None
        Class labels, or one list per output; None for a regressor.
    n_trees, n_nodes : int
        Number of trees, and of their nodes.
    n_bytes : int
        Size of the file.
    compressed : bool
        Whether the file is compressed.
    format_version : int
        Version of the file format.
    spinney_version : str
        Version of Spinney that wrote the file.
    metadata : dict
        What was passed to `save` as ``metadata``.
    content_hash : str
        Hash (BLAKE2b, 32 hexadecimal digits) of the model, with or without compression and metadata.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> from spinney.io import dumps
    >>> summary = inspect_file(dumps(DecisionTreeClassifier(max_depth=3), metadata={"owner": "risk"}))
    >>> summary.class_name, summary.params["max_depth"], summary.metadata
    ('DecisionTreeClassifier', 3, {'owner': 'risk'})
    """

    class_name: str
    params: dict[str, Any]
    n_features: int | None
    feature_names: list[str] | None
    categories: dict[int, list[Any]]
    classes: list[Any] | None
    n_trees: int
    n_nodes: int
    n_bytes: int
    compressed: bool
    format_version: int
    spinney_version: str
    metadata: dict[str, Any]
    content_hash: str


def inspect_file(source: str | os.PathLike[str] | BytesLike | BinaryIO) -> ModelFileSummary:
    """Describe a model file without building the model.

    Safe for files from any source, and the class of the model need not be defined.

    Parameters
    ----------
    source : str, path, bytes or binary file
        A path, the bytes of a model file, or a file opened with mode ``"rb"``.

    Returns
    -------
    ModelFileSummary
        Class, parameters, features, classes, sizes, versions, metadata and content hash.

    Raises
    ------
    ModelFileError
        If the file is not a valid model file.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> from spinney.io import dumps
    >>> model = DecisionTreeClassifier().fit([["red"], ["blue"]], ["no", "yes"])
    >>> summary = inspect_file(dumps(model))
    >>> summary.classes, summary.categories, summary.n_nodes
    (['no', 'yes'], {0: ['blue', 'red']}, 3)
    """
    data = read_source(source, "inspect_file")
    header, document = read_header(data), decode(data)
    check_document(document)
    metadata = document.pop("metadata", {})
    state = document["state"]
    params, fitted = (_dict(state.get(part)) for part in ("params", "fitted"))
    names, n_features, categories = _features(fitted)
    trees = list(_trees(document))
    return ModelFileSummary(
        class_name=document["class"],
        params=describe(params),
        n_features=n_features,
        feature_names=names,
        categories=categories,
        classes=_classes(fitted.get("classes_")),
        n_trees=sum(n for n, _ in trees),
        n_nodes=sum(n for _, n in trees),
        n_bytes=len(data),
        compressed=header.compressed,
        format_version=header.version,
        spinney_version=document["spinney_version"],
        metadata=metadata,
        content_hash=read_header(encode(document, header.version)).checksum.hex(),
    )


def _dict(value: Document) -> dict[str, Any]:
    return value if type(value) is dict else {}


def _list(value: Document) -> list[Any] | None:
    """Return a list, or the items of an array of any kind; None for anything else."""
    if type(value) is Tagged and value.name in ("text", "objects"):
        value = describe(value)
    items = value.tolist() if isinstance(value, np.ndarray) else value
    return items if type(items) is list else None


def _classes(value: Document) -> list[Any] | None:
    if type(value) is list and any(isinstance(one, np.ndarray | Tagged) for one in value):
        return [_list(one) for one in value]
    return _list(value)


def _features(fitted: Mapping[str, Any]) -> tuple[list[str] | None, int | None, dict[int, list[Any]]]:
    """Return names, number and categories of the features, of the model's own schema or a member's."""
    schema = _dict(fitted.get("schema_")) or _dict(_dict(fitted.get("estimators_")).get("schema"))
    if not schema:
        names = _list(fitted.get("feature_names_in_"))
        n = fitted.get("n_features_in_", None if names is None else len(names))
        if n is None and type(samples := fitted.get("_samples")) is Tagged:  # bagging
            n = _dict((_list(samples.value) or [{}])[-1]).get("n_columns")
        return names, n if type(n) is int else None, {}
    dtypes = _list(schema.get("dtypes")) or []
    categorical = [j for j, dtype in enumerate(dtypes) if dtype == 2]
    lists = [_list(one) or [] for one in _list(schema.get("categories")) or []]
    require(len(lists) == len(categorical), "the lists of categories are not one for each feature")
    names = _list(schema.get("names"))
    return names, len(dtypes), dict(zip(categorical, lists, strict=True))


def _trees(value: Document) -> Iterator[tuple[int, int]]:
    """Yield the number of trees and nodes of each ensemble, and of each single tree."""
    if type(value) is Tagged:
        yield from _trees(value.value)
    elif type(value) is list or type(value) is tuple:
        for item in value:
            yield from _trees(item)
    elif type(value) is dict:
        kind, begin = value.get("kind"), value.get("tree_begin")
        if isinstance(kind, np.ndarray) and isinstance(value.get("threshold"), np.ndarray):
            yield len(begin) - 1 if isinstance(begin, np.ndarray) and begin.ndim == 1 else 1, kind.size
        for item in value.values():
            yield from _trees(item)
