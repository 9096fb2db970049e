"""Early stopping and learning curves.

How many rounds are enough? The loss on rows that are not trained on tells.

`eval_set` records metrics of several sets after every round, and early stopping looks at the last of
them. Prediction uses the best round, not the last.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from spinney import GradientBoostingClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.where(np.random.default_rng(0).random(len(y)) < 0.1, 1 - y, y)  # a tenth of the labels are wrong
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

model = GradientBoostingClassifier(
    preset="classic", n_estimators=200, early_stopping=True, n_iter_no_change=50, random_state=0
)
model.fit(
    X_train,
    y_train,
    eval_set=[(X_train, y_train), (X_test, y_test)],
    eval_names=["training", "held out"],
    eval_metric="logloss",
)
print(f"{model.n_iter_} rounds were made, predictions use {model.best_iteration_}")

curves = model.evals_frame()
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for name, metrics in model.evals_result_.items():
    ax.plot(np.arange(1, len(curves) + 1), metrics["logloss"], label=name)
ax.axvline(model.best_iteration_, color="grey", linestyle="--", label="best round")
ax.set(xlabel="round", ylabel="log loss")
ax.legend()
figure.savefig("curves.png", dpi=120)
plt.close(figure)
