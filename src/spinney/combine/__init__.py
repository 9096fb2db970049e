"""Voting, stacking and the selection of ensembles."""
