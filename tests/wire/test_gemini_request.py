"""What is sent to Gemini, and what is said about what is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.asking import encode, say, target, tool_talk
from zc_notebooks.chat import ChatRequest, ImagePart, JsonSchema, Message, TextPart, Tool
from zc_notebooks.wire.base import Target
from zc_notebooks.wire.gemini_request import NO_SIGNATURE
from zc_notebooks.wire.registry import wire

GOOGLE = "https://generativelanguage.googleapis.com/v1beta"


def google(model: str = "gemini-3-flash", base_url: str = GOOGLE, **profile: Any) -> Target:
    return target("gemini", family="google", base_url=base_url, model=model, **profile)


@pytest.mark.parametrize(
    ("base_url", "model", "stream", "url"),
    [
        (GOOGLE, "gemini-3-flash", False, f"{GOOGLE}/models/gemini-3-flash:generateContent"),
        (GOOGLE, "models/gemini-3-flash", True, f"{GOOGLE}/models/gemini-3-flash:streamGenerateContent?alt=sse"),
        (GOOGLE + "/", "tunedModels/mine", False, f"{GOOGLE}/tunedModels/mine:generateContent"),
        (GOOGLE + "/openai", "m", False, f"{GOOGLE}/models/m:generateContent"),
        ("http://127.0.0.1:8", "m", False, "http://127.0.0.1:8/v1beta/models/m:generateContent"),
        ("http://127.0.0.1:8/v1", "a b?c", False, "http://127.0.0.1:8/v1/models/a%20b%3Fc:generateContent"),
        ("http://h/v1?x=1", "m", True, "http://h/v1/models/m:streamGenerateContent?x=1&alt=sse"),
    ],
)
def test_addresses(base_url: str, model: str, stream: bool, url: str) -> None:
    """The model is in the path; a stream is asked for as server-sent events."""
    assert encode(say(), google(model, base_url), stream=stream)[1].request.url == url


def test_the_key_travels_in_googles_header() -> None:
    """The key is in ``x-goog-api-key``, never in the URL."""
    request = encode(say(), google())[1].request
    assert request.headers["x-goog-api-key"] == "key-of-the-test"
    assert "authorization" not in request.headers
    assert "key-of-the-test" not in request.url


def test_a_conversation_with_tools() -> None:
    """Instructions stand apart; results of one turn stand together and are matched by name and id."""
    body, _ = encode(tool_talk(), google("gemini-2.5-flash"))
    assert body["systemInstruction"] == {"parts": [{"text": "be short"}]}
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "weather and time?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "looking"},
                {
                    "functionCall": {"id": "a", "name": "weather", "args": {"city": "Oslo"}},
                    "thoughtSignature": "sig",
                },
                {"functionCall": {"id": "b", "name": "time", "args": {"raw": "{half"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "a", "name": "weather", "response": {"result": "rain"}}},
                {"functionResponse": {"id": "b", "name": "time", "response": {"result": "12:00"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "thanks"}]},
    ]


@pytest.mark.parametrize(("model", "signature"), [("gemini-3.1-pro", NO_SIGNATURE), ("gemini-2.5-pro", None)])
def test_calls_of_another_model_get_the_documented_stand_in(model: str, signature: str | None) -> None:
    """Gemini 3 refuses a first call without a signature, which a call that another provider made cannot have."""
    talk = tool_talk()
    calls = tuple(call for call in talk.messages[2].tool_calls if call.signature is None)
    messages = (talk.messages[1], Message(role="assistant", tool_calls=calls * 2))
    body, _ = encode(ChatRequest(messages=messages), google(model))
    assert [part.get("thoughtSignature") for part in body["contents"][1]["parts"]] == [signature, None]


def test_images() -> None:
    """Data travels inline, also out of a data URL; other URLs as file data; images of results behind the result."""
    picture = ImagePart(data=b"abc", media_type="image/webp")
    inline = {"inlineData": {"mimeType": "image/webp", "data": "YWJj"}}
    file = ImagePart(url="https://example.org/a.jpg", media_type="image/jpeg")
    user = Message(role="user", parts=(picture, ImagePart(url="data:image/webp;base64,YWJj"), file))
    result = Message(role="tool", parts=(TextPart(text="see"), picture), tool_call_id="z")
    body, _ = encode(ChatRequest(messages=(user, result)), google())
    assert body["contents"][0]["parts"] == [
        inline,
        inline,
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://example.org/a.jpg"}},
    ]
    response = {"functionResponse": {"id": "z", "name": "z", "response": {"result": "see"}}}
    assert body["contents"][1]["parts"] == [response, inline]
    assert wire("gemini").lacks(ChatRequest(messages=(user, result)), google()) is None


def test_settings() -> None:
    """Every setting has its own name here."""
    schema = {"$schema": "https://json-schema.org", "type": "object", "properties": {"x": {"type": "integer"}}}
    request = say(
        max_tokens=9,
        temperature=0.5,
        top_p=0.25,
        stop=("a", "b"),
        seed=7,
        response_format=JsonSchema(name="x", schema=schema),
    )
    body, encoded = encode(request, google())
    assert body["generationConfig"] == {
        "maxOutputTokens": 9,
        "temperature": 0.5,
        "topP": 0.25,
        "stopSequences": ["a", "b"],
        "seed": 7,
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object", "properties": {"x": {"type": "integer"}}},
    }
    assert encoded.notes == ()
    assert "generationConfig" not in encode(say(), google())[0]


def test_any_json_object_needs_no_schema() -> None:
    """The format that only says object is the media type alone."""
    body, _ = encode(say(response_format=JsonSchema(name="x", schema={"type": "object"}, strict=False)), google())
    assert body["generationConfig"] == {"responseMimeType": "application/json"}


def test_stop_sequences_above_five_are_left_out_with_a_note() -> None:
    """Gemini takes five."""
    body, encoded = encode(say(stop=tuple("abcdefg")), google())
    assert body["generationConfig"]["stopSequences"] == list("abcde")
    assert encoded.notes == ("dropped stop sequences after the first 5",)


@pytest.mark.parametrize(
    ("model", "effort", "config", "noted"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}, False),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 1024, "includeThoughts": True}, False),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}, True),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24576, "includeThoughts": True}, False),
        ("gemini-3-flash", "none", {"thinkingLevel": "minimal"}, True),
        ("gemini-3.5-flash", "medium", {"thinkingLevel": "medium", "includeThoughts": True}, False),
        ("gemini-3-pro", "medium", {"thinkingLevel": "high", "includeThoughts": True}, False),
        ("gemini-3.1-pro", "minimal", {"thinkingLevel": "low", "includeThoughts": True}, False),
        ("gemini-flash-latest", "high", {"thinkingLevel": "high", "includeThoughts": True}, False),
        ("gemini-2.0-flash", "high", None, True),
        ("gemma-3-27b-it", "none", None, True),
    ],
)
def test_reasoning_effort(model: str, effort: Any, config: dict[str, Any] | None, noted: bool) -> None:
    """A budget for 2.5, a level for later ones, a note where the model cannot do it."""
    body, encoded = encode(say(reasoning_effort=effort), google(model))
    assert body.get("generationConfig", {}).get("thinkingConfig") == config
    assert bool(encoded.notes) is noted
    assert all("reasoning_effort" in note for note in encoded.notes)


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (None, None),
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("weather", {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
    ],
)
def test_tool_choice(choice: str | None, config: dict[str, Any] | None) -> None:
    """Every choice has its mode."""
    body, _ = encode(say(tools=(Tool(name="weather"),), tool_choice=choice), google())
    assert body["tools"] == [{"functionDeclarations": [{"name": "weather", "description": ""}]}]
    assert body.get("toolConfig", {}).get("functionCallingConfig") == config


def parameters(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "wanted", "dropped"),
    [
        (parameters(a={"type": "string", "maxLength": 3}), parameters(a={"type": "string", "maxLength": 3}), ""),
        (
            {**parameters(a={"type": "string"}), "required": ["a", "b"], "additionalProperties": False, "$schema": "x"},
            {**parameters(a={"type": "string"}), "required": ["a"]},
            "$schema, additionalProperties",
        ),
        (parameters(a={"type": ["string", "null"]}), parameters(a={"type": "string", "nullable": True}), ""),
        (
            parameters(a={"type": ["string", "integer"]}),
            parameters(a={"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            "",
        ),
        (
            parameters(a={"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}),
            parameters(a={"default": None, "nullable": True, "type": "integer"}),
            "",
        ),
        (
            parameters(a={"oneOf": [{"type": "integer"}, {"type": "string"}]}),
            parameters(a={"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            "",
        ),
        (parameters(a={"const": "x"}), parameters(a={"enum": ["x"], "type": "string"}), ""),
        (
            parameters(a={"enum": ["x", None]}),
            parameters(a={"nullable": True, "enum": ["x"], "type": "string"}),
            "",
        ),
        (parameters(a={"type": "integer", "enum": [1, 2]}), parameters(a={"type": "integer"}), "enum"),
        (parameters(a={"type": "string", "format": "uri"}), parameters(a={"type": "string"}), "format"),
        (
            parameters(a={"type": "string", "format": "date-time"}),
            parameters(a={"type": "string", "format": "date-time"}),
            "",
        ),
        (
            {
                **parameters(a={"$ref": "#/$defs/P", "description": "d"}),
                "$defs": {"P": {"type": "string", "title": "P"}},
            },
            parameters(a={"title": "P", "type": "string", "description": "d"}),
            "",
        ),
        (
            {**parameters(a={"$ref": "#/$defs/N"}), "$defs": {"N": parameters(next={"$ref": "#/$defs/N"})}},
            parameters(a=parameters(next={"type": "object"})),
            "$ref",
        ),
        (
            {"allOf": [parameters(a={"type": "string"}), parameters(b={"type": "number"})]},
            parameters(a={"type": "string"}, b={"type": "number"}),
            "",
        ),
        (parameters(a={"type": "array"}), parameters(a={"type": "array", "items": {}}), ""),
        (
            parameters(a={"type": "array", "items": {"type": "string", "examples": ["x"]}}),
            parameters(a={"type": "array", "items": {"type": "string"}}),
            "examples",
        ),
        (parameters(a=True), parameters(a={}), ""),
        (parameters(), None, ""),
        ({}, None, ""),
    ],
)
def test_tool_schemas_lose_what_gemini_refuses(
    schema: dict[str, Any], wanted: dict[str, Any] | None, dropped: str
) -> None:
    """References are written out, other forms rewritten, the rest dropped with one note."""
    body, encoded = encode(say(tools=(Tool(name="f", parameters=schema),)), google())
    assert body["tools"][0]["functionDeclarations"][0].get("parameters") == wanted
    assert encoded.notes == ((f"dropped from tool schemas: {dropped}",) if dropped else ())
