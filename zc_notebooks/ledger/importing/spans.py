"""Spans as tools write them to JSON lines: OTLP JSON (a batch or a bare span a line), and the SDKs' own ``to_json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from zc_notebooks.ledger.importing import texts
from zc_notebooks.records import Record

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ERROR_CODES: Final = (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")
_DEPTH: Final = 8


class Event(Record, frozen=True, kw_only=True):
    """Something that happened within a span."""

    name: str
    at: datetime | None
    attributes: Mapping[str, Any]


class Span(Record, frozen=True, kw_only=True):
    """One span, whatever it was written in."""

    trace_id: str
    span_id: str
    began: datetime
    ended: datetime | None
    failed: bool
    attributes: Mapping[str, Any]
    events: tuple[Event, ...] = ()


def is_spans(value: Mapping[str, Any]) -> bool:
    """Whether an object is a batch of spans or a span; looks at names of fields only."""
    if "resourceSpans" in value or "resource_spans" in value:
        return True
    bare = {"spanId", "startTimeUnixNano"} <= value.keys()
    return bare or {"context", "start_time", "attributes"} <= value.keys()


def spans(value: Mapping[str, Any]) -> Iterator[Span]:
    """The spans of one line; what has no id or no begin is none."""
    for raw in _raw(value):
        span = _span(raw)
        if span is not None:
            yield span


def _raw(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    batches = value.get("resourceSpans", value.get("resource_spans"))
    if batches is None:
        yield value
        return
    for batch in _objects(batches):
        for scope in _objects(_first(batch, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")):
            yield from _objects(scope.get("spans"))


def _span(raw: Mapping[str, Any]) -> Span | None:
    context = texts.fields(raw.get("context"))
    trace, own = (
        _id(_first(raw, "traceId", "trace_id") or context.get("trace_id")),
        _id(_first(raw, "spanId", "span_id") or context.get("span_id")),
    )
    began = _time(raw, "start")
    if not own or began is None:
        return None
    status = texts.fields(raw.get("status"))
    return Span(
        trace_id=trace,
        span_id=own,
        began=began,
        ended=_time(raw, "end"),
        failed=_first(status, "code", "status_code") in _ERROR_CODES,
        attributes=_attributes(raw.get("attributes")),
        events=tuple(_event(event) for event in _objects(raw.get("events"))),
    )


def _event(raw: Mapping[str, Any]) -> Event:
    return Event(
        name=str(raw.get("name")),
        at=_nanos(_first(raw, "timeUnixNano", "time_unix_nano")) or texts.instant(raw.get("timestamp")),
        attributes=_attributes(raw.get("attributes")),
    )


def _time(raw: Mapping[str, Any], which: str) -> datetime | None:
    return _nanos(_first(raw, f"{which}TimeUnixNano", f"{which}_time_unix_nano")) or texts.instant(
        raw.get(f"{which}_time")
    )


def _nanos(value: object) -> datetime | None:
    """Nanoseconds since 1970, a number or (as OTLP JSON has it) a text; 0 is not known."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if not isinstance(value, int) or value <= 0:
        return None
    try:
        return _EPOCH + timedelta(microseconds=round(value / 1000))
    except OverflowError:
        return None


def _id(value: object) -> str:
    return value.removeprefix("0x").lower() if isinstance(value, str) else ""


def _attributes(value: object) -> dict[str, Any]:
    """Attributes as a plain object, also from OTLP's list of keys and typed values."""
    if isinstance(value, dict):
        return value
    return {str(item.get("key")): _plain(item.get("value"), _DEPTH) for item in _objects(value)}


def _plain(value: object, depth: int) -> Any:
    if not isinstance(value, dict) or depth <= 0:
        return None
    for name, inner in value.items():
        if name in ("intValue", "int_value"):
            return _whole(inner)
        if name in ("arrayValue", "array_value"):
            return [_plain(item, depth - 1) for item in _objects(texts.fields(inner).get("values"))]
        if name in ("stringValue", "string_value", "boolValue", "bool_value", "doubleValue", "double_value"):
            return inner
    return None


def _whole(value: object) -> int | None:
    """64 bits are a text in JSON."""
    try:
        return int(value) if isinstance(value, str | int) else None
    except ValueError:
        return None


def _first(value: Mapping[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if name in value), None)


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
