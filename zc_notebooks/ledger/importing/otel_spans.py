"""OpenTelemetry spans of the conventions for generative AI: OTLP JSON lines, bare spans, the SDKs' ``to_json``.

A span whose operation is ``chat``, ``generate_content`` or ``text_completion`` is an attempt.

==============================================  ======================================================================
span                                            row
==============================================  ======================================================================
trace and span id                               ``turn_id`` (``otel-<trace>``), ``call_id`` (``otel-<trace>-<span>``),
                                                ``ordinal`` 0
start, end                                      ``t``, ``secs``
``gen_ai.provider.name`` (was ``.system``)      ``provider_ref`` (``gcp.gemini`` → ``google.otel``)
``gen_ai.request.model``, ``.response.model``   ``model``, ``model_reported``
``gen_ai.request.stream``                       ``mode``
``gen_ai.usage.input_tokens``,                  ``input_tokens``, ``output_tokens``
``.output_tokens``
``gen_ai.usage.cache_read.input_tokens``,       ``cached_input_tokens``, ``reasoning_tokens``
``.reasoning.output_tokens``
``gen_ai.response.finish_reasons``              ``finish_reason`` (the first)
``gen_ai.response.time_to_first_chunk``         ``first_token_s``
``http.response.status_code``, ``error.type``   ``status``: ``http_<code>``, ``timeout``, ``network``, else ``failed``;
                                                no error: ``ok``, ``accepted``
``zc.<column>``                                 that column: spans we wrote come back as they were, their skips too
==============================================  ======================================================================

Everything else stays NULL; the conventions have no cost (``zc ledger reprice`` can find one). Never read: messages,
instructions, tool definitions, the texts of errors, and events other than our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from zc_notebooks.chat import Usage
from zc_notebooks.ledger import genai
from zc_notebooks.ledger.importing import texts
from zc_notebooks.ledger.importing.formats import Line, Refused, Row, row
from zc_notebooks.ledger.importing.spans import Event, Span, is_spans, spans
from zc_notebooks.ledger.prices import valid
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.redact import short
from zc_notebooks.wire.usage import count

SOURCE: Final = "otel"
_HTTP: Final = range(400, 600)
_OWN_KEY: Final = ("zc.call_id", "zc.ordinal")
_LONGEST: Final = 2000


class OtelSpans:
    """Spans of model calls."""

    name = "OpenTelemetry spans"

    def recognises(self, value: Mapping[str, Any]) -> bool:
        """Batches and spans of any kind."""
        return is_spans(value)

    def rows(self, lines: Iterable[Line]) -> Iterator[Row | Refused]:
        """A row for each span of a model call; a line without any is counted."""
        for line in lines:
            found = False
            for made in _rows(line.value):
                found = True
                yield Refused(line=line.number, why=made) if isinstance(made, str) else row(made, line.number)
            if not found:
                yield Refused(line=line.number, why="no span of a model call")


def _rows(value: Mapping[str, Any]) -> Iterator[AttemptRow | str]:
    for span in spans(value):
        if all(name in span.attributes for name in _OWN_KEY):
            yield _own(span)
        elif _is_inference(span.attributes):
            yield _foreign(span)
        yield from (_own_skip(event) for event in span.events if event.name == genai.SKIP)


def _is_inference(attributes: Mapping[str, Any]) -> bool:
    """Spans older than the operation's name have a model and a provider."""
    operation = attributes.get(genai.OPERATION)
    if operation is not None:
        return operation in genai.INFERENCE
    return "gen_ai.request.model" in attributes and _get(attributes, genai.PROVIDER) is not None


def _get(attributes: Mapping[str, Any], wanted: str) -> Any:
    """An attribute by its name, or by the one it had before."""
    return attributes.get(wanted, attributes.get(genai.OLDER.get(wanted, wanted)))


# -- spans of others -------------------------------------------------------------------------------------------------


def _foreign(span: Span) -> AttemptRow:
    found = span.attributes
    provider = texts.name(_get(found, genai.PROVIDER))
    status = _status(span)
    first = found.get(genai.COLUMNS["first_token_s"])
    return AttemptRow(
        call_id=texts.key(SOURCE, f"{span.trace_id}-{span.span_id}" if span.trace_id else span.span_id),
        ordinal=0,
        turn_id=texts.key(SOURCE, span.trace_id) if span.trace_id else None,
        t=span.began,
        provider_ref=texts.ref(genai.FAMILIES.get(provider or "", provider), SOURCE),
        model=texts.name(found.get("gen_ai.request.model")) or texts.name(found.get("gen_ai.response.model")) or "",
        model_reported=texts.name(found.get("gen_ai.response.model")),
        kind="attempt",
        mode="stream" if found.get(genai.STREAM) is True else "chat",
        status=status,
        accepted=status == "ok",
        secs=texts.seconds(span.began, span.ended),
        first_token_s=float(first) if isinstance(first, int | float) and not isinstance(first, bool) else None,
        finish_reason=_finish(found.get(genai.FINISH)),
        **_tokens(found, status),
    )


def _status(span: Span) -> str:
    error, code = span.attributes.get(genai.ERROR), count(span.attributes.get("http.response.status_code"))
    if error is None and not span.failed and code not in _HTTP:
        return "ok"
    word = str(error)
    if code not in _HTTP and word.isdecimal():
        code = int(word)
    if code in _HTTP:
        return f"http_{code}"
    lower = word.lower()
    if "timeout" in lower:
        return "timeout"
    return "network" if "connect" in lower or "unknownhost" in lower else "failed"


def _finish(value: object) -> str | None:
    return texts.name(value[0]) if isinstance(value, list | tuple) and value else texts.name(value)


def _tokens(found: Mapping[str, Any], status: str) -> dict[str, Any]:
    if status.startswith("http_"):
        return {"input_tokens": 0, "output_tokens": 0, "usage_state": "complete", "cost_usd": 0.0}
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
    counts = {name: count(_get(found, genai.COLUMNS[name])) for name in names}
    into, out, cached, reasoning = counts.values()
    if into is None and out is None:
        return {"usage_state": "missing" if status == "ok" else "unknown"}
    usage = Usage(input_tokens=into, output_tokens=out, cached_tokens=cached, reasoning_tokens=reasoning)
    return {**counts, "usage_state": "complete"} if valid(usage) else {"usage_state": "invalid"}


# -- our own ---------------------------------------------------------------------------------------------------------


def _own(span: Span) -> AttemptRow | str:
    found = span.attributes
    values: dict[str, Any] = {"t": span.began, "kind": "attempt"}
    if not found.get("zc.secs_unknown"):
        values["secs"] = texts.seconds(span.began, span.ended)
    values.update({column: found[name] for column, name in genai.COLUMNS.items() if name in found})
    finish = found.get(genai.FINISH)
    if isinstance(finish, list) and finish:
        values["finish_reason"] = finish[0]
    return _row({**values, **_columns(found)})


def _own_skip(event: Event) -> AttemptRow | str:
    return _row({"t": event.at, "kind": "skip", **_columns(event.attributes)})


def _columns(found: Mapping[str, Any]) -> dict[str, Any]:
    own = {name.removeprefix(genai.OWN): value for name, value in found.items() if name.startswith(genai.OWN)}
    return {name: short(value, _LONGEST) if isinstance(value, str) else value for name, value in own.items()}


def _row(values: dict[str, Any]) -> AttemptRow | str:
    try:
        return msgspec.convert(values, AttemptRow, strict=False)
    except (msgspec.ValidationError, ValueError):
        return "a span of ours whose columns are not a row"
