"""What notebooks show for an estimator: parameters with their docstrings, and no link that leads nowhere."""

import re

import pytest

from spinney import C45Classifier, RandomForestClassifier, StackingClassifier

pytest.importorskip("sklearn.utils._repr_html.params")  # scikit-learn 1.7


def test_parameters_have_help_texts_without_links():
    html = C45Classifier(confidence=0.1)._repr_html_()
    shown = re.sub(r"<[^>]+>", " ", html)
    assert "Confidence level of pessimistic pruning" in shown
    assert 'href="help' not in html and 'class="param-doc-link"' in html and 'tabindex="0"' in html
    nested = StackingClassifier([("tree", C45Classifier())])._repr_html_()
    assert nested.count("Confidence level of pessimistic pruning") == 1


def test_fitted_attributes_are_shown_and_none_is_computed_for_it(monkeypatch):
    model = RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0]], [0, 1])

    def fail(self):
        raise AssertionError("computed for the sake of a display")

    monkeypatch.setattr(RandomForestClassifier, "estimators_", property(fail))
    html = model._repr_html_()
    assert "n_classes_" in html and "estimators_samples_" not in html
