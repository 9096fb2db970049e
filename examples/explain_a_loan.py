"""Explain one rejected loan.

Why was this application rejected, and what would have to change?

SHAP values divide the score of one applicant among the features; a path through the trees would be too
long to read. Then each feature is moved alone, as far as an applicant could move it, to see which change
turns the decision. Income may only help and debt only hurt: monotonic constraints promise that no
applicant is punished for earning more.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spinney import GradientBoostingClassifier
from spinney.plotting import plot_shap

rng = np.random.default_rng(1)
n = 4000
loans = pd.DataFrame(
    {
        "income": rng.lognormal(10.5, 0.4, n).round(-2),
        "debt": rng.gamma(2, 6000, n).round(-2),
        "years_employed": rng.integers(0, 30, n),
        "home": rng.choice(["rents", "owns", "family"], n, p=[0.5, 0.4, 0.1]),
        "late_payments": rng.poisson(0.5, n),
    }
)
score = (
    1.5 * np.log(loans.income / 36000)
    - loans.debt / 12000
    - 0.9 * loans.late_payments
    + 0.05 * loans.years_employed
)
paid = np.where(rng.random(n) < 1 / (1 + np.exp(-(score + 1.5))), "paid back", "default")

model = GradientBoostingClassifier(
    monotonic_cst={"income": 1, "debt": -1, "late_payments": -1, "years_employed": 1}, random_state=0
)
model.fit(loans[1000:], paid[1000:])
good = list(model.classes_).index("paid back")

# The bank accepts from 70 % on. The first applicant between 55 % and 62 %:
p = model.predict_proba(loans[:1000])[:, good]
applicant = loans.iloc[np.flatnonzero((p > 0.55) & (p < 0.62))[:1]]
print(applicant.to_string(index=False))
print(f"probability to pay back {model.predict_proba(applicant)[0, good]:.2f}: rejected, 0.70 is asked for\n")

found = model.shap_values(applicant)  # contributions to the log-odds of classes_[1], "paid back"
for name, value, contribution in found.largest():
    print(f"{name:15} {value!s:>9}  {contribution:+.2f}  {'against' if contribution < 0 else 'for'}")

print("\nWhat would change the decision:")
changes = {
    "debt": [0.75, 0.5, 0.25],
    "income": [1.1, 1.25, 1.5],
}
for name, factors in changes.items():
    for factor in factors:
        other = applicant.assign(**{name: (applicant[name] * factor).round(-2)})
        now = model.predict_proba(other)[0, good]
        print(f"{name} {other[name].iloc[0]:,.0f}: {now:.2f}", "accepted" if now >= 0.7 else "")

ax = plot_shap(found, kind="waterfall")
ax.figure.set_size_inches(7, 3)
ax.figure.savefig("loan.png", dpi=120, bbox_inches="tight")
plt.close(ax.figure)
