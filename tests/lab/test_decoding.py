"""One conversation written in the words of each wire is read back as the same conversation."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.chat import ChatRequest, ImagePart, Message, TextPart, Tool
from zc_notebooks.lab import Unreadable, decode_request

ARGUMENTS = {"city": "Paris"}
RAW = '{"city":"Paris"}'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
PNG = b"\x89PNG\r\n\x1a\nrest"
B64 = base64.b64encode(PNG).decode()
DATA_URL = f"data:image/png;base64,{B64}"
FUNCTION = {"name": "weather", "description": "of a city", "parameters": SCHEMA}
CALL = {"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": RAW}}

WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "openai_chat": (
        "/v1/chat/completions",
        {
            "model": "m",
            "max_completion_tokens": 50,
            "stop": "END",
            "tools": [{"type": "function", "function": FUNCTION}],
            "tool_choice": "required",
            "messages": [
                {"role": "developer", "content": "Be kind."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look"},
                        {"type": "image_url", "image_url": {"url": DATA_URL}},
                    ],
                },
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call_0", "content": "sunny"},
            ],
        },
    ),
    "openai_responses": (
        "/v1/responses",
        {
            "model": "m",
            "max_output_tokens": 50,
            "instructions": "Be kind.",
            "tools": [{"type": "function", **FUNCTION}],
            "tool_choice": "required",
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "Look"},
                        {"type": "input_image", "image_url": DATA_URL},
                    ],
                },
                {"type": "function_call", "call_id": "call_0", "name": "weather", "arguments": RAW},
                {"type": "function_call_output", "call_id": "call_0", "output": "sunny"},
            ],
        },
    ),
    "anthropic_messages": (
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 50,
            "stop_sequences": ["END"],
            "system": [{"type": "text", "text": "Be kind."}],
            "tools": [{"name": "weather", "description": "of a city", "input_schema": SCHEMA}],
            "tool_choice": {"type": "any"},
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": B64}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "call_0", "name": "weather", "input": ARGUMENTS}],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_0", "content": "sunny"}]},
            ],
        },
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "generationConfig": {"maxOutputTokens": 50, "stopSequences": ["END"]},
            "tools": [{"functionDeclarations": [FUNCTION]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            "contents": [
                {
                    "role": "user",
                    "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": B64}}],
                },
                {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": ARGUMENTS}}]},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "weather", "response": {"result": "sunny"}}}],
                },
            ],
        },
    ),
    "ollama": (
        "/api/chat",
        {
            "model": "m",
            "options": {"num_predict": 50, "stop": ["END"]},
            "tools": [{"type": "function", "function": FUNCTION}],
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Look", "images": [B64]},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": "weather", "arguments": ARGUMENTS}}],
                },
                {"role": "tool", "tool_name": "weather", "content": "sunny"},
            ],
        },
    ),
    "cohere_v2": (
        "/v2/chat",
        {
            "model": "m",
            "max_tokens": 50,
            "stop_sequences": ["END"],
            "tools": [{"type": "function", "function": FUNCTION}],
            "tool_choice": "REQUIRED",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look"},
                        {"type": "image_url", "image_url": {"url": DATA_URL}},
                    ],
                },
                {"role": "assistant", "tool_calls": [CALL]},
                {
                    "role": "tool",
                    "tool_call_id": "call_0",
                    "content": [{"type": "document", "document": {"data": "sunny"}}],
                },
            ],
        },
    ),
}


def _expected(read: ChatRequest) -> ChatRequest:
    """The conversation all of them wrote; raw arguments, stops and tool choice as the wire has them."""
    call = read.messages[2].tool_calls[0]
    return ChatRequest(
        messages=(
            Message(role="system", parts=(TextPart(text="Be kind."),)),
            Message(role="user", parts=(TextPart(text="Look"), ImagePart(data=PNG, media_type="image/png"))),
            Message(
                role="assistant",
                tool_calls=(msgspec.structs.replace(call, id="call_0", name="weather", arguments=ARGUMENTS),),
            ),
            Message(role="tool", parts=(TextPart(text="sunny"),), tool_call_id="call_0", name="weather"),
        ),
        tools=(Tool(name="weather", description="of a city", parameters=SCHEMA),),
        tool_choice=read.tool_choice,
        max_tokens=50,
        stop=read.stop,
    )


@pytest.mark.parametrize("wire", WRITTEN)
def test_the_same_conversation_comes_back(wire: str) -> None:
    """System, image, tool call and its result are the same whatever wire they came by."""
    path, body = WRITTEN[wire]
    read = decode_request(wire, path, msgspec.json.encode(body))
    request = read.request
    assert request == _expected(request)
    assert read.answers_tools
    assert (read.wire, read.model, read.last_user) == (wire, "m", "Look")
    assert read.stream is (wire == "ollama")
    assert request.stop == (() if wire == "openai_responses" else ("END",))
    assert request.tool_choice == (None if wire == "ollama" else "required")


@pytest.mark.parametrize("wire", WRITTEN)
@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"model": 3}', b"\xff", b'{"messages": 3, "contents": 3}'])
def test_malformed_requests_have_one_error(wire: str, body: bytes) -> None:
    """Whatever is wrong, the decoder says it in its own way."""
    with pytest.raises(Unreadable):
        decode_request(wire, WRITTEN[wire][0], body)


def test_gemini_counts_results_against_calls() -> None:
    """Two calls want two results in one turn, as the vendor has it."""
    call = {"functionCall": {"name": "weather", "args": {}}}
    result = {"functionResponse": {"name": "weather", "response": {"result": "rain"}}}
    turns = [{"role": "user", "parts": [{"text": "Look"}]}, {"role": "model", "parts": [call, call]}]
    path = WRITTEN["gemini"][0]
    both = [{"role": "user", "parts": [result, result]}]
    assert len(decode_request("gemini", path, msgspec.json.encode({"contents": turns + both})).request.messages) == 4
    apart = [{"role": "user", "parts": [result]}, {"role": "user", "parts": [result]}]
    with pytest.raises(Unreadable, match="number of function response parts"):
        decode_request("gemini", path, msgspec.json.encode({"contents": turns + apart}))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(WRITTEN)), st.data())
def test_no_request_crashes_a_decoder(wire: str, data: st.DataObject) -> None:
    """Any value in any place is read, or refused as malformed."""
    path, body = WRITTEN[wire]
    mutated = msgspec.json.decode(msgspec.json.encode(body))
    place: Any = mutated
    for _ in range(data.draw(st.integers(0, 6))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()):
            place[key] = data.draw(JUNK)
            break
        place = place[key]
    with suppress(Unreadable):
        read = decode_request(wire, path, msgspec.json.encode(mutated))
        assert read.input_tokens > 0


def test_unknown_wires_are_told() -> None:
    """The error names the wires there are."""
    with pytest.raises(KeyError, match="openai_chat"):
        decode_request("smoke_signals", "/", b"{}")
