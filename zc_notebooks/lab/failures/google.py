"""Google Gemini: quota violations with ids, retry delays that lie for a day's quota, refusals inside HTTP 200."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from zc_notebooks.lab.conversation import dump
from zc_notebooks.lab.failures.shape import Failure, Headers, Lasts, Moment
from zc_notebooks.records import Reason

_RATE_DOC = "https://ai.google.dev/gemini-api/docs/rate-limits"
_METRIC = "generativelanguage.googleapis.com/generate_content_{0}"
_INTRO = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    f"head to: {_RATE_DOC}. To monitor your current usage, head to: https://ai.dev/rate-limit. "
)
_EXHAUSTED = 429

Violation = tuple[str, str]
"""Metric and quota id."""

DAY: Final[Violation] = ("free_tier_requests", "GenerateRequestsPerDayPerProjectPerModel-FreeTier")
MINUTE: Final[Violation] = ("free_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier")
TOKENS: Final[Violation] = (
    "free_tier_input_token_count",
    "GenerateContentInputTokensPerModelPerMinute-FreeTier",
)
PAID_TOKENS: Final[Violation] = (
    "paid_tier_input_token_count",
    "GenerateContentPaidTierInputTokensPerModelPerMinute",
)


def _error(moment: Moment, code: int, status: str, message: str, *details: object) -> object:
    error: dict[str, object] = {"code": code, "message": message, "status": status}
    if details:
        error["details"] = list(details)
    return _in_list(moment, {"error": error})


def _in_list(moment: Moment, body: object) -> object:
    """Errors of the OpenAI-compatible endpoint and of streams without ``alt=sse`` stand in a list."""
    return [body] if moment.wire == "openai_chat" or moment.framing == "json_array" else body


def _headers(moment: Moment) -> dict[str, str]:
    """With ``alt=sse`` an error is bare JSON under the stream's content type."""
    told = {"vary": "Origin"}
    if moment.framing == "sse" and moment.wire == "gemini":
        told["content-type"] = "text/event-stream"
    return told


def _quota(*violations: Violation, stated_s: float | None = None) -> Callable[[Moment], object]:
    """A 429 for some quotas; ``stated_s`` is the wait it claims, the true one by default."""

    def body(moment: Moment) -> object:
        wait = moment.wait_s if stated_s is None else stated_s
        lines = "".join(
            f"\n* Quota exceeded for metric: {_METRIC.format(metric)}, limit: {moment.limit}, model: {moment.model}"
            for metric, _ in violations
        )
        failed = {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [_violation(one, moment) for one in violations],
        }
        guide = {
            "@type": "type.googleapis.com/google.rpc.Help",
            "links": [{"description": "Learn more about Gemini API quotas", "url": _RATE_DOC}],
        }
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{int(wait)}s"}
        message = f"{_INTRO}{lines}\nPlease retry in {wait:.9f}s."
        return _error(moment, _EXHAUSTED, "RESOURCE_EXHAUSTED", message, guide, failed, retry)

    return body


def _violation(violation: Violation, moment: Moment) -> dict[str, object]:
    metric, quota = violation
    return {
        "quotaMetric": _METRIC.format(metric),
        "quotaId": quota,
        "quotaDimensions": {"location": "global", "model": moment.model},
        "quotaValue": str(moment.limit),
    }


def _plain(code: int, status: str, message: str) -> Callable[[Moment], object]:
    return lambda m: _error(m, code, status, message.format(model=m.model, tokens=m.requested, window=m.window))


