"""C4.5 and boosting side by side, for a lesson.

One tree that can be read, the same tree bagged and boosted, and gradient boosting, on the end boards of
tic-tac-toe.

"x" wins on 626 of the 958 boards. The concept is eight rules of three squares, which one tree has to
repeat in many branches; a sum of trees does not. The table below is the lesson: leaves against errors,
on the same folds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from spinney import (
    AdaBoostClassifier,
    BaggingClassifier,
    C45Classifier,
    GradientBoostingClassifier,
    export_text,
)
from spinney.datasets import load_tic_tac_toe

X, y = load_tic_tac_toe()
folds = StratifiedKFold(3, shuffle=True, random_state=0)
learners = {
    "C4.5": C45Classifier(),
    "C4.5, unpruned": C45Classifier(pruning=None),
    "10 bagged C4.5 trees": BaggingClassifier(C45Classifier(), n_estimators=10, random_state=0),
    "10 boosted C4.5 trees": AdaBoostClassifier(C45Classifier(), n_estimators=10, random_state=0),
    "100 boosted stumps": AdaBoostClassifier(n_estimators=100),
    "gradient boosting": GradientBoostingClassifier(n_estimators=60, early_stopping=False, random_state=0),
}
errors = {name: 1 - cross_val_score(model, X, y, cv=folds) for name, model in learners.items()}
for name, values in errors.items():
    print(f"{name:22} error {values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}")

tree = learners["C4.5"].fit(X, y)
print(f"\nThe C4.5 tree has {tree.get_n_leaves()} leaves. Its first questions:\n")
print(export_text(tree, max_depth=1))

# Why the middle square first? The ledger has the gain ratio of every square.
root = C45Classifier(ledger=True).fit(X, y).ledger_.to_frame().query("node == 0")
print(root[["feature", "gain", "gain_ratio", "chosen"]].round(4).to_string(index=False))

figure, ax = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
ax.barh(list(errors), [values.mean() for values in errors.values()], color="#2f8a5c")
ax.invert_yaxis()
ax.set_xlabel("error in 3-fold cross-validation")
figure.savefig("errors.png", dpi=120)
plt.close(figure)
