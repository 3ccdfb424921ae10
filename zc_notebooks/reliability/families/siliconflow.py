"""SiliconFlow: five-digit ``code`` beside ``data: null``, or a bare JSON string; TPM, RPM, RPD in the message."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    NOT_FOUND,
    SOFT_BAD_REQUEST,
    SOFT_CAPACITY,
    WINDOW,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "20012": NOT_FOUND,
        "20015": SOFT_BAD_REQUEST,
        "20024": SOFT_BAD_REQUEST,
        "20038": CONTENT_FILTER,
        "30001": BALANCE,
        "30003": NOT_FOUND,
        "30011": BALANCE,
        "50501": SOFT_CAPACITY,
        "50502": SOFT_CAPACITY,
        "50503": SOFT_CAPACITY,
        "50505": SOFT_CAPACITY,
        "50603": SOFT_CAPACITY,
    },
    phrases=(
        ("api key is invalid", AUTH),
        ("invalid token", AUTH),
        ("balance is insufficient", BALANCE),
        ("only use this model with paid balance", BALANCE),
        ("must be less than max_seq_len", WINDOW),
        ("model service overloaded", CAPACITY),
        ("model disabled", NOT_FOUND),
    ),
    statuses={451: CONTENT_FILTER},
    zone="Asia/Shanghai",
)
