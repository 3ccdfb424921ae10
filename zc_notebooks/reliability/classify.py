"""Why an attempt failed, what it binds to and when it comes back: one frozen verdict per failure (spec 4). Pure.

What each provider's codes, fields, phrases and headers mean is data in :mod:`zc_notebooks.reliability.families`; the
order in which they are asked is :mod:`zc_notebooks.reliability.decide`. Nothing here raises, whatever the body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from zc_notebooks.chat import WireFailure
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import Evidence, Reason, Scope, Verdict
from zc_notebooks.redact import safe, short
from zc_notebooks.reliability.answer import Answer, names_a_model
from zc_notebooks.reliability.decide import Decision, decide
from zc_notebooks.reliability.failure_body import FailureBody, read_failure
from zc_notebooks.reliability.families import known_failures
from zc_notebooks.reliability.instants import aware
from zc_notebooks.reliability.periods import stated_tokens
from zc_notebooks.reliability.stated import Return, back_at

MAX_TEXT: Final = 4096
"""Characters of the provider's words that a verdict keeps."""
MAX_PLACE: Final = 80
"""Characters of an address that a redirect names."""
_LIMITS: Final = frozenset({"minute_limit", "daily_limit", "token_daily_limit"})
_SCOPES: Final[Mapping[str, Scope]] = {
    "balance": "credential",
    "auth": "credential",
    "not_found": "model",
    "context_window": "model",
    "bad_request": "model",
    "content_filter": "model",
    "capacity": "model",
    "empty": "model",
}
_HTTP_STATUS = re.compile(r"\d{1,3}")
_AFFORD = re.compile(r"can only afford ~?([\d,]{1,12})")


def classify_failure(status: int | None) -> Literal["retry", "next"]:
    """Two words: ``None`` (no response), 429 and 5xx wait; everything else moves on."""
    if status is None or status == 429 or 500 <= status <= 599:  # noqa: PLR2004
        return "retry"
    return "next"


def classify(
    *,
    status: int | None,
    headers: Mapping[str, str],
    body: bytes | str,
    family: str,
    wire: str = "openai_chat",
    now: datetime,
    in_band: bool = False,
) -> Verdict:
    """The verdict on one failed answer.

    Args:
        status: HTTP status, or ``None`` when there is none but a text.
        headers: response headers, names in any case.
        body: the error body, or its text; at most 64 KiB of it are looked at.
        family: provider family of the profile; an unknown one is read by what everybody's answers mean.
        wire: wire the answer came by.
        now: when it came, aware.
        in_band: the error stood inside a 2xx, whole or streamed; Retry-After and quota headers are then not read.
    """
    in_band = in_band or (status is not None and 200 <= status < 300)  # noqa: PLR2004
    answer = Answer(
        read_failure(body),
        status=status,
        headers={} if in_band else {name.lower(): value for name, value in headers.items()},
        family=family,
        wire=wire,
        now=aware(now),
        in_band=in_band,
    )
    return _verdict(answer, decide(answer), status)


def classify_exception(exc: TransportFailure | Exception) -> Verdict:
    """The verdict on a request that got no response; any other exception is read by its text."""
    text = safe(str(exc))[:MAX_TEXT]
    if isinstance(exc, TransportFailure | OSError | EOFError):
        kind = exc.kind if isinstance(exc, TransportFailure) else type(exc).__name__
        evidence = Evidence(where="exception", value=short(f"{kind}: {text}"), means="the connection failed")
        return Verdict(reason="network", code=kind, text=text or kind, evidence=(evidence,))
    status = getattr(exc, "status_code", None)
    return classify(
        status=status if isinstance(status, int) else None,
        headers={},
        body=text or type(exc).__name__,
        family="",
        now=_EPOCH,
    )


_EPOCH: Final = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
"""Where an exception's relative waits count from; only absolute times would differ."""


def classify_wire_failure(
    failure: WireFailure, *, status: int, headers: Mapping[str, str], family: str, wire: str, now: datetime
) -> Verdict:
    """The verdict on a 2xx that was no answer: the wire's own reason, else what its error says."""
    if failure.reason is None and failure.kind == "error_body":
        return classify(
            status=status, headers=headers, body=failure.payload, family=family, wire=wire, now=now, in_band=True
        )
    reason: Reason = failure.reason or ("stream_cut" if failure.kind in ("empty_body", "cut") else "server_error")
    text = safe(_words(failure))[:MAX_TEXT]
    return Verdict(
        reason=reason,
        status=status,
        code=failure.code,
        scope=_SCOPES.get(reason),
        limit_kind="window" if reason == "context_window" else None,
        text=text,
        evidence=(Evidence(where=f"stream: {failure.kind}", value=short(failure.detail or text), means=reason),),
    )


