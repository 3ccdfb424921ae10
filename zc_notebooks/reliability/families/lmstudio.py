"""LM Studio: a crashed or unloaded model arrives as 400 or inside a stream."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import NOT_FOUND, SERVER_ERROR, WINDOW, Failures

TABLE: Final = Failures(
    phrases=(
        ("the model has crashed", SERVER_ERROR),
        ("failed to load model", SERVER_ERROR),
        ("model unloaded", SERVER_ERROR),
        ("no models loaded", NOT_FOUND),
        ("context the overflows", WINDOW),
        ("is loaded with context length of only", WINDOW),
        ("cannot truncate prompt with n_keep", WINDOW),
    ),
)
