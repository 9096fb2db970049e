"""Linear discriminant analysis."""

from spinney.discriminant.linear import LinearDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis"]
