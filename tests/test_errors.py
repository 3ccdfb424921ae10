"""What failed calls say. Numbers are the behaviours of the specification."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet, chain_toml
from zc_notebooks.testing import chat_answer, chat_error


def failed(fleet: Fleet) -> zc.AllCandidatesFailed:
    """The exception of one question."""
    with pytest.raises(zc.AllCandidatesFailed) as caught:
        asyncio.run(fleet.chain.ask("what is it?"))
    return caught.value


def test_109_a_cooling_candidate_says_until_when(tmp_path: Path) -> None:
    """Behaviours 106 and 109: its reset, who stated it, which is the earliest; the safe summary names nobody."""
    fleet = Fleet(
        {
            "a": [chat_error(429, "slow", {"retry-after": "90"})],
            "b": [chat_error(429, "slower", {"retry-after": "300"})],
            "c": [chat_answer(), chat_error(402, "no money")],
        },
        tmp_path,
    )
    asyncio.run(fleet.chain.ask("first"))
    error = failed(fleet)
    first, second, third = str(error).splitlines()
    assert first.startswith("custom.a/m: cooling until 2026-09-01 12:01:30 UTC (stated) (earliest)")
    assert second.startswith("custom.b/m: cooling until 2026-09-01 12:05:00 UTC (stated): ")
    assert third == "custom.c/m: no money"
    assert f"{error.earliest_reset:%H:%M:%S}" == "12:01:30"
    assert "custom" not in error.safe_summary()


def test_106_everything_cooling_calls_nobody(tmp_path: Path) -> None:
    """Behaviour 106: zero calls, the earliest reset."""
    fleet = Fleet({"a": [chat_error(429, "slow", {"retry-after": "90"})]}, tmp_path)
    failed(fleet)
    before = len(fleet.called)
    error = failed(fleet)
    assert len(fleet.called) == before
    assert error.earliest_reset is not None


def test_181_one_line_for_each_candidate(tmp_path: Path) -> None:
    """Behaviour 181: its own reason, at most 140 characters, no line end; the attempts keep the whole text."""
    long = "line one\nline two " + "x" * 400
    script: dict[str, Any] = {name: [chat_error(402, f"{name}: {long}")] for name in "abcd"}
    error = failed(Fleet(script, tmp_path))
    lines = str(error).splitlines()
    assert len(lines) == 4
    for name, line in zip("abcd", lines, strict=True):
        label, _, reason = line.partition(": ")
        assert label == f"custom.{name}/m"
        assert reason.startswith(f"{name}: line one line two")
        assert len(reason) <= 140
    assert all(len(item.text) > 400 for item in error.attempts)


def test_182_the_safe_summary_of_many_failures(tmp_path: Path) -> None:
    """Behaviour 182: at most 8 events and 2,048 bytes, the rest counted, nothing that names a provider."""
    names = [f"n{number}" for number in range(64)]
    script: dict[str, Any] = {name: [chat_error(402, f"secret words of {name}")] for name in names}
    summary = failed(Fleet(script, tmp_path, toml=chain_toml(*names, key=None))).safe_summary()
    lines = summary.splitlines()
    assert len(lines) == 10
    assert lines[1] == "event 1 (retry 0/0): balance; kind=final; phase=response"
    assert lines[-1] == "[56 additional failure event(s) omitted]"
    assert len(summary.encode()) <= 2048
    assert not any(word in summary for word in ("custom", "n0", "secret", ".test", "/m"))


def test_183_key_shapes_leave_the_texts(tmp_path: Path) -> None:
    """Behaviour 183: tokens, bearer values and URL queries are removed from every text."""
    words = "key sk-abcdef123456 Bearer abc.def https://user:pw@host.test/p?key=1 end"
    error = failed(Fleet({"a": [chat_error(402, words)]}, tmp_path))
    for text in (str(error), error.attempts[0].text):
        assert not any(part in text for part in ("sk-abc", "abc.def", "user:pw", "key=1"))
        assert text.endswith("end")


def test_several_credentials_are_told_apart(tmp_path: Path) -> None:
    """The credential's id stands beside the name when a profile has several."""
    text = (
        '[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\napi_key_envs = ["KEY_A", "KEY_B"]\n'
        '[[chain]]\nprovider = "custom.a"\n'
    )
    lines = str(failed(Fleet({"a": [chat_error(401, "no")]}, tmp_path, toml=text))).splitlines()
    assert len(lines) == 2
    assert lines[0] != lines[1]
    assert all(line.startswith("custom.a/m [") for line in lines)
