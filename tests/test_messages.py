"""What people write as a prompt becomes one request, or one clear sentence."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zc_notebooks.chat import (
    ChatRequest,
    ImagePart,
    JsonSchema,
    Message,
    TextPart,
    Tool,
    ToolCall,
    text_message,
    to_json,
)
from zc_notebooks.errors import ZcError
from zc_notebooks.messages import as_request
from zc_notebooks.prompt_parts import InvalidRequest, clean

PNG = b"\x89PNG\r\n\x1a\n rest"
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def call(call_id: str = "c1", name: str = "weather", arguments: Any = '{"city": "Oslo"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def turns(*messages: Any) -> tuple[Message, ...]:
    return as_request([{"role": "user", "content": "go"}, *messages]).messages[1:]


def test_a_string_is_a_user_message() -> None:
    """The shortest prompt is a plain string."""
    assert as_request("hello") == ChatRequest(messages=(text_message("user", "hello"),))


def test_own_messages_and_dictionaries_mix() -> None:
    """Message records and dictionaries may stand in one list; a lone one needs no list."""
    wanted = (text_message("system", "be short"), text_message("user", "hello"))
    assert as_request([wanted[0], {"role": "user", "content": "hello"}]).messages == wanted
    assert as_request(wanted[1], system="be short").messages == wanted
    assert as_request({"role": "user", "content": "hello"}, system="be short").messages == wanted


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        ({"role": "developer", "content": "x"}, "system", "x"),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]},
            "user",
            "ab",
        ),
        ({"role": "assistant", "content": [{"type": "output_text", "text": "a"}, "b"]}, "assistant", "ab"),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, "assistant", "no"),
        ({"role": "user", "content": [TextPart(text="a")]}, "user", "a"),
    ],
)
def test_openai_dictionaries_are_taken_as_they_are(message: dict[str, Any], role: str, text: str) -> None:
    """Content strings and lists of parts, developer messages and refusals."""
    (got,) = turns(message)
    assert (got.role, got.text) == (role, text)


def test_a_tool_conversation_keeps_calls_and_results_together() -> None:
    """Arguments are parsed and kept raw; a result learns its tool's name from the call."""
    assistant, first, second = turns(
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b", "time", {"zone": "Oslo"})]},
        {"role": "tool", "tool_call_id": "b", "content": "12:00"},
        {"role": "tool", "tool_call_id": "a", "content": ""},
    )
    assert assistant.tool_calls == (
        ToolCall(id="a", name="weather", arguments={"city": "Oslo"}, raw='{"city": "Oslo"}'),
        ToolCall(id="b", name="time", arguments={"zone": "Oslo"}, raw='{"zone":"Oslo"}'),
    )
    assert (first.tool_call_id, first.name, first.text) == ("b", "time", "12:00")
    assert (second.tool_call_id, second.name, second.text) == ("a", "weather", "")


@pytest.mark.parametrize(
    ("arguments", "parsed", "raw"),
    [("", {}, "{}"), (None, {}, "{}"), ('{"a":', None, '{"a":'), ("[1]", None, "[1]"), ({"a": 1}, {"a": 1}, '{"a":1}')],
)
def test_arguments_that_do_not_parse_stay_raw(arguments: Any, parsed: Any, raw: str) -> None:
    """Arguments may be text, an object, nothing or rubbish."""
    (message,) = turns({"role": "assistant", "tool_calls": [call(arguments=arguments)]})
    assert (message.tool_calls[0].arguments, message.tool_calls[0].raw) == (parsed, raw)


def test_the_older_function_form_is_understood() -> None:
    """``function_call`` and role ``function`` become a call with an id and its result."""
    assistant, result = turns(
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
        {"role": "function", "name": "weather", "content": "rain"},
    )
    assert assistant.tool_calls[0].id == result.tool_call_id == "call_0"
    assert (result.role, result.name) == ("tool", "weather")


