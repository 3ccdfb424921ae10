"""Budgets in US dollars: per call, per UTC day and month, reserved before an attempt and settled by its row (spec 2.7)."""
