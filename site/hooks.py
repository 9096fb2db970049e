"""What mkdocs calls while it builds the site: it adds the pages that are generated and translates links."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

import benchmark_tables
import gallery
import reference
import repository

_HIDDEN = {"index.md": ["navigation"]}
"""Columns beside a page that are left out; pages with wide code have no table of contents."""
_GALLERY = repository.ROOT / "build" / "gallery"


def on_config(config: Any) -> Any:
    """Fill the parts of the navigation that are generated."""
    for entry in config.nav:
        for title, pages in entry.items():
            if pages == "API":
                entry[title] = reference.navigation()
            elif pages == "GALLERY":
                shown = [{one.title: f"gallery/{one.name}.md"} for one in gallery.examples()]
                entry[title] = ["gallery/index.md", *shown]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the reference, the gallery, and the files of the repository that are pages."""
    pages, pictures = gallery.pages(_GALLERY)
    for path, text in (reference.pages() | pages | repository.shown_files()).items():
        files.append(File.generated(config, path, content=text))
    for path, picture in pictures.items():
        files.append(File.generated(config, path, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Translate links, and fill in the tables of the page on performance."""
    path = page.file.src_uri
    page.meta["hide"] = _HIDDEN.get(path, ["toc"] if path.startswith(("from-", "gallery/")) else [])
    if page.file.generated_by:
        return markdown
    if path == "performance.md":
        markdown = benchmark_tables.fill(markdown, repository.ROOT / "benchmarks" / "RESULTS.md")
    return repository.translate(markdown, f"docs/{path}", path)