def test_ids_used_twice_become_two_ids() -> None:
    """Servers that number each answer's calls from nought do not mix up two turns."""
    first, one, second, two = turns(
        {"role": "assistant", "tool_calls": [call("call_0")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "1"},
        {"role": "assistant", "tool_calls": [call("call_0", "time")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "2"},
    )
    assert first.tool_calls[0].id == one.tool_call_id == "call_0"
    assert second.tool_calls[0].id == two.tool_call_id == "call_1"
    assert (one.name, two.name) == ("weather", "time")


def test_a_result_without_its_call_is_kept() -> None:
    """A conversation cut short may begin with a result."""
    (result,) = turns({"role": "tool", "tool_call_id": "gone", "content": "x"})
    assert (result.tool_call_id, result.name) == ("gone", None)


def test_message_objects_of_an_sdk_are_taken() -> None:
    """An object with ``model_dump`` is read as the dictionary it stands for."""

    class Reply:
        def model_dump(self, *, exclude_none: bool) -> dict[str, Any]:
            assert exclude_none
            extra = {"google": {"thought_signature": "sig"}}
            return {"role": "assistant", "tool_calls": [{**call(), "extra_content": extra}], "reasoning_content": "hm"}

    (message,) = turns(Reply())
    assert message.reasoning == "hm"
    assert message.tool_calls[0].signature == "sig"


def test_empty_turns_of_the_model_are_left_out() -> None:
    """An assistant or system message without content says nothing and is not sent."""
    messages = [{"role": "system", "content": ""}, {"role": "assistant", "content": None}, text_message("user", "x")]
    assert as_request(messages).messages == (text_message("user", "x"),)


@pytest.mark.parametrize("source", [PNG, PNG_URL, ImagePart(data=PNG), PNG_URL.replace("image/png", "")])
def test_images_as_data(source: Any) -> None:
    """Bytes, data URLs and parts all become data with a media type."""
    assert as_request("what?", images=[source]).messages[0].parts == (TextPart(text="what?"), ImagePart(data=PNG))
    assert as_request("what?", images=source).has_images


def test_images_by_path_and_by_url(tmp_path: Path) -> None:
    """A file is read and its type seen by its bytes; an http URL stays a URL."""
    picture = tmp_path / "picture.dat"
    picture.write_bytes(b"\xff\xd8\xff data")
    jpeg = ImagePart(data=b"\xff\xd8\xff data", media_type="image/jpeg")
    url = ImagePart(url="https://example.org/a.webp?x=1", media_type="image/webp")
    assert as_request("", images=[picture, str(picture), url.url or ""]).messages[0].parts == (jpeg, jpeg, url)


@pytest.mark.parametrize("value", [{"url": PNG_URL, "detail": "low"}, PNG_URL])
def test_images_in_message_dictionaries(value: Any) -> None:
    """``image_url`` as an object and as plain text, under both of OpenAI's part types."""
    for form in ("image_url", "input_image"):
        (message,) = turns({"role": "user", "content": [{"type": form, "image_url": value}]})
        assert message.parts == (ImagePart(data=PNG),)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF1234WEBP", "image/webp"),
        (b"1234ftypheic", "image/heic"),
    ],
)
def test_an_image_type_is_seen_by_its_bytes(data: bytes, media_type: str) -> None:
    """The first bytes decide, not a name."""
    assert as_request("", images=[data]).messages[0].parts == (ImagePart(data=data, media_type=media_type),)


@pytest.mark.parametrize(
    "tool",
    [
        WEATHER,
        {"type": "function", **WEATHER["function"]},
        {"name": "weather", "description": "Weather of a city", "input_schema": WEATHER["function"]["parameters"]},
        Tool(name="weather", description="Weather of a city", parameters=WEATHER["function"]["parameters"]),
    ],
)
def test_tools_in_every_usual_form(tool: Any) -> None:
    """OpenAI's dictionaries of both APIs and our own record mean the same tool."""
    assert as_request("x", tools=[tool]).tools[0] == Tool(
        name="weather", description="Weather of a city", parameters=WEATHER["function"]["parameters"]
    )


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        (None, None),
        ("auto", "auto"),
        ("required", "required"),
        ("weather", "weather"),
        ({"type": "function", "function": {"name": "weather"}}, "weather"),
        ({"type": "function", "name": "weather"}, "weather"),
    ],
)
def test_tool_choice(choice: Any, wanted: str | None) -> None:
    """A word, a tool's name or OpenAI's dictionary."""
    assert as_request("x", tools=[WEATHER], tool_choice=choice).tool_choice == wanted


