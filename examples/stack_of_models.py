"""A vote, a selection and a stack of different models.

Members that err differently, combined in three ways, on measurements of breast tumours.

The vote learns its weights, ensemble selection takes members with repetition as long as the loss falls,
and the stack fits a linear model to out-of-fold predictions. Each is about as good as the best member,
without being told which one that is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spinney import (
    DecisionTreeClassifier,
    EnsembleSelectionClassifier,
    GaussianNB,
    LogisticRegression,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
members = [
    ("tree", DecisionTreeClassifier(max_depth=4)),
    ("naive Bayes", GaussianNB()),
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("forest", RandomForestClassifier(15, random_state=0)),
]
models = dict(members) | {
    "learned soft vote": VotingClassifier(members, voting="soft", weights="learned", cv=3, random_state=0),
    "selection": EnsembleSelectionClassifier(members, cv=3, random_state=0),
    "stack": StackingClassifier(members, cv=3, random_state=0),
}
folds = StratifiedKFold(3, shuffle=True, random_state=1)
losses = {
    name: -cross_val_score(model, X, y, cv=folds, scoring="neg_brier_score") for name, model in models.items()
}
for name, values in losses.items():
    print(f"{name:18} Brier score {values.mean():.4f}")

figure, ax = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
ax.barh(
    list(losses), [np.mean(values) for values in losses.values()], color=["#999999"] * 4 + ["#2f8a5c"] * 3
)
ax.invert_yaxis()
ax.set(xlabel="Brier score in 3-fold cross-validation")
figure.savefig("scores.png", dpi=120)
plt.close(figure)