def _words(failure: WireFailure) -> str:
    """What the provider said; of a body that is broken, first what is wrong with it. A half answer is no reason."""
    if failure.kind == "cut" or not failure.payload:
        return failure.detail
    said = read_failure(failure.payload).text
    if failure.kind == "not_protocol":
        return f"{failure.detail}: {said}" if said else failure.detail
    return said or failure.detail


def _verdict(answer: Answer, decision: Decision, status: int | None) -> Verdict:
    rule, body = decision.rule, answer.body
    back = back_at(
        rule.reason,
        body,
        lambda: answer.said,
        answer.headers,
        answer.exhausted_if(rule.reason in _LIMITS),
        known_failures(body.upstream.shape) if decision.backend and body.upstream else answer.clock,
        answer.now,
    )
    wait, resets, source = _times(back, answer.now)
    window = rule.reason == "context_window"
    return Verdict(
        reason=rule.reason,
        status=answer.status if answer.status is not None else status,
        code=rule.code or _code(body),
        scope=_scope(answer, decision),
        stated_wait_s=wait,
        resets_at=resets,
        reset_source=source,
        limit_kind=rule.limit_kind if window else None,
        limit_tokens=_limit_tokens(decision, body) if window else None,
        affordable_tokens=_affordable(body) if rule.reason == "balance" else None,
        covers=rule.covers,
        text=_text(body, status, answer.headers.get("location", "")),
        evidence=_evidence(decision, back),
    )


def _times(back: Return, now: datetime) -> tuple[float | None, datetime | None, Literal["stated", "inferred"] | None]:
    """(wait, instant, provenance): an instant only where one was named or follows from a known rule."""
    if back.stated is not None:
        return back.stated.seconds(now), back.stated.at, "stated"
    if back.inferred is not None:
        return None, back.inferred, "inferred"
    return None, None, None


def _scope(answer: Answer, decision: Decision) -> Scope | None:
    rule = decision.rule
    if rule.scope is not None:
        return None if rule.scope == "none" else rule.scope
    if rule.reason == "permission":
        return "model" if any("model" in found.low for found in answer.body.messages) else "credential"
    if rule.reason in _LIMITS:
        return "model" if names_a_model(answer) else None
    return _SCOPES.get(rule.reason)


def _code(body: FailureBody) -> str | None:
    """The most telling code: an ``error.code`` that is no HTTP status, else a type."""
    words = [found for found in body.codes if found.low != "error" and not _HTTP_STATUS.fullmatch(found.low)]
    best = next((found for found in words if found.where.lower().endswith("code")), words[0] if words else None)
    return safe(best.text)[:100] if best else None


def _limit_tokens(decision: Decision, body: FailureBody) -> int | None:
    if decision.limit_tokens is not None:
        return decision.limit_tokens
    if body.tokens is not None:
        return body.tokens
    said = (*body.messages, *(body.upstream.messages if body.upstream else ()))
    return next((tokens for found in said if (tokens := stated_tokens(found.low)) is not None), None)


def _affordable(body: FailureBody) -> int | None:
    for found in body.messages:
        match = _AFFORD.search(found.low)
        if match:
            digits = match[1].replace(",", "")
            return int(digits) if digits else None
    return None


def _text(body: FailureBody, status: int | None, location: str) -> str:
    words = body.text
    if not words and body.upstream is not None:
        words = body.upstream.text
    if not words and location and status is not None and 300 <= status < 400:  # noqa: PLR2004 (the redirects)
        words = f"redirects to {short(location, MAX_PLACE)}, which is not followed: correct the profile's uri"
    if not words:
        words = "an answer without a body" if status is None else f"HTTP {status} without a message"
    return safe(words)[:MAX_TEXT]


def _evidence(decision: Decision, back: Return) -> tuple[Evidence, ...]:
    found = [Evidence(where=decision.where, value=short(decision.value), means=decision.means)]
    if back.dropped is not None:
        means = "known to be false here, not used"
        found.append(Evidence(where=back.dropped.where, value=short(back.dropped.value), means=means))
    if back.stated is not None:
        at = back.stated.at
        means = f"back at {at:%Y-%m-%d %H:%M:%S} UTC" if at else f"back in {back.stated.wait_s:g} s"
        found.append(Evidence(where=back.stated.where, value=short(back.stated.value), means=means))
    if back.inferred is not None:
        means = f"the quota starts anew at {back.inferred:%Y-%m-%d %H:%M} UTC"
        found.append(Evidence(where="rule", value="the provider's own midnight", means=means))
    return tuple(found)
