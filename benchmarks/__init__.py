"""Spinney side by side with its peers; run with `python -m benchmarks.run`."""
