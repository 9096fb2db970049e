"""The progress bar."""

import io

from rich.console import Console

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
