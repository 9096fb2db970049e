"""Pages of the gallery: every example with its text, its code, what it prints and the pictures it draws."""

from __future__ import annotations

import ast
import contextlib
import io
import runpy
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import matplotlib as mpl

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Example:
    """One program of the folder examples.

    Attributes
    ----------
    name : str
        Name of the file without its ending.
    title : str
        First line of its docstring.
    text : str
        Rest of its docstring, Markdown.
    code : str
        The program without its docstring.
    """

    name: str
    title: str
    text: str
    code: str


def read_example(path: Path) -> Example:
    """Read a program; its docstring is the text of its page."""
    source = path.read_text(encoding="utf-8")
    module = ast.parse(source)
    title, _, text = (ast.get_docstring(module) or path.stem).partition("\n")
    code = "\n".join(source.splitlines()[module.body[0].end_lineno or 0 :]).strip("\n")
    return Example(path.stem, title.strip().rstrip("."), text.strip(), code)


def examples() -> list[Example]:
    """Return all examples in the order of their titles."""
    return sorted((read_example(path) for path in EXAMPLES.glob("*.py")), key=lambda one: one.title)


def run(example: Example, folder: Path) -> str:
    """Run an example in a folder of its own, and return what it prints."""
    folder.mkdir(parents=True, exist_ok=True)
    program, printed = str(EXAMPLES / f"{example.name}.py"), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), mock.patch("sys.argv", [program]):
        runpy.run_path(program, run_name="__main__")
    return printed.getvalue()


def pages(folder: Path) -> tuple[dict[str, str], dict[str, Path]]:
    """Run all examples and write their pages.

    Parameters
    ----------
    folder : Path
        Where the examples run and leave their pictures.

    Returns
    -------
    pages : dict
        Markdown by path in the site.
    pictures : dict
        Files by path in the site.
    """
    found = examples()
    mpl.use("agg")
    printed = [run(one, folder / one.name) for one in found]
    texts, pictures, cards = {}, {}, []
    for example, output in zip(found, printed, strict=True):
        drawn = sorted(path for path in (folder / example.name).glob("*") if path.suffix in {".png", ".svg"})
        pictures |= {f"gallery/{example.name}-{path.name}": path for path in drawn}
        names = [f"{example.name}-{path.name}" for path in drawn]
        texts[f"gallery/{example.name}.md"] = _page(example, output, names)
        cards.append(_card(example, names))
    texts["gallery/index.md"] = _index(cards)
    return texts, pictures


def _page(example: Example, output: str, pictures: list[str]) -> str:
    shown = "\n\n".join(f"![{example.title}]({name})" for name in pictures)
    printed = f"It prints\n\n```text\n{output.rstrip()}\n```\n" if output.strip() else ""
    return (
        f"# {example.title}\n\n{example.text}\n\n{shown}\n\n{printed}\n"
        f"The program, `examples/{example.name}.py`:\n\n```python\n{example.code}\n```\n"
    )


def _card(example: Example, pictures: list[str]) -> str:
    picture = f"[![]({pictures[0]})]({example.name}.md)\n\n    " if pictures else ""
    sentence = example.text.split("\n\n")[0].replace("\n", " ")
    return f"-   {picture}**[{example.title}]({example.name}.md)**\n\n    {sentence}\n"


def _index(cards: list[str]) -> str:
    return (
        "# Gallery\n\nPrograms to copy and change. All run in the tests, on data that is generated or comes "
        'with Spinney or scikit-learn.\n\n<div class="grid cards gallery" markdown>\n\n'
        + "\n".join(cards)
        + "\n</div>\n"
    )
