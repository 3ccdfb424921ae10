"""What providers send, one file of bodies per family beside this one: every row gets the verdict written next to it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from zc_notebooks.reliability.classify import classify
from zc_notebooks.reliability.reset_time import next_midnight

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
MIDNIGHTS = {"next 00:00 UTC": "utc_midnight", "next 00:00 America/Los_Angeles": "pacific_midnight"}


def rows() -> list[Any]:
    """Every recorded body as a parameter named family-status-reason-number."""
    found = []
    for path in sorted((Path(__file__).parent / "bodies").glob("*.json")):
        for number, row in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            name = f"{path.stem}-{row['status']}-{row['expect']['reason']}-{number}"
            found.append(pytest.param(path.stem, row, id=name))
    return found


@pytest.mark.parametrize(("family", "row"), rows())
def test_verdict(family: str, row: dict[str, Any]) -> None:
    """Reason, stated wait, reset instant and the details named in the row; a 200's Retry-After is never read."""
    in_band = row.get("in_band", False)
    verdict = classify(
        status=row["status"],
        headers={"retry-after": "31"} if in_band else row.get("headers", {}),
        body=row["text"] if "text" in row else json.dumps(row["body"], ensure_ascii=False),
        family=family,
        now=NOW,
        in_band=in_band,
    )
    expect = row["expect"]
    assert verdict.reason == expect["reason"], verdict.evidence
    assert (None if verdict.resets_at else verdict.stated_wait_s) == expect.get("wait_s")
    assert verdict.resets_at == instant(expect.get("resets_at"))
    for detail in ("limit_tokens", "affordable_tokens", "limit_kind", "code", "scope", "covers"):
        if detail in expect:
            assert getattr(verdict, detail) == expect[detail]
    assert verdict.evidence
    assert verdict.text


def instant(text: str | None) -> datetime | None:
    """An ISO time, or the next midnight of a rule."""
    if text is None:
        return None
    return next_midnight(MIDNIGHTS[text], NOW) if text in MIDNIGHTS else datetime.fromisoformat(text)
