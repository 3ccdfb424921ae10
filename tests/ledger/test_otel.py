"""OpenTelemetry: spans of others come in, ours go out and come back as they were."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.ledger.rows import NOON, row
from tests.ledger.test_effective import ledger_of
from tests.ledger.test_import_litellm import json_values
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.importing import import_file
from zc_notebooks.ledger.importing.formats import Line, Refused, Row
from zc_notebooks.ledger.importing.otel_spans import OtelSpans
from zc_notebooks.ledger.otel import calls, export
from zc_notebooks.ledger.otel_send import send
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.row import AttemptRow

NANOS = 1_796_040_000_000_000_000
"""2026-11-30 12:00 UTC."""
ATTRIBUTES: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "gcp.gemini",
    "gen_ai.request.model": "gemini-2.5-flash",
    "gen_ai.response.model": "gemini-2.5-flash-002",
    "gen_ai.request.stream": True,
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.cache_read.input_tokens": 40,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.usage.reasoning.output_tokens": 30,
    "gen_ai.response.finish_reasons": ["STOP"],
    "gen_ai.response.time_to_first_chunk": 0.25,
    "gen_ai.input.messages": '[{"role":"user","parts":[{"content":"a secret prompt"}]}]',
    "gen_ai.output.messages": "a secret answer",
    "gen_ai.system_instructions": "a secret instruction",
}


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    name = {int: "intValue", float: "doubleValue", str: "stringValue"}[type(value)]
    return {name: str(value) if name == "intValue" else value}


def bare(attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A span as OTLP JSON has it."""
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": str(NANOS),
        "endTimeUnixNano": str(NANOS + 2_500_000_000),
        "attributes": [{"key": name, "value": typed(value)} for name, value in attributes.items()],
        "status": {},
        **fields,
    }


def batch(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def from_sdk(attributes: dict[str, Any]) -> dict[str, Any]:
    """A span as the Python SDK's ``to_json`` writes it."""
    return {
        "name": "chat",
        "context": {"trace_id": "0x5b8efff798038103d269b633813fc60c", "span_id": "0xeee19b7ec3c1b174"},
        "kind": "SpanKind.CLIENT",
        "parent_id": None,
        "start_time": "2026-11-30T12:00:00.000000Z",
        "end_time": "2026-11-30T12:00:02.500000Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": [],
        "resource": {"attributes": {}},
    }


def mapped(*lines: dict[str, Any]) -> list[Any]:
    """Rows by column, or why a line is none."""
    made = OtelSpans().rows([Line(number=place, value=line, raw=b"") for place, line in enumerate(lines)])
    return [one.why if isinstance(one, Refused) else msgspec.json.decode(one.line) for one in made]


@pytest.mark.parametrize(
    "line",
    [batch(bare(ATTRIBUTES)), bare(ATTRIBUTES), from_sdk(ATTRIBUTES), {**bare({}), "attributes": ATTRIBUTES}],
    ids=["OTLP JSON", "a bare span", "the SDK's own", "plain attributes"],
)
def test_every_way_a_span_is_written_gives_the_same_row(line: dict[str, Any]) -> None:
    """The documented table, on one answered request; no text of it."""
    assert OtelSpans().recognises(line)
    (found,) = mapped(line)
    known = {name: value for name, value in found.items() if value not in (None, "")}
    assert known == {
        "call_id": "otel-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174",
        "ordinal": 0,
        "t": "2026-11-30T12:00:00Z",
        "provider_ref": "google.otel",
        "model": "gemini-2.5-flash",
        "kind": "attempt",
        "mode": "stream",
        "status": "ok",
        "turn_id": "otel-5b8efff798038103d269b633813fc60c",
        "model_reported": "gemini-2.5-flash-002",
        "credential_id": "-",
        "attempt": 0,
        "failover": False,
        "accepted": True,
        "input_tokens": 100,
        "cached_input_tokens": 40,
        "output_tokens": 50,
        "reasoning_tokens": 30,
        "usage_state": "complete",
        "secs": 2.5,
        "first_token_s": 0.25,
        "finish_reason": "STOP",
    }


PARTS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("a code", {"error.type": "429"}, {}, {"status": "http_429", "accepted": False, "cost_usd": 0.0}),
    ("a code of its own", {"http.response.status_code": 503, "error.type": "x"}, {}, {"status": "http_503"}),
    ("a time limit", {"error.type": "openai.APITimeoutError"}, {}, {"status": "timeout", "accepted": False}),
    ("a connection", {"error.type": "httpx.ConnectError"}, {}, {"status": "network"}),
    ("another error", {"error.type": "_OTHER"}, {}, {"status": "failed", "cost_usd": None}),
    ("only the span's status", {}, {"status": {"code": 2}}, {"status": "failed"}),
    ("older names", {"gen_ai.provider.name": None, "gen_ai.system": "openai"}, {}, {"provider_ref": "openai.otel"}),
    (
        "older counts",
        {"gen_ai.usage.input_tokens": None, "gen_ai.usage.prompt_tokens": 90},
        {},
        {"input_tokens": 90},
    ),
    ("cached above input", {"gen_ai.usage.input_tokens": 10}, {}, {"usage_state": "invalid", "input_tokens": None}),
    ("a provider with dots", {"gen_ai.provider.name": "aws.bedrock"}, {}, {"provider_ref": "aws_bedrock.otel"}),
    ("no end", {}, {"endTimeUnixNano": "0"}, {"secs": None}),
]


