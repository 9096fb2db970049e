"""The page in a real browser: every tab and control, both colour schemes, narrow and wide, silent and alone.

Needs the Python package playwright and Chromium, on the path or in the variable SPINNEY_CHROMIUM.
"""

import csv
import os
import shutil
from urllib.parse import urlparse
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import spinney as sp
from reporting.pages import loans

CHROMIUM = os.environ.get("SPINNEY_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-headless-shell", "chromium-browser"))), None
)
playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page is tested in a browser only where playwright is installed"
)
if CHROMIUM is None:
    pytest.skip("no Chromium on the path or in SPINNEY_CHROMIUM", allow_module_level=True)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def pages(folder):
    """Save pages of a boosted model, AdaBoost, a tree, a forest, a regressor and hostile names."""
    X, y = loans(300, 0)
    Xt, yt = loans(200, 1)
    models = {
        "boosted": sp.GradientBoostingClassifier(n_estimators=20, ledger="full", random_state=0),
        "adaboost": sp.AdaBoostClassifier(n_estimators=12, ledger=True),
        "tree": sp.C45Classifier(ledger=True),
        "forest": sp.RandomForestClassifier(n_estimators=8, random_state=0),
    }
    for name, model in models.items():
        page = sp.report(model.fit(X, y), Xt, yt, X_train=X, y_train=y)
        page.save(folder / f"{name}.html")
    without = X.drop(columns="income")
    values = sp.GradientBoostingRegressor(n_estimators=10, random_state=0).fit(without, X.income)
    sp.report(values, Xt.drop(columns="income"), Xt.income).save(folder / "values.html")
    attack = "<img src=x onerror=\"window.attacked=1;fetch('http://127.0.0.1:9/')\"></script>{}"
    names = [attack.format(k) for k in range(30)]
    hostile = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 30)), columns=names)
    labels = np.where(hostile.iloc[:, 3] > 0, attack.format("yes"), attack.format("no"))
    model = sp.AdaBoostClassifier(n_estimators=6, ledger=True).fit(hostile, labels)
    sp.report(model, hostile, labels, title=attack).save(folder / "hostile.html")
    return [*models, "values", "hostile"]


@pytest.fixture(scope="module")
def browser(folder):
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            folder / "profile", executable_path=CHROMIUM, args=FLAGS, headless=True
        )
        yield context
        context.close()


class Visit:
    """A page that notes what it says on the console, what it asks for, and its errors."""

    def __init__(self, browser, folder):
        self.folder, self.noise, self.requests = folder, [], []
        self.page = browser.new_page()
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.noise.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, name, tab="", width=1280, scheme="light"):
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.emulate_media(color_scheme=scheme)
        self.page.goto("about:blank")
        self.page.goto(f"{(self.folder / name).as_uri()}.html{tab and '#' + tab}")
        return self.page

    def check_silent(self):
        assert self.noise == []
        assert [url for url in self.requests if urlparse(url).scheme not in ("file", "about")] == []
        assert len(self.requests) == len(
            [url for url in self.requests if url.endswith(".html") or "#" in url]
        )


@pytest.fixture
def visit(browser, folder, pages):
    one = Visit(browser, folder)
    yield one
    one.check_silent()
    one.page.close()


@pytest.mark.parametrize("name", ["boosted", "adaboost", "tree", "forest", "values", "hostile"])
def test_every_tab_at_both_widths_without_horizontal_scroll(visit, name):
    for width, scheme in ((1280, "light"), (360, "dark")):
        page = visit.open(name, width=width, scheme=scheme)
        for tab in page.query_selector_all("[role=tab]"):
            tab.click()
            panel = page.query_selector(f"#{tab.get_attribute('aria-controls')}")
            assert panel.is_visible()
            assert len([one for one in page.query_selector_all("section") if one.is_visible()]) == 1
            for closed in panel.query_selector_all("details:not([open]) > summary"):
                closed.click()
            inner, outer = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert inner <= outer, (tab.inner_text(), width, inner)
    assert page.evaluate("window.attacked") is None


