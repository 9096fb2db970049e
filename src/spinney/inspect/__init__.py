"""Fitted trees as IF–THEN rules, as text, and in the DOT language."""

from spinney.inspect.graphviz import export_graphviz
from spinney.inspect.rules import Condition, Rule, RuleSet
from spinney.inspect.text import export_text

__all__ = ["Condition", "Rule", "RuleSet", "export_graphviz", "export_text"]
