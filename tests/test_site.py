"""The site: every page is in its navigation, everything public in its reference, and no request leaves it."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spinney

ROOT = Path(__file__).parents[1]
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def load(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r": ([\w-]+\.md)$", CONFIG, re.MULTILINE))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= listed


def test_links_between_files_of_the_repository_lead_to_pages():
    translate = load("repository").translate
    text = "[a](../ARCHITECTURE.md#x) [b](trees.md) [c](../examples/one.py) [d](https://a.b)\n```\n[e](../README.md)\n```"
    assert translate(text, "docs/page.md", "page.md") == (
        "[a](project/architecture.md#x) [b](trees.md) [c](gallery/one.md) [d](https://a.b)\n```\n[e](../README.md)\n```"
    )
    assert translate("[t](docs/trees.md)", "CONTRIBUTING.md", "project/contributing.md") == "[t](../trees.md)"


def test_the_performance_page_has_the_median_and_the_worst_case():
    tables = load("benchmark_tables")
    row = "| {} | {} | 2 s | {}× | 0.8 | – | – | 3 |\n"
    text = "".join(
        row.format(*one)
        for one in (("a", "Peer", 3), ("b", "Peer", 1), ("c", "Peer, fast", 8), ("c", "Spinney, x", 9))
    )
    assert tables.read_ratios(text) == {"Peer": {"a": 3.0, "b": 1.0, "c": 8.0}}
    assert "| Peer | 3 | 3.0× | 1.0× (b) | 8.0× (c) |" in tables.summary_table(tables.read_ratios(text))
    with pytest.raises(ValueError, match="performance"):
        tables.fill("nothing", ROOT / "benchmarks" / "RESULTS.md")


def test_the_reference_has_a_page_for_every_public_name():
    pytest.importorskip("griffe", reason="make docs installs it")
    reference = load("reference")
    pages = reference.pages()
    names = set(reference.public_names())
    assert names >= {"C45Classifier", "expand_dates", "save"}
    for name in names:
        assert f"[`{name}`]({name}.md)" in pages["api/index.md"]
        assert f"# {name}\n" in pages[f"api/{name}.md"]
    page = pages["api/C45Classifier.md"]
    for parameter in spinney.C45Classifier().get_params():
        assert f"\n`{parameter}` · " in page
    assert "### predict_proba" in page and "set_fit_request" not in page


@pytest.mark.long
def test_the_site_is_built_without_warnings_and_asks_no_other_host(tmp_path):
    pytest.importorskip("mkdocs", reason="make docs installs it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"?([^\"\s>]+)", text)
        loaded += re.findall(r"<link[^>]*rel=\"?(?:stylesheet|icon|preconnect)[^>]*href=\"?([^\"\s>]+)", text)
        assert not [one for one in loaded if re.match(r"(https?:)?//", one)], page