def test_text_has_contrast_in_both_schemes(visit):
    measure = """() => {
      const part = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => (v /= 255) <= 0.03928
        ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
        if (!c.startsWith('rgba(0, 0, 0, 0')) return c; } return 'rgb(255,255,255)'; };
      const found = [];
      for (const e of document.querySelectorAll('p, td, th, dt, dd, h1, h2, figcaption, .value')) {
        if (!e.textContent.trim() || !e.offsetParent || behind(e).startsWith('color(')) continue;
        const [a, b] = [part(getComputedStyle(e).color), part(behind(e))].sort((x, y) => y - x);
        found.push([(a + 0.05) / (b + 0.05), e.className + e.tagName + e.textContent.slice(0, 20)]);
      }
      return found; }"""
    for scheme in ("light", "dark"):
        page = visit.open("boosted", scheme=scheme)
        found = page.evaluate(measure)
        assert len(found) > 30
        worst = min(found)
        assert worst[0] >= 4.5, (scheme, worst)
        backgrounds = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (backgrounds == "rgb(246, 247, 249)") == (scheme == "light")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"


def test_tabs_move_with_the_keyboard(visit):
    page = visit.open("boosted")
    page.focus("[role=tab]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-data"
    assert page.is_visible("#panel-data")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.id") == "tab-origin"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-overview"
    assert visit.open("boosted", "trees").is_visible("#panel-trees")


def test_threshold_slider_moves_counts_and_dots(visit):
    page = visit.open("boosted", "performance")
    cells = "[...document.querySelectorAll('#confusion td b')].map(one => +one.textContent.replace(',', ''))"
    before, dot = page.evaluate(cells), page.get_attribute("#roc .moving", "d")
    assert sum(before) == 200
    page.focus("#threshold")
    page.keyboard.press("Home")
    tn, fp, fn, tp = page.evaluate(cells)
    assert (tn, fn) == (0, 0)  # at the threshold 0 all rows are positive
    assert fp + tp == 200
    assert page.inner_text("#threshold-value") == "0"
    assert page.get_attribute("#roc .moving", "d") != dot
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#threshold-value") == "0.01"


def test_trees_are_chosen_zoomed_and_folded(visit):
    page = visit.open("boosted", "trees")
    nodes = ".tree:not([hidden]) .node"
    page.select_option("#tree-choice", "1")
    assert [one.is_visible() for one in page.query_selector_all(".tree")].count(True) == 1
    width = page.query_selector(".tree:not([hidden]) svg").bounding_box()["width"]
    page.click("[data-zoom=in]")
    assert page.query_selector(".tree:not([hidden]) svg").bounding_box()["width"] > width * 1.2
    page.click("[data-zoom=fit]")

    def visible():
        return sum(one.is_visible() for one in page.query_selector_all(nodes))

    page.click("[data-fold=none]")
    total = visible()
    page.click("[data-fold=all]")
    assert visible() == 3
    page.click("[data-fold=none]")
    assert visible() == total > 3
    fold = page.query_selector(f"{nodes} .fold")
    fold.focus()
    page.keyboard.press("Enter")
    assert visible() == 1
    assert fold.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")
    assert visible() == total


def test_a_node_shows_the_candidates_of_the_ledger(visit):
    for name in ("boosted", "tree"):
        page = visit.open(name, "trees")
        page.query_selector(".tree:not([hidden]) .node[data-node='0'] .box").click()
        panel = page.inner_text("#node-panel")
        assert "node 0" in panel
        assert "Split candidates in the ledger" in panel
        assert panel.count("(chosen)") == 1


def test_a_row_is_followed_through_the_trees(visit):
    page = visit.open("tree", "trees")
    assert page.is_hidden("#row-panel")
    page.select_option("#follow", index=1)
    found = page.query_selector_all(".node.path")
    assert found[0].get_attribute("data-node") == "0"
    depth = len(found)
    assert depth > 1
    assert len(page.query_selector_all("[data-edge].path")) == depth - 1
    assert "predicted" in page.inner_text("#row-panel")
    assert page.query_selector_all("#row-panel .contribution")
    page.select_option("#follow", "")
    assert not page.query_selector_all(".node.path")


@pytest.mark.parametrize("name", ["adaboost", "boosted", "values"])
def test_the_replay_slides_and_plays(visit, name):
    page = visit.open(name, "replay")
    state = """[...document.querySelectorAll('#regions .region')].map(one => one.getAttribute('d')).join('|')
      + [...document.querySelectorAll('#regions .point')].map(one => one.getAttribute('r')).join()"""
    last, margins = page.evaluate(state), page.get_attribute("#margin-line", "points")
    page.focus("#rounds")
    page.keyboard.press("Home")
    assert page.inner_text("#round") == "1"
    assert page.evaluate(state) != last
    assert page.get_attribute("#margin-line", "points") != margins
    if name == "adaboost":
        facts = page.inner_text("#round-facts")
        assert all(sign in facts for sign in ("ε", "α", "bound"))
    page.click("#play")
    for _ in range(100):  # the page lets no function be made of text, so it cannot be waited for in the page
        if int(page.inner_text("#round")) >= 3:
            break
        page.wait_for_timeout(50)
    assert int(page.inner_text("#round")) >= 3
    page.click("#play")
    assert page.inner_text("#play") == "Play"
    page.focus("#rounds")
    page.keyboard.press("End")
    assert page.evaluate(state) == last


def test_tables_are_sorted_by_their_headings(visit):
    page = visit.open("boosted", "data")
    rows = "[...document.querySelectorAll('#panel-data .sortable tbody tr')]"
    distinct = f"{rows}.map(row => +row.cells[4].textContent)"
    heading = page.query_selector("#panel-data .sortable th:nth-child(5)")
    heading.click()
    assert page.evaluate(distinct) == sorted(page.evaluate(distinct), reverse=True)
    heading.press("Enter")
    assert page.evaluate(distinct) == sorted(page.evaluate(distinct))


def saved(page, selector):
    """Click a button and return the name and the text of the file that is saved."""
    with page.expect_download() as waiting:
        page.query_selector(selector).click()
    return waiting.value.suggested_filename, waiting.value.path().read_text(encoding="utf-8")


def test_figures_are_saved_as_svg_and_tables_as_csv(browser, folder, pages):
    page = Visit(browser, folder).open("boosted", "performance", scheme="dark")
    name, svg = saved(page, "figure:has(#roc) .save")
    drawn = ElementTree.fromstring(svg)
    assert name == "roc-curve.svg" and drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert drawn.get("width") == str(page.evaluate("document.querySelector('#roc').viewBox.baseVal.width"))
    lines = [one for one in drawn.iter() if "line" in one.get("class", "").split()]
    assert lines and all(one.get("stroke") == "rgb(110, 164, 245)" for one in lines)  # as in the dark scheme
    page.click("#tab-trees")
    assert saved(page, "#panel-trees .buttons .save")[1].count("data-node") > 3
    page.click("#tab-overview")
    name, content = saved(page, "#panel-overview table .save")
    rows = list(csv.reader(content.splitlines()))
    assert name == "metrics-with-95-bootstrap-intervals.csv"
    assert rows[0] == ["Metric", "this model", "constant", "stump", "linear model"]
    assert rows[1][0].startswith("ROC AUC") and 0.5 < float(rows[1][1].split()[0]) <= 1
    page.close()


def test_saved_tables_have_no_formulas(browser, folder):
    X = pd.DataFrame({"=1+1": [0.0, 1.0] * 20, "-x": np.arange(40.0)})
    model = sp.DecisionTreeClassifier().fit(X, [0, 1] * 20)
    sp.report(model, X, [0, 1] * 20).save(folder / "formulas.html")
    page = Visit(browser, folder).open("formulas", "data")
    _, content = saved(page, "#panel-data .sortable .save")
    assert {row[0] for row in csv.reader(content.splitlines())} == {"Column", "'=1+1", "'-x"}
    page.close()


def test_print_shows_all_tabs_and_no_controls(visit):
    page = visit.open("boosted")
    page.emulate_media(media="print")
    assert all(one.is_visible() for one in page.query_selector_all("section"))
    assert not page.is_visible("nav")


def test_everything_is_there_without_script(browser, folder, pages):
    html = (folder / "boosted.html").read_text(encoding="utf-8").split("<script>")[0]
    (folder / "still.html").write_text(html, encoding="utf-8")
    page = browser.new_page()
    page.goto((folder / "still.html").as_uri())
    assert all(one.is_visible() for one in page.query_selector_all("section"))
    page.close()


def test_a_notebook_frame_runs_the_page(visit, folder):
    page = (folder / "boosted.html").read_text(encoding="utf-8")
    frame = sp.Report(page)._repr_html_()
    (folder / "notebook.html").write_text(f"<!DOCTYPE html><title>n</title>{frame}", encoding="utf-8")
    shown = visit.open("notebook")
    inside = shown.frame_locator("iframe")
    inside.locator("#tab-features").click()
    assert inside.locator("#panel-features").is_visible()
