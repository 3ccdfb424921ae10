"""A simulator for the walk: scripted outcomes, a board in memory, time that moves only by waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from zc_notebooks.records import (
    Credential,
    Entry,
    Mark,
    Profile,
    Reliability,
    ResetSource,
    Variant,
    Verdict,
)
from zc_notebooks.reliability.checks import benches
from zc_notebooks.reliability.steps import (
    AwaitProbe,
    Ended,
    Failed,
    Gate,
    Moved,
    Outcome,
    OutOfTime,
    Resume,
    SetMark,
    Skip,
    Sleep,
    Succeeded,
    Try,
    WalkPolicy,
)
from zc_notebooks.reliability.walk import walk

NOW = datetime(2026, 9, 1, tzinfo=UTC)
OK = Succeeded()
Script = Mapping[str, Sequence[Verdict | Outcome]]


def v(reason: Any, **fields: Any) -> Verdict:
    """A verdict."""
    return Verdict(reason=reason, text=fields.pop("text", reason), **fields)


LIMIT = v("minute_limit", status=429)
SERVER = v("server_error", status=500)
BALANCE = v("balance", status=402, scope="credential")
AUTH = v("auth", status=401, scope="credential")
DAILY = v("daily_limit", status=429)
NOT_FOUND = v("not_found", status=404, scope="model")
NETWORK = v("network")
EMPTY = v("empty", scope="model", status=200)
CUT = v("stream_cut", status=200)
OVERFLOW = v("context_window", status=400, scope="model", limit_kind="window")


def entries(*names: str, windows: Mapping[str, int] | None = None) -> tuple[Variant, ...]:
    """Variants from ``ref/model`` names; ``ref/model#k1,k2`` has two credentials, ``ref/model#-`` none."""
    made: list[Variant] = []
    for index, text in enumerate(names):
        name, _, keys = text.partition("#")
        ref, _, model = name.partition("/")
        pool, _, alias = ref.partition(".")
        profile = Profile(
            ref=ref,
            family=pool,
            alias=alias or "x",
            base_url=f"http://{pool}.test",
            wire="openai_chat",
            pool=pool,
            context_window=(windows or {}).get(name),
        )
        entry = Entry(profile=profile, model=model or "m", index=index)
        for place, key in enumerate((keys or f"{ref}-key").split(",")):
            credential = None if key == "-" else Credential(id=key)
            missing = None if credential else "SOME_KEY"
            made.append(
                Variant(entry=entry, model=entry.model or "m", credential=credential, place=place, missing=missing)
            )
    return tuple(made)


