"""Which cause a failure has: the order of spec 4.2, one small step each, over what was read from the answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from zc_notebooks.records import Record
from zc_notebooks.reliability import phrases
from zc_notebooks.reliability.answer import TOO_MANY, Answer, stands_for
from zc_notebooks.reliability.failure_body import Found
from zc_notebooks.reliability.families import ANYONE
from zc_notebooks.reliability.periods import LONG_S, header_period, impossible, period_of, without_advice, zero_limit
from zc_notebooks.reliability.reset_time import retry_after
from zc_notebooks.reliability.rules import (
    AUTH,
    BAD_REQUEST,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    DAY,
    LIMIT,
    MINUTE,
    NETWORK,
    NOT_FOUND,
    PERMISSION,
    PERMISSION_MODEL,
    REQUEST,
    SERVER_ERROR,
    STREAM_CUT,
    TOKEN_DAY,
    Period,
    Rule,
    meaning,
    plain,
)

_NO_KEY: Final = 401
_NO_MONEY: Final = 402
_STATUS: Final[Mapping[int, Rule]] = {
    401: AUTH,
    402: BALANCE,
    403: PERMISSION,
    404: NOT_FOUND,
    408: NETWORK,
    410: NOT_FOUND,
    413: REQUEST,
    429: LIMIT,
    503: CAPACITY,
    529: CAPACITY,
}
_MEANS: Final[Mapping[str, Rule]] = {"minute": MINUTE, "day": DAY, "token_day": TOKEN_DAY}
_KINDS: Final = ("x-ratelimit-type", "anthropic-ratelimit-unified-representative-claim")
"""Headers that name the limit which was hit."""
_UPSTREAM_LIMITS: Final = frozenset({"minute_limit", "daily_limit", "token_daily_limit", "balance", "capacity"})


class Decision(Record, frozen=True, kw_only=True):
    """A rule and what led to it."""

    rule: Rule
    where: str
    value: str
    means: str
    limit_tokens: int | None = None
    period: Period | None = None
    backend: bool = False
    """Decided by what a router's backend said: the router's own reset rule says nothing about it."""


def decide(answer: Answer) -> Decision:
    """The first step that knows the cause."""
    for step in STEPS:
        decision = step(answer)
        if decision is not None:
            return decision
    return Decision(rule=SERVER_ERROR, where="rule", value="nothing else matched", means="an unknown failure")


def _page(answer: Answer) -> Decision | None:
    """408, HTML and an empty body: the status alone decides."""
    if answer.status == 408:  # noqa: PLR2004
        return _decided(NETWORK, "status", "408", "the request took too long to arrive")
    if answer.body.kind == "empty" and answer.in_band:
        return _decided(STREAM_CUT, "body", "empty", "a success without a body")
    return _status(answer) if answer.body.kind == "html" else None


def _codes(answer: Answer) -> Decision | None:
    """A code, type or field that says more than the status does."""
    for found in _all_codes(answer):
        rule = next(filter(None, (meaning(found.low, table.codes) for table in answer.tables)), None)
        rule = rule or meaning(found.low, ANYONE.codes)
        if rule is None or (rule.limit and answer.status == _NO_MONEY):
            continue
        if not rule.soft:
            return _decided(rule, _field(found), found.text, _saying(rule))
        if answer.soft is None:
            answer.soft = found, rule
    if answer.body.moderated:
        return _decided(CONTENT_FILTER, "field error.metadata.reasons", "flagged input", "the input was moderated")
    return None


def _all_codes(answer: Answer) -> list[Found]:
    name = answer.headers.get("x-amzn-errortype", "")
    if not name:
        return answer.body.codes
    name = name.partition(":")[0]
    return [Found("header x-amzn-errortype", name, plain(name)), *answer.body.codes]


def _quota_ids(answer: Answer) -> Decision | None:
    """Google's quota ids: the longest period binds; a quota of 0 is no quota."""
    ids = answer.body.quota_ids
    if not ids:
        return None
    if answer.body.zero_quota or any(zero_limit(found.low) for found in answer.body.messages):
        return _decided(PERMISSION_MODEL, "field quotaValue", "0", "a limit of zero: waiting never helps")
    days = [one for one in ids if "perday" in one.low]
    which = next((one for one in days if "token" not in one.low), days[0] if days else ids[0])
    period: Period = "minute" if not days else "token_day" if "token" in which.low else "day"
    if not days and period_of((which.low,)) is None:
        return None
    scope = "model" if "permodel" in which.low else "none"
    base = _MEANS[period]
    rule = Rule(reason=base.reason, scope="model" if scope == "model" else "none")
    return _decided(rule, f"field {which.where}", which.text, _saying(base), period=period)


