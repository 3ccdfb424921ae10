"""Turns a conversation into a reply: ability decides right or wrong, limits decide where it ends."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import msgspec

from zc_notebooks.chat import Tool
from zc_notebooks.lab.answers import MARK, prepare
from zc_notebooks.lab.conversation import Conversation, dump
from zc_notebooks.lab.plausible import value_for
from zc_notebooks.lab.reply import Finish, Ids, Reply
from zc_notebooks.lab.scenario import ModelSpec
from zc_notebooks.lab.tokens import cut, estimate
from zc_notebooks.lab.wires.reading import call_from_object

_ASKS_TOOL = re.compile(r"(?i)\b(?:use|using|call|run|with)\b[^.?!]{0,40}\btools?\b|ツールを使|ツールで")
_ASKS_ALL = re.compile(r"(?i)\b(?:both|all|each of the|every) (?:of the )?tools?\b|両方のツール|すべてのツール")
_SPELLED_SCHEMA = re.compile(r"(?i)json[ -]schema:?\s*(?:```(?:json)?\s*)?\{")
_JSON = json.JSONDecoder()
_THOUGHT = "Let me look at what is asked, work it out step by step, and check the result once more. "
_ELABORATION = " To say it once more in other words, and at some length:"
_EFFORT = {None: 1.0, "none": 0.0, "minimal": 0.25, "low": 0.5, "medium": 1.0, "high": 2.0}
_CALL_COST = 8


def speak(conversation: Conversation, model: ModelSpec, *, draw: Random, ids: Ids) -> Reply:
    """One reply.

    Args:
        conversation: What is asked.
        model: Who answers: its ability, verbosity, thinking and limits.
        draw: Random source of this request; its first number decides whether the model gets it right.
        ids: Source of tool call ids.
    """
    tools = _tools_to_call(conversation)
    limit = conversation.request.max_tokens or model.max_output
    luck = draw.random()
    scatter = draw.lognormvariate(0.0, model.thinking_spread) if model.thinking_spread else 1.0
    thought = min(round(model.thinking * scatter * _EFFORT[conversation.request.reasoning_effort]), limit)
    reasoning = _thinking(thought)
    left = limit - thought
    base = Reply(reasoning=reasoning, input_tokens=conversation.input_tokens, reasoning_tokens=thought)
    if tools:
        return _calling(base, conversation, tools, ids)
    text = _text(conversation, model, luck)
    return _saying(base, text, conversation.request.stop, left)


def _calling(base: Reply, conversation: Conversation, tools: tuple[Tool, ...], ids: Ids) -> Reply:
    calls = tuple(
        call_from_object(f"call_{ids.hex(20)}", tool.name, value_for(tool.parameters, conversation.last_user) or {})
        for tool in tools
    )
    cost = sum(_CALL_COST + estimate(call.name + call.raw) for call in calls)
    return _but(base, tool_calls=calls, finish="tool_calls", output_tokens=base.reasoning_tokens + cost)


def _saying(base: Reply, text: str, stops: tuple[str, ...], left: int) -> Reply:
    ends = [text.index(stop) for stop in stops if stop and stop in text]
    text = text[: min(ends)] if ends else text
    finish: Finish = "stop"
    tokens = estimate(text)
    if tokens > left:
        text, tokens, finish = cut(text, left), left, "length"
    return _but(base, text=text, finish=finish, output_tokens=base.reasoning_tokens + tokens)


def _but(base: Reply, **changes: object) -> Reply:
    return msgspec.structs.replace(base, **changes)


def _text(conversation: Conversation, model: ModelSpec, luck: float) -> str:
    asked_for = conversation.request.response_format
    schema = _schema_in_words(conversation) if asked_for is None else asked_for.schema
    if schema is not None:
        return dump(value_for(schema, conversation.last_user))
    if conversation.json_mode:
        return dump({"simulated": True, "answer": prepare(conversation, model.id).right})
    prepared = prepare(conversation, model.id)
    right = luck < model.able(prepared.kind)
    text = prepared.right if right else prepared.wrong
    if model.verbosity > 1:
        extra = round(estimate(text) * (model.verbosity - 1))
        text += _repeated(_ELABORATION + " " + text, extra)
    return MARK + text if prepared.mark else text


def _schema_in_words(conversation: Conversation) -> dict[str, Any] | None:
    """A JSON schema that a prompt spells out: how it is asked for where a wire has no field for it."""
    for message in reversed(conversation.request.messages):
        match = _SPELLED_SCHEMA.search(message.text) if message.role in ("system", "user") else None
        if match is not None:
            try:
                found, _ = _JSON.raw_decode(message.text[match.end() - 1 :])
            except ValueError:
                continue
            return found if isinstance(found, dict) else None
    return None


def _thinking(tokens: int) -> str:
    return _repeated(_THOUGHT, tokens)


def _repeated(sentence: str, tokens: int) -> str:
    times = tokens * 4 // len(sentence) + 1
    return cut(sentence * times, tokens) if tokens > 0 else ""


def _tools_to_call(conversation: Conversation) -> tuple[Tool, ...]:
    request = conversation.request
    choice = request.tool_choice
    if not request.tools or choice == "none" or (conversation.answers_tools and choice in (None, "auto")):
        return ()
    named = tuple(tool for tool in request.tools if tool.name == choice)
    if named:
        return named
    asked = conversation.last_user
    if _ASKS_ALL.search(asked):
        return request.tools
    spoken = next((tool for tool in request.tools if re.search(rf"\b{re.escape(tool.name)}\b", asked)), None)
    if choice == "required" or spoken is not None or _ASKS_TOOL.search(asked):
        return (spoken or request.tools[0],)
    return ()
