"""Predict churn from a CSV file.

From a file with text, dates and gaps to a saved model and a list of the customers most likely to leave.

The table is written first, so that the program runs anywhere; put your own file in its place. Dates are
expanded, everything else is used as it is. The model is compared with always predicting the same, and
the precision among the first hundred customers tells whether a campaign is worth its price.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split

import spinney
from spinney.plotting import plot_calibration

# A table such as a billing system exports.
rng = np.random.default_rng(0)
n = 3000
since = pd.Timestamp("2026-11-01") - pd.to_timedelta(rng.integers(30, 2000, n), "D")
table = pd.DataFrame(
    {
        "customer_since": since.strftime("%Y-%m-%d"),
        "contract": rng.choice(["monthly", "yearly", "two years"], n, p=[0.55, 0.3, 0.15]),
        "payment": rng.choice(["card", "transfer", None], n, p=[0.5, 0.4, 0.1]),
        "support_calls": rng.poisson(1.0, n),
        "bill": rng.gamma(9, 5, n).round(2),
    }
)
days = (pd.Timestamp("2026-11-01") - since).days.to_numpy()
risk = (
    0.7 * table.support_calls + 1.3 * (table.contract == "monthly") + 0.02 * table.bill - 0.002 * days - 2.2
)
table["left"] = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")
table.loc[rng.random(n) < 0.05, "bill"] = np.nan
table.to_csv("customers.csv", index=False)

# The task starts here.
table = pd.read_csv("customers.csv")
X = spinney.expand_dates(table.drop(columns="left"), columns=["customer_since"], parts=["elapsed", "month"])
y = table["left"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

model = spinney.GradientBoostingClassifier(random_state=0).fit(X_train, y_train)
p = model.predict_proba(X_test)[:, 1]
print(f"customers who left: {(y_test == 'yes').mean():.0%} of {len(y_test)}")
print(
    f"AUC {roc_auc_score(y_test, p):.3f}, average precision {average_precision_score(y_test == 'yes', p):.3f}"
)
first = np.argsort(-p)[:100]
print(f"of the 100 customers with the highest risk, {(y_test.iloc[first] == 'yes').sum()} left")

spinney.report(model, X_test, y_test).save("churn.html")  # open it in a browser
spinney.save(model, "churn.spinney")
again = spinney.load("churn.spinney")
call = X_test.assign(risk=again.predict_proba(X_test)[:, 1].round(2)).sort_values("risk", ascending=False)
print(call.head(3).to_string())

ax = plot_calibration(y_test == "yes", p, name="churn")
ax.set_title("Of those with a risk of 40 %, 40 % leave")
ax.figure.savefig("calibration.png", dpi=120)
plt.close(ax.figure)
