"""The exception tree.

::

    ZcError
    ├── ConfigError (ValueError)             the configuration cannot be used
    ├── LedgerError                          a ledger query or file is not usable
    └── CallError                            a call gave no answer; has .attempts
        ├── NoPermittedCandidate             a border or allowlist leaves nothing; zero calls
        ├── AllCandidatesFailed              the walk is exhausted, all-cooling included
        │   └── CallTimeout (TimeoutError)   call_timeout_s spent before anything was shown
        ├── ContextWindowExceeded            the conversation fits no permitted candidate
        ├── UnsupportedRequest (ValueError)  no entry can carry the request (an image without vision)
        ├── TurnCancelled                    cancelled before anything was shown
        ├── PreExecutedToolsWithoutAnswer    tools ran on the provider's side and no answer came
        └── PartialOutput                    something had been shown; has .partial_text
            ├── StreamInterruptedAfterOutput
            └── StreamCancelledAfterOutput

    TransportFailure                         one request did not complete; never leaves the package by itself
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from traceback import format_exception
from typing import Literal

from zc_notebooks.chat import Hop
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.markup import ROWS_SHOWN, clean, counted
from zc_notebooks.records import Reason, Record, ResetSource, Variant, Verdict
from zc_notebooks.redact import safe, short
from zc_notebooks.shown import Shown


class Problem(Record, frozen=True, kw_only=True):
    """One thing wrong in a file: where, what stands there, what would be right."""

    path: str
    """Dotted config path (``providers.groq.free.temperature``)."""
    message: str
    """What is wrong and what would be right, one sentence."""
    value: str = ""
    """The redacted value as written."""
    line: int | None = None
    """1-based line of the file, where it could be told."""

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path} (line {self.line})"
        shown = f" (is {self.value})" if self.value else ""
        return f"{where}: {self.message}{shown}"


class ZcError(Exception):
    """Base of everything this package raises on purpose. Its message says all; :meth:`traceback` has the frames."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of frames."""
        lines = [clean(line) for line in f"{type(self).__name__}: {self}".splitlines()]
        more = [f"({counted(len(lines) - ROWS_SHOWN, 'more line')})"] if len(lines) > ROWS_SHOWN else []
        return [*lines[:ROWS_SHOWN], *more]

    def traceback(self) -> str:
        """The ordinary traceback as text."""
        return safe("".join(format_exception(self)))


class ConfigError(ZcError, ValueError):
    """The configuration cannot be used. ``.problems`` holds every fault found, not only the first."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        lines = [message, *(f"  {problem}" for problem in self.problems)]
        super().__init__(safe("\n".join(lines)))


class LedgerError(ZcError):
    """A ledger query or file is not usable; the message says which and what to do."""


class CandidateFailure(Record, frozen=True, kw_only=True):
    """The last word on one attempt or skip of a failed call."""

    row: AttemptRow
    verdict: Verdict | None = None
    text: str = ""
    """Full redacted text."""
    until: datetime | None = None
    """Skips: the end of the mark that stands in the way."""
    back_at: datetime | None = None
    """Attempts: when the failed limit ends, if anybody knows."""
    provenance: ResetSource | None = None
    phase: Literal["config", "cooldown", "connect", "request", "response", "stream"] = "response"
    several_credentials: bool = False

    @property
    def name(self) -> str:
        """``ref/model``, with the credential id when the profile has several."""
        base = f"{self.row.provider_ref}/{self.row.model}"
        return f"{base} [{self.row.credential_id}]" if self.several_credentials else base


class CallError(Shown, ZcError):
    """A call gave no answer. ``.attempts``: every attempt and skip in order, with verdict and full redacted text."""

    def __init__(self, message: str, attempts: Sequence[CandidateFailure] = (), *, call_id: str = "") -> None:
        self.attempts: tuple[CandidateFailure, ...] = tuple(attempts)
        self.call_id = call_id
        self.hops: tuple[Hop, ...] = ()
        """How the walk went on, as far as it went."""
        super().__init__(safe(message))

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of sixty frames: one line for each candidate."""
        head = f"{type(self).__name__}: {counted(len(self.attempts), 'attempt or skip', 'attempts and skips')}"
        lines = [clean(line) for line in str(self).splitlines()]
        more = [f"({counted(len(lines) - ROWS_SHOWN, 'more line')})"] if len(lines) > ROWS_SHOWN else []
        return [head, *lines[:ROWS_SHOWN], *more, "(frames: print(sys.last_value.traceback()))"]

    @property
    def rows(self) -> tuple[AttemptRow, ...]:
        """The ledger rows of the call."""
        return tuple(failure.row for failure in self.attempts)

    @property
    def last_reason(self) -> Reason | None:
        """Reason of the last attempt that failed, or ``None`` when nothing was attempted."""
        for failure in reversed(self.attempts):
            if failure.verdict is not None and failure.row.kind == "attempt":
                return failure.verdict.reason
        return None


