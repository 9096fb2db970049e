"""Fitted models explained: SHAP values, IF–THEN rules, text, and the DOT language."""

from spinney.inspect.graphviz import export_graphviz
from spinney.inspect.importances import Importances, feature_importances, permutation_importance
from spinney.inspect.partial_dependence import Dependence, partial_dependence
from spinney.inspect.rules import Condition, Rule, RuleSet
from spinney.inspect.shap import ShapValues, shap_values
from spinney.inspect.text import export_text
from spinney.inspect.tree_view import DecisionSteps, TreeView

__all__ = [
    "Condition",
    "DecisionSteps",
    "Dependence",
    "Importances",
    "Rule",
    "RuleSet",
    "ShapValues",
    "TreeView",
    "export_graphviz",
    "export_text",
    "feature_importances",
    "partial_dependence",
    "permutation_importance",
    "shap_values",
]
