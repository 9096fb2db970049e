"""Pipelines as ONNX: the transformers by skl2onnx, then the graph of the model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spinney.core.errors import InputError

if TYPE_CHECKING:
    import onnx

_PREFIX = "transform/"


def put_transformers_first(graph: onnx.ModelProto, transformers: Any, X: Any) -> onnx.ModelProto:
    """Return the graph of a model with scikit-learn's transformers in front of it.

    Parameters
    ----------
    graph : onnx.ModelProto
        The graph of a model with one input of numbers.
    transformers : sklearn.pipeline.Pipeline
        Fitted transformers, which skl2onnx must know.
    X : array-like or data frame
        Some rows of the pipeline's input, for the names and types of its columns.

    Returns
    -------
    onnx.ModelProto
        One graph.

    Raises
    ------
    InputError
        If X is missing, or the output of the transformers is not one table of the model's type of numbers.
    """
    if X is None:
        raise InputError(
            "The inputs of a pipeline are not known from its model",
            fix="Pass some of its rows as X: to_onnx(pipeline, X=X[:10]).",
        )
    try:
        skl2onnx = import_module("skl2onnx")
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package skl2onnx for pipelines: pip install skl2onnx."
        ) from error
    from onnx import compose

    versions = {one.domain: one.version for one in graph.opset_import}
    first = skl2onnx.to_onnx(transformers, X, target_opset={"": versions[""], "ai.onnx.ml": 3})
    made, wanted = list(first.graph.output), list(graph.graph.input)
    types = {one.type.tensor_type.elem_type for one in (*made, *wanted)}
    if len(made) != 1 or len(wanted) != 1 or len(types) != 1:
        raise InputError(
            "The transformers do not give one table of the type of numbers that the model reads",
            fix='Pass X with float64 numbers (float32 with dtype="float32"), and transform categories to '
            "numbers, or leave all columns to the model.",
        )
    # The operators of ai.onnx.ml 3 are the same in version 5.
    del first.opset_import[:]
    first.opset_import.extend(graph.opset_import)
    first.ir_version = graph.ir_version
    first = compose.add_prefix(first, _PREFIX, rename_inputs=False)
    return compose.merge_models(first, graph, io_map=[(_PREFIX + made[0].name, wanted[0].name)])
