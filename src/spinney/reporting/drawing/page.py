"""The page of a report: tabs, style, script, and the policy that lets no request leave it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files

from spinney.reporting.drawing.features import draw_features, draw_members
from spinney.reporting.drawing.markup import text
from spinney.reporting.drawing.overview import draw_data, draw_overview
from spinney.reporting.drawing.performance import draw_learning, draw_mistakes, draw_performance
from spinney.reporting.drawing.replay import draw_replay
from spinney.reporting.drawing.reproduction import draw_provenance
from spinney.reporting.drawing.trees import draw_trees
from spinney.reporting.record import ReportRecord


def draw_page(record: ReportRecord) -> str:
    """Return a report as one HTML document."""
    tabs: list[tuple[str, str, Callable[[], str]]] = [("overview", "Overview", lambda: draw_overview(record))]
    tabs.append(("data", "Data", lambda: draw_data(record.data)))
    if record.classes is not None or record.values is not None or record.groups:
        tabs.append(("performance", "Performance", lambda: draw_performance(record)))
    if record.learning is not None or (record.pruning is not None and len(record.pruning.steps) > 1):
        tabs.append(("learning", "Learning", lambda: draw_learning(record.learning, record.pruning)))
    if record.features is not None:
        features = record.features
        tabs.append(("features", "Features", lambda: draw_features(features)))
    if record.trees is not None:
        trees = record.trees
        tabs.append(("trees", "Trees", lambda: draw_trees(trees)))
    if record.replay is not None:
        replay = record.replay
        tabs.append(("replay", "Boosting replay", lambda: draw_replay(replay)))
    if record.members is not None:
        members = record.members
        tabs.append(("members", "Ensemble", lambda: draw_members(members)))
    if record.mistakes is not None:
        mistakes = record.mistakes
        tabs.append(("mistakes", "Mistakes", lambda: draw_mistakes(mistakes)))
    tabs.append(("origin", "Reproduce", lambda: draw_provenance(record.provenance)))
    sections = [(name, title, make()) for name, title, make in tabs]
    name, created = record.provenance.class_name, record.provenance.created
    return assemble(record.title, created if name in record.title else f"{name} · {created}", sections)


def assemble(title: str, subtitle: str, sections: list[tuple[str, str, str]]) -> str:
    """Return the document of sections, each with its id, title and content."""
    style, script = _asset("style.css"), _asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri "
        "'none'; form-action 'none'"
    )
    buttons = "".join(
        f'<button type="button" role="tab" id="tab-{name}" aria-controls="panel-{name}" '
        f'aria-selected="{"false" if k else "true"}" tabindex="{-1 if k else 0}">{heading}</button>'
        for k, (name, heading, _) in enumerate(sections)
    )
    panels = "".join(
        f'<section id="panel-{name}" role="tabpanel" aria-labelledby="tab-{name}">'
        f"<h2 class=panel-title>{heading}</h2>\n{content}\n</section>\n"
        for name, heading, content in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        'content="light dark">\n'
        f'<meta name="generator" content="Spinney"><title>{text(title)}</title>\n<style>{style}</style>'
        "</head>\n"
        '<body><a class="skip" href="#main">Skip to the content</a>\n<header><div class="bar"><div>'
        f'<h1>{text(title)}</h1><p class="faint">{text(subtitle)}</p></div>'
        '<button type="button" id="theme" aria-label="change between light and dark">◐</button></div>'
        "</header>\n"
        f'<nav><div role="tablist" aria-label="sections of the report">{buttons}</div></nav>\n'
        f'<main id="main">{panels}</main>\n<footer class="faint">Made by Spinney. This page is one file '
        "and makes no requests.</footer>\n"
        f"<script>{script}</script></body></html>\n"
    )


@cache
def _asset(name: str) -> str:
    return files("spinney.reporting.drawing").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()
