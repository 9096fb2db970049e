"""Report: one HTML page about a fitted model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spinney.core.errors import InputError
from spinney.io.files import replace_file
from spinney.reporting.drawing.leaderboard import draw_leaderboard
from spinney.reporting.drawing.page import draw_page
from spinney.reporting.leaderboard import Leaderboard, describe_comparison, is_comparison
from spinney.reporting.record import ReportRecord, compute_record
from spinney.reporting.rows import read_rows


class Report:
    """A page about a model: one HTML file that needs nothing else and makes no requests.

    In a notebook it is shown in a frame of its own.

    Parameters
    ----------
    html : str
        The document.
    record : object or None, default=None
        What the page shows, as plain values.

    Attributes
    ----------
    html : str
        The document.
    record : ReportRecord, Leaderboard or None
        What the page shows, as plain values.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier, report
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, ["no", "no", "yes", "yes"] * 5
    >>> page = report(DecisionTreeClassifier().fit(X, y), X, y)
    >>> page.html.splitlines()[0]
    '<!DOCTYPE html>'
    """

    def __init__(self, html: str, record: ReportRecord | Leaderboard | None = None) -> None:
        self.html, self.record = html, record

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1e3:.0f} kB; save(path) writes it to a file)"

    def _repr_html_(self) -> str:
        # A document inside another one would share its styles and ids.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            'title="Spinney report" width="100%" height="720" '
            'style="border:1px solid #ccc;border-radius:8px"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, completely or not at all.

        Parameters
        ----------
        path : str or path
            Where to write it.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> spinney.report(model, X, y).save("report.html")  # doctest: +SKIP
        """
        place = Path(path).resolve()
        replace_file(place, self.html.encode())
        return place


def report(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: str | Sequence[Any] | Mapping[str, Any] | None = None,
    qid: ArrayLike | None = None,
    replay_features: Sequence[str | int] | None = None,
    output: int = 0,
    title: str | None = None,
    show_rows: bool = True,
    max_rows: int = 20_000,
    command: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> Report:
    """Make a page about a fitted model: how good it is, what it uses, and where it errs.

    The page compares the model with a constant, a stump and a linear model, describes the data and warns
    about leakage, ids, duplicates and drift, and shows learning curves, operating points, calibration or
    residuals, metrics by group, importances, dependence, trees, a replay of boosting, members of an ensemble,
    the pruning path and the worst rows. Sections that do not apply to the model are left out.

    Use rows that the model was not fitted to.

    Parameters
    ----------
    model : estimator or Comparison
        A fitted model, Spinney's or another one with scikit-learn's interface; or a leaderboard from
        `spinney.compare`, which has a page of its own and takes no rows, only `title` and `command`.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features) or None, default=None
        Rows to report on.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs) or None, default=None
        Their labels or values; None leaves out everything that compares predictions with them.
    X_train : array-like, sparse matrix or data frame of shape (n_training, n_features) or None, default=None
        Training rows, for the baselines, the drift, the replay and the pruning path. Without them baselines
        are cross-validated on the reported rows.
    y_train : array-like of shape (n_training,) or (n_training, n_outputs) or None, default=None
        Labels or values of the training rows.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Weights of the reported rows.
    groups : str, sequence, dict or None, default=None
        How to group rows for the metrics by group: names of columns, an array with the group of each row, or
        a dict of such arrays by name. None takes the three most important features.
    qid : array-like of shape (n_rows,) or None, default=None
        Query of each row, for a ranker.
    replay_features : sequence of str or int, or None, default=None
        Two features whose plane the replay of boosting shows; None takes the most important ones.
    output : int, default=0
        Which output to report on, if there are several.
    title : str or None, default=None
        Title of the page; None names the model.
    show_rows : bool, default=True
        Whether the page may contain single rows: the worst ones and those to follow through the trees.
    max_rows : int, default=20000
        Of more rows a random sample is reported.
    command : str or None, default=None
        Command that repeats the fit, for the reproducibility block; None is that of the metadata, or the
        constructor.
    metadata : dict or None, default=None
        Facts to show in the reproducibility block, such as those of the model file.
    random_state : int, default=0
        Seed of samples, folds, permutations and bootstrap draws.

    Returns
    -------
    Report
        The page; ``save`` writes it to a file.

    Raises
    ------
    InputError
        If only one of `X_train` and `y_train` is given, or rows, weights or groups do not fit.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier, report
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, ["no", "no", "yes", "yes"] * 5
    >>> page = report(DecisionTreeClassifier().fit(X, y), X, y, title="A small tree")
    >>> page.record.verdict.headline
    'ROC AUC'
    """
    if is_comparison(model):
        board = describe_comparison(model, title, command)
        return Report(draw_leaderboard(board), board)
    check_is_fitted(model)
    if X is None:
        raise InputError("There are no rows to report on", fix="Pass X, and y if there is one.")
    if (y is None or y_train is None) and X_train is not None and (y is None) != (y_train is None):
        raise InputError("X_train is given without y_train", fix="Pass both.")
    if X_train is None and y_train is not None:
        raise InputError("y_train is given without X_train", fix="Pass both.")
    options: dict[str, Any] = {"output": output, "max_rows": max_rows, "seed": random_state}
    rows = read_rows(model, X, y, sample_weight=sample_weight, qid=qid, **options)
    train = None if X_train is None else read_rows(model, X_train, y_train, **options)
    record = compute_record(
        model,
        rows,
        train,
        title=f"{type(model).__name__}: report" if title is None else title,
        groups=groups,
        replay_features=replay_features,
        output=output,
        show_rows=show_rows,
        command=command,
        metadata=metadata,
        seed=random_state,
    )
    return Report(draw_page(record), record)
