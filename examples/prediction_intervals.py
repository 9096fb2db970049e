"""Intervals that contain the truth nine times out of ten.

A forest predicts a number; how far may it be off?

Conformal prediction looks at the errors on rows that the model has not seen, and promises that 90 % of
new values lie inside. Quantile models make the interval wide where the target varies much, and narrow
elsewhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from spinney import GradientBoostingRegressor, RandomForestRegressor
from spinney.conformal import calibrate_intervals, calibrate_quantiles

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 1500)
y = np.sin(x) * 3 + rng.normal(0, 0.2 + 0.15 * x)
X, fit, calibrate, test = x[:, None], slice(0, 600), slice(600, 1000), slice(1000, 1500)

forest = RandomForestRegressor(60, min_samples_leaf=5, random_state=0).fit(X[fit], y[fit])
constant = calibrate_intervals(forest, X[calibrate], y[calibrate])

low, high = (
    GradientBoostingRegressor(
        "quantile", quantile=q, n_estimators=60, learning_rate=0.1, early_stopping=False, min_samples_leaf=20
    ).fit(X[fit], y[fit])
    for q in (0.05, 0.95)
)
adaptive = calibrate_quantiles(low, high, X[calibrate], y[calibrate])

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
order = np.argsort(x[test])
for ax, (name, intervals) in zip(axes, {"forest": constant, "quantiles": adaptive}.items(), strict=True):
    found = intervals.predict_interval(X[test], confidence=0.9)
    inside = (found[:, 0] <= y[test]) & (y[test] <= found[:, 1])
    print(f"{name:10} {inside.mean():.0%} inside, mean width {np.diff(found).mean():.2f}")
    ax.plot(x[test], y[test], ".", markersize=3, color="#777777")
    ax.fill_between(x[test][order], *found[order].T, color="#2f8a5c", alpha=0.3)
    ax.set_title(name)
figure.savefig("intervals.png", dpi=120)
plt.close(figure)
