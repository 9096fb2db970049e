"""Files of the repository that the site shows as pages, and how links between them are translated."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "benchmarks/RESULTS.md": "project/results.md",
    "benchmarks/QUALITY.md": "quality.md",
    "LICENSE": "project/license.txt",
}
"""Path in the repository: path in the site. The README is not shown; the start page takes its place."""

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")


def shown_files() -> dict[str, str]:
    """Return the text of the files outside of docs/ that are pages, by their path in the site."""
    return {
        page: translate(f"{(ROOT / file).read_text(encoding='utf-8')}", file, page)
        for file, page in PAGES.items()
        if file != "README.md"
    }


def page_of(file: str) -> str | None:
    """Return the path in the site of a file of the repository.

    >>> page_of("docs/trees.md"), page_of("ARCHITECTURE.md"), page_of("examples/one_tree.py")
    ('trees.md', 'project/architecture.md', 'gallery/one_tree.md')
    """
    if file.startswith("examples/") and file.endswith(".py"):
        return f"gallery/{Path(file).stem}.md"
    return file.removeprefix("docs/") if file.startswith("docs/") else PAGES.get(file)


def translate(text: str, file: str, page: str) -> str:
    """Rewrite the links of a file, which are relative to it, to what the site has in their places.

    A link to a file that the site does not show becomes plain text.

    Parameters
    ----------
    text : str
        Markdown.
    file : str
        Path of the file in the repository.
    page : str
        Path of the page in the site.

    Returns
    -------
    str
        Markdown.
    """
    folder = posixpath.dirname(file)

    def link(match: re.Match[str]) -> str:
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        shown = page_of(posixpath.normpath(posixpath.join(folder, target)))
        if shown is None:
            return match[0]  # mkdocs reports it
        return f"{match[1]}{posixpath.relpath(shown, posixpath.dirname(page) or '.')}{match[3]}"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)