SCHEMA: dict[str, Any] = {"title": "point", "type": "object", "properties": {"x": {"type": "number"}}}


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (None, None),
        ({"type": "text"}, None),
        (SCHEMA, JsonSchema(name="point", schema=SCHEMA)),
        (JsonSchema(name="p", schema=SCHEMA, strict=False), JsonSchema(name="p", schema=SCHEMA, strict=False)),
        ({"type": "json_object"}, JsonSchema(name="answer", schema={"type": "object"}, strict=False)),
        (
            {"type": "json_schema", "json_schema": {"name": "p", "schema": SCHEMA, "strict": True}},
            JsonSchema(name="p", schema=SCHEMA),
        ),
        ({"type": "json_schema", "name": "p", "schema": SCHEMA}, JsonSchema(name="p", schema=SCHEMA, strict=False)),
    ],
)
def test_response_formats(form: Any, wanted: JsonSchema | None) -> None:
    """A plain schema, OpenAI's dictionaries of both APIs, and our record."""
    assert as_request("x", response_format=form).response_format == wanted


def test_settings_are_kept() -> None:
    """Numbers become what the request declares; one stop sequence needs no list."""
    got = as_request("x", max_tokens=5, temperature=1, top_p=0.5, stop="END", seed=-1, reasoning_effort="low")
    assert (got.max_tokens, got.temperature, got.top_p, got.stop, got.seed) == (5, 1.0, 0.5, ("END",), -1)
    assert got.reasoning_effort == "low"
    assert as_request("x", stop=["a", "b"]).stop == ("a", "b")


