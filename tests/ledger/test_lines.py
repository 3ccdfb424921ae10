"""Telling rows from torn and foreign lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.rows import row
from zc_notebooks.ledger.lines import LONGEST, REQUIRED, judge, sort_lines
from zc_notebooks.ledger.row import DUCKDB_TYPES, AttemptRow, encode

LINE = encode(row()).rstrip(b"\n")


def changed(**fields: object) -> bytes:
    """The line with other values."""
    return json.dumps({**json.loads(LINE), **fields}).encode()


def without(name: str) -> bytes:
    """The line without one field."""
    return json.dumps({key: value for key, value in json.loads(LINE).items() if key != name}).encode()


ROWS = {
    "as written": LINE,
    "with a field of a newer version": changed(weather="fine", nested={"a": [1, None]}),
    "with a reason of a newer version": changed(reason="solar_flare"),
    "with a kind of a newer version": changed(kind="dream"),
    "without an optional field": without("secs"),
    "with spaces and a carriage return": json.dumps(json.loads(LINE), indent=None).encode() + b"\r",
    "with an instant of another zone": changed(t="2026-11-30T21:00:00.5+09:00"),
    "with a whole number of seconds": changed(secs=1),
}
TORN = {
    "cut in a value": LINE[:60],
    "cut in a name": LINE[:5],
    "cut before the last brace": LINE[:-1],
    "cut inside a character": encode(row(model_reported="あ")).partition("あ".encode())[0] + b"\xe3\x81",
}
FOREIGN = {
    "an empty line": b"",
    "spaces": b"  \r",
    "an array": b"[1,2]",
    "a string": b'"row"',
    "null": b"null",
    "an object of another kind": b'{"a":1}',
    "a short row of another log": b'{"t":"2026-11-30T12:00:00Z","provider":"A","in":0,"out":0,"status":"http_429"}',
    "a text ordinal": changed(ordinal="0"),
    "an ordinal with a fraction": changed(ordinal=0.5),
    "an ordinal out of range": changed(ordinal=2**31),
    "tokens as text": changed(input_tokens="12"),
    "tokens with a fraction": changed(input_tokens=1.5),
    "tokens out of range": changed(input_tokens=2**63),
    "a number as model": changed(model=5),
    "null as model": changed(model=None),
    "a number as truth": changed(failover=1),
    "no time": changed(t="yesterday"),
    "a time without a zone": changed(t="2026-11-30T12:00:00"),
    "a time as a number": changed(t=1764504000),
    "a price as text": changed(cost_usd="0.1"),
    "a missing column": without("status"),
    "a NUL byte": LINE.replace(b"groq", b"gr\x00q"),
    "NUL bytes only": b"\x00" * 64,
    "invalid UTF-8": LINE.replace(b"groq", b"gr\xffq"),
    "binary data": bytes(range(128, 256)),
    "a torn row with the next one behind it": LINE[:60] + LINE,
    "two rows on a line": LINE + LINE,
    "text behind the row": LINE + b" end",
    "deep nesting": b'{"a":' * 10_000,
    "not a number": LINE.replace(b'"secs":null', b'"secs":NaN'),
}


@pytest.mark.parametrize("line", ROWS.values(), ids=ROWS)
def test_rows_are_let_through(line: bytes) -> None:
    """A reader takes rows of older and newer versions."""
    assert judge(line) is None


@pytest.mark.parametrize("line", TORN.values(), ids=TORN)
def test_unfinished_rows_are_torn(line: bytes) -> None:
    """What a killed writer leaves is called torn."""
    assert judge(line) == ("torn", "the row ends before it is complete")


@pytest.mark.parametrize("line", FOREIGN.values(), ids=FOREIGN)
def test_everything_else_is_foreign(line: bytes) -> None:
    """Nothing that is no row passes, and the reason never repeats what the line holds."""
    verdict = judge(line)
    assert verdict is not None
    kind, why = verdict
    # Deep nesting and broken braces may look like an unfinished object; they are counted either way.
    assert kind == "foreign" or line.startswith(b'{"a":{')
    assert "yesterday" not in why
    assert "gr" not in why.replace("greater", "")


def test_a_line_longer_than_any_row_is_foreign() -> None:
    """A limit on length holds whatever the line says."""
    assert judge(changed(notes="x" * LONGEST)) == ("foreign", "longer than 16 MiB")


def test_rows_are_kept_byte_for_byte_between_bad_lines() -> None:
    """Sorting keeps the rows as they are and numbers the rest."""
    piece = b"\n".join([LINE, b"[1]", LINE, LINE[:30]]) + b"\n"
    result = sort_lines(piece)
    assert result.rows == LINE + b"\n" + LINE + b"\n"
    assert (result.count, result.lines) == (2, 4)
    assert [(number, kind) for number, kind, _ in result.bad] == [(1, "foreign"), (3, "torn")]


@pytest.mark.parametrize(
    "piece",
    [LINE + LINE + b"\n\n", LINE[:20] + b"\n" + LINE[20:] + b"\n", b"\n\n", LINE + b" " + LINE + b"\n"],
    ids=["two rows and an empty line", "a row over two lines", "empty lines", "two rows on a line"],
)
def test_the_fast_way_agrees_with_the_line_by_line_way(piece: bytes) -> None:
    """Only whole rows on lines of their own count, however the lines add up."""
    assert sort_lines(piece).count == 0


@given(st.lists(st.sampled_from([*ROWS.values(), *TORN.values(), *FOREIGN.values()]), max_size=30))
def test_every_line_is_a_row_or_counted(lines: list[bytes]) -> None:
    """Rows and bad lines add up to all lines, in any mixture."""
    result = sort_lines(b"".join(line + b"\n" for line in lines))
    assert result.lines == len(lines) == result.count + len(result.bad)
    assert result.count == sum(judge(line) is None for line in lines)
    assert result.rows.count(b"\n") == result.count


@given(st.binary(max_size=200))
def test_any_bytes_are_judged_without_an_exception(line: bytes) -> None:
    """A reader never fails on what a file holds."""
    sort_lines(line.replace(b"\n", b"") + b"\n")


def test_the_schema_is_pinned() -> None:
    """Behaviour 180: the columns are these, in this order, and none is for a prompt, an answer or a provider's text."""
    assert tuple(DUCKDB_TYPES) == AttemptRow.__struct_fields__
    assert " ".join(DUCKDB_TYPES) == (
        "call_id ordinal t provider_ref model kind mode status turn_id model_reported requested_ref requested_model "
        "credential_id pool reason scope resets_at reset_source attempt failover accepted input_tokens "
        "cached_input_tokens output_tokens reasoning_tokens usage_state cost_usd price_source secs wait_s "
        "first_token_s finish_reason evidence notes tier "
        "billed_input_tokens billed_output_tokens"
    )
    assert REQUIRED == ("call_id", "ordinal", "t", "provider_ref", "model", "kind", "mode", "status")
