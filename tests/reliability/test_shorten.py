"""Shortening a conversation after a context overflow (spec 5.4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.chat import ChatRequest, Message, TextPart, ToolCall, text_message
from zc_notebooks.reliability.shorten import can_shorten, shorten

SYSTEM = text_message("system", "s")


def tool_turn(number: int) -> list[Message]:
    """A question, two parallel calls, their results, an answer."""
    calls = tuple(ToolCall(id=f"{number}{part}", name="f", arguments={}, raw="{}") for part in "ab")
    results = [Message(role="tool", tool_call_id=call.id, parts=(TextPart(text="r"),)) for call in calls]
    question, answer = text_message("user", f"q{number}"), text_message("assistant", f"a{number}")
    return [question, Message(role="assistant", tool_calls=calls), *results, answer]


def test_83_the_later_turns_stay() -> None:
    """Behaviour 83: fewer messages, all system messages, a whole turn first."""
    messages = [SYSTEM, *(message for number in range(3) for message in tool_turn(number))]
    kept = shorten(ChatRequest(messages=tuple(messages))).messages
    assert kept[0] == SYSTEM
    assert kept[1].text == "q2"
    assert len(kept) == 1 + 5


def test_83_the_first_turn_always_goes() -> None:
    """Behaviour 83: also where what stands before it is the half that goes."""
    said = [("assistant", "a"), ("assistant", "b"), ("user", "q0"), ("user", "q1")]
    kept = shorten(ChatRequest(messages=tuple(text_message(role, text) for role, text in said))).messages  # type: ignore[arg-type]
    assert [message.text for message in kept] == ["q1"]


def test_84_a_single_turn_cannot_be_shortened() -> None:
    """Behaviour 84."""
    messages = (SYSTEM, *tool_turn(0))
    assert not can_shorten(messages)
    assert shorten(ChatRequest(messages=messages)).messages == messages


def test_87_a_prompt_style_result_begins_no_turn() -> None:
    """Behaviour 87: it stays with the turn it belongs to."""
    messages = (text_message("user", "q"), text_message("assistant", "calls"), text_message("user", "[Tool result] 4"))
    assert not can_shorten(messages)


turns = st.lists(st.sampled_from(["plain", "tools", "system"]), min_size=1, max_size=8)


@given(turns)
def test_87_calls_and_results_stay_or_go_together(kinds: list[str]) -> None:
    """Behaviour 87: no result without its call, no call without its results, the newest turn always stays."""
    messages: list[Message] = []
    for number, kind in enumerate(kinds):
        if kind == "system":
            messages.append(SYSTEM)
        else:
            messages += tool_turn(number) if kind == "tools" else [text_message("user", f"q{number}")]
    kept = shorten(ChatRequest(messages=tuple(messages))).messages
    calls = {call.id for message in kept for call in message.tool_calls}
    results = {message.tool_call_id for message in kept if message.role == "tool"}
    assert calls == results
    assert sum(message.role == "system" for message in kept) == kinds.count("system")
    rest = [message for message in messages if message.role != "system"]
    assert not rest or kept[-1] in (rest[-1], SYSTEM)
    assert (len(kept) < len(messages)) == can_shorten(messages)
