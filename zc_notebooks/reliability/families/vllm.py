"""vLLM and SGLang: OpenAI's form, flat or nested; ``type`` is a Python exception name."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import CAPACITY, WINDOW, Failures

TABLE: Final = Failures(
    phrases=(
        ("longer than the maximum model length", WINDOW),
        ("exceeds the maximum allowed length", WINDOW),
        ("request queue is full", CAPACITY),
    ),
)
