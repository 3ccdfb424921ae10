"""Faults that change what a model says rather than how it is sent."""

from __future__ import annotations

from typing import Literal

import msgspec

from zc_notebooks.lab.faults import Fault
from zc_notebooks.lab.reply import Ids, Reply
from zc_notebooks.lab.wires.reading import call_from_object

_THOUGHT = "Let me think about it before I say anything. "


def tampered(reply: Reply, fault: Fault | None, ids: Ids) -> Reply:
    """The reply as the fault has it; unchanged by faults of transport."""
    kind = None if fault is None else fault.kind
    if kind == "empty":
        return msgspec.structs.replace(reply, text="", reasoning="", tool_calls=(), finish="stop", output_tokens=0)
    if kind == "reasoning_only":
        thought = reply.reasoning or _THOUGHT
        return msgspec.structs.replace(reply, text="", reasoning=thought, tool_calls=(), finish="stop")
    if kind == "think_in_text":
        text = f"<think>\n{reply.reasoning or _THOUGHT}\n</think>\n\n{reply.text}"
        return msgspec.structs.replace(reply, text=text, reasoning="")
    if kind == "half_tool_call" and not reply.tool_calls:
        call = call_from_object(f"call_{ids.hex(20)}", "look_up", {"key": "a word that takes some room"})
        return msgspec.structs.replace(reply, text="", tool_calls=(call,), finish="tool_calls")
    return reply


def said_usage(fault: Fault | None) -> Literal["normal", "none", "thrice"]:
    """How usage is said under a fault."""
    if fault is not None and fault.kind == "no_usage":
        return "none"
    return "thrice" if fault is not None and fault.kind == "usage_thrice" else "normal"
