"""The fault wall: the real chain over real loopback HTTP, one fault at a time, judged from both sides."""

from __future__ import annotations

from zc_notebooks.wall.faults import TRIALS
from zc_notebooks.wall.judge import Score
from zc_notebooks.wall.score_card import MODES, ScoreCard, run_wall
from zc_notebooks.wall.trial import Trial, Way

__all__ = ["MODES", "TRIALS", "Score", "ScoreCard", "Trial", "Way", "run_wall"]