def _backend(answer: Answer) -> Decision | None:
    """What a router's backend said. Its limits are the router's own, not the caller's, unless the key is."""
    upstream = answer.body.upstream
    if upstream is None:
        return _returned(answer)
    inner = Answer(
        upstream,
        status=stands_for(upstream) or answer.status,
        headers={},
        family=answer.family,
        wire=answer.wire,
        now=answer.now,
        in_band=False,
        quoted=True,
    )
    decision = decide(inner)
    decision = msgspec.structs.replace(decision, backend=True)
    if answer.body.own_key or all(known.own_upstream for known in answer.tables):
        return decision
    if decision.rule.reason in _UPSTREAM_LIMITS:
        return _decided(CAPACITY, decision.where, decision.value, "the backend's own limit: another candidate now")
    if decision.rule.reason == "auth":
        return _decided(SERVER_ERROR, decision.where, decision.value, "the router's own key at its backend failed")
    return decision


def _returned(answer: Answer) -> Decision | None:
    found = next((one for one in answer.body.messages if one.low.strip(" .") == "provider returned error"), None)
    if found is None or answer.status != TOO_MANY:
        return None
    return _decided(CAPACITY, _phrase(found), found.text, "the backend's own limit: another candidate now")


def _own_phrases(answer: Answer) -> Decision | None:
    """Sentences of this provider."""
    if not answer.phrases_count and answer.status != _NO_KEY:
        return None
    for known in answer.tables:
        for found in answer.body.messages or answer.body.titles:
            for phrase, rule in known.phrases:
                if phrase in found.low:
                    return _decided(rule, _phrase(found), phrase, _saying(rule))
    return None


def _impossible(answer: Answer) -> Decision | None:
    """A limit of 0, or a request above the limit: no waiting serves it."""
    if not answer.implied and answer.status not in (None, 400, 403, 413, 422, TOO_MANY):
        return None
    for found in answer.body.messages:
        never = impossible(found.low)
        if never is not None and never.zero:
            return _decided(PERMISSION_MODEL, _phrase(found), never.words, "a limit of zero: waiting never helps")
        if never is not None:
            means = "the request is larger than the limit: waiting never helps"
            return _decided(REQUEST, _phrase(found), never.words, means, limit_tokens=never.limit)
    zero = [one for one in answer.quotas if one.limit == 0 and one.name != "other"] if answer.limited else []
    if zero:
        return _decided(PERMISSION_MODEL, f"header: limit of {zero[0].label}", "0", "a limit of zero: no such plan")
    return None


def _early_phrases(answer: Answer) -> Decision | None:
    """Context window, tool call, content, money: before any rate words."""
    server = not answer.phrases_count and answer.status is not None and answer.status >= 500  # noqa: PLR2004
    if not (answer.phrases_count or server):
        return None
    for found in answer.body.messages:
        hit = phrases.context(found.low) if server else phrases.before_limits(found.low, window=not answer.limited)
        if hit:
            return _decided(hit[1], _phrase(found), hit[0], _saying(hit[1]))
    return None


def _limits(answer: Answer) -> Decision | None:
    """Rate and quota words; the period named there, else the one whose header says 0."""
    if not answer.phrases_count:
        return None
    named = _period_words(answer) if answer.limited else None
    if named is not None:
        return named
    for found in answer.body.messages or answer.body.titles:
        hit = phrases.limits(without_advice(found.low))
        if hit:
            named = None if answer.limited else _period_words(answer)
            return named or _by_header(answer, _phrase(found), hit[0], long=hit[1] is DAY)
    return None


def _period_words(answer: Answer) -> Decision | None:
    kinds = (answer.headers.get(name, "") for name in _KINDS)
    lows = [without_advice(found.low) for found in answer.body.messages]
    lows += [found.low for found in answer.body.codes if not found.low.isdigit()]
    lows += [kind.lower() for kind in kinds if kind]
    named = period_of(tuple(lows))
    if named is None:
        return None
    where = next((_phrase(one) for one in answer.body.messages if named[1] in one.low), "field of the error")
    return _decided(_MEANS[named[0]], where, named[1], _saying(_MEANS[named[0]]), period=named[0])


