"""Cohere: a flat message; the trial key's minute and month are told by the message alone."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, BALANCE, CONTENT_FILTER, DAY, MINUTE, NOT_FOUND, WINDOW, Failures

TABLE: Final = Failures(
    codes={"TOO_MANY_TOKENS": WINDOW},
    phrases=(
        ("invalid api token", AUTH),
        ("no api key supplied", AUTH),
        ("use a valid token", AUTH),
        ("too many tokens", WINDOW),
        ("was removed on", NOT_FOUND),
        ("make sure the correct model id was used", NOT_FOUND),
        ("update your payment method", BALANCE),
        ("billing limit", BALANCE),
        ("past the per minute request limit", MINUTE),
        ("api calls / minute", MINUTE),
        ("api calls / month", DAY),
        ("blocklisted", CONTENT_FILTER),
        ("deny-listed", CONTENT_FILTER),
    ),
    statuses={498: CONTENT_FILTER},
)
