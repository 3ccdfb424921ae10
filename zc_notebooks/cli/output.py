"""How commands speak: results on standard output, remarks on standard error, errors in one sentence."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NoReturn, TextIO

import msgspec
import typer

from zc_notebooks.chat import Hop
from zc_notebooks.errors import (
    AllCandidatesFailed,
    CallError,
    CallTimeout,
    NoPermittedCandidate,
    PartialOutput,
    StreamCancelledAfterOutput,
    TurnCancelled,
    ZcError,
)
from zc_notebooks.markup import aligned, screened
from zc_notebooks.redact import one_line, redact, safe

OK: Final = 0
USAGE: Final = 2
ALL_FAILED: Final = 3
NOT_PERMITTED: Final = 4
INTERRUPTED: Final = 5
LOST: Final = 1
"""The result could not be written."""
CANCELLED: Final = 130


_AS_JSON: ContextVar[bool] = ContextVar("zc_as_json", default=False)


class OutputLost(Exception):
    """Standard output or error takes no more: a full disk, a reader that left."""

    def __init__(self, stream: TextIO, error: OSError) -> None:
        self.name = "standard error" if stream is sys.stderr else "standard output"
        self.reader_left = isinstance(error, BrokenPipeError)
        super().__init__(f"{self.name} cannot be written ({error.strerror or type(error).__name__})")


def say(text: str) -> None:
    """One remark on standard error."""
    _write(sys.stderr, safe(text))


def answer(text: str) -> None:
    """The result on standard output: as it is into a file or a pipe, without control characters on a terminal."""
    _write(sys.stdout, _shown(text))


def piece(text: str) -> None:
    """A piece of a result, without a line end."""
    _write(sys.stdout, _shown(text), end="")


def emit(value: Any) -> None:
    """A ``--json`` result: one line of JSON on standard output."""
    _write(sys.stdout, _UNESCAPED.sub(_escape, redact(_encoder.encode(value).decode())))


def show(found: object, *, as_json: bool) -> None:
    """A result whose text is its sentence, in the form that was asked for."""
    if as_json:
        emit(found)
    else:
        answer(str(found))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: drawn in a terminal, aligned plain columns in a pipe."""
    if sys.stdout is None or not sys.stdout.isatty():
        for line in aligned(columns, rows):
            answer(line)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        drawn.add_column(Text(one_line(column)))  # a query may name its columns anything
    for row in rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    Console().print(drawn)


@contextmanager
def form_of(arguments: Sequence[str]) -> Iterator[None]:
    """Inside the block whatever ends the command is told in the form its command line asks for."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    token = _AS_JSON.set("--json" in options)
    try:
        yield
    finally:
        _AS_JSON.reset(token)


def fail(message: str, status: int = USAGE) -> NoReturn:
    """Ends the command with one sentence on standard error, or as an object on standard output."""
    refuse(message, say_it=lambda: say(f"zc: {message}"))
    raise typer.Exit(status)


def refuse(message: str, *, say_it: Callable[[], object], kind: str = "UsageError") -> None:
    """Tells what no exception of ours stands for: ``say_it`` for people, the object of a failure for programs."""
    if _AS_JSON.get():
        emit({"error": {"type": kind, "message": message, "earliest_reset": None}})
    else:
        say_it()


def read_input() -> bytes:
    """All of standard input; nothing when whoever started us closed it."""
    if sys.stdin is None:
        return b""
    return sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()


def status_of(error: BaseException) -> int:
    """The exit status an error stands for."""
    if isinstance(error, NoPermittedCandidate):
        return NOT_PERMITTED
    if isinstance(error, TurnCancelled | StreamCancelledAfterOutput | KeyboardInterrupt):
        return CANCELLED
    if isinstance(error, PartialOutput):
        return INTERRUPTED
    return ALL_FAILED if isinstance(error, CallError) else USAGE


def error_json(error: Exception) -> dict[str, Any]:
    """The ``--json`` form of a failed command."""
    reset = error.earliest_reset if isinstance(error, AllCandidatesFailed) else None
    body: dict[str, Any] = {
        "error": {"type": type(error).__name__, "message": str(error), "earliest_reset": reset},
    }
    if isinstance(error, CallError):
        body["attempts"] = [attempt_json(row) for row in error.rows]
        body["hops"] = hops_json(error.hops)
    problems = getattr(error, "problems", ())
    if problems:
        body["error"]["problems"] = problems
    return body


def attempt_json(row: Any) -> dict[str, Any]:
    """One attempt or skip as ``zc ask --json`` shows it."""
    fields = (
        "ordinal kind provider_ref model status reason attempt failover secs wait_s input_tokens output_tokens cost_usd"
    )
    return {name: getattr(row, name) for name in fields.split()}


def hops_json(hops: Sequence[Hop]) -> list[dict[str, str]]:
    """Hops as ``--json`` shows them."""
    return [{"from": hop.origin, "to": hop.to, "reason": hop.reason} for hop in hops]


def report(error: Exception, *, as_json: bool) -> NoReturn:
    """Ends the command because of ``error``: a sentence for people, an object for programs."""
    if as_json:
        emit(error_json(error))
    elif status_of(error) != CANCELLED:  # that word is said once, where the command ends
        if isinstance(error, CallTimeout) and error.attempts:
            say(f"zc: {error.headline}")
        say(f"zc: {error}" if isinstance(error, ZcError) and not isinstance(error, CallError) else str(error))
    raise typer.Exit(status_of(error))


def _shown(text: str) -> str:
    return text if sys.stdout is None else screened(text, sys.stdout)


_UNESCAPED: Final = re.compile("[\x7f-\x9f]")
"""Control characters that JSON lets stand as they are."""


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _write(stream: TextIO | None, text: str, end: str = "\n") -> None:
    if stream is None:  # closed by whoever started us
        return
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding) + end)
        stream.flush()
    except OSError as error:
        raise OutputLost(stream, error) from None


_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)
