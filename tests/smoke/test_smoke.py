"""That an installed package works: models fit, save and load, and every vector level gives the same bytes."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from spinney.native._cpu import best_level

import spinney
from spinney.native import LEVELS

MODELS = (
    spinney.DecisionTreeClassifier(random_state=0),
    spinney.C45Classifier(),
    spinney.RandomForestClassifier(n_estimators=5, random_state=0),
    spinney.AdaBoostClassifier(n_estimators=5),
    spinney.GradientBoostingClassifier(n_estimators=5, random_state=0),
    spinney.LogisticRegression(),
    spinney.SVC(),
)
FILE_OF_A_FOREST = """
import hashlib, numpy as np, spinney, spinney.io
X = np.random.default_rng(0).normal(size=(300, 4))
y = X[:, 0] * X[:, 1] > 0
for make in (spinney.RandomForestClassifier, spinney.GradientBoostingClassifier):
    model = make(n_estimators=3, random_state=0).fit(X, y)
    print(hashlib.sha256(spinney.io.dumps(model)).hexdigest())
"""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "yes", "no")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_fit_predict_save_load(model, table, tmp_path):
    X, y = table
    model.fit(X, y)
    assert model.score(X, y) > 0.85
    spinney.save(model, tmp_path / "model")
    np.testing.assert_array_equal(spinney.load(tmp_path / "model").predict(X), model.predict(X))


def test_levels_give_the_same_bytes_and_exit_in_silence():
    levels = LEVELS[: LEVELS.index(best_level()) + 1]
    built = [level for level in levels if find_spec(f"spinney.native._core_{level}")]
    assert built
    printed = set()
    for level in built:
        run = subprocess.run(
            [sys.executable, "-c", FILE_OF_A_FOREST],
            env=os.environ | {"SPINNEY_VECTOR": level},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stderr == ""  # such as nanobind's leak messages
        printed.add(run.stdout)
    assert len(printed) == 1
