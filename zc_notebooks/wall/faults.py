"""The table of the wall: every fault, what the lab does for it, and what has to come of it in each mode.

One line of ``rows`` is one call. Where a first answer failed, a chat stays with the primary as its budget allows; a
stream is never opened twice, so its recovery goes on with the backup (specification 5.2, 5.3 and 8.5).
"""

from __future__ import annotations

from typing import Any, Final, get_args

from zc_notebooks.lab.faults import Fault, FaultLike
from zc_notebooks.wall.trial import Mode, Trial, Way

_TOOL: Final = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
_ROUTER: Final = {"primary": "router", "backup": "backup"}
_GOOGLE: Final = {"primary": "google", "backup": "backup"}
_HALF_A_MINUTE: Final = Fault(kind="status", status=429, retry_after_s=2)
_TWO_MINUTES: Final = Fault(kind="status", status=429, retry_after_s=120)
_QUICK: Final = {"read_timeout_s": 0.3, "first_token_timeout_s": 0.3}

_LIMIT: Final = "http_429 minute_limit"
_FULL: Final = "http_503 capacity"
_COOLING: Final = "skipped_cooldown"
_GONE: Final = "AllCandidatesFailed"
_BUSY: Final = "primary skipped_cooldown; backup ok"
"""A later call heeds the cooldown."""


def _trial(fault: str, sets: FaultLike | tuple[FaultLike | None, ...], **said: Any) -> Trial:
    """``chat``, ``stream`` and ``draft``: what has to come of the fault there."""
    ways: dict[Mode, Way] = {mode: said.pop(mode) for mode in get_args(Mode) if mode in said}
    return Trial(fault=fault, sets=sets, ways=ways, **said)


def _way(*rows: str, **more: Any) -> Way:
    return Way(rows=rows, **more)


def _budget(row: str) -> str:
    """The whole budget of the primary."""
    return f"primary {row}; +0.5 primary {row}; +1 primary {row}"


def _thrice(row: str, mark: str | None = None) -> Way:
    """The whole budget of the primary, then the backup."""
    return _way(f"{_budget(row)}; backup ok", mark=mark)


def _once(row: str) -> Way:
    """One request to the primary, then the backup."""
    return _way(f"primary {row}; backup ok")


def _recovered(row: str, skip: str = "skipped_failed_stream", mark: str | None = None, redrafts: int = 0) -> Way:
    """A stream that failed with nothing shown, or nothing that stays; the backup answers."""
    return _way(f"primary {row}; primary {skip}; backup ok", mark=mark, redrafts=redrafts)


def _interrupted(row: str) -> Way:
    """A stream that failed after 40 tokens: kept, said loudly, and nobody is asked again."""
    return _way(f"primary {row}", raises="StreamInterruptedAfterOutput", keeps=40)


_FINE: Final = _way("primary ok")


def _down(row: str) -> dict[str, Way]:
    """Passing, but not soon enough."""
    return {"chat": _thrice(row), "stream": _recovered(row)}


def _refused(row: str) -> dict[str, Way]:
    """Asking again cannot help."""
    return {"chat": _once(row), "stream": _recovered(row)}


def _broken(whole: str, streamed: str) -> dict[str, Way]:
    """An answer that breaks off after 40 tokens."""
    return {"chat": _thrice(whole), "stream": _interrupted(streamed), "draft": _recovered(streamed, redrafts=1)}