class Sim:
    """Conditions and driver in one. What happened is read from the public lists."""

    def __init__(
        self,
        variants: Sequence[Variant],
        script: Script,
        *,
        deadline_s: float = 300.0,
        secs: float = 0.1,
        random: float = 0.0,
        borders: Mapping[str, str] | None = None,
        lacking: Mapping[str, str] | None = None,
        absent: Mapping[str, str] | None = None,
        shorten: bool = True,
        unpaid: Mapping[str, Sequence[bool]] | None = None,
    ) -> None:
        self.variants = tuple(variants)
        self.script = {name: list(items) for name, items in script.items()}
        self.deadline_s = deadline_s
        self.secs = secs
        self.clock_s = 0.0
        self.random_value = random
        self.borders = borders or {}
        self.lacking = lacking or {}
        self.away = absent or {}
        self.shorten = shorten
        self.unpaid = {name: list(items) for name, items in (unpaid or {}).items()}
        self.marks: dict[tuple[int, int], Mark] = {}
        self.held: dict[tuple[int, int], int] = {}
        self.leases: list[tuple[str, bool]] = []
        self.calls: list[str] = []
        self.tries: list[Try] = []
        self.skips: list[tuple[str, str]] = []
        self.hops: list[tuple[str, str, str]] = []
        self.waits: list[float] = []
        self.marked: list[tuple[str, str]] = []
        self.ended: Ended | None = None

    # conditions

    def border(self, variant: Variant) -> str | None:
        return self.borders.get(variant.ref)

    def border_text(self, variant: Variant) -> str:
        return f"no money for {variant.ref}" if self.borders.get(variant.ref) == "skipped_budget" else ""

    def reserve(self, step: Try) -> Skip | None:
        """Says no when ``unpaid`` has a ``True`` for the ref; each item is for one attempt."""
        items = self.unpaid.get(step.variant.ref, [])
        refused = bool(items) and (items.pop(0) if len(items) > 1 else items[0])
        return Skip(variant=step.variant, status="skipped_budget") if refused else None

    def lacks(self, variant: Variant) -> str | None:
        return self.lacking.get(variant.ref)

    def absent(self, variant: Variant) -> str | None:
        return self.away.get(variant.ref)

    def gate(self, variant: Variant) -> Gate:
        if self.held.get(variant.id, 0) > 0:
            return Gate(state="held", mark=self.marks.get(variant.id))
        mark = self.marks.get(variant.id)
        if mark is None:
            return Gate(state="open")
        ended = mark.until <= NOW + timedelta(seconds=self.clock_s)
        return Gate(state="probe" if ended else "cooling", mark=mark)

    def acquire(self, variant: Variant) -> bool:
        return self.held.get(variant.id, 0) == 0

    def release(self, variant: Variant, *, success: bool) -> None:
        self.leases.append((label(variant), success))
        if success:
            self.marks.pop(variant.id, None)

    def remaining_s(self) -> float:
        return self.deadline_s - self.clock_s

    def seconds_until(self, instant: datetime) -> float:
        return (instant - NOW).total_seconds() - self.clock_s

    def can_shorten(self) -> bool:
        return self.shorten

    def random(self) -> float:
        return self.random_value

    # driver

    def mark(self, name: str, *, seconds: float, provenance: ResetSource = "stated") -> None:
        """Sets a mark before the walk."""
        for variant in self.variants:
            if name in (label(variant), variant.ref):
                until = NOW + timedelta(seconds=self.clock_s + seconds)
                self.marks[variant.id] = Mark(
                    key=variant.key, until=until, provenance=provenance, reason="minute_limit", set_at=NOW
                )

    def run(self, policy: WalkPolicy | None = None, resume: Resume | None = None) -> Ended:
        steps = walk(self.variants, policy or chain_policy(), self, resume=resume)
        reply: Outcome | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as stop:
                self.ended = stop.value
                return stop.value
            reply = None
            match step:
                case Try():
                    reply = self._attempt(step)
                case Sleep():
                    self.waits.append(step.seconds)
                    self.clock_s += step.seconds
                case Skip():
                    self.skips.append((label(step.variant), step.status))
                case Moved():
                    self.hops.append((label(step.origin), label(step.to), step.verdict.text))
                case SetMark():
                    self._set_mark(step)
                case AwaitProbe():
                    self.held[step.variant.id] -= 1
                    self.clock_s += 1.0

    def _attempt(self, step: Try) -> Outcome:
        self.tries.append(step)
        self.calls.append(label(step.variant))
        self.clock_s += self.secs
        for name in (label(step.variant), f"{step.variant.ref}/{step.variant.model}", step.variant.ref):
            if name in self.script:
                items = self.script[name]
                item = items.pop(0) if len(items) > 1 else items[0]
                return Failed(verdict=item) if isinstance(item, Verdict) else item
        return OK

    def _set_mark(self, step: SetMark) -> None:
        self.marked.append((label(step.variant), step.verdict.reason))
        for variant in self.variants:
            if benches(step.verdict, step.variant, variant):
                pause = min(step.verdict.stated_wait_s or 10.0, 32 * 86400.0)
                until = NOW + timedelta(seconds=self.clock_s + pause)
                self.marks[variant.id] = Mark(
                    key=variant.key, until=until, provenance="guessed", reason=step.verdict.reason, set_at=NOW
                )


def label(variant: Variant) -> str:
    """``ref/model``, with ``#credential`` when it is not the first."""
    base = f"{variant.ref}/{variant.model}"
    return f"{base}#{variant.credential.id}" if variant.place and variant.credential else base


def chain_policy(**changes: Any) -> WalkPolicy:
    """The flat chain's defaults."""
    reliability = Reliability(
        **{key: changes.pop(key) for key in list(changes) if key in Reliability.__struct_fields__}
    )
    defaults: dict[str, Any] = {
        "rate_limit": "retry_then_advance",
        "overflow": "advance_larger",
        "chain": True,
    }
    return WalkPolicy(reliability=reliability, **{**defaults, **changes})


def graph_policy(**changes: Any) -> WalkPolicy:
    """The profile graph's defaults."""
    return chain_policy(**{"rate_limit": "cooldown_and_advance", "chain": False, **changes})


__all__ = ["OK", "OutOfTime", "Resume", "Sim"]
