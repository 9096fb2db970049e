"""Save the learners of today beside their predictions, for every later version to load.

    python tests/golden/make_golden.py [name ...]

A file that is there already is never written again: it stands for what some user has on disk.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.subjects import Subject, learners, toys
from golden.expectations import METHODS, plain, plain_rows
from spinney.io import save
from spinney.io.container import VERSION

MAX_ROWS = 50


def make(subject: Subject, folder: Path) -> bool:
    """Write `name.spinney` and `name.json`; return whether they were new."""
    path = folder / f"{subject.name}.spinney"
    if path.exists():
        return False
    model, rows = subject.fit(), subject.rows()
    if rows is None:
        return False
    rows = rows[:MAX_ROWS]
    expected: dict[str, Any] = {
        method: plain(np.asarray(getattr(model, method)(rows)))
        for method in METHODS
        if hasattr(model, method)
    }
    content = {"class": type(model).__name__, "rows": plain_rows(rows), "expected": expected}
    folder.mkdir(exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    save(model, path)
    return True


def main() -> None:
    folder = Path(__file__).parent / f"v{VERSION}"
    for subject in [*toys(), *learners()]:
        if (not sys.argv[1:] or subject.name in sys.argv[1:]) and make(subject, folder):
            print(f"wrote {subject.name}")


if __name__ == "__main__":
    main()
