"""Every fault of transport and stream, on every wire, as a plain client sees it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.lab.asking import WIRES, ask, events, request, streamed_text
from zc_notebooks.lab import Fault, Lab
from zc_notebooks.lab.faults import ABOUT, KINDS

PROMPT = "Count to 60"
WHOLE = "(simulated) " + " ".join(map(str, range(1, 61)))


def broken(lab: Lab, client: httpx.Client, wire: str, fault: Any, prompt: str = PROMPT) -> httpx.Response:
    """One streamed answer with the fault in it."""
    lab.set_fault(WIRES[wire], fault, times=1)
    return ask(lab, client, wire, prompt, stream=True)


def read(lab: Lab, client: httpx.Client, wire: str, fault: Any, prompt: str = PROMPT) -> tuple[bytes, Exception | None]:
    """What arrived of one streamed answer, and the error that ended it."""
    lab.set_fault(WIRES[wire], fault, times=1)
    spec = lab.scenario.provider(WIRES[wire])
    path, body = request(wire, spec.models[0].id, prompt, stream=True)
    got = b""
    url = lab.base_url(spec.name, wire) + path  # type: ignore[arg-type]
    try:
        with client.stream("POST", url, json=body, timeout=httpx.Timeout(2, read=0.15)) as response:
            for chunk in response.iter_bytes():
                got += chunk
    except httpx.HTTPError as error:
        return got, error
    return got, None


def test_every_kind_is_explained() -> None:
    """Each fault has its sentence."""
    assert set(ABOUT) == set(KINDS)


@pytest.mark.parametrize("wire", WIRES)
def test_cut_in_the_middle_of_a_chunk(wires: Lab, client: httpx.Client, wire: str) -> None:
    """After 40 tokens the socket closes and the chunked body has no end."""
    got, error = read(wires, client, wire, "cut:40")
    assert isinstance(error, httpx.RemoteProtocolError)
    assert b'" 39"' in got
    assert b'" 45"' not in got


@pytest.mark.parametrize("wire", WIRES)
def test_cut_cleanly(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The body ends as HTTP wants, without the wire's last event."""
    response = broken(wires, client, wire, "cut_clean:40")
    text = response.text
    assert "39" in text
    assert not any(word in text for word in ("finishReason", "[DONE]", '"done":true', "response.completed"))
    assert not any(word in text for word in ("message_stop", "message-end", '"finish_reason":"stop"'))


