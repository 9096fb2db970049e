"""Ensembles whose members differ because their targets, codes or penalties were perturbed."""
