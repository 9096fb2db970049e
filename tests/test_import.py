"""What `import spinney` imports, and that every public name is found."""

import subprocess
import sys

import spinney
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
