"""The short usage log: ``{"t","provider","model","in","out","secs","status","attempt","failover"}``, a line an attempt.

Mapping: ``t`` → ``t`` (without a zone: UTC), ``provider`` → ``provider_ref``, ``in`` and ``out`` → ``input_tokens``
and ``output_tokens``, the others by name; ``accepted`` is ``status == "ok"``. Cost, reason and credential are not in
the log and stay unknown.

Such a line has no call. A line with ``attempt`` 0 that is no failover begins one, and the lines up to the next such
line belong to it, whether or not that one can be read: right for a log of one program that makes one call at a time, a
guess where calls overlap. The call's id is a hash of its first line (and of how often that very line came before): the
same file gives the same keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import msgspec

from zc_notebooks.ledger.importing import texts
from zc_notebooks.ledger.importing.bounds import possible
from zc_notebooks.ledger.importing.formats import Line, Refused, Row, row
from zc_notebooks.ledger.row import AttemptRow


class _Short(msgspec.Struct, frozen=True):
    t: datetime
    provider: str
    status: str
    model: str = ""
    tokens_in: int | None = msgspec.field(default=None, name="in")
    tokens_out: int | None = msgspec.field(default=None, name="out")
    secs: float | None = None
    attempt: int = 0
    failover: bool = False


class ShortLines:
    """The log of a script that writes one short line an attempt."""

    name = "short usage log"

    def recognises(self, value: Mapping[str, Any]) -> bool:
        """By its three fields that say when, who and how it went."""
        return {"t", "provider", "status"} <= value.keys()

    def rows(self, lines: Iterable[Line]) -> Iterator[Row | Refused]:
        """One row a line."""
        seen: Counter[bytes] = Counter()
        call_id, ordinal = "", 0
        for line in lines:
            if _begins(line.value):
                call_id = ""  # also when this line is refused: what follows is not the call's before it
            try:
                short = msgspec.convert(line.value, _Short, strict=True)
            except (msgspec.ValidationError, ValueError) as problem:
                yield Refused(line=line.number, why=str(problem))
                continue
            if not possible(short.t):  # before it is moved to UTC, which there may be no room for
                yield Refused(line=line.number, why="t cannot be: not within the years 2000 to 2099")
                continue
            if not call_id:
                call_id, ordinal = _call_id(line.value, seen), 0
            made = row(_attempt(short, call_id, ordinal), line.number)
            ordinal += 1
            yield made


def _begins(value: Mapping[str, Any]) -> bool:
    return value.get("attempt", 0) == 0 and not value.get("failover", False)


def _call_id(value: Mapping[str, Any], seen: Counter[bytes]) -> str:
    content = msgspec.json.encode(value, order="sorted")
    seen[content] += 1
    return "imported-" + blake2b(b"%d %b" % (seen[content], content), digest_size=12).hexdigest()


def _attempt(short: _Short, call_id: str, ordinal: int) -> AttemptRow:
    known = short.tokens_in is not None and short.tokens_out is not None
    return AttemptRow(
        call_id=call_id,
        ordinal=ordinal,
        t=short.t.replace(tzinfo=UTC) if short.t.tzinfo is None else short.t.astimezone(UTC),
        provider_ref=texts.name(short.provider) or "",
        model=texts.name(short.model) or "",
        kind="attempt",
        mode="chat",
        status=texts.name(short.status) or "",
        attempt=short.attempt,
        failover=short.failover,
        accepted=short.status == "ok",
        input_tokens=short.tokens_in,
        output_tokens=short.tokens_out,
        usage_state="complete" if known else "missing",
        secs=short.secs,
    )
