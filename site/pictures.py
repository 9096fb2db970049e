"""Draws the pictures of the user guide: python site/pictures.py writes docs/pictures/*.svg and *.png."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons

import spinney
from spinney import datasets, plotting

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
GREEN, RED, BLUE, GREY = "#1d6b45", "#b3402a", "#2b5c9e", "#777777"


def moons(noise: float = 0.3) -> tuple[Any, Any]:
    """Return two classes that no straight line separates."""
    return make_moons(300, noise=noise, random_state=0)


def draw_regions(ax: Any, model: Any, X: Any, y: Any, title: str) -> None:
    """Draw the predicted probability of the second class, and the rows."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    a, b = np.meshgrid(np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 160))
    p = model.predict_proba(np.column_stack([a.ravel(), b.ravel()]))[:, 1].reshape(a.shape)
    ax.imshow(
        p, extent=(low[0], high[0], low[1], high[1]), origin="lower", aspect="auto", cmap="PRGn",
        vmin=-0.5, vmax=1.5, alpha=0.7,
    )  # fmt: skip
    marks = np.asarray(y) == np.unique(y)[1]
    ax.plot(*X[marks].T, "o", color=GREEN, markersize=2.5)
    ax.plot(*X[~marks].T, "x", color="#6d2a7c", markersize=3)
    ax.set_title(title, fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])


def row_of_regions(models: dict[str, Any], X: Any, y: Any) -> Any:
    """Fit models and draw their regions side by side."""
    figure, axes = plt.subplots(1, len(models), figsize=(2.5 * len(models), 2.3), layout="constrained")
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        draw_regions(ax, model.fit(X, y), X, y, title)
    return figure


def trees() -> Any:
    """Regions of a shallow, a full and an oblique tree."""
    X, y = moons()
    return row_of_regions(
        {
            "CART, depth 3": spinney.DecisionTreeClassifier(max_depth=3),
            "CART, full depth": spinney.DecisionTreeClassifier(),
            "oblique, pruned": spinney.ObliqueTreeClassifier(pruning="pessimistic", random_state=0),
        },
        X, y,
    )  # fmt: skip


def forests() -> Any:
    """Regions of one tree, a forest and extremely randomised trees."""
    X, y = moons()
    return row_of_regions(
        {
            "one tree": spinney.DecisionTreeClassifier(),
            "random forest": spinney.RandomForestClassifier(200, random_state=0),
            "extra trees": spinney.ExtraTreesClassifier(200, random_state=0),
        },
        X, y,
    )  # fmt: skip


def adaboost() -> Any:
    """Regions of boosted stumps after a few rounds."""
    X, y = moons(0.2)
    models = {f"{t} stump{'s' * (t > 1)}": spinney.AdaBoostClassifier(n_estimators=t) for t in (1, 5, 100)}
    return row_of_regions(models, X, y)


def combining() -> Any:
    """Regions of three learners and of their soft vote."""
    X, y = moons()
    members = {
        "tree": spinney.DecisionTreeClassifier(max_depth=3),
        "logistic regression": spinney.LogisticRegression(),
        "naive Bayes": spinney.GaussianNB(),
    }
    vote = spinney.VotingClassifier(list(members.items()), voting="soft", weights="learned")
    return row_of_regions(members | {"learned soft vote": vote}, X, y)


def box() -> Any:
    """The box of the textbook: one line, one stump, sixty stumps."""
    X, y = datasets.make_box(150, frame=None)
    return row_of_regions(
        {
            "logistic regression": spinney.LogisticRegression(),
            "one stump": spinney.AdaBoostClassifier(algorithm="discrete", n_estimators=1),
            "60 boosted stumps": spinney.AdaBoostClassifier(algorithm="discrete", n_estimators=60),
        },
        X, y,
    )  # fmt: skip


def gradient_boosting() -> Any:
    """A curve, approximated by more and more rounds."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 200))
    y = np.sin(x) + x / 5 + rng.normal(0, 0.3, 200)
    figure, axes = plt.subplots(1, 3, figsize=(7.5, 2.3), layout="constrained", sharey=True)
    for ax, rounds in zip(axes, (1, 10, 100), strict=True):
        model = spinney.GradientBoostingRegressor(
            n_estimators=rounds, learning_rate=0.1, max_depth=3, early_stopping=False
        ).fit(x[:, None], y)
        ax.plot(x, y, ".", color=GREY, markersize=3)
        ax.plot(x, model.predict(x[:, None]), color=GREEN, linewidth=2)
        ax.set_title(f"{rounds} round{'s' * (rounds > 1)}", fontsize=9)
    return figure


def quantiles() -> Any:
    """A 5 % to 95 % band by the quantiles of a forest."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 400))
    y = np.sin(x) * 2 + rng.normal(0, 0.1 + 0.08 * x, 400)
    model = spinney.RandomForestRegressor(200, min_samples_leaf=8, random_state=0, keep_targets=True)
    low, middle, high = model.fit(x[:, None], y).predict_quantiles(x[:, None], (0.05, 0.5, 0.95)).T
    figure, ax = plt.subplots(figsize=(5, 2.4), layout="constrained")
    ax.fill_between(x, low, high, color=GREEN, alpha=0.2, label="5 % to 95 %")
    ax.plot(x, middle, color=GREEN, label="median")
    ax.plot(x, y, ".", color=GREY, markersize=3)
    ax.legend(fontsize=8)
    return figure