@pytest.mark.parametrize(
    ("attributes", "fields", "expected"), [case[1:] for case in PARTS], ids=[case[0] for case in PARTS]
)
def test_parts_of_a_span(attributes: dict[str, Any], fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """Errors keep their kind, older names are read, what is not said is not known."""
    whole = {name: value for name, value in {**ATTRIBUTES, **attributes}.items() if value is not None}
    (found,) = mapped(bare(whole, **fields))
    assert {name: found[name] for name in expected} == expected


def test_only_requests_to_a_model_are_attempts() -> None:
    """Agents and tools contain such requests; a line without one says so."""
    agent = bare({"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"})
    http = bare({"http.request.method": "POST"})
    assert mapped(agent, http) == ["no span of a model call"] * 2
    assert len(mapped(batch(agent, http, bare(ATTRIBUTES)))) == 1


# -- there and back --------------------------------------------------------------------------------------------------

CALL = [
    row("c1", 0, kind="skip", status="skipped_cooldown", usage_state="none", reason="daily_limit", requested_ref="a.b"),
    row(
        "c1",
        1,
        t=NOON + timedelta(milliseconds=1),
        status="http_429",
        reason="minute_limit",
        scope="model",
        resets_at=NOON + timedelta(seconds=30),
        reset_source="stated",
        requested_ref="a.b",
        input_tokens=0,
        output_tokens=0,
        cost_usd=0.0,
        usage_state="complete",
        secs=0.13,
        wait_s=0.0,
    ),
    row(
        "c1",
        2,
        t=NOON + timedelta(seconds=1),
        provider_ref="google.free",
        model="gemini-2.5-flash",
        mode="stream",
        requested_ref="a.b",
        requested_model="m",
        model_reported="gemini-2.5-flash-002",
        credential_id="0a1b2c3d",
        pool="google-free",
        tier="free",
        failover=True,
        accepted=True,
        input_tokens=100,
        cached_input_tokens=40,
        output_tokens=50,
        reasoning_tokens=30,
        usage_state="complete",
        cost_usd=0.000155,
        price_source="genai-prices 0.2.3 (2026-10-19) google/gemini-2.5-flash",
        secs=2.345678,
        first_token_s=0.123456,
        finish_reason="STOP",
        evidence="finishReason=STOP > end of stream",
        notes="dropped seed",
        turn_id="turn-1",
    ),
    row("c2", 0, t=NOON + timedelta(hours=1), status="timeout", secs=None),
]


def test_spans_name_what_the_conventions_name(tmp_path: Path) -> None:
    """One span an attempt within one span a call; skips are its events; no other gen_ai attribute is made up."""
    around, refused, answered = next(calls(ledger_of(tmp_path, CALL)))
    assert (around.name, around.kind, around.failed, around.parent_id) == (
        "call openai/gpt-oss-120b",
        "internal",
        False,
        None,
    )
    assert [event.name for event in around.events] == ["zc.skip"]
    assert {refused.parent_id, answered.parent_id} == {around.span_id}
    assert (refused.failed, refused.attributes["error.type"], answered.failed) == (True, "429", False)
    assert answered.name == "chat gemini-2.5-flash"
    assert {name: value for name, value in answered.attributes.items() if name.startswith("gen_ai.")} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-2.5-flash",
        "gen_ai.response.model": "gemini-2.5-flash-002",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.reasoning.output_tokens": 30,
        "gen_ai.response.time_to_first_chunk": 0.123456,
        "gen_ai.response.finish_reasons": ["STOP"],
        "gen_ai.request.stream": True,
    }
    assert (around.begin_ns, around.end_ns) == (NANOS, NANOS + 3_345_678_000)


