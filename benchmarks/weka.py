"""Weka's J48 (C4.5 release 8 in Java) as a peer: writes ARFF files, runs Java, reads what it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import NotMeasuredError

if TYPE_CHECKING:
    import pandas as pd

# Where distributions put it; WEKA_JAR (a class path) overrides.
JARS = ("/usr/share/java/weka.jar", "/usr/share/java/cup_runtime.jar", "/usr/share/java/cup.jar")


@dataclass
class J48Result:
    """The results of one training run of Weka."""

    seconds: float  # "Time taken to build model", by Java's own clock: no reading of files, no start of Java
    train_accuracy: float
    test_accuracy: float | None
    leaves: int


def class_path() -> str:
    """Return Java's class path with Weka on it."""
    if shutil.which("java") is None:
        raise NotMeasuredError("not measured: java is not installed")
    if given := os.environ.get("WEKA_JAR"):
        return given
    if not Path(JARS[0]).exists():
        raise NotMeasuredError("not measured: Weka is not installed (set WEKA_JAR to its jar)")
    return os.pathsep.join(jar for jar in JARS if Path(jar).exists())


def weka_j48_seconds(
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    options: tuple[str, ...] = ("-C", "0.25", "-M", "2"),
) -> J48Result:
    """Train J48 and give its build time and accuracies; options are J48's own (`-U` for no pruning)."""
    import pandas as pd

    path = class_path()
    train = pd.DataFrame(X).reset_index(drop=True)
    test = None if X_test is None else pd.DataFrame(X_test).reset_index(drop=True)
    header = arff_header([train] if test is None else [train, test], y if test is None else [*y, *y_test])
    with tempfile.TemporaryDirectory() as folder:
        command = ["java", "-Xmx3g", "-cp", path, "weka.classifiers.trees.J48", *options]
        command += ["-t", str(write_arff(Path(folder) / "train.arff", header, train, y))]
        if test is not None:
            command += ["-T", str(write_arff(Path(folder) / "test.arff", header, test, y_test))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    return read_report(done.stdout, done.stderr)


def read_report(printed: str, complaints: str = "") -> J48Result:
    """Read the figures from what Weka prints."""
    built = re.search(r"Time taken to build model: ([\d.,]+) seconds", printed)
    accuracies = re.findall(r"Correctly Classified Instances\s+\S+\s+([\d.,]+)\s*%", printed)
    leaves = re.search(r"Number of Leaves\s*:\s*(\d+)", printed)
    if built is None or not accuracies or leaves is None:
        raise NotMeasuredError(f"not measured: Weka said {(complaints or printed).strip()[:200]!r}")
    shares = [float(a.replace(",", ".")) / 100 for a in accuracies]
    test = shares[1] if len(shares) > 1 else None
    return J48Result(float(built[1].replace(",", ".")), shares[0], test, int(leaves[1]))


def arff_header(frames: list[pd.DataFrame], y: Any) -> str:
    """Declare the columns, with every category of any of the frames."""
    lines = ["@relation benchmark"]
    for j, name in enumerate(frames[0].columns):
        if is_numeric(frames[0].dtypes.iloc[j]):
            lines.append(f"@attribute '{name}' numeric")
        else:
            levels = sorted({str(value) for frame in frames for value in frame.iloc[:, j].dropna().unique()})
            lines.append(f"@attribute '{name}' {{{','.join(levels)}}}")
    lines.append(f"@attribute class {{{','.join(sorted({str(label) for label in y}))}}}")
    return "\n".join([*lines, "@data", ""])


def write_arff(path: Path, header: str, frame: pd.DataFrame, y: Any) -> Path:
    """Write the rows; a missing cell is a question mark."""
    with path.open("w") as out:
        out.write(header)
        rows = frame.assign(**{"class": np.asarray(y)})
        rows.to_csv(out, header=False, index=False, na_rep="?")
    return path


def is_numeric(dtype: Any) -> bool:
    """Return whether a column is numeric."""
    return getattr(dtype, "kind", "O") in "iufb"
