"""``zc budget``: what may be spent, what was, and until when that counts."""

from __future__ import annotations

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.budget.report import BUDGET_COLUMNS, Budget
from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import answer, emit, report, say, table
from zc_notebooks.errors import ZcError


def show_budget(as_json: AsJson = False) -> None:
    """Show the budgets of day and month in US dollars: limit, spent, reserved, left, and when they are fresh."""
    import zc_notebooks as zc

    try:
        with zc.open(quiet=as_json) as chain:
            now = chain.budget()
    except ZcError as error:
        report(error, as_json=as_json)
    if as_json:
        emit(now)
        return
    if now.periods:
        table(BUDGET_COLUMNS, now.rows())
    answer(_call(now))
    if now.problem:
        say(f"zc: nothing that costs is asked: {now.problem}")


def _call(now: Budget) -> str:
    if now.call_usd is not None:
        return f"one call may cost up to {dollars(now.call_usd)}"
    return "one call has no budget of its own" if now.periods or now.problem else "no budget is set (see [borders])"