def _by_header(answer: Answer, where: str, value: str, *, long: bool) -> Decision:
    """A limit whose words name no period."""
    if long:
        return _decided(DAY, where, value, "a period quota", period="day")
    named = header_period(answer.exhausted)
    if named is not None:
        which = f"header: nothing left of {named[1]}"
        return _decided(_MEANS[named[0]], which, value, _saying(_MEANS[named[0]]), period=named[0])
    waits = (*retry_after(answer.headers, answer.now), *answer.said)
    resets = [at for one in answer.exhausted if (at := one.reset(answer.now)) is not None]
    if any(one.seconds(answer.now) >= LONG_S for one in waits or resets):
        return _decided(DAY, where, value, "a limit that comes back after five hours or later")
    return _decided(MINUTE, where, value, _saying(MINUTE))


def _late_phrases(answer: Answer) -> Decision | None:
    """Permission, key, model, capacity."""
    if not answer.phrases_count:
        return None
    for found in answer.body.messages:
        hit = phrases.after_limits(found.low)
        if hit:
            return _decided(hit[1], _phrase(found), hit[0], _saying(hit[1]))
    return _unreached(answer) if answer.status is None and not answer.in_band else None


def _unreached(answer: Answer) -> Decision | None:
    """Without any status: the words of a connection that failed."""
    for found in answer.body.messages:
        hit = phrases.unreached(found.low)
        if hit:
            return _decided(NETWORK, _phrase(found), hit[0], "the connection failed")
    return None


def _soft(answer: Answer) -> Decision | None:
    """A general code, now that nothing more specific was found."""
    if answer.soft is None:
        return None
    found, rule = answer.soft
    if rule.limit:
        return _by_header(answer, _field(found), found.text, long=False)
    return _decided(rule, _field(found), found.text, _saying(rule))


def _status(answer: Answer) -> Decision | None:
    status = answer.status
    if status is None or (answer.in_band and 200 <= status < 400):  # noqa: PLR2004
        return None
    rule = answer.known.statuses.get(status) or _STATUS.get(status)
    if rule is None:
        rule = BAD_REQUEST if 400 <= status < 500 else SERVER_ERROR  # noqa: PLR2004
    if not rule.limit:
        return _decided(rule, "status", str(status), _saying(rule))
    if answer.in_band:
        return _decided(CAPACITY, "status", str(status), "ran out in mid-answer and names no limit of the caller")
    return _by_header(answer, "status", str(status), long=False)


STEPS: Final[tuple[Callable[[Answer], Decision | None], ...]] = (
    _page,
    _codes,
    _quota_ids,
    _backend,
    _own_phrases,
    _impossible,
    _early_phrases,
    _limits,
    _late_phrases,
    _soft,
    _status,
)


def _decided(
    rule: Rule, where: str, value: str, means: str, *, limit_tokens: int | None = None, period: Period | None = None
) -> Decision:
    return Decision(rule=rule, where=where, value=value, means=means, limit_tokens=limit_tokens, period=period)


def _field(found: Found) -> str:
    return found.where if found.where.startswith("header") else f"field {found.where}"


def _phrase(found: Found) -> str:
    return f"phrase in {found.where}"


_SAYING: Final = {
    "minute_limit": "a limit that comes back in seconds to a minute",
    "daily_limit": "a period quota, counted in requests",
    "token_daily_limit": "a period quota, counted in tokens",
    "balance": "no money or credit left: only a payment helps",
    "auth": "the key is missing, wrong or revoked",
    "permission": "the key is fine, this model or action is not allowed",
    "not_found": "no such model",
    "context_window": "longer than this candidate takes",
    "bad_request": "the request is not accepted as it is",
    "content_filter": "blocked by a content filter",
    "capacity": "their side is full",
    "server_error": "their side failed",
    "network": "the connection failed",
}


def _saying(rule: Rule) -> str:
    if rule.code == "tool_schema":
        return "the model made an invalid tool call"
    return _SAYING.get(rule.reason, rule.reason)
