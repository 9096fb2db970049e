"""Measures of how differently the members of an ensemble err."""