USER = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("prompt", "options", "sentence"),
    [
        ("", {}, "nothing to answer: write a prompt"),
        (" \n", {}, "nothing to answer"),
        ([], {}, "nothing to answer"),
        ([{"role": "system", "content": "x"}], {}, "nothing to answer"),
        (None, {}, "the prompt is None; write text or a list of messages"),
        (3, {}, "the prompt is a int; write text"),
        (["x"], {}, "messages[0]: expected a message like {'role': 'user', 'content': …}, got a str"),
        ([USER, {"role": "robot", "content": "x"}], {}, "messages[1].role: 'robot' is not a role; use system"),
        ([USER, {"role": "user", "content": ""}], {}, "messages[1].content: this user message is empty"),
        ([{"role": "user", "content": 3}], {}, "messages[0].content: expected text or a list of parts, got a int"),
        ([{"role": "user", "content": {"type": "text"}}], {}, "messages[0].content: a part stands alone"),
        (
            [USER, USER, {"role": "user", "content": [{"type": "input_audio"}]}],
            {},
            "messages[2].content[0]: a part of type 'input_audio' cannot be sent; use text",
        ),
        ([{"role": "user", "content": [{"type": "text"}]}], {}, "messages[0].content[0].text: expected text, got None"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/etc/passwd"}}]}],
            {},
            "messages[0].content[0].image_url: expected a data: or http URL; for a file pass images=[path]",
        ),
        ([USER, {"role": "tool", "content": "x"}], {}, "messages[1]: the tool result names no call; set"),
        ([{"role": "assistant", "tool_calls": [{"id": "x"}]}], {}, "messages[0].tool_calls[0]: expected {'id'"),
        ([{"role": "assistant", "tool_calls": "x"}], {}, "messages[0].tool_calls: expected a list of calls"),
        ([{"role": "assistant", "tool_calls": [call(name="")]}], {}, "the call has no function name"),
        (
            [{"role": "assistant", "tool_calls": [call(arguments={"a": {1, 2}})]}],
            {},
            "messages[0].tool_calls[0].arguments.a: a set has no JSON form",
        ),
        ("x", {"images": ["/no/such/picture.png"]}, "images[0]: cannot read the image /no/such/picture.png: No such"),
        ("x", {"images": [b"plain text"]}, "images[0]: not an image that models read; convert it to PNG"),
        ("x", {"images": ["data:image/png;base64,***"]}, "images[0]: the data: URL is not valid base64"),
        ("x", {"images": ["data:application/pdf;base64,AAAA"]}, "images[0]: a data: URL of type application/pdf"),
        ("x", {"images": [3]}, "images[0]: expected a path, bytes, a data: URL or an http URL, got a int"),
        ("x", {"images": [ImagePart()]}, "images[0]: an image has either a url or data"),
        ([{"role": "assistant", "content": "x"}], {"images": [PNG]}, "images: there is no user message"),
        ("x", {"tools": WEATHER}, "tools: expected a list of tools; put the tool into a list"),
        ("x", {"tools": [{"type": "web_search"}]}, "tools[0]: only tools of type 'function' can be offered"),
        ("x", {"tools": [{"type": "function", "function": {}}]}, "tools[0]: the tool has no name"),
        ("x", {"tools": [WEATHER, WEATHER]}, "tools[1]: a second tool is named weather"),
        ("x", {"tools": [{"name": "f", "parameters": "x"}]}, "tools[0].parameters: expected a JSON schema object"),
        ("x", {"tool_choice": "required"}, "tool_choice: a tool call is required but no tools are given"),
        ("x", {"tools": [WEATHER], "tool_choice": "wether"}, "tool_choice: 'wether' is none of the tools"),
        ("x", {"response_format": "json"}, "response_format: expected a JSON schema, got a str"),
        ("x", {"response_format": {"type": "json_schema"}}, "response_format: the schema is missing"),
        ("x", {"max_tokens": 0}, "max_tokens: 0 is no whole number of at least 1"),
        ("x", {"max_tokens": True}, "max_tokens: True is no whole number"),
        ("x", {"temperature": 3}, "temperature: 3 is no number from 0.0 to 2.0"),
        ("x", {"temperature": float("nan")}, "temperature: nan is no number"),
        ("x", {"top_p": "1"}, "top_p: '1' is no number"),
        ("x", {"seed": 1.5}, "seed: 1.5 is no whole number"),
        ("x", {"stop": ["a", ""]}, "stop: expected text or a list of texts, none of them empty"),
        ("x", {"reasoning_effort": "extreme"}, "reasoning_effort: 'extreme' is none of none, minimal, low"),
        ("x", {"system": 3}, "system: expected text, got a int"),
    ],
)
def test_bad_input_gets_one_sentence(prompt: Any, options: dict[str, Any], sentence: str) -> None:
    """What cannot be sent is a ``ValueError`` that says what, where and what to write instead."""
    with pytest.raises(InvalidRequest) as caught:
        as_request(prompt, **options)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ZcError)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("plain", "plain"), ("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("a\0b", "a\ufffdb"), ("é😀", "é😀")],
)
def test_text_that_no_wire_can_carry_is_mended(text: str, wanted: str) -> None:
    """Surrogate pairs are joined; lone surrogates and NUL are replaced."""
    assert clean(text) == wanted
    request = as_request(text, system=text, tools=[{"name": text, "description": text, "parameters": {text: [text]}}])
    assert request.messages[1].text == wanted
    assert request.tools[0].parameters == {wanted: [wanted]}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "tool_calls", "function", "name", "arguments", "image_url"]
            ),
            inner | st.sampled_from(["user", "assistant", "tool", "text", "image_url", "weather"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANYTHING, ANYTHING, ANYTHING)
def test_anything_is_a_request_or_a_sentence(prompt: Any, tools: Any, form: Any) -> None:
    """Whatever is passed, there is a request that can be encoded, or an ``InvalidRequest``."""
    try:
        request = as_request(prompt, tools=tools, response_format=form)
    except InvalidRequest:
        return
    assert request.messages
    assert msgspec.json.decode(to_json(request))["messages"]
