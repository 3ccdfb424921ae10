"""Clients with forms of their own: ``anthropic``, ``google-genai``, ``cohere`` and ``ollama``."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.live.clients.base import (
    FUNCTION,
    KEY,
    OPENAI_TOOL,
    PARAMETERS,
    STRICT,
    TIMEOUT_S,
    Call,
    Said,
    Sdk,
    piece,
    user,
)


class Anthropic(Sdk):
    """``anthropic``."""

    module = "anthropic"
    errors: Mapping[int, str] = {402: "PaymentRequiredError", 429: "RateLimitError"}
    midway = "APIStatusError"

    def connect(self, url: str) -> Any:
        return self.sdk.Anthropic(api_key=KEY, base_url=url, max_retries=0, timeout=TIMEOUT_S, **STRICT)

    def _asked(self, messages: list[Any], *, tools: bool) -> Mapping[str, Any]:
        tool = {"name": FUNCTION["name"], "description": FUNCTION["description"], "input_schema": PARAMETERS}
        offered = {"tools": [tool]} if tools else {}
        return {"model": self.model, "max_tokens": 500, "messages": messages, **offered}

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read(self.client.messages.create(**self._asked([user(prompt)], tools=tools)))

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        block = {"type": "tool_result", "tool_use_id": said.calls[0].id, "content": result}
        messages = [user(prompt), {"role": "assistant", "content": said.turn}, {"role": "user", "content": [block]}]
        return self._read(self.client.messages.create(**self._asked(messages, tools=True)))

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        with self.client.messages.stream(**self._asked([user(prompt)], tools=tools)) as events:
            pieces = sum(1 for _ in events.text_stream)
            said = self._read(events.get_final_message())
        said.pieces = pieces
        return said

    def _read(self, body: Any) -> Said:
        return Said(
            text="".join(block.text for block in body.content if block.type == "text"),
            finish=body.stop_reason,
            calls=[Call(block.id, block.name, block.input) for block in body.content if block.type == "tool_use"],
            input_tokens=body.usage.input_tokens,
            output_tokens=body.usage.output_tokens,
            turn=body.content,
        )

    def models(self) -> list[str]:
        return [model.id for model in self.client.models.list()]


class Gemini(Sdk):
    """``google-genai`` under ``/v1beta``."""

    module = "google.genai"
    version = "v1beta"
    errors: Mapping[int, str] = {402: "errors.ClientError", 429: "errors.ClientError"}
    midway = "errors.ServerError"

    def connect(self, url: str) -> Any:
        self.types = importlib.import_module("google.genai.types")
        once = {"attempts": 1}
        options = {"base_url": url, "api_version": self.version, "timeout": 10_000, "retry_options": once}
        return self.sdk.Client(api_key=KEY, http_options=options)

    def status(self, raised: Exception) -> int:
        return raised.code  # type: ignore[attr-defined]

    def _asked(self, contents: list[Any], *, tools: bool) -> Mapping[str, Any]:
        by_hand = self.types.AutomaticFunctionCallingConfig(disable=True)
        declared = [self.types.Tool(function_declarations=[FUNCTION])] if tools else []
        config = self.types.GenerateContentConfig(tools=declared, automatic_function_calling=by_hand)
        return {"model": self.model, "contents": contents, "config": config}

    def _user(self, prompt: str) -> Any:
        return self.types.Content(role="user", parts=[self.types.Part(text=prompt)])

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read([self.client.models.generate_content(**self._asked([self._user(prompt)], tools=tools))])

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        part = self.types.Part.from_function_response(name=said.calls[0].name, response={"result": result})
        contents = [self._user(prompt), said.turn, self.types.Content(role="user", parts=[part])]
        return self._read([self.client.models.generate_content(**self._asked(contents, tools=True))])

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read(self.client.models.generate_content_stream(**self._asked([self._user(prompt)], tools=tools)))

    def _read(self, bodies: Iterable[Any]) -> Said:
        said = Said()
        for body in bodies:
            candidate = body.candidates[0]
            said.finish = candidate.finish_reason.name if candidate.finish_reason else said.finish
            piece(said, "".join(part.text for part in candidate.content.parts if part.text and not part.thought))
            said.calls += [Call(call.id or "", call.name, call.args) for call in body.function_calls or ()]
            usage = body.usage_metadata
            said.input_tokens = usage.prompt_token_count
            said.output_tokens = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            said.turn = candidate.content
        return said

    def models(self) -> list[str]:
        return [model.name.removeprefix("models/") for model in self.client.models.list()]


class GeminiV1(Gemini):
    """``google-genai`` under ``/v1``."""

    version = "v1"


class Cohere(Sdk):
    """``cohere``, its v2 client."""

    module = "cohere"
    errors: Mapping[int, str] = {402: "core.api_error.ApiError", 429: "TooManyRequestsError"}

    def connect(self, url: str) -> Any:
        importlib.import_module("cohere.core.api_error")
        return self.sdk.ClientV2(KEY, base_url=url, timeout=TIMEOUT_S, max_retries=0)

    def close(self) -> None:
        self.client._client_wrapper.httpx_client.httpx_client.close()  # noqa: SLF001 (it has no method to close it)

    def _asked(self, messages: list[Any], *, tools: bool) -> Mapping[str, Any]:
        return {"model": self.model, "messages": messages, **({"tools": [OPENAI_TOOL]} if tools else {})}

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read(self.client.chat(**self._asked([user(prompt)], tools=tools)))

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        told = {"role": "tool", "tool_call_id": said.calls[0].id, "content": result}
        return self._read(self.client.chat(**self._asked([user(prompt), said.turn, told], tools=True)))

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        said, raw = Said(), {}
        for event in self.client.chat_stream(**self._asked([user(prompt)], tools=tools)):
            delta = getattr(event, "delta", None)
            if event.type == "content-delta":
                piece(said, delta.message.content.text)
            elif event.type == "tool-call-start":
                call = delta.message.tool_calls
                raw[event.index] = [call.id, call.function.name, call.function.arguments or ""]
            elif event.type == "tool-call-delta":
                raw[event.index][2] += delta.message.tool_calls.function.arguments
            elif event.type == "message-end":
                said.finish = delta.finish_reason
                tokens = delta.usage.tokens if delta.usage else None
                said.input_tokens = int(tokens.input_tokens) if tokens else None
                said.output_tokens = int(tokens.output_tokens) if tokens else None
        said.calls = [Call(id_, name, json.loads(text)) for id_, name, text in raw.values()]
        return said

    def _read(self, body: Any) -> Said:
        calls = body.message.tool_calls or ()
        return Said(
            text="".join(part.text for part in body.message.content or () if part.type == "text"),
            finish=body.finish_reason,
            calls=[Call(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls],
            input_tokens=int(body.usage.tokens.input_tokens),
            output_tokens=int(body.usage.tokens.output_tokens),
            turn=body.message,
        )

    def models(self) -> list[str]:
        return [model.name for model in self.client.models.list().models]


class Ollama(Sdk):
    """``ollama``."""

    module = "ollama"
    errors: Mapping[int, str] = {402: "ResponseError", 429: "ResponseError"}
    midway = "ResponseError"

    def connect(self, url: str) -> Any:
        return self.sdk.Client(host=url, timeout=TIMEOUT_S)

    def _chat(self, messages: list[Any], *, tools: bool, stream: bool = False) -> Any:
        offered = [OPENAI_TOOL] if tools else None
        return self.client.chat(self.model, messages, tools=offered, stream=stream)

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read([self._chat([user(prompt)], tools=tools)])

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        told = {"role": "tool", "tool_name": said.calls[0].name, "content": result}
        return self._read([self._chat([user(prompt), said.turn, told], tools=True)])

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read(self._chat([user(prompt)], tools=tools, stream=True))

    def _read(self, lines: Iterable[Any]) -> Said:
        said = Said()
        for line in lines:
            piece(said, line.message.content)
            calls = line.message.tool_calls or ()
            said.calls += [Call("", call.function.name, dict(call.function.arguments)) for call in calls]
            said.turn = line.message
            if line.done:
                said.finish = line.done_reason
                said.input_tokens, said.output_tokens = line.prompt_eval_count, line.eval_count
        return said

    def models(self) -> list[str]:
        return [model.model for model in self.client.list().models]
