"""What any OpenAI-compatible server says, and what stands before servers: proxies, gateways, login pages."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from typing import Any, Final

from zc_notebooks.lab.failures.shape import Body, Failure, Moment, chunk, sse, wait_header
from zc_notebooks.records import Reason


def _error(message: str, kind: str, code: str | int | None = None, param: str | None = None) -> Body:
    def body(moment: Moment) -> object:
        text = message.format(
            model=moment.model,
            window=moment.window,
            limit=moment.limit,
            used=moment.used,
            requested=moment.requested,
            message=moment.message or "Invalid value for 'messages'.",
        )
        return {"error": {"message": text, "type": kind, "param": param, "code": code}}

    return body


def _page(title: str) -> Body:
    page = (
        "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n"
        "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
    return lambda _: page.format(title)


def _filtered(moment: Moment) -> object:
    if moment.framing == "sse":
        return sse(chunk(moment, {"role": "assistant", "content": ""}), chunk(moment, {}, "content_filter"), done=True)
    choice = {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}
    return {"id": f"chatcmpl-{moment.id()}", "object": "chat.completion", "created": moment.unix,
            "model": moment.model, "choices": [choice]}  # fmt: skip


def _one(kind: str, status: int, reason: Reason, about: str, body: Body, **more: Any) -> Failure:
    def on_its_wire(moment: Moment) -> object:
        return _reshaped(body(moment), moment, status)

    return Failure(name=f"custom.{kind}", status=status, reason=reason, about=about, body=on_its_wire, **more)


_GOOGLE_STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION", 403: "PERMISSION_DENIED",
    404: "NOT_FOUND", 413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
}  # fmt: skip
_ANTHROPIC_TYPE = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 503: "overloaded_error",
}  # fmt: skip


def _reshaped(body: object, moment: Moment, status: int) -> object:
    """The OpenAI form as the request's own wire would say it; anything else as it is."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return body
    message = error["message"]
    if moment.wire == "gemini":
        told = {"error": {"code": status, "message": message, "status": _GOOGLE_STATUS.get(status, "UNKNOWN")}}
        return [told] if moment.framing == "json_array" else told
    if moment.wire == "anthropic_messages":
        kind = _ANTHROPIC_TYPE.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{moment.id()}"}
    if moment.wire == "cohere_v2":
        return {"id": moment.uuid(), "message": message}
    return {"error": message} if moment.wire == "ollama" else body


_LIMIT = "Rate limit reached for {model}: {used} of {limit} {what} used."


def _limit(unit: str, period: str, reason: Reason, lasts: Any, number: int) -> Failure:
    what = f"{unit} per {period}"
    return _one(
        f"{unit}_per_{period}", 429, reason, f"The {unit} of a {period} are used up.",
        _error(_LIMIT.replace("{what}", what), "rate_limit_error", "rate_limit_exceeded"),
        headers=wait_header, lasts=lasts, numbers={"limit": number, "used": number},
    )  # fmt: skip


FAILURES: Final[tuple[Failure, ...]] = (
    _one(
        "auth", 401, "auth", "The key is wrong.",
        _error("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    ),
    _one(
        "balance", 402, "balance", "There is no money on the account.",
        _error("Insufficient balance. Please add funds to continue.", "insufficient_balance", "insufficient_balance"),
    ),
    _one(
        "permission", 403, "permission", "The key is fine, the model is not allowed.",
        _error("Permission denied: your plan does not include {model}.", "permission_error", "permission_denied"),
    ),
    _one(
        "not_found", 404, "not_found", "No such model.",
        _error("The model `{model}` does not exist.", "invalid_request_error", "model_not_found", "model"),
    ),
    _one(
        "context", 400, "context_window", "The prompt is longer than the model's window.",
        _error(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {requested} "
            "tokens. Please reduce the length of the messages.",
            "invalid_request_error", "context_length_exceeded", "messages",
        ),
        numbers={"requested": 9_433},
    ),
    _one(
        "request_too_large", 413, "context_window", "The request is larger than a plan allows.",
        _error("Request too large for {model}: Limit {limit}, Requested {requested}.", "tokens", "rate_limit_exceeded"),
        numbers={"limit": 8_000, "requested": 12_112},
    ),
    _one(
        "bad_request", 400, "bad_request", "The request is malformed.",
        _error("{message}", "invalid_request_error", None, "messages"),
    ),
    _one(
        "no_such_path", 404, "not_found", "The path is none of this API.",
        _error("Invalid URL ({message})", "invalid_request_error"),
    ),
    _one(
        "content_filter", 400, "content_filter", "The prompt was refused.",
        _error(
            "The response was filtered due to the prompt triggering our content management policy.",
            "invalid_request_error", "content_filter", "prompt",
        ),
    ),
    _one("content_filter_finish", 200, "content_filter", "The answer was blocked: finish_reason content_filter.",
         _filtered, wires=("openai_chat",)),
    _one(
        "capacity", 503, "capacity", "The server is full.",
        _error("The server is overloaded or not ready yet.", "overloaded_error", "overloaded"),
    ),
    _one(
        "server_error", 500, "server_error", "The server broke.",
        _error("The server had an error while processing your request. Sorry about that!", "server_error"),
    ),
    _one(
        "rate", 429, "minute_limit", "Too many requests; wait two seconds.",
        _error("Rate limit exceeded, please retry later.", "rate_limit_error", "rate_limit_exceeded"),
        headers=wait_header, lasts=2.0,
    ),
    _one(
        "concurrency", 429, "minute_limit", "Too many requests at the same time.",
        _error("Too many requests: the limit of concurrent requests is {limit}.", "rate_limit_error", "rate_limit_exceeded"),
        headers=wait_header, lasts=1.0, numbers={"limit": 1},
    ),
    _limit("requests", "second", "minute_limit", 1.0, 1),
    _limit("requests", "minute", "minute_limit", 20.0, 60),
    _limit("tokens", "minute", "minute_limit", 20.0, 60_000),
    _limit("requests", "hour", "minute_limit", 1_800.0, 600),
    _limit("tokens", "hour", "minute_limit", 1_800.0, 600_000),
    _limit("requests", "session", "daily_limit", 3.0 * 3600, 200),
    _limit("tokens", "session", "token_daily_limit", 3.0 * 3600, 200_000),
    _limit("requests", "day", "daily_limit", "utc_midnight", 1_000),
    _limit("tokens", "day", "token_daily_limit", "utc_midnight", 500_000),
    _limit("requests", "week", "daily_limit", 3.0 * 86_400, 5_000),
    _limit("tokens", "week", "token_daily_limit", 3.0 * 86_400, 5_000_000),
    _limit("requests", "month", "daily_limit", "month", 10_000),
    _limit("tokens", "month", "token_daily_limit", "month", 10_000_000),
    _one("nginx_413", 413, "context_window", "A proxy refuses the size of the request.",
         _page("413 Request Entity Too Large"), content_type="text/html"),
    _one("nginx_502", 502, "server_error", "A proxy finds no server behind it.", _page("502 Bad Gateway"),
         content_type="text/html"),
    _one("plain_503", 503, "capacity", "A load balancer's plain text.", lambda _: "no healthy upstream",
         content_type="text/plain"),
    _one("login_page", 200, "server_error", "HTTP 200 with a login page: a captive network.",
         _page("Sign in to continue"), content_type="text/html; charset=utf-8"),
)  # fmt: skip
