"""Applies a fault to the frames of a stream or to a whole body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zc_notebooks.lab.conversation import Conversation, dump
from zc_notebooks.lab.faults import End, Fault, Pause, Step
from zc_notebooks.lab.reply import Frame
from zc_notebooks.lab.wires import codec

_MEGABYTE = 1_000_000
_CONTENT = ("text", "reasoning", "tool")
_LATE_S = 5.0
_SLOW_S = 0.5


def broken_stream(
    frames: Iterable[Frame], fault: Fault | None, conversation: Conversation, *, chunk_s: float, error: object = None
) -> Iterator[Step]:
    """The steps of a stream, with the fault in it.

    Args:
        frames: The stream as it should be.
        fault: What goes wrong, or nothing.
        conversation: For its wire and framing.
        chunk_s: Seconds between two chunks.
        error: The provider's error for the faults that hold one.
    """
    if fault is None:
        yield from _paced(frames, chunk_s)
        return
    kind = fault.kind
    if kind == "slow_start":
        yield Pause(seconds=_LATE_S if fault.delay_s is None else fault.delay_s)
    if kind == "comments_only":
        yield from _comments(conversation)
        return
    if kind == "slow":
        chunk_s = _SLOW_S if fault.delay_s is None else fault.delay_s
    if kind in ("no_done", "no_finish"):
        frames = (frame for frame in frames if frame.kind != kind.removeprefix("no_"))
    if kind == "half_tool_call":
        yield from _half_tool(frames, chunk_s)
    elif kind == "error_after_finish":
        yield from _after_finish(frames, codec(conversation.wire).error(error, conversation), chunk_s)
    elif kind in ("cut", "cut_clean", "stall", "malformed", "error_event", "nul", "invalid_utf8", "long_line"):
        yield from _interrupted(frames, fault, conversation, chunk_s, error)
    else:
        yield from _paced(frames, chunk_s)


def broken_body(body: bytes, fault: Fault | None, error: object = None) -> Iterator[Step]:
    """The steps of a whole body, with the fault in it."""
    kind = None if fault is None else fault.kind
    half = len(body) // 2
    if fault is not None and kind == "slow_start":
        yield Pause(seconds=_LATE_S if fault.delay_s is None else fault.delay_s)
    if kind in ("cut", "half_tool_call", "stall", "cut_clean", "malformed"):
        yield body[:half]
        if kind not in ("cut_clean", "malformed"):
            yield End(how="stall" if kind == "stall" else "close")
    elif kind in ("error_event", "error_after_finish"):
        yield dump(error).encode()
    elif kind == "comments_only":
        yield b"\n\n\n"
    elif kind in ("nul", "invalid_utf8"):
        yield body[:half] + (b"\0\0\0" if kind == "nul" else b"\xff\xfe\xc3") + body[half:]
    elif fault is not None and kind == "long_line":
        yield body[:-1]
        yield from _filler(fault.size or 10 * _MEGABYTE, b" ")
        yield body[-1:]
    else:
        yield body


def big_error(size: int | None) -> Iterator[Step]:
    """An error body of ``size`` bytes (5 MB by default)."""
    yield b'{"error":{"message":"'
    yield from _filler(size or 5 * _MEGABYTE, b"the lab has much to say about this ")
    yield b'","type":"server_error","param":null,"code":null}}'


def _paced(frames: Iterable[Frame], chunk_s: float) -> Iterator[Step]:
    for frame in frames:
        yield frame.data
        if chunk_s > 0 and frame.kind in _CONTENT:
            yield Pause(seconds=chunk_s)


def _comments(conversation: Conversation) -> Iterator[Step]:
    comment = b": keep-alive\n\n" if conversation.framing == "sse" else b"\n"
    for _ in range(3):
        yield comment


def _half_tool(frames: Iterable[Frame], chunk_s: float) -> Iterator[Step]:
    seen = 0
    for frame in frames:
        seen += frame.kind == "tool"
        if frame.kind == "finish" or seen > 2:  # noqa: PLR2004 (the call's head and one piece of it)
            break
        yield from _paced([frame], chunk_s)
    yield End(how="close")


def _after_finish(frames: Iterable[Frame], event: bytes, chunk_s: float) -> Iterator[Step]:
    told = False
    for frame in frames:
        if frame.kind == "done" and not told:
            told = True
            yield event
        yield from _paced([frame], chunk_s)
    if not told:
        yield event


def _interrupted(
    frames: Iterable[Frame], fault: Fault, conversation: Conversation, chunk_s: float, error: object
) -> Iterator[Step]:
    """The stream until so many text tokens or its finish, then the fault, then (for some) the rest."""
    left = fault.tokens
    struck = False
    for frame in frames:
        if not struck and (frame.kind in ("finish", "done") or (frame.kind in ("text", "tool") and left <= 0)):
            struck = True
            yield from _strike(fault, conversation, frame, error)
            if fault.kind in ("cut", "cut_clean", "stall", "error_event"):
                return
        left -= frame.kind == "text"
        yield from _paced([frame], chunk_s)


def _strike(fault: Fault, conversation: Conversation, frame: Frame, error: object) -> Iterator[Step]:
    wire = codec(conversation.wire)
    if fault.kind == "cut":
        yield frame.data[: max(len(frame.data) // 2, 1)]
        yield End(how="close")
    elif fault.kind == "stall":
        yield End(how="stall")
    elif fault.kind == "malformed":
        yield wire.raw('{"choices":[{"index":0,"delta":{"content":"bro', conversation)
    elif fault.kind == "error_event":
        yield wire.error(error, conversation)
    elif fault.kind == "nul":
        yield b"\0\0" + wire.raw('{"\0":1}', conversation)
    elif fault.kind in ("invalid_utf8", "long_line"):
        before, after = wire.raw('{"filler":"@"}', conversation).split(b"@")
        yield before
        if fault.kind == "invalid_utf8":
            yield b"\xff\xfe\xc3\x28"
        else:
            yield from _filler(fault.size or 10 * _MEGABYTE, b"long ")
        yield after


def _filler(size: int, words: bytes) -> Iterator[bytes]:
    block = (words * (65_536 // len(words) + 1))[:65_536]
    for start in range(0, size, len(block)):
        yield block[: min(len(block), size - start)]
