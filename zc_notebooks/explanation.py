"""What one recorded response means: outcome, verdict, when it is back, what a chain would do, and the evidence. Pure.

``zc explain`` and :func:`zc_notebooks.explain` are this module. Nothing is sent anywhere and nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec.structs import replace

from zc_notebooks.chat import Answer, WireFailure
from zc_notebooks.markup import counted
from zc_notebooks.records import WIRES, Evidence, Record, Reliability, Scope, Verdict, WireName
from zc_notebooks.redact import redact, short
from zc_notebooks.reliability.classify import classify, classify_wire_failure
from zc_notebooks.reliability.families import KNOWN_SINCE, table_name
from zc_notebooks.reliability.instants import aware, later
from zc_notebooks.shown import Shown
from zc_notebooks.wire.assemble import parse_arguments

Outcome = Literal["ok", "error", "truncated"]
_OBJECT_ARGUMENTS = frozenset({"gemini", "ollama"})
"""Wires whose tool arguments are JSON objects rather than strings; so are those of Anthropic's whole bodies."""
_NAMES_SERVER_CALLS = frozenset({"anthropic_messages"})
"""Wires that give a tool which ran on the provider's side a name and arguments, as they do for other calls."""


class Explanation(Record, Shown, frozen=True, kw_only=True):
    """What one response means. :meth:`to_dict` is the ``--json`` form."""

    outcome: Outcome
    """``truncated``: the body or stream ended before its completion signal."""
    reason: str
    """A verdict's reason, or ``ok``."""
    scope: Scope | None = None
    failure_class: str | None = None
    retry_after_s: float | None = None
    """Seconds that the answer says to wait; ``None`` when it names an instant instead, or nothing."""
    resets_at: datetime | None = None
    """Aware UTC instant that the answer names, or that follows from the provider's known rule."""
    reset_source: Literal["stated", "inferred"] | None = None
    text: str | None = None
    """Answer text that arrived; ``None`` when none did and the response failed."""
    reasoning: str | None = None
    finish_reason: str | None = None
    """The provider's own word."""
    usage: Mapping[str, int | None] | None = None
    """``input``, ``output``, ``cached``, ``reasoning`` in tokens; ``None``: not stated."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """``name`` and ``arguments`` as the wire has them: JSON text, or an object on wires that send objects."""
    evidence: tuple[Evidence, ...] = ()
    action: str = ""
    """What a chain with default settings does next."""
    known: str = ""
    """Since when that is known, and whose table said so: ``2026-09-29 (table of groq)``."""
    verdict: Verdict | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the keys of ``zc explain --json``."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "scope": self.scope,
            "class": self.failure_class,
            "retry_after_s": self.retry_after_s,
            "resets_at": None if self.resets_at is None else f"{self.resets_at:%Y-%m-%dT%H:%M:%SZ}",
            "reset_source": self.reset_source,
            "text": self.text,
            "reasoning": self.reasoning,
            "finish_reason": self.finish_reason,
            "usage": None if self.usage is None else dict(self.usage),
            "tool_calls": [dict(call) for call in self.tool_calls],
            "evidence": [{"where": one.where, "value": one.value, "means": one.means} for one in self.evidence],
            "action": self.action,
            "known": self.known,
        }

    def sentence(self) -> str:
        """One line for people: what it is, when it is back, what a chain does."""
        words = short(self.verdict.text, 200) if self.verdict else ""
        said = f' "{words}"' if words else ""
        return f"{self.outcome}: {self.reason}{self._back()}. Next: {self.action}.{said}"

    def _back(self) -> str:
        if self.resets_at is not None:
            return f", back at {self.resets_at:%Y-%m-%d %H:%M:%S} UTC ({self.reset_source})"
        if self.retry_after_s is not None:
            return f", back in {self.retry_after_s:g} s ({self.reset_source})"
        return ""

    def __repr__(self) -> str:
        return f"Explanation({self.outcome}: {self.reason}{self._back()})"


def explain(
    *,
    provider: str,
    status: int,
    headers: Mapping[str, str] | None = None,
    body: str | bytes = "",
    wire: str | None = None,
    stream: bool = False,
    now: datetime | None = None,
) -> Explanation:
    """What a response means.

    Args:
        provider: family that sent it (``groq``, ``google``, ``custom``, …).
        status: HTTP status.
        headers: response headers, names in any case.
        body: the decoded body, whole.
        wire: protocol of the answer; the family's own by default.
        stream: whether the body is a stream.
        now: when the response came; the present by default.

    Raises:
        ValueError: ``wire`` names no known wire.
    """
    now = aware(now or datetime.now(UTC))
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    name = _wire_name(provider, wire)
    raw = body.encode(errors="replace") if isinstance(body, str) else body
    found = _explained(provider, status, lower, raw, name, stream, now)
    return found if found.outcome == "ok" else replace(found, known=f"{KNOWN_SINCE} ({_table(provider, name)})")


def _explained(
    provider: str, status: int, lower: Mapping[str, str], raw: bytes, name: WireName, stream: bool, now: datetime
) -> Explanation:
    if not 200 <= status < 300:  # noqa: PLR2004 (the HTTP success range)
        verdict = classify(status=status, headers=lower, body=raw, family=provider, wire=name, now=now)
        return _failed(verdict, Answer(), name, now)
    answer, failure = _streamed(raw, lower, name) if stream else _whole(raw, lower, name)
    if failure is not None:
        verdict = classify_wire_failure(failure, status=status, headers=lower, family=provider, wire=name, now=now)
        return _failed(verdict, failure.answer, name, now)
    return _read(answer, name, now, objects=_sends_objects(name, raw, stream=stream))


def explain_case(case: Mapping[str, Any], *, now: datetime | None = None) -> Explanation:
    """Explains one recorded case: ``provider``, ``wire``, ``stream``, ``status``, ``headers``, ``body``.

    Raises:
        ValueError: a field is missing or of the wrong kind; the message names it.
    """
    wanted = {"provider": str, "status": int, "body": str}
    for field, kind in wanted.items():
        if not isinstance(case.get(field), kind) or isinstance(case.get(field), bool):
            raise ValueError(f"a case needs {field!r} as {'a number' if kind is int else 'text'}")
    headers = case.get("headers") or {}
    if not isinstance(headers, Mapping):
        raise ValueError("a case needs 'headers' as an object of names and texts")
    return explain(
        provider=case["provider"],
        status=case["status"],
        headers={str(name): str(value) for name, value in headers.items()},
        body=case["body"],
        wire=case.get("wire"),
        stream=bool(case.get("stream", False)),
        now=now,
    )


def _table(provider: str, name: WireName) -> str:
    family = table_name(provider, name)
    return f"table of {family}" if family else "table of what any provider means"


def _wire_name(provider: str, wire: str | None) -> WireName:
    if wire is not None:
        if wire not in WIRES:
            raise ValueError(f"there is no wire {wire!r}; known are {', '.join(WIRES)}")
        return wire
    from zc_notebooks.config.catalogue import families

    family = families().get(provider)
    return "openai_chat" if family is None else family.wire


def _whole(body: bytes, headers: Mapping[str, str], name: WireName) -> tuple[Answer, WireFailure | None]:
    from zc_notebooks.wire.registry import wire

    read = wire(name).decode(body, headers)
    return (read.answer, read) if isinstance(read, WireFailure) else (read, None)


def _streamed(body: bytes, headers: Mapping[str, str], name: WireName) -> tuple[Answer, WireFailure | None]:
    from zc_notebooks.wire.registry import wire

    decoder = wire(name).decoder(headers, anthropic_completion="stop_reason")
    decoder.feed(body)
    end = decoder.finish()
    return end.answer, end.failure


def _sends_objects(name: WireName, body: bytes, *, stream: bool) -> bool:
    from zc_notebooks.wire.whole_body import is_event_stream

    whole = not stream and not is_event_stream(body)
    return name in _OBJECT_ARGUMENTS or (name == "anthropic_messages" and whole)


def _read(answer: Answer, name: WireName, now: datetime, *, objects: bool) -> Explanation:
    """A complete answer; one with nothing visible in it is ``empty``."""
    from zc_notebooks.stream_guard.think import is_empty, strip_think

    if is_empty(answer):
        evidence = Evidence(where="answer", value="no text and no tool call", means="complete, but there is no answer")
        verdict = Verdict(reason="empty", scope="model", status=200, text="an empty answer", evidence=(evidence,))
        return _failed(verdict, answer, name, now)
    text, thought = strip_think(answer.text)
    return Explanation(
        outcome="ok",
        reason="ok",
        text=text,
        reasoning=(answer.reasoning + thought) or None,
        finish_reason=answer.finish_raw,
        usage=_usage(answer),
        tool_calls=_calls(answer, name, objects=objects, cut=answer.finish_reason == "length"),
        evidence=(Evidence(where="answer", value=answer.finish_raw or "complete", means="complete"),),
        action="the answer is used",
    )


def _failed(verdict: Verdict, answer: Answer, name: WireName, now: datetime) -> Explanation:
    from zc_notebooks.stream_guard.think import strip_think

    text, thought = strip_think(answer.text)
    return Explanation(
        outcome="truncated" if verdict.reason == "stream_cut" else "error",
        reason=verdict.reason,
        scope=verdict.scope,
        failure_class=verdict.failure_class,
        retry_after_s=None if verdict.resets_at is not None else verdict.stated_wait_s,
        resets_at=verdict.resets_at,
        reset_source=verdict.reset_source,
        text=None if verdict.reason == "empty" else text or None,
        reasoning=(answer.reasoning + thought) or None,
        finish_reason=answer.finish_raw,
        usage=_usage(answer),
        tool_calls=_calls(answer, name, objects=name in _OBJECT_ARGUMENTS, cut=True),
        evidence=verdict.evidence,
        action=_action(verdict, now),
        verdict=verdict,
    )


def _usage(answer: Answer) -> Mapping[str, int | None] | None:
    usage = answer.usage
    if usage is None:
        return None
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cached": usage.cached_tokens,
        "reasoning": usage.reasoning_tokens,
    }


def _calls(answer: Answer, name: WireName, *, objects: bool, cut: bool) -> tuple[Mapping[str, Any], ...]:
    """Named calls that ran on the provider's side, then those the model wants made; no half ones where ``cut``."""
    there = [call for call in answer.pre_executed if call.phase == "call" and name in _NAMES_SERVER_CALLS]
    if cut:
        there = [call for call in there if call.raw and parse_arguments(call.raw) is not None]
    ran = [(call.name, parse_arguments(call.raw), call.raw) for call in there]
    asked = [(call.name, call.arguments, call.raw) for call in answer.tool_calls]
    return tuple(
        {"name": redact(tool), "arguments": parsed if objects and parsed is not None else raw}
        for tool, parsed, raw in (*ran, *asked)
    )