TRIALS: Final[tuple[Trial, ...]] = (
    # -- limits, failures of the server, of the network, of time ---------------------------------------------------
    _trial(
        "429 with Retry-After 2",
        _HALF_A_MINUTE,
        times=1,
        chat=_way(f"primary {_LIMIT}; +2 primary ok"),
        stream=_recovered(_LIMIT, _COOLING, "2 s stated"),
    ),
    _trial(
        "429 with Retry-After 2, no backup",
        _HALF_A_MINUTE,
        times=1,
        chain={"primary": "primary"},
        chat=_way(f"primary {_LIMIT}; +2 primary ok"),
        stream=_way(f"primary {_LIMIT}; +2 primary ok"),
    ),
    _trial(
        "429 for good",
        "status:429",
        chat=_thrice(_LIMIT, "10 s guessed"),
        stream=_recovered(_LIMIT, _COOLING, "10 s guessed"),
    ),
    _trial(
        "one 500",
        "status:500",
        times=1,
        chat=_way("primary http_500 server_error; +0.5 primary ok"),
        stream=_recovered("http_500 server_error"),
    ),
    _trial("503", "status:503", **_down(_FULL)),
    _trial("connection reset", "reset", **_down("network network")),
    _trial("no answer", "hang", limits=_QUICK, **_down("timeout network")),
    _trial("first token late", "slow_start:5", limits=_QUICK, stream=_recovered("timeout network")),
    _trial("first token late, within the limit", "slow_start:0.2", chat=_FINE, stream=_FINE),
    # -- broken answers ---------------------------------------------------------------------------------------------
    _trial("cut after 40 of 60 tokens", "cut:40", **_broken("network network", "stream_cut stream_cut")),
    _trial(
        "cut that looks like a clean end", "cut_clean:40", **_broken("stream_cut stream_cut", "stream_cut stream_cut")
    ),
    _trial(
        "stall",
        "stall:40",
        limits={"read_timeout_s": 0.3, "idle_timeout_s": 0.3},
        **_broken("timeout network", "timeout network"),
    ),
    _trial("malformed chunk", "malformed:40", **_broken("stream_cut stream_cut", "stream_error server_error")),
    _trial("no [DONE]", "no_done", stream=_FINE),
    # -- refusals of the request ------------------------------------------------------------------------------------
    _trial(
        "context length",
        "context",
        chat=_once("http_400 context_window"),
        stream=_recovered("http_400 context_window", "skipped_window"),
    ),
    _trial("content filter", "content_filter", **_refused("http_400 content_filter")),
    _trial(
        "content filter, as finish reason",
        "content_filter_finish",
        chat=_once("body_error content_filter"),
        stream=_recovered("stream_error content_filter"),
    ),
    _trial(
        "backup rejects the request's shape",
        "status:503",
        backup_sets="bad_request",
        chat=_way(f"{_budget(_FULL)}; backup http_400 bad_request", raises=_GONE),
        stream=_way(f"primary {_FULL}; primary skipped_failed_stream; backup http_400 bad_request", raises=_GONE),
    ),
    _trial(
        "backup takes no tools, a third does",
        "status:503",
        chain={"primary": "primary", "backup": "narrow", "third": "backup"},
        settings={"tools": [_TOOL]},
        chat=_way(f"{_budget(_FULL)}; backup http_400 bad_request; third ok"),
        stream=_way(f"primary {_FULL}; primary skipped_failed_stream; backup http_400 bad_request; third ok"),
    ),
    # -- over several calls -----------------------------------------------------------------------------------------
    _trial(
        "flapping primary",
        ("status:500", "ok", "status:500", "ok"),
        chat=_way(
            "primary http_500 server_error; +0.5 primary ok",
            "primary http_500 server_error; +0.5 primary ok",
            "primary ok",
        ),
        stream=_way(
            "primary http_500 server_error; primary skipped_failed_stream; backup ok",
            "primary ok",
            "primary http_500 server_error; primary skipped_failed_stream; backup ok",
            "primary ok",
        ),
    ),
    _trial(
        "failover is accounted",
        ("empty", "status:500", "no_usage", "cut_clean:40"),
        chat=_way("primary empty; +0.5 primary http_500; +1 primary ok", "primary stream_cut; +0.5 primary ok"),
        stream=_way("primary empty; primary http_500; backup ok", "primary ok"),
    ),
    # -- free tiers -------------------------------------------------------------------------------------------------
    _trial("402 without credit", "balance", chain=_ROUTER, **_refused("http_402 balance")),
    _trial(
        '402 "can only afford"',
        "afford",
        times=1,
        chain=_ROUTER,
        then_max_tokens=2917,
        chat=_way("primary http_402 balance; primary ok"),
        stream=_recovered("http_402 balance"),
    ),
    _trial(
        "in-flight 402",
        "in_flight",
        chain=_ROUTER,
        chat=_way("primary http_402 minute_limit; +4 primary ok"),
        stream=_recovered("http_402 minute_limit", _COOLING, "4 s stated"),
    ),
    _trial(
        "day quota with a lying retry delay",
        "requests_per_day",
        chain=_GOOGLE,
        chat=_way("primary http_429 daily_limit; backup ok", _BUSY, mark="68400 s inferred"),
        stream=_way(
            "primary http_429 daily_limit; primary skipped_cooldown; backup ok", _BUSY, mark="68400 s inferred"
        ),
    ),
    _trial("limit: 0", "limit_zero", chain=_GOOGLE, **_refused("http_429 permission")),
    _trial(
        "account-wide free quota",
        "free_daily",
        chain={"primary": "router", "sibling": "router/qwen/qwen3-8b:free", "backup": "backup"},
        chat=_way(
            "primary http_429 daily_limit; sibling skipped_cooldown; backup ok",
            "primary skipped_cooldown; sibling skipped_cooldown; backup ok",
            mark="43200 s stated",
        ),
        stream=_way(
            "primary http_429 daily_limit; primary skipped_cooldown; sibling skipped_cooldown; backup ok",
            "primary skipped_cooldown; sibling skipped_cooldown; backup ok",
            mark="43200 s stated",
        ),
    ),
    _trial(
        "Retry-After above the cap",
        _TWO_MINUTES,
        chat=_way(f"primary {_LIMIT}; backup ok", _BUSY, mark="120 s stated"),
        stream=_way(f"primary {_LIMIT}; {_BUSY}", _BUSY, mark="120 s stated"),
    ),
    # -- HTTP 200, and no answer ------------------------------------------------------------------------------------
    _trial(
        "200 with an error body",
        Fault(kind="ok_error_body", failure="server_error"),
        chat=_thrice("body_error server_error"),
        stream=_recovered("stream_error server_error"),
    ),
    _trial(
        "error event after 200, before any text",
        Fault(kind="error_event", after=0, failure="server_error"),
        stream=_recovered("stream_error server_error"),
    ),
    _trial(
        "error event after 200, after 40 tokens",
        Fault(kind="error_event", after=40, failure="server_error"),
        stream=_interrupted("stream_error server_error"),
        draft=_recovered("stream_error server_error", redrafts=1),
    ),
    _trial("empty", "empty", chat=_thrice("empty empty"), stream=_recovered("empty empty", "empty empty")),
    _trial(
        "reasoning-only",
        "reasoning_only",
        thinks="Let me think about it before I say anything. ",
        chat=_thrice("empty empty"),
        stream=_recovered("empty empty", "empty empty"),
        draft=_recovered("empty empty", "empty empty"),
    ),
    _trial("served model is not the requested one", "other_model", reports="another-model", chat=_FINE, stream=_FINE),
    # -- real processes ---------------------------------------------------------------------------------------------
    _trial(
        "two processes at one limit",
        (_TWO_MINUTES, "slow_start:1.5"),
        cast="two_processes",
        chat=_way(f"primary {_LIMIT}; backup ok", _BUSY, "primary ok", _BUSY),
        stream=_way(f"primary {_LIMIT}; {_BUSY}", _BUSY, "primary ok", _BUSY),
    ),
    _trial(
        "restart in the middle of a cooldown",
        (_TWO_MINUTES,),
        cast="restart",
        chat=_way(f"primary {_LIMIT}; backup ok", _BUSY, "primary ok"),
        stream=_way(f"primary {_LIMIT}; {_BUSY}", _BUSY, "primary ok"),
    ),
)
