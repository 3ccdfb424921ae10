"""Groq (one message for all its limits, Go durations) and Cerebras (flat errors, float seconds)."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from typing import Final

from zc_notebooks.lab.failures.shape import Failure, Moment, chunk, go_duration, sse
from zc_notebooks.records import Reason


def _groq(message: str, kind: str, code: str | None = None, **more: object) -> dict[str, object]:
    told: dict[str, object] = {"message": message, "type": kind}
    if code is not None:
        told["code"] = code
    return {"error": {**told, **more}}


def _limit(unit: str, period: str, short: str) -> object:
    def body(moment: Moment) -> object:
        message = (
            f"Rate limit reached for model `{moment.model}` in organization `org_01lab{moment.id(20, 'org')}` service tier "
            f"`on_demand` on {unit} per {period} ({short}): Limit {moment.limit}, Used {moment.used}, "
            f"Requested {moment.requested}. Please try again in {go_duration(moment.wait_s)}. "
            "Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing"
        )
        return _groq(message, unit, "rate_limit_exceeded")

    return body


def _day_headers(moment: Moment) -> dict[str, str]:
    return {
        "retry-after": str(moment.whole_wait_s),
        "x-ratelimit-limit-requests": str(moment.limit),
        "x-ratelimit-remaining-requests": str(max(moment.limit - moment.used, 0)),
        "x-ratelimit-reset-requests": go_duration(moment.wait_s),
    }


def _minute_headers(moment: Moment) -> dict[str, str]:
    return {
        "retry-after": str(moment.whole_wait_s),
        "x-ratelimit-limit-tokens": str(moment.limit),
        "x-ratelimit-remaining-tokens": str(max(moment.limit - moment.used, 0)),
        "x-ratelimit-reset-tokens": go_duration(60.0 * moment.used / max(moment.limit, 1)),
    }


def _wait(moment: Moment) -> dict[str, str]:
    return {"retry-after": str(moment.whole_wait_s)}


def _too_large(moment: Moment) -> object:
    return _groq(
        f"Request too large for model `{moment.model}` in organization `org_01lab{moment.id(20, 'org')}` service tier "
        f"`on_demand` on tokens per minute (TPM): Limit {moment.limit}, Requested {moment.requested}, please reduce your "
        "message size and try again. Need more tokens? Upgrade to Dev Tier today at "
        "https://console.groq.com/settings/billing",
        "tokens",
        "rate_limit_exceeded",
    )


def _old_over_limit(moment: Moment) -> object:
    return _groq(
        f"Rate limit reached for model `{moment.model}` in organization `org_01lab{moment.id(20, 'org')}` on tokens per "
        f"minute (TPM): Limit {moment.limit}, Used 0, Requested ~{moment.requested}. Please try again in "
        f"{go_duration(moment.wait_s)}. Visit https://console.groq.com/docs/rate-limits for more information.",
        "tokens",
        "rate_limit_exceeded",
    )


_TOOL_MESSAGE = (
    "Tool call validation failed: tool call validation failed: parameters for tool look_up did not match schema: "
    "errors: [missing properties: 'key', additionalProperties 'word' not allowed]"
)


def _tool_failed(moment: Moment) -> object:  # noqa: ARG001 (the same at any time)
    failed = '{"name": "look_up", "arguments": {"word": "lab"}}'
    return _groq(_TOOL_MESSAGE, "invalid_request_error", "tool_use_failed", failed_generation=failed)


def _tool_failed_in_stream(moment: Moment) -> str:
    error = _groq(_TOOL_MESSAGE, "invalid_request_error", "tool_use_failed", status_code=400)
    start = sse(chunk(moment, {"role": "assistant", "content": None}))
    return start + "event: error\n" + sse(error)


def _one(kind: str, status: int, reason: Reason, about: str, body: object, **more: object) -> Failure:
    return Failure(name=f"groq.{kind}", status=status, reason=reason, about=about, body=body, **more)  # type: ignore[arg-type]


def _cerebras(message: str, kind: str, param: str, code: str) -> object:
    return lambda _: {"message": message, "type": kind, "param": param, "code": code}


def _cerebras_headers(dimension: str) -> object:
    def headers(moment: Moment) -> dict[str, str]:
        return {
            f"x-ratelimit-limit-{dimension}": str(moment.limit),
            f"x-ratelimit-remaining-{dimension}": "0",
            f"x-ratelimit-reset-{dimension}": f"{moment.wait_s:.6f}",
        }

    return headers


def _other(kind: str, status: int, reason: Reason, about: str, body: object, **more: object) -> Failure:
    return Failure(name=f"cerebras.{kind}", status=status, reason=reason, about=about, body=body, **more)  # type: ignore[arg-type]


_TOKENS = "Tokens per {0} limit exceeded - too many tokens processed."
_REQUESTS = "Requests per {0} limit exceeded - too many requests sent."

FAILURES: Final[tuple[Failure, ...]] = (
    _one(
        "tokens_per_day", 429, "token_daily_limit", "The tokens of a rolling day are used up; only the message says so.",
        _limit("tokens", "day", "TPD"), headers=_wait, lasts=532.224,
        numbers={"limit": 100_000, "used": 99_412, "requested": 1_204},
    ),
    _one(
        "requests_per_day", 429, "daily_limit", "The requests of a rolling day are used up.",
        _limit("requests", "day", "RPD"), headers=_day_headers, lasts=86.4,
        numbers={"limit": 1_000, "used": 1_000, "requested": 1},
    ),
    _one(
        "tokens_per_minute", 429, "minute_limit", "The tokens of a rolling minute are used up.",
        _limit("tokens", "minute", "TPM"), headers=_minute_headers, lasts=4.82,
        numbers={"limit": 6_000, "used": 5_120, "requested": 1_362},
    ),
    _one(
        "requests_per_minute", 429, "minute_limit", "The requests of a rolling minute are used up.",
        _limit("requests", "minute", "RPM"), headers=_wait, lasts=2.0,
        numbers={"limit": 30, "used": 30, "requested": 1},
    ),
    _one(
        "request_too_large", 413, "context_window", "This one request is larger than a whole minute's tokens.",
        _too_large, numbers={"limit": 8_000, "requested": 12_770},
    ),
    _one(
        "old_request_over_limit", 429, "context_window",
        "The same in an older form: 429 with a wait that cannot help, because Requested is above Limit.",
        _old_over_limit, lasts=47.25, numbers={"limit": 7_000, "requested": 12_512},
    ),
    _one(
        "auth", 401, "auth", "The key is wrong.",
        lambda _: _groq("Invalid API Key", "invalid_request_error", "invalid_api_key"),
    ),
    _one(
        "not_found", 404, "not_found", "No such model.",
        lambda m: _groq(
            f"The model `{m.model}` does not exist or you do not have access to it.",
            "invalid_request_error", "model_not_found",
        ),
    ),
    _one(
        "restricted", 400, "permission", "The organisation is banned, said with HTTP 400.",
        lambda _: _groq(
            "Organization has been restricted. Please reach out to support if you believe this was in error.",
            "invalid_request_error", "organization_restricted",
        ),
    ),
    _one(
        "capacity", 503, "capacity", "Their side is full.",
        lambda m: _groq(
            f"{m.model} is currently over capacity. Please try again and back off exponentially. "
            "Visit https://groqstatus.com to see if there is an active incident.",
            "internal_server_error",
        ),
    ),
    _one(
        "tool_use_failed", 400, "bad_request", "The model made a tool call its schema refuses; another may do better.",
        _tool_failed,
    ),
    _one(
        "tool_use_failed_in_stream", 200, "bad_request", "The same after HTTP 200, as an error event without [DONE].",
        _tool_failed_in_stream, when="stream", otherwise="tool_use_failed", content_type="text/event-stream",
    ),
    _one(
        "context", 400, "context_window", "The prompt is longer than the model's window.",
        lambda _: _groq(
            "Please reduce the length of the messages or completion.", "invalid_request_error",
            "context_length_exceeded", param="messages",
        ),
    ),
    _other(
        "capacity", 429, "capacity", "Their queue is full.",
        _cerebras(
            "We're experiencing high traffic right now! Please try again soon.",
            "too_many_requests_error", "queue", "queue_exceeded",
        ),
    ),
    _other(
        "requests_per_minute", 429, "minute_limit", "The requests of a minute are used up.",
        _cerebras(_REQUESTS.format("minute"), "too_many_requests_error", "quota", "request_quota_exceeded"),
        headers=_cerebras_headers("requests-minute"), lasts=14.25, numbers={"limit": 5},
    ),
    _other(
        "tokens_per_minute", 429, "minute_limit", "The tokens of a minute are used up; the wait is in the headers only.",
        _cerebras(_TOKENS.format("minute"), "too_many_tokens_error", "quota", "token_quota_exceeded"),
        headers=_cerebras_headers("tokens-minute"), lasts=12.75, numbers={"limit": 30_000},
    ),
    _other(
        "tokens_per_minute_bare", 429, "minute_limit", "The same without headers.",
        _cerebras(_TOKENS.format("minute"), "too_many_tokens_error", "quota", "token_quota_exceeded"), lasts=30.0,
    ),
    _other(
        "tokens_per_day", 429, "token_daily_limit", "The day's tokens are used up.",
        _cerebras(_TOKENS.format("day"), "too_many_tokens_error", "quota", "token_quota_exceeded"), lasts="utc_midnight",
    ),
    _other(
        "requests_per_day", 429, "daily_limit", "The day's requests are used up.",
        _cerebras(_REQUESTS.format("day"), "too_many_requests_error", "quota", "request_quota_exceeded"),
        headers=_cerebras_headers("requests-day"), lasts="utc_midnight", numbers={"limit": 2_400},
    ),
    _other(
        "auth", 401, "auth", "The key is wrong.",
        _cerebras("Wrong API Key", "invalid_request_error", "api_key", "wrong_api_key"),
    ),
    _other(
        "not_found", 404, "not_found", "No such model.",
        lambda m: {
            "message": f"Model {m.model} does not exist or you do not have access to it.",
            "type": "not_found_error", "param": "model", "code": "model_not_found",
        },
    ),
    _other(
        "context", 400, "context_window", "The prompt is longer than the model's window.",
        lambda m: {
            "message": f"Please reduce the length of the messages or completion. Current length is {m.requested} "
            f"while limit is {m.window}",
            "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded",
        },
        numbers={"requested": 140_212, "window": 131_072},
    ),
)  # fmt: skip