def _bad_key(moment: Moment) -> object:
    message = "API key not valid. Please pass a valid API key."
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": {"service": "generativelanguage.googleapis.com"},
    }
    words = {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": message}
    return _error(moment, 400, "INVALID_ARGUMENT", message, info, words)


def _answer(*candidates: Mapping[str, object], **more: object) -> Callable[[Moment], object]:
    """An HTTP 200 in Gemini's own form, framed as the request wants it."""

    def body(moment: Moment) -> object:
        told: dict[str, object] = {**more, "modelVersion": moment.model, "responseId": moment.id(22)}
        if candidates:
            told["candidates"] = list(candidates)
        told["usageMetadata"] = {"promptTokenCount": 24, "totalTokenCount": 24}
        return _framed(moment, told)

    return body


def _broken_stream(moment: Moment) -> str:
    part = {"candidates": [{"content": {"parts": [{"text": "Well"}], "role": "model"}, "index": 0}]}
    error = {"error": {"code": 503, "message": _FULL, "status": "UNAVAILABLE"}}
    return _framed(moment, part, error) if moment.framing in ("sse", "json_array") else dump(error)


def _framed(moment: Moment, *payloads: object) -> str:
    texts = [dump(one) for one in payloads]
    if moment.framing == "sse":
        return "".join(f"data: {text}\r\n\r\n" for text in texts)
    return "[" + ",\r\n".join(texts) + "\n]" if moment.framing == "json_array" else texts[0]


_FULL = "The model is overloaded. Please try again later."
_PREPAY = {"error": {"code": "payment_required", "message": "Your Prepay credit balance is depleted."}}


def _one(
    kind: str,
    status: int,
    reason: Reason,
    about: str,
    body: Callable[[Moment], object],
    *,
    lasts: Lasts = None,
    numbers: Mapping[str, object] | None = None,
    headers: Headers | None = None,
) -> Failure:
    return Failure(
        name=f"google.{kind}",
        status=status,
        reason=reason,
        about=about,
        body=body,
        lasts=lasts,
        numbers=numbers or {},
        headers=headers or _headers,
        content_type="application/json; charset=UTF-8",
        wires=("gemini",) if status == 200 else (),  # noqa: PLR2004
    )


FAILURES: Final[tuple[Failure, ...]] = (
    _one(
        "requests_per_day", 429, "daily_limit",
        "The free requests of the day are used up until midnight Pacific; the stated wait of under a minute is false.",
        _quota(DAY, stated_s=56.281940557), lasts="pacific_midnight", numbers={"limit": 20},
    ),
    _one(
        "requests_per_minute", 429, "minute_limit", "The free requests of a minute are used up.",
        _quota(MINUTE), lasts=31.652114208, numbers={"limit": 5},
    ),
    _one(
        "tokens_per_minute", 429, "minute_limit", "The free input tokens of a minute are used up.",
        _quota(TOKENS), lasts=22.417093311, numbers={"limit": 250_000},
    ),
    _one(
        "paid_tokens_per_minute", 429, "minute_limit", "The paid input tokens of a minute are used up.",
        _quota(PAID_TOKENS), lasts=43.500218907, numbers={"limit": 1_000_000},
    ),
    _one(
        "minute_and_day", 429, "daily_limit", "Three quotas at once; the day's is the one that binds.",
        _quota(TOKENS, MINUTE, DAY, stated_s=38.106220419), lasts="pacific_midnight", numbers={"limit": 20},
    ),
    _one(
        "limit_zero", 429, "permission", "The model is not in the free plan at all; the stated wait never helps.",
        _quota(DAY, MINUTE, TOKENS, stated_s=25.613370298), numbers={"limit": 0},
    ),
    _one("capacity", 503, "capacity", "The model is full.", _plain(503, "UNAVAILABLE", _FULL)),
    _one(
        "server_error", 500, "server_error", "Something broke on their side.",
        _plain(500, "INTERNAL", "An internal error has occurred. Please retry or report in "
               "https://developers.generativeai.google/guide/troubleshooting"),
    ),
    _one("auth", 400, "auth", "The key is wrong, said with HTTP 400.", _bad_key),
    _one(
        "leaked_key", 403, "auth", "The key was found in public and is switched off.",
        _plain(403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key."),
    ),
    _one(
        "balance", 402, "balance", "The prepaid credit is used up.",
        lambda m: _in_list(m, _PREPAY),
    ),
    _one(
        "not_found", 404, "not_found", "No such model.",
        _plain(404, "NOT_FOUND", "models/{model} is not found for API version v1beta, or is not supported for "
               "generateContent. Call ListModels to see the list of available models and their supported methods."),
    ),
    _one(
        "context", 400, "context_window", "The prompt is longer than the model's window.",
        _plain(400, "INVALID_ARGUMENT",
               "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."),
        numbers={"requested": 1_204_311, "window": 1_048_576},
    ),
    _one(
        "bad_request", 400, "bad_request", "The request is malformed.",
        lambda m: _error(m, 400, "INVALID_ARGUMENT", m.message or "* GenerateContentRequest.contents: not specified"),
    ),
    _one(
        "content_filter", 200, "content_filter", "The prompt was blocked: HTTP 200 without candidates.",
        _answer(promptFeedback={"blockReason": "PROHIBITED_CONTENT"}),
    ),
    _one(
        "empty", 200, "empty", "An answer that ends properly and holds nothing.",
        _answer({"content": {"role": "model"}, "finishReason": "STOP", "index": 0}),
    ),
    _one(
        "thought_only", 200, "empty", "All tokens went to thinking: MAX_TOKENS without parts.",
        _answer({"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}),
    ),
    _one(
        "malformed_call", 200, "bad_request", "The model wrote a function call nobody can read.",
        _answer({
            "content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0,
            "finishMessage": "Malformed function call: print(default_api.look_up(key='lab'",
        }),
    ),
    _one("capacity_in_stream", 200, "capacity", "The model is full, said inside HTTP 200.", _broken_stream),
)  # fmt: skip
