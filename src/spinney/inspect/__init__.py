"""Fitted trees as IF–THEN rules and as text."""

from spinney.inspect.rules import Condition, Rule, RuleSet
from spinney.inspect.text import export_text

__all__ = ["Condition", "Rule", "RuleSet", "export_text"]
