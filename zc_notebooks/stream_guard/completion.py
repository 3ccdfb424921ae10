"""Judging how a stream ended, by evidence alone (spec 8.2): an error, a signal, or neither."""

from __future__ import annotations

from typing import Final

from zc_notebooks.chat import StreamEnd, WireFailure
from zc_notebooks.redact import short
from zc_notebooks.reliability.finish_words import MALFORMED, finish_failure
from zc_notebooks.wire.assemble import AnswerBuilder, finish_reason

MAX_PAYLOAD: Final = 64 * 1024
"""Characters of a provider's error that are kept."""
MAX_ANSWER: Final = 8 * 2**20
"""Characters of one streamed answer that are kept, reasoning and tool calls included: as much as of a whole body."""
_MAX_EVIDENCE: Final = 32


class StreamJudge:
    """Keeps the evidence of one stream in order of arrival and judges its end.

    ``awaited`` names the completion signal for the sentence of a truncated stream (``message_stop``).
    """

    __slots__ = ("_awaited", "_error", "_refused", "_refused_bytes", "closed", "evidence", "signal", "started")

    def __init__(self, awaited: str) -> None:
        self._awaited = awaited
        self._error: str | None = None
        self._refused: str | None = None
        self._refused_bytes = b""
        self.evidence: list[str] = []
        self.started = False
        """A protocol event was seen, where ``[DONE]`` may complete the stream."""
        self.signal = False
        """The completion signal was seen."""
        self.closed = False
        """Nothing more need be read."""

    @property
    def failed(self) -> bool:
        """An error object was seen, or the bytes are not this protocol."""
        return self._error is not None or self._refused is not None

    @property
    def signalled(self) -> bool:
        """The completion signal was seen and no error."""
        return self.signal and not self.failed

    def note(self, word: str) -> None:
        """Adds a word of evidence once (a finish reason may come twice)."""
        if word not in self.evidence and len(self.evidence) < _MAX_EVIDENCE:
            self.evidence.append(word)

    def complete(self, word: str, *, last: bool = False) -> None:
        """The completion signal came, as ``word``; ``last``: it is also the wire's last event."""
        self.note(word)
        self.signal = True
        self.closed = self.closed or last

    def done(self) -> None:
        """``[DONE]``: the transport is whole. It completes a stream that had any event, and only such a one."""
        self.note("[DONE]")
        self.signal = self.signal or self.started
        self.closed = True

    def error(self, payload: str, word: str = "error event", *, last: bool = True) -> None:
        """An in-band error; the first one counts. ``last=False`` where the wire says more after it."""
        self.note(word)
        if self._error is None:
            self._error = payload[:MAX_PAYLOAD] or "an error without a word"
        self.closed = self.closed or last

    def refuse(self, detail: str, word: str = "not the protocol", payload: bytes = b"", *, last: bool = False) -> None:
        """The bytes are not this protocol, in one sentence. After the signal that is only noted, unless ``last``."""
        self.note(word)
        if last or not self.signal:
            self._refused = self._refused or detail
            self._refused_bytes = self._refused_bytes or payload[:MAX_PAYLOAD]
            self.closed = True

    def end(self, builder: AnswerBuilder, interrupted: str | None = None) -> StreamEnd:
        """The verdict at end of file, or at ``interrupted`` (``idle``, ``disconnect``)."""
        self.note(interrupted or "eof") if not self.closed else None
        failure = self._failure(builder, interrupted)
        answer = builder.answer() if failure is None else failure.answer
        return StreamEnd(answer=answer, failure=failure, evidence=tuple(self.evidence))

    def _failure(self, builder: AnswerBuilder, interrupted: str | None) -> WireFailure | None:
        partial = builder.answer(whole=False)
        if self._error is not None:
            return WireFailure(
                kind="error_body", payload=self._error, detail="the stream carried an error", answer=partial
            )
        if self._refused is not None:
            text = self._refused_bytes.decode("utf-8", "replace")
            return WireFailure(kind="not_protocol", payload=text, detail=self._refused, answer=partial)
        failure = judge_finish(builder, ended=self.signal)
        if failure is not None or self.signal:
            return failure
        how = {None: "closed", "idle": "stalled"}.get(interrupted, "broke off")
        return WireFailure(
            kind="cut",
            reason="stream_cut",
            detail=f"stream {how} before {self._awaited}: response truncated",
            answer=partial,
        )


def judge_finish(builder: AnswerBuilder, *, ended: bool = True) -> WireFailure | None:
    """The failure a finish word, a refusal or a half tool call stands for; the same for streams and whole bodies.

    ``ended``: the provider says that the answer is whole. What was cut by the token limit may end in half a call.
    """
    decided = finish_failure(builder.finish_raw)
    refusal = "".join(builder.refusal)
    if decided is None and ended and refusal and not builder.tools and not "".join(builder.text).strip():
        decided = ("content_filter", "refusal")
    half = builder.half if ended and finish_reason(builder.finish_raw) != "length" else None
    if decided is None and half is None:
        return None
    reason, code = decided or MALFORMED
    ending = "a refusal" if code == "refusal" else builder.finish_raw
    if decided is None and half is not None:
        ending = f"half a tool call: the arguments of {short(half.name, 60)} end early"
    return WireFailure(
        kind="finish",
        reason=reason,
        code=code,
        payload=refusal[:MAX_PAYLOAD],
        detail=f"the answer ended with {ending}"[:200],
        answer=builder.answer(whole=False),
    )
