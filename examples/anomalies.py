"""Anomalies without labels.

An isolation forest finds rows that few random splits separate from all others.

Trained on benign tumours only, it ranks malignant ones as more unusual, although it never saw one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from spinney import IsolationForest

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
benign = np.flatnonzero(y == 1)
model = IsolationForest(n_estimators=100, random_state=0).fit(X.iloc[benign[:200]])

rest = X.drop(index=X.index[benign[:200]])
malignant = (y.loc[rest.index] == 0).to_numpy()
unusual = -model.score_samples(rest)
print(f"AUC of the anomaly score for malignant tumours: {roc_auc_score(malignant, unusual):.3f}")
print(f"flagged as anomalies: {(model.predict(rest)[malignant] == -1).mean():.0%} of the malignant,", end=" ")
print(f"{(model.predict(rest)[~malignant] == -1).mean():.0%} of the benign")

figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
edges = np.linspace(unusual.min(), unusual.max(), 30)
ax.hist(unusual[~malignant], edges, alpha=0.6, label="benign", color="#2f8a5c")
ax.hist(unusual[malignant], edges, alpha=0.6, label="malignant", color="#b3402a")
ax.set(xlabel="anomaly score", ylabel="tumours")
ax.legend()
figure.savefig("scores.png", dpi=120)
plt.close(figure)
