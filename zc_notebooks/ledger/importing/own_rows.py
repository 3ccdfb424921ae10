"""Our own rows: a segment copied from another machine, or what another ledger holds. Taken as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zc_notebooks.ledger.importing.formats import Line, Refused, Row, stored


class OwnRows:
    """Ledger rows of this or another version; fields this version does not know stay."""

    name = "ledger rows"

    def recognises(self, value: Mapping[str, Any]) -> bool:
        """Rows have a key."""
        return "call_id" in value and "ordinal" in value

    def rows(self, lines: Iterable[Line]) -> Iterator[Row | Refused]:
        """Every line that is a row, unchanged but for secrets."""
        for line in lines:
            yield stored(line.raw, line.number)
