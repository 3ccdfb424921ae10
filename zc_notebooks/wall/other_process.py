"""Another process that asks the same chain.

It reads one :class:`Job` as a line on standard input, says ``ready``, asks when a second line comes, tells what it got
as one line of JSON, and stays until it is ended.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import msgspec

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.lab import LabClock
from zc_notebooks.records import Record
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.wall.asking import call
from zc_notebooks.wall.seen import Told
from zc_notebooks.wall.trial import Mode

_ENCODER = msgspec.json.Encoder()


class Job(Record, frozen=True, kw_only=True):
    """What the other process is to do."""

    config: str
    """A ``zc.toml``."""
    marks: str
    """The board both share."""
    ledger: str
    now: datetime
    mode: Mode
    settings: Mapping[str, Any] = {}


class OtherProcess:
    """The other process, seen from this one: ``async with OtherProcess(job) as other: await other.ask()``."""

    def __init__(self, job: Job) -> None:
        self._job = job

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            f"from {__name__} import main; main()",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 22,
        )
        try:
            await self._say(_ENCODER.encode(self._job))
            await self._hear()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends it as ``kill -9`` does: it gets no chance to tidy up."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def ask(self) -> Told:
        """One call over there."""
        await self._say(b"ask")
        return msgspec.json.decode(await self._hear(), type=Told)

    async def _say(self, line: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 (a pipe was asked for)
        self._process.stdin.write(line + b"\n")
        await self._process.stdin.drain()

    async def _hear(self) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 (a pipe was asked for)
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the wall's other process ended without an answer")
        return line


def main() -> None:
    """The other process itself."""
    job = msgspec.json.decode(sys.stdin.readline(), type=Job)
    chain = Chain(
        parse_config(job.config, base_dir=Path(job.ledger), source="the wall's configuration"),
        clock=(clock := LabClock(job.now, frozen=True)),
        ledger=job.ledger,
        marks=Marks(Path(job.marks), clock=clock),
        random=lambda: 0.0,
        environ={},
    )
    _tell("ready")
    sys.stdin.readline()
    told = asyncio.run(call(chain, job.mode, job.settings))
    _tell(_ENCODER.encode(told).decode())
    sys.stdin.readline()


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
