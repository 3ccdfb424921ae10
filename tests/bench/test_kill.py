"""A measurement that is killed goes on with exactly the rest: every cell once, whenever the blow falls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests import ROOT
from zc_notebooks.bench.results import Results
from zc_notebooks.lab import Lab, parse_scenario
from zc_notebooks.lab.answers import Prepared, register_answer, unregister_answer
from zc_notebooks.lab.conversation import Conversation

TASKS, REPS, BLOWS = 10, 6, 10

CHILD = """
import asyncio, sys
from pathlib import Path
import zc_notebooks as zc
from tests.bench.test_run import Sum
from zc_notebooks.bench.results import Results
from zc_notebooks.bench.run import Settings, measure
items = [Sum(task=f"t{place}", content=str(place)) for place in range(%d)]
with zc.open("zc.toml", ledger="ledger") as chain:
    settings = Settings(reps=%d, concurrency=2)
    print(asyncio.run(measure(chain, items, ["custom.one"], Results("results.jsonl"), settings)).done)
""" % (TASKS, REPS)  # noqa: UP031 (braces are the program's own)

FLEET = """
name = "kill"
title = "one provider"
[[provider]]
name = "one"
family = "custom"
alias = "one"
latency_ms = 0
[[provider.model]]
id = "m"
"""


class Executioner:
    """Kills the running child at the n-th request that reaches the lab."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.left: int | None = None
        self._lock = threading.Lock()

    def __call__(self, conversation: Conversation) -> Prepared | None:
        del conversation
        with self._lock:
            if self.left is not None:
                self.left -= 1
                if self.left == 0 and self.child is not None:
                    os.kill(self.child.pid, signal.SIGKILL)
        return Prepared(kind="sum", right="42", wrong="41", mark=False)


@pytest.fixture
def executioner() -> Iterator[Executioner]:
    made = Executioner()
    register_answer(made)
    yield made
    unregister_answer(made)


def test_every_cell_exactly_once(tmp_path: Path, executioner: Executioner) -> None:
    """``kill -9`` at ten random moments, then a run to the end."""
    chance = Random(7)  # noqa: S311 (moments)
    with Lab(parse_scenario(FLEET)) as lab:
        (tmp_path / "zc.toml").write_text(lab.config_text(), encoding="utf-8")
        for blow in range(BLOWS + 1):
            executioner.left = None if blow == BLOWS else chance.randint(1, 7)
            executioner.child = child = subprocess.Popen(
                [sys.executable, "-c", CHILD],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
            )
            out, _ = child.communicate(timeout=60)
            executioner.left = None
            assert child.returncode == (0 if blow == BLOWS else -signal.SIGKILL)
    results = Results(tmp_path / "results.jsonl")
    cells = Counter((item.task, item.rep) for item in results)
    assert len(cells) == TASKS * REPS
    assert set(cells.values()) == {1}
    assert {item.outcome for item in results} == {"correct"}
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines()
    assert sum(line.endswith(b"}") for line in lines) == TASKS * REPS
    assert int(out) > 0
