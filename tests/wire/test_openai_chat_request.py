"""Requests in OpenAI chat completions: addresses, keys, messages, and what each family is not sent."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.wire.asking import encode, say, target, tool_talk
from zc_notebooks.chat import ChatRequest, ImagePart, JsonSchema, Message, TextPart, Tool, text_message
from zc_notebooks.records import Capabilities
from zc_notebooks.wire.registry import wire

SCHEMA = JsonSchema(name="answer", schema={"type": "object"})


def chat(family: str = "custom", **more: Any) -> Any:
    return target("openai_chat", family=family, **more)


@pytest.mark.parametrize(
    ("family", "base_url", "url"),
    [
        ("custom", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/chat/completions"),
        ("custom", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/chat/completions"),
        ("custom", "http://127.0.0.1:9", "http://127.0.0.1:9/chat/completions"),
        ("custom", "http://127.0.0.1:9/v1/chat/completions", "http://127.0.0.1:9/v1/chat/completions"),
        ("custom", "https://h.test/v1?region=eu", "https://h.test/v1/chat/completions?region=eu"),
        ("azure", "https://r.test/openai/v1", "https://r.test/openai/v1/chat/completions"),
        ("azure", "https://r.test", "https://r.test/openai/v1/chat/completions"),
        (
            "azure",
            "https://r.test?api-version=2024-10-21",
            "https://r.test/openai/deployments/my%2Fm/chat/completions?api-version=2024-10-21",
        ),
        (
            "azure",
            "https://r.test/openai/deployments/d?api-version=1",
            "https://r.test/openai/deployments/d/chat/completions?api-version=1",
        ),
    ],
)
def test_url(family: str, base_url: str, url: str) -> None:
    """The path is appended to the base URL's path; Azure has two forms."""
    _, encoded = encode(say(), chat(family, base_url=base_url, model="my/m"))
    assert (encoded.request.method, encoded.request.url) == ("POST", url)


@pytest.mark.parametrize(
    ("family", "header", "value"),
    [
        ("custom", "authorization", "Bearer key-of-the-test"),
        ("groq", "authorization", "Bearer key-of-the-test"),
        ("azure", "api-key", "key-of-the-test"),
        ("a-new-family", "authorization", "Bearer key-of-the-test"),
    ],
)
def test_key(family: str, header: str, value: str) -> None:
    """The key is in the family's header and nowhere else; the request's repr does not show it."""
    _, encoded = encode(say(), chat(family))
    assert encoded.request.headers[header] == value
    assert [name for name, held in encoded.request.headers.items() if "key-of" in held] == [header]
    assert "key-of-the-test" not in repr(encoded.request) + encoded.request.url + encoded.request.body.decode()


def test_no_key_no_header() -> None:
    """A keyless entry sends no authorization."""
    keyless = msgspec.structs.replace(chat(), key=None)
    assert "authorization" not in encode(say(), keyless)[1].request.headers


def test_the_operators_headers_win() -> None:
    """``extra_headers`` replace ours whatever their case; those of the connection are left out."""
    extra = {"X-Title": "me", "ACCEPT": "x/y", "Authorization": "Basic abc", "Host": "evil", "Content-Length": "1"}
    headers = encode(say(), chat(extra_headers=extra))[1].request.headers
    assert (headers["x-title"], headers["accept"], headers["authorization"]) == ("me", "x/y", "Basic abc")
    assert {"host", "content-length"}.isdisjoint(headers)


def test_provider_extra_comes_last() -> None:
    """``provider_extra`` is merged on the top level and wins; ``chat_template_kwargs`` has its own field."""
    extra = {"temperature": 0.1, "route": "x"}
    body, _ = encode(say(temperature=1.0), chat(provider_extra=extra, chat_template_kwargs={"enable_thinking": False}))
    assert (body["temperature"], body["route"]) == (0.1, "x")
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_settings() -> None:
    """The standard fields under their standard names, nothing that was not asked for, no note."""
    asked = say(max_tokens=5, temperature=0.5, top_p=0.9, stop=("a", "b"), seed=7, reasoning_effort="low")
    body, encoded = encode(asked, chat())
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["a", "b"],
        "seed": 7,
        "reasoning_effort": "low",
    }
    assert encoded.notes == ()
    assert set(encode(say(), chat())[0]) == {"model", "messages"}


