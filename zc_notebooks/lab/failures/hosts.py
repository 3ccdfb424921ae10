"""Hosts of open models: Together, Fireworks, SambaNova, NVIDIA, Hugging Face, Cloudflare and GitHub Models."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from typing import Final

from zc_notebooks.lab.conversation import dump
from zc_notebooks.lab.failures.shape import Body, Failure, Moment, wait_header
from zc_notebooks.lab.failures.shape import entry as _one


def _filled(message: str, moment: Moment) -> str:
    return message.format(
        model=moment.model, limit=moment.limit, window=moment.window, requested=moment.requested,
        wait=moment.whole_wait_s, uuid=moment.uuid(),
    )  # fmt: skip


def _error(message: str, kind: str, code: str | None = None, param: str | None = None) -> Body:
    """The OpenAI form."""
    return lambda m: {"error": {"message": _filled(message, m), "type": kind, "param": param, "code": code}}


def _together(message: str, kind: str, param: str | None = None) -> Body:
    return lambda m: {"id": f"lab{m.id(12)}", **_object(_error(message, kind, None, param)(m))}


def _object(body: object) -> dict[str, object]:
    return dict(body) if isinstance(body, dict) else {}


def _together_headers(moment: Moment) -> dict[str, str]:
    wait = str(max(moment.whole_wait_s, 1))
    return {"x-ratelimit-limit": str(moment.limit), "x-ratelimit-remaining": "0", "x-ratelimit-reset": wait}


def _fireworks(message: str, kind: str, code: str, param: str | None = None) -> Body:
    def body(moment: Moment) -> object:
        error = {"message": _filled(message, moment), "param": param, "code": code, "type": kind}
        return {"error": error, "request_id": moment.uuid()}

    return body


def _samba_day(moment: Moment) -> dict[str, str]:
    return {
        "x-ratelimit-limit-requests": "20", "x-ratelimit-remaining-requests": "16", "x-ratelimit-reset-requests": "38",
        "x-ratelimit-limit-requests-day": str(moment.limit), "x-ratelimit-remaining-requests-day": "0",
        "x-ratelimit-reset-requests-day": str(moment.whole_wait_s),
    }  # fmt: skip


def _samba_minute(moment: Moment) -> dict[str, str]:
    return {
        "x-ratelimit-limit-requests": str(moment.limit), "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": str(moment.whole_wait_s),
    }  # fmt: skip


def _problem(status: int, title: str, detail: str | None = None) -> Body:
    def body(moment: Moment) -> object:
        told: dict[str, object] = {"status": status, "title": title}
        return told if detail is None else {**told, "detail": _filled(detail, moment)}

    return body


def _cloudflare(message: str, code: int) -> Body:
    return lambda m: {
        "errors": [{"message": _filled(message, m), "code": code}], "success": False, "result": {}, "messages": [],
    }  # fmt: skip


def _nested(moment: Moment) -> object:
    inner = {
        "object": "error", "type": "BadRequestError", "param": None, "code": 400,
        "message": f"The input ({moment.requested} tokens) is longer than the model's context length ({moment.window} tokens).",
    }  # fmt: skip
    return _cloudflare(dump(inner).replace("{", "{{").replace("}", "}}"), 8007)(moment)


def _github(message: str, code: str = "RateLimitReached") -> Body:
    return lambda m: {"error": {"code": code, "message": _filled(message, m), "details": _filled(message, m)}}


_NEURONS = "used up your daily free allocation of 10,000 neurons"
_UPGRADE = "upgrade to Cloudflare's Workers Paid plan if you would like to continue usage."

FAILURES: Final[tuple[Failure, ...]] = (
    _one(
        "together.requests_per_minute", 429, "minute_limit", "The model's own limit is reached; the reset header is in seconds.",
        _together(
            "You have reached the rate limit specific to this model {model}. The maximum rate limit for this model is {limit} queries and 180000 tokens per minute. This limit differs from the general rate limits published at Together AI rate limits documentation (https://docs.together.ai/docs/rate-limits).",
            "model_rate_limit",
        ),
        headers=_together_headers, lasts=3.0, numbers={"limit": 6},
    ),
    _one(
        "together.credit_limit", 429, "minute_limit", "A limit of a minute whose type says credit.",
        _error("You have been rate limited. Your rate limit is {limit} queries per minute. Please navigate to https://api.together.xyz/settings/billing to upgrade to a paid plan.", "credit_limit"),
        lasts=60.0, numbers={"limit": 60},
    ),
    _one(
        "together.context", 403, "context_window", "The prompt is too long, said with HTTP 403.",
        _together("Input validation error: `inputs` tokens + `max_new_tokens` must be <= {window}. Given: {requested} `inputs` tokens and 512 `max_new_tokens`", "invalid_request_error", "max_tokens"),
        numbers={"requested": 9_120, "window": 8_193},
    ),
    _one(
        "together.auth", 401, "auth", "The key is wrong.",
        _together("Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.", "invalid_request_error"),
    ),
    _one(
        "together.balance", 402, "balance", "There is no credit.",
        _together("Credit limit exceeded, please navigate to https://api.together.ai/settings/billing to add credit to your account.", "insufficient_balance"),
    ),
    _one(
        "together.not_found", 404, "not_found", "No such model.",
        lambda m: _object(_together("Unable to access model {model}. Please visit https://api.together.ai/models to view the list of supported models.", "invalid_request_error", "model")(m)),
    ),
    _one(
        "together.capacity", 503, "capacity", "The model is overloaded.",
        _together("The server is overloaded or not ready yet.", "service_unavailable"),
    ),
    _one(
        "fireworks.balance", 412, "balance", "No money, said with HTTP 412.",
        _fireworks(
            "Account lab is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. Please go to https://fireworks.ai/account/billing for more information.",
            "error", "PRECONDITION_FAILED",
        ),
    ),
    _one(
        "fireworks.not_found", 404, "not_found", "No such model.",
        _fireworks("Model not found, inaccessible, and/or not deployed", "error", "NOT_FOUND", "model"),
    ),
    _one("fireworks.auth", 401, "auth", "The key is wrong.", _fireworks("The API key you provided is invalid.", "error", "UNAUTHORIZED")),
    _one(
        "fireworks.requests_per_minute", 429, "minute_limit", "The minute's requests are used up.",
        _fireworks("Rate limit exceeded: {limit} requests per minute. Please retry after {wait}s.", "error", "RESOURCE_EXHAUSTED"),
        headers=wait_header, lasts=6.0, numbers={"limit": 10},
    ),
    _one(
        "sambanova.requests_per_day", 429, "daily_limit", "The day's requests are used up; only the headers say that it is the day.",
        _error("Rate limit exceeded", "rate_limit_exceeded"), headers=_samba_day, lasts="utc_midnight", numbers={"limit": 20},
    ),
    _one(
        "sambanova.requests_per_minute", 429, "minute_limit", "The minute's requests are used up.",
        _error("Rate limit exceeded", "rate_limit_exceeded"), headers=_samba_minute, lasts=41.0, numbers={"limit": 20},
    ),
    _one("sambanova.balance", 402, "balance", "A payment method is asked for.", _error("A payment method is required", "payment_required")),
    _one("sambanova.not_found", 404, "not_found", "No such model.", _error("Model not found: {model}", "invalid_request_error", "model_not_found")),
    _one("nvidia.auth", 403, "auth", "A wrong key is HTTP 403.", _problem(403, "Forbidden", "Authorization failed")),
    _one(
        "nvidia.balance", 402, "balance", "The trial credits are used up or too old.",
        _problem(402, "Payment Required", "Account 'lab-{uuid}': Cloud credits expired - Please contact NVIDIA representatives"),
    ),
    _one(
        "nvidia.degraded", 400, "capacity", "A sick deployment, said with HTTP 400.",
        _problem(400, "Bad Request", "Function id '{uuid}': DEGRADED function cannot be invoked"),
    ),
    _one("nvidia.requests_per_minute", 429, "minute_limit", "Too many requests; nothing else is said.", _problem(429, "Too Many Requests"), lasts=20.0),
    _one(
        "nvidia.end_of_life", 410, "not_found", "The model is retired.",
        _problem(410, "Gone", "The model '{model}' has reached its end of life on 2026-08-10T00:00:00Z and is no longer available"),
    ),
    _one("nvidia.not_found", 404, "not_found", "No such model.", _problem(404, "Not Found", "Function '{uuid}': Not found for account 'lab'")),
    _one(
        "huggingface.balance", 402, "balance", "The month's included credits are used up; the error is a string.",
        lambda _: {"error": "You have depleted your monthly included credits. Purchase pre-paid credits to continue using Inference Providers. Alternatively, subscribe to PRO to get 20x more included usage."},
    ),
    _one("huggingface.auth", 401, "auth", "The token is wrong.", lambda _: {"error": "Invalid credentials in Authorization header"}),
    _one(
        "huggingface.permission", 403, "permission", "The token lacks a permission.",
        lambda _: {"error": "This authentication method does not have sufficient permissions to call Inference Providers on behalf of user lab"},
    ),
    _one(
        "huggingface.not_found", 400, "not_found", "No provider serves the model.",
        _error("The requested model '{model}' is not supported by any provider you have enabled.", "invalid_request_error", "model_not_supported", "model"),
    ),
    _one(
        "cloudflare.neurons", 429, "daily_limit", "The day's neurons are used up until 00:00 UTC; the code on the wire is 4006.",
        _cloudflare(f"AiError: you have {_NEURONS}, please {_UPGRADE}", 4006), lasts="utc_midnight",
    ),
    _one(
        "cloudflare.neurons_3036", 429, "daily_limit", "The same with the documented code.",
        _cloudflare(f"AiError: You have {_NEURONS}. Please {_UPGRADE}", 3036), lasts="utc_midnight",
    ),
    _one(
        "cloudflare.requests_per_day", 429, "daily_limit", "The day's allowance, as a quota counts it.",
        _cloudflare(f"AiError: you have {_NEURONS}, please {_UPGRADE}", 4006), lasts="utc_midnight",
    ),
    _one(
        "cloudflare.context", 413, "context_window", "Prompt and answer together are too long.",
        _cloudflare("AiError: Ai: The estimated number of input and maximum output tokens ({requested}) exceeded this model context window limit ({window}). ({uuid})", 5021),
        numbers={"requested": 24_311, "window": 24_000},
    ),
    _one("cloudflare.nested", 400, "context_window", "The same as JSON inside a message.", _nested, numbers={"requested": 270_140, "window": 262_144}),
    _one("cloudflare.not_found", 400, "not_found", "No such model, said with HTTP 400.", _cloudflare("AiError: No such model {model} or task", 5007)),
    _one("cloudflare.auth", 401, "auth", "The token is wrong.", _cloudflare("Authentication error", 10000)),
    _one("cloudflare.capacity", 429, "capacity", "No capacity for the model.", _cloudflare("AiError: Capacity temporarily exceeded, please try again.", 3040)),
    _one(
        "github_models.requests_per_day", 429, "daily_limit", "The day's requests of user and model are used up.",
        _github("Rate limit of {limit} per 86400s exceeded for UserByModelByDay. Please wait {wait} seconds before retrying."),
        headers=lambda m: {**wait_header(m), "x-ratelimit-type": "UserByModelByDay"}, lasts=6_214.0, numbers={"limit": 50},
    ),
    _one(
        "github_models.requests_per_minute", 429, "minute_limit", "The minute's requests of user and model are used up.",
        _github("Rate limit of {limit} per 60s exceeded for UserByModelByMinute. Please wait {wait} seconds before retrying."),
        headers=lambda m: {**wait_header(m), "x-ratelimit-type": "UserByModelByMinute"}, lasts=14.0, numbers={"limit": 15},
    ),
    _one(
        "github_models.request_too_large", 413, "context_window", "A limit of the plan, far below the model's window.",
        _github("Request body too large for {model} model. Max size: {limit} tokens.", "tokens_limit_reached"), numbers={"limit": 8_000},
    ),
    _one("github_models.retired", 410, "not_found", "The service is gone.", lambda _: {"error": {"code": "github_models_retirement_brownout"}}),
    _one(
        "github_models.auth", 401, "auth", "The token is wrong.",
        lambda _: {"error": {"code": "unauthorized", "message": "Bad credentials", "details": "Bad credentials"}},
    ),
)  # fmt: skip
