"""Mistral: one body for three limits; only the headers tell which."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from typing import Any, Final

from zc_notebooks.lab.failures.shape import Body, Failure, Headers, Moment
from zc_notebooks.lab.failures.shape import entry as _one


def _error(message: str, kind: str, code: str | None = None, **more: Any) -> Body:
    def body(moment: Moment) -> object:
        text = message.format(model=moment.model, window=moment.window, requested=moment.requested)
        return {"object": "error", "message": text, "type": kind, "param": None, "code": code, **more}

    return body


def _used_up(dimension: str) -> Headers:
    return lambda m: {f"x-ratelimit-limit-{dimension}": str(m.limit), f"x-ratelimit-remaining-{dimension}": "0"}


def _unprocessable(moment: Moment) -> object:
    detail = {
        "type": "extra_forbidden",
        "loc": ["body", "stream_options"],
        "msg": moment.message or "Extra inputs are not permitted",
        "input": {"include_usage": True},
    }
    return {
        "object": "error",
        "message": {"detail": [detail]},
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


_RATE: Final = _error("Rate limit exceeded", "rate_limited", "1300", raw_status_code=429)

FAILURES: Final[tuple[Failure, ...]] = (
    _one(
        "mistral.requests_per_minute", 429, "minute_limit", "The minute's requests of the workspace are used up; only the headers tell the dimension.",
        _RATE, headers=_used_up("req-minute"), lasts=33.0, numbers={"limit": 60},
    ),
    _one(
        "mistral.requests_per_second", 429, "minute_limit", "One request a second is allowed.",
        lambda _: {"message": "Requests rate limit exceeded"}, lasts=1.0, numbers={"limit": 1},
    ),
    _one(
        "mistral.tokens_per_minute", 429, "minute_limit", "The minute's tokens are used up.",
        _RATE, headers=_used_up("tokens-minute"), lasts=33.0, numbers={"limit": 500_000},
    ),
    _one(
        "mistral.tokens_per_month", 429, "token_daily_limit", "The month's tokens are used up; the body is that of the minute.",
        _RATE, headers=_used_up("tokens-month"), lasts="month", numbers={"limit": 1_000_000_000},
    ),
    _one(
        "mistral.limit_zero", 429, "permission", "The model is not in the plan: its limit is zero, for ever.",
        lambda _: {"message": "Rate limit exceeded"}, headers=_used_up("req-minute"), numbers={"limit": 0},
    ),
    _one(
        "mistral.capacity", 429, "capacity", "Their tier is full, which is not the caller's limit.",
        _error("Service tier capacity exceeded for this model.", "invalid_request_error"),
    ),
    _one(
        "mistral.auth", 401, "auth", "The key is wrong; not the usual error object.",
        lambda _: {"detail": "Invalid API Key"},
    ),
    _one(
        "mistral.not_found", 400, "not_found", "No such model, said with HTTP 400.",
        _error("Invalid model: {model}", "invalid_model", "1500"),
    ),
    _one(
        "mistral.bad_request", 422, "bad_request", "The request is malformed; the message is an object.",
        _unprocessable,
    ),
    _one(
        "mistral.context", 400, "context_window", "The prompt is longer than the model's window.",
        _error("Prompt contains {requested} tokens and 0 draft tokens, too large for model with {window} maximum context length", "invalid_request_prompt", "3051"),
        numbers={"requested": 140_310, "window": 131_072},
    ),
)  # fmt: skip
