"""Models in ONNX Runtime, on one thread."""

from typing import Any

import numpy as np

import spinney as sp
from spinney.export.onnx_graph import input_names
from spinney.export.scoring import describe_scoring


def feed(model: Any, X: Any, dtype: Any = np.float64) -> dict[str, np.ndarray]:
    """Return a table as the inputs of the graph of a model."""
    features = describe_scoring(model).schema.features
    if all(feature.kind == "numeric" for feature in features):
        return {"X": np.asarray(X, dtype=dtype)}
    out = {}
    for j, (feature, name) in enumerate(zip(features, input_names(features), strict=True)):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]
        if feature.kind == "categorical" and isinstance(feature.categories[0], str):
            text = ["no such category" if value is None or value != value else value for value in column]
            out[name] = np.array(text, dtype=object).reshape(-1, 1)
        else:
            out[name] = np.asarray(column, dtype=dtype).reshape(-1, 1)
    return out


def run(model: Any, X: Any, dtype: str = "float64") -> dict[str, np.ndarray]:
    """Return the outputs of the graph of a model by name."""
    return run_graph(sp.to_onnx(model, dtype=dtype), feed(model, X, np.dtype(dtype)))


def run_graph(graph: Any, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs of a graph by name."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=providers)
    found = session.run(None, inputs)
    return dict(zip([output.name for output in session.get_outputs()], found, strict=True))
