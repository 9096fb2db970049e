"""The progress bar."""

import io
import logging
import sys
from types import SimpleNamespace

from rich.console import Console

from spinney import AdaBoostClassifier, GradientBoostingRegressor
from spinney.core.progress import ProgressBar, track


def test_bar_shows_title_count_and_text():
    screen = io.StringIO()
    with ProgressBar("growing", 4, console=Console(file=screen, width=120, force_terminal=True)) as bar:
        bar.update(3, "error 0.25")
    shown = screen.getvalue()
    assert "growing" in shown and "3/4" in shown and "error 0.25" in shown


def test_nothing_is_shown_unless_asked_for(capfd):
    with ProgressBar("growing", 4, shown=0) as bar:
        bar.update(3)
    assert list(track(range(3), None, 3)) == [0, 1, 2]
    assert capfd.readouterr() == ("", "")


def test_tracking_draws_on_standard_error(capfd):
    assert list(track(range(3), "counting", 3)) == [0, 1, 2]
    captured = capfd.readouterr()
    assert captured.out == "" and "counting" in captured.err


def test_messages_replace_the_bar_where_the_logger_is_enabled(caplog, capfd):
    caplog.set_level(logging.INFO, logger="spinney")
    for every, expected in ((4, ["4/10", "8/10", "10/10"]), (1, [f"{i}/10" for i in range(1, 11)])):
        caplog.clear()
        with ProgressBar("growing", 10, shown=every) as bar:
            for done in range(1, 11):
                bar.update(done, "error 0.25")
        assert [record.getMessage() for record in caplog.records] == [
            f"growing {count}  error 0.25" for count in expected
        ]
    assert capfd.readouterr().err == ""


def test_boosting_logs_one_line_every_k_rounds(caplog):
    caplog.set_level(logging.INFO, logger="spinney")
    X, y = [[float(i)] for i in range(40)], [i % 7 for i in range(40)]
    GradientBoostingRegressor(n_estimators=20, verbose=5, early_stopping=False).fit(X, y)
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[1] for line in lines] == ["5/20", "10/20", "15/20", "20/20"]
    assert {record.name for record in caplog.records} == {"spinney"}
    caplog.clear()
    AdaBoostClassifier(n_estimators=4, verbose=2).fit(X, [value > 3 for value in y])
    assert [record.getMessage().split()[1] for record in caplog.records] == ["2/4", "4/4"]


class Handle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, html):
        self.shown.append(html)


def test_a_notebook_cell_shows_a_bar_that_is_replaced(monkeypatch, capfd):
    shown = []

    def display(html, display_id):
        shown.append(html)
        return Handle(shown)

    shell = SimpleNamespace(kernel=object())
    pages = SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=pages))
    monkeypatch.setitem(sys.modules, "IPython.display", pages)
    with ProgressBar("<growing>", 4) as bar:
        bar.update(1, "error <0.5>")
        bar.update(4, "done")
    assert 'value="0"' in shown[0] and 'value="4" max="4"' in shown[-1] and "4/4  done" in shown[-1]
    assert all("&lt;growing&gt;" in one and "<growing>" not in one for one in shown)
    assert capfd.readouterr() == ("", "")
    shell = None
    with ProgressBar("growing", 4):
        pass
    assert "growing" in capfd.readouterr().err
