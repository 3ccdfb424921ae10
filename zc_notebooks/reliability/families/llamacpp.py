"""llama.cpp server: ``error.type`` is precise; 503 while a model loads; ``n_ctx`` states the window."""

from __future__ import annotations

from typing import Final

from zc_notebooks.reliability.rules import CAPACITY, WINDOW, Failures

TABLE: Final = Failures(
    codes={"exceed_context_size_error": WINDOW, "unavailable_error": CAPACITY},
    phrases=(
        ("loading model", CAPACITY),
        ("exceeds the available context size", WINDOW),
        ("input is larger than the max context size", WINDOW),
    ),
)
