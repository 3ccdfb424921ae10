"""DeepSeek, Z.ai, Moonshot, DashScope, SiliconFlow and MiniMax: own codes, Beijing times, flat bodies."""

# ruff: noqa: E501 (the bodies stand as they go out)

from __future__ import annotations

from typing import Final

from zc_notebooks.lab.failures.shape import Body, Failure, Moment, chunk, sse, wait_header
from zc_notebooks.lab.failures.shape import entry as _one


def _filled(message: str, moment: Moment) -> str:
    return message.format(
        model=moment.model, limit=moment.limit, used=moment.used, window=moment.window, requested=moment.requested,
        wait=moment.whole_wait_s, beijing=moment.beijing, words=moment.message,
    )  # fmt: skip


def _error(message: str, kind: str, code: str | None = None) -> Body:
    return lambda m: {"error": {"message": _filled(message, m), "type": kind, "param": None, "code": code}}


def _zai(code: str, message: str) -> Body:
    return lambda m: {"error": {"code": code, "message": _filled(message, m)}}


def _moonshot(message: str, kind: str) -> Body:
    return lambda m: {"error": {"message": _filled(message, m), "type": kind}}


def _dashscope(message: str, kind: str, code: str) -> Body:
    return lambda m: {
        "error": {"message": _filled(message, m), "type": kind, "param": None, "code": code}, "request_id": m.uuid(),
    }  # fmt: skip


def _siliconflow(message: str, code: int | None = None) -> Body:
    return lambda m: {**({} if code is None else {"code": code}), "message": _filled(message, m), "data": None}


def _moonshot_headers(moment: Moment) -> dict[str, str]:
    wait = str(max(moment.whole_wait_s, 1))
    return {"x-ratelimit-limit": str(moment.limit), "x-ratelimit-remaining": "0", "x-ratelimit-reset": wait}


def _ends_with(word: str, text: str = "Let me see") -> Body:
    """A stream, or a whole answer, whose finish reason is a failure."""

    def body(moment: Moment) -> object:
        usage = {"prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17}
        if moment.framing == "sse":
            first = chunk(moment, {"role": "assistant", "content": text})
            return sse(first, chunk(moment, {"role": "assistant", "content": ""}, word, usage=usage), done=True)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": word}
        told = {"id": moment.id(), "object": "chat.completion", "created": moment.unix, "model": moment.model}
        return {**told, "choices": [choice], "usage": usage}

    return body


_CHAT: Final = ("openai_chat",)
_WORKING = "We advise users to temporarily switch to alternative LLM API service providers."
_FIVE_HOURS_ZH = "已达到 5 小时的使用上限。您的限额将在 {beijing} 重置。"
_UNSAFE_ZH = "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。"


def _minimax(moment: Moment) -> object:
    told = {"id": moment.id(32), "choices": None, "created": moment.unix, "model": moment.model}
    return {
        **told, "object": "chat.completion", "usage": {"total_tokens": 0},
        "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"},
    }  # fmt: skip


