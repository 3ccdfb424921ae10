"""Which names of a response are the model that was asked for, and which are another."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.chat import Identity
from zc_notebooks.model_names import same_model

SAME = [
    ("gpt-5-mini", "gpt-5-mini-2025-08-07"),
    ("gpt-5.5", "gpt-5.5-2026-04-23"),
    ("openai/gpt-oss-120b", "gpt-oss-120b"),
    ("gpt-oss-120b", "openai/gpt-oss-120b"),
    ("gpt-35-turbo", "gpt-3.5-turbo-0125"),
    ("claude-haiku-4-5", "claude-haiku-4-5-20251001"),
    ("anthropic/claude-haiku-4.5", "anthropic/claude-4.5-haiku-20251001"),
    ("claude-opus-4-1@20250805", "claude-opus-4-1-20250805"),
    ("moonshotai/kimi-k2-instruct", "moonshotai/kimi-k2-instruct-0905"),
    ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/llama-3.1-8b-instruct"),
    ("accounts/fireworks/models/deepseek-v3", "deepseek-v3"),
    ("models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("gemini-flash-latest", "gemini-2.5-flash"),
    ("gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"),
    ("mistral-small-latest", "mistral-small-2506"),
    ("mistral-small-2506", "mistral-small-latest"),
    ("minimax/minimax-m2:free", "minimax/minimax-m2"),
    ("openai/gpt-oss-120b:groq", "openai/gpt-oss-120b"),
    ("qwen3.6", "qwen3.6:latest"),
    ("qwen3", "qwen3:8b"),
    ("command-r", "command-r-08-2024"),
    ("smollm2-135m", "/models/smollm2-135m.gguf"),
    ("M", "m"),
    ("日本語モデル", "日本語モデル"),
]
OTHER = [
    ("gpt-5", "gpt-5-mini-2025-08-07"),
    ("gpt-4o", "gpt-4o-mini"),
    ("gpt-5-2025-08-07", "gpt-5-2025-10-01"),
    ("openai/gpt-oss-120b", "openai/gpt-oss-20b"),
    ("claude-sonnet-4-5", "claude-haiku-4-5-20251001"),
    ("claude-sonnet-4-5", "claude-sonnet-4"),
    ("qwen3:8b", "qwen3:14b"),
    ("qwen3-14b", "qwen4-13b"),
    ("mistral-large-latest", "mistral-small-2506"),
    ("gemini-flash-latest", "gemini-2.5-flash-lite"),
    ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
    ("openrouter/auto", "openai/gpt-5"),
    ("text-davinci-002", "text-davinci-003"),
    ("latest", "gpt-5"),
    ("", "gpt-5"),
    ("日本語モデル", "別のモデル"),
]


@pytest.mark.parametrize(("asked", "said"), SAME)
def test_another_form_of_the_same_name(asked: str, said: str) -> None:
    """A date, a publisher, another order or spelling is no other model."""
    assert same_model(asked, said)
    assert Identity(provider_ref="a.b", model=asked, model_reported=said).mismatch is None


@pytest.mark.parametrize(("asked", "said"), OTHER)
def test_another_model(asked: str, said: str) -> None:
    """Another size, family, version or variant is said, in words of fixed form."""
    assert not same_model(asked, said)
    mismatch = Identity(provider_ref="a.b", model=asked, model_reported=said).mismatch
    assert mismatch == f"asked for {asked}, the response says {said}"


def test_a_response_that_names_nothing() -> None:
    """Unknown is no difference."""
    assert Identity(provider_ref="a.b", model="m").mismatch is None
    assert Identity(provider_ref="a.b", model="m", model_reported="").mismatch is None


@given(st.text(), st.text())
def test_any_two_names(asked: str, said: str) -> None:
    """Never raises, looks at both the same way, and every name is itself; what is shown is one short line."""
    assert same_model(asked, said) == same_model(said, asked)
    assert same_model(said, said)
    words = Identity(provider_ref="a.b", model="m", model_reported=said).mismatch or ""
    assert len(words) < 140
    assert len(words.splitlines()) <= 1


def recorded() -> set[str]:
    """Every model name in the recorded responses."""
    folder = os.environ.get("ZC_CASES_DIR")
    if folder is None:
        return set()
    text = "".join(path.read_text(encoding="utf-8") for path in Path(folder).glob("*.json"))
    return set(
        re.findall(r'\\"model(?:Version)?\\": ?\\"([^"\\]+)\\"', json.dumps(json.loads(f"[{json.dumps(text)}]")))
    )


def test_recorded_names_without_their_date_and_publisher() -> None:
    """What a person would write in a configuration for a recorded name is that model."""
    for said in recorded():
        bare = re.sub(r"-(\d{4}-\d{2}-\d{2}|\d{8})$", "", said).rpartition("/")[2]
        assert same_model(bare, said), (bare, said)
