"""What an ensemble remembers of its input, and the codes of its labels; tables go to members as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney.core.errors import InputError
from spinney.data.target import encode_classes, read_target
from spinney.io import CorruptModelFile
from spinney.members.rows import count_rows


def describe_input(X: Any) -> dict[str, Any]:
    """Give ``n_features_in_`` and, for a table with column names, ``feature_names_in_``.

    For an ensemble that sets all its fitted attributes at once. A list of texts has neither.

    >>> describe_input([[1, 2, 3]])
    {'n_features_in_': 3}
    """
    seen = BaseEstimator()
    remember_input(seen, X)
    return dict(vars(seen))


def check_described(estimator: Any) -> None:
    """Raise CorruptModelFile unless what a file gives as the features and their names can be that."""
    width, names = (vars(estimator).get(name) for name in ("n_features_in_", "feature_names_in_"))
    valid = width is None or (type(width) is int and width >= 0)
    if names is not None:
        valid = valid and isinstance(names, np.ndarray) and names.shape == (width,)
        valid = valid and all(type(name) is str for name in names.tolist())
    if not valid:
        raise CorruptModelFile(f"The features of a {type(estimator).__name__} are not named one by one.")


def remember_input(estimator: Any, X: Any) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_``, as scikit-learn does; no value is looked at."""
    validate_data(estimator, X, skip_check_array=True, reset=True)


def check_input(estimator: Any, X: Any) -> None:
    """Raise an error if the estimator is not fitted, or X has other features than it was fitted to."""
    check_is_fitted(estimator)
    try:
        validate_data(estimator, X, skip_check_array=True, reset=False)
    except ValueError as error:
        if "does not contain any features" in str(error):
            raise InputError(str(error), fix="Reshape your data to one row a sample.") from None
        raise


def encode(y: Any, n_rows: int | None = None) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Give each label the code of its class, and the classes in ascending order; one output only.

    >>> codes, classes = encode(["b", "a", "b"])
    >>> codes.tolist(), classes.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    labels = read_target(y, count_rows(y) if n_rows is None and y is not None else n_rows or 0)
    if labels.ndim == 2:
        raise InputError(
            f"y has {labels.shape[1]} outputs, and this ensemble learns one",
            fix="Fit one ensemble an output, for example by sklearn.multioutput.MultiOutputClassifier.",
        )
    encoded = encode_classes(labels)
    return encoded.codes[:, 0], encoded.classes[0]
