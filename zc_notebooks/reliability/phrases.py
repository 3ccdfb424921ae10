"""Phrases that tell a cause in the error's own message, whoever sends it (spec 4.2). All lower case, rows in order.

The rows hold the spec's phrases and those that further providers were seen to send. They are looked for in messages
only, never in a whole body, and never alone words such as "quota", "credit" or "billing".
"""

from __future__ import annotations

import re
from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    NOT_FOUND,
    PERMISSION,
    TOOL_SCHEMA,
    WINDOW,
    Rule,
)

CONTEXT: Final = (
    "exceeds the context window",
    "exceeds the available context size",
    "exceeds the context length",
    "exceeds context length",
    "exceeds available context size",
    "context window of this model",
    "maximum context length",
    "max context length",
    "context length exceeded",
    "context window exceeded",
    "exceeded this model context window",
    "model context window limit",
    "exceed context limit",
    "exceeds the model's context",
    "model's context length is only",
    "longer than the model's context length",
    "longer than the maximum model length",
    "is loaded with context length of only",
    "context the overflows",
    "too many tokens",
    "token limit exceeded",
    "exceeded model token limit",
    "exceeds the maximum number of tokens",
    "exceeds the maximum number of input tokens",
    "exceeds the maximum allowed length",
    "exceeds the model's maximum limit",
    "maximum prompt length is",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input token length too long",
    "input length too long",
    "prompt exceeds max length",
    "exceeds max length",
    "range of input length should be",
    "must be less than max_seq_len",
    "please reduce the length of the messages",
    "上下文长度",
    "超过最大长度",
    "超出最大长度",
    "输入过长",
    "输入长度超",
)
_CONTEXT_FORMS: Final = (
    re.compile(r"tokens`? ?\+ ?`?max_(?:new_)?tokens`? must be"),
    re.compile(r"input token count.{0,40}exceeds the maximum"),
    re.compile(r"(?:input|prompt|request) \(\d+ tokens\) (?:is|exceeds)"),
    re.compile(r"\(\d+\) >= n_ctx"),
)

TOOL_CALL: Final = (
    "tool call validation failed",
    "was not in request",
    "not found in tool list",
    "invalid_tool_call",
    "failed to call a function",
)
CONTENT: Final = (
    "content management policy",
    "content filtering policy",
    "content policy",
    "usage guidelines",
    "usage policies",
    "safety_check_type",
    "content exists risk",
    "considered high risk",
    "inappropriate content",
    "flagged as potentially violating",
    "flagged by our safety",
    "input was flagged",
    "request was flagged",
    "rejected by the safety system",
    "rejected as a result of our safety system",
    "blocked by our content",
    "敏感内容",
    "不安全",
    "违规内容",
    "内容安全",
)
MONEY: Final = (
    "insufficient balance",
    "insufficient_balance",
    "balance is insufficient",
    "balance not enough",
    "balance is too low",
    "insufficient quota",
    "insufficient_quota",
    "insufficient credit",
    "insufficient fund",
    "not enough credit",
    "no credits left",
    "no credits remaining",
    "have no credits",
    "out of credits",
    "out of extra usage",
    "requires more credits",
    "have any credits",
    "used all available credits",
    "used up your credits",
    "credits have been exhausted",
    "credits are depleted",
    "credit balance is depleted",
    "credits expired",
    "credits exhausted",
    "exhausted your credits",
    "included credits",
    "credit limit exceeded",
    "can only afford",
    "no available package",
    "package not active",
    "purchase package",
    "spending limit",
    "spend limit",
    "spending cap",
    "spend cap",
    "key limit exceeded",
    "billing hard limit",
    "budget has been exceeded",
    "payment required",
    "payment method is required",
    "add a payment method",
    "update your payment method",
    "payment is past due",
    "card on file",
    "in arrears",
    "overdue",
    "account is in good standing",
    "free allocated quota exceeded",
    "free tier of the model has been exhausted",
    "余额不足",
    "余额已用完",
    "欠费",
    "请充值",
    "额度不足",
    "额度已用尽",
)
QUOTA: Final = (
    "quota exhausted",
    "per day",
    "daily limit",
    "daily quota",
    "weekly limit",
    "monthly limit",
    "weekly usage limit",
    "monthly usage limit",
    "session usage limit",
    "daily usage limit",
    "hour usage limit",
    "usage limit for this",
    "usage limit reached",
    "daily free allocation",
)
"""Period quotas, looked for on any 4xx. On a limit, every word for a period is read (:mod:`.periods`)."""
RATE: Final = (
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "per minute",
    "being throttled",
    "速率限制",
    "请求过于频繁",
    "并发数过高",
    "频率过高",
)
DENIED: Final = (
    "plan does not include",
    "plan doesn't include",
    "not available for your plan",
    "not available on your plan",
    "not supported on your plan",
    "not supported on your current plan",
    "requires a subscription",
    "permission denied",
    "access denied",
    "forbidden",
    "not allowed to access",
    "not authorized to access",
    "no access to model",
    "location is not supported",
    "not available in your country",
    "not available in your region",
    "country, region, or territory not supported",
    "organization has been disabled",
    "organization has been restricted",
    "accept the terms",
    "没有权限",
    "无权限",
    "无权访问",
)
KEY: Final = (
    "invalid api key",
    "invalid api-key",
    "invalid x-api-key",
    "incorrect api key",
    "wrong api key",
    "missing api key",
    "api key not set",
    "api key not valid",
    "api key is invalid",
    "api key expired",
    "api key you provided is invalid",
    "no api key provided",
    "api key was reported as leaked",
    "unregistered callers",
    "authentication failed",
    "authentication fails",
    "authentication error",
    "auth failed",
    "unauthorized",
    "invalid token",
    "invalid proxy server token",
    "token expired",
    "invalid authentication",
    "invalid credentials",
    "鉴权失败",
    "身份验证失败",
    "无效的令牌",
    "密钥无效",
)
FULL: Final = (
    "overloaded",
    "high demand",
    "high traffic",
    "high load",
    "temporarily unavailable",
    "over capacity",
    "at capacity",
    "capacity exceeded",
    "capacity temporarily exceeded",
    "system capacity limits",
    "no more data centers",
    "too busy",
    "server busy",
    "server is busy",
    "really busy",
    "degraded function",
    "no deployments available",
    "访问量过大",
    "负载已饱和",
    "系统繁忙",
    "服务繁忙",
    "过载",
)
_MODEL_GONE: Final = (
    "not found",
    "does not exist",
    "doesn't exist",
    "not exist",
    "unknown",
    "unsupported",
    "no longer available",
    "no longer supported",
    "is deprecated",
    "been deprecated",
    "been decommissioned",
    "been retired",
    "end of life",
    "is not a valid model",
    "no such model",
    "unable to access",
)
_MODEL_GONE_WHOLE: Final = (
    "invalid model",
    "no such model",
    "no model found",
    "no endpoints found",
    "模型不存在",
    "模型不可用",
)
_MODEL_UNSERVED: Final = re.compile(
    r"model ['\"`]?[\w./:@-]{1,120}['\"`]? is not supported(?: on the full model list)?\.?$"
)
NETWORK_WORDS: Final = (
    "timeout",
    "timed out",
    "deadline exceeded",
    "connection reset",
    "connection refused",
    "connection aborted",
    "connection error",
    "connection closed",
    "peer closed connection",
    "server disconnected",
    "socket hang up",
    "econnreset",
    "econnrefused",
    "etimedout",
    "enotfound",
    "name or service not known",
    "name resolution",
    "getaddrinfo",
    "certificate verify failed",
    "network is unreachable",
)
"""Looked at only when there is no status at all."""


