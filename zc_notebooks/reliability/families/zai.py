"""Z.ai and BigModel: business numbers in ``error.code``; reset dates are Beijing time without a zone."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    DAY,
    MINUTE,
    NOT_FOUND,
    PERMISSION_ACCOUNT,
    PERMISSION_MODEL,
    SERVER_ERROR,
    SOFT_BAD_REQUEST,
    WINDOW,
    Failures,
    Rule,
)

_THROTTLED: Final = Rule(reason="minute_limit", scope="model")

TABLE: Final = Failures(
    codes={
        "1000": AUTH,
        "1001": AUTH,
        "1002": AUTH,
        "1003": AUTH,
        "1004": AUTH,
        "1005": AUTH,
        "1110": PERMISSION_ACCOUNT,
        "1111": AUTH,
        "1112": PERMISSION_ACCOUNT,
        "1113": BALANCE,
        "1120": SERVER_ERROR,
        "1121": PERMISSION_ACCOUNT,
        "1200": SERVER_ERROR,
        "1210": SOFT_BAD_REQUEST,
        "1211": NOT_FOUND,
        "1212": SOFT_BAD_REQUEST,
        "1213": SOFT_BAD_REQUEST,
        "1214": SOFT_BAD_REQUEST,
        "1215": SOFT_BAD_REQUEST,
        "1220": PERMISSION_MODEL,
        "1221": NOT_FOUND,
        "1222": NOT_FOUND,
        "1230": SERVER_ERROR,
        "1231": MINUTE,
        "1234": SERVER_ERROR,
        "1261": WINDOW,
        "1300": CONTENT_FILTER,
        "1301": CONTENT_FILTER,
        "1302": _THROTTLED,
        "1303": _THROTTLED,
        "1304": DAY,
        "1305": CAPACITY,
        "1308": DAY,
        "1309": BALANCE,
        "1310": DAY,
        "1311": PERMISSION_MODEL,
        "1312": CAPACITY,
        "1313": MINUTE,
        "1314": BALANCE,
    },
    phrases=(
        ("访问量过大", CAPACITY),
        ("余额不足", BALANCE),
        ("欠费", BALANCE),
    ),
    zone="Asia/Shanghai",
)
