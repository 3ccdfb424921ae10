"""Putting an answer together from its pieces, the same for every wire: text, tool calls, finish word, usage."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from zc_notebooks.chat import Answer, FinishReason, PreExecutedTool, ToolCall, Usage, WireEvent
from zc_notebooks.reliability.finish_words import finish_failure
from zc_notebooks.wire.half_calls import half_call
from zc_notebooks.wire.loose_json import parse, to_text

FINISH_WORDS: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "eos": "stop",
    "complete": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "incomplete:max_output_tokens": "length",
    "incomplete:max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}
"""Finish word in lower case → our vocabulary; failures are in :data:`~zc_notebooks.reliability.finish_words`."""

_REQUEST_ID_HEADERS: Final = ("x-request-id", "request-id", "apim-request-id", "x-goog-request-id", "cf-ray")


def finish_reason(word: str | None, *, has_tool_calls: bool = False) -> FinishReason | None:
    """The provider's word in one vocabulary: ``None`` for none and for one that nobody knows.

    A normal end beside tool calls is ``tool_calls`` on every wire, also where a provider has no word of its own for it
    (Gemini's ``STOP``, Ollama's ``stop``, Responses' ``completed``): whoever runs the tools must not see which wire
    answered. The provider's word stands beside it as ``finish_raw`` and in the ledger.
    """
    if not word:
        return None
    failure = finish_failure(word)
    if failure is not None:
        return "content_filter" if failure[0] == "content_filter" else "error"
    known = FINISH_WORDS.get(word.lower())
    return "tool_calls" if known == "stop" and has_tool_calls else known


def _gravity(word: str) -> int:
    """How much a finish word takes from the answer: nothing, its end, all of it."""
    return 2 if finish_failure(word) is not None else int(finish_reason(word) == "length")


CALL_SIZE: Final = 64
"""Characters that a call without arguments counts as, when the size of an answer is limited."""


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's id of the request from response headers (lower-case names), or ``None``."""
    return next((headers[name] for name in _REQUEST_ID_HEADERS if headers.get(name)), None)


def new_call_id() -> str:
    """An id for a tool call of a wire that gives none (Ollama, Gemini)."""
    return f"call_{secrets.token_hex(6)}"


def tool_call(name: str, arguments: object, *, id: str | None = None, signature: str | None = None) -> ToolCall:  # noqa: A002 (the field's name)
    """A call from arguments as JSON text or as the object itself; no arguments at all are an empty object."""
    raw = arguments if isinstance(arguments, str) else "" if arguments is None else to_text(arguments)
    return ToolCall(id=id or new_call_id(), name=name, arguments=parse_arguments(raw), raw=raw, signature=signature)


def parse_arguments(raw: str) -> dict[str, Any] | None:
    """The object in ``raw`` (also when it was encoded twice), ``{}`` for blank text, ``None`` when it is no object."""
    if not raw.strip():
        return {}
    value = parse(raw)
    if isinstance(value, str):
        value = parse(value)
    return value if isinstance(value, dict) else None


_INDEX: Final = (int, str, float, tuple)
"""What an index can be; anything else counts as absent."""


class _Slot:
    """One call under construction."""

    __slots__ = ("id", "name", "pieces", "signature")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.signature: str | None = None

    def whole(self) -> bool:
        """Whether its arguments came in one piece that is an object."""
        return len(self.pieces) == 1 and bool(self.pieces[0].strip()) and parse_arguments(self.pieces[0]) is not None


class ToolCallAssembler:
    """Collects the deltas of tool calls, whatever keys a server forgets.

    A delta belongs to the call with its ``index``; without one to the call with its ``id``; without either to its
    place in a list of several, else to the last call. A new id together with a name at an index in use is a new
    call (servers that send every call at index 0); so is a name with arguments where those of the call before are
    whole (servers that give every call the same id, or none). A whole call said twice is one.
    """

    __slots__ = ("_by_id", "_by_index", "_slots")

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[object, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def delta(
        self,
        *,
        index: object = None,
        id: object = None,  # noqa: A002 (the field's name)
        name: object = None,
        arguments: object = None,
        place: int | None = None,
        signature: str | None = None,
    ) -> int:
        """Adds one piece and returns what it takes, about, in characters.

        Fields of a wrong type count as absent. ``place`` is the index in a list of several.
        """
        before = len(self._slots)
        id_text = id if isinstance(id, str) else ""
        name_text = name if isinstance(name, str) else ""
        piece = "" if arguments is None else arguments if isinstance(arguments, str) else to_text(arguments)
        slot = self._find(index, id_text, name_text, place)
        if name_text and piece.strip() and slot.whole():
            if (slot.id, slot.name, slot.pieces[0]) == (id_text, name_text, piece):
                return 0
            slot = self._new(index)
        if id_text and not slot.id:
            slot.id = id_text
            self._by_id.setdefault(id_text, slot)
        slot.name = slot.name or name_text
        slot.signature = slot.signature or signature
        if piece:
            slot.pieces.append(piece)
        return len(piece) + (len(self._slots) - before) * (CALL_SIZE + len(id_text) + len(name_text))

    def calls(self, *, truncated: bool = False) -> tuple[ToolCall, ...]:
        """The calls in order of arrival. Nameless ones are none; ``truncated`` (a token limit) drops half ones."""
        done = []
        for slot in self._slots:
            raw = "".join(slot.pieces)
            if not slot.name or (truncated and (not raw.strip() or parse_arguments(raw) is None)):
                continue
            slot.id = slot.id or new_call_id()
            done.append(tool_call(slot.name, raw, id=slot.id, signature=slot.signature))
        return tuple(done)

    def _find(self, index: object, id_text: str, name: str, place: int | None) -> _Slot:
        if isinstance(index, _INDEX):
            slot = self._by_index.get(index)
            if slot is not None and id_text and name and slot.id and slot.id != id_text:
                slot = None
            return slot or self._new(index)
        if id_text:
            return self._by_id.get(id_text) or self._new(None)
        if name or not self._slots:
            return self._new(None)
        if place is not None and place < len(self._slots):
            return self._slots[place]
        return self._slots[-1]

    def _new(self, index: object) -> _Slot:
        slot = _Slot()
        self._slots.append(slot)
        if isinstance(index, _INDEX):
            self._by_index[index] = slot
        return slot


class AnswerBuilder:
    """Collects one answer. Text is joined once, at the end; the gravest finish word and the last usage count."""

    __slots__ = (
        "finish_raw",
        "half",
        "hidden",
        "model",
        "pre_executed",
        "reasoning",
        "refusal",
        "request_id",
        "text",
        "tools",
        "usage",
    )

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.refusal: list[str] = []
        self.tools: list[ToolCall] = []
        """Completed calls."""
        self.half: ToolCall | None = None
        """A call whose arguments end early: it is no part of the answer, and makes one a failure."""
        self.hidden = 0
        """Characters kept that no text shows: tool calls, counted once, as they come, and a refusal. Reasoning that a
        provider has begun and does not show counts as one."""
        self.pre_executed: list[PreExecutedTool] = []
        self.usage: Usage | None = None
        self.finish_raw: str | None = None
        self.model: str | None = None
        self.request_id = request_id(headers or {})

    def take(self, calls: Sequence[ToolCall], events: list[WireEvent]) -> None:
        """Adds calls that are complete, and their events; none of them when one was cut."""
        half = half_call(calls)
        if half is not None:
            self.half = half
            return
        self.tools += calls
        events += calls

    def take_whole(self, call: ToolCall, events: list[WireEvent]) -> None:
        """:meth:`take` for a call that did not come in pieces."""
        self.hidden += CALL_SIZE + len(call.raw)
        self.take([call], events)

    def refuse(self, text: str) -> None:
        """More of a refusal."""
        self.refusal.append(text)
        self.hidden += len(text)

    def identify(self, *, model: object = None, id: object = None) -> None:  # noqa: A002 (the field's name)
        """Keeps the first model name and, when no header named the request, the first response id."""
        if self.model is None and isinstance(model, str) and model:
            self.model = model
        if self.request_id is None and isinstance(id, str) and id:
            self.request_id = id

    def finish(self, word: object) -> bool:
        """Keeps the first finish word, unless a graver one follows: an answer that failed or was cut is not whole.

        ``False`` for ``None``, ``""`` and what is no word: not finished.
        """
        if not isinstance(word, str) or not word:
            return False
        if self.finish_raw is None or (word != self.finish_raw and _gravity(word) > _gravity(self.finish_raw)):
            self.finish_raw = word
        return True

    def answer(self, *, whole: bool = True) -> Answer:
        """What was collected. ``whole=False`` (a failed stream) leaves every tool call out."""
        calls = tuple(self.tools) if whole else ()
        return Answer(
            text="".join(self.text),
            reasoning="".join(self.reasoning),
            tool_calls=calls,
            pre_executed=tuple(self.pre_executed),
            finish_reason=finish_reason(self.finish_raw, has_tool_calls=bool(calls)),
            finish_raw=self.finish_raw,
            usage=self.usage,
            model_reported=self.model,
            request_id=self.request_id,
        )
