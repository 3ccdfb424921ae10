"""One physical request without its I/O: what to send, and what the response means. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from zc_notebooks.chat import Answer, ChatRequest, WireFailure
from zc_notebooks.config.catalogue import families
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpResponse, Record, Variant, Verdict
from zc_notebooks.redact import short
from zc_notebooks.reliability.classify import classify, classify_exception, classify_wire_failure
from zc_notebooks.stream_guard.think import is_empty, strip_think
from zc_notebooks.wire.base import Encoded, Target, Wire
from zc_notebooks.wire.registry import wire

Phase = Literal["connect", "request", "response", "stream"]


MAX_NAME: Final = 200
"""Characters of a provider-made name that are kept."""


class Judged(Record, frozen=True, kw_only=True):
    """What came of one attempt."""

    status: str
    """The row's status (spec 12.1)."""
    verdict: Verdict | None
    """``None``: success."""
    answer: Answer | None = None
    """The answer, or what had arrived of it; its usage counts either way."""
    phase: Phase = "response"
    known_zero: bool = False
    """Refused with a non-2xx status, or never connected: it cost nothing."""
    evidence: tuple[str, ...] = ()


def wire_of(variant: Variant) -> Wire:
    """The wire the variant's profile speaks."""
    return wire(variant.entry.profile.wire)


def lacks(variant: Variant, request: ChatRequest) -> str | None:
    """The capability ``request`` needs and the variant has not, or ``None`` (spec 5.1, check 5)."""
    can = variant.entry.profile.capabilities
    if request.tools and not can.native_tools:
        return "no native tools"
    if request.has_images and not can.vision:
        return "no vision"
    return wire_of(variant).lacks(request, _target(variant))


def token_limit(variant: Variant, request: ChatRequest, max_tokens: int | None = None) -> int | None:
    """Tokens an answer of the variant may have: ``max_tokens`` of the attempt, the request's, or the profile's."""
    profile = variant.entry.profile
    return max_tokens or request.max_tokens or profile.max_tokens or _prechecked_limit(profile.family)


def prepare(variant: Variant, request: ChatRequest, *, stream: bool, max_tokens: int | None = None) -> Encoded:
    """The HTTP request of one attempt: the profile's own defaults, endpoint, headers and key, nobody else's."""
    profile = variant.entry.profile
    limit = token_limit(variant, request, max_tokens)
    temperature = profile.temperature if request.temperature is None else request.temperature
    if (limit, temperature) != (request.max_tokens, request.temperature):
        request = msgspec.structs.replace(request, max_tokens=limit, temperature=temperature)
    return wire_of(variant).encode(request, _target(variant), stream=stream)


def judge(response: HttpResponse, variant: Variant, now: datetime) -> Judged:
    """Reads a whole response: an answer, or a verdict."""
    profile = variant.entry.profile
    if not 200 <= response.status < 300:  # noqa: PLR2004 (the HTTP success range)
        verdict = classify(
            status=response.status,
            headers=response.headers,
            body=response.body,
            family=profile.family,
            wire=profile.wire,
            now=now,
        )
        return Judged(status=f"http_{response.status}", verdict=verdict, known_zero=True)
    read = wire_of(variant).decode(response.body, response.headers)
    if isinstance(read, WireFailure):
        return failed_body(read, response, variant, now)
    return accepted(read)


def named(answer: Answer) -> Answer:
    """The answer with its provider-made names (model, request id, finish word) redacted: they go into rows."""
    names = (answer.model_reported, answer.request_id, answer.finish_raw)
    clean = tuple(None if name is None else short(name, MAX_NAME) for name in names)
    if clean == names:
        return answer
    model, request_id, word = clean
    return msgspec.structs.replace(answer, model_reported=model, request_id=request_id, finish_raw=word)


def accepted(answer: Answer, *, evidence: tuple[str, ...] = ()) -> Judged:
    """A complete answer: thinking spans leave the text; nothing left is ``empty`` (spec 1)."""
    if "<think>" in answer.text:
        text, thought = strip_think(answer.text)
        answer = msgspec.structs.replace(answer, text=text, reasoning=answer.reasoning + thought)
    answer = named(answer)
    if is_empty(answer):
        words = f"empty answer (finish reason {answer.finish_raw or 'not stated'})"
        verdict = Verdict(reason="empty", scope="model", status=200, text=words)
        return Judged(status="empty", verdict=verdict, answer=answer, evidence=evidence)
    return Judged(status="ok", verdict=None, answer=answer, evidence=evidence)


def failed_body(failure: WireFailure, response: HttpResponse, variant: Variant, now: datetime) -> Judged:
    """A 2xx whose body is no answer."""
    profile = variant.entry.profile
    verdict = classify_wire_failure(
        failure, status=response.status, headers=response.headers, family=profile.family, wire=profile.wire, now=now
    )
    status = "stream_cut" if failure.kind in ("cut", "empty_body") else "body_error"
    return Judged(status=status, verdict=verdict, answer=named(failure.answer))


def failed_transport(failure: TransportFailure) -> Judged:
    """A request that did not complete."""
    return Judged(
        status="timeout" if failure.kind == "timeout" else "network",
        verdict=classify_exception(failure),
        phase="request" if failure.sent else "connect",
        known_zero=not failure.sent,
    )


def _target(variant: Variant) -> Target:
    secret = variant.credential.secret if variant.credential is not None else None
    return Target(profile=variant.entry.profile, model=variant.model, key=secret)


def _prechecked_limit(family: str) -> int | None:
    """A router that checks the balance against the model's maximum gets a limit even when nobody asked for one."""
    known = families().get(family)
    return known.default_max_tokens if known is not None else None
