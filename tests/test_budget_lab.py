"""From the other side: with a spent budget the lab's own request log shows nobody who costs (spec 2.7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from zc_notebooks.lab import Lab

PAID = {"openrouter.credit", "mistral.metered", "deepseek.prepaid", "openai.prepaid"}
"""The lab's providers whose models have a price above zero."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """One fleet for the module."""
    with Lab("default", latency=0.0) as running:
        yield running


def ask(chain: zc.Chain, **options: Any) -> None:
    """A call."""
    chain.ask_sync("What is 17 * 23?", max_tokens=600, **options)


def stream(chain: zc.Chain, **options: Any) -> None:
    """A streamed call."""
    for _ in chain.stream_sync("What is 17 * 23?", max_tokens=600, **options):
        pass


def recover(chain: zc.Chain, **options: Any) -> None:
    """A draft, whose failed stream is followed by a walk."""
    for _ in chain.stream_sync("What is 17 * 23?", draft=True, max_tokens=600, **options):
        pass


def thread(chain: zc.Chain, **options: Any) -> None:
    """A call of a worker thread."""

    def call() -> None:
        with suppress(zc.CallError):
            ask(chain, **options)

    worker = threading.Thread(target=call)
    worker.start()
    worker.join()


def probe(chain: zc.Chain, **_: Any) -> None:
    """Every provider alone."""
    for ref in chain.config.profiles:
        chain.probe_sync(ref)


@pytest.mark.parametrize("enter", [ask, stream, recover, thread, probe])
@pytest.mark.parametrize("borders", ["budget_day_usd = 0", "budget_month_usd = 0.0000001", "budget_call_usd = 0"])
def test_nobody_who_costs_is_asked(lab: Lab, tmp_path: Path, enter: Callable[..., None], borders: str) -> None:
    """157, for money: the free ones may answer or be out, the others get no request at all."""
    lab.reset()
    (tmp_path / "zc.toml").write_text(f"{lab.config_text()}\n[borders]\n{borders}\n", encoding="utf-8")
    with zc.open(tmp_path / "zc.toml", ledger=tmp_path / "ledger") as chain:
        rows: list[Any] = []
        chain.on_attempt = rows.append
        with suppress(zc.CallError):
            enter(chain)
    asked = {ref for ref in chain.config.profiles if lab.requests_for(ref)}
    assert asked
    assert not asked & PAID
    skipped = {row.provider_ref for row in rows if row.status == "skipped_budget"}
    assert skipped
    assert skipped <= PAID
