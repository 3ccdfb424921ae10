"""Every recorded response with usage, priced: list prices stated here, amounts worked out by hand.

Rates are USD per million tokens (input, output, cached input), so tokens times rate are millionths of a dollar, which
is how the amounts stand here too. A rate that equals its neighbour's model is the provider's own of the same day.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import load_cases
from tests.ledger.rows import profile
from tests.wire.feeding import read
from zc_notebooks.chat import Answer, Usage, WireFailure
from zc_notebooks.ledger.prices import price
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.records import Credential, Entry, Variant
from zc_notebooks.reliability.attempt import Judged
from zc_notebooks.reliability.rows import CallFacts, Timing, attempt_row
from zc_notebooks.reliability.steps import Try
from zc_notebooks.wire.registry import wire

CASES = {case["name"]: case for case in load_cases() if case["expect"].get("usage")}
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)

pytestmark = pytest.mark.skipif(not CASES, reason="the recorded cases are not here (ZC_CASES_DIR)")

Rates = tuple[float, float, float | None] | None
OPUS: Rates = (15, 75, 1.5)
HAIKU: Rates = (1, 5, 0.1)
SONNET: Rates = (3, 15, 0.3)
GPT_OSS: Rates = (0.15, 0.6, 0.075)
LLAMA_8B: Rates = (0.05, 0.08, None)
KIMI: Rates = (1, 3, 0.5)
COMMAND: Rates = (2.5, 10, None)
DEEPSEEK: Rates = (0.14, 0.28, 0.0028)
FLASH_20: Rates = (0.1, 0.4, 0.025)
FLASH_25: Rates = (0.3, 2.5, 0.03)
FLASH_35: Rates = (1.5, 9, 0.15)
GPT_4O: Rates = (2.5, 10, 1.25)
GROK_FAST: Rates = (0.2, 0.5, 0.05)

PRICED: list[tuple[str, Rates, str | None]] = [
    ("anthropic_stream_200_with_retry_after_header", OPUS, "181920"),  # 10423 * 15 + 341 * 75
    ("anthropic_stream_cut_in_tool_json", HAIKU, "743"),  # 543 + 40 * 5
    ("anthropic_stream_overloaded_midway", HAIKU, "31"),  # 16 + 3 * 5
    ("anthropic_stream_stop_reason_but_no_message_stop", HAIKU, "156"),  # 16 + 28 * 5
    ("anthropic_stream_tool_use", HAIKU, "743"),
    ("azure_chat_json_content_filter", (0.5, 1.5, None), "36"),  # 7.5 + 28.5
    ("azure_chat_stream_prompt_filter_first", (1.1, 4.4, 0.275), "676.5"),  # 20.9 + 149 * 4.4: 128 of them reasoning
    ("cerebras_chat_json_reasoning", (0.35, 0.75, None), "61.75"),  # 28 + 33.75: 34 of the 45 are reasoning
    ("chat_json_empty_content", LLAMA_8B, "6.5"),  # 0.9 + 5.6
    ("chat_stream_content_filter_finish", KIMI, "32"),  # 20 + 4 * 3
    ("chat_stream_reasoning_only_is_empty", GPT_OSS, "85.65"),  # 339 * 0.15 + 58 * 0.6
    ("cohere_v2_json_trial_headers", COMMAND, "1327.5"),  # billed: 267 * 2.5 + 66 * 10
    ("cohere_v2_stream_citations", COMMAND, "197.5"),  # billed: 47 * 2.5 + 8 * 10
    ("cohere_v2_stream_tool_call", COMMAND, "250"),  # billed: 68 * 2.5 + 8 * 10
    ("deepseek_chat_stream_basic", DEEPSEEK, "3.78"),  # 1.54 + 2.24
    ("deepseek_chat_stream_insufficient_system_resource", DEEPSEEK, "1.82"),  # 1.26 + 0.56
    ("gemini_json_array_cut", FLASH_35, "849"),  # 426 + 47 * 9, thoughts added
    ("gemini_json_array_error_element", FLASH_35, "606"),  # 426 + 20 * 9
    ("gemini_json_array_finish_but_no_bracket", FLASH_35, "1123.5"),  # 700.5 + 423
    ("gemini_json_array_stream", FLASH_35, "1123.5"),
    ("gemini_json_array_stream_function_call", FLASH_25, "144.6"),  # 9.6 + 135
    ("gemini_json_max_tokens_no_parts", (1.25, 10, 0.125), "38.75"),  # 18.75 + 2 thoughts * 10
    ("gemini_sse_chunks", FLASH_20, "4.5"),  # 1.3 + 3.2
    ("gemini_sse_function_call", FLASH_20, "7.2"),  # 5.2 + 2
    ("gemini_sse_one_chunk", FLASH_25, "60.8"),  # 3.3 + (2 + 21 thoughts) * 2.5
    ("google_sse_malformed_function_call", FLASH_25, "12"),  # 40 * 0.3
    ("google_sse_stop_without_parts", FLASH_25, "9.3"),  # 31 * 0.3
    ("groq_chat_json_headers", LLAMA_8B, "6.5"),
    ("groq_chat_stream_basic", KIMI, "32"),
    ("groq_chat_stream_gptoss_reasoning", GPT_OSS, "85.65"),  # counted once, though the stream states it twice
    ("groq_chat_stream_tool", KIMI, "189"),  # 93 + 96
    ("hf_groq_chat_stream_usage_three_times", KIMI, "156"),  # 93 + 63, once
    ("hf_novita_chat_stream", (0.02, 0.05, None), "0.9"),  # 0.8 + 0.1
    ("llamacpp_chat_stream_reasoning", None, None),  # a server of one's own has no list price
    ("mistral_chat_stream_tool_no_index", (0.15, 0.6, None), "28.2"),  # 14.4 + 13.8
    ("ollama_chat_json_tool", None, None),
    ("ollama_ndjson_generate_stream", None, None),
    ("openai_chat_stream_basic", GPT_4O, "70"),  # 50 + 20
    ("openai_chat_stream_trailing_moderation_chunk", (1.25, 10, 0.125), "126.25"),  # 16.25 + 110
    ("openai_responses_stream_incomplete_content_filter", GPT_4O, "0"),  # all zeros: see UNCOUNTED
    ("openai_responses_stream_incomplete_max_tokens", GPT_4O, "0"),
    ("openai_responses_stream_tool", (5, 30, 0.5), "980"),  # 290 + 690
    ("openrouter_chat_stream_comments", HAIKU, "60"),  # 15 + 45, and it says so itself
    ("openrouter_chat_stream_error_after_finish", (0, 0, None), "0"),  # a free model whose zero was written
    ("openrouter_chat_stream_reasoning", SONNET, "669"),  # 129 + 540, and it says so itself
    ("openrouter_responses_stream", GPT_4O, "82.5"),  # 42.5 + 40, and it says so itself
    ("snowflake_chat_stream_no_finish_reason", SONNET, "141"),  # 66 + 75
    ("sse_bom", GPT_4O, "70"),
    ("sse_cr_only", GPT_4O, "70"),
    ("sse_crlf", GPT_4O, "70"),
    ("sse_error_null_in_chunks", GPT_4O, "70"),
    ("sse_finish_reason_empty_string", GPT_4O, "70"),
    ("sse_multi_line_data", GPT_4O, "70"),
    ("sse_no_space_after_colon", GPT_4O, "70"),
    ("together_chat_json_headers", (0.6, 0.6, None), "31.8"),  # 10.8 + 21
    ("together_chat_stream", (0.88, 0.88, None), "49.28"),  # 36.08 + 13.2
    ("xai_chat_stream_basic", GROK_FAST, "73.9"),  # 1 * 0.2 + 164 * 0.05 + (2 + 129) * 0.5; its ticks say the same
    ("xai_chat_stream_tool", GROK_FAST, "148.7"),  # 0.2 + 18 + (26 + 235) * 0.5; its ticks say the same
    ("xai_responses_stream", (1.25, 2.5, 0.2), "514.35"),  # 88.75 + 25.6 + 400; its ticks say the same
    ("zai_chat_stream_finish_sensitive", (0.15, 0.5, 0.03), "1.7"),  # 1.2 + 0.5
    ("zai_chat_stream_thinking", (0.06, 0.4, 0.01), "35.51"),  # 89 * 0.06 + 177 * 0.01 + 71 * 0.4
]

UNCOUNTED = {
    "anthropic_stream_cut_in_tool_json": "unknown",
    "gemini_json_array_cut": "unknown",
    "openai_responses_stream_incomplete_content_filter": "unknown",
    "openai_responses_stream_incomplete_max_tokens": "missing",
}
"""Responses whose counts are no counts of the whole: their rows have neither tokens nor a cost."""


def decoded(case: dict[str, Any]) -> Answer:
    spoken = wire(case["wire"])
    if case["stream"]:
        return read(spoken, [case["body"].encode()], case["headers"])[1].answer
    got = spoken.decode(case["body"].encode(), case["headers"])
    return got.answer if isinstance(got, WireFailure) else got


def pricing(rates: Rates) -> dict[str, float]:
    if rates is None:
        return {}
    into, out, cached = rates
    both = {"*.input": float(into), "*.output": float(out)}
    return both if cached is None else {**both, "*.cached_input": cached}


def written(case: dict[str, Any], rates: Rates) -> AttemptRow:
    """The ledger row of an attempt that got this response."""
    wanted = case["expect"]
    status = {"ok": "ok", "truncated": "stream_cut"}.get(wanted["outcome"], "stream_error")
    tier = "local" if rates is None else "metered"
    entry = Entry(profile=profile(family=case["provider"], pricing=pricing(rates), tier=tier), model="m", index=0)
    judged = Judged(status=status, verdict=None, answer=decoded(case))
    step = Try(variant=Variant(entry=entry, model="m", credential=Credential(id="-")), attempt=0, wait_s=0.0)
    facts = CallFacts(call_id="c", mode="chat", requested_ref="custom.mine", requested_model="m")
    return attempt_row(facts, 0, step, judged, Timing(t=AT, secs=1.0), "")


def test_every_case_with_usage_is_priced_here() -> None:
    """None is left out, and none is invented."""
    assert [name for name, _, _ in PRICED] == sorted(CASES)


@pytest.mark.parametrize(("name", "rates", "millionths"), PRICED, ids=[case[0] for case in PRICED])
def test_cached_and_reasoning_tokens_are_priced_once(name: str, rates: Rates, millionths: str | None) -> None:
    """Behaviours 178, 179: on every wire, to the last digit."""
    usage = decoded(CASES[name]).usage
    assert isinstance(usage, Usage)
    asked = profile(family=CASES[name]["provider"], pricing=pricing(rates), tier="metered" if rates else "local")
    cost = price(asked, "m", usage, at=AT)
    assert cost.cost_usd == (None if millionths is None else Decimal(millionths).scaleb(-6))


@pytest.mark.parametrize(("name", "rates", "millionths"), PRICED, ids=[case[0] for case in PRICED])
def test_the_row_has_that_cost_or_none(name: str, rates: Rates, millionths: str | None) -> None:
    """Spec 12.1: what an error, an empty answer or a rejected one used is paid too; a cut or all zeros is unknown."""
    row = written(CASES[name], rates)
    if name in UNCOUNTED:
        assert (row.usage_state, row.input_tokens, row.cost_usd, row.price_source) == (
            UNCOUNTED[name],
            None,
            None,
            None,
        )
    else:
        assert row.usage_state == "complete"
        assert row.cost_usd == (None if millionths is None else float(Decimal(millionths).scaleb(-6)))
        assert row.price_source == (None if rates is None else "profile pricing")
