"""Model lists and zero-token probes in each family's form."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from zc_notebooks.lab.scenario import ModelSpec

if TYPE_CHECKING:
    from zc_notebooks.lab.account import Account
    from zc_notebooks.lab.provider import Provider

_CREATED = 1_767_225_600
Told = tuple[int, Any]


def listing(provider: Provider, ending: str, now: datetime) -> Told:
    """The models of a provider, or one of them: status and body."""
    spec = provider.spec
    if ending.endswith("/api/tags"):
        return 200, {"models": [_ollama(model, now) for model in spec.models]}
    if spec.family == "github_models":
        return 410, {"error": {"code": "github_models_retirement_brownout"}}
    if spec.family == "google" and "/openai" not in ending:
        models = [_gemini(model) for model in spec.models]
    elif spec.family == "cohere":
        models = [{"name": model.id, "endpoints": ["chat"], "context_length": model.window} for model in spec.models]
        return 200, {"models": models, "next_page_token": None}
    elif spec.family == "anthropic":
        models = [_anthropic(model) for model in spec.models]
        return 200, {"data": models, "has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]}
    elif spec.family == "openrouter":
        return 200, {"data": [_openrouter(model) for model in spec.models]}
    elif spec.family == "mistral":
        capabilities = {"completion_chat": True, "function_calling": True, "vision": False}
        models = [{**_openai(one, "mistral"), "type": "base", "capabilities": capabilities} for one in spec.models]
    else:
        models = [_openai(model, spec.family) for model in spec.models]
    single = ending.rpartition("/models/")[2] if "/models/" in ending else None
    if single is not None:
        found = [one for one in models if single in (one.get("id"), one.get("name", "").removeprefix("models/"))]
        return (200, found[0]) if found else (404, {"error": {"message": f"no model {single}", "type": "not_found"}})
    return 200, {"models": models} if spec.family == "google" and "/openai" not in ending else _list(models)


def probe(provider: Provider, account: Account, ending: str, now: datetime) -> Told:
    """The answer to a probe that costs no token: status and body."""
    if ending in ("/key", "/auth/key"):
        return 200, {"data": _openrouter_key(provider, account, now)}
    if ending == "/ai/models/search":
        models = [{"id": model.id, "name": model.id} for model in provider.spec.models]
        return 200, {"result": models, "success": True, "errors": [], "messages": []}
    if ending == "/api/ps":
        return 200, {"models": [_ollama(model, now) for model in provider.spec.models[:1]]}
    told = _ACCOUNTS.get(ending)
    return 200, {"status": "ok"} if told is None else told(account.balance_usd)


def _list(models: list[dict[str, Any]]) -> dict[str, Any]:
    return {"object": "list", "data": models}


def _openai(model: ModelSpec, owner: str) -> dict[str, Any]:
    return {
        "id": model.id, "object": "model", "created": _CREATED, "owned_by": f"lab-{owner}", "active": True,
        "context_window": model.window, "max_completion_tokens": model.max_output,
    }  # fmt: skip


def _anthropic(model: ModelSpec) -> dict[str, Any]:
    return {
        "type": "model", "id": model.id, "display_name": model.id, "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active", "max_input_tokens": model.window, "max_tokens": model.max_output,
    }  # fmt: skip


def _gemini(model: ModelSpec) -> dict[str, Any]:
    return {
        "name": f"models/{model.id}", "version": "001", "displayName": model.id, "inputTokenLimit": model.window,
        "outputTokenLimit": model.max_output, "supportedGenerationMethods": ["generateContent", "countTokens"],
    }  # fmt: skip


def _ollama(model: ModelSpec, now: datetime) -> dict[str, Any]:
    details = {
        "parent_model": "", "format": "gguf", "family": "lab", "families": ["lab"], "parameter_size": "0B",
        "quantization_level": "Q4_0",
    }  # fmt: skip
    return {
        "name": model.id, "model": model.id, "modified_at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "size": 1_000_000,
        "digest": "0" * 64, "details": details, "expires_at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "size_vram": 0,
    }  # fmt: skip


def _openrouter(model: ModelSpec) -> dict[str, Any]:
    pricing = {"prompt": f"{model.price_in / 1e6:.10f}", "completion": f"{model.price_out / 1e6:.10f}"}
    return {
        "id": model.id, "name": model.id, "created": _CREATED, "context_length": model.window, "pricing": pricing,
        "top_provider": {"context_length": model.window, "max_completion_tokens": model.max_output},
    }  # fmt: skip


def _openrouter_key(provider: Provider, account: Account, now: datetime) -> dict[str, Any]:
    free = [model.id for model in provider.spec.models if model.id.endswith(":free")]
    levels = account.levels(free[0], now) if free else []
    day = next((level for level in levels if level.quota.per == "day"), None)
    used = {"used": day.used if day else 0, "limit": day.quota.limit if day else 50}
    return {
        "label": "lab", "usage": 0.0, "limit": account.balance_usd, "is_free_tier": False,
        "limit_remaining": account.balance_usd, "free_model_daily_requests": used,
    }  # fmt: skip


def _deepseek(balance: float | None) -> Any:
    total = f"{0.0 if balance is None else max(balance, 0.0):.2f}"
    info = {"currency": "USD", "total_balance": total, "granted_balance": "0.00", "topped_up_balance": total}
    return {"is_available": balance is None or balance > 0, "balance_infos": [info]}


def _moonshot(balance: float | None) -> Any:
    left = balance or 0.0
    told = {"available_balance": left, "voucher_balance": 0.0, "cash_balance": left}
    return {"code": 0, "data": told, "scode": "0x0", "status": True}


def _siliconflow(balance: float | None) -> Any:
    told = {"id": "lab", "name": "lab", "status": "normal", "balance": f"{balance or 0:.2f}"}
    return {"code": 20000, "message": "OK", "status": True, "data": told}


def _cloudflare(balance: float | None) -> Any:  # noqa: ARG001 (a token is valid without money)
    return {"result": {"id": "lab", "status": "active"}, "success": True, "errors": [], "messages": []}


_ACCOUNTS: Final[dict[str, Callable[[float | None], Any]]] = {
    "/user/balance": _deepseek,
    "/users/me/balance": _moonshot,
    "/user/info": _siliconflow,
    "/user/tokens/verify": _cloudflare,
    "/api/whoami-v2": lambda balance: {"type": "user", "name": "lab", "canPay": bool(balance)},
    "/api/version": lambda _: {"version": "0.12.0-lab"},
}
