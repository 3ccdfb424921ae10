"""Reading OpenAI Responses: one whole response or a stream of typed events (spec wire 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from zc_notebooks.chat import Answer, PreExecutedTool, Reasoning, Text, WireEvent, WireFailure
from zc_notebooks.stream_guard.completion import judge_finish
from zc_notebooks.wire.assemble import CALL_SIZE, AnswerBuilder, tool_call
from zc_notebooks.wire.loose_json import as_dict, as_list, as_text, to_text
from zc_notebooks.wire.sse_stream import SseStream
from zc_notebooks.wire.usage import openai_responses_usage
from zc_notebooks.wire.whole_body import error_body, error_in, looks_like_error

_ENDS: Final = frozenset(
    {
        "response.completed",
        "response.done",
        "response.incomplete",
        "response.failed",
        "response.cancelled",
    }
)
_SERVER_TOOLS: Final[Mapping[str, str]] = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "image_generation_call": "image_generation",
    "mcp_call": "mcp",
    "x_search_call": "x_search",
}
_REASONING: Final = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


class _TextDelta(msgspec.Struct, tag="response.output_text.delta", gc=False):
    delta: str = ""


_decode_delta: Final = msgspec.json.Decoder(_TextDelta).decode


class ResponsesReader:
    """Applies output items and terminal events to an answer under construction."""

    def __init__(self, builder: AnswerBuilder) -> None:
        self._builder = builder
        self._begun: dict[str, dict[str, Any]] = {}
        """Calls of ours that have begun and not ended, by item id."""
        self._begun_by_call: dict[str, str] = {}
        self._pieces: dict[str, list[str]] = {}
        """Their arguments so far."""
        self._done: set[str] = set()
        self._announced: dict[str, int] = {}
        self._texts = self._thoughts = 0
        """Pieces of text and reasoning that came with whole items: while there are no others, items are read."""

    def text(self, text: object, events: list[WireEvent]) -> None:
        """More text."""
        if isinstance(text, str) and text:
            self._builder.text.append(text)
            events.append(Text(text=text))

    def reasoning(self, text: object, events: list[WireEvent]) -> None:
        """More reasoning."""
        if isinstance(text, str) and text:
            self._builder.reasoning.append(text)
            events.append(Reasoning(text=text))

    def refusal(self, text: object) -> None:
        """More of a refusal."""
        self._builder.refuse(as_text(text))

    def arguments(self, item_id: object, text: object, *, whole: bool = False) -> None:
        """A piece of a call's arguments, or all of them, before its item is done."""
        id_, piece = as_text(item_id), as_text(text)
        known = self._pieces.setdefault(id_, [])
        had = 0
        if whole and piece:
            had = sum(map(len, known))
            known.clear()
        if piece:
            known.append(piece)
        self._builder.hidden += max(1, len(piece) - had)

    def work(self, size: int) -> None:
        """Something came that is not shown: the beginning of an item of ours."""
        self._builder.hidden += size

    def item_added(self, item: dict[str, Any], events: list[WireEvent]) -> None:
        """An item begins: a tool on the provider's side is at work from here on."""
        kind, id_ = as_text(item.get("type")), as_text(item.get("id"))
        if kind in _SERVER_TOOLS and id_ not in self._announced:
            name = as_text(item.get("name")) or _SERVER_TOOLS[kind]
            self._announced[id_] = len(self._builder.pre_executed)
            self._pre_executed(PreExecutedTool(phase="call", name=name, id=id_ or None), events)
        elif kind == "function_call" and id_:
            self._begun[id_] = item
            self._begun_by_call[as_text(item.get("call_id"))] = id_
            self._builder.hidden += CALL_SIZE

    def item_done(self, item: dict[str, Any], events: list[WireEvent]) -> None:
        """An item is whole: a call of ours is returned, once; a half one (``incomplete``) is none."""
        kind, id_ = as_text(item.get("type")), as_text(item.get("id"))
        key = id_ or as_text(item.get("call_id"))
        if key and key in self._done:
            return
        self._done.add(key)
        begun = self._begun.pop(id_, None)
        if kind not in ("message", "reasoning"):
            self._builder.hidden += len(key) + (CALL_SIZE if begun is None else 0)
        if kind in _SERVER_TOOLS:
            self._server_tool_done(item, id_, events)
        elif kind == "function_call" and item.get("status") not in ("incomplete", "in_progress"):
            known = "".join(self._pieces.pop(id_, ()))
            call_id = as_text(item.get("call_id"))
            if call_id:  # the last event may give its item another id
                self._begun.pop(self._begun_by_call.pop(call_id, ""), None)
            call = tool_call(as_text(item.get("name")), item.get("arguments") or known, id=call_id or id_)
            self._builder.hidden += max(0, len(call.raw) - len(known))
            if call.name:
                self._builder.take([call], events)
        elif kind == "message" and len(self._builder.text) == self._texts and not self._builder.refusal:
            self._message_item(item, events)
            self._texts = len(self._builder.text)
        elif kind == "reasoning" and len(self._builder.reasoning) == self._thoughts:
            self._reasoning_item(item, events)
            self._thoughts = len(self._builder.reasoning)

    def end_calls(self, events: list[WireEvent]) -> None:
        """The response is whole, so is each call whose item was never said to be done."""
        for item in list(self._begun.values()):
            self.item_done({**item, "status": "completed"}, events)

    def response(self, response: dict[str, Any], events: list[WireEvent]) -> None:
        """Model, id, usage, and output that came in no event of its own."""
        builder = self._builder
        builder.identify(model=response.get("model"), id=response.get("id"))
        usage = openai_responses_usage(response.get("usage"))
        if usage is not None and usage != builder.usage:
            builder.usage = usage
            events.append(usage)
        streamed = {call.id for call in builder.tools}
        with_text = not builder.text and not builder.refusal
        with_reasoning = not builder.reasoning
        for item in map(as_dict, as_list(response.get("output"))):
            kind = item.get("type")
            if kind == "reasoning" and with_reasoning:
                self._reasoning_item(item, events)
            elif kind == "message" and with_text:
                self._message_item(item, events)
            elif kind == "function_call" and as_text(item.get("call_id")) in streamed:
                self._begun.pop(as_text(item.get("id")), None)
            elif kind not in ("reasoning", "message"):
                self.item_done(item, events)

    def _reasoning_item(self, item: dict[str, Any], events: list[WireEvent]) -> None:
        content = as_list(item.get("content")) or as_list(item.get("summary"))
        for part in content:
            self.reasoning(as_dict(part).get("text"), events)

    def _message_item(self, item: dict[str, Any], events: list[WireEvent]) -> None:
        for one in as_list(item.get("content")):
            part = as_dict(one)
            if part.get("type") == "refusal":
                self.refusal(part.get("refusal"))
            else:
                self.text(part.get("text"), events)

    def _server_tool_done(self, item: dict[str, Any], id_: str, events: list[WireEvent]) -> None:
        self.item_added(item, events)
        place = self._announced[id_]
        call = self._builder.pre_executed[place]
        raw = item.get("arguments") or item.get("action") or item.get("code") or ""
        told = raw if isinstance(raw, str) else to_text(raw)
        self._builder.pre_executed[place] = msgspec.structs.replace(call, raw=told)
        self._pre_executed(PreExecutedTool(phase="result", name=call.name, id=call.id), events)

    def _pre_executed(self, tool: PreExecutedTool, events: list[WireEvent]) -> None:
        self._builder.pre_executed.append(tool)
        events.append(tool)


