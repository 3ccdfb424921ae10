"""How tests feed a body to a decoder: in pieces of any size, and what came out of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from zc_notebooks.chat import Reasoning, StreamEnd, Text, ToolCall, Usage, WireEvent
from zc_notebooks.wire.base import Wire

STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Properties that a busy machine may not fail."""

CUTS = st.lists(st.integers(0, 3000), max_size=12)


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """``data`` cut at the given places."""
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:stop] for start, stop in itertools.pairwise(places)]


def every(data: bytes, size: int) -> list[bytes]:
    """``data`` in pieces of ``size`` bytes."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def read(
    wire: Wire, chunks: Sequence[bytes], headers: Mapping[str, str] | None = None, *, interrupted: str | None = None
) -> tuple[list[WireEvent], StreamEnd]:
    """All events and the judged end of one stream."""
    decoder = wire.decoder(headers or {}, anthropic_completion="stop_reason")
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events, decoder.finish(interrupted=interrupted)


def told(events: Sequence[WireEvent]) -> tuple[str, str, list[ToolCall], Usage | None]:
    """Text, reasoning, tool calls and the last usage of the events alone."""
    usage = [event for event in events if isinstance(event, Usage)]
    return (
        "".join(event.text for event in events if isinstance(event, Text)),
        "".join(event.text for event in events if isinstance(event, Reasoning)),
        [event for event in events if isinstance(event, ToolCall)],
        usage[-1] if usage else None,
    )
