"""Azure OpenAI and Foundry: flat codes, content filter in ``innererror``, ``retry-after-ms`` beside ``retry-after``."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import AUTH, CONTENT_FILTER, DAY, NOT_FOUND, PERMISSION, TOKEN_DAY, Failures

TABLE: Final = Failures(
    codes={
        "ResponsibleAIPolicyViolation": CONTENT_FILTER,
        "DeploymentNotFound": NOT_FOUND,
        "PermissionDenied": PERMISSION,
        "AuthenticationTypeDisabled": PERMISSION,
    },
    phrases=(
        ("invalid subscription key", AUTH),
        ("the api deployment for this resource does not exist", NOT_FOUND),
        ("content management policy", CONTENT_FILTER),
        ("out of call volume quota", DAY),
        ("token quota is exceeded", TOKEN_DAY),
        ("virtual network/firewall rules", PERMISSION),
    ),
)
