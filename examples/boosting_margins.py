"""AdaBoost round by round: bounds and margins.

Why does the test error keep falling after the training error is zero?

Even or odd? Trees of depth 3 on images of digits. The ledger has the error, the weight and the bounds of
every round. Margins, how clearly each row is voted for, keep growing after the last training error is
gone (Schapire et al. 1998).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from spinney import AdaBoostClassifier, DecisionTreeClassifier

images, digits = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(images, digits % 2, test_size=0.5, random_state=0)
tree = DecisionTreeClassifier(max_depth=3)
model = AdaBoostClassifier(tree, algorithm="discrete", n_estimators=150, ledger=True).fit(X, y)

rounds = model.ledger_.to_frame()
shown = ["round", "error", "weight", "exponential_loss", "train_error"]
print(rounds[shown].iloc[[0, 1, 2, 4, 9, 49, 149]].round(3).to_string(index=False))
zero = int(rounds["round"][rounds.train_error == 0].iloc[0])
tests = 1 - np.array(list(model.staged_score(X_new, y_new)))
print(f"\nno training error from round {zero} on")
print(f"test error {tests[zero - 1]:.3f} then, {tests[-1]:.3f} in the end")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.plot(rounds["round"], rounds.product_bound, "--", color="grey", label="bound")
left.plot(rounds["round"], rounds.exponential_loss, color="grey", label="exponential loss")
left.plot(rounds["round"], rounds.train_error, label="training error")
left.plot(rounds["round"], tests, label="test error")
left.set(xlabel="round", xscale="log", ylim=(0, 1))
left.legend()
margins = list(model.staged_margins(X, y))
for t in (zero, 40, 150):
    right.plot(np.sort(margins[t - 1]), np.linspace(0, 1, len(y)), label=f"{t} rounds")
right.set(xlabel="margin", ylabel="share of rows below")
right.legend()
figure.savefig("margins.png", dpi=120)
plt.close(figure)
