"""What each object looks like in a notebook: one sheet (title, lines, table) that becomes HTML, Markdown or text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from zc_notebooks.budget.report import Budget
from zc_notebooks.chain import Chain
from zc_notebooks.errors import CallError
from zc_notebooks.explanation import Explanation
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.markup import Sheet
from zc_notebooks.notebook.sheets.calls import completion_sheet, error_sheet
from zc_notebooks.notebook.sheets.ledgers import ledger_sheet
from zc_notebooks.notebook.sheets.plans import chain_sheet, plan_sheet
from zc_notebooks.notebook.sheets.standing import (
    budget_sheet,
    mark_sheet,
    marks_sheet,
    probe_sheet,
    probes,
    status_sheet,
)
from zc_notebooks.notebook.sheets.verdicts import explanation_sheet, verdict_sheet
from zc_notebooks.probe import ProbeResult, ProbeResults
from zc_notebooks.records import LiveMarks, Mark, Plan, Verdict
from zc_notebooks.result import Completion
from zc_notebooks.status import Status

_SHEETS: Final[list[tuple[type, Callable[[Any], Sheet]]]] = [
    (Completion, completion_sheet),
    (Plan, plan_sheet),
    (Chain, chain_sheet),
    (Verdict, verdict_sheet),
    (Explanation, explanation_sheet),
    (CallError, error_sheet),
    (Mark, mark_sheet),
    (LiveMarks, marks_sheet),
    (ProbeResult, probe_sheet),
    (ProbeResults, probes),
    (Status, status_sheet),
    (Budget, budget_sheet),
    (Ledger, ledger_sheet),
]


def sheet_of(shown: Any) -> Sheet:
    """The sheet of one of the package's objects. Raises :class:`TypeError` for anything else."""
    for kind, draw in _SHEETS:
        if isinstance(shown, kind):
            return draw(shown)
    raise TypeError(f"nothing is known about showing a {type(shown).__name__}")
