"""A Responses answer that says it is not finished and does not say why is cut short, streamed and not."""

from __future__ import annotations

import msgspec
import pytest

from zc_notebooks.chat import WireFailure
from zc_notebooks.wire.registry import wire

WIRE = wire("openai_responses")
TEXT = "cut off by the lim"


def response(status: str, **fields: object) -> dict[str, object]:
    """A response with one message."""
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": TEXT}]}
    return {"id": "r", "object": "response", "status": status, "model": "m", "output": [message], **fields}


@pytest.mark.parametrize("status", ["incomplete", "in_progress", "queued", "cancelled"])
def test_the_same_verdict_for_a_body_and_a_stream(status: str) -> None:
    """Without an error and without a reason both are cuts, and what had arrived is kept."""
    whole = WIRE.decode(msgspec.json.encode(response(status)), {})
    decoder = WIRE.decoder({}, anthropic_completion="stop_reason")
    ending = {"type": "response.completed", "response": response(status)}
    decoder.feed(b"event: response.completed\ndata: " + msgspec.json.encode(ending) + b"\n\n")
    end = decoder.finish()
    for failure in (whole, end.failure):
        assert isinstance(failure, WireFailure)
        assert (failure.kind, failure.reason, failure.answer.text) == ("cut", "stream_cut", TEXT)
    assert (decoder.closed, end.evidence) == (True, (f"response.completed {status}",))


def test_an_error_beside_the_status_decides() -> None:
    """An error object in the last event is the provider's word and goes to the classifier."""
    ending = {"type": "response.failed", "response": response("cancelled", error={"code": "server_error"})}
    decoder = WIRE.decoder({}, anthropic_completion="stop_reason")
    decoder.feed(b"data: " + msgspec.json.encode(ending) + b"\n\n")
    failure = decoder.finish().failure
    assert failure is not None
    assert (failure.kind, "server_error" in failure.payload) == ("error_body", True)
