"""Pages to test, and a reader that checks their markup."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd

VOID = {"meta", "input", "br", "hr", "img", "link"}
_TAGS = """
html head meta title style body a header div h1 h2 h3 h4 p button nav main section footer script svg line text
path polyline polygon rect circle g tspan figure figcaption table caption thead tbody tr th td span b strong
ul li dl dt dd details summary code pre label output input select option
"""
TAGS = set(_TAGS.split())


class Reader(HTMLParser):
    """Reads a page; complains about tags that are not closed, and ids that are there twice."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.attributes, self.ids, self.links = [], set(), set(), [], []
        self.scripts, self.texts, self.problems = [], [], []
        self.feed(page)
        self.close()
        self.problems += [f"<{tag}> is not closed" for tag in self.stack]

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "action", "data", "srcset", "xlink:href", "style"):
                self.links.append((tag, name, value))
        if tag == "script":
            self.scripts.append(dict(attrs))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.stack[-1:]}, line {self.getpos()}")
            return
        self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] not in ("script", "style"):
            self.texts.append(data)


def pictures(page):
    """Return the SVG pictures of a page."""
    return re.findall(r"<svg.*?</svg>", page, re.S)


def check_markup(page):
    """Raise AssertionError unless the markup is sound and nothing in it can leave the page or run."""
    found = Reader(page)
    assert not found.problems, found.problems[:5]
    assert len(found.ids) == len(set(found.ids))
    assert found.tags <= TAGS, found.tags - TAGS
    assert not [name for name in found.attributes if name.startswith("on")]
    assert found.links == [("a", "href", "#main")]
    runs = [script for script in found.scripts if script.get("type") != "application/json"]
    assert len(runs) == 1
    assert "default-src 'none'" in page
    assert "unsafe" not in page.split("</head>")[0]
    return found


def loans(n_rows, seed):
    """Make a table of loans, and which of them defaulted."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.lognormal(10, 0.5, n_rows).round(),
            "debt_ratio": rng.beta(2, 5, n_rows).round(3),
            "history": rng.choice(["good", "late", "none"], n_rows),
            "age": rng.integers(20, 70, n_rows).astype(float),
        }
    )
    z = 4 * (X.debt_ratio > 0.3) * (X.income < 25_000) + 1.5 * (X.history == "late") - 1.5
    y = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-z)), "default", "repaid")
    X.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return X, y
