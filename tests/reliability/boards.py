"""Small makers for tests of the cooldown board: variants, verdicts, boards, and a worker process that uses one."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests import ROOT
from zc_notebooks.records import Credential, Entry, MarkKey, Profile, Variant, Verdict
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import START, ManualClock

HOUR, DAY = 3600.0, 86400.0


def variant(model: str = "m1", *, ref: str = "groq.free", pool: str = "groq", credential: str = "aaaaaaaa") -> Variant:
    """One candidate."""
    family, alias = ref.split(".")
    profile = Profile(ref=ref, family=family, alias=alias, base_url="http://x", wire="openai_chat", pool=pool)
    return Variant(
        entry=Entry(profile=profile, model=model, index=0), model=model, credential=Credential(id=credential)
    )


def limit(wait_s: float | None = None, **fields: Any) -> Verdict:
    """A 429, with a stated wait or without."""
    fields.setdefault("reason", "minute_limit")
    return Verdict(status=429, stated_wait_s=wait_s, **fields)


def stated(at: datetime, **fields: Any) -> Verdict:
    """A limit that names its end."""
    return limit(resets_at=at, reset_source="stated", **fields)


def inferred(at: datetime, **fields: Any) -> Verdict:
    """A limit whose end follows from the provider's rule."""
    return limit(resets_at=at, reset_source="inferred", **fields)


def after(seconds: float, start: datetime = START) -> datetime:
    """An instant counted from the manual clock's start."""
    return start + timedelta(seconds=seconds)


def board(path: Path | None = None, clock: ManualClock | None = None) -> tuple[Marks, ManualClock]:
    """A board with its clock."""
    clock = clock or ManualClock()
    return Marks(path, clock=clock), clock


def state(marks: Marks, one: Variant) -> str:
    """The gate's word for a candidate."""
    return marks.look(one.key).state


def key(model: str | None = "m1", pool: str = "groq", credential: str = "aaaaaaaa") -> MarkKey:
    """A mark's key."""
    return MarkKey(pool=pool, credential_id=credential, model=model)


def worker(path: Path, *words: str, **options: Any) -> subprocess.Popen[str]:
    """A process of its own that uses the board at ``path``; see ``board_worker.py``."""
    command = [sys.executable, "-W", "error", "-m", "tests.reliability.board_worker", str(path), *words]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)


def run(path: Path, *words: str, **options: Any) -> str:
    """What a worker printed once it has ended well."""
    process = worker(path, *words, **options)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    return printed.strip()
