"""Output smearing: regressors made to differ by noise that was added to the targets (Breiman, 2000)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, is_regressor

from spinney.bagging.predictions import member_values
from spinney.core.parameters import Real
from spinney.data.target import encode_values, read_target
from spinney.io import CorruptModelFile
from spinney.members.base_estimators import base_estimator_tags
from spinney.perturb.base import OUTPUT_RULES, Perturb, _OutputPerturbation
from spinney.perturb.units import Units
from spinney.trees import DecisionTreeRegressor


class OutputSmearingRegressor(RegressorMixin, _OutputPerturbation):  # type: ignore[misc]
    """Predict numbers by the mean of members, each fitted to targets with noise of its own.

    Every member sees all the rows, and y + scale · s · z instead of y: s is the standard deviation of y, and
    z is drawn from the normal distribution for each row and member. The mean averages the noise away.

    estimator : estimator or None
        What members are copies of; None is a full ``DecisionTreeRegressor``. Any regressor will do, alone or
        in a pipeline.
    n_estimators : int
        Number of members.
    scale : number of at least 0
        Standard deviation of the noise, in standard deviations of y.
    bootstrap : bool
        Draw rows with replacement for each member besides.
    random_state : int, numpy generator or None
        Seed of all draws.
    n_jobs : int or None
        Members that are fitted at a time, −1 for all cores; never changes the model.
    verbose : int
        Above 0: a progress bar while fitting.

    Fitted: ``estimators_``, ``noise_`` (the standard deviation of the noise, one an output), ``n_outputs_``,
    ``n_features_in_``, ``feature_names_in_``.

    >>> X = [[i / 50] for i in range(50)]
    >>> model = OutputSmearingRegressor(random_state=0).fit(X, [x[0] ** 2 for x in X])
    >>> model.predict([[0.5]]).round(1).tolist()
    [0.2]
    """

    _parameter_rules = OUTPUT_RULES | {"scale": (Real(0.0),)}
    _required_attributes = ("noise_",)

    noise_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        scale: float = 0.5,
        bootstrap: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _pattern(self) -> Any:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    @property
    def n_outputs_(self) -> int:
        """Count the targets."""
        return len(self.noise_)

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        given = read_target(y, n_rows)
        return encode_values(given, non_negative=False).reshape(given.shape), {}

    def _perturbation(self, target: NDArray[Any], units: Units) -> tuple[Perturb, dict[str, Any]]:
        values = target[units.rows]
        weights = np.ones(len(units)) if units.weights is None else units.weights
        noise = self.scale * _deviation(values[units.order], weights[units.order])
        return partial(smear, values, units, noise), {"noise_": np.atleast_1d(noise)}

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean of the members.  -> (n_rows,) or (n_rows, n_outputs)"""
        return self._mean_answer(X, member_values)

    def _check_state(self) -> None:
        if hasattr(self, "estimators_"):
            noise: Any = self.noise_
            valid = isinstance(noise, np.ndarray) and noise.ndim == 1 and noise.dtype == np.float64
            if not valid or len(noise) == 0 or not (noise >= 0).all():
                raise CorruptModelFile("The noise_ of an OutputSmearingRegressor is no list of sizes.")
        super()._check_state()

    def _check_member(self, member: Any) -> None:
        super()._check_member(member)
        if not is_regressor(member) or getattr(member, "n_outputs_", self.n_outputs_) != self.n_outputs_:
            raise CorruptModelFile("A member of an OutputSmearingRegressor predicts something else.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = base_estimator_tags(self._pattern()).target_tags.multi_output
        return tags


def smear(
    values: NDArray[np.float64], units: Units, noise: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Add normal noise to values (n_units,) or (n_units, n_outputs); noise: its size, one an output."""
    smeared: NDArray[np.float64] = values + noise * units.spread(rng.normal(size=values.shape))
    return smeared


def _deviation(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the weighted standard deviation of each output, also where the squares would be too large."""
    largest = np.abs(values).max(axis=0)
    scaled = values / np.where(largest > 0, largest, 1.0)
    mean = np.average(scaled, axis=0, weights=weights)
    variance = np.average(np.square(scaled - mean), axis=0, weights=weights)
    return np.asarray(largest * np.sqrt(variance))
