"""What ensembles over any estimator share: cloning, rows and columns of any table, fitting in parallel."""
