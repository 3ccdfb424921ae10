"""Wires by name. A wire's module loads when it is first asked for.

Adding a wire is one module with a ``WIRE`` and one line here.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Final, cast

from zc_notebooks.records import WireName
from zc_notebooks.wire.base import Wire

MODULES: Final[Mapping[WireName, str]] = {
    "openai_chat": "zc_notebooks.wire.openai_chat",
    "openai_responses": "zc_notebooks.wire.openai_responses",
    "anthropic_messages": "zc_notebooks.wire.anthropic",
    "gemini": "zc_notebooks.wire.gemini",
    "ollama": "zc_notebooks.wire.ollama",
    "cohere_v2": "zc_notebooks.wire.cohere",
}


@cache
def wire(name: WireName) -> Wire:
    """The wire of that name. Raises ``ValueError`` naming the known ones for any other."""
    module = MODULES.get(name)
    if module is None:
        raise ValueError(f"there is no wire {name!r}; known are {', '.join(MODULES)}")
    return cast("Wire", importlib.import_module(module).WIRE)