def bagging() -> Any:
    """Test error against the number of members."""
    X, y = load_breast_cancer(return_X_y=True)
    seen = np.arange(len(X)) % 2 == 0
    figure, ax = plt.subplots(figsize=(5, 2.4), layout="constrained")
    counts = [1, 2, 3, 5, 8, 12, 20, 30, 50, 80]
    for name, parameters in {
        "bagging": {},
        "random subspaces": {"bootstrap": False, "max_features": 0.3},
        "random patches": {"max_samples": 0.5, "max_features": 0.3},
    }.items():
        errors = [
            np.mean(
                [
                    1 - spinney.BaggingClassifier(n_estimators=n, random_state=s, **parameters)
                    .fit(X[seen], y[seen]).score(X[~seen], y[~seen])
                    for s in range(5)
                ]
            )
            for n in counts
        ]  # fmt: skip
        ax.plot(counts, errors, ".-", label=name)
    ax.set(xscale="log", xlabel="members", ylabel="test error")
    ax.legend(fontsize=8)
    return figure


def pruning() -> Any:
    """Training and test error along the cost-complexity path."""
    X, truth = datasets.make_box(600, frame=None)
    y = np.where(np.random.default_rng(0).random(600) < 0.15, -truth, truth)
    X_new, truth_new = datasets.make_box(2000, random_state=1, frame=None)
    alphas = spinney.DecisionTreeClassifier().cost_complexity_pruning_path(X, y).ccp_alphas
    fitted = [spinney.DecisionTreeClassifier(ccp_alpha=a).fit(X, y) for a in alphas[:-1]]
    leaves = [model.get_n_leaves() for model in fitted]
    figure, ax = plt.subplots(figsize=(5, 2.4), layout="constrained")
    ax.plot(leaves, [1 - model.score(X, y) for model in fitted], ".-", color=GREY, label="training rows")
    ax.plot(leaves, [1 - m.score(X_new, truth_new) for m in fitted], ".-", color=GREEN, label="new rows")
    ax.set(xscale="log", xlabel="leaves", ylabel="error")
    ax.legend(fontsize=8)
    return figure


def shap() -> Any:
    """A beeswarm of SHAP values."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = spinney.GradientBoostingClassifier(preset="classic", random_state=0).fit(X, y)
    ax = plotting.plot_shap(model.shap_values(X[:200]), max_features=8)
    ax.figure.set_size_inches(6, 3.2)
    ax.figure.set_layout_engine("constrained")
    return ax.figure


def kappa_error() -> Any:
    """The diagram of examples/kappa_error.py."""
    path = ROOT / "examples" / "kappa_error.py"
    spec = importlib.util.spec_from_file_location("kappa_error", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    ax = plotting.plot_kappa_error(example.clouds())
    ax.figure.set_size_inches(5, 3.2)
    ax.figure.set_layout_engine("constrained")
    return ax.figure


def isolation() -> Any:
    """Anomaly scores of an isolation forest."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 2)) * 0.5, rng.uniform(-3, 3, (15, 2))])
    model = spinney.IsolationForest(n_estimators=200, random_state=0).fit(X)
    a, b = np.meshgrid(np.linspace(-3.2, 3.2, 120), np.linspace(-3.2, 3.2, 120))
    scores = model.score_samples(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    figure, ax = plt.subplots(figsize=(3.4, 2.8), layout="constrained")
    ax.imshow(scores, extent=(-3.2, 3.2, -3.2, 3.2), origin="lower", cmap="Greens")
    ax.scatter(*X.T, s=6, c=[GREY if s > -0.55 else RED for s in model.score_samples(X)])
    ax.set(xticks=[], yticks=[])
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "adaboost.png": adaboost,
    "bagging.svg": bagging,
    "box.png": box,
    "combining.png": combining,
    "forests.png": forests,
    "gradient-boosting.png": gradient_boosting,
    "isolation.png": isolation,
    "kappa-error.png": kappa_error,
    "pruning.svg": pruning,
    "quantiles.svg": quantiles,
    "shap.png": shap,
    "trees.png": trees,
}


def main() -> None:
    """Draw all pictures."""
    mpl.use("agg")
    mpl.rcParams.update(
        {"svg.hashsalt": "spinney", "svg.fonttype": "path", "font.size": 8, "savefig.dpi": 120}
    )
    for name, draw in PICTURES.items():
        metadata = {"Date": None, "Creator": None} if name.endswith("svg") else {"Software": None}
        draw().savefig(FOLDER / name, metadata=metadata)
        plt.close("all")
    X, y = datasets.load_watermelon3()
    tree = spinney.ID3Classifier(numeric_split="threshold").fit(X, y)
    (FOLDER / "watermelon-tree.svg").write_text(plotting.tree_svg(tree), encoding="utf-8")


if __name__ == "__main__":
    main()
