"""What ``zc ask`` and ``zc chat`` show of odd answers: tool calls, cut answers, control characters."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.raw_server import whole
from tests.terminal import Terminal
from tests.threaded_server import ThreadedServer, body
from zc_notebooks.testing import CHAT_DONE, chat_chunk

CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
HALF = {**CALL, "function": {"name": "look", "arguments": '{"a": 1, "b'}}
ESCAPES = "\x1b]0;pwn\x07\x1b[31mred\x1b[2J\x9b2J\r\nnext\tone"
SEEN = "␛]0;pwn␇␛[31mred␛[2J\ufffd2J\nnext\tone"

ANSWERS: dict[str, tuple[dict[str, Any], str]] = {
    "call": ({"tool_calls": [CALL]}, "stop"),
    "text-and-call": ({"content": "let me see", "tool_calls": [CALL]}, "stop"),
    "half": ({"tool_calls": [HALF]}, "stop"),
    "long": ({"content": "one two"}, "length"),
    "good": ({"content": "fine"}, "stop"),
    "control": ({"content": ESCAPES}, "stop"),
}


def talk(client: socket.socket) -> None:
    """Answers by the first part of the path, streamed or whole."""
    with client.makefile("rb") as file:
        while line := file.readline():
            client.sendall(_answer(line.split(b"/")[1].decode(), json.loads(body(file))))


def _answer(name: str, asked: dict[str, Any]) -> bytes:
    if name == "refused":
        return whole(400, json.dumps({"error": {"message": ESCAPES}}).encode(), "Content-Type: application/json")
    message, word = ANSWERS[name]
    if asked.get("stream"):
        events = b"".join((chat_chunk(**message), chat_chunk(finish=word), CHAT_DONE))
        return whole(200, events, "Content-Type: text/event-stream")
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": word}
    return whole(
        200, json.dumps({"id": "x", "model": "m", "choices": [choice]}).encode(), "Content-Type: application/json"
    )


@pytest.fixture(scope="module")
def odd() -> Iterator[ThreadedServer]:
    server = ThreadedServer(talk)
    yield server
    server.close()


@pytest.fixture
def zc(
    odd: ThreadedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    """``zc`` in a folder whose ``zc.toml`` has one profile for each answer, and a good one behind each."""
    lines = ["[reliability]", "provider_backoff_ms = 1", "provider_retries = 0", "[ledger]", 'path = "ledger"']
    for name in (*ANSWERS, "refused"):
        lines += [f"[providers.custom.{name}]", f'uri = "{odd.url}/{name}"', 'model = "m"', "keyless = true"]
        lines += ['fallback = ["custom.good"]'] if name != "good" else []
    (tmp_path / "zc.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return Terminal(capsys)


FORMS = pytest.mark.parametrize("form", [(), ("--stream",)], ids=["whole", "stream"])


@FORMS
def test_a_tool_call_is_never_an_empty_answer(form: tuple[str, ...], zc: Terminal) -> None:
    """The call is shown, streamed or not, and text beside it as well."""
    assert zc("ask", "--start", "custom.call", *form, "hi") == 0
    assert zc.out == 'look({"a": 1})\n'
    assert zc("ask", "--start", "custom.text-and-call", *form, "hi") == 0
    assert zc.out == 'let me see\nlook({"a": 1})\n'


def test_the_json_form_holds_tool_calls(zc: Terminal) -> None:
    """Parsed and as they were sent; the finish reason says that there are some."""
    assert zc("ask", "--json", "--start", "custom.call", "hi") == 0
    call = {"id": "c", "name": "look", "arguments": {"a": 1}, "raw": '{"a": 1}'}
    assert (zc.json["tool_calls"], zc.json["finish_reason"]) == ([call], "tool_calls")


@FORMS
def test_124_half_a_tool_call_is_left_for_the_next_candidate(form: tuple[str, ...], zc: Terminal) -> None:
    """124: it is the model's fault, not an answer."""
    assert zc("ask", "--start", "custom.half", *form, "hi") == 0
    assert zc.out == "fine\n"
    assert zc("ask", "--start", "custom.half", "--no-fallback", *form, "hi") == 3
    assert "half a tool call: the arguments of look end early" in zc.err


@FORMS
def test_an_answer_cut_by_the_token_limit_says_so(form: tuple[str, ...], zc: Terminal) -> None:
    """One line on standard error, with the limit that was set."""
    assert zc("ask", "--start", "custom.long", "--max-tokens", "2", *form, "hi") == 0
    assert (zc.out, zc.err.splitlines()[0]) == ("one two\n", "cut at the token limit (max_tokens 2)")
    assert zc("ask", "--start", "custom.long", *form, "hi") == 0
    assert zc.err.splitlines()[0] == "cut at the token limit (max_tokens was not set)"
    assert zc("ask", "--start", "custom.good", *form, "hi") == 0
    assert "cut at" not in zc.err


def test_a_conversation_says_that_an_answer_was_cut(zc: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """``zc chat`` too."""
    monkeypatch.setattr("sys.stdin", io.StringIO("hi\n"))
    assert zc("chat", "--start", "custom.long", "--max-tokens", "2") == 0
    assert "cut at the token limit (max_tokens 2)\n" in zc.err


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@FORMS
def test_control_characters_do_nothing_on_a_terminal(
    form: tuple[str, ...], zc: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are pictures there; in a pipe the answer is what it was, to the byte."""
    assert zc("ask", "--start", "custom.control", *form, "hi") == 0
    assert zc.out == f"{ESCAPES}\n"
    monkeypatch.setattr("sys.stdout", screen := Screen())
    assert zc("ask", "--start", "custom.control", *form, "hi") == 0
    assert screen.getvalue() == f"{SEEN}\n"


@FORMS
def test_control_characters_of_a_failure_do_nothing_anywhere(form: tuple[str, ...], zc: Terminal) -> None:
    """Hops and error lines are sentences: no escape reaches them."""
    assert zc("ask", "--start", "custom.refused", *form, "hi") == 0
    assert zc("ask", "--start", "custom.refused", "--no-fallback", *form, "hi") == 3
    assert "␛]0;pwn␇␛[31mred" in zc.err
    assert "\x1b" not in zc.err
    assert zc("ask", "--start", "custom.refused", "--no-fallback", "--json", "hi") == 3
    assert "\\u001b" not in zc.out


def test_json_holds_no_control_character_at_all(zc: Terminal) -> None:
    """What JSON would let stand is escaped: the value is the same."""
    assert zc("ask", "--start", "custom.control", "--json", "hi") == 0
    assert zc.json["text"] == ESCAPES
    assert not [letter for letter in zc.out if letter != "\n" and not letter.isprintable()]
