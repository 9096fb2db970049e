"""Demand by date, split by time.

How many bicycles are rented per hour? The date becomes weekday, month and hour; the last months are the
test.

Rows of neighbouring hours are alike, so a random split would be too optimistic: training rows come
before test rows. Counts have the Poisson loss. Partial dependence shows the day: commuters in the
morning and in the evening.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import mean_poisson_deviance

from spinney import GradientBoostingRegressor, expand_dates
from spinney.inspect import partial_dependence
from spinney.plotting import plot_dependence

rng = np.random.default_rng(0)
hours = pd.date_range("2025-01-01", "2026-06-30 23:00", freq="3h")
warm = 12 - 10 * np.cos(2 * np.pi * (hours.day_of_year - 20) / 365) + rng.normal(0, 3, len(hours))
commute = np.exp(-((hours.hour - 7.5) ** 2) / 6) + np.exp(-((hours.hour - 17.5) ** 2) / 8)
rate = np.exp(2 + 0.06 * warm) * (0.3 + commute * (hours.day_of_week < 5) + 0.6 * (hours.day_of_week >= 5))
table = pd.DataFrame({"time": hours, "temperature": warm.round(1), "rented": rng.poisson(rate)})

X = expand_dates(table.drop(columns="rented"), parts=["month", "day_of_week", "is_weekend", "hour"])
y = table["rented"].to_numpy(float)
past = (table.time < "2026-04-01").to_numpy()
model = GradientBoostingRegressor(
    "poisson", n_estimators=150, learning_rate=0.1, early_stopping=False, random_state=0
)
model.fit(X[past], y[past])

constant = np.full((~past).sum(), y[past].mean())
for name, predicted in {"constant": constant, "model": model.predict(X[~past])}.items():
    print(f"{name:9} deviance {mean_poisson_deviance(y[~past], predicted):6.2f}")

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
plot_dependence(partial_dependence(model, X[past], "time_hour"), ax=axes[0])
plot_dependence(partial_dependence(model, X[past], "temperature"), ax=axes[1])
figure.savefig("demand.png", dpi=120)
plt.close(figure)
