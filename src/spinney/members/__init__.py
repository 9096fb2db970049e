"""Tools for ensembles of any estimator: copies of a base estimator, tables of any kind, parallel fits."""
