"""Reading Anthropic messages: one whole body or a stream of typed events (spec wire 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from zc_notebooks.chat import Answer, PreExecutedTool, Reasoning, Text, ToolCall, WireEvent, WireFailure
from zc_notebooks.records import AnthropicCompletion
from zc_notebooks.stream_guard.completion import StreamJudge, judge_finish
from zc_notebooks.wire.assemble import CALL_SIZE, AnswerBuilder, finish_reason, tool_call
from zc_notebooks.wire.loose_json import as_dict, as_list, as_text, to_text
from zc_notebooks.wire.sse_stream import SseStream
from zc_notebooks.wire.usage import anthropic_usage
from zc_notebooks.wire.whole_body import error_body, error_in, looks_like_error

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class _BlockDelta(msgspec.Struct, tag="content_block_delta"):
    delta: _Delta
    index: int = 0


_decode_delta: Final = msgspec.json.Decoder(_BlockDelta).decode


class _Block:
    """A content block under construction: a tool call of either side."""

    __slots__ = ("id", "input", "name", "pieces", "place")

    def __init__(self, block: dict[str, Any], place: int | None) -> None:
        self.id = as_text(block.get("id"))
        self.name = as_text(block.get("name"))
        self.input = as_dict(block.get("input"))
        self.pieces: list[str] = []
        self.place = place
        """Where its record stands among the pre-executed tools; ``None`` for a call of ours."""

    def raw(self) -> str:
        """The arguments as sent; some servers send them whole at the block's start."""
        return "".join(self.pieces) or (to_text(self.input) if self.input else "")


class AnthropicReader:
    """Applies content blocks, deltas and usage to an answer under construction."""

    def __init__(self, builder: AnswerBuilder) -> None:
        self._builder = builder
        self._blocks: dict[object, _Block] = {}
        self._names: dict[str, str] = {}
        self._usage: dict[str, Any] = {}
        self._held: list[ToolCall] = []

    def message(self, message: dict[str, Any], events: list[WireEvent]) -> None:
        """Model, id and first usage."""
        self._builder.identify(model=message.get("model"), id=message.get("id"))
        self.usage(message.get("usage"), events)

    def usage(self, raw: object, events: list[WireEvent]) -> None:
        """A usage snapshot: fields it names replace those before."""
        self._usage.update({key: value for key, value in as_dict(raw).items() if value is not None})
        usage = anthropic_usage(self._usage)
        if usage is not None and usage != self._builder.usage:
            self._builder.usage = usage
            events.append(usage)

    def text(self, text: object, events: list[WireEvent]) -> None:
        """More text."""
        if isinstance(text, str) and text:
            self._builder.text.append(text)
            events.append(Text(text=text))

    def thinking(self, text: object, events: list[WireEvent]) -> None:
        """More reasoning."""
        if isinstance(text, str) and text:
            self._builder.reasoning.append(text)
            events.append(Reasoning(text=text))

    def start(self, index: object, block: dict[str, Any], events: list[WireEvent]) -> None:
        """A content block begins (or, in a whole body, stands there)."""
        kind = as_text(block.get("type"))
        if kind == "text":
            self.text(block.get("text"), events)
        elif kind == "thinking":
            self._builder.hidden += 1
            self.thinking(block.get("thinking"), events)
        elif kind == "redacted_thinking":
            self._builder.hidden += 1
        elif kind == "tool_use":
            self._block(index, _Block(block, None))
        elif kind in _SERVER_CALLS:
            self._block(index, _Block(block, len(self._builder.pre_executed)))
            self._server_tool("call", as_text(block.get("name")), block.get("id"), events)
        elif kind.endswith("_tool_result"):
            id_ = as_text(block.get("tool_use_id"))
            self._server_tool("result", self._names.get(id_) or kind.removesuffix("_tool_result"), id_, events)

    def _block(self, index: object, block: _Block) -> None:
        self._blocks[index] = block
        self._builder.hidden += CALL_SIZE + len(block.raw())

    def json(self, index: object, piece: str) -> None:
        """More arguments of the call at ``index``."""
        block = self._blocks.get(index)
        if block is not None:
            block.pieces.append(piece)
            self._builder.hidden += len(piece)

    def stop(self, index: object, events: list[WireEvent]) -> None:
        """The block ended. A call whose arguments are blank or broken waits for the stop reason."""
        block = self._blocks.pop(index, None)
        if block is None:
            return
        raw = block.raw()
        if block.place is not None:
            record = self._builder.pre_executed[block.place]
            self._builder.pre_executed[block.place] = msgspec.structs.replace(record, raw=raw)
            return
        call = tool_call(block.name, raw, id=block.id or None)
        if not call.name:
            return
        if self._held or not call.arguments:
            self._held.append(call)
            return
        self._builder.take([call], events)

    def release(self, events: list[WireEvent]) -> None:
        """The stop reason is known: waiting calls, and blocks nobody ended, are whole unless a token limit cut them."""
        for index in list(self._blocks):
            self.stop(index, events)
        truncated = finish_reason(self._builder.finish_raw) == "length"
        whole = [call for call in self._held if not truncated or (call.arguments is not None and call.raw.strip())]
        self._builder.take(whole, events)
        self._held.clear()

    def _server_tool(self, phase: str, name: str, id_: object, events: list[WireEvent]) -> None:
        known_id = as_text(id_)
        if known_id:
            self._names[known_id] = name
        tool = PreExecutedTool(phase="call" if phase == "call" else "result", name=name, id=known_id or None)
        self._builder.pre_executed.append(tool)
        events.append(tool)


