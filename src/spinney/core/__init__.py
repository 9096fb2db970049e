"""What every other part of Spinney leans on: errors, argument checks, seeds and ledger rows."""
