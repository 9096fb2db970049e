"""Parameters may be NumPy's scalars, as random searches and grids in arrays give them."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import spinney as sp
from contracts.learners import LEARNERS, UNSUPERVISED, Learner, fewer, mixed_data
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data
from spinney.io import dumps, loads

LINEAR = [
    *(Learner(kind.__name__, kind, "regressor") for kind in (sp.Ridge, sp.Lasso, sp.ElasticNetCV)),
    Learner("LinearSVR", sp.LinearSVR, "regressor", (("random_state", 0),)),
    *(Learner(kind.__name__, kind, "classifier") for kind in (sp.LogisticRegression, sp.LinearSVC)),
]
KINDS = {bool: np.bool_, int: np.int64, float: np.float64, str: np.str_}


def as_numpy(value):
    return KINDS[type(value)](value) if type(value) in KINDS else value


def check(learner, X, y, weights):
    plain, drawn = learner(), learner()
    drawn.set_params(**{name: as_numpy(value) for name, value in drawn.get_params(deep=False).items()})
    weighted = "sample_weight" in inspect.signature(plain.fit).parameters
    for model in (plain, drawn):
        model.fit(X, y, **{"sample_weight": weights} if weighted else {})
    models = (loads(dumps(drawn)), plain)
    assert_array_equal(*(m.predict(X) if hasattr(m, "predict") else m.apply(X) for m in models))


@pytest.mark.parametrize("learner", [*LEARNERS, *UNSUPERVISED], ids=lambda learner: learner.name)
def test_learners_of_tables(learner):
    check(learner, *mixed_data(learner.kind, fewer(learner, 60)))


@pytest.mark.parametrize("learner", [*MATRIX_LEARNERS, *LINEAR], ids=lambda learner: learner.name)
def test_learners_of_numbers(learner):
    check(learner, *matrix_data(learner.kind, 60))
