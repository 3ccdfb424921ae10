"""Opening a 2xx body that was not streamed: JSON, or the failure that something else stands for."""

from __future__ import annotations

from typing import Any, Final

from zc_notebooks.chat import Answer, WireFailure
from zc_notebooks.stream_guard.completion import MAX_PAYLOAD
from zc_notebooks.stream_guard.sse import without_bom
from zc_notebooks.wire.half_calls import is_cut
from zc_notebooks.wire.loose_json import BROKEN, as_dict, parse

_SSE_STARTS: Final = (b"data:", b"event:", b":", b"error:", b"id:", b"retry:")
_NOTHING: Final = Answer()
_ERROR_KEYS: Final = ("message", "msg", "detail", "errors", "error_message", "error_code", "error_msg")


def is_event_stream(body: bytes) -> bool:
    """Whether a body begins like server-sent events, although nobody asked for a stream."""
    return without_bom(body).startswith(_SSE_STARTS)


def open_object(body: bytes) -> dict[str, Any] | WireFailure:
    """The JSON object of ``body``. Blank lines before it (keep-alive) are skipped."""
    text = without_bom(body).strip()
    if not text:
        return WireFailure(kind="empty_body", reason="stream_cut", detail="the response has no body")
    value = parse(text)
    if isinstance(value, dict):
        return value
    payload = text[:MAX_PAYLOAD].decode("utf-8", "replace")
    if value is BROKEN:
        return _not_json(text, payload)
    if error_without_object(value):
        form = "a JSON string" if isinstance(value, str) else "an array with an error"
        return WireFailure(kind="error_body", payload=payload, detail=f"the body is {form}")
    return WireFailure(kind="not_protocol", payload=payload, detail="the body is no JSON object")


def _not_json(text: bytes, payload: str) -> WireFailure:
    if is_cut(payload if len(text) <= MAX_PAYLOAD else text.decode("utf-8", "replace")):
        return WireFailure(
            kind="cut", reason="stream_cut", payload=payload, detail="the JSON body ends early: response truncated"
        )
    kind = "HTML" if text.startswith(b"<") else "no JSON"
    return WireFailure(kind="not_protocol", payload=payload, detail=f"the body is {kind}")


def error_without_object(value: object) -> bool:
    """Whether JSON that is no object is an error: a string (SiliconFlow, xAI), or an array that holds one (Gemini)."""
    if isinstance(value, list):
        return any(error_in(as_dict(item)) for item in value)
    return isinstance(value, str)


def error_in(value: dict[str, Any]) -> bool:
    """Whether an object carries an error: ``error`` (not null), ``object: error``, a failing ``base_resp``."""
    error = value.get("error")
    if error is not None and error != "" and error is not False:
        return True
    if value.get("object") == "error" or value.get("type") == "error":
        return True
    return failing_base_resp(value.get("base_resp"))


def failing_base_resp(value: object) -> bool:
    """MiniMax and its kin: ``base_resp.status_code`` other than 0."""
    return as_dict(value).get("status_code") not in (None, 0, "0")


def looks_like_error(value: dict[str, Any]) -> bool:
    """The same, or a flat error: a usual name, or a status (problem+json), in an object that has nothing else."""
    status = value.get("status")
    problem = isinstance(status, int) and not isinstance(status, bool) and status >= 400  # noqa: PLR2004
    return error_in(value) or problem or any(value.get(key) for key in _ERROR_KEYS)


def error_body(value: dict[str, Any], body: bytes, answer: Answer = _NOTHING) -> WireFailure:
    """The failure of a 2xx whose JSON is an error, with the body as it stood and what of an ``answer`` is beside it."""
    payload = body.strip()[:MAX_PAYLOAD].decode("utf-8", "replace")
    where = "error" if value.get("error") is not None else "body"
    return WireFailure(
        kind="error_body", payload=payload, detail=f"a 2xx response whose {where} is a failure", answer=answer
    )
