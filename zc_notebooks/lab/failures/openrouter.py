"""OpenRouter: three kinds of 402, its own free limits in epoch milliseconds, upstream failures wrapped in its own."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from zc_notebooks.lab.failures.shape import Failure, Moment, chunk, sse
from zc_notebooks.records import Reason

_CREDITS = "https://openrouter.ai/settings/credits"


def _error(message: str, code: int, *, user: bool = False, **metadata: Any) -> Callable[[Moment], object]:
    def body(moment: Moment) -> object:
        error: dict[str, object] = {"message": message.format(model=moment.model), "code": code}
        if metadata:
            error["metadata"] = metadata
        told: dict[str, object] = {"error": error}
        if user:
            told["user_id"] = f"user_{moment.id(26, 'user')}"
        return told

    return body


def _free(message: str, **metadata: Any) -> Callable[[Moment], object]:
    def body(moment: Moment) -> object:
        told = {
            "headers": {name.title().replace("Ratelimit", "RateLimit"): value for name, value in _reset(moment).items()}
        }
        return _error(message, 429, user=True, **told, **metadata, provider_name=None)(moment)

    return body


def _reset(moment: Moment) -> dict[str, str]:
    return {
        "x-ratelimit-limit": str(moment.limit),
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": str(moment.epoch_ms),
    }


def _afford(moment: Moment) -> object:
    return _error(_afford_message(moment.requested, moment.afford), 402, user=True, provider_name=None)(moment)


def _afford_message(requested: int, afford: int) -> str:
    return (
        f"This request requires more credits, or fewer max_tokens. You requested up to {requested} tokens, but can only "
        f"afford {afford}. To increase, visit {_CREDITS} and upgrade to a paid account"
    )


def _previous(moment: Moment) -> object:
    earlier = [
        {"code": 402, "message": _afford_message(moment.requested, moment.afford + more)} for more in (1_950, 1_640)
    ]
    message = _afford_message(moment.requested, moment.afford)
    return _error(message, 402, user=True, provider_name=None, previous_errors=earlier)(moment)


def _upstream(model_says: str, **metadata: Any) -> Callable[[Moment], object]:
    def body(moment: Moment) -> object:
        raw = model_says.format(model=moment.model)
        return _error("Provider returned error", 429, user=True, raw=raw, **metadata)(moment)

    return body


_BUSY = (
    "{model} is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate "
    "limits: https://openrouter.ai/settings/integrations"
)


def _second_event(moment: Moment) -> str:
    return sse(
        {"id": f"gen-{moment.id()}", "choices": []}, {"error": {"code": 429, "message": "Provider returned error"}}
    )


def _finish_error(moment: Moment) -> str:
    error = {"code": "server_error", "message": "Provider disconnected unexpectedly"}
    first = chunk(moment, {"role": "assistant", "content": "The first"})
    last = chunk(moment, {"content": ""}, "error", error=error)
    return ": OPENROUTER PROCESSING\n\n" + sse(first, last)


def _error_after_finish(moment: Moment) -> str:
    text = chunk(moment, {"role": "assistant", "content": "The answer begins"})
    finish = chunk(moment, {"role": "assistant", "content": ""}, "length")
    usage = {"prompt_tokens": 31, "completion_tokens": 12, "total_tokens": 43, "cost": 0}
    error = chunk(
        moment, {"role": "assistant", "content": ""}, error={"code": 400, "message": "Token limit reached"}, usage=usage
    )
    return ": OPENROUTER PROCESSING\n\n" + sse(text, finish, finish, error, done=True)


def _one(kind: str, status: int, reason: Reason, about: str, body: Callable[[Moment], object], **more: Any) -> Failure:
    return Failure(name=f"openrouter.{kind}", status=status, reason=reason, about=about, body=body, **more)


_STREAM: Final[dict[str, Any]] = {
    "when": "stream",
    "otherwise": "upstream_busy",
    "wires": ("openai_chat",),
    "content_type": "text/event-stream",
}

FAILURES: Final[tuple[Failure, ...]] = (
    _one(
        "free_daily", 429, "daily_limit",
        "The day's requests of all :free models of the account together; the reset is in epoch milliseconds.",
        _free(
            "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
            limit_source="openrouter_free_tier_daily",
            remedy_hint="Wait for the daily reset (see X-RateLimit-Reset), or purchase credits to raise your free-model "
            "daily limit.",
        ),
        headers=_reset, lasts="utc_midnight", numbers={"limit": 50, "model": "openai/gpt-oss-20b:free"},
    ),
    _one(
        "free_per_minute", 429, "minute_limit", "The minute's requests of all :free models of the account.",
        _free("Rate limit exceeded: free-models-per-min. "), headers=_reset, lasts=41.0,
        numbers={"limit": 20, "model": "openai/gpt-oss-20b:free"},
    ),
    _one(
        "afford", 402, "balance",
        "The balance does not cover max_tokens times price, but fewer tokens.",
        _afford, numbers={"requested": 65_536, "afford": 2_917},
    ),
    _one(
        "previous_errors", 402, "balance", "The same after several upstream providers, each with its own figure.",
        _previous, numbers={"requested": 65_536, "afford": 2_917},
    ),
    _one(
        "balance", 402, "balance", "There is no credit at all.",
        _error(f"Insufficient credits. Add more using {_CREDITS}", 402, user=True),
    ),
    _one(
        "in_flight", 402, "minute_limit", "Requests under way have reserved the balance: a 402 that waiting cures.",
        _error(
            "This request would exceed your available credits given your current in-flight requests. Retry after "
            "in-flight requests settle, or add credits.",
            402,
            reason="in_flight_budget_exhausted",
            limit_source="openrouter_in_flight_budget",
            remedy_hint="Retry after your in-flight requests settle (see the Retry-After header). Adding credits at "
            f"{_CREDITS} raises your in-flight budget, up to a capped ceiling.",
        ),
        headers=lambda m: {"retry-after": str(m.whole_wait_s)}, lasts=4.0,
    ),
    _one(
        "upstream_busy", 429, "capacity", "The pool of the provider behind it is busy; nothing of the caller's.",
        _upstream(_BUSY, provider_name="Lab Cloud"),
    ),
    _one(
        "upstream_overloaded", 429, "capacity", "The same with its source named.",
        _upstream(
            _BUSY, provider_name="Lab Cloud", is_byok=False, provider_error_code="engine_overloaded",
            limit_source="upstream_provider_shared_pool",
            remedy_hint="Retry shortly, add your own provider key, or route to another provider with provider routing: "
            "https://openrouter.ai/docs/features/provider-routing",
        ),
    ),
    _one(
        "wraps_upstream", 400, "capacity", "An upstream rate limit as text inside a 400.",
        _error(
            "Provider returned error", 400, provider_name="Lab Cloud",
            raw='{"type":"error","error":{"type":"rate_limit_error","message":"too quick for this pool"}}',
        ),
    ),
    _one(
        "capacity", 503, "capacity", "No provider behind it can serve the request now.",
        _error("There is no available model provider that meets your routing requirements", 503),
    ),
    _one("auth", 401, "auth", "No key was sent.", _error("Missing Authentication header", 401)),
    _one("unknown_key", 401, "auth", "The key is well-formed and unknown.", _error("User not found.", 401)),
    _one(
        "not_found", 404, "not_found", "No provider has the model.", _error("No endpoints found for {model}.", 404)
    ),
    _one(
        "data_policy", 404, "permission", "The model exists; a privacy setting keeps it away.",
        _error(
            "No endpoints found matching your data policy (Free model publication). Configure: "
            "https://openrouter.ai/settings/privacy", 404,
        ),
    ),
    _one(
        "content_filter", 403, "content_filter", "The prompt was flagged.",
        _error(
            "{model} requires moderation on Lab Cloud. Your input was flagged for \"violence/graphic\". No credits were "
            "charged.", 403, reasons=["violence/graphic"], flagged_input="…", provider_name="Lab Cloud",
            model_slug="lab/model",
        ),
    ),
    _one(
        "context", 400, "context_window", "The prompt is longer than any endpoint's window.",
        lambda m: {"error": {"message": (
            f"This endpoint's maximum context length is {m.window} tokens. However, you requested about {m.requested} "
            f"tokens ({m.requested} of text input). Please reduce the length of either one, or use the "
            '"middle-out" transform to compress your prompt automatically.'), "code": 400}},
        numbers={"requested": 150_320, "window": 131_072},
    ),
    _one("second_event", 200, "capacity", "A limit as the second event of a stream.", _second_event, **_STREAM),
    _one("finish_error", 200, "server_error", "A stream that ends with finish_reason error.", _finish_error, **_STREAM),
    _one(
        "error_after_finish", 200, "bad_request", "An error after two finish reasons and before [DONE].",
        _error_after_finish, **_STREAM,
    ),
)  # fmt: skip