FAILURES: Final[tuple[Failure, ...]] = (
    _one(
        "deepseek.auth", 401, "auth", "The key is wrong; the code says something else.",
        _error("Authentication Fails, Your api key: ****-lab is invalid", "authentication_error", "invalid_request_error"),
    ),
    _one(
        "deepseek.balance", 402, "balance", "The prepaid money is used up; only status and message say so.",
        _error("Insufficient Balance", "unknown_error", "invalid_request_error"),
    ),
    _one(
        "deepseek.capacity", 503, "capacity", "The service is full.",
        _error(f"Service is too busy. {_WORKING}", "service_unavailable_error", "service_unavailable_error"),
    ),
    _one(
        "deepseek.concurrency", 429, "minute_limit", "Too many requests at once.",
        _error("Too many concurrent requests: the limit for {model} is {limit}. Please reduce your concurrency.", "rate_limit_error", "rate_limit_exceeded"),
        lasts=1.0, numbers={"limit": 500},
    ),
    _one("deepseek.not_found", 400, "not_found", "No such model.", _error("Model Not Exist", "invalid_request_error", "invalid_request_error")),
    _one(
        "deepseek.context", 400, "context_window", "The prompt is longer than the model's window.",
        _error("This model's maximum context length is {window} tokens. However, you requested {requested} tokens ({requested} in the messages, 0 in the completion). Please reduce the length of the messages or completion.", "invalid_request_error", "invalid_request_error"),
        numbers={"requested": 140_112, "window": 131_072},
    ),
    _one(
        "deepseek.resource_finish", 200, "capacity", "An answer that ends because their machines were short.",
        _ends_with("insufficient_system_resource"), wires=_CHAT,
    ),
    _one("zai.auth", 401, "auth", "The key is wrong.", _zai("1000", "Authentication Failed")),
    _one("zai.balance", 429, "balance", "No money, said with HTTP 429.", _zai("1113", "Insufficient balance or no resource package. Please recharge.")),
    _one("zai.capacity", 429, "capacity", "Their side is full.", _zai("1305", "The service may be temporarily overloaded, please try again later")),
    _one(
        "zai.five_hours", 429, "daily_limit", "The quota of five hours is used up; the reset is a Beijing time without a zone.",
        _zai("1308", "Usage limit reached for 5 hour. Your limit will reset at {beijing}"), lasts=2.5 * 3600,
    ),
    _one("zai.five_hours_zh", 429, "daily_limit", "The same in Chinese.", _zai("1308", _FIVE_HOURS_ZH), lasts=2.5 * 3600),
    _one(
        "zai.requests_per_session", 429, "daily_limit", "The quota of five hours, as a counter has it.",
        _zai("1308", "Usage limit reached for 5 hour. Your limit will reset at {beijing}"), lasts=2.5 * 3600,
    ),
    _one(
        "zai.weekly", 429, "daily_limit", "The quota of the week or month is used up.",
        _zai("1310", "Weekly/Monthly Limit Exhausted. Your limit will reset at {beijing}"), lasts=2.0 * 86_400,
    ),
    _one(
        "zai.requests_per_week", 429, "daily_limit", "The same, as a counter has it.",
        _zai("1310", "Weekly/Monthly Limit Exhausted. Your limit will reset at {beijing}"), lasts=2.0 * 86_400,
    ),
    _one("zai.concurrency", 429, "minute_limit", "Too many requests at once.", _zai("1302", "High concurrency usage of this API, please reduce concurrency or contact customer service to increase limits"), lasts=2.0),
    _one("zai.permission", 429, "permission", "The plan does not hold the model.", _zai("1311", "The current subscription plan does not include access to {model}")),
    _one("zai.context", 400, "context_window", "The prompt is too long.", _zai("1261", "Prompt exceeds max length")),
    _one("zai.not_found", 400, "not_found", "No such model.", _zai("1211", "Unknown Model, please check the model code.")),
    _one(
        "zai.content_filter", 400, "content_filter", "The prompt was found unsafe.",
        lambda _: {"contentFilter": [{"level": 2, "role": "user"}], "error": {"code": "1301", "message": _UNSAFE_ZH}},
    ),
    _one("zai.sensitive", 200, "content_filter", "An answer broken off as unsafe.", _ends_with("sensitive"), wires=_CHAT),
    _one("zai.network_finish", 200, "server_error", "An answer broken off by their network.", _ends_with("network_error"), wires=_CHAT),
    _one("moonshot.capacity", 429, "capacity", "The engine is full.", _moonshot("The engine is currently overloaded, please try again later", "engine_overloaded_error")),
    _one(
        "moonshot.requests_per_minute", 429, "minute_limit", "The minute's requests are used up; the stated second is too little.",
        _moonshot("Your account org-lab<lab> request reached organization max RPM: {limit}, please try again after 1 seconds", "rate_limit_reached_error"),
        headers=_moonshot_headers, lasts=20.0, numbers={"limit": 3},
    ),
    _one(
        "moonshot.concurrency", 429, "minute_limit", "Too many requests at once.",
        _moonshot("Your account org-lab<lab> request reached max organization concurrency: {limit}, please try again after 1 seconds", "rate_limit_reached_error"),
        lasts=1.0, numbers={"limit": 1},
    ),
    _one(
        "moonshot.tokens_per_day", 429, "token_daily_limit", "The day's tokens are used up.",
        _moonshot("Your account org-lab<lab> request reached TPD rate limit, current: {used}, limit: {limit}, please try again later", "rate_limit_reached_error"),
        lasts="utc_midnight", numbers={"limit": 1_500_000, "used": 1_500_321},
    ),
    _one(
        "moonshot.balance", 429, "balance", "No money, said with HTTP 429.",
        _moonshot("Your account org-lab<lab> is suspended due to insufficient balance, please recharge your account or check your plan and billing details", "exceeded_current_quota_error"),
    ),
    _one("moonshot.content_filter", 400, "content_filter", "The prompt was refused.", _moonshot("The request was rejected because it was considered high risk", "content_filter")),
    _one(
        "moonshot.context", 400, "context_window", "The prompt is too long.",
        _moonshot("Invalid request: Your request exceeded model token limit: {window}", "invalid_request_error"), numbers={"window": 8_192},
    ),
    _one("moonshot.auth", 401, "auth", "The key is wrong.", _moonshot("Invalid Authentication", "invalid_authentication_error")),
    _one("moonshot.not_found", 404, "not_found", "No such model.", _moonshot("Not found the model {model} or Permission denied", "resource_not_found_error")),
    _one(
        "dashscope.auth", 401, "auth", "The key is wrong.",
        _dashscope("Incorrect API key provided. For details, see: https://help.aliyun.com/zh/model-studio/error-code#apikey-error", "invalid_request_error", "invalid_api_key"),
    ),
    _one(
        "dashscope.balance", 403, "balance", "The one-time free quota is used up.",
        _dashscope('The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please complete your payment information or disable the "use free tier only" mode in the management console.', "AllocationQuota.FreeTierOnly", "AllocationQuota.FreeTierOnly"),
    ),
    _one(
        "dashscope.tokens_per_minute", 429, "minute_limit", "The minute's tokens are used up, under a code that elsewhere means money.",
        _dashscope("You exceeded your current quota, please check your plan and billing details. For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit", "insufficient_quota", "insufficient_quota"),
        lasts=30.0,
    ),
    _one(
        "dashscope.requests_per_minute", 429, "minute_limit", "The minute's requests are used up, in the native form.",
        lambda m: {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded, please try again later.", "request_id": m.uuid()},
        lasts=30.0,
    ),
    _one("dashscope.arrears", 400, "balance", "The account is in arrears.", _dashscope("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage")),
    _one("dashscope.not_found", 404, "not_found", "No such model.", _dashscope("The model `{model}` does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")),
    _one(
        "dashscope.content_filter", 400, "content_filter", "The prompt was found unsafe.",
        _dashscope("Input data may contain inappropriate content.", "data_inspection_failed", "data_inspection_failed"),
    ),
    _one("siliconflow.auth", 401, "auth", "The key is wrong; the body is a JSON string.", lambda _: '"Api key is invalid"'),
    _one("siliconflow.balance", 402, "balance", "No money.", _siliconflow("Sorry, your account balance is insufficient", 30001)),
    _one("siliconflow.capacity", 503, "capacity", "The service is full.", _siliconflow("Model service overloaded. Please try again later.", 50505)),
    _one("siliconflow.tokens_per_minute", 429, "minute_limit", "The minute's tokens are used up.", _siliconflow("Request was rejected due to rate limiting. Details: TPM limit reached."), lasts=30.0),
    _one("siliconflow.requests_per_minute", 429, "minute_limit", "The minute's requests are used up.", _siliconflow("Request was rejected due to rate limiting. Details: RPM limit reached."), lasts=30.0),
    _one("siliconflow.not_found", 400, "not_found", "No such model.", _siliconflow("Model does not exist. Please check it carefully.", 20012)),
    _one("minimax.base_resp", 200, "balance", "No money, said inside HTTP 200.", _minimax, wires=_CHAT),
    _one("minimax.balance", 200, "balance", "The same by its kind.", _minimax, wires=_CHAT),
    _one(
        "minimax.requests_per_minute", 429, "minute_limit", "The minute's requests are used up.",
        lambda m: {"type": "error", "error": {"type": "rate_limit_error", "message": "rate limit exceeded(RPM)", "http_code": "429"}, "request_id": m.id(32)},
        headers=wait_header, lasts=20.0,
    ),
)  # fmt: skip
