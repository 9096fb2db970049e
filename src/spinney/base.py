"""What every learner with a schema of its own shares: reading tables by it, and saying which it takes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spinney.core.parameters import thread_count
from spinney.data.schema import Schema
from spinney.data.table import Table


class ReadsTables:
    """Read tables by ``schema_``; a base of estimators, in front of scikit-learn's."""

    # Below this many rows, asking how many threads there are takes longer than the walk down the trees.
    _rows_worth_threads: ClassVar[int] = 256

    schema_: Schema
    unseen: Literal["missing", "error"]
    n_jobs: int | None

    def _table(self, X: Any) -> Table:
        try:
            schema: Schema = self.schema_
        except AttributeError:
            check_is_fitted(self)
            raise
        return schema.read(X, self.unseen, type(self).__name__)

    def _threads_for(self, table: Table) -> int:
        return thread_count(self.n_jobs) if table.n_rows >= self._rows_worth_threads else 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def describe_features(schema: Schema) -> dict[str, Any]:
    """Give ``n_features_in_`` and, where the input named its columns, ``feature_names_in_``.

    >>> from spinney.data.schema import read_table
    >>> describe_features(read_table([[1.0, 2.0]]).schema)
    {'n_features_in_': 2}
    """
    known: dict[str, Any] = {"n_features_in_": schema.n_features}
    return known | ({"feature_names_in_": np.array(schema.names, dtype=object)} if schema.has_names else {})
