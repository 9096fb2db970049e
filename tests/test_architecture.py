"""How many files a reader has to open: those whose functions run from `fit` to `predict_proba`."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import spinney

HERE = Path(spinney.__file__).parent


def classic_boosting() -> spinney.GradientBoostingClassifier:
    return spinney.GradientBoostingClassifier(preset="classic")


LIMITS = {
    spinney.GradientBoostingClassifier: 20,  # with early stopping, a second fit and two members
    classic_boosting: 17,
    spinney.RandomForestClassifier: 15,
    spinney.AdaBoostClassifier: 15,
    spinney.C45Classifier: 13,
}


def files_run(function: Callable[[], Any]) -> set[str]:
    """Call a function and return the files of Spinney, relative to it, whose functions ran in any thread."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    paths = {Path(code.co_filename) for code in seen}
    return {str(path.relative_to(HERE)) for path in paths if path.is_relative_to(HERE)}


def files_of(cls: Any) -> set[str]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    cls().fit(X, y).predict_proba(X)  # imports on first use are not counted
    # cached_attribute is read as the cached_property of the standard library is, chunk_mean and exp as
    # NumPy's average and exp are, is_sparse as SciPy's issparse is: by their names.
    by_name = {"core/cached_attribute.py", "core/arrays.py", "core/elementary.py", "data/sparse.py"}
    return files_run(lambda: cls().fit(X, y).predict_proba(X)) - by_name


def test_a_file_counts_once_its_functions_run() -> None:
    assert files_run(lambda: spinney.C45Classifier) == set()
    assert "io/files.py" in files_run(lambda: spinney.io.dumps(spinney.C45Classifier()))


@pytest.mark.parametrize("cls", LIMITS, ids=lambda cls: cls.__name__)
def test_few_files_run_from_fit_to_predict_proba(cls: Any) -> None:
    files = files_of(cls)
    assert len(files) <= LIMITS[cls], "\n".join(sorted(files))
