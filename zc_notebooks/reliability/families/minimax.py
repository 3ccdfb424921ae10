"""MiniMax: HTTP 200 with ``base_resp.status_code``, or the number in brackets at the end of the message."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    DAY,
    MINUTE,
    PERMISSION_MODEL,
    SERVER_ERROR,
    SOFT_BAD_REQUEST,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "1000": SERVER_ERROR,
        "1001": SERVER_ERROR,
        "1002": MINUTE,
        "1004": AUTH,
        "1008": BALANCE,
        "1013": SERVER_ERROR,
        "1024": SERVER_ERROR,
        "1026": CONTENT_FILTER,
        "1027": CONTENT_FILTER,
        "1028": DAY,
        "1030": DAY,
        "1033": SERVER_ERROR,
        "1039": MINUTE,
        "1041": MINUTE,
        "1042": SOFT_BAD_REQUEST,
        "2013": SOFT_BAD_REQUEST,
        "2045": MINUTE,
        "2049": AUTH,
        "2056": DAY,
        "2061": PERMISSION_MODEL,
        "2062": CAPACITY,
        "2064": CAPACITY,
    },
    phrases=(
        ("insufficient balance", BALANCE),
        ("balance not enough", BALANCE),
        ("token plan usage limit", DAY),
        ("under high load", CAPACITY),
    ),
    zone="Asia/Shanghai",
)
