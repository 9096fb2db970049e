import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

import spinney
from spinney.cli import demo

SECTIONS = (
    "A leaderboard: benign or malignant?",
    "A tree, and why it splits as it does",
    "A boosted model, round by round",
    "One prediction explained",
    "A saved model, and a report",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def page(folder):
    stream = io.StringIO()
    demo.run(Console(file=stream, width=80, highlight=False), folder)
    return stream.getvalue()


def test_every_section_is_there_in_order(page):
    places = [page.index(title + " ─") for title in SECTIONS]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "line",
    [
        "sugar <= 0.126 → no [no 5, yes 0]",
        "sugar <= 0.126 0.349 0.400",
        "569 tumours",
        "gradient-boosting",
        "worst concave points",
        "same predictions",
        "checksum does not match",
    ],
)
def test_numbers_and_names_are_shown(page, line):
    assert line in " ".join(page.split())


def test_all_promises_are_kept(page):
    assert page.count("✓") == 2
    assert "✗" not in page and "FAILED" not in page


def test_no_line_is_wider_than_the_terminal(page):
    assert max(map(len, page.splitlines())) <= 80


def test_the_files_are_written(page, folder):
    assert spinney.load(folder / "demo.spinney").predict_proba is not None
    assert (folder / "demo.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"xdg-open {folder}" in "".join(page.split("\n  "))


def test_curves_are_drawn_from_the_largest_value_to_the_smallest():
    lines = demo.plot_curve([3.0, 2.0, 1.0], width=3, height=2).splitlines()
    assert lines[0].split("▏")[1] == "█  " and lines[1].split("▏")[1] == "██▁"


@pytest.mark.long
def test_piped_output_has_no_colours_and_needs_no_unicode(tmp_path):
    kept = {
        name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")
    }
    environment = kept | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    command = [sys.executable, "-m", "spinney", "demo", "--folder", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, env=environment, check=True)
    text = run.stdout.decode("ascii")
    assert "\x1b" not in text and "A boosted model" in text and run.stderr == b""
