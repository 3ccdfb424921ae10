"""Makers of their own models: OpenAI (and Azure), Anthropic, xAI, Cohere, Perplexity, Snowflake."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from typing import Any, Final

from zc_notebooks.lab.conversation import dump
from zc_notebooks.lab.failures.shape import Body, Failure, Headers, Moment, chunk, go_duration, sse, wait_header
from zc_notebooks.lab.failures.shape import entry as _one


def _filled(message: str, moment: Moment) -> str:
    return message.format(
        model=moment.model, limit=moment.limit, used=moment.used, window=moment.window, requested=moment.requested,
        wait=go_duration(moment.wait_s), uuid=moment.uuid(), day=f"{moment.end:%Y-%m-%d}",
    )  # fmt: skip


def _openai(message: str, kind: str, code: str | None = None, param: str | None = None) -> Body:
    return lambda m: {"error": {"message": _filled(message, m), "type": kind, "param": param, "code": code}}


def _openai_limit(unit: str, period: str, short: str) -> Body:
    return _openai(
        f"Rate limit reached for {{model}} in organization org-lab on {unit} per {period} ({short}): Limit {{limit}}, Used {{used}}, Requested {{requested}}. Please try again in {{wait}}. Visit https://platform.openai.com/account/rate-limits to learn more.",
        unit, "rate_limit_exceeded",
    )  # fmt: skip


def _openai_headers(unit: str) -> Any:
    def headers(moment: Moment) -> dict[str, str]:
        return {
            "retry-after": str(max(moment.whole_wait_s, 1)), "retry-after-ms": str(round(moment.wait_s * 1000)),
            f"x-ratelimit-limit-{unit}": str(moment.limit),
            f"x-ratelimit-remaining-{unit}": str(max(moment.limit - moment.used, 0)),
            f"x-ratelimit-reset-{unit}": go_duration(moment.wait_s),
        }  # fmt: skip

    return headers


_QUOTA = "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."


def _responses_failure(kind: str, message: str) -> Body:
    """A Responses stream: the error event, then ``response.failed``."""

    def body(moment: Moment) -> object:
        base = {
            "id": f"resp_{moment.id(32)}",
            "object": "response",
            "created_at": moment.unix,
            "model": moment.model,
            "output": [],
        }
        error = {"type": kind, "code": kind, "message": message, "param": None}
        failed = {**base, "status": "failed", "error": {"code": kind, "message": message}, "usage": None}
        events = [
            {"type": "response.created", "sequence_number": 0, "response": {**base, "status": "in_progress"}},
            {"type": "error", "sequence_number": 1, "error": error},
            {"type": "response.failed", "sequence_number": 2, "response": failed},
        ]
        return "".join(f"event: {event['type']}\ndata: {dump(event)}\n\n" for event in events)

    return body


def _refusal(moment: Moment) -> object:
    words = "I'm sorry, I can't help with that."
    if moment.framing == "sse":
        start = chunk(moment, {"role": "assistant", "content": None, "refusal": ""})
        return sse(start, chunk(moment, {"refusal": words}), chunk(moment, {}, "stop"), done=True)
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "refusal": words}, "finish_reason": "stop"}
    told = {"id": f"chatcmpl-{moment.id()}", "object": "chat.completion", "created": moment.unix, "model": moment.model}
    return {**told, "choices": [choice]}


def _azure_filtered(moment: Moment) -> object:
    safe = {"filtered": False, "severity": "safe"}
    results = {"hate": {"filtered": True, "severity": "high"}, "self_harm": safe, "sexual": safe, "violence": safe}
    choice = {"content_filter_results": results, "finish_reason": "content_filter", "index": 0, "logprobs": None}
    told = {"id": f"chatcmpl-{moment.id()}", "object": "chat.completion", "created": moment.unix, "model": moment.model}
    if moment.framing == "sse":
        return sse({**told, "object": "chat.completion.chunk", "choices": [{**choice, "delta": {}}]}, done=True)
    return {**told, "choices": [choice], "usage": {"completion_tokens": 0, "prompt_tokens": 15, "total_tokens": 15}}


def _anthropic(kind: str, message: str, **more: Any) -> Body:
    def body(moment: Moment) -> object:
        error = {"type": kind, "message": _filled(message, moment), **more}
        return {"type": "error", "error": error, "request_id": f"req_{moment.id(24)}"}

    return body


def _anthropic_midway(moment: Moment) -> str:
    message: dict[str, Any] = {
        "id": f"msg_{moment.id()}", "type": "message", "role": "assistant", "model": moment.model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 21, "output_tokens": 1},
    }  # fmt: skip
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Well"}},
        {"type": "error", "error": {"details": None, "type": "overloaded_error", "message": "Overloaded"}},
    ]
    return "".join(f"event: {event['type']}\ndata: {dump(event)}\n\n" for event in events)


def _anthropic_limit(dimension: str) -> Any:
    def headers(moment: Moment) -> dict[str, str]:
        prefix = f"anthropic-ratelimit-{dimension}"
        told = {f"{prefix}-limit": str(moment.limit), f"{prefix}-remaining": "0", f"{prefix}-reset": moment.rfc3339}
        return {**wait_header(moment), **told, "x-should-retry": "true"}

    return headers


def _no_retry(moment: Moment) -> dict[str, str]:  # noqa: ARG001 (the same at any time)
    return {"x-should-retry": "false"}


def _xai(code: str, message: str) -> Body:
    return lambda m: {"code": code, "error": _filled(message, m)}


def _cohere(message: str, **more: Any) -> Body:
    return lambda m: {**more, "id": m.uuid(), "message": _filled(message, m)}


def _trial(remaining: int) -> Headers:
    told = {
        "x-endpoint-monthly-call-limit": "1000", "x-trial-endpoint-call-limit": "20",
        "x-trial-endpoint-call-remaining": str(remaining),
    }  # fmt: skip
    return lambda _: told


def _cohere_end(moment: Moment) -> str:
    events: list[dict[str, Any]] = [
        {"type": "message-start", "id": moment.uuid(), "delta": {"message": {"role": "assistant", "content": []}}},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Well"}}}},
        {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "internal error during generation"}},
    ]
    return "".join(f"event: {event['type']}\ndata: {dump(event)}\n\n" for event in events) + "data: [DONE]\n\n"


_SPENT = "Your team {uuid} has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."
_NEVER_PAID = "Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai/team/{uuid}."
_SPEND_CAP = "You have reached your API usage limits: your organization has crossed its monthly API usage threshold, set based on your organization's API tier. You will regain access on {day} at 00:00 UTC."
_RESPONSES: Final[dict[str, Any]] = {
    "when": "stream",
    "wires": ("openai_responses",),
    "content_type": "text/event-stream",
}
_CHAT: Final = ("openai_chat",)

FAILURES: Final[tuple[Failure, ...]] = (
    _one("openai.auth", 401, "auth", "The key is wrong.", _openai("Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys.", "invalid_request_error", "invalid_api_key")),
    _one("openai.balance", 429, "balance", "No money, said with HTTP 429.", _openai(_QUOTA, "insufficient_quota", "insufficient_quota")),
    _one("openai.requests_per_minute", 429, "minute_limit", "The minute's requests are used up.", _openai_limit("requests", "min", "RPM"), headers=_openai_headers("requests"), lasts=8.64, numbers={"limit": 500, "used": 500}),
    _one("openai.tokens_per_minute", 429, "minute_limit", "The minute's tokens are used up.", _openai_limit("tokens", "min", "TPM"), headers=_openai_headers("tokens"), lasts=1.31, numbers={"limit": 30_000, "used": 29_200, "requested": 1_455}),
    _one("openai.requests_per_day", 429, "daily_limit", "The requests of a rolling day are used up.", _openai_limit("requests", "day", "RPD"), headers=wait_header, lasts=432.0, numbers={"limit": 200, "used": 200}),
    _one("openai.tokens_per_day", 429, "token_daily_limit", "The tokens of a rolling day are used up.", _openai_limit("tokens", "day", "TPD"), headers=wait_header, lasts=74.88, numbers={"limit": 1_500_000, "used": 1_485_100, "requested": 16_200}),
    _one(
        "openai.request_too_large", 429, "context_window", "This one request is larger than a whole minute's tokens.",
        _openai("Request too large for {model} in organization org-lab on tokens per min (TPM): Limit {limit}, Requested {requested}. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.", "tokens", "rate_limit_exceeded"),
        numbers={"limit": 30_000, "requested": 41_770},
    ),
    _one("openai.not_found", 404, "not_found", "No such model.", _openai("The model `{model}` does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")),
    _one("openai.bad_request", 400, "bad_request", "The request is malformed.", lambda m: {"error": {"message": m.message or "Invalid type for 'messages': expected an array.", "type": "invalid_request_error", "param": None, "code": None}}),
    _one("openai.unsupported_parameter", 400, "bad_request", "The model knows no such setting; another may.", _openai("Unsupported parameter: 'stop' is not supported with this model.", "invalid_request_error", "unsupported_parameter", "stop")),
    _one(
        "openai.context", 400, "context_window", "The prompt is longer than the model's window.",
        lambda m: _openai("Your input exceeds the context window of this model. Please adjust your input and try again.", "invalid_request_error", "context_length_exceeded", "input" if m.wire == "openai_responses" else "messages")(m),
    ),
    _one("openai.content_filter", 400, "content_filter", "The prompt was flagged.", _openai("Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.", "invalid_request_error", "invalid_prompt")),
    _one("openai.refusal", 200, "content_filter", "The model refuses; the words stand in a field of their own.", _refusal, wires=_CHAT),
    _one("openai.capacity", 503, "capacity", "The service is full.", _openai("The engine is currently overloaded, please try again later", "service_unavailable", "server_overloaded")),
    _one("openai.server_error", 500, "server_error", "Something broke on their side.", _openai("The server had an error while processing your request. Sorry about that!", "server_error")),
    _one("openai.quota_in_stream", 200, "balance", "No money, said inside a Responses stream.", _responses_failure("insufficient_quota", _QUOTA), **_RESPONSES, otherwise="balance"),
    _one("openai.overloaded_in_stream", 200, "capacity", "The service is full, said inside a Responses stream.", _responses_failure("server_is_overloaded", "Our servers are currently overloaded. Please try again later."), **_RESPONSES),
    _one(
        "azure.requests_per_minute", 429, "minute_limit", "The minute's requests are used up; one header says 1 s, the other 0 ms.",
        lambda m: {"error": {"code": "RateLimitReached", "message": (words := f"Your requests to {m.model} for {m.model} in lab-region have exceeded rate limit."), "details": words}},
        headers=lambda m: {**wait_header(m), "retry-after-ms": "0"}, lasts=1.0,
    ),
    _one("azure.content_filter", 200, "content_filter", "The answer was filtered; there is no message at all.", _azure_filtered, wires=_CHAT),
    _one("azure.auth", 401, "auth", "The key is wrong.", lambda _: {"error": {"code": "401", "message": "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}),
    _one("azure.not_found", 404, "not_found", "No such deployment.", lambda _: {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}),
    _one("anthropic.auth", 401, "auth", "The key is wrong.", _anthropic("authentication_error", "invalid x-api-key"), headers=_no_retry),
    _one("anthropic.balance", 400, "balance", "No money, said with HTTP 400.", _anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."), headers=_no_retry),
    _one("anthropic.billing", 402, "balance", "Something is wrong with the payment.", _anthropic("billing_error", "There's an issue with your billing or payment information.")),
    _one("anthropic.spend_limit", 429, "balance", "The month's spending limit is reached; the date of return is in the message.", _anthropic("rate_limit_error", _SPEND_CAP, details={"error_code": "enforced_spend_limit_reached"}), lasts="month"),
    _one("anthropic.requests_per_minute", 429, "minute_limit", "The minute's requests are used up.", _anthropic("rate_limit_error", "This request would exceed your organization's rate limit of {limit} requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits."), headers=_anthropic_limit("requests"), lasts=18.0, numbers={"limit": 50}),
    _one("anthropic.tokens_per_minute", 429, "minute_limit", "The minute's input tokens are used up.", _anthropic("rate_limit_error", "This request would exceed your organization's rate limit of {limit} input tokens per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits."), headers=_anthropic_limit("input-tokens"), lasts=31.0, numbers={"limit": 30_000}),
    _one("anthropic.context", 400, "context_window", "The prompt is longer than the model's window.", _anthropic("invalid_request_error", "prompt is too long: {requested} tokens > {window} maximum"), headers=_no_retry, numbers={"requested": 212_345, "window": 200_000}),
    _one("anthropic.request_too_large", 413, "context_window", "The request has too many bytes.", _anthropic("request_too_large", "Request exceeds the maximum size")),
    _one("anthropic.not_found", 404, "not_found", "No such model.", _anthropic("not_found_error", "model: {model}"), headers=_no_retry),
    _one("anthropic.bad_request", 400, "bad_request", "The request is malformed.", lambda m: _anthropic("invalid_request_error", (m.message or "messages: at least one message is required").replace("{", "{{").replace("}", "}}"))(m), headers=_no_retry),
    _one("anthropic.permission", 403, "permission", "The key may not do this.", _anthropic("permission_error", "Your API key does not have permission to use the specified resource.")),
    _one("anthropic.overloaded", 529, "capacity", "Their side is full.", _anthropic("overloaded_error", "Overloaded"), headers=lambda _: {"x-should-retry": "true"}),
    _one("anthropic.capacity", 529, "capacity", "The same by its kind.", _anthropic("overloaded_error", "Overloaded"), headers=lambda _: {"x-should-retry": "true"}),
    _one("anthropic.server_error", 500, "server_error", "Something broke on their side.", _anthropic("api_error", "Internal server error")),
    _one("anthropic.overloaded_midway", 200, "capacity", "Their side is full, said in the middle of a stream.", _anthropic_midway, when="stream", wires=("anthropic_messages",), content_type="text/event-stream; charset=utf-8"),
    _one("xai.no_credits", 403, "balance", "Never paid, said with HTTP 403.", _xai("permission-denied", _NEVER_PAID)),
    _one("xai.no_credits_old", 403, "balance", "The same under the older code.", _xai("The caller does not have permission to execute the specified operation", _NEVER_PAID)),
    _one("xai.balance", 429, "balance", "The credits are spent, said with HTTP 429.", _xai("Some resource has been exhausted", _SPENT)),
    _one("xai.requests_per_minute", 429, "minute_limit", "The minute's requests are used up, under the same code.", _xai("Some resource has been exhausted", "Too many requests for team {uuid} and model {model}. Your team's rate limit is: Requests per Minute (actual/limit): {used}/{limit}, Tokens per Minute (actual/limit): 17211/16000000. Please see https://console.x.ai/ for details."), lasts=20.0, numbers={"limit": 60, "used": 61}),
    _one("xai.not_found", 400, "not_found", "No such model; the body is a JSON string.", lambda m: dump(f"Model not found: {m.model}")),
    _one("xai.auth", 400, "auth", "The key is wrong, said with HTTP 400.", _xai("Client specified an invalid argument", "Incorrect API key provided: ***. You can obtain an API key from https://console.x.ai.")),
    _one("cohere.auth", 401, "auth", "The key is wrong.", _cohere("Incorrect API key provided: ***********. You can find your API key at https://dashboard.cohere.com/api-keys.")),
    _one("cohere.requests_per_minute", 429, "minute_limit", "The trial key's minute is used up.", _cohere("You are using a Trial key, which is limited to {limit} API calls / minute."), headers=_trial(0), lasts=40.0, numbers={"limit": 20}),
    _one("cohere.requests_per_month", 429, "daily_limit", "The trial key's month is used up; the header of the minute still shows calls.", _cohere("You are using a Trial key, which is limited to {limit} API calls / month. You can continue to use the Trial key for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'."), headers=_trial(19), lasts="month", numbers={"limit": 1000}),
    _one("cohere.context", 400, "context_window", "The prompt is longer than the model's window.", _cohere("too many tokens: size limit exceeded by {used} tokens. Try using shorter or fewer inputs. The limit for this model is {window} tokens.", error_type="TOO_MANY_TOKENS"), numbers={"used": 1_204, "window": 288_000}),
    _one("cohere.not_found", 404, "not_found", "The model was removed.", _cohere("model '{model}' was removed on September 15, 2025. See https://docs.cohere.com/docs/models#command for a list of models you can use instead."), headers=_trial(19)),
    _one("cohere.bad_request", 400, "bad_request", "The request is malformed.", lambda m: {"id": m.uuid(), "message": m.message or "invalid request: at least one message is required"}),
    _one("cohere.capacity", 503, "capacity", "The service is full.", _cohere("the server is currently overloaded, please try again later")),
    _one("cohere.error_end", 200, "server_error", "A stream that ends with an error.", _cohere_end, when="stream", wires=("cohere_v2",), content_type="text/event-stream", otherwise="server_error"),
    _one("perplexity.auth", 401, "auth", "The key is wrong.", lambda _: {"error": {"message": "Invalid API key provided. You can find your API key at https://www.perplexity.ai/settings/api.", "type": "invalid_api_key", "code": 401}}),
    _one("snowflake.auth", 401, "auth", "The token is wrong.", lambda m: {"code": "390303", "message": "Invalid OAuth access token. ", "request_id": m.uuid()}),
)  # fmt: skip
