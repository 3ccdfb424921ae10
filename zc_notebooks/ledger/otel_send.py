"""Sending the ledger's spans through ``opentelemetry-sdk``: ``pip install zc-notebooks[otel]``.

Where to and with which headers is read by OpenTelemetry's own exporter from its own ``OTEL_EXPORTER_OTLP_…``
variables. Prompts and answers are not in the ledger, so none are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks import __version__
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger import genai
from zc_notebooks.ledger.otel import OtelSpan, calls
from zc_notebooks.ledger.period import When

if TYPE_CHECKING:
    from zc_notebooks.ledger.read import Ledger

_BATCH: Final = 512
"""Spans handed over at a time, as the SDK's own processor does."""
_SAMPLED: Final = 1


def send(ledger: Ledger, *, since: When | None = None, until: When | None = None, exporter: Any = None) -> int:
    """Sends the spans of the calls that began in a period; how many spans.

    Args:
        ledger: Where the attempts are.
        since: Begin, included: ``"24h"``, a date or an instant.
        until: End, not included; the same forms.
        exporter: Any ``SpanExporter``; OTLP over HTTP by default.

    Raises:
        LedgerError: A bound cannot be read, the extra is not installed, or the spans were not taken.
    """
    try:
        from opentelemetry.sdk.trace.export import SpanExportResult

        exporter = exporter or _otlp()
    except ImportError:
        raise LedgerError("sending spans needs OpenTelemetry: pip install 'zc-notebooks[otel]'") from None
    spans = (span for of_call in calls(ledger, since, until) for span in of_call)
    sent = 0
    for batch in _batches(spans):
        if exporter.export([_readable(span) for span in batch]) is not SpanExportResult.SUCCESS:
            raise LedgerError(
                f"the spans were not taken after {sent:,}: see OTEL_EXPORTER_OTLP_ENDPOINT; sending them again is safe"
            )
        sent += len(batch)
    return sent


def _otlp() -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _batches(spans: Iterable[OtelSpan]) -> Iterator[list[OtelSpan]]:
    left = iter(spans)
    while batch := list(islice(left, _BATCH)):
        yield batch


def _readable(span: OtelSpan) -> Any:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanKind, Status, StatusCode

    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=None if span.parent_id is None else _context(span.trace_id, span.parent_id),
        resource=Resource({"service.name": genai.SCOPE, "service.version": __version__}),
        attributes=dict(span.attributes),
        events=[Event(event.name, dict(event.attributes), event.at_ns) for event in span.events],
        kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
        instrumentation_scope=InstrumentationScope(genai.SCOPE, __version__, genai.SCHEMA_URL),
        status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
        start_time=span.begin_ns,
        end_time=span.end_ns,
    )


def _context(trace_id: str, span_id: str) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(_SAMPLED))
