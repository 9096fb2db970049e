import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spinney import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor
from spinney.io import dumps, loads
from spinney.trees import base
from trees.reference import same_tree, stairs


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.predict([[1.0]]),
        lambda m: m.predict_proba([[1.0]]),
        lambda m: m.predict_log_proba([[1.0]]),
        lambda m: m.apply([[1.0]]),
        lambda m: m.decision_path([[1.0]]),
        lambda m: m.get_depth(),
        lambda m: m.get_n_leaves(),
        lambda m: m.feature_importances_,
        lambda m: m.rules(),
        lambda m: m.expected_cost(),
    ],
)
def test_before_fitting_everything_says_so(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(DecisionTreeClassifier())


def test_the_arguments_of_scikit_learns_methods_are_taken():
    X, y = stairs(50)
    model = DecisionTreeClassifier().fit(X, y, None, check_input=False)
    assert_array_equal(model.predict(X, check_input=False), model.predict(X))
    assert_array_equal(model.predict_proba(X, check_input=False), model.predict_proba(X))
    assert_array_equal(model.apply(X, check_input=False), model.apply(X))


def test_a_fit_that_is_stopped_leaves_the_former_model(monkeypatch):
    X, y = stairs(50)
    model = DecisionTreeClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
    before = vars(model).copy()
    for error in (KeyboardInterrupt, MemoryError):

        def stopped(*_, error=error, **__):
            raise error

        monkeypatch.setattr(base, "Predictor", stopped)
        with pytest.raises(error):
            model.fit(X[:, :2], y)
        assert vars(model) == before
    monkeypatch.undo()
    model.fit(X[:, :2], y)
    assert model.n_features_in_ == 2 and not hasattr(model, "feature_names_in_")


def test_other_numbers_of_features_are_refused_by_name():
    X, y = stairs(50)
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but DecisionTreeClassifier is expecting 4"):
        model.predict(X[:, :2])
    named = DecisionTreeClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(pd.DataFrame(X, columns=list("abdc")))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X)


def test_many_rows_are_predicted_as_each_alone():
    X, y = stairs(5000)
    X[::13, 0] = np.nan
    model = DecisionTreeRegressor(n_jobs=2).fit(X, y)
    assert_array_equal(model.predict(X)[:50], [model.predict(row[None])[0] for row in X[:50]])


def test_it_works_in_pipelines_and_in_worker_processes():
    X, y = stairs()
    pipeline = make_pipeline(StandardScaler(), C45Classifier(n_jobs=-1))
    alone = cross_val_score(pipeline, X, y, cv=3)
    assert_array_equal(cross_val_score(pipeline, X, y, cv=3, n_jobs=2), alone)


def test_a_copy_by_clone_fits_the_same_tree():
    X, y = stairs()
    model = DecisionTreeClassifier(max_features=2, random_state=4).fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "tree_")
    assert same_tree(copy.fit(X, y).tree_, model.tree_)
    assert "DecisionTreeClassifier" in model._repr_html_()


class Labelled(DecisionTreeClassifier):
    """A user's class, with an attribute of its own that files keep."""

    _state_attributes = ("note_",)

    def fit(self, X, y):
        super().fit(X, y)
        self.note_ = "mine"
        return self


def test_a_class_of_the_users_own_is_kept_in_files():
    X, y = stairs(60)
    model = Labelled(max_depth=2).fit(pd.DataFrame(X, columns=list("abcd")), y)
    again = loads(dumps(model))
    assert again.note_ == "mine"
    assert_array_equal(again.tree_.threshold, model.tree_.threshold)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_pandas_rows_out_of_order_do_not_matter():
    X, y = stairs(80)
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(80)[::-1])
    series = pd.Series(y, index=frame.index)
    assert same_tree(
        DecisionTreeClassifier().fit(frame, series).tree_, DecisionTreeClassifier().fit(X, y).tree_
    )
