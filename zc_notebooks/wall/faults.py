"""The table of the wall: every fault, what the lab does for it, and what has to come of it in each mode.

One line of ``rows`` is one call. Where a first answer failed, a chat stays with the primary as its budget allows; a
stream is never opened twice, so its recovery goes on with the backup (specification 5.2, 5.3 and 8.5).
"""

from __future__ import annotations

from typing import Final

from zc_notebooks.lab.faults import Fault
from zc_notebooks.wall.trial import PAIR, Trial, Way

_TOOL: Final = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
_ROUTER: Final = {"primary": "router", "backup": "backup"}
_GOOGLE: Final = {"primary": "google", "backup": "backup"}
_CUT_OFF: Final = "StreamInterruptedAfterOutput"
_HALF_A_MINUTE: Final = Fault(kind="status", status=429, retry_after_s=2)
_TWO_MINUTES: Final = Fault(kind="status", status=429, retry_after_s=120)
_QUICK: Final = {"read_timeout_s": 0.3, "first_token_timeout_s": 0.3}
_BUSY: Final = "primary skipped_cooldown; backup ok"


def _thrice(row: str) -> Way:
    """The whole budget of the primary, then the backup."""
    return Way(rows=(f"primary {row}; +0.5 primary {row}; +1 primary {row}; backup ok",))


def _once(row: str, mark: str | None = None) -> Way:
    """One request to the primary, then the backup."""
    return Way(rows=(f"primary {row}; backup ok",), mark=mark)


def _recovered(row: str, skip: str = "skipped_failed_stream", mark: str | None = None, redrafts: int = 0) -> Way:
    """A stream that failed with nothing shown, or nothing that stays; the backup answers."""
    return Way(rows=(f"primary {row}; primary {skip}; backup ok",), mark=mark, redrafts=redrafts)


def _interrupted(row: str) -> Way:
    """A stream that failed after 40 tokens: kept, said loudly, and nobody is asked again."""
    return Way(rows=(f"primary {row}",), raises=_CUT_OFF, keeps=40)


_FINE: Final = Way(rows=("primary ok",))

