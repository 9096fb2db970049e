"""Fitted models explained: SHAP values, IF–THEN rules, text, and the DOT language."""

from spinney.inspect.graphviz import export_graphviz
from spinney.inspect.rules import Condition, Rule, RuleSet
from spinney.inspect.shap import ShapValues, shap_values
from spinney.inspect.text import export_text

__all__ = [
    "Condition",
    "Rule",
    "RuleSet",
    "ShapValues",
    "export_graphviz",
    "export_text",
    "shap_values",
]
