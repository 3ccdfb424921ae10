"""Measure candidates, grade answers, order the chain, replay the ledger."""
