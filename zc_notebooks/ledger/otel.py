"""The ledger as OpenTelemetry spans: one for each call, and in it one for each attempt; no prompt, no answer.

An attempt is a ``CLIENT`` span ``chat <model>`` with the conventions' attributes (:mod:`zc_notebooks.ledger.genai`)
and, for what they have no name for, ``zc.<column>``. Its call is an ``INTERNAL`` span around it; candidates that were
passed over are ``zc.skip`` events of that. Ids are hashes of the ledger's keys: exporting twice gives the same spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from zc_notebooks.ledger import genai
from zc_notebooks.ledger.exporting import appear, free
from zc_notebooks.ledger.period import When, period
from zc_notebooks.ledger.row import DUCKDB_TYPES
from zc_notebooks.records import Record
from zc_notebooks.redact import redact

if TYPE_CHECKING:
    from zc_notebooks.ledger.read import Ledger

Value = str | bool | int | float | list[str]
Columns = Mapping[str, Any]
"""One row of the ledger by column."""

_CALLS: Final = """
with chosen as (
    select call_id, min(t) as began from attempts group by call_id
    having ($1::timestamptz is null or began >= $1) and ($2::timestamptz is null or began < $2)
)
select attempts.* from attempts join chosen using (call_id) order by began, call_id, ordinal
"""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LONGEST_S: Final = 1e9
"""Seconds (three decades) beyond which a length is a mistake: 64 bits of nanoseconds do not hold much more."""
_STANDARD: Final = frozenset({*genai.COLUMNS, "t", "secs", "kind", "finish_reason"})
"""Columns that the span itself or an attribute of the conventions carries."""


class SpanEvent(Record, frozen=True, kw_only=True):
    """Something within a span."""

    name: str
    at_ns: int
    attributes: Mapping[str, Value]


class OtelSpan(Record, frozen=True, kw_only=True):
    """A span of a call or of an attempt. Times are nanoseconds since 1970."""

    trace_id: str
    span_id: str
    """32 and 16 hex digits."""
    parent_id: str | None
    name: str
    kind: Literal["internal", "client"]
    begin_ns: int
    end_ns: int
    failed: bool
    attributes: Mapping[str, Value]
    events: tuple[SpanEvent, ...] = ()


def calls(ledger: Ledger, since: When | None = None, until: When | None = None) -> Iterator[tuple[OtelSpan, ...]]:
    """The spans of each call that began in a period: the call's own first, then its attempts'.

    Raises:
        LedgerError: A bound cannot be read.
    """
    begin, end = period(since, until, now=ledger.clock.now())
    rows = ledger.sql(_CALLS, [begin, end]).iter_rows(named=True)
    for _, of_call in groupby(rows, itemgetter("call_id")):
        yield call_spans(list(of_call))


def call_spans(rows: list[dict[str, Any]]) -> tuple[OtelSpan, ...]:
    """The spans of one call from its rows in their order; there is at least one."""
    attempts = [attempt_span(row) for row in rows if row["kind"] == "attempt"]
    skips = [row for row in rows if row["kind"] != "attempt"]
    first = rows[0]
    begins = [_nanoseconds(row["t"]) for row in rows]
    named = {name: first[name] for name in ("call_id", "turn_id", "requested_ref", "requested_model", "mode")}
    around = OtelSpan(
        trace_id=_trace(first),
        span_id=_hash(first["call_id"], 8),
        parent_id=None,
        name=f"call {first['requested_model'] or first['model']}",
        kind="internal",
        begin_ns=min(begins),
        end_ns=max([*begins, *(span.end_ns for span in attempts)]),
        failed=not any(row["accepted"] for row in rows),
        attributes=_own(named),
        events=tuple(_skip(row) for row in skips),
    )
    return (around, *attempts)


def attempt_span(row: Columns) -> OtelSpan:
    """The span of one attempt."""
    begin = _nanoseconds(row["t"])
    failed = not row["accepted"]
    known = {genai.OPERATION: genai.CHAT, genai.PROVIDER: _provider(row["provider_ref"]), **_conventional(row)}
    if failed:
        known[genai.ERROR] = row["status"].removeprefix("http_")
    secs = row["secs"] if row["secs"] is not None and abs(row["secs"]) <= _LONGEST_S else None
    if secs is None:
        known["zc.secs_unknown"] = True
    return OtelSpan(
        trace_id=_trace(row),
        span_id=_hash(f"{row['call_id']}/{row['ordinal']}", 8),
        parent_id=_hash(row["call_id"], 8),
        name=f"{genai.CHAT} {row['model']}",
        kind="client",
        begin_ns=begin,
        end_ns=begin + round((secs or 0.0) * 1e6) * 1000,
        failed=failed,
        attributes={**known, **_own({name: row[name] for name in DUCKDB_TYPES if name not in _STANDARD})},
    )


def otlp_line(spans: Iterable[OtelSpan], version: str) -> bytes:
    """A line of OTLP JSON, as collectors read it from files (``otlpjsonfile``)."""
    scope = {"name": genai.SCOPE, "version": version}
    resource = {"attributes": _pairs({"service.name": genai.SCOPE, "service.version": version})}
    written = [{"scope": scope, "schemaUrl": genai.SCHEMA_URL, "spans": [_otlp(span) for span in spans]}]
    return msgspec.json.encode({"resourceSpans": [{"resource": resource, "scopeSpans": written}]}) + b"\n"


def export(
    ledger: Ledger, file: Path | str, *, since: When | None = None, until: When | None = None, force: bool = False
) -> int:
    """Writes a line of OTLP JSON for each call of a period; the file appears whole. How many calls.

    Raises:
        LedgerError: A bound cannot be read, or the file cannot be written, is there already (unless ``force``), or
            would lie in the ledger's own folder.
    """
    from zc_notebooks import __version__

    def write(path: Path) -> int:
        with path.open("xb") as out:
            return sum(bool(out.write(otlp_line(spans, __version__))) for spans in calls(ledger, since, until))

    return appear(free(file, ledger.folder, force=force), write)


def _conventional(row: Columns) -> dict[str, Value]:
    found = {name: _value(row[column]) for column, name in genai.COLUMNS.items() if row[column] is not None}
    if row["finish_reason"] is not None:
        found[genai.FINISH] = [redact(row["finish_reason"])]
    if row["mode"] == "stream":
        found[genai.STREAM] = True
    return found


def _own(columns: Columns) -> dict[str, Value]:
    return {genai.OWN + name: _value(value) for name, value in columns.items() if value is not None}


def _value(value: Any) -> Value:
    if isinstance(value, datetime):
        return value.isoformat()
    known: Value = redact(value) if isinstance(value, str) else value
    return known


def _skip(row: Columns) -> SpanEvent:
    columns = {name: row[name] for name in DUCKDB_TYPES if name not in ("t", "kind")}
    return SpanEvent(name=genai.SKIP, at_ns=_nanoseconds(row["t"]), attributes=_own(columns))


def _provider(ref: str) -> str:
    family = ref.partition(".")[0]
    return genai.PROVIDERS.get(family, family)


def _trace(row: Columns) -> str:
    """A turn is a trace; without one, a call is."""
    return _hash(row["turn_id"] or row["call_id"], 16)


def _hash(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=size).hexdigest()


def _nanoseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND * 1000


def _otlp(span: OtelSpan) -> dict[str, Any]:
    """OTLP's JSON: 64 bits are texts, kinds and codes are numbers."""
    parent = {} if span.parent_id is None else {"parentSpanId": span.parent_id}
    events = [
        {"timeUnixNano": str(event.at_ns), "name": event.name, "attributes": _pairs(event.attributes)}
        for event in span.events
    ]
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        **parent,
        "name": span.name,
        "kind": 3 if span.kind == "client" else 1,
        "startTimeUnixNano": str(span.begin_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _pairs(span.attributes),
        **({"events": events} if events else {}),
        "status": {"code": 2} if span.failed else {},
    }


def _pairs(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _typed(value)} for name, value in attributes.items()]


def _typed(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"arrayValue": {"values": [{"stringValue": item} for item in value]}}
