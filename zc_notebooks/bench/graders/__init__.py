"""Graders, by the ``type`` a task file names."""

from __future__ import annotations

from zc_notebooks.bench.graders.base import Grade, Grader, Mark, Setting
from zc_notebooks.bench.graders.code import Case, Code
from zc_notebooks.bench.graders.constraints import Bounds, Constraints
from zc_notebooks.bench.graders.json_schema import Json
from zc_notebooks.bench.graders.lists import Items
from zc_notebooks.bench.graders.prose import Prose
from zc_notebooks.bench.graders.values import Date, Exact, Moment, Number, Time

AnyGrader = Exact | Number | Date | Time | Moment | Items | Constraints | Json | Code | Prose
"""What ``grader = { type = … }`` may be."""

__all__ = [
    "AnyGrader",
    "Bounds",
    "Case",
    "Code",
    "Constraints",
    "Date",
    "Exact",
    "Grade",
    "Grader",
    "Items",
    "Json",
    "Mark",
    "Moment",
    "Number",
    "Prose",
    "Setting",
    "Time",
]