def context_phrase(low: str) -> str | None:
    """The words that say "longer than the model's window", or ``None``."""
    for phrase in CONTEXT:
        if phrase in low:
            return phrase
    for form in _CONTEXT_FORMS:
        match = form.search(low)
        if match:
            return match[0]
    return None


def model_gone(low: str) -> str | None:
    """The words that say "no such model" within one ``: `` segment, or ``None``."""
    for phrase in _MODEL_GONE_WHOLE:
        if phrase in low:
            return phrase
    if "model" not in low:
        return None
    for segment in low.split(": "):
        if "model" in segment:
            for phrase in _MODEL_GONE:
                if phrase in segment:
                    return f"model … {phrase}"
            if _MODEL_UNSERVED.search(segment):
                return "model … is not supported"
    return None


_BEFORE_LIMITS: Final = ((TOOL_CALL, TOOL_SCHEMA), (CONTENT, CONTENT_FILTER), (MONEY, BALANCE))
_AFTER_LIMITS: Final = ((DENIED, PERMISSION), (KEY, AUTH))


def find(low: str, rows: tuple[tuple[tuple[str, ...], Rule], ...]) -> tuple[str, Rule] | None:
    """The first row with a phrase in ``low``."""
    for phrases, rule in rows:
        for phrase in phrases:
            if phrase in low:
                return phrase, rule
    return None


def before_limits(low: str, *, window: bool) -> tuple[str, Rule] | None:
    """Window (unless a 429 speaks), tool call, content and money: the rows ahead of the limits."""
    if window:
        phrase = context_phrase(low)
        if phrase:
            return phrase, WINDOW
    return find(low, _BEFORE_LIMITS)


def after_limits(low: str) -> tuple[str, Rule] | None:
    """Permission, key, model and capacity: the rows behind the limits."""
    low = low.replace("extra_forbidden", "")  # a validator's word for an unknown field
    found = find(low, _AFTER_LIMITS)
    if found:
        return found
    gone = model_gone(low)
    if gone:
        return gone, NOT_FOUND
    return find(low, ((FULL, CAPACITY),))
