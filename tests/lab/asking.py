"""Requests of each wire as plain JSON, and what their answers say, written without the package's own wires."""

from __future__ import annotations

import json
from typing import Any

import httpx

from zc_notebooks.lab import Lab

WIRES = {
    "openai_chat": "chat",
    "openai_responses": "responses",
    "anthropic_messages": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
    "cohere_v2": "cohere",
}
"""Wire → its provider in the scenario ``wires``."""

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
    "required": ["city"],
}


def request(wire: str, model: str, prompt: str, *, stream: bool = False, tool: bool = False) -> tuple[str, Any]:
    """Path below the base URL, and body."""
    messages: Any = [{"role": "user", "content": prompt}]
    function = {"name": "get_weather", "description": "Weather of a city", "parameters": WEATHER}
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": stream}
    path = {
        "openai_chat": "/chat/completions",
        "openai_responses": "/responses",
        "anthropic_messages": "/messages",
        "gemini": f"/models/{model}:" + ("streamGenerateContent?alt=sse" if stream else "generateContent"),
        "ollama": "/api/chat",
        "cohere_v2": "/chat",
    }[wire]
    tools: Any = [{"type": "function", "function": function}]
    if wire == "openai_chat" and stream:
        body["stream_options"] = {"include_usage": True}
    elif wire == "openai_responses":
        body = {"model": model, "input": prompt, "stream": stream}
        tools = [{"type": "function", **function}]
    elif wire == "anthropic_messages":
        body["max_tokens"] = 500
        tools = [{"name": "get_weather", "input_schema": WEATHER}]
    elif wire == "gemini":
        body = {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}
        tools = [{"functionDeclarations": [function]}]
    if tool:
        body["tools"] = tools
    return path, body


def ask(
    lab: Lab,
    client: httpx.Client,
    wire: str,
    prompt: str = "What is 17*23?",
    *,
    provider: str | None = None,
    stream: bool = False,
    tool: bool = False,
    **headers: str,
) -> httpx.Response:
    """Asks the provider of a wire (or a named one) and returns its response, read to the end."""
    spec = lab.scenario.provider(provider or WIRES[wire])
    path, body = request(wire, spec.models[0].id, prompt, stream=stream, tool=tool)
    return client.post(lab.base_url(spec.name, wire) + path, json=body, headers=headers)  # type: ignore[arg-type]


def events(response: httpx.Response) -> list[Any]:
    """JSON events of a streamed answer, whatever its framing; ``[DONE]`` stands as that text."""
    text = response.text.replace("\r\n", "\n")
    if response.headers["content-type"].startswith("application/x-ndjson"):
        return [json.loads(line) for line in text.splitlines()]
    if response.headers["content-type"].startswith("application/json"):
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    found = [line.removeprefix("data:").strip() for line in text.split("\n") if line.startswith("data:")]
    return [one if one == "[DONE]" else json.loads(one) for one in found]


def streamed_text(wire: str, found: list[Any]) -> str:
    """The answer's text, put together from events."""
    return "".join(_piece(wire, event) for event in found if event != "[DONE]")


def _piece(wire: str, event: Any) -> str:
    if wire == "openai_chat":
        return "".join(choice["delta"].get("content") or "" for choice in event["choices"])
    if wire == "openai_responses":
        return event["delta"] if event["type"] == "response.output_text.delta" else ""
    if wire == "anthropic_messages":
        return event.get("delta", {}).get("text", "")
    if wire == "gemini":
        parts = event["candidates"][0]["content"].get("parts", [])
        return "".join(part.get("text", "") for part in parts if not part.get("thought"))
    if wire == "ollama":
        return event["message"]["content"]
    return event["delta"]["message"]["content"].get("text", "") if event["type"] == "content-delta" else ""


def whole_text(wire: str, body: Any) -> str:
    """The answer's text in a whole body."""
    if wire == "openai_chat":
        return body["choices"][0]["message"]["content"]
    if wire == "openai_responses":
        return "".join(item["content"][0]["text"] for item in body["output"] if item["type"] == "message")
    if wire == "anthropic_messages":
        return "".join(block.get("text", "") for block in body["content"])
    if wire == "gemini":
        return _piece(wire, body)
    if wire == "ollama":
        return body["message"]["content"]
    return "".join(block.get("text", "") for block in body["message"]["content"])


def whole_call(wire: str, body: Any) -> tuple[str, Any]:
    """Name and arguments of the one tool call in a whole body."""
    if wire == "openai_responses":
        item = next(item for item in body["output"] if item["type"] == "function_call")
        return item["name"], json.loads(item["arguments"])
    if wire == "anthropic_messages":
        block = next(block for block in body["content"] if block["type"] == "tool_use")
        return block["name"], block["input"]
    if wire == "gemini":
        parts = body["candidates"][0]["content"]["parts"]
        call = next(part["functionCall"] for part in parts if "functionCall" in part)
        return call["name"], call["args"]
    message = body["choices"][0]["message"] if wire == "openai_chat" else body["message"]
    function = message["tool_calls"][0]["function"]
    arguments = function["arguments"]
    return function["name"], json.loads(arguments) if isinstance(arguments, str) else arguments