@pytest.mark.parametrize(
    ("family", "model", "settings", "sent", "notes"),
    [
        ("openai", "gpt-4o", {"max_tokens": 5}, {"max_completion_tokens": 5}, ()),
        ("azure", "d", {"max_tokens": 5}, {"max_completion_tokens": 5}, ()),
        ("cerebras", "m", {"max_tokens": 5}, {"max_completion_tokens": 5}, ()),
        ("groq", "m", {"max_tokens": 5}, {"max_tokens": 5}, ()),
        ("mistral", "m", {"seed": 7}, {"random_seed": 7}, ()),
        ("google", "m", {"seed": 7}, {}, ("dropped seed",)),
        ("openai", "gpt-5-mini", {"temperature": 0.0, "stop": ("a",)}, {}, ("dropped temperature", "dropped stop")),
        ("openai", "gpt-5-chat-latest", {"temperature": 0.0}, {"temperature": 0.0}, ()),
        ("openrouter", "gpt-5-mini", {"temperature": 0.0}, {"temperature": 0.0}, ()),
        ("groq", "m", {"reasoning_effort": "minimal"}, {"reasoning_effort": "low"}, ()),
        ("openai", "gpt-5", {"reasoning_effort": "minimal"}, {"reasoning_effort": "minimal"}, ()),
        ("zai", "m", {"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}, ()),
        ("deepseek", "m", {"reasoning_effort": "high"}, {"thinking": {"type": "enabled"}}, ()),
        ("dashscope", "m", {"reasoning_effort": "none"}, {"enable_thinking": False}, ()),
    ],
)
def test_families_differ(
    family: str, model: str, settings: dict[str, Any], sent: dict[str, Any], notes: tuple[str, ...]
) -> None:
    """A setting goes out under the family's own name, or is dropped with a note."""
    body, encoded = encode(say(**settings), chat(family, model=model))
    assert {key: value for key, value in body.items() if key not in ("model", "messages")} == sent
    assert encoded.notes == notes


def test_effort_needs_a_thinking_profile() -> None:
    """``think = false`` of a profile drops the effort with a note."""
    body, encoded = encode(say(reasoning_effort="high"), chat(capabilities=Capabilities(think=False)))
    assert "reasoning_effort" not in body
    assert encoded.notes == ("dropped reasoning_effort",)


@pytest.mark.parametrize(("family", "asks"), [("custom", True), ("groq", True), ("mistral", False), ("cohere", False)])
def test_usage_is_asked_for_where_it_may_be(family: str, asks: bool) -> None:
    """``stream_options`` only in streams, and not where unknown fields are refused."""
    body, encoded = encode(say(), chat(family), stream=True)
    assert body["stream"] is True
    assert body.get("stream_options") == ({"include_usage": True} if asks else None)
    assert encoded.request.headers["accept"] == "text/event-stream"


def test_a_lone_surrogate_is_escaped() -> None:
    """Half a character in a prompt is sent as its escape."""
    request = wire("openai_chat").encode(say("a\ud83d"), chat(), stream=False).request
    assert json.loads(request.body)["messages"][0]["content"] == "a\ud83d"


def test_a_conversation_with_tools() -> None:
    """Calls and results keep ids and order; arguments that are no object travel as one."""
    body, _ = encode(tool_talk(), chat())
    assert body["messages"] == [
        {"role": "system", "content": "be short"},
        {"role": "user", "content": "weather and time?"},
        {
            "role": "assistant",
            "content": "looking",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
                {"id": "b", "type": "function", "function": {"name": "time", "arguments": '{"raw":"{half"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
        {"role": "tool", "tool_call_id": "b", "content": "12:00"},
        {"role": "user", "content": "thanks"},
    ]


def test_reasoning_goes_back_where_it_is_wanted() -> None:
    """DeepSeek and its kin want the reasoning of their own tool calls; nobody else is sent any."""
    assert encode(tool_talk(), chat("deepseek"))[0]["messages"][2]["reasoning_content"] == "hm"
    assert "reasoning_content" not in encode(tool_talk(), chat("openai"))[0]["messages"][2]


def test_googles_signature_goes_back() -> None:
    """The thought signature of a call travels to Gemini's compatible endpoint and to no other server."""
    calls = encode(tool_talk(), chat("google"))[0]["messages"][2]["tool_calls"]
    assert calls[0]["extra_content"] == {"google": {"thought_signature": "sig"}}
    assert "extra_content" not in encode(tool_talk(), chat())[0]["messages"][2]["tool_calls"][0]


def test_mistral_gets_ids_of_its_own_form() -> None:
    """Nine letters and digits, the same for call and result; an id that fits stays."""
    sent = encode(tool_talk(), chat("mistral"))[0]["messages"]
    ids = [call["id"] for call in sent[2]["tool_calls"]]
    assert ids == [sent[3]["tool_call_id"], sent[4]["tool_call_id"]]
    assert len({*ids}) == 2
    assert all(len(one) == 9 and one.isalnum() for one in ids)


def test_tools() -> None:
    """Functions with a schema of their own, or an empty object; the choice in its two forms."""
    tools = (Tool(name="f", description="d", parameters={"type": "object", "properties": {"x": {}}}), Tool(name="g"))
    body, _ = encode(say(tools=tools, tool_choice="f"), chat())
    assert [one["function"]["name"] for one in body["tools"]] == ["f", "g"]
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {"x": {}}}
    assert body["tools"][1]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert body["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert encode(say(tools=tools, tool_choice="required"), chat())[0]["tool_choice"] == "required"
    assert "tool_choice" not in encode(say(tools=tools), chat())[0]


def test_response_format() -> None:
    """A JSON schema in its own field; where there is none, JSON mode and the schema in the prompt."""
    body, encoded = encode(say(response_format=SCHEMA), chat())
    assert body["response_format"]["json_schema"] == {"name": "answer", "schema": {"type": "object"}, "strict": False}
    assert encoded.notes == ("schema not strict: it has open or optional parts",)
    body, encoded = encode(say(response_format=SCHEMA), chat("deepseek"))
    assert body["response_format"] == {"type": "json_object"}
    assert '{"type":"object"}' in body["messages"][0]["content"]
    assert encoded.notes == ("schema in the prompt",)


def test_json_mode() -> None:
    """Any JSON object is asked for as it was, with the word that servers want in the prompt."""
    mode = JsonSchema(name="answer", schema={"type": "object"}, strict=False)
    for words, extra in (("hello", 1), ("as JSON, please", 0)):
        body, encoded = encode(say(words, response_format=mode), chat("groq"))
        assert body["response_format"] == {"type": "json_object"}
        assert (len(body["messages"]), encoded.notes) == (1 + extra, ())
    body, _ = encode(say(response_format=mode), chat("lmstudio"))
    assert body["response_format"]["json_schema"] == {"name": "answer", "schema": {"type": "object"}, "strict": False}


def picture(*parts: Any, role: Any = "user") -> ChatRequest:
    return ChatRequest(messages=(Message(role=role, parts=parts, tool_call_id="a" if role == "tool" else None),))


def test_images() -> None:
    """Images stand among the text in order: data as a ``data:`` URL, URLs as they are."""
    asked = picture(
        TextPart(text="a"), ImagePart(data=b"\x89PNG"), ImagePart(url="https://h.test/i.png"), TextPart(text="b")
    )
    body, _ = encode(asked, chat())
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "image_url", "image_url": {"url": "https://h.test/i.png"}},
        {"type": "text", "text": "b"},
    ]


@pytest.mark.parametrize(
    ("family", "request_", "lacks"),
    [
        ("custom", picture(ImagePart(url="https://h.test/i.png")), None),
        ("moonshot", picture(ImagePart(url="https://h.test/i.png")), "images by URL"),
        ("moonshot", picture(ImagePart(url="data:image/png;base64,AA==")), None),
        ("moonshot", picture(ImagePart(data=b"x")), None),
        ("custom", picture(ImagePart(data=b"x"), role="tool"), "images in a tool result"),
        ("custom", ChatRequest(messages=(text_message("user", "x"),), seed=1, response_format=SCHEMA), None),
    ],
)
def test_lacks(family: str, request_: ChatRequest, lacks: str | None) -> None:
    """What the wire cannot carry to a family, in words."""
    assert wire("openai_chat").lacks(request_, chat(family)) == lacks
