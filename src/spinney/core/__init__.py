"""Errors, parameter rules, seeds, progress bars, early stopping and ledgers."""
