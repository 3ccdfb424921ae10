"""Our own rows: a segment copied from another machine, or what another ledger holds. Taken as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zc_notebooks.ledger.importing.formats import Line, Refused, Row
from zc_notebooks.ledger.lines import judge


class OwnRows:
    """Ledger rows of this or another version; fields this version does not know stay."""

    name = "ledger rows"

    def recognises(self, value: Mapping[str, Any]) -> bool:
        """Rows have a key."""
        return "call_id" in value and "ordinal" in value

    def rows(self, lines: Iterable[Line]) -> Iterator[Row | Refused]:
        """Every line that is a row, unchanged."""
        for line in lines:
            verdict = judge(line.raw)
            if verdict is None:
                yield Row(call_id=line.value["call_id"], ordinal=line.value["ordinal"], line=line.raw + b"\n")
            else:
                yield Refused(line=line.number, why=verdict[1])
