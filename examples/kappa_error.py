"""The κ–error diagram of boosted and bagged trees.

Every pair of fifty C4.5 trees on tic-tac-toe is a point: how alike the two are, and how wrong.

Boosting makes trees that differ more and err more, bagging trees that are more alike and better alone
(Margineantu and Dietterich 1997).
Run it as ``python examples/kappa_error.py [picture.png]``; it prints the middle of each cloud.
"""

from __future__ import annotations

import sys
from typing import Any

from sklearn.model_selection import train_test_split

import spinney
from spinney.datasets import load_tic_tac_toe
from spinney.diversity import KappaErrorPoints, kappa_error
from spinney.plotting import plot_kappa_error

N_TREES = 50


def ensembles(random_state: int = 0) -> dict[str, Any]:
    """Make the two ensembles: the same trees, once boosted, once bagged."""
    tree = spinney.C45Classifier()
    shared = {"n_estimators": N_TREES, "random_state": random_state}
    return {
        "AdaBoost": spinney.AdaBoostClassifier(tree, algorithm="discrete", resample=True, **shared),
        "Bagging": spinney.BaggingClassifier(tree, **shared),
    }


def clouds(random_state: int = 0) -> dict[str, KappaErrorPoints]:
    """Fit both to half of the boards, and measure every pair of trees on the other half."""
    X, y = load_tic_tac_toe()
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=random_state
    )
    fitted = {name: model.fit(X_train, y_train) for name, model in ensembles(random_state).items()}
    return {name: kappa_error(model, y_test, X=X_test) for name, model in fitted.items()}


def main(path: str = "kappa_error.png") -> None:
    """Draw the picture and print where its clouds are."""
    import matplotlib

    matplotlib.use("agg")
    points = clouds()
    ax = plot_kappa_error(points)
    ax.set_title(f"{N_TREES} C4.5 trees on tic-tac-toe, each point a pair")
    ax.figure.savefig(path, dpi=150)
    for name, cloud in points.items():
        print(f"{name}: mean κ {cloud.mean_kappa:.3f}, mean error {cloud.mean_error:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
