"""The attempt ledger at a glance: how much it holds, and its newest rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.markup import Sheet

NEWEST: Final = 10


def ledger_sheet(ledger: Ledger) -> Sheet:
    """The newest rows, oldest first. Reads what was appended since the last look."""
    rows = ledger.tail(NEWEST).to_dicts()
    title = repr(ledger)
    notes = () if ledger.damage is None else (f"{ledger.damage}.",)
    if not rows:
        empty = "It has no rows: every attempt and every skipped candidate becomes one."
        return Sheet(title=title, notes=(*notes, empty))
    return Sheet(
        title=title,
        lines=(f"The newest {len(rows)}:",),
        columns=("at", "candidate", "kind", "status", "reason", "seconds", "tokens in / out", "cost"),
        rows=tuple(_row(row) for row in rows),
        notes=(*notes, 'Ask it with .sql("select … from attempts") or %%zcsql.'),
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['t']:%Y-%m-%d %H:%M:%S} UTC",
        f"{row['provider_ref']}/{row['model']}",
        row["kind"],
        row["status"].replace("_", " "),
        (row["reason"] or "").replace("_", " "),
        _or_dash(row["secs"], ".2f"),
        f"{_or_dash(row['input_tokens'])} / {_or_dash(row['output_tokens'])}",
        "-" if row["cost_usd"] is None else dollars(Decimal(str(row["cost_usd"]))),
    )


def _or_dash(value: float | None, form: str = "") -> str:
    """Unknown is not zero."""
    return "-" if value is None else format(value, form)