class NoPermittedCandidate(CallError):
    """The allowlist or a border leaves no candidate. Zero calls were made."""


class AllCandidatesFailed(CallError):
    """Every candidate failed or was skipped. ``str()`` is one line per candidate with its own reason (spec 13)."""

    def __init__(self, attempts: Sequence[CandidateFailure], *, call_id: str = "", headline: str = "") -> None:
        self.earliest_reset: datetime | None = _earliest(attempts)
        self.headline = headline
        lines = _lines(attempts, self.earliest_reset)
        super().__init__("\n".join(lines) if lines else (headline or "no candidate"), attempts, call_id=call_id)

    def safe_summary(self) -> str:
        """A summary without provider names, models, endpoints or provider text: at most 8 events, 2,048 bytes."""
        return _safe_summary(self.attempts)


class CallTimeout(AllCandidatesFailed, TimeoutError):
    """``call_timeout_s`` was spent before anything was shown."""


class ContextWindowExceeded(CallError):
    """The conversation does not fit any permitted candidate (spec 5.4)."""


class UnsupportedRequest(CallError, ValueError):
    """No entry can carry the request, for instance an image when an entry has no vision. Zero calls were made."""


class TurnCancelled(CallError):
    """Cancelled before anything had been shown."""


class PreExecutedToolsWithoutAnswer(CallError):
    """Tools ran on the provider's side and no answer came: nothing may be sent again."""


class PartialOutput(CallError):
    """Something had been shown when the turn ended. ``.partial_text`` is exactly what was forwarded."""

    def __init__(
        self, message: str, attempts: Sequence[CandidateFailure] = (), *, call_id: str = "", partial_text: str = ""
    ) -> None:
        self.partial_text = partial_text
        super().__init__(message, attempts, call_id=call_id)


class StreamInterruptedAfterOutput(PartialOutput):
    """A stream failed after output somebody saw; it is not replayed."""


class StreamCancelledAfterOutput(PartialOutput):
    """A person cancelled after output had been shown."""


class TransportFailure(Exception):
    """One request did not complete. ``sent``: whether the request may have reached the server (usage unknown then)."""

    def __init__(
        self,
        message: str,
        *,
        kind: Literal["connect", "timeout", "read", "write", "protocol", "refused_url", "too_large"],
        sent: bool,
    ) -> None:
        self.kind: Literal["connect", "timeout", "read", "write", "protocol", "refused_url", "too_large"] = kind
        self.sent = sent
        super().__init__(safe(message))


def variant_name(variant: Variant) -> str:
    """``ref/model`` as hops and lines show it."""
    return f"{variant.ref}/{variant.model}"


def _earliest(attempts: Sequence[CandidateFailure]) -> datetime | None:
    ends = (failure.until or failure.back_at for failure in attempts)
    return min((end for end in ends if end is not None), default=None)


_NO_REASON = "skipped_failed_stream"
"""A skip because of the candidate's own earlier failure: that one is its reason."""


def _lines(attempts: Sequence[CandidateFailure], earliest: datetime | None) -> list[str]:
    """One line per candidate: its last failure or skip, in the order candidates were first met."""
    last: dict[tuple[str, str, str], CandidateFailure] = {}
    for failure in attempts:
        key = (failure.row.provider_ref, failure.row.model, failure.row.credential_id)
        if failure.row.status != _NO_REASON or key not in last:
            last[key] = failure
    lines = []
    for failure in last.values():
        reason = short(failure.text or failure.row.status)
        if failure.until is not None:
            stamp = f"cooling until {failure.until:%Y-%m-%d %H:%M:%S} UTC ({failure.provenance or 'stated'})"
            nearest = " (earliest)" if failure.until == earliest else ""
            reason = short(f"{stamp}{nearest}: {failure.text}" if failure.text else f"{stamp}{nearest}")
        lines.append(f"{failure.name}: {reason}")
    return lines


_MAX_EVENTS = 8
_MAX_BYTES = 2048


def _safe_summary(attempts: Sequence[CandidateFailure]) -> str:
    tries: dict[tuple[str, str], int] = {}
    for failure in attempts:
        key = (failure.row.provider_ref, failure.row.model)
        tries[key] = tries.get(key, 0) + (failure.row.kind == "attempt")
    lines = [f"{len(attempts)} failure event(s)"]
    for number, failure in enumerate(attempts[:_MAX_EVENTS], start=1):
        total = tries[failure.row.provider_ref, failure.row.model]
        reason = failure.verdict.reason if failure.verdict else failure.row.status
        kind = failure.verdict.failure_class if failure.verdict else "skip"
        retry = f"retry {failure.row.attempt}/{max(total - 1, 0)}"
        lines.append(f"event {number} ({retry}): {reason}; kind={kind}; phase={failure.phase}")
    omitted = len(attempts) - _MAX_EVENTS
    if omitted > 0:
        lines.append(f"[{omitted} additional failure event(s) omitted]")
    return "\n".join(lines).encode()[:_MAX_BYTES].decode(errors="ignore")