def _place(event: dict[str, Any]) -> int:
    """The index of the block that an event is about; 0 where a server says none."""
    index = event.get("index")
    return index if isinstance(index, int) else 0


class AnthropicStream(SseStream):
    """Decoder of one message stream.

    ``stop_reason`` (or ``message_stop``) completes it by default, under ``message_stop`` that event alone.
    """

    awaited = "stop_reason"

    def __init__(self, headers: Mapping[str, str], completion: AnthropicCompletion) -> None:
        super().__init__(headers)
        self.judge = StreamJudge(completion)
        self._by_stop_reason = completion == "stop_reason"
        self._reader = AnthropicReader(self.builder)

    def on_event(self, name: bytes, data: bytes, events: list[WireEvent]) -> None:
        """One framed event; deltas, which are nearly all, by the fast path."""
        if name == b"content_block_delta":
            try:
                event = _decode_delta(data)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass
            else:
                self._delta(event.delta, event.index, events)
                return
        super().on_event(name, data, events)

    def on_object(self, value: dict[str, Any], data: bytes, events: list[WireEvent]) -> None:
        """Any event by its ``type``; a whole message in place of a stream is read as one."""
        kind = as_text(value.get("type"))
        if kind == "content_block_delta":
            delta = {key: item for key, item in as_dict(value.get("delta")).items() if isinstance(item, str)}
            self._delta(msgspec.convert(delta, _Delta), _place(value), events)
        elif kind == "content_block_start":
            self._reader.start(_place(value), as_dict(value.get("content_block")), events)
        elif kind == "content_block_stop":
            self._reader.stop(_place(value), events)
        elif kind == "message_start":
            self._reader.message(as_dict(value.get("message")), events)
        elif kind == "message_delta":
            self._message_delta(value, events)
        elif kind == "message_stop":
            self._reader.release(events)
            self.judge.complete("message_stop", last=True)
        elif kind == "message":
            read_message(value, self.builder, events)
            self.judge.complete("whole message", last=True)
        elif error_in(value) or (not kind and looks_like_error(value)):
            self.error(data)

    def _delta(self, delta: _Delta, index: object, events: list[WireEvent]) -> None:
        if delta.type == "text_delta":
            self._reader.text(delta.text, events)
        elif delta.type == "thinking_delta":
            self._reader.thinking(delta.thinking, events)
        elif delta.type == "input_json_delta":
            self._reader.json(index, delta.partial_json)

    def _message_delta(self, value: dict[str, Any], events: list[WireEvent]) -> None:
        self._reader.usage(value.get("usage"), events)
        if not self.builder.finish(as_dict(value.get("delta")).get("stop_reason")):
            return
        word = f"stop_reason={self.builder.finish_raw}"
        self._reader.release(events)
        if self._by_stop_reason:
            self.judge.complete(word)
        else:
            self.judge.note(word)


def read_message(value: dict[str, Any], builder: AnswerBuilder, events: list[WireEvent]) -> None:
    """Applies a whole message."""
    reader = AnthropicReader(builder)
    reader.message(value, events)
    content = value.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    for index, block in enumerate(blocks):
        reader.start(index, as_dict(block), events)
        reader.stop(index, events)
    builder.finish(value.get("stop_reason"))
    reader.release(events)


def read_body(value: dict[str, Any], body: bytes, headers: Mapping[str, str]) -> Answer | WireFailure:
    """The answer in a whole body, or the failure it hides."""
    if error_in(value) or (not isinstance(value.get("content"), list | str) and looks_like_error(value)):
        return error_body(value, body)
    if not isinstance(value.get("content"), list | str):
        return WireFailure(
            kind="not_protocol", payload=body[:1024].decode("utf-8", "replace"), detail="the body has no content"
        )
    builder = AnswerBuilder(headers)
    read_message(value, builder, [])
    return judge_finish(builder) or builder.answer()
