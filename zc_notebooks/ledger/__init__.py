"""The attempt ledger: rows, append, read."""