@pytest.mark.parametrize("wire", WIRES)
def test_a_stall_keeps_the_connection_open(wires: Lab, client: httpx.Client, wire: str) -> None:
    """Some tokens, then nothing, until the client has waited enough."""
    got, error = read(wires, client, wire, "stall:5")
    assert isinstance(error, httpx.ReadTimeout)
    assert b"(simulated)" in got


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_event_after_success(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The provider's own error stands among the events of an HTTP 200, and nothing after it."""
    response = broken(wires, client, wire, "error_event:4")
    last = events(response)[-1]
    assert response.status_code == 200
    assert "error" in json.dumps(last).lower() or "capacity" in json.dumps(last)


def test_an_error_after_the_finish(wires: Lab, client: httpx.Client) -> None:
    """The finish reason was said, then an error, then [DONE]."""
    found = events(broken(wires, client, "openai_chat", "error_after_finish"))
    assert found[-1] == "[DONE]"
    assert "error" in found[-2]
    assert any(event.get("choices") and event["choices"][0]["finish_reason"] for event in found[:-2])


@pytest.mark.parametrize("wire", WIRES)
def test_no_finish_reason(wires: Lab, client: httpx.Client, wire: str) -> None:
    """All the text, and no word on how it ended."""
    response = broken(wires, client, wire, "no_finish")
    found = [event for event in events(response) if event != "[DONE]"]
    assert streamed_text(wire, found) == WHOLE
    assert '"finish_reason":"stop"' not in response.text
    assert not any(word in response.text for word in ("finishReason", "message-end", '"done":true', "end_turn"))


@pytest.mark.parametrize(
    ("wire", "mark"),
    [("openai_chat", "[DONE]"), ("cohere_v2", "[DONE]"), ("anthropic_messages", "message_stop")],
)
def test_no_end_marker(wires: Lab, client: httpx.Client, wire: str, mark: str) -> None:
    """The finish reason is there, the transport's end marker is not."""
    response = broken(wires, client, wire, "no_done")
    assert mark not in response.text
    assert streamed_text(wire, events(response)) == WHOLE


@pytest.mark.parametrize("wire", WIRES)
def test_empty_and_reasoning_only_answers(wires: Lab, client: httpx.Client, wire: str) -> None:
    """A proper ending around no text; reasoning alone is no text either."""
    assert streamed_text(wire, events(broken(wires, client, wire, "empty"))) == ""
    only = broken(wires, client, wire, "reasoning_only")
    assert streamed_text(wire, events(only)) == ""
    assert "Let" in only.text


@pytest.mark.parametrize("wire", WIRES)
def test_thinking_in_the_text(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The reasoning stands between tags in the text itself."""
    text = streamed_text(wire, events(broken(wires, client, wire, "think_in_text")))
    assert text.startswith("<think>\nLet me")
    assert text.endswith("</think>\n\n" + WHOLE)


@pytest.mark.parametrize("wire", WIRES)
def test_half_a_tool_call(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The socket closes before the call is whole (Ollama sends a call in one line, so it has no end mark)."""
    got, error = read(wires, client, wire, "half_tool_call")
    assert isinstance(error, httpx.RemoteProtocolError)
    assert b"look_up" in got
    assert b'"done":true' not in got


@pytest.mark.parametrize("wire", WIRES)
def test_usage_missing_or_repeated(wires: Lab, client: httpx.Client, wire: str) -> None:
    """No usage at all; and usage more than once in a chat stream."""
    words = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
    text = broken(wires, client, wire, "no_usage").text
    assert not any(word in text for word in words)
    if wire == "openai_chat":
        thrice = broken(wires, client, wire, "usage_thrice").text
        assert thrice.count('"prompt_tokens"') >= 3


@pytest.mark.parametrize("wire", WIRES)
def test_another_model_answers(wires: Lab, client: httpx.Client, wire: str) -> None:
    """The model the response names is not the one asked for (Cohere names none)."""
    text = broken(wires, client, wire, "other_model").text
    assert ("another-model" in text) is (wire != "cohere_v2")


@pytest.mark.parametrize("kind", ["malformed", "nul", "invalid_utf8"])
@pytest.mark.parametrize("wire", WIRES)
def test_broken_events(wires: Lab, client: httpx.Client, wire: str, kind: str) -> None:
    """One event in the middle is no JSON; the rest of the stream comes all the same."""
    content = broken(wires, client, wire, f"{kind}:4").content
    marks = {"malformed": b'"bro', "nul": b"\0", "invalid_utf8": b"\xff\xfe\xc3"}
    assert marks[kind] in content
    assert b"60" in content


def test_large_bodies(wires: Lab, client: httpx.Client) -> None:
    """One line of ten megabytes in a stream; an error body of five."""
    assert max(map(len, broken(wires, client, "openai_chat", "long_line").content.split(b"\n"))) > 10_000_000
    error = broken(wires, client, "openai_chat", "big_error")
    assert error.status_code == 500
    assert 5_000_000 < len(error.content) < 5_001_000
    assert len(broken(wires, client, "openai_chat", "big_error:70000").content) < 71_000


@pytest.mark.parametrize("stream", [True, False])
def test_answers_that_are_none(wires: Lab, client: httpx.Client, stream: bool) -> None:
    """A login page, an error under HTTP 200, an empty body, and keep-alives alone."""
    told = {}
    for kind in ("html", "ok_error_body", "empty_body", "comments_only"):
        wires.set_fault("chat", kind, times=1)
        told[kind] = ask(wires, client, "openai_chat", stream=stream)
    assert {response.status_code for response in told.values()} == {200}
    assert told["html"].headers["content-type"].startswith("text/html")
    assert "over capacity" in told["ok_error_body"].json()["error"]["message"]
    assert told["empty_body"].content == b""
    assert "data:" not in told["comments_only"].text


def test_a_redirect_names_another_host(wires: Lab, client: httpx.Client) -> None:
    """HTTP 307 away from the lab, to an address that does not exist unless one is given."""
    assert "elsewhere.invalid" in broken(wires, client, "openai_chat", "redirect").headers["location"]
    away = Fault(kind="redirect", to="http://127.0.0.2/steal")
    assert broken(wires, client, "openai_chat", away).headers["location"] == "http://127.0.0.2/steal"


def test_resets_and_hangs(wires: Lab, client: httpx.Client) -> None:
    """Not one byte: the connection is reset, or stays open in silence."""
    got, error = read(wires, client, "openai_chat", "reset")
    assert (got, type(error)) == (b"", httpx.ReadError)
    got, error = read(wires, client, "openai_chat", "hang")
    assert (got, type(error)) == (b"", httpx.ReadTimeout)
    assert [request.status for request in wires.requests] == [None, None]


def test_slow_starts_are_slow(wires: Lab, client: httpx.Client) -> None:
    """The first byte comes after the stated seconds of real time."""
    got, error = read(wires, client, "openai_chat", "slow_start:30")
    assert (got, type(error)) == (b"", httpx.ReadTimeout)
    got, error = read(wires, client, "openai_chat", "slow_start:0.02")
    assert b"[DONE]" in got
    assert error is None


@pytest.mark.parametrize("wire", WIRES)
def test_whole_bodies_break_too(wires: Lab, client: httpx.Client, wire: str) -> None:
    """Cut, cleanly cut and broken bodies of answers that are not streamed."""
    wires.set_fault(WIRES[wire], ["cut", "cut_clean", "invalid_utf8", "ok_error_body"])
    with pytest.raises(httpx.RemoteProtocolError):
        ask(wires, client, wire)
    with pytest.raises(json.JSONDecodeError):
        ask(wires, client, wire).json()
    with pytest.raises(UnicodeDecodeError):
        ask(wires, client, wire).content.decode()
    assert ask(wires, client, wire).status_code == 200


def test_short_forms(wires: Lab, client: httpx.Client) -> None:
    """Faults can be written with their number, in code and in a scenario's script."""
    assert broken(wires, client, "openai_chat", "status:418").status_code == 418
    assert wires.requests[-1].answered == "status:418"
