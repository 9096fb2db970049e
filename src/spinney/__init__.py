"""Spinney: decision trees and ensembles, fast and well kept."""
