"""The programs of the gallery: each runs, prints, draws a picture, and tells of itself in its docstring."""

import ast
import runpy
from pathlib import Path

import matplotlib
import pytest

FOLDER = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(FOLDER.glob("*.py"))


def test_there_are_ten_and_the_readme_leads_there():
    assert len(PROGRAMS) >= 10
    assert "examples/" in (FOLDER.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs_prints_and_draws(path, tmp_path, monkeypatch, capsys):
    if path.stem == "kappa_error":
        pytest.skip("has a test of its own")
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert [one for one in tmp_path.iterdir() if one.suffix in {".png", ".svg"}]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_docstring_is_a_title_and_a_text(path):
    title, _, text = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n\n")
    assert title and "\n" not in title and len(title) < 70
    assert len(text.split("\n\n")) >= 2, "one sentence for the card, then the story"
