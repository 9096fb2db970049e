"""What every ensemble over arbitrary estimators shares: cloning, rows and columns of any table, fitting in parallel."""
