"""Output flipping: classifiers made to differ by labels that were exchanged at random (Breiman, 2000)."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.predictions import member_probabilities, member_votes
from spinney.core.errors import InputError
from spinney.core.parameters import OneOf, Real
from spinney.io import CorruptModelFile
from spinney.members.tables import encode_labels
from spinney.perturb.base import OUTPUT_RULES, Perturb, _OutputPerturbation, check_labels
from spinney.perturb.units import Units
from spinney.trees import DecisionTreeClassifier

# The share of rows that take part in the exchange by default: with two classes of one size, every fifth
# label is then another one.
_AUTO_SHARE = 0.4


class OutputFlippingClassifier(ClassifierMixin, _OutputPerturbation):  # type: ignore[misc]
    """Classify by the vote of members whose labels were flipped at random, each in its own way.

    For each member some rows are drawn, and their labels are dealt out among them anew. So every member sees
    all the rows and exactly as many of each class, but not the same mistakes; the vote averages them away.

    estimator : estimator or None
        What members are copies of; None is a full ``DecisionTreeClassifier``. Any classifier will do, alone
        or in a pipeline.
    n_estimators : int
        Number of members.
    flip_rate : "auto" or a number of at least 0
        The share of labels to be changed, on average. It must be below 1 − Σ p², p the share of each class:
        there the labels would be pure chance. "auto" is 0.4 of that, so 0.2 for two classes of one size.
    voting : "hard" or "soft"
        Count the members' votes, or average their probabilities (a member without them votes). Of equal
        classes the first is predicted.
    bootstrap : bool
        Draw rows with replacement for each member besides.
    random_state : int, numpy generator or None
        Seed of all draws.
    n_jobs : int or None
        Members that are fitted at a time, −1 for all cores; never changes the model.
    verbose : int
        Above 0: a progress bar while fitting.

    Fitted: ``estimators_``, ``classes_``, ``n_classes_``, ``flip_rate_`` (the rate in use),
    ``n_features_in_``, ``feature_names_in_``.

    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> OutputFlippingClassifier(random_state=0).fit(X, y).predict(X[:2]).tolist()
    ['yes', 'yes']
    """

    _parameter_rules = OUTPUT_RULES | {
        "flip_rate": (OneOf("auto"), Real(0.0, 1.0, open_ends=")")),
        "voting": (OneOf("hard", "soft"),),
    }
    _required_attributes = ("classes_", "flip_rate_")

    classes_: NDArray[Any]
    flip_rate_: float

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        flip_rate: float | Literal["auto"] = "auto",
        voting: Literal["hard", "soft"] = "hard",
        bootstrap: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _pattern(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    @property
    def n_classes_(self) -> int:
        """Count the classes."""
        return len(self.classes_)

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        codes, classes = encode_labels(y, n_rows)
        # Members learn the labels themselves, since a class_weight of theirs may name them.
        return classes[codes], {"classes_": classes}

    def _perturbation(self, target: NDArray[Any], units: Units) -> tuple[Perturb, dict[str, Any]]:
        labels = target[units.rows]
        counts = np.unique(labels, return_counts=True)[1]
        chance = 1.0 - float(np.square(counts / counts.sum()).sum())
        rate = _AUTO_SHARE * chance if isinstance(self.flip_rate, str) else float(self.flip_rate)
        if rate > 0 and rate >= chance:
            raise InputError(
                f"flip_rate is {rate}, but with these classes even labels dealt out by pure chance differ in "
                f"no more than {chance:.3g} of the rows",
                fix="Give a smaller one, or 'auto'.",
            )
        # m labels dealt out anew are (m − 1) · chance · n / (n − 1) changes on average.
        dealt = 1.0 + rate * (len(units) - 1) / chance if rate > 0 else 0.0
        return partial(flip_labels, labels, units, dealt), {"flip_rate_": rate}

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes, of several the first.  -> (n_rows,)"""
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_.take(best)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the share of votes of each class, with voting="soft" the mean probability.

        -> (n_rows, n_classes)
        """
        check_is_fitted(self)
        answer = member_votes if self.voting == "hard" else member_probabilities
        return self._mean_answer(X, partial(answer, classes=[self.classes_]))

    def _check_state(self) -> None:
        if hasattr(self, "estimators_"):
            check_labels(self.classes_, type(self).__name__)
            if type(self.flip_rate_) is not float or not 0 <= self.flip_rate_ < 1:
                raise CorruptModelFile("The flip_rate_ of an OutputFlippingClassifier is no rate.")
        super()._check_state()

    def _check_member(self, member: Any) -> None:
        super()._check_member(member)
        known = set(self.classes_.tolist())
        if not is_classifier(member) or not known.issuperset(np.ravel(member.classes_).tolist()):
            raise CorruptModelFile("A member of an OutputFlippingClassifier predicts other classes.")


def flip_labels(labels: NDArray[Any], units: Units, dealt: float, rng: np.random.Generator) -> NDArray[Any]:
    """Deal out the labels (n_units,) of ``dealt`` units, drawn at random, anew among them.

    A number in between is rounded up or down by chance, so that it is right on average.
    """
    in_order = labels[units.order]
    n_dealt = int(dealt + rng.random())
    chosen = rng.choice(len(units), n_dealt, replace=False, shuffle=False)
    in_order[chosen] = in_order[rng.permutation(chosen)]
    return units.spread(in_order)
