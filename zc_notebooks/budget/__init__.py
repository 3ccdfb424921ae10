"""Budgets in US dollars per call, UTC day and month: reserved before each attempt, settled by its row (spec 2.7)."""
