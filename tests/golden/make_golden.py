"""Save models of the current version and their predictions, for every later version to load.

    python tests/golden/make_golden.py [name ...]

A file that exists is never overwritten: it stands for what users have on disk.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.subjects import Subject, learners, toys
from golden.expectations import (
    HERE,
    METHODS,
    Expectation,
    name_of_rows,
    read_expectations,
    write_expectations,
)
from golden.numeric_subjects import linear_subjects, matrix_subjects
from spinney.io import save
from spinney.io.container import VERSION

MAX_ROWS = 50


def make(subject: Subject, folder: Path) -> Expectation | None:
    """Save a model and return what it predicts; None if there is a file of it or nothing to predict."""
    path = folder / f"{subject.name}.spinney"
    rows = subject.rows()
    if path.exists() or rows is None:
        return None
    model, rows = subject.fit(), rows[:MAX_ROWS]
    expected = {
        method: np.asarray(getattr(model, method)(rows)) for method in METHODS if hasattr(model, method)
    }
    save(model, path)
    return Expectation(type(model).__name__, name_of_rows(rows), expected)


def main() -> None:
    folder = HERE / f"v{VERSION}"
    folder.mkdir(exist_ok=True)
    found = read_expectations(folder)
    for subject in [*toys(), *learners(), *matrix_subjects(), *linear_subjects()]:
        if not sys.argv[1:] or subject.name in sys.argv[1:]:
            expectation = make(subject, folder)
            if expectation is not None:
                found[subject.name] = expectation
                print(f"wrote {subject.name}")
    write_expectations(folder, found)


if __name__ == "__main__":
    main()
