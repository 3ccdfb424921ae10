"""Clients that speak OpenAI's forms: ``openai`` itself, ``groq`` and ``mistralai``."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from tests.live.clients.base import FUNCTION, KEY, OPENAI_TOOL, STRICT, TIMEOUT_S, Call, Said, Sdk, piece, user


class OpenAIChat(Sdk):
    """``openai``, chat completions."""

    module = "openai"
    path = "/v1"
    errors: Mapping[int, str] = {402: "APIStatusError", 429: "RateLimitError"}
    midway = "APIError"
    with_usage: Mapping[str, Any] = {"stream_options": {"include_usage": True}}

    def connect(self, url: str) -> Any:
        return self.sdk.OpenAI(api_key=KEY, base_url=url, max_retries=0, timeout=TIMEOUT_S, **STRICT)

    def _create(self, messages: list[Any], *, tools: bool, **more: Any) -> Any:
        offered = {"tools": [OPENAI_TOOL]} if tools else {}
        return self.client.chat.completions.create(model=self.model, messages=messages, **offered, **more)

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read(self._create([user(prompt)], tools=tools))

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        told = {"role": "tool", "tool_call_id": said.calls[0].id, "content": result}
        return self._read(self._create([user(prompt), said.turn, told], tools=True))

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        said, raw = Said(), {}
        with self._create([user(prompt)], tools=tools, stream=True, **self.with_usage) as chunks:
            for chunk in chunks:
                self._chunk(chunk, said, raw)
        said.calls = [Call(id_, name, json.loads(text)) for id_, name, text in raw.values()]
        return said

    def _chunk(self, chunk: Any, said: Said, raw: dict[int, list[str]]) -> None:
        if chunk.usage is not None:
            said.input_tokens, said.output_tokens = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
        for choice in chunk.choices:
            said.finish = choice.finish_reason or said.finish
            piece(said, choice.delta.content)
            for call in choice.delta.tool_calls or ():
                known = raw.setdefault(call.index, [call.id or "", call.function.name or "", ""])
                known[2] += call.function.arguments or ""

    def _read(self, body: Any) -> Said:
        choice = body.choices[0]
        calls = choice.message.tool_calls or []
        return Said(
            text=choice.message.content or "",
            finish=choice.finish_reason,
            calls=[Call(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls],
            input_tokens=body.usage.prompt_tokens,
            output_tokens=body.usage.completion_tokens,
            turn=choice.message,
        )

    def models(self) -> list[str]:
        return [model.id for model in self.client.models.list()]


class Groq(OpenAIChat):
    """``groq``. Its servers send usage in a stream without being asked."""

    module = "groq"
    path = ""
    with_usage: Mapping[str, Any] = {}

    def connect(self, url: str) -> Any:
        return self.sdk.Groq(api_key=KEY, base_url=url, max_retries=0, timeout=TIMEOUT_S, **STRICT)

    def models(self) -> list[str]:
        return [model.id for model in self.client.models.list().data]

    def _chunk(self, chunk: Any, said: Said, raw: dict[int, list[str]]) -> None:
        super()._chunk(chunk, said, raw)
        if chunk.x_groq is not None and chunk.x_groq.usage is not None:
            usage = chunk.x_groq.usage
            said.input_tokens, said.output_tokens = usage.prompt_tokens, usage.completion_tokens


class OpenAIResponses(OpenAIChat):
    """``openai``, Responses."""

    def _respond(self, items: list[Any], *, tools: bool) -> Mapping[str, Any]:
        offered = {"tools": [{"type": "function", "strict": False, **FUNCTION}]} if tools else {}
        return {"model": self.model, "input": items, "store": False, **offered}

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read(self.client.responses.create(**self._respond([user(prompt)], tools=tools)))

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        told = {"type": "function_call_output", "call_id": said.calls[0].id, "output": result}
        items = [user(prompt), *said.turn, told]
        return self._read(self.client.responses.create(**self._respond(items, tools=True)))

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        pieces = 0
        with self.client.responses.stream(**self._respond([user(prompt)], tools=tools)) as events:
            for event in events:
                pieces += event.type == "response.output_text.delta"
            said = self._read(events.get_final_response())
        said.pieces = pieces
        return said

    def _read(self, body: Any) -> Said:
        calls = [item for item in body.output if item.type == "function_call"]
        return Said(
            text=body.output_text,
            finish=body.status,
            calls=[Call(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
            input_tokens=body.usage.input_tokens,
            output_tokens=body.usage.output_tokens,
            turn=body.output,
        )


class Mistral(Sdk):
    """``mistralai``."""

    module = "mistralai.client"
    errors: Mapping[int, str] = {402: "errors.SDKError", 429: "errors.SDKError"}
    midway = "errors.ResponseValidationError"

    def connect(self, url: str) -> Any:
        importlib.import_module("mistralai.client.errors")
        return self.sdk.Mistral(api_key=KEY, server_url=url, timeout_ms=10_000, retry_config=None)

    def close(self) -> None:
        self.client.__exit__(None, None, None)

    def _asked(self, messages: list[Any], *, tools: bool) -> Mapping[str, Any]:
        return {"model": self.model, "messages": messages, **({"tools": [OPENAI_TOOL]} if tools else {})}

    def ask(self, prompt: str, *, tools: bool = False) -> Said:
        return self._read(self.client.chat.complete(**self._asked([user(prompt)], tools=tools)))

    def answer(self, prompt: str, said: Said, result: str) -> Said:
        call = said.calls[0]
        told = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": result}
        return self._read(self.client.chat.complete(**self._asked([user(prompt), said.turn, told], tools=True)))

    def stream(self, prompt: str, *, tools: bool = False) -> Said:
        said = Said()
        with self.client.chat.stream(**self._asked([user(prompt)], tools=tools)) as events:
            for event in events:
                choice = event.data.choices[0]
                said.finish = choice.finish_reason or said.finish
                piece(said, _mistral_text(choice.delta.content))
                said.calls += [_mistral_call(call) for call in choice.delta.tool_calls or ()]
                if event.data.usage is not None:
                    usage = event.data.usage
                    said.input_tokens, said.output_tokens = usage.prompt_tokens, usage.completion_tokens
        return said

    def _read(self, body: Any) -> Said:
        choice = body.choices[0]
        return Said(
            text=_mistral_text(choice.message.content),
            finish=choice.finish_reason,
            calls=[_mistral_call(call) for call in choice.message.tool_calls or ()],
            input_tokens=body.usage.prompt_tokens,
            output_tokens=body.usage.completion_tokens,
            turn=choice.message,
        )

    def models(self) -> list[str]:
        return [model.id for model in self.client.models.list().data]


def _mistral_text(content: Any) -> str:
    """Text, which stands among thinking or alone."""
    if not isinstance(content, list):
        return content or ""
    return "".join(part.text for part in content if part.type == "text")


def _mistral_call(call: Any) -> Call:
    arguments = call.function.arguments
    return Call(call.id, call.function.name, json.loads(arguments) if isinstance(arguments, str) else arguments)
