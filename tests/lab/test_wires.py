"""All six wires answer as their vendors' clients expect, streamed and not."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest

from tests.lab.asking import WIRES, ask, events, streamed_text, whole_call, whole_text
from zc_notebooks.lab import Lab

RIGHT = "(simulated) 17*23 = 391"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGNkYPjPwMDABAAGIQEBU3J1ZQAAAABJRU5ErkJggg=="
)
"""A PNG of 3 by 2 pixels."""


@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_answer(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The text is right, and usage counts thinking as output."""
    response = ask(wires, client, wire)
    assert (response.status_code, whole_text(wire, response.json())) == (200, RIGHT)
    assert response.headers["x-lab"] == "simulated"


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_says_the_same(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The pieces of a stream join to the whole answer's text."""
    response = ask(wires, client, wire, stream=True)
    assert streamed_text(wire, events(response)) == RIGHT


def test_each_stream_ends_with_its_own_signal(wires: Lab, client: httpx.Client) -> None:
    """Finish reason and [DONE], terminal event, message_stop, finishReason, done, message-end."""
    found = {wire: events(ask(wires, client, wire, stream=True)) for wire in WIRES}
    assert found["openai_chat"][-1] == "[DONE]"
    assert found["openai_chat"][-3]["choices"][0]["finish_reason"] == "stop"
    assert found["openai_responses"][-1]["type"] == "response.completed"
    assert found["anthropic_messages"][-1]["type"] == "message_stop"
    assert found["gemini"][-1]["candidates"][0]["finishReason"] == "STOP"
    assert found["ollama"][-1]["done"] is True
    assert [found["cohere_v2"][-2]["type"], found["cohere_v2"][-1]] == ["message-end", "[DONE]"]


def test_gemini_without_sse_is_one_json_array(wires: Lab, client: httpx.Client) -> None:
    """A stream without alt=sse is a JSON array, on /v1 and on /v1beta."""
    for version in ("/v1", "/v1beta"):
        url = f"{wires.origin('gemini')}{version}/models/gemini-3.5-flash:streamGenerateContent"
        response = client.post(url, json={"contents": [{"parts": [{"text": "What is 17*23?"}]}]})
        assert response.headers["content-type"].startswith("application/json")
        assert streamed_text("gemini", json.loads(response.text)) == RIGHT


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_call(wires: Lab, client: httpx.Client, wire: str) -> None:
    """Asked to use the tool, the model calls it with arguments out of the prompt that its schema accepts."""
    response = ask(wires, client, wire, "Use the tool: weather in Paris for 9 days", tool=True)
    assert whole_call(wire, response.json()) == ("get_weather", {"city": "Paris", "days": 7})


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_is_not_called_unasked(wires: Lab, client: httpx.Client, wire: str) -> None:
    """Tools that are merely offered are left alone."""
    response = ask(wires, client, wire, tool=True)
    assert whole_text(wire, response.json()) == RIGHT


def test_usage_is_counted_in_each_vendors_way(wires: Lab, client: httpx.Client) -> None:
    """Thinking is part of OpenAI's output, beside Gemini's; Anthropic's cached input stands apart."""
    bodies: dict[str, Any] = {wire: ask(wires, client, wire).json() for wire in WIRES}
    chat = bodies["openai_chat"]["usage"]
    assert chat["completion_tokens_details"]["reasoning_tokens"] == 12
    assert chat["completion_tokens"] > 12
    gemini = bodies["gemini"]["usageMetadata"]
    assert gemini["thoughtsTokenCount"] == 12
    assert gemini["totalTokenCount"] == gemini["promptTokenCount"] + gemini["candidatesTokenCount"] + 12
    assert bodies["anthropic_messages"]["usage"]["output_tokens"] == chat["completion_tokens"]
    assert bodies["ollama"]["eval_count"] == chat["completion_tokens"]
    billed = bodies["cohere_v2"]["usage"]
    assert billed["billed_units"]["input_tokens"] < billed["tokens"]["input_tokens"]


def test_an_answer_is_cut_at_its_token_limit(wires: Lab, client: httpx.Client) -> None:
    """Thinking spends the limit first; what is left of it is text, and the finish says so."""
    body = {"model": "openai/gpt-oss-120b", "messages": [{"role": "user", "content": "Count to 100"}], "max_tokens": 20}
    choice = client.post(wires.base_url("chat") + "/chat/completions", json=body).json()["choices"][0]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"].startswith("(simulated) 1 2 3")
    body["max_tokens"] = 8
    choice = client.post(wires.base_url("chat") + "/chat/completions", json=body).json()["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", "")


def test_an_image_is_seen(wires: Lab, client: httpx.Client) -> None:
    """A model with vision says how large an image is."""
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    body = {"model": "openai/gpt-oss-120b", "messages": [{"role": "user", "content": content}]}
    answer = client.post(wires.base_url("chat") + "/chat/completions", json=body).json()
    assert "3 x 2 pixels" in answer["choices"][0]["message"]["content"]


def test_a_schema_is_kept(wires: Lab, client: httpx.Client) -> None:
    """A structured answer is JSON of the schema, with the sum where a number is asked for."""
    schema = {
        "type": "object",
        "properties": {
            "result": {"type": "integer"},
            "unit": {"enum": ["apples", "pears"]},
            "notes": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        },
        "required": ["result", "unit", "notes"],
    }
    spec = {"type": "json_schema", "json_schema": {"name": "sum", "schema": schema}}
    body = {
        "model": "openai/gpt-oss-120b",
        "messages": [{"role": "user", "content": "How many pears are 12 + 30 pears?"}],
        "response_format": spec,
    }
    answer = client.post(wires.base_url("chat") + "/chat/completions", json=body).json()
    told = json.loads(answer["choices"][0]["message"]["content"])
    assert (told["result"], told["unit"], len(told["notes"])) == (42, "pears", 2)


def test_a_schema_in_words_is_kept(wires: Lab, client: httpx.Client) -> None:
    """Where a wire has no field for it, a schema in the prompt is followed as well."""
    words = (
        'Answer with JSON. It must follow this JSON schema: {"type":"object","properties":{"sum":{"type":"integer"}}}'
    )
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 200,
        "system": words,
        "messages": [{"role": "user", "content": "2 + 40?"}],
    }
    answer = client.post(wires.base_url("anthropic") + "/messages", json=body).json()
    assert json.loads(answer["content"][-1]["text"]) == {"sum": 42}


