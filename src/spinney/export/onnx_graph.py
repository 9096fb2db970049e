"""`to_onnx`: a model as an ONNX graph of standard operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from spinney.core.errors import InputError, show_value
from spinney.data.features import Feature as TableFeature
from spinney.export.expressions import (
    Apply,
    CategoryMeans,
    Column,
    Computed,
    Constant,
    Decision,
    Expression,
    Feature,
    KernelSum,
    Linear,
    OneHot,
    Place,
    Scoring,
    Trees,
    WeightedSum,
)
from spinney.export.onnx_fractions import add_fractional_tree
from spinney.export.onnx_pipeline import put_transformers_first
from spinney.export.onnx_trees import (
    EnsembleAttributes,
    collect_projections,
    convert_tree,
    round_down,
)
from spinney.export.scoring import describe_scoring, has_fractions, refuse
from spinney.tree.tree_arrays import LINEAR

if TYPE_CHECKING:
    import onnx

_OPSETS = {"": 21, "ai.onnx.ml": 5}
_IR_VERSION = 10
_OUTPUTS = ("label", "probabilities", "scores", "values")


def to_onnx(
    model: Any, *, dtype: Literal["float64", "float32"] = "float64", X: Any = None
) -> onnx.ModelProto:
    """Return a fitted model as an ONNX graph (opset 21, ai.onnx.ml 5).

    Trees are the operator TreeEnsemble in double precision: rows reach the same leaves as in Python, and sums
    differ by 1e-12 at most, by nothing with ``intra_op_num_threads=1``. Category sets are set memberships,
    multiway splits chains of them, oblique splits projections in front of the trees. Text categories and
    target statistics are part of the graph.

    Needs the package ``onnx``; ONNX Runtime 1.20 or newer runs the graph.

    Parameters
    ----------
    model : estimator or sklearn.pipeline.Pipeline
        A fitted tree, forest, boosted, bagged, voting, stacked, linear or support vector model; or a pipeline
        that ends in one, whose transformers the package ``skl2onnx`` converts.
    dtype : {"float64", "float32"}, default="float64"
        Type of numbers. With "float32" thresholds are rounded down, so that rows of float32 numbers reach
        the same leaves, and values are rounded.
    X : array-like or data frame or None, default=None
        Some rows of the input of a pipeline, for the names and types of its columns.

    Returns
    -------
    onnx.ModelProto
        The graph. A table of numbers is one input ``X`` of shape (n_rows, n_features). With categorical
        features every feature is an input of its own, of shape (n_rows, 1), with the name of the feature, or
        ``feature_j`` where that is empty or the name of an output; text categories are strings, of which
        unknown ones count as missing. Outputs are ``values``, or ``label`` with ``probabilities`` and
        ``scores`` where the model has them.

    Raises
    ------
    InputTypeError
        If the model, or a member of it, cannot be expressed.

    Examples
    --------
    >>> model = spinney.DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])  # doctest: +SKIP
    >>> onnx.save(spinney.to_onnx(model), "tree.onnx")                               # doctest: +SKIP
    """
    if dtype not in ("float64", "float32"):
        raise InputError(f'dtype must be "float64" or "float32", not {show_value(dtype)}')
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install spinney[onnx].") from error
    final = model[-1] if isinstance(model, Pipeline) else model
    result = _Graph(final, describe_scoring(final), np.dtype(dtype)).build()
    if isinstance(model, Pipeline) and len(model) > 1:
        result = put_transformers_first(result, model[:-1], X)
    onnx.checker.check_model(result, full_check=True)
    return result


class _Graph:
    """Builds the nodes of a graph; expressions that occur twice are computed once."""

    def __init__(self, model: Any, scoring: Scoring, dtype: np.dtype[Any]) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._tensors = helper, numpy_helper
        self._model, self._scoring, self._dtype = model, scoring, dtype
        self._type = helper.np_dtype_to_tensor_dtype(dtype)
        self._nodes: list[Any] = []
        self._constants: dict[bytes, str] = {}
        self._initializers: list[Any] = []
        self._known: dict[int, str] = {}
        self._columns: dict[int, str] = {}
        self._inputs: list[Any] = []

    def build(self) -> onnx.ModelProto:
        self._add_inputs()
        scoring, h = self._scoring, self._helper
        outputs = []
        response = self.value(scoring.response)
        if scoring.classes is None:
            outputs.append(self._output("values", response, self._type, scoring.response.width))
        else:
            assert scoring.decision is not None
            outputs.append(self._label(scoring.decision, scoring.classes))
            if scoring.response is not scoring.scores:
                outputs.append(self._output("probabilities", response, self._type, scoring.response.width))
        if scoring.scores is not None:
            scores = self.value(scoring.scores)
            outputs.append(self._output("scores", scores, self._type, scoring.scores.width))
        graph = h.make_graph(self._nodes, "spinney", self._inputs, outputs, self._initializers)
        result = h.make_model(
            graph,
            producer_name="spinney",
            ir_version=_IR_VERSION,
            opset_imports=[h.make_opsetid(domain, version) for domain, version in _OPSETS.items()],
        )
        h.set_model_props(result, {"spinney_class": scoring.name})
        return result

    # ---- nodes ----

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Append a node and return the name of its output."""
        domain = "ai.onnx.ml" if op in ("TreeEnsemble", "LabelEncoder") else ""
        name = f"spinney/{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(op, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Return the name of a constant array; equal ones are stored once."""
        array = np.asarray(values, dtype=self._dtype if dtype is None else dtype)
        key = repr((array.dtype.str, array.shape)).encode() + array.tobytes()
        if key not in self._constants:
            name = self._constants[key] = f"spinney/constant/{len(self._constants)}"
            self._initializers.append(self._tensors.from_array(array, name))
        return self._constants[key]

    def _tensor(self, values: Any, dtype: Any = None) -> Any:
        return self._tensors.from_array(np.asarray(values, self._dtype if dtype is None else dtype))

    def _output(self, name: str, source: str, kind: int, width: int | None) -> Any:
        self._nodes.append(self._helper.make_node("Identity", [source], [name]))
        shape = ["n_rows"] if width is None else ["n_rows", width]
        return self._helper.make_tensor_value_info(name, kind, shape)

    # ---- inputs ----

    def _add_inputs(self) -> None:
        features, h = self._scoring.schema.features, self._helper
        if all(feature.kind == "numeric" for feature in features):
            self._inputs.append(h.make_tensor_value_info("X", self._type, ["n_rows", len(features)]))
            return
        names = input_names(features)
        for j, (feature, name) in enumerate(zip(features, names, strict=True)):
            is_text = any(isinstance(one, str | bytes) for one in feature.categories)
            kind = h.np_dtype_to_tensor_dtype(np.dtype(object)) if is_text else self._type
            self._inputs.append(h.make_tensor_value_info(name, kind, ["n_rows", 1]))
            self._columns[j] = name if feature.kind == "numeric" else self._coded(feature, name)

    def _coded(self, feature: TableFeature, name: str) -> str:
        """Return the codes of a categorical feature as floats, NaN for missing and unknown values."""
        codes = np.arange(len(feature.categories), dtype=self._dtype)
        if not feature.categories:
            return self.add(
                "Mul", self.constant(np.nan), self.add("Cast", self.add("Shape", name), to=self._type)
            )
        return self._lookup(name, list(feature.categories), codes, np.nan)

    def _lookup(self, source: str, keys: list[Any], values: NDArray[Any], default: float) -> str:
        if isinstance(keys[0], bytes):
            keys = [key.decode("utf-8", "surrogateescape") for key in keys]
        of_text = isinstance(keys[0], str)
        keys_tensor = (
            self._helper.make_tensor("keys", 8, [len(keys)], [key.encode() for key in keys])
            if of_text
            else self._tensor(keys)
        )
        # ONNX Runtime has lookups from strings to float32 and int64 only, codes are exact in the first.
        if of_text and self._dtype == np.float64:
            return self._lookup_text(source, keys_tensor, values, default)
        return self.add(
            "LabelEncoder",
            source,
            keys_tensor=keys_tensor,
            values_tensor=self._tensor(values),
            default_tensor=self._tensor([default]),
        )

    def _lookup_text(self, source: str, keys: Any, values: NDArray[Any], default: float) -> str:
        """Look up positions as integers, then the double of each; the last is that of unknown text."""
        n = len(values)
        index = self.add(
            "LabelEncoder",
            source,
            keys_tensor=keys,
            values_tensor=self._tensor(np.arange(n), np.int64),
            default_tensor=self._tensor([n], np.int64),
        )
        return self.add("Gather", self.constant(np.append(values, default)), index)

    def column(self, column: Column) -> str:
        """Return a column of shape (n_rows, 1)."""
        if isinstance(column, Computed):
            return self._pick(self.value(column.of), column.index, column.of.width)
        if column.index not in self._columns:
            n = self._scoring.schema.n_features
            self._columns[column.index] = self._pick("X", column.index, n)
        codes = self._columns[column.index]
        if isinstance(column, Feature):
            return codes
        assert isinstance(column, CategoryMeans)
        n = len(column.means) - 1
        # Code n stands for missing values.
        known = self.add("Where", self.add("IsNaN", codes), self.constant(float(n)), codes)
        return self.add("Gather", self.constant(column.means), self.add("Cast", known, to=7))

    def _pick(self, source: str, index: int, width: int) -> str:
        if width == 1:
            return source
        return self.add("Gather", source, self.constant([index], np.int64), axis=1)

    def table(self, columns: Sequence[Column]) -> str:
        """Return columns side by side."""
        whole = len(columns) == self._scoring.schema.n_features and not self._columns
        if whole and all(isinstance(one, Feature) and one.index == j for j, one in enumerate(columns)):
            whole_input: str = self._inputs[0].name
            return whole_input
        names = [self.column(column) for column in columns]
        return names[0] if len(names) == 1 else self.add("Concat", *names, axis=1)

    # ---- expressions ----

    def value(self, expression: Expression) -> str:
        """Return the output (n_rows, width) of an expression, computed at its first use."""
        if id(expression) not in self._known:
            writers: dict[type, Callable[[Any], str]] = {
                Trees: self._trees,
                Linear: self._linear,
                KernelSum: self._kernel_sum,
                Constant: self._constant,
                Apply: self._apply,
                WeightedSum: self._weighted,
                Place: self._place,
                OneHot: self._one_hot,
            }
            self._known[id(expression)] = writers[type(expression)](expression)
        return self._known[id(expression)]

    def _trees(self, expression: Trees) -> str:
        ensemble = expression.ensemble
        if has_fractions(ensemble):
            return self._fractional(expression)
        columns = self.table(expression.columns)
        projections, projection_of = collect_projections(ensemble, len(expression.columns))
        if projections.n:
            columns = self.add("Concat", columns, self._project(columns, projections), axis=1)
        attributes = EnsembleAttributes()
        for target, value in enumerate(expression.start.tolist()):
            if value != 0.0:  # a tree of its own, so that values are added to it in Spinney's order
                attributes.add_constant(value, target)
        for t, tree in enumerate(ensemble.trees()):
            nodes = convert_tree(tree, projection_of[t])
            values = tree.value.reshape(tree.node_count, -1)
            if expression.per_round is not None:
                attributes.add(nodes, values[:, 0], t % expression.per_round)
                continue
            for target in range(values.shape[1]):
                attributes.add(nodes, values[:, target], target)
        sums = self._ensemble(columns, attributes, expression.width)
        return self._divided(sums, expression.divisor)

    def _divided(self, source: str, divisor: float) -> str:
        return source if divisor == 1.0 else self.add("Div", source, self.constant(divisor))

    def _fractional(self, expression: Trees) -> str:
        ensemble = expression.ensemble
        if (ensemble.kind == LINEAR).any():
            raise refuse(self._model, "it has oblique splits and divides rows with missing values")
        features = self._scoring.schema.features
        n_codes = max(len(feature.categories) for feature in features)
        columns = self.table(expression.columns)
        total = ""
        for tree in ensemble.trees():
            term = add_fractional_tree(self, columns, tree, n_codes)
            total = self.add("Add", total, term) if total else term
        assert expression.per_round is None and not expression.start.any()
        return self._divided(total, expression.divisor)

    def _project(self, columns: str, projections: Any) -> str:
        total = ""
        for feature, coefficient, fill in zip(
            projections.feature, projections.coefficient, projections.fill, strict=True
        ):
            chosen = self.add("Gather", columns, self.constant(feature, np.int64), axis=1)
            known = self.add("Where", self.add("IsNaN", chosen), self.constant(fill), chosen)
            term = self.add("Mul", known, self.constant(coefficient))
            total = self.add("Add", total, term) if total else term
        return total

    def _ensemble(self, columns: str, attributes: EnsembleAttributes, width: int) -> str:
        nodes = attributes.nodes
        splits = np.array(nodes.split)
        members = {"membership_values": self._tensor(attributes.members())} if nodes.members else {}
        return self.add(
            "TreeEnsemble",
            columns,
            n_targets=width,
            aggregate_function=1,
            post_transform=0,
            tree_roots=attributes.roots,
            nodes_featureids=nodes.feature,
            nodes_modes=self._tensor(nodes.mode, np.uint8),
            nodes_splits=self._tensor(round_down(splits) if self._dtype == np.float32 else splits),
            nodes_missing_value_tracks_true=nodes.missing_true,
            nodes_truenodeids=[index for _, index in nodes.true],
            nodes_trueleafs=[leaf for leaf, _ in nodes.true],
            nodes_falsenodeids=[index for _, index in nodes.false],
            nodes_falseleafs=[leaf for leaf, _ in nodes.false],
            leaf_weights=self._tensor(attributes.weights),
            leaf_targetids=attributes.targets,
            **members,
        )

    def _linear(self, expression: Linear) -> str:
        parts, begin = [], 0
        for column, n, one_hot in zip(expression.columns, expression.widths, expression.one_hot, strict=True):
            source, fill = self.column(column), expression.fill[begin : begin + n]
            missing = self.add("IsNaN", source)
            if one_hot:
                equal = self.add("Equal", source, self.constant(np.arange(n)))
                source = self.add("Cast", equal, to=self._type)
            if not np.isnan(fill).any():
                source = self.add("Where", missing, self.constant(fill.reshape(1, -1)), source)
            parts.append(source)
            begin += n
        table = parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=1)
        product = self.add("MatMul", table, self.constant(expression.coefficients.T))
        return self.add("Add", product, self.constant(expression.intercept))

    def _kernel_sum(self, expression: KernelSum) -> str:
        rows, gamma = self.table(expression.columns), expression.gamma
        if expression.kernel in ("poly", "sigmoid"):
            # γ is in the vectors: ONNX Runtime fuses a product and a factor, which it rounds to float32.
            product = self.add("MatMul", rows, self.constant(gamma * expression.vectors.T))
            values = self.add("Add", product, self.constant(expression.coef0))
            degree = () if expression.kernel == "sigmoid" else (self.constant(float(expression.degree)),)
            values = self.add("Pow" if degree else "Tanh", values, *degree)
        else:
            exponent = self.add("Mul", self._distances(expression, rows), self.constant(-gamma))
            values = self.add("Exp", exponent)
        sums = self.add("MatMul", values, self.constant(expression.coefficients.reshape(-1, 1)))
        return self.add("Add", sums, self.constant(expression.intercept))

    def _distances(self, expression: KernelSum, rows: str) -> str:
        """Return the distances of rows to support vectors, squared for the Gaussian kernel."""
        one_by_one = self.add("Unsqueeze", rows, self.constant([1], np.int64))
        away = self.add("Sub", one_by_one, self.constant(expression.vectors[None]))
        squares = self.add("ReduceSumSquare", away, self.constant([2], np.int64), keepdims=0)
        return self.add("Sqrt", squares) if expression.kernel == "laplacian" else squares

    def _constant(self, expression: Constant) -> str:
        # As many rows as the input has.
        first = self._inputs[0].name
        n_rows = self.add("Gather", self.add("Shape", first), self.constant([0], np.int64))
        shape = self.add("Concat", n_rows, self.constant([1], np.int64), axis=0)
        return self.add("Expand", self.constant(expression.values.reshape(1, -1)), shape)

    def _apply(self, expression: Apply) -> str:  # noqa: PLR0911  (one per function)
        source, function = self.value(expression.of), expression.function
        if function == "sigmoid":
            exponent = self.add("Mul", source, self.constant(-expression.factor))
            return self.add(
                "Div", self.constant(1.0), self.add("Add", self.constant(1.0), self.add("Exp", exponent))
            )
        if function == "exp":
            return self.add("Exp", self.add("Clip", source, self.constant(-500.0), self.constant(500.0)))
        if function == "log":
            return self.add("Log", self.add("Max", source, self.constant(expression.factor)))
        if function == "softmax":
            return self.add("Softmax", source, axis=1)
        if function == "complement":
            return self.add("Concat", self.add("Sub", self.constant(1.0), source), source, axis=1)
        axis = self.constant([1], np.int64)
        if function == "center":
            return self.add("Sub", source, self.add("ReduceMean", source, axis, keepdims=1))
        if function == "normalize":
            total = self.add("ReduceSum", source, axis, keepdims=1)
            return self.add("Div", source, self.add("Max", total, self.constant(np.finfo(self._dtype).tiny)))
        return self._nearest_distribution(source, expression.of.width)

    def _nearest_distribution(self, source: str, width: int) -> str:
        """Project rows onto the simplex: max(s − t, 0) with the largest excess that is below its number."""
        name = f"spinney/{len(self._nodes)}"
        k = self.constant([width], np.int64)
        self._nodes.append(
            self._helper.make_node("TopK", [source, k], [name, f"{name}/index"], axis=1, largest=1, sorted=1)
        )
        sums = self.add("CumSum", name, self.constant(1, np.int64))
        counts = self.constant(np.arange(1, width + 1))
        excess = self.add("Div", self.add("Sub", sums, self.constant(1.0)), counts)
        below = self.add("Cast", self.add("Greater", name, excess), to=7)
        n_below = self.add("ReduceSum", below, self.constant([1], np.int64), keepdims=1)
        last = self.add("Sub", n_below, self.constant([[1]], np.int64))
        level = self.add("GatherElements", excess, last, axis=1)
        return self.add("Max", self.add("Sub", source, level), self.constant(0.0))

    def _weighted(self, expression: WeightedSum) -> str:
        total = ""
        for part, weight in zip(expression.parts, expression.weights, strict=True):
            term = self.value(part)
            term = term if weight == 1.0 else self.add("Mul", term, self.constant(weight))
            total = self.add("Add", total, term) if total else term
        return (
            total if expression.divisor == 1.0 else self.add("Div", total, self.constant(expression.divisor))
        )

    def _place(self, expression: Place) -> str:
        chosen = np.zeros((expression.of.width, expression.width))
        chosen[np.arange(expression.of.width), expression.positions] = 1.0
        return self.add("MatMul", self.value(expression.of), self.constant(chosen))

    def _one_hot(self, expression: OneHot) -> str:
        index = self.add("Unsqueeze", self._index(expression.decision), self.constant([1], np.int64))
        equal = self.add("Equal", index, self.constant(np.arange(expression.width), np.int64))
        return self.add("Cast", equal, to=self._type)

    def _index(self, decision: Decision) -> str:
        """Return the index of the predicted class, (n_rows,) int64."""
        source, width = self.value(decision.of), decision.of.width
        if decision.above is None:
            return self.add("ArgMax", source, axis=1, keepdims=0, select_last_index=0)
        last = self._pick(source, width - 1, width)
        above = self.add("Cast", self.add("Greater", last, self.constant(decision.above)), to=7)
        return self.add("Squeeze", above, self.constant([1], np.int64))

    def _label(self, decision: Decision, classes: NDArray[Any]) -> Any:
        labels = classes.tolist()
        if all(type(label) is bool for label in labels):
            array, kind = np.array(labels, np.bool_), 9
        elif all(type(label) is int for label in labels):
            array, kind = np.array(labels, np.int64), 7
        elif all(type(label) is float for label in labels):
            array, kind = np.array(labels, np.float64), 11
        else:
            array, kind = np.array([str(label) for label in labels], dtype=object), 8
        if kind == 8:
            name = "spinney/labels"
            data = [label.encode() for label in array]
            self._initializers.append(self._helper.make_tensor(name, 8, [len(data)], data))
        else:
            name = self.constant(array, array.dtype)
        return self._output("label", self.add("Gather", name, self._index(decision)), kind, None)


def input_names(features: Sequence[TableFeature]) -> list[str]:
    """Return the names of the inputs, one per feature, none of which is empty or used otherwise.

    >>> from spinney.data import read_table
    >>> input_names(read_table({"": [1.0], "label": ["a"], "size": [2.0]}).schema.features)
    ['feature_0', 'feature_1', 'size']
    """
    taken = {feature.name for feature in features}
    names = []
    for j, feature in enumerate(features):
        name = feature.name
        if not name or name in _OUTPUTS or name.startswith("spinney/"):
            name = f"feature_{j}"
            while name in taken:
                name += "_"
            taken.add(name)
        names.append(name)
    return names