TRIALS: Final[tuple[Trial, ...]] = (
    # -- limits, failures of the server, of the network, of time ---------------------------------------------------
    Trial(
        fault="429 with Retry-After 2",
        sets=_HALF_A_MINUTE,
        times=1,
        ways={
            "chat": Way(rows=("primary http_429 minute_limit; +2 primary ok",)),
            "stream": _recovered("http_429 minute_limit", "skipped_cooldown", "2 s stated"),
        },
    ),
    Trial(
        fault="429 with Retry-After 2, no backup",
        sets=_HALF_A_MINUTE,
        times=1,
        chain={"primary": "primary"},
        ways={
            "chat": Way(rows=("primary http_429 minute_limit; +2 primary ok",)),
            "stream": Way(rows=("primary http_429 minute_limit; +2 primary ok",)),
        },
    ),
    Trial(
        fault="429 for good",
        sets="status:429",
        ways={
            "chat": Way(
                rows=(
                    "primary http_429 minute_limit; +0.5 primary http_429 minute_limit; "
                    "+1 primary http_429 minute_limit; backup ok",
                ),
                mark="10 s guessed",
            ),
            "stream": _recovered("http_429 minute_limit", "skipped_cooldown", "10 s guessed"),
        },
    ),
    Trial(
        fault="one 500",
        sets="status:500",
        times=1,
        ways={
            "chat": Way(rows=("primary http_500 server_error; +0.5 primary ok",)),
            "stream": _recovered("http_500 server_error"),
        },
    ),
    Trial(
        fault="503",
        sets="status:503",
        ways={"chat": _thrice("http_503 capacity"), "stream": _recovered("http_503 capacity")},
    ),
    Trial(
        fault="connection reset",
        sets="reset",
        ways={"chat": _thrice("network network"), "stream": _recovered("network network")},
    ),
    Trial(
        fault="no answer",
        sets="hang",
        limits=_QUICK,
        ways={"chat": _thrice("timeout network"), "stream": _recovered("timeout network")},
    ),
    Trial(
        fault="first token late",
        sets="slow_start:5",
        limits=_QUICK,
        ways={"stream": _recovered("timeout network")},
    ),
    Trial(
        fault="first token late, within the limit",
        sets="slow_start:0.2",
        ways={"chat": _FINE, "stream": _FINE},
    ),
    # -- broken answers ---------------------------------------------------------------------------------------------
    Trial(
        fault="cut after 40 of 60 tokens",
        sets="cut:40",
        ways={
            "chat": _thrice("network network"),
            "stream": _interrupted("stream_cut stream_cut"),
            "draft": _recovered("stream_cut stream_cut", redrafts=1),
        },
    ),
    Trial(
        fault="cut that looks like a clean end",
        sets="cut_clean:40",
        ways={
            "chat": _thrice("stream_cut stream_cut"),
            "stream": _interrupted("stream_cut stream_cut"),
            "draft": _recovered("stream_cut stream_cut", redrafts=1),
        },
    ),
    Trial(
        fault="stall",
        sets="stall:40",
        limits={"read_timeout_s": 0.3, "idle_timeout_s": 0.3},
        ways={
            "chat": _thrice("timeout network"),
            "stream": _interrupted("timeout network"),
            "draft": _recovered("timeout network", redrafts=1),
        },
    ),
    Trial(
        fault="malformed chunk",
        sets="malformed:40",
        ways={
            "chat": _thrice("stream_cut stream_cut"),
            "stream": _interrupted("stream_error server_error"),
            "draft": _recovered("stream_error server_error", redrafts=1),
        },
    ),
    Trial(fault="no [DONE]", sets="no_done", ways={"stream": _FINE}),
    # -- refusals of the request ------------------------------------------------------------------------------------
    Trial(
        fault="context length",
        sets="context",
        ways={
            "chat": _once("http_400 context_window"),
            "stream": _recovered("http_400 context_window", "skipped_window"),
        },
    ),
    Trial(
        fault="content filter",
        sets="content_filter",
        ways={"chat": _once("http_400 content_filter"), "stream": _recovered("http_400 content_filter")},
    ),
    Trial(
        fault="content filter, as finish reason",
        sets="content_filter_finish",
        ways={"chat": _once("body_error content_filter"), "stream": _recovered("stream_error content_filter")},
    ),
    Trial(
        fault="backup rejects the request's shape",
        sets="status:503",
        backup_sets="bad_request",
        ways={
            "chat": Way(
                rows=(
                    "primary http_503 capacity; +0.5 primary http_503 capacity; +1 primary http_503 capacity; "
                    "backup http_400 bad_request",
                ),
                raises="AllCandidatesFailed",
            ),
            "stream": Way(
                rows=("primary http_503 capacity; primary skipped_failed_stream; backup http_400 bad_request",),
                raises="AllCandidatesFailed",
            ),
        },
    ),
    Trial(
        fault="backup takes no tools, a third does",
        sets="status:503",
        chain={"primary": "primary", "backup": "narrow", "third": "backup"},
        settings={"tools": [_TOOL]},
        ways={
            "chat": Way(
                rows=(
                    "primary http_503 capacity; +0.5 primary http_503 capacity; +1 primary http_503 capacity; "
                    "backup http_400 bad_request; third ok",
                )
            ),
            "stream": Way(
                rows=(
                    "primary http_503 capacity; primary skipped_failed_stream; backup http_400 bad_request; third ok",
                )
            ),
        },
    ),
    # -- over several calls -----------------------------------------------------------------------------------------
    Trial(
        fault="flapping primary",
        sets=("status:500", "ok", "status:500", "ok"),
        ways={
            "chat": Way(
                rows=(
                    "primary http_500 server_error; +0.5 primary ok",
                    "primary http_500 server_error; +0.5 primary ok",
                    "primary ok",
                )
            ),
            "stream": Way(
                rows=(
                    "primary http_500 server_error; primary skipped_failed_stream; backup ok",
                    "primary ok",
                    "primary http_500 server_error; primary skipped_failed_stream; backup ok",
                    "primary ok",
                )
            ),
        },
    ),
    Trial(
        fault="failover is accounted",
        sets=("empty", "status:500", "no_usage", "cut_clean:40"),
        chain={**PAIR, "third": "narrow"},
        ways={
            "chat": Way(
                rows=(
                    "primary empty; +0.5 primary http_500; +1 primary ok",
                    "primary stream_cut; +0.5 primary ok",
                )
            ),
            "stream": Way(
                rows=(
                    "primary empty; primary http_500; backup ok",
                    "primary ok",
                ),
            ),
        },
    ),
    # -- free tiers -------------------------------------------------------------------------------------------------
    Trial(
        fault="402 without credit",
        sets="balance",
        chain=_ROUTER,
        ways={"chat": _once("http_402 balance"), "stream": _recovered("http_402 balance")},
    ),
    Trial(
        fault='402 "can only afford"',
        sets="afford",
        times=1,
        chain=_ROUTER,
        then_max_tokens=2917,
        ways={
            "chat": Way(rows=("primary http_402 balance; primary ok",)),
            "stream": _recovered("http_402 balance"),
        },
    ),
    Trial(
        fault="in-flight 402",
        sets="in_flight",
        chain=_ROUTER,
        ways={
            "chat": Way(rows=("primary http_402 minute_limit; +4 primary ok",)),
            "stream": _recovered("http_402 minute_limit", "skipped_cooldown", "4 s stated"),
        },
    ),
    Trial(
        fault="day quota with a lying retry delay",
        sets="requests_per_day",
        chain=_GOOGLE,
        ways={
            "chat": Way(rows=("primary http_429 daily_limit; backup ok", _BUSY), mark="68400 s inferred"),
            "stream": Way(
                rows=("primary http_429 daily_limit; primary skipped_cooldown; backup ok", _BUSY),
                mark="68400 s inferred",
            ),
        },
    ),
    Trial(
        fault="limit: 0",
        sets="limit_zero",
        chain=_GOOGLE,
        ways={"chat": _once("http_429 permission"), "stream": _recovered("http_429 permission")},
    ),
    Trial(
        fault="account-wide free quota",
        sets="free_daily",
        chain={"primary": "router", "sibling": "router/qwen/qwen3-8b:free", "backup": "backup"},
        ways={
            "chat": Way(
                rows=(
                    "primary http_429 daily_limit; sibling skipped_cooldown; backup ok",
                    "primary skipped_cooldown; sibling skipped_cooldown; backup ok",
                ),
                mark="43200 s stated",
            ),
            "stream": Way(
                rows=(
                    "primary http_429 daily_limit; primary skipped_cooldown; sibling skipped_cooldown; backup ok",
                    "primary skipped_cooldown; sibling skipped_cooldown; backup ok",
                ),
                mark="43200 s stated",
            ),
        },
    ),
    Trial(
        fault="Retry-After above the cap",
        sets=_TWO_MINUTES,
        ways={
            "chat": Way(rows=("primary http_429 minute_limit; backup ok", _BUSY), mark="120 s stated"),
            "stream": Way(
                rows=("primary http_429 minute_limit; primary skipped_cooldown; backup ok", _BUSY),
                mark="120 s stated",
            ),
        },
    ),
    # -- HTTP 200, and no answer ------------------------------------------------------------------------------------
    Trial(
        fault="200 with an error body",
        sets=Fault(kind="ok_error_body", failure="server_error"),
        ways={"chat": _thrice("body_error server_error"), "stream": _recovered("stream_error server_error")},
    ),
    Trial(
        fault="error event after 200, before any text",
        sets=Fault(kind="error_event", after=0, failure="server_error"),
        ways={"stream": _recovered("stream_error server_error")},
    ),
    Trial(
        fault="error event after 200, after 40 tokens",
        sets=Fault(kind="error_event", after=40, failure="server_error"),
        ways={
            "stream": _interrupted("stream_error server_error"),
            "draft": _recovered("stream_error server_error", redrafts=1),
        },
    ),
    Trial(
        fault="empty",
        sets="empty",
        ways={"chat": _thrice("empty empty"), "stream": _recovered("empty empty", "empty empty")},
    ),
    Trial(
        fault="reasoning-only",
        sets="reasoning_only",
        thinks="Let me think about it before I say anything. ",
        ways={
            "chat": _thrice("empty empty"),
            "stream": _recovered("empty empty", "empty empty"),
            "draft": _recovered("empty empty", "empty empty"),
        },
    ),
    Trial(
        fault="served model is not the requested one",
        sets="other_model",
        reports="another-model",
        ways={"chat": _FINE, "stream": _FINE},
    ),
    # -- real processes ---------------------------------------------------------------------------------------------
    Trial(
        fault="two processes at one limit",
        sets=(_TWO_MINUTES, "slow_start:1.5"),
        cast="two_processes",
        ways={
            "chat": Way(rows=("primary http_429 minute_limit; backup ok", _BUSY, "primary ok", _BUSY)),
            "stream": Way(
                rows=(
                    "primary http_429 minute_limit; primary skipped_cooldown; backup ok",
                    _BUSY,
                    "primary ok",
                    _BUSY,
                )
            ),
        },
    ),
    Trial(
        fault="restart in the middle of a cooldown",
        sets=(_TWO_MINUTES,),
        cast="restart",
        ways={
            "chat": Way(rows=("primary http_429 minute_limit; backup ok", _BUSY, "primary ok")),
            "stream": Way(
                rows=("primary http_429 minute_limit; primary skipped_cooldown; backup ok", _BUSY, "primary ok")
            ),
        },
    ),
)
