"""One of each object that notebooks show, in four states: fresh, empty, huge, and with hostile text in every field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from tests.fleet import KEYS, Fleet, chain_toml
from zc_notebooks.budget.report import Budget, PeriodBudget
from zc_notebooks.chat import Identity
from zc_notebooks.errors import (
    AllCandidatesFailed,
    CandidateFailure,
    NoPermittedCandidate,
    StreamInterruptedAfterOutput,
)
from zc_notebooks.explanation import Explanation, explain
from zc_notebooks.ledger.append import LedgerWriter
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.probe import ProbeResult, ProbeResults
from zc_notebooks.records import Entry, Evidence, LiveMarks, Mark, MarkKey, Plan, Profile, Pruned, Verdict
from zc_notebooks.result import Completion
from zc_notebooks.status import LastOutcome, ProfileStatus, Status

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY: Final = KEYS["KEY_A"]
"""Known to the redactor once a chain has read it."""
SHAPED: Final = "sk-" + "proj-" + "0123456789abcdefghij"
"""Never registered: its shape gives it away."""

TEXTS: Final[Mapping[str, str]] = {
    "plain": "42",
    "empty": "",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)> & \"quoted\" 'too'",
    "markdown": "![x](http://127.0.0.1/p.png) [a](javascript:alert(1)) | # h\n```\n<b>\n```\n* _i_ `c` $m$",
    "surrogates": "lone \ud800 and \udfff, \U0001f600, e\u0301",
    "controls": "bell\x07 red\x1b[31m nul\x00 back\x08 \r\nline\rend",
    "key": f"your key {KEY} and {SHAPED} in https://user:pw@host.test/x?key={SHAPED}",
    "wide": "答え" * 40,
    "huge": "word " * 100_000,
}
MANY: Final = 3_000


def row(text: str, place: int = 0, **fields: Any) -> AttemptRow:
    """A failed attempt whose free fields hold ``text``."""
    settings: dict[str, Any] = {"kind": "attempt", "mode": "chat", "status": "http_429", "reason": "minute_limit"}
    return AttemptRow(
        call_id=f"{place:016x}", ordinal=place, t=NOW, provider_ref="custom.a", model=text or "m", **(settings | fields)
    )


def completion(text: str, many: int) -> Completion:
    """An answer after ``many`` failures."""
    identity = Identity(provider_ref="custom.a", model=text or "m", model_reported=text or None)
    rows = tuple(row(text, place) for place in range(many))
    asked = Identity(provider_ref="custom.b", model="m")
    return Completion(text=text, call_id="c", served=identity, requested=asked, attempts=rows, notice=text or None)


def verdict(text: str, many: int) -> Verdict:
    """A verdict with ``many`` pieces of evidence."""
    evidence = tuple(Evidence(where=text, value=text, means=text) for _ in range(many))
    return Verdict(reason="minute_limit", text=text, evidence=evidence, resets_at=NOW, reset_source="stated")


def failures(text: str, many: int) -> tuple[CandidateFailure, ...]:
    """``many`` attempts, each with its own words."""
    return tuple(
        CandidateFailure(row=row(text, place), verdict=verdict(text, 1), text=text, back_at=NOW)
        for place in range(many)
    )


def plan(text: str, many: int) -> Plan:
    """``many`` entries and what was left out."""
    profile = Profile(
        ref="custom.a", family="custom", alias="a", base_url="https://a.test/v1", wire="openai_chat", pool=text
    )  # fmt: skip
    entries = tuple(Entry(profile=profile, model=text or None, index=place) for place in range(many))
    pruned = tuple(Pruned(code="cycle", path=text, ref=text) for _ in range(many))
    return Plan(entries=entries, source="chain", requested_model=text, pruned=pruned)


def marks(text: str, many: int) -> LiveMarks:
    """``many`` marks."""
    key = MarkKey(pool=text, credential_id="-", model=text or None)
    one = Mark(key=key, until=NOW, provenance="stated", reason="minute_limit", set_at=NOW, provider_ref=text)
    return LiveMarks((one,) * many)


def probes(text: str, many: int) -> ProbeResults:
    """``many`` probes."""
    one = ProbeResult(ref="custom.a", model=text, state="limited", ms=1.5, how=text, until=NOW, text=text)
    return ProbeResults((one,) * many)


def status(text: str, many: int) -> Status:
    """``many`` profiles."""
    last = LastOutcome(status=text, reason=None, t=NOW)
    one = ProfileStatus(
        ref="custom.a", model=text, tier="free", pool=text, key=text or "found",
        marks=tuple(marks(text, 1)), headroom=(), last=last,
    )  # fmt: skip
    return Status(at=NOW, profiles=(one,) * many)


def budget(text: str, many: int) -> Budget:
    """``many`` periods."""
    one = PeriodBudget(
        period="day", limit_usd=Decimal(many), spent_usd=Decimal("1e-9"), reserved_usd=Decimal(0),
        left_usd=Decimal(10) ** 30, fresh_at=NOW,
    )  # fmt: skip
    return Budget(at=NOW, periods=(one,) * many, problem=text)


def explanation(text: str, many: int) -> Explanation:
    """What one hostile response means."""
    return explain(
        provider="groq", status=429, headers={"retry-after": "7", "x-note": text[:99]}, body=text * min(many, 3)
    )


def ledger(text: str, many: int, folder: Path) -> Ledger:
    """A ledger of ``many`` rows."""
    writer = LedgerWriter(folder / "shown")
    for place in range(min(many, 50)):
        writer.write(row(text.encode("utf-8", "replace").decode()[:500], place))
    writer.close()
    return Ledger(folder / "shown")


def chain(text: str, many: int, folder: Path) -> Any:
    """A chain of up to 26 candidates."""
    names = [chr(97 + place) for place in range(min(max(many, 1), 26))]
    model = text.encode("utf-8", "replace").decode()[:200]
    safe = "".join(char for char in model if char.isprintable() and char not in '"\\') or "m"
    return Fleet({}, folder, toml=chain_toml(*names, model=safe)).chain


MAKERS: Final[Mapping[str, Callable[[str, int, Path], Any]]] = {
    "Completion": lambda text, many, _: completion(text, many),
    "Plan": lambda text, many, _: plan(text, many),
    "Verdict": lambda text, many, _: verdict(text, many),
    "Explanation": lambda text, many, _: explanation(text, many),
    "AllCandidatesFailed": lambda text, many, _: AllCandidatesFailed(failures(text, many)),
    "NoPermittedCandidate": lambda text, many, _: NoPermittedCandidate(text, failures(text, many)),
    "StreamInterruptedAfterOutput": lambda text, many, _: StreamInterruptedAfterOutput(
        text, failures(text, many), partial_text=text
    ),
    "LiveMarks": lambda text, many, _: marks(text, many),
    "Mark": lambda text, _, __: marks(text, 1)[0],
    "ProbeResult": lambda text, _, __: probes(text, 1)[0],
    "ProbeResults": lambda text, many, _: probes(text, many),
    "Status": lambda text, many, _: status(text, many),
    "Budget": lambda text, many, _: budget(text, many),
    "Chain": chain,
    "Ledger": ledger,
}
"""Type → (text for every free field, how many rows, a folder) → one of it."""
