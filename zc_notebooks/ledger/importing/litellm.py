"""LiteLLM's spend log: a JSON line for each row of its table ``LiteLLM_SpendLogs``.

==========================  ==========================================================================================
LiteLLM                     row
==========================  ==========================================================================================
``request_id``              ``call_id`` (``litellm-…``), ``ordinal`` 0: LiteLLM logs a request, not its attempts
``session_id``              ``turn_id``
``startTime``               ``t`` (without a zone: UTC)
``endTime``                 ``secs``
``completionStartTime``     ``first_token_s`` and ``mode`` ``stream``, where it lies before the end
``custom_llm_provider``     ``provider_ref`` (``gemini`` → ``google.litellm``); else the prefix of ``model``
``model``                   ``model`` without that prefix
``model_group``             ``requested_model``
``status``                  ``status``: ``ok``, or by ``metadata.error_information`` (``error_code``, ``error_class``):
                            ``http_<code>``, ``timeout``, ``network``, else ``failed``; ``reason`` where the class is
                            one of ours (a rate limit's class does not say which limit: NULL)
``prompt_tokens``,          ``input_tokens``, ``output_tokens``; by ``metadata.usage_object`` also cached and reasoning
``completion_tokens``       tokens. The table writes 0 for what it does not know: a request that was answered without
                            any token is ``missing``
``spend``                   ``cost_usd``, ``price_source`` ``litellm spend``. The table writes 0 for a price it does not
                            know: tokens without spend have no cost here. A refusal (``http_…``) costs nothing
``cache_hit`` true          a skip, ``skipped_cache``: nobody was asked
==========================  ==========================================================================================

Everything else stays NULL. Never read: ``messages``, ``response``, ``proxy_server_request``, ``api_key``, ``user``,
``end_user``, ``team_id``, ``request_tags``, ``requester_ip_address``, ``api_base``, and every text of an error.
Requests of another type (embeddings, pictures, sound) are no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from zc_notebooks.chat import Usage
from zc_notebooks.ledger.importing import texts
from zc_notebooks.ledger.importing.formats import Line, Refused, Row, row
from zc_notebooks.ledger.prices import valid
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Reason
from zc_notebooks.wire.usage import count, first_count

SOURCE: Final = "litellm"
PRICE_SOURCE: Final = "litellm spend"

_FAMILIES: Final[Mapping[str, str]] = {
    "gemini": "google",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "cohere_chat": "cohere",
    "text-completion-openai": "openai",
    "azure_text": "azure",
    "nvidia_nim": "nvidia",
    "hosted_vllm": "vllm",
    "lm_studio": "lmstudio",
    "ollama_chat": "ollama",
}
"""LiteLLM's word for a provider → ours, where they differ."""

_CHAT: Final = ("completion", "responses", "anthropic_messages", "generate_content")
"""Parts of the types of calls that are answered with text (``acompletion``, ``aresponses``, …)."""

_CLASSES: Final[Mapping[str, tuple[str, Reason | None]]] = {
    "Timeout": ("timeout", "network"),
    "APIConnectionError": ("network", "network"),
    "AuthenticationError": ("http_401", "auth"),
    "PermissionDeniedError": ("http_403", "permission"),
    "NotFoundError": ("http_404", "not_found"),
    "BadRequestError": ("http_400", "bad_request"),
    "UnprocessableEntityError": ("http_422", "bad_request"),
    "ContextWindowExceededError": ("http_400", "context_window"),
    "ContentPolicyViolationError": ("http_400", "content_filter"),
    "RateLimitError": ("http_429", None),
    "InternalServerError": ("http_500", "server_error"),
    "ServiceUnavailableError": ("http_503", None),
    "BudgetExceededError": ("skipped_budget", None),
}
"""LiteLLM's exceptions → status and reason. The budget is the proxy's own: nobody was asked."""

_HTTP_ERRORS: Final = range(400, 600)


class LiteLlm:
    """Rows of ``LiteLLM_SpendLogs``."""

    name = "LiteLLM spend log"

    def recognises(self, value: Mapping[str, Any]) -> bool:
        """By its key, its spend and its way of writing a time."""
        return {"request_id", "spend", "startTime"} <= value.keys()

    def rows(self, lines: Iterable[Line]) -> Iterator[Row | Refused]:
        """One row a line."""
        for line in lines:
            made = _attempt(line.value)
            yield Refused(line=line.number, why=made) if isinstance(made, str) else row(made, line.number)


