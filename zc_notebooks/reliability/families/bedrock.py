"""Amazon Bedrock and gateways like it: the exception's name in ``__type`` or ``x-amzn-errortype``."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    CAPACITY,
    LIMIT,
    NOT_FOUND,
    PERMISSION_MODEL,
    SERVER_ERROR,
    Failures,
)

TABLE: Final = Failures(
    codes={
        "ThrottlingException": LIMIT,
        "ServiceQuotaExceededException": LIMIT,
        "AccessDeniedException": PERMISSION_MODEL,
        "ResourceNotFoundException": NOT_FOUND,
        "ModelNotReadyException": CAPACITY,
        "ServiceUnavailableException": CAPACITY,
        "ModelErrorException": SERVER_ERROR,
        "InternalServerException": SERVER_ERROR,
        "ExpiredTokenException": AUTH,
        "UnrecognizedClientException": AUTH,
    },
    phrases=(("model identifier is invalid", NOT_FOUND),),
)
