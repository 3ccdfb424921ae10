"""``zc chat``: a small conversation in the terminal, streaming."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from zc_notebooks.chat import Message, text_message
from zc_notebooks.cli import Ended
from zc_notebooks.cli.ask import Hint, MaxTokens, Model, Start, System, remark, show_stream
from zc_notebooks.cli.output import OK, report, say, status_of
from zc_notebooks.errors import PartialOutput, StreamCancelledAfterOutput, ZcError
from zc_notebooks.prompt_parts import InvalidRequest

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain

INTERRUPTED_MARK = "[interrupted]"
"""Follows saved text of an answer that broke off."""
STOPPED_MARK = "[stopped by the user]"
"""Follows saved text of an answer that was stopped."""
_LEAVE = ("/quit", "/exit")


def chat(
    start: Start = None, model: Model = None, hint: Hint = None, system: System = None, max_tokens: MaxTokens = None
) -> None:
    """Talk to the chain, turn by turn. Ctrl-C stops an answer, Ctrl-D or /quit leaves, /new begins anew."""
    import zc_notebooks as zc

    options = {"start": start, "model": model, "hint": hint, "max_tokens": max_tokens}
    history: list[Message] = [] if system is None else [text_message("system", system)]
    first = len(history)
    failed = OK
    try:
        with zc.open() as chain:
            while (line := _line()) is not None and line not in _LEAVE:
                if line == "/new":
                    del history[first:]
                elif line:
                    failed = _turn(chain, history, line, options)
    except ZcError as error:
        report(error, as_json=False)
    raise typer.Exit(failed)


def _turn(chain: Chain, history: list[Message], line: str, options: dict[str, Any]) -> int:
    """One turn; what broke off is kept in the history with its mark, a turn without an answer leaves no trace."""
    asked = [*history, text_message("user", line)]
    try:
        done = show_stream(chain, asked, options)
    except PartialOutput as error:
        mark = STOPPED_MARK if isinstance(error, StreamCancelledAfterOutput) else INTERRUPTED_MARK
        history[:] = [*asked, text_message("assistant", f"{error.partial_text} {mark}")]
        say(str(error))
        return status_of(error)
    except (ZcError, InvalidRequest) as error:
        say(str(error))
        return status_of(error)
    history[:] = [*asked, text_message("assistant", done.said)]
    remark(done)
    return OK


def _line() -> str | None:
    """The next line a person wrote, or ``None`` at the end."""
    if sys.stdin is None:  # closed by whoever started us
        return None
    if sys.stdin.isatty():
        sys.stderr.write("> ")
        sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except Ended:
        raise
    except KeyboardInterrupt:
        return None
    return line.strip() if line else None
