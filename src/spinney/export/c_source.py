"""`to_c`: a model as one C99 file without dependencies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.data.features import Feature as TableFeature
from spinney.export import c_tables as c
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
from spinney.export.scoring import describe_scoring, has_fractions, n_outputs_of

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")

_HEADER = """/* A {kind} as C99 source, written by Spinney.
 *
 * A row is an array of {n} doubles in the order of the features. A missing value is NAN. The value of a
 * categorical feature is its code, from {p}_category or {p}_category_number; -1 is a missing or unknown one.
 * Sums have the bits of Spinney's own if the compiler does not fuse multiplications and additions: compile
 * with -std=c99 or -ffp-contract=off.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
{string_include}
enum {{ {p}_n_features = {n}, {p}_n_outputs = {outputs} }};

"""

_FUNCTIONS = {
    "sigmoid": "for (k = 0; k < {n}; k++) out[k] = 1.0 / (1.0 + exp(-{factor} * out[k]));",
    "exp": "for (k = 0; k < {n}; k++) out[k] = exp(fmin(fmax(out[k], -500.0), 500.0));",
    "log": "for (k = 0; k < {n}; k++) out[k] = log(fmax(out[k], {factor}));",
    "softmax": """double top = out[0], sum = 0.0;
    for (k = 1; k < {n}; k++) if (out[k] > top) top = out[k];
    for (k = 0; k < {n}; k++) sum += out[k] = exp(out[k] - top);
    for (k = 0; k < {n}; k++) out[k] /= sum;""",
    "normalize": """double sum = 0.0;
    for (k = 0; k < {n}; k++) sum += out[k];
    if (sum < 0x1p-1022) sum = 0x1p-1022;
    for (k = 0; k < {n}; k++) out[k] /= sum;""",
    "center": """double sum = 0.0;
    for (k = 0; k < {n}; k++) sum += out[k];
    for (k = 0; k < {n}; k++) out[k] -= sum / {n};""",
    "simplex": """double sorted[{n}], total = 0.0, excess = 0.0;
    int i;
    for (k = 0; k < {n}; k++) {{
        for (i = k; i > 0 && sorted[i - 1] < out[k]; i--) sorted[i] = sorted[i - 1];
        sorted[i] = out[k];
    }}
    for (k = 0; k < {n}; k++) {{
        total += sorted[k];
        if (sorted[k] > (total - 1.0) / (k + 1)) excess = (total - 1.0) / (k + 1);
    }}
    for (k = 0; k < {n}; k++) out[k] = out[k] > excess ? out[k] - excess : 0.0;""",
}


def to_c(model: Any, *, name: str = "model") -> str:
    """Return a fitted model as one C99 file without dependencies, except for the C library.

    The file has functions that predict one row: ``NAME_predict`` (values of a regressor) or
    ``NAME_predict_proba`` and ``NAME_predict_class`` (a classifier), ``NAME_decision_function`` where the
    model has one, ``NAME_category`` for the code of a text category, and ``NAME_class_label``. Rows reach the
    same leaves as in Python, missing values and categories included, and sums have the same bits.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest, boosted, bagged, voting, stacked or linear model.
    name : str, default="model"
        Prefix of the public functions: a letter, then letters, digits and underscores.

    Returns
    -------
    str
        The source. It is ASCII text; names and categories are escaped.

    Raises
    ------
    InputTypeError
        If the model, or a member of it, cannot be expressed.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> source = to_c(DecisionTreeClassifier().fit([["red"], ["blue"]], ["no", "yes"]), name="melon")
    >>> "int melon_predict_class(const double *x)" in source
    True
    """
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise InputError(
            f"name is {show_value(name)}, which cannot be the beginning of a C identifier",
            fix="Use a letter, then letters, digits and underscores.",
        )
    return _Writer(name, describe_scoring(model)).write()


class _Writer:
    """Collects the functions of the expressions of one model."""

    def __init__(self, prefix: str, scoring: Scoring) -> None:
        self.prefix, self.scoring = prefix, scoring
        self.parts: list[str] = []
        self._known: dict[int, str] = {}
        self._max_nodes = 0
        self._has_trees = False

    def write(self) -> str:
        p, scoring = self.prefix, self.scoring
        response = self.function(scoring.response)
        public = [self._public(p, response)]
        if scoring.scores is not None and scoring.scores is not scoring.response:
            score = self.function(scoring.scores)
            public.append(
                f"/* Raw scores, {scoring.scores.width} numbers. */\n"
                f"void {p}_decision_function(const double *x, double *out) {{ {score}(x, out); }}\n"
            )
        if scoring.decision is not None:
            public += [self._decision(scoring.decision), self._labels(p)]
        public += self._categories(p)
        text = "".join(public)
        helpers = ""
        if self._has_trees:
            mix = f"enum {{ MAX_NODES = {self._max_nodes} }};\n\n{c.MIX}\n" if self._max_nodes else ""
            helpers = f"{c.STRUCT}\n{c.CHOOSE}\n{mix}"
        header = _HEADER.format(
            kind=scoring.name,
            n=scoring.schema.n_features,
            outputs=scoring.response.width,
            p=p,
            string_include="#include <string.h>\n" if "strcmp" in text else "",
        )
        return header + helpers + "".join(self.parts) + "\n" + text

    def _public(self, p: str, response: str) -> str:
        scoring = self.scoring
        if scoring.classes is None:
            what, method = "Predicted values", "predict"
        elif scoring.response is scoring.scores:
            what, method = "Raw scores", "decision_function"
        else:
            what, method = "Probabilities of the classes", "predict_proba"
        n, width = scoring.schema.n_features, scoring.response.width
        return (
            f"/* {what}, {width} numbers. */\n"
            f"void {p}_{method}(const double *x, double *out) {{ {response}(x, out); }}\n\n"
            f"/* The same for many rows, one after the other. */\n"
            f"void {p}_{method}_rows(const double *x, size_t n_rows, double *out) {{\n    size_t i;\n"
            f"    for (i = 0; i < n_rows; i++) {response}(x + i * {n}, out + i * {width});\n}}\n\n"
        )

    def _decision(self, decision: Decision) -> str:
        return (
            "/* The index of the predicted class. */\n"
            f"int {self.prefix}_predict_class(const double *x) {{\n"
            + self._choice(decision, "    return {};\n")
            + "}\n\n"
        )

    def _choice(self, decision: Decision, use: str) -> str:
        """Return statements that compute a decision; use has {} where its result is used."""
        source, width = self.function(decision.of), decision.of.width
        text = f"    double found[{width}];\n    int best = 0;\n"
        text += f"    {source}(x, found);\n"
        if decision.above is not None:
            text += f"    best = found[{width - 1}] > {c.number(decision.above)};\n"
        elif width > 1:
            text = text.replace("int best = 0;", "int best = 0, j;")
            text += f"    for (j = 1; j < {width}; j++) if (found[j] > found[best]) best = j;\n"
        return text + use.format("best")

    def _labels(self, p: str) -> str:
        assert self.scoring.classes is not None
        labels = [one if isinstance(one, str | bytes) else repr(one) for one in self.scoring.classes.tolist()]
        return (
            c.table("char *const", f"{p}_labels", map(c.string, labels))
            + "\n/* The label of a class, as text. */\n"
            + f"const char *{p}_class_label(int index) {{ return {p}_labels[index]; }}\n\n"
        )

    def _categories(self, p: str) -> list[str]:
        """Return the functions that give the code of a category, by text or by number."""
        features = self.scoring.schema.features
        text, numbers = [list[tuple[int, TableFeature]]() for _ in range(2)]
        for j, feature in enumerate(features):
            if feature.kind == "categorical":
                is_text = any(isinstance(one, str | bytes) for one in feature.categories)
                if is_text and not all(isinstance(one, str | bytes) for one in feature.categories):
                    raise InputTypeError(
                        f"Feature {show_value(feature.name)} cannot be exported: its categories are text and "
                        "numbers"
                    )
                (text if is_text else numbers).append((j, feature))
        parts = []
        for kind, chosen in (("category", text), ("category_number", numbers)):
            if not chosen:
                continue
            of_text = kind == "category"
            for j, feature in chosen:
                items = map(_text_of if of_text else _number_of, feature.categories)
                parts.append(c.table("char *const" if of_text else "double", f"{p}_categories_{j}", items))
            cases = "".join(
                f"    case {j}: names = {p}_categories_{j}; n = {len(feature.categories)}; break;\n"
                for j, feature in chosen
            )
            equal = "names[i] && strcmp(names[i], category) == 0" if of_text else "names[i] == category"
            argument = "const char *category" if of_text else "double category"
            pointer = "const char *const *names" if of_text else "const double *names"
            parts.append(
                f"\n/* The code of a category of a feature, -1 if it is unknown. */\n"
                f"double {p}_{kind}(int feature, {argument}) {{\n    {pointer} = NULL;\n    int n = 0, i;\n"
                f"    switch (feature) {{\n{cases}    default: break;\n    }}\n"
                f"    for (i = 0; i < n; i++) if ({equal}) return i;\n    return -1.0;\n}}\n\n"
            )
        return parts

    # ---- expressions ----

    def function(self, expression: Expression) -> str:
        """Return the name of the function of an expression, which is written at its first use."""
        if id(expression) not in self._known:
            body = self._body(expression)
            name = f"expression_{len(self._known)}"
            self._known[id(expression)] = name
            self.parts.append(f"\nstatic void {name}(const double *x, double *out) {{\n{body}}}\n")
        return self._known[id(expression)]

    def _body(self, expression: Expression) -> str:  # noqa: PLR0911  (one per kind)
        if isinstance(expression, Trees):
            return self._trees(expression)
        if isinstance(expression, Linear):
            return self._linear(expression)
        if isinstance(expression, KernelSum):
            return self._kernel_sum(expression)
        if isinstance(expression, Constant):
            values = expression.values.tolist()
            return "    (void)x;\n" + "".join(
                f"    out[{k}] = {c.number(value)};\n" for k, value in enumerate(values)
            )
        if isinstance(expression, Apply):
            return self._apply(expression)
        if isinstance(expression, WeightedSum):
            return self._weighted(expression)
        if isinstance(expression, Place):
            return self._place(expression)
        assert isinstance(expression, OneHot)
        n = expression.width
        head, choice = (
            self._choice(expression.decision, f"    for (k = 0; k < {n}; k++) out[k] = {{}} == k;\n"),
            "",
        )
        return head.replace("int best = 0", "int k, best = 0") + choice

    def _columns(self, columns: Sequence[Column]) -> str:
        """Return statements that fill the array c; nothing if the columns are those of the row."""
        if all(isinstance(one, Feature) and one.index == j for j, one in enumerate(columns)):
            return "    const double *c = x;\n"
        lines, buffers = [f"    double c[{len(columns)}];\n"], dict[int, str]()
        fills = list[str]()
        for j, column in enumerate(columns):
            if isinstance(column, Feature):
                fills.append(f"    c[{j}] = x[{column.index}];\n")
            elif isinstance(column, CategoryMeans):
                name = f"means_{len(self.parts)}"
                self.parts.append(c.doubles(name, column.means))
                last = len(column.means) - 1
                code = f"x[{column.index}]"
                fills.append(
                    f"    c[{j}] = {name}[{code} >= 0.0 && {code} < {last}.0 ? (int){code} : {last}];\n"
                )
            else:
                assert isinstance(column, Computed)
                if id(column.of) not in buffers:
                    buffer = buffers[id(column.of)] = f"b{len(buffers)}"
                    lines.append(f"    double {buffer}[{column.of.width}];\n")
                    fills.append(f"    {self.function(column.of)}(x, {buffer});\n")
                fills.append(f"    c[{j}] = {buffers[id(column.of)]}[{column.index}];\n")
        return "".join(lines + fills)

    def _trees(self, expression: Trees) -> str:
        ensemble, n = expression.ensemble, expression.width
        columns = self._columns(expression.columns)
        name = f"trees_{len(self.parts)}"
        n_values = n_outputs_of(ensemble.value)
        self._has_trees = True
        self.parts.append("\n" + c.tree_tables(name, ensemble, n_values))
        mixes = has_fractions(ensemble)
        if mixes:
            self._max_nodes = max(self._max_nodes, int(np.diff(ensemble.tree_begin).max()))
        starts = "".join(
            f"    out[{k}] = {c.number(value)};\n" for k, value in enumerate(expression.start.tolist())
        )
        per_round = expression.per_round
        target = (
            f"out[t % {per_round}] += value[0];"
            if per_round
            else (f"for (k = 0; k < {n}; k++) out[k] += value[k];")
        )
        mixed = f"            mix_values(&{name}, t, c, mixed);\n            value = mixed;\n"
        walk = f"        const double *value;\n        int leaf = find_leaf(&{name}, t, c);\n"
        walk += f"        if (leaf < 0) {{\n{mixed}        }} else\n    " if mixes else ""
        walk += f"        value = {name}.value + (long)leaf * {n_values};\n        {target}\n"
        locals_ = (f"    double mixed[{n_values}];\n" if mixes else "") + (
            "    int t;\n" if per_round else "    int t, k;\n"
        )
        divide = ""
        if expression.divisor != 1.0:
            divide = f"    for (k = 0; k < {n}; k++) out[k] /= {c.number(expression.divisor)};\n"
        loop = f"    for (t = 0; t < {ensemble.n_trees}; t++) {{\n{walk}    }}\n"
        return locals_ + columns + starts + loop + divide

    def _linear(self, expression: Linear) -> str:
        columns = self._columns(expression.columns)
        name, width = f"linear_{len(self.parts)}", len(expression.fill)
        self.parts.append(c.doubles(f"{name}_coefficients", expression.coefficients))
        self.parts.append(c.doubles(f"{name}_fill", expression.fill))
        lines, begin = list[str](), 0
        for j, (n, one_hot) in enumerate(zip(expression.widths, expression.one_hot, strict=True)):
            if one_hot:
                known = f"c[{j}] >= 0.0 && c[{j}] < {n}.0"
                one = f"{known} ? (int)c[{j}] == k : {name}_fill[{begin} + k]"
                lines.append(f"    for (k = 0; k < {n}; k++) z[{begin} + k] = {one};\n")
            else:
                lines.append(f"    z[{begin}] = c[{j}] == c[{j}] ? c[{j}] : {name}_fill[{begin}];\n")
            begin += n
        for k, value in enumerate(expression.intercept.tolist()):
            term = f"{name}_coefficients[{k * width} + k] * z[k]"
            lines.append(f"    sum = 0.0;\n    for (k = 0; k < {width}; k++) sum += {term};\n")
            lines.append(f"    out[{k}] = sum + {c.number(value)};\n")
        head = f"    double z[{width}], sum;\n    int k;\n"
        return head + columns + "".join(lines)

    def _kernel_sum(self, expression: KernelSum) -> str:
        columns = self._columns(expression.columns)
        name, (n, width) = f"kernel_{len(self.parts)}", expression.vectors.shape
        self.parts.append(c.doubles(f"{name}_vectors", expression.vectors))
        self.parts.append(c.doubles(f"{name}_coefficients", expression.coefficients))
        gamma, coef0 = c.number(expression.gamma), c.number(expression.coef0)
        distance = (
            f"            double d = c[j] - {name}_vectors[(long)i * {width} + j];\n            s += d * d;\n"
        )
        product = f"            s += c[j] * {name}_vectors[(long)i * {width} + j];\n"
        term, value = {
            "rbf": (distance, f"exp(-{gamma} * s)"),
            "laplacian": (distance, f"exp(-{gamma} * sqrt(s))"),
            "sigmoid": (product, f"tanh({gamma} * s + {coef0})"),
            "poly": (product, f"pow({gamma} * s + {coef0}, {expression.degree}.0)"),
        }[expression.kernel]
        loop = f"        double s = 0.0;\n        for (j = 0; j < {width}; j++) {{\n{term}        }}\n"
        return (
            f"    double sum = 0.0;\n    int i, j;\n{columns}    for (i = 0; i < {n}; i++) {{\n{loop}"
            f"        sum += {name}_coefficients[i] * {value};\n    }}\n"
            f"    out[0] = sum + {c.number(expression.intercept)};\n"
        )

    def _apply(self, expression: Apply) -> str:
        source, n = self.function(expression.of), expression.of.width
        if expression.function == "complement":
            return f"    {source}(x, out + 1);\n    out[0] = 1.0 - out[1];\n"
        code = _FUNCTIONS[expression.function].format(n=n, factor=c.number(expression.factor))
        return f"    int k;\n    {source}(x, out);\n    {code}\n"

    def _weighted(self, expression: WeightedSum) -> str:
        n = expression.width
        body = ""
        for part, weight in zip(expression.parts, expression.weights, strict=True):
            body += f"    {self.function(part)}(x, part);\n"
            body += f"    for (k = 0; k < {n}; k++) out[k] += {c.number(weight)} * part[k];\n"
        if expression.divisor != 1.0:
            body += f"    for (k = 0; k < {n}; k++) out[k] /= {c.number(expression.divisor)};\n"
        return f"    double part[{n}];\n    int k;\n    for (k = 0; k < {n}; k++) out[k] = 0.0;\n" + body

    def _place(self, expression: Place) -> str:
        source, n = self.function(expression.of), expression.of.width
        body = f"    double part[{n}];\n    int k;\n    {source}(x, part);\n"
        body += f"    for (k = 0; k < {expression.width}; k++) out[k] = 0.0;\n"
        return body + "".join(f"    out[{to}] = part[{k}];\n" for k, to in enumerate(expression.positions))


def _number_of(category: object) -> str:
    return c.number(float(category))  # type: ignore[arg-type]


def _text_of(category: object) -> str:
    """Return a text category; no string of C is equal to one with a zero character."""
    data = category.encode("utf-8", "surrogatepass") if isinstance(category, str) else category
    assert isinstance(data, bytes)
    return "NULL" if b"\0" in data else c.string(data)
