"""Verdicts, the walk, waits and cooldowns."""