def _action(verdict: Verdict, now: datetime) -> str:
    """What a chain with default settings does with this verdict (spec 5.2), in one sentence."""
    kind = verdict.failure_class
    mark = _mark(verdict, now)
    if kind == "overflow":
        larger = f" than {verdict.limit_tokens:,} tokens" if verdict.limit_tokens else ""
        return f"the next candidate with a larger declared window{larger}; no mark"
    if verdict.affordable_tokens is not None:
        return f"once more with max_tokens at most {verdict.affordable_tokens}, then the next candidate; no mark"
    if kind in ("final", "period"):
        return f"the next candidate at once; {mark}"
    policy = Reliability()
    wait = verdict.stated_wait_s
    if wait is not None and wait > policy.retry_after_cap_s:
        return (
            f"the next candidate at once, since {wait:g} s is above the cap of {policy.retry_after_cap_s:g} s; {mark}"
        )
    times = f"up to {counted(policy.provider_retries, 'more time')}"
    waiting = f"after {wait:g} s" if wait else "after a short backoff"
    return f"the same candidate again {waiting}, {times}, then the next one; {mark}"


def _mark(verdict: Verdict, now: datetime) -> str:
    """The cooldown that follows (spec 7.1)."""
    guess = {"limit": 10.0, "period": 3600.0}.get(verdict.failure_class)
    if guess is None and verdict.reason != "balance":
        return "no mark"
    until, source = verdict.resets_at, verdict.reset_source
    if until is None and verdict.stated_wait_s is not None:
        until = later(now, verdict.stated_wait_s)
    if until is None:
        if guess is None:
            return "no mark"
        until, source = later(now, guess), None
    if until <= now:
        return "no mark"
    whom = verdict.covers or ("this model" if verdict.scope == "model" else "everything of this key and pool")
    return f"{whom} is marked until {until:%Y-%m-%d %H:%M:%S} UTC ({source or 'guessed'})"
