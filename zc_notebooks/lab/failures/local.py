"""Servers on one's own machine: Ollama (and its cloud), llama.cpp, LM Studio, vLLM, SGLang, LiteLLM."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from typing import Final

from zc_notebooks.lab.failures.shape import Body, Failure, Moment, chunk, sse
from zc_notebooks.lab.failures.shape import entry as _one


def _filled(message: str, moment: Moment) -> str:
    return message.format(
        model=moment.model, window=moment.window, requested=moment.requested, over=max(moment.requested - moment.window, 1),
        ref=moment.uuid(),
    )  # fmt: skip


def _ollama(message: str, kind: str = "api_error") -> Body:
    """A string on the native API, the OpenAI form below ``/v1``."""

    def body(moment: Moment) -> object:
        text = _filled(message, moment)
        if moment.wire == "ollama":
            return {"error": text}
        return {"error": {"message": text, "type": kind, "param": None, "code": None}}

    return body


def _error(message: str, kind: str, code: int | str | None, **more: object) -> Body:
    return lambda m: {"error": {"code": code, "message": _filled(message, m), "type": kind, **more}}


def _vllm(message: str, kind: str = "BadRequestError", code: int = 400) -> Body:
    return lambda m: {"error": {"message": m.message or _filled(message, m), "type": kind, "param": None, "code": code}}


def _vllm_flat(moment: Moment) -> object:
    text = _filled(
        "This model's maximum context length is {window} tokens. However, you requested {requested} tokens ({requested} in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
        moment,
    )
    return {"object": "error", "message": text, "type": "BadRequestError", "param": None, "code": 400}


def _context_size(moment: Moment) -> object:
    return {"error": {
        "code": 400, "message": f"request ({moment.requested} tokens) exceeds the available context size ({moment.window} tokens), try increasing it",
        "type": "exceed_context_size_error", "n_prompt_tokens": moment.requested, "n_ctx": moment.window,
    }}  # fmt: skip


def _error_field(moment: Moment) -> str:
    first = sse(chunk(moment, {"role": "assistant", "content": None}), chunk(moment, {"content": "Well"}))
    return first + 'error: {"code":500,"message":"context shift is disabled","type":"server_error"}\n\n'


def _crashed(moment: Moment) -> str:
    words = "The model has crashed without additional information. (Exit code: 11)"
    error = {"error": {"message": words}, "message": words}
    return sse(chunk(moment, {"role": "assistant", "content": "Well"})) + "event: error\n" + sse(error)


def _error_then_done(moment: Moment) -> str:
    error = {
        "error": {
            "message": "EngineCore encountered an issue. See stack trace (above) for the root cause.",
            "type": "InternalServerError",
            "param": None,
            "code": 500,
        }
    }
    return sse(
        chunk(moment, {"role": "assistant", "content": ""}), chunk(moment, {"content": "Once"}), error, done=True
    )


_STREAM: Final[dict[str, object]] = {
    "when": "stream",
    "wires": ("openai_chat",),
    "content_type": "text/event-stream",
    "otherwise": "server_error",
}

FAILURES: Final[tuple[Failure, ...]] = (
    _one("ollama.auth", 401, "auth", "The cloud's key is wrong.", _ollama("Unauthorized")),
    _one("ollama.balance", 403, "balance", "The subscription is not paid.", _ollama("your subscription payment is past due. update your payment method: https://ollama.com/settings/billing (ref: {ref})")),
    _one("ollama.requests_per_session", 429, "daily_limit", "The cloud's quota of five hours is used up; no reset is stated.", _ollama("you (lab) have reached your session usage limit, upgrade for higher limits: https://ollama.com/upgrade (ref: {ref})"), lasts=2.0 * 3600),
    _one("ollama.requests_per_week", 429, "daily_limit", "The cloud's week is used up; no reset is stated.", _ollama("you (lab) have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade (ref: {ref})"), lasts=2.0 * 86_400),
    _one("ollama.concurrency", 429, "minute_limit", "The cloud serves one model at a time.", _ollama("too many concurrent requests (ref: {ref})"), lasts=2.0),
    _one("ollama.context", 400, "context_window", "The prompt is longer than the model's window.", _ollama("prompt too long; exceeded max context length by {over} tokens (ref: {ref})", "invalid_request_error"), numbers={"requested": 9_021, "window": 8_192}),
    _one("ollama.not_found", 404, "not_found", "The model is not installed.", _ollama("model '{model}' not found", "not_found_error")),
    _one("ollama.runner_terminated", 500, "server_error", "The model's process died.", _ollama("llama runner process has terminated: signal: killed")),
    _one("ollama.server_error", 500, "server_error", "The same by its kind.", _ollama("llama runner process has terminated: signal: killed")),
    _one("ollama.capacity", 503, "capacity", "The queue is full.", _ollama("server busy, please try again.  maximum pending requests exceeded")),
    _one("ollama.bad_request", 400, "bad_request", "The request is malformed.", lambda m: _ollama((m.message or "missing request body").replace("{", "{{").replace("}", "}}"), "invalid_request_error")(m)),
    _one("llamacpp.loading", 503, "capacity", "The model is still being loaded.", _error("Loading model", "unavailable_error", 503), lasts=3.0),
    _one("llamacpp.capacity", 503, "capacity", "The same by its kind.", _error("Loading model", "unavailable_error", 503), lasts=3.0),
    _one("llamacpp.context", 400, "context_window", "The prompt is longer than the server's context.", _context_size, numbers={"requested": 5_120, "window": 4_096}),
    _one("llamacpp.auth", 401, "auth", "The key is wrong.", _error("Invalid API Key", "authentication_error", 401)),
    _one("llamacpp.server_error", 500, "server_error", "A template the prompt does not fit.", _error("Message is missing role", "server_error", 500)),
    _one("llamacpp.error_field", 200, "server_error", "A stream that fails in an SSE field of its own.", _error_field, **_STREAM),
    _one("lmstudio.not_found", 404, "not_found", "The model is not loaded.", _error("Model {model} is not found. Please load it first.", "invalid_request_error", "model_not_found", param="model")),
    _one("lmstudio.crash_in_stream", 200, "server_error", "A model that crashes in the middle of a stream.", _crashed, **_STREAM),
    _one("vllm.context", 400, "context_window", "The prompt is longer than the model's window; the error is flat.", _vllm_flat, numbers={"requested": 34_120, "window": 32_768}),
    _one("vllm.bad_request", 400, "bad_request", "The request is malformed.", _vllm("Conversation roles must alternate user/assistant/user/assistant/...")),
    _one("vllm.not_found", 404, "not_found", "No such model.", _vllm("The model `{model}` does not exist.", "NotFoundError", 404)),
    _one("vllm.auth", 401, "auth", "The key is wrong.", lambda _: {"error": "Unauthorized"}),
    _one("vllm.error_then_done", 200, "server_error", "A stream with an error and then [DONE].", _error_then_done, **_STREAM),
    _one("sglang.error_then_done", 200, "server_error", "A stream with an error and then [DONE].", _error_then_done, **_STREAM),
    _one("litellm.balance", 400, "balance", "The proxy's own budget is used up.", _error("Budget has been exceeded! Current cost: 10.02, Max budget: 10.0", "budget_exceeded", "400", param=None)),
    _one("litellm.requests_per_minute", 429, "minute_limit", "The proxy's own limit for the model.", _error("litellm.RateLimitError: No deployments available for selected model, Try again in 20 seconds. Passed model={model}.", "throttling_error", "429", param=None), lasts=20.0),
)  # fmt: skip
