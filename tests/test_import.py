"""What `import spinney` imports, and that every public name is found."""

import subprocess
import sys

import spinney
from contracts.learners import EACH_CLASS, UNSUPERVISED
from contracts.matrix_learners import MATRIX_LEARNERS
from spinney.trees import DecisionTreeClassifier


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_needs_numpy_only():
    heavy = ("sklearn", "scipy", "pandas", "joblib", "narwhals", "rich", "pyarrow", "matplotlib")
    found = run(f"import sys, spinney; print([name for name in {heavy} if name in sys.modules])")
    assert found.strip() == "[]"


def test_every_public_name_is_found_on_first_use():
    assert all(getattr(spinney, name) is not None for name in spinney.__all__)
    assert spinney.DecisionTreeClassifier is DecisionTreeClassifier
    assert not hasattr(spinney, "Larch")


def test_a_fresh_interpreter_loads_models_and_their_members(tmp_path):
    members = [("tree", DecisionTreeClassifier()), ("bayes", spinney.GaussianNB())]
    spinney.save(spinney.VotingClassifier(members).fit([[0.0], [1.0]] * 3, [0, 1] * 3), tmp_path / "model")
    print_members = f"import spinney; print(spinney.load({str(tmp_path / 'model')!r}).estimators_)"
    assert run(print_members).strip() == "[DecisionTreeClassifier(), GaussianNB()]"


def test_loading_and_predicting_import_no_more_than_the_base_class_of_estimators(tmp_path):
    others = (spinney.LogisticRegression, spinney.LogisticRegressionCV, spinney.Ridge, spinney.RidgeCV)
    others += (spinney.Lasso, spinney.LassoCV, spinney.LinearSVC, spinney.GeneralizedLinearRegressor)
    learners = [*EACH_CLASS, *UNSUPERVISED, *(one for one in MATRIX_LEARNERS if "-" not in one.name)]
    for i, make in enumerate([*learners, *others]):
        model, X, y = make(), [[0.0, 1.0], [1.0, 0.0]] * 15, [0, 1] * 15
        more = {"group": [15, 15]} if isinstance(model, spinney.GradientBoostingRanker) else {}
        spinney.save(model.fit(X, y, **more), tmp_path / f"{i:02} {type(model).__name__}")
    code = f"""
import sys, pathlib, sklearn.base
known, light = set(sys.modules), {{"spinney", "numpy", *sys.stdlib_module_names}}
import numpy, spinney
for path in sorted(pathlib.Path({str(tmp_path)!r}).iterdir()):
    model = spinney.load(path)
    getattr(model, "predict", None) and model.predict([[0.0, 1.0]])
    new = set(sys.modules) - known
    known |= new
    packages = {{".".join(name.split(".")[:2]) for name in new if name.split(".")[0] not in light}}
    print(*[(path.name, name) for name in sorted(packages - {{"sklearn.utils"}})], end="")
"""
    assert run(code) == ""
