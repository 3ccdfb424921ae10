"""Snowflake Cortex: numeric codes at the top level."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, CAPACITY, WINDOW, Failures

TABLE: Final = Failures(
    codes={"390144": AUTH, "390114": AUTH, "390303": AUTH, "390318": AUTH},
    phrases=(
        ("jwt token is invalid", AUTH),
        ("oauth access token", AUTH),
        ("max tokens of", WINDOW),
        ("throttled by remote service", CAPACITY),
    ),
)
