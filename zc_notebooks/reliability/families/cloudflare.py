"""Cloudflare Workers AI: numbers in ``errors[].code``; the daily neurons come back at 00:00 UTC."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    CAPACITY,
    DAY,
    MINUTE,
    NETWORK,
    NOT_FOUND,
    PERMISSION_ACCOUNT,
    PERMISSION_MODEL,
    REQUEST,
    WINDOW,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "3036": DAY,
        "4006": DAY,
        "3040": CAPACITY,
        "3006": REQUEST,
        "5021": WINDOW,
        "3007": NETWORK,
        "3008": NETWORK,
        "3023": PERMISSION_ACCOUNT,
        "3041": PERMISSION_MODEL,
        "5016": PERMISSION_MODEL,
        "5018": PERMISSION_MODEL,
        "3042": NOT_FOUND,
        "5007": NOT_FOUND,
        "7000": NOT_FOUND,
        "7003": NOT_FOUND,
        "10000": AUTH,
        "10001": AUTH,
        "9106": AUTH,
        "9107": AUTH,
        "9109": AUTH,
        "6003": AUTH,
        "6111": AUTH,
        "971": MINUTE,
        "10429": MINUTE,
        "2003": MINUTE,
        "1015": MINUTE,
    },
    phrases=(
        ("daily free allocation", DAY),
        ("no such model", NOT_FOUND),
        ("capacity temporarily exceeded", CAPACITY),
        ("no more data centers", CAPACITY),
        ("this model context window limit", WINDOW),
        ("you are being rate limited", MINUTE),
        ("error code: 1015", MINUTE),
    ),
    day_reset="utc_midnight",
)
