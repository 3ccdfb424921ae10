"""LiteLLM's spend log becomes rows: what is known, nothing else, and never a prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.ledger.importing import import_file
from zc_notebooks.ledger.importing.formats import Line, Refused, Row
from zc_notebooks.ledger.importing.litellm import LiteLlm
from zc_notebooks.ledger.read import Ledger

SECRET = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
ANSWERED: dict[str, Any] = {
    "request_id": "chatcmpl-1",
    "call_type": "acompletion",
    "api_key": "88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
    "spend": 0.00042,
    "total_tokens": 150,
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "startTime": "2026-11-30 12:00:00.000",
    "endTime": "2026-11-30 12:00:02.500",
    "completionStartTime": "2026-11-30 12:00:00.250",
    "model": "groq/openai/gpt-oss-120b",
    "model_group": "fast",
    "api_base": "https://api.groq.com/openai/v1?key=hidden",
    "user": "somebody@example.test",
    "metadata": json.dumps(
        {
            "status": "success",
            "user_api_key_alias": "an alias",
            "usage_object": {
                "prompt_tokens_details": {"cached_tokens": 40},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
        }
    ),
    "cache_hit": "False",
    "request_tags": '["a tag"]',
    "session_id": "2f1c7f7e-8a53-4d0e-9c51-0d7a6cf2b1aa",
    "custom_llm_provider": "groq",
    "messages": [{"role": "user", "content": "a secret prompt"}],
    "response": {"choices": [{"message": {"content": "a secret answer"}}]},
    "status": "success",
}
COLUMNS = (
    "call_id turn_id provider_ref model requested_model kind mode status reason accepted input_tokens "
    "cached_input_tokens output_tokens reasoning_tokens usage_state cost_usd price_source secs first_token_s"
)


def mapped(**changes: Any) -> dict[str, Any] | str:
    """The row of one log line by column, or why there is none."""
    value = {**ANSWERED, **changes}
    (made,) = LiteLlm().rows([Line(number=1, value=value, raw=b"")])
    return made.why if isinstance(made, Refused) else msgspec.json.decode(made.line)


def failed(code: str = "", kind: str = "") -> dict[str, Any]:
    error = {"error_code": code, "error_class": kind, "error_message": f"Bearer {SECRET} was refused"}
    zeros = {"spend": 0, "total_tokens": 0, "prompt_tokens": 0, "completion_tokens": 0}
    return {**zeros, "status": "failure", "metadata": {"status": "failure", "error_information": error}}


def test_every_column_of_the_mapping() -> None:
    """The documented table, on one answered request."""
    row = mapped()
    assert isinstance(row, dict)
    assert [row[name] for name in COLUMNS.split()] == [
        "litellm-chatcmpl-1",
        "litellm-2f1c7f7e-8a53-4d0e-9c51-0d7a6cf2b1aa",
        "groq.litellm",
        "openai/gpt-oss-120b",
        "fast",
        "attempt",
        "stream",
        "ok",
        None,
        True,
        100,
        40,
        50,
        30,
        "complete",
        0.00042,
        "litellm spend",
        2.5,
        0.25,
    ]
    assert row["t"].startswith("2026-11-30T12:00:00")
    assert row["ordinal"] == 0


CHANGED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "a price it does not know is no zero",
        {"spend": 0},
        {"cost_usd": None, "price_source": None, "input_tokens": 100},
    ),
    ("no tokens", {"prompt_tokens": 0, "completion_tokens": 0}, {"usage_state": "missing", "input_tokens": None}),
    ("cached above input", {"prompt_tokens": 10}, {"usage_state": "invalid", "input_tokens": None, "cost_usd": None}),
    ("not streamed", {"completionStartTime": "2026-11-30 12:00:02.500"}, {"mode": "chat", "first_token_s": None}),
    ("no end", {"endTime": None}, {"secs": None, "first_token_s": None}),
    ("its own word for a family", {"custom_llm_provider": "together_ai"}, {"provider_ref": "together.litellm"}),
    ("only the model's prefix", {"custom_llm_provider": None}, {"provider_ref": "groq.litellm"}),
    ("no provider", {"custom_llm_provider": None, "model": "m"}, {"provider_ref": "unknown.litellm", "model": "m"}),
    ("a zone", {"startTime": "2026-11-30T21:00:00+09:00"}, {"t": "2026-11-30T12:00:00Z"}),
    (
        "its cache",
        {"cache_hit": "True", "spend": 0},
        {"kind": "skip", "status": "skipped_cache", "usage_state": "none"},
    ),
    ("a refusal", failed("429", "RateLimitError"), {"status": "http_429", "reason": None, "cost_usd": 0.0}),
    ("a key", failed("401", "litellm.AuthenticationError"), {"status": "http_401", "reason": "auth"}),
    ("a window", failed("400", "ContextWindowExceededError"), {"status": "http_400", "reason": "context_window"}),
    ("a time limit", failed("408", "Timeout"), {"status": "timeout", "cost_usd": None, "usage_state": "unknown"}),
    ("a connection", failed("500", "APIConnectionError"), {"status": "network", "reason": "network"}),
    ("its budget", failed("429", "BudgetExceededError"), {"kind": "skip", "status": "skipped_budget"}),
    ("a code alone", failed("502"), {"status": "http_502", "reason": None}),
    ("no kind", failed(), {"status": "failed", "accepted": False, "cost_usd": None}),
    ("an older log without status", {"status": None, "metadata": "{}"}, {"status": "ok", "cached_input_tokens": None}),
    ("metadata that is none", {"metadata": "{not json"}, {"status": "ok", "input_tokens": 100}),
    ("no session", {"session_id": None}, {"turn_id": None}),
]


@pytest.mark.parametrize(("changes", "expected"), [case[1:] for case in CHANGED], ids=[case[0] for case in CHANGED])
def test_what_a_log_does_not_say_stays_unknown(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    """Zeros that stand for "not known" are not known; failures keep their kind."""
    row = mapped(**changes)
    assert isinstance(row, dict)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"request_id": None}, "no request_id or no startTime"),
        ({"startTime": "yesterday"}, "no request_id or no startTime"),
        ({"call_type": "aembedding"}, "a request that is not answered with text"),
    ],
)
def test_lines_that_are_no_rows_say_why(changes: dict[str, Any], why: str) -> None:
    """Without repeating what they hold."""
    assert mapped(**changes) == why


@pytest.mark.parametrize("changes", [{}, failed("401", "AuthenticationError"), {"request_id": SECRET, "model": SECRET}])
def test_prompts_people_and_keys_stay_where_they_are(changes: dict[str, Any]) -> None:
    """Behaviour 180: neither text, nor who asked, nor a key, whatever field it hides in."""
    text = json.dumps(mapped(**changes))
    for word in ("secret", "hidden", "somebody", "88dc28d0", "alias", "a tag", SECRET, "Bearer"):
        assert word not in text


def test_a_file_comes_in_once(tmp_path: Path) -> None:
    """Ids derive from theirs: the second import adds nothing; the format is found by itself."""
    path = tmp_path / "spend.jsonl"
    lines = [ANSWERED, {**ANSWERED, "request_id": "two words"}, {**ANSWERED, "call_type": "aimage_generation"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    first, second = (import_file(path, tmp_path / "ledger") for _ in range(2))
    assert (first.format, first.added, first.present, first.refused) == ("LiteLLM spend log", 2, 0, 1)
    assert (second.added, second.present, second.refused) == (0, 2, 1)
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.sql("select count(*), count(distinct call_id), sum(cost_usd) from attempts").row(0) == (2, 2, 0.00084)
    assert ledger.check().ok


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(ANSWERED)), json_values))
def test_a_mapping_never_raises(changes: dict[str, Any]) -> None:
    """Whatever a field holds: a row that is a row, or a reason."""
    value = {**ANSWERED, **changes}
    (made,) = LiteLlm().rows([Line(number=1, value=value, raw=b"")])
    assert isinstance(made, Row | Refused)
