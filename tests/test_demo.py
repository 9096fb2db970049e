import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from spinney import demo

SECTIONS = (
    "Data",
    "Decision tree",
    "Rules",
    "Why the root splits on sugar",
    "Missing values",
    "Pruning",
    "Accuracy on unseen data",
    "Model files and threads",
)


def shown(width):
    stream = io.StringIO()
    demo.run(Console(file=stream, width=width, highlight=False))
    return stream.getvalue()


@pytest.fixture(scope="module")
def page():
    return shown(80)


def test_every_section_is_there_in_order(page):
    places = [page.index(title + " ─") for title in SECTIONS]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "line",
    [
        "sugar <= 0.126 → no [no 5, yes 0]",
        "sugar <= 0.126 0.349 0.400",
        "texture = clear 7 7/15 = 0.467 7/15 = 0.467",
        "texture = slightly blurry 5 5/15 = 0.333 5/15 = 0.333",
        "texture = blurry 3 3/15 = 0.200 3/15 = 0.200",
        "670 boards for training, 288",
    ],
)
def test_the_numbers_of_the_textbook_are_shown(page, line):
    assert line in " ".join(page.split())


def test_all_promises_are_kept(page):
    assert page.count("✓") == 4
    assert "✗" not in page and "FAILED" not in page


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    assert max(map(len, shown(width).splitlines())) <= width


def test_a_wide_page_keeps_each_rule_on_its_line():
    assert "sugar > 0.126 AND density > 0.3815 AND texture = slightly blurry   no " in shown(120)


def test_conditions_break_before_and():
    text = demo._conditions(["a = 1", "bb = 2", "c = 3"], room=16)
    assert text.plain == "a = 1 AND bb = 2\nAND c = 3"
    assert demo._conditions([], room=16).plain == ""


def test_piped_output_has_no_colours_and_needs_no_unicode():
    command = [sys.executable, "-m", "spinney.demo"]
    kept = {
        name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")
    }
    environment = kept | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    run = subprocess.run(command, capture_output=True, env=environment, check=True)
    text = run.stdout.decode("ascii")
    assert "\x1b" not in text
    assert "Why the root splits on sugar" in text
    assert run.stderr == b""


def test_without_a_library_for_data_frames_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("spinney.datasets.loaders.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pandas or polars"):
        demo.main()
