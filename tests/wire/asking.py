"""How tests build a request and look at what a wire made of it."""

from __future__ import annotations

from typing import Any

import msgspec

from zc_notebooks.chat import ChatRequest, Message, TextPart, ToolCall, text_message
from zc_notebooks.records import Profile, WireName
from zc_notebooks.redact import Secret
from zc_notebooks.wire.base import Encoded, Target
from zc_notebooks.wire.registry import wire


def target(
    name: WireName, *, family: str = "custom", base_url: str = "http://127.0.0.1:9/v9", model: str = "m", **profile: Any
) -> Target:
    """A target with the key ``key-of-the-test``."""
    known = Profile(ref=f"{family}.x", family=family, alias="x", base_url=base_url, wire=name, **profile)
    return Target(profile=known, model=model, key=Secret("key-of-the-test"))


def encode(request: ChatRequest, to: Target, *, stream: bool = False) -> tuple[dict[str, Any], Encoded]:
    """The JSON body that is sent, and the whole encoded request."""
    encoded = wire(to.profile.wire).encode(request, to, stream=stream)
    return msgspec.json.decode(encoded.request.body), encoded


def say(text: str = "hello", **settings: Any) -> ChatRequest:
    """A one-line conversation with settings."""
    return ChatRequest(messages=(text_message("user", text),), **settings)


def tool_talk() -> ChatRequest:
    """A conversation in which two tools were called in one turn, one with arguments that are no JSON."""
    calls = (
        ToolCall(id="a", name="weather", arguments={"city": "Oslo"}, raw='{"city": "Oslo"}', signature="sig"),
        ToolCall(id="b", name="time", arguments=None, raw="{half"),
    )
    return ChatRequest(
        messages=(
            text_message("system", "be short"),
            text_message("user", "weather and time?"),
            Message(role="assistant", parts=(TextPart(text="looking"),), tool_calls=calls, reasoning="hm"),
            Message(role="tool", parts=(TextPart(text="rain"),), tool_call_id="a", name="weather"),
            Message(role="tool", parts=(TextPart(text="12:00"),), tool_call_id="b"),
            text_message("user", "thanks"),
        )
    )
