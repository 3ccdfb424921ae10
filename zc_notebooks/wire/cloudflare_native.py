"""Cloudflare's own answers (``…/ai/run/{model}``), read as chat completions (spec wire 1a: native envelope)."""

from __future__ import annotations

from typing import Any

from zc_notebooks.wire.loose_json import as_dict, as_list, to_text
from zc_notebooks.wire.whole_body import looks_like_error


def as_chunk(value: dict[str, Any]) -> dict[str, Any] | None:
    """A native body or event in the form of a chat chunk; ``None`` for everything else.

    A body stands in the envelope ``{"result", "success": true}``, an event does not. Models that know chat
    completions have one inside; the others answer in ``response``, in JSON mode as the object itself.
    """
    enveloped = value.get("success") is True
    result = as_dict(value.get("result")) if enveloped else value
    if isinstance(result.get("choices"), list):
        return result if enveloped else None
    said = result.get("response")
    if not isinstance(said, str) and not (enveloped and "response" in result):
        return None
    if looks_like_error(result):
        return None
    text = said if isinstance(said, str) or said is None else to_text(said)
    calls = map(as_dict, as_list(result.get("tool_calls")))
    called = [call if "function" in call else {"function": call} for call in calls]
    return {"choices": [{"delta": {"content": text, "tool_calls": called}}], "usage": result.get("usage")}