def finish_word(response: dict[str, Any], kind: str = "") -> str:
    """``completed``, ``failed``, ``incomplete:max_output_tokens``, …: status and, when incomplete, its reason."""
    status = as_text(response.get("status")) or kind.removeprefix("response.").replace("done", "completed")
    why = as_text(as_dict(response.get("incomplete_details")).get("reason"))
    return f"{status}:{why}" if status == "incomplete" and why else status


_WHOLE: Final = frozenset({"completed", "incomplete:max_output_tokens", "incomplete:max_tokens"})
_JUDGED: Final = frozenset({"incomplete:content_filter"})
_UNFINISHED: Final = frozenset({"queued", "in_progress", "cancelled", "incomplete"})
"""A last word that says the answer is not whole and does not say why: cut short."""


class ResponsesStream(SseStream):
    """Decoder of one Responses stream. Its terminal event completes it; an ``error`` event is followed by one."""

    awaited = "response.completed"
    done_completes = True
    error_is_last = False

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__(headers)
        self._reader = ResponsesReader(self.builder)

    def on_event(self, name: bytes, data: bytes, events: list[WireEvent]) -> None:
        """One framed event; text deltas, which are nearly all, by the fast path."""
        if name == b"response.output_text.delta":
            try:
                event = _decode_delta(data)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass
            else:
                self.judge.started = True
                self._reader.text(event.delta, events)
                return
        super().on_event(name, data, events)

    def on_object(self, value: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        """Any event by its ``type``; a whole response in place of a stream is read as one."""
        kind = as_text(value.get("type"))
        if kind in _ENDS:
            self._end(kind, as_dict(value.get("response")), data, events)
        elif value.get("object") == "response":
            self._end("response.done", value, data, events)
        elif kind == "error" or error_in(value) or (not kind and looks_like_error(value)):
            self.error(data)
        else:
            self._progress(kind, value, events)

    def _progress(self, kind: str, value: dict[str, Any], events: list[WireEvent]) -> None:
        reader = self._reader
        if kind == "response.output_text.delta":
            reader.text(value.get("delta"), events)
        elif kind in _REASONING:
            reader.reasoning(value.get("delta"), events)
        elif kind == "response.refusal.delta":
            reader.refusal(value.get("delta"))
        elif kind == "response.function_call_arguments.done":
            reader.arguments(value.get("item_id"), value.get("arguments"), whole=True)
        elif kind == "response.function_call_arguments.delta":
            reader.arguments(value.get("item_id"), value.get("delta"))
        elif kind == "response.output_item.added":
            item = as_dict(value.get("item"))
            reader.work(item.get("type") in ("reasoning", "function_call"))
            reader.item_added(item, events)
        elif kind == "response.output_item.done":
            reader.item_done(as_dict(value.get("item")), events)
        elif kind in ("response.created", "response.in_progress", "response.queued"):
            response = as_dict(value.get("response"))
            self.builder.identify(model=response.get("model"), id=response.get("id"))

    def _end(self, kind: str, response: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        self._reader.response(response, events)
        word = finish_word(response, kind)
        self.builder.finish(word)
        evidence = kind if word in kind else f"{kind} {word}"
        error = response.get("error")
        if word in _UNFINISHED and error is None:
            self.judge.note(evidence)
        elif word in _WHOLE or word in _JUDGED:
            if word == "completed":
                self._reader.end_calls(events)
            self.judge.complete(evidence)
        else:
            self.error(to_text({"error": error}) if error is not None else data, evidence)
        self.judge.closed = True


def read_response(value: dict[str, Any], body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
    """The answer in a whole response, or the failure it hides."""
    builder = AnswerBuilder(headers)
    ResponsesReader(builder).response(value, [])
    word = finish_word(value)
    builder.finish(word)
    if error_in(value) or (not isinstance(value.get("output"), list) and looks_like_error(value)):
        return error_body(value, body, builder.answer(whole=False))
    if not isinstance(value.get("output"), list):
        return WireFailure(
            kind="not_protocol", payload=body[:1024].decode("utf-8", "replace"), detail="the body has no output"
        )
    if word in _UNFINISHED:
        return WireFailure(
            kind="cut", reason="stream_cut", detail=f"the response ends {word}", answer=builder.answer(whole=False)
        )
    return judge_finish(builder) or builder.answer()