def _attempt(value: Mapping[str, Any]) -> AttemptRow | str:
    theirs, began = value.get("request_id"), texts.instant(value.get("startTime"))
    if not isinstance(theirs, str) or not theirs or began is None:
        return "no request_id or no startTime"
    kind = value.get("call_type")
    if isinstance(kind, str) and kind and not any(word in kind for word in _CHAT):
        return "a request that is not answered with text"
    metadata = texts.fields(value.get("metadata"))
    status, reason = _status(value, metadata)
    family, model = _route(value)
    session = value.get("session_id")
    secs, first = _timing(began, value)
    return AttemptRow(
        call_id=texts.key(SOURCE, theirs),
        ordinal=0,
        turn_id=texts.key(SOURCE, session) if isinstance(session, str) and session else None,
        t=began,
        provider_ref=texts.ref(family, SOURCE),
        model=model,
        kind="skip" if status.startswith("skipped_") else "attempt",
        mode="chat" if first is None else "stream",
        status=status,
        requested_model=texts.name(value.get("model_group")),
        reason=reason,
        accepted=status == "ok",
        secs=secs,
        first_token_s=first,
        **_money(value, metadata, status),
    )


def _route(value: Mapping[str, Any]) -> tuple[str | None, str]:
    """Family and model. ``groq/llama-3.3-70b`` names both."""
    given, model = texts.name(value.get("custom_llm_provider")), texts.name(value.get("model")) or ""
    if given is None and "/" in model:
        given, _, model = model.partition("/")
    elif given is not None:
        model = model.removeprefix(f"{given}/")
    return (None if given is None else _FAMILIES.get(given, given)), model


def _status(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[str, Reason | None]:
    if str(value.get("cache_hit")).lower() == "true":
        return "skipped_cache", None
    ended = value.get("status") or metadata.get("status") or "success"
    if ended == "success":
        return "ok", None
    error = texts.fields(metadata.get("error_information"))
    status, reason = _CLASSES.get(str(error.get("error_class")).rpartition(".")[2], ("failed", None))
    code = str(error.get("error_code"))
    if code.isdecimal() and int(code) in _HTTP_ERRORS and not status.startswith(("skipped_", "timeout", "network")):
        status = f"http_{int(code)}"
    return status, reason


def _timing(began: datetime, value: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Seconds to the end, and to the first token where the log tells one from the other."""
    ended, first = texts.instant(value.get("endTime")), texts.instant(value.get("completionStartTime"))
    streamed = first is not None and ended is not None and began < first < ended
    return texts.seconds(began, ended), texts.seconds(began, first) if streamed else None


def _money(value: Mapping[str, Any], metadata: Mapping[str, Any], status: str) -> dict[str, Any]:
    """Tokens, their state, cost and its source."""
    if status.startswith("skipped_"):
        return {"usage_state": "none"}
    if status.startswith("http_"):
        return {"input_tokens": 0, "output_tokens": 0, "usage_state": "complete", "cost_usd": 0.0}
    usage = _usage(value, metadata)
    if not (usage.input_tokens or usage.output_tokens):
        return {"usage_state": "missing" if status == "ok" else "unknown"}
    if not valid(usage):
        return {"usage_state": "invalid"}
    spend = value.get("spend")
    paid = isinstance(spend, int | float) and not isinstance(spend, bool) and 0 < spend < float("inf")
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_input_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "usage_state": "complete",
        "cost_usd": float(spend) if paid and spend is not None else None,
        "price_source": PRICE_SOURCE if paid else None,
    }


def _usage(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> Usage:
    detail = texts.fields(metadata.get("usage_object"))
    inside = texts.fields(detail.get("prompt_tokens_details"))
    outside = texts.fields(detail.get("completion_tokens_details"))
    return Usage(
        input_tokens=count(value.get("prompt_tokens")),
        output_tokens=count(value.get("completion_tokens")),
        cached_tokens=first_count(inside.get("cached_tokens"), detail.get("cache_read_input_tokens")),
        reasoning_tokens=first_count(outside.get("reasoning_tokens")),
    )
