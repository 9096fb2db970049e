"""Handwritten digits by a forest.

1,797 images of 8 × 8 pixels, a random forest, and which pixels it looks at.

The out-of-bag score estimates the test score without setting rows aside. Permutation importances need
rows that the forest has not seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from spinney import DecisionTreeClassifier, RandomForestClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

tree = DecisionTreeClassifier().fit(X_train, y_train)
forest = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X_train, y_train)
print(f"one tree {tree.score(X_test, y_test):.3f}")
print(f"forest   {forest.score(X_test, y_test):.3f}, out of bag {forest.oob_score_:.3f}")

mistakes = confusion_matrix(y_test, forest.predict(X_test))
np.fill_diagonal(mistakes, 0)
digit, taken_for = np.unravel_index(mistakes.argmax(), mistakes.shape)
print(f"most frequent mistake: {digit} taken for {taken_for}, {mistakes.max()} times")

figure, axes = plt.subplots(1, 2, figsize=(6, 2.8), layout="constrained")
axes[0].imshow(forest.feature_importances_.reshape(8, 8), cmap="Greens")
axes[0].set_title("importance of the pixels")
wrong = np.flatnonzero(forest.predict(X_test) != y_test)[0]
axes[1].imshow(X_test[wrong].reshape(8, 8), cmap="Greys")
axes[1].set_title(f"a {y_test[wrong]}, taken for {forest.predict(X_test[[wrong]])[0]}")
for ax in axes:
    ax.axis("off")
figure.savefig("digits.png", dpi=120)
plt.close(figure)
