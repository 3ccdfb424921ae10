"""Reachability as a service: when each one is asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.fleet import Fleet, chain_toml
from zc_notebooks.testing import chat_answer
from zc_notebooks.watch import watch

NOBODY = '[providers.custom.a]\nuri = "https://a.test/v1"\nkeyless = true\n'


def test_pauses_lie_between_probes(tmp_path: Path) -> None:
    """Each one once in the interval, evenly; nothing is waited for after the last probe of the last round."""
    fleet = Fleet({name: [chat_answer()] * 2 for name in "ab"}, tmp_path, toml=chain_toml("a", "b"))
    asyncio.run(watch(fleet.chain, every_s=10, rounds=2))
    assert fleet.called == ["a", "b", "a", "b"]
    assert sum(fleet.clock.slept) == 15


def test_a_configuration_that_names_nobody_is_looked_at_again_in_time(tmp_path: Path) -> None:
    """An edit may name somebody later; until then the watch sleeps."""
    fleet = Fleet({"a": []}, tmp_path, toml=NOBODY)
    asyncio.run(watch(fleet.chain, every_s=10, rounds=3))
    assert fleet.called == []
    assert sum(fleet.clock.slept) == 20
