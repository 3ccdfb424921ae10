"""Ids and arguments of tool calls that must survive a swap between wires in the middle of a conversation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from zc_notebooks.chat import ToolCall
from zc_notebooks.wire.loose_json import to_text

OPENAI_IDS: Final = re.compile(r".{1,40}", re.DOTALL)
"""Chat completions and Responses: at most 40 characters."""
ANTHROPIC_IDS: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
MISTRAL_IDS: Final = re.compile(r"[A-Za-z0-9]{9}")
"""Mistral refuses every other id."""


def fitting_id(call_id: str, form: re.Pattern[str]) -> str:
    """``call_id`` where the wire takes it, else 9 letters and digits made of it: the same for call and result."""
    if form.fullmatch(call_id):
        return call_id
    return hashlib.blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()[:9]


def arguments_object(call: ToolCall) -> Mapping[str, Any]:
    """The arguments as an object; text that is none travels under the key ``raw``."""
    return call.arguments if call.arguments is not None else {"raw": call.raw}


def arguments_text(call: ToolCall) -> str:
    """The arguments as JSON text of an object, the provider's own text where it was that."""
    if call.arguments is not None and call.raw.lstrip().startswith("{"):
        return call.raw
    return to_text(arguments_object(call))


def made_up_id(seed: str, number: int) -> str:
    """An id for a wire that gives none: ``call_N`` with a mark of ``seed``, which names the response.

    The same response read twice gives the same ids; two answers of one conversation never share one.
    """
    mark = hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=4).hexdigest() + "_" if seed else ""
    return f"call_{mark}{number}"
