"""The pages tell the truth: their examples run and print what is shown, their links lead somewhere."""

import inspect
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import matplotlib
import pytest

import spinney

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
LEARNERS = [name for name in spinney.__all__ if name.endswith(("Classifier", "Regressor"))]

# What a page takes as given.
GIVEN = {"model-file.md": {"model": spinney.DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])}}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def blocks(text):
    """Return (language, content, line, text that follows up to the next block) of every fenced block."""
    found = list(_FENCE.finditer(text))
    for match, following in zip(found, [*found, None][1:], strict=True):
        between = text[match.end() : following.start()] if following else text[match.end() :]
        yield match[1], match[2], text.count("\n", 0, match.start()) + 2, between


def examples(page):
    """Return (code, line, expected output or None) of every Python block.

    A ``text`` block right after one is what it prints.
    """
    found = list(blocks(page.read_text(encoding="utf-8")))
    for place, (language, content, line, between) in enumerate(found):
        if language == "python":
            output = None
            if not between.strip() and place + 1 < len(found) and found[place + 1][0] == "text":
                output = found[place + 1][1]
            yield content, line, output


def trimmed(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@each_page
def test_examples_run_in_order_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names = {"__name__": "__main__"} | GIVEN.get(page.name, {})
    for code, line, expected in examples(page):
        printed = io.StringIO()
        with redirect_stdout(printed):
            # Blank lines in front, so that an error tells the line of the page.
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
        if expected is not None:
            assert trimmed(printed.getvalue()) == trimmed(expected), f"{page.name}, line {line}"
        else:
            assert printed.getvalue() == "", f"{page.name}, line {line}: prints, but no output is shown"


def test_the_pages_with_examples_have_some():
    plain = {"CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md", "index.md", "glossary.md", "model-file.md"}
    for page in PAGES:
        if page.name not in plain:
            assert len(list(examples(page))) >= 1, page.name


@each_page
def test_links_lead_to_files_and_headings(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(text):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        other = (page.parent / file).resolve() if file else page
        assert other.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(other), f"{page.name}: {target}"


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_links_to_every_page():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"]({page.name})" in index, page.name


@each_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name in re.findall(r"`make ([\w-]+)", page.read_text(encoding="utf-8")):
        assert name in targets, f"{page.name}: make {name}"


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_and_its_parameters_are_described(name):
    assert name in (ROOT / "README.md").read_text(encoding="utf-8")
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    told = "".join(text for text in texts if f"`{name}`" in text)
    assert told, "no page tells of it"
    for parameter in inspect.signature(getattr(spinney, name)).parameters:
        assert f"`{parameter}`" in told, parameter