def test_the_file_is_otlp_json(tmp_path: Path) -> None:
    """A line a call: ids in hex, 64 bits as text, kinds and codes as numbers, one scope with its schema."""
    assert export(ledger_of(tmp_path / "ledger", CALL), tmp_path / "spans.jsonl") == 2
    first, second = (json.loads(line) for line in (tmp_path / "spans.jsonl").read_bytes().splitlines())
    (resource,) = first["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    assert scope["schemaUrl"].startswith("https://opentelemetry.io/schemas/gen-ai")
    around, refused, answered = scope["spans"]
    assert (len(around["traceId"]), len(around["spanId"]), around["kind"], answered["kind"]) == (32, 16, 1, 3)
    assert answered["startTimeUnixNano"] == str(NANOS + 1_000_000_000)
    assert {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "100"}} in answered["attributes"]
    assert (refused["status"], answered["status"]) == ({"code": 2}, {})
    assert second["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["status"] == {"code": 2}
    assert not list(tmp_path.glob(".*.part"))


def test_a_period_holds_whole_calls(tmp_path: Path) -> None:
    """A call belongs where it began."""
    ledger = ledger_of(tmp_path, CALL)
    assert [len(spans) for spans in calls(ledger, since=NOON + timedelta(minutes=1))] == [2]
    assert [len(spans) for spans in calls(ledger, until=NOON + timedelta(microseconds=1))] == [3]


def back(rows: list[AttemptRow]) -> list[tuple[Any, ...]]:
    """The rows after export and import."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spans.jsonl"
        export(ledger_of(Path(folder) / "one", rows), file)
        first, again = (import_file(file, Path(folder) / "two") for _ in range(2))
        assert (first.added, first.refused, again.added, again.present) == (len(rows), 0, 0, len(rows))
        return Ledger(Path(folder) / "two").attempts().rows()


def test_our_own_spans_come_back_as_they_were(tmp_path: Path) -> None:
    """Every column, skips too; a second import adds nothing."""
    assert back(CALL) == ledger_of(tmp_path, CALL).attempts().rows()


micros = st.integers(0, 10**9).map(lambda micro: micro / 1e6)
any_row = st.builds(
    row,
    st.just("c"),
    st.just(0),
    t=st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)).map(lambda at: at.replace(tzinfo=UTC)),  # noqa: DTZ001
    provider_ref=st.sampled_from(["groq.free", "google.a", "custom.x"]),
    model=st.sampled_from(["m", "openai/m", "日本語"]),
    status=st.sampled_from(["ok", "http_429", "timeout", "empty"]),
    accepted=st.booleans(),
    mode=st.sampled_from(["chat", "stream", "probe", "recovery"]),
    turn_id=st.none() | st.sampled_from(["t1", "t2"]),
    secs=st.none() | micros,
    wait_s=st.none() | micros,
    first_token_s=st.none() | micros,
    cost_usd=st.none() | st.floats(0, 10),
    input_tokens=st.none() | st.integers(0, 10**12),
    output_tokens=st.none() | st.integers(0, 10**12),
    finish_reason=st.none() | st.sampled_from(["stop", "length"]),
    resets_at=st.none() | st.just(NOON),
    attempt=st.integers(0, 3),
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(any_row, min_size=1, max_size=6), st.integers(1, 3))
def test_there_and_back_for_any_rows(rows: list[AttemptRow], per_call: int) -> None:
    """Whatever the rows hold, export and import give the same table."""
    rows = [replace(one, call_id=f"c{n // per_call}", ordinal=n % per_call) for n, one in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        assert back(rows) == ledger_of(Path(folder), rows).attempts().rows()


@given(st.dictionaries(st.sampled_from(sorted({*bare({}), *from_sdk({})})), json_values))
def test_a_mapping_never_raises(changes: dict[str, Any]) -> None:
    """Whatever stands in a span."""
    for value in (bare(ATTRIBUTES), batch(bare(ATTRIBUTES) | changes), from_sdk(ATTRIBUTES) | changes):
        for made in OtelSpans().rows([Line(number=1, value=value | changes, raw=b"")]):
            assert isinstance(made, Row | Refused)


# -- through the SDK -------------------------------------------------------------------------------------------------


def test_sending_hands_the_spans_to_the_sdk(tmp_path: Path) -> None:
    """The same spans with the same ids; an exporter that refuses is one sentence."""
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter", reason="the extra [otel]")
    exporter = memory.InMemorySpanExporter()
    ledger = ledger_of(tmp_path, CALL)
    assert send(ledger, exporter=exporter) == 5
    wanted = [span for of_call in calls(ledger) for span in of_call]
    for sent, span in zip(exporter.get_finished_spans(), wanted, strict=True):
        assert (f"{sent.context.trace_id:032x}", f"{sent.context.span_id:016x}") == (span.trace_id, span.span_id)
        assert (sent.name, sent.start_time, sent.end_time) == (span.name, span.begin_ns, span.end_ns)
        assert sent.attributes["zc.call_id"] == span.attributes["zc.call_id"]
    exporter.shutdown()
    with pytest.raises(LedgerError, match="were not taken"):
        send(ledger, exporter=exporter)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, no traceback."""
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace.export", None)
    with pytest.raises(LedgerError, match=r"zc-notebooks\[otel\]"):
        send(ledger_of(tmp_path, CALL))