def test_a_wait_on_a_success_means_nothing(wires: Lab, client: httpx.Client) -> None:
    """About every ninth answer of Anthropic carries a Retry-After and is an answer all the same."""
    told = [ask(wires, client, "anthropic_messages") for _ in range(40)]
    assert {response.status_code for response in told} == {200}
    waits = {response.headers.get("retry-after") for response in told}
    assert waits == {None, "31"}


def test_other_ollama_and_anthropic_calls(wires: Lab, client: httpx.Client) -> None:
    """Generate, tags, version, ps and the free token count."""
    ollama = wires.origin("ollama")
    body = {"model": "qwen3:8b", "prompt": "What is 17*23?", "stream": False}
    assert client.post(f"{ollama}/api/generate", json=body).json()["response"] == RIGHT
    assert client.get(f"{ollama}/api/tags").json()["models"][0]["name"] == "qwen3:8b"
    assert client.get(f"{ollama}/api/version").status_code == 200
    assert client.get(f"{ollama}/api/ps").status_code == 200
    count = {"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": "four"}]}
    answer = client.post(wires.base_url("anthropic") + "/messages/count_tokens", json=count)
    assert answer.json() == {"input_tokens": 8}


@pytest.mark.parametrize(
    ("wire", "path", "body", "says"),
    [
        ("openai_chat", "/chat/completions", {"model": "openai/gpt-oss-120b", "messages": []}, "too short"),
        ("openai_chat", "/chat/completions", {"messages": [{"role": "user", "content": "a"}]}, "model"),
        ("openai_responses", "/responses", {"model": "gpt-5-mini"}, "input"),
        ("anthropic_messages", "/messages", {"model": "claude-haiku-4-5", "messages": []}, "max_tokens"),
        ("gemini", "/models/gemini-3.5-flash:generateContent", {}, "contents"),
        ("ollama", "/api/chat", {"model": "qwen3:8b", "messages": [{"role": "cook"}]}, "role"),
        ("cohere_v2", "/chat", {"model": "command-a-03-2025", "messages": []}, "message"),
    ],
)
def test_a_malformed_request_is_refused(
    wires: Lab, client: httpx.Client, wire: str, path: str, body: Any, says: str
) -> None:
    """What a provider would refuse is refused, in its form and with its reason."""
    response = client.post(wires.base_url(WIRES[wire], wire) + path, json=body)  # type: ignore[arg-type]
    assert response.status_code == 400
    assert says in response.text


def test_what_is_not_json_is_refused(wires: Lab, client: httpx.Client) -> None:
    """A body that is no JSON is a bad request, not a crash."""
    url = wires.base_url("chat") + "/chat/completions"
    assert client.post(url, content=b"\xff{").status_code == 400
    assert client.post(url, content=b"").status_code == 400


def test_the_wrong_wire_has_no_path(wires: Lab, client: httpx.Client) -> None:
    """A provider answers 404 on a wire its family does not speak."""
    response = client.post(wires.origin("chat") + "/v1/messages", json={"model": "x"})
    assert (response.status_code, wires.requests[-1].answered) == (404, "custom.no_such_path")


def test_unknown_models_and_too_long_prompts(wires: Lab, client: httpx.Client) -> None:
    """Each family's own words for no such model and for a prompt above the window."""
    url = wires.base_url("chat") + "/chat/completions"
    ask_for = {"model": "nobody", "messages": [{"role": "user", "content": "a"}]}
    assert client.post(url, json=ask_for).json()["error"]["code"] == "model_not_found"
    long = {"model": "openai/gpt-oss-120b", "messages": [{"role": "user", "content": "word " * 120_000}]}
    assert client.post(url, json=long).json()["error"]["code"] == "context_length_exceeded"
    assert [request.status for request in wires.requests] == [404, 400]
