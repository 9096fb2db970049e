"""The command line on real files, as typed: in a terminal of 80 columns and through pipes.

The files are those of the folder that SPINNEY_DATA names, tables with a column ``target``: twenty, by a hash
of their names. Every one is fitted, with one learner or another, and the model goes through all commands.
"""

import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from cli.terminal import in_terminal, typed

FOLDER = Path(os.environ.get("SPINNEY_DATA", ""))
LEARNERS = ("cart", "random-forest", "auto", "linear", "extra-trees", "c4.5", "adaboost", "bagging")
N_FILES = 20

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(not os.environ.get("SPINNEY_DATA"), reason="SPINNEY_DATA names no folder of tables"),
]


def real_files():
    found = [path for path in FOLDER.glob("*") if path.name.endswith((".parquet", ".csv.gz"))]
    return sorted(found, key=lambda path: hashlib.sha256(f"cli {path.name}".encode()).digest())[:N_FILES]


def on_screen(*arguments, cwd):
    """Run a command in a terminal, and return what is shown."""
    code, shown, _ = in_terminal(*arguments, cwd=cwd, width=80)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert code == 0 and max(map(len, plain.splitlines())) <= 80, plain
    return plain


@pytest.mark.parametrize("number", range(N_FILES))
def test_a_real_file_goes_through_all_commands(number, tmp_path):
    path = real_files()[number]
    learner = LEARNERS[number % len(LEARNERS)]
    small = [] if path.stat().st_size < 1_000_000 else ["--rows", "5000"]
    fitted = typed("fit", path, "-t", "target", "-l", learner, "--no-score", "-o", "m", *small, cwd=tmp_path)
    if learner == "c4.5" and b"has no estimator for regression" in fitted.stderr:
        learner = "cart"
    shown = on_screen("fit", path, "-t", "target", "-l", learner, "--cv", 2, "-o", "m", *small, cwd=tmp_path)
    assert "saved m" in shown and "target target" in shown and "95 % interval" in shown

    piped = typed("predict", "m", "-", *small, stdin=path.read_bytes(), cwd=tmp_path)
    assert piped.returncode == 0 and piped.stderr == b"", piped.stderr
    scored = json.loads(typed("evaluate", "m", path, "--json", "-q", *small, cwd=tmp_path).stdout)
    assert len(piped.stdout.splitlines()) == scored["n_rows"] + 1

    assert "metric" in on_screen("evaluate", "m", path, *small, cwd=tmp_path)
    assert "feature" in on_screen("explain", "m", path, *small, "--rows", 300, cwd=tmp_path)
    one_row = typed("explain", "m", path, "--row", 2, *small, cwd=tmp_path)
    if b"is not a sum of trees" in one_row.stderr:  # a linear model, or the weighted median of AdaBoost.R2
        assert one_row.returncode == 5 and learner in ("linear", "adaboost")
    else:
        assert "contribution" in on_screen("explain", "m", path, "--row", 2, *small, cwd=tmp_path)
    if learner in ("cart", "c4.5"):
        assert "|---" in on_screen("tree", "m", cwd=tmp_path) and "THEN" in on_screen(
            "rules", "m", cwd=tmp_path
        )
    if learner in ("random-forest", "extra-trees", "bagging"):
        assert "members" in on_screen("diagnose", "m", path, *small, "--rows", 300, cwd=tmp_path)
    assert "hash" in on_screen("inspect", "m", cwd=tmp_path)
    for ending in ("c", "json"):
        done = typed("convert", "m", "-o", f"m.{ending}", cwd=tmp_path)
        assert done.returncode == 0 or done.stderr.startswith(b"error: ")
    on_screen("report", "m", path, "-o", "page.html", "--rows", 1000, cwd=tmp_path)
    assert (tmp_path / "page.html").stat().st_size < 1_000_000
