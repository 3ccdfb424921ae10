"""Runs one trial in one of its modes, over real loopback HTTP: alone, beside another process, or after one died."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final

from msgspec.json import decode

from zc_notebooks.chain import Chain
from zc_notebooks.ledger.row import AttemptRow
from zc_notebooks.wall.asking import call
from zc_notebooks.wall.other_process import OtherProcess
from zc_notebooks.wall.seen import Actor, Run, Seen, Told
from zc_notebooks.wall.stage import Stage
from zc_notebooks.wall.trial import Mode, Trial

AFTER_THE_MARK_S: Final = 121.0
"""On the stage's clock: the two minutes of the limit are over."""


async def run(stage: Stage, trial: Trial, mode: Mode) -> Run:
    """One trial in one mode."""
    scene = Scene(stage, trial, mode)
    async with aclosing(scene):
        calls = await _CASTS[trial.cast](scene)
        marks = tuple(scene.chain.marks())
    return Run(
        trial=trial,
        mode=mode,
        actors=scene.actors,
        calls=tuple(calls),
        marks=marks,
        written=written(scene.folder),
        strays=len(stage.lab.requests) - sum(len(seen.asked) for seen in calls),
    )


class Scene:
    """One trial in one mode while it runs."""

    def __init__(self, stage: Stage, trial: Trial, mode: Mode) -> None:
        self.stage = stage
        self.trial = trial
        self.mode = mode
        self.actors: Mapping[str, Actor] = stage.set_up(trial)
        self.folder = stage.folder()
        self.marks = None if trial.cast == "alone" else self.folder / "marks.sqlite"
        self.chain: Chain = stage.chain(trial, self.actors, self.folder, self.marks)

    async def aclose(self) -> None:
        """Closes the chain; its rows are on disk then."""
        await self.chain.aclose()

    def ask(self) -> Awaitable[Told]:
        """One call of this process."""
        return call(self.chain, self.mode, self.trial.settings)

    def other(self) -> OtherProcess:
        """Another process at the same board, ledger and time."""
        assert self.marks is not None  # noqa: S101 (such trials share a board)
        return OtherProcess(self.stage.job(self.trial, self.mode, ledger=self.folder, marks=self.marks))

    async def seen(self, asking: Awaitable[Told]) -> Seen:
        """A call with what the lab logs of it."""
        before = len(self.stage.lab.requests)
        told = await asking
        return Seen(told=told, asked=self.stage.lab.requests[before:])


async def _alone(scene: Scene) -> list[Seen]:
    return [await scene.seen(scene.ask()) for _ in scene.trial.ways[scene.mode].rows]


async def _two_processes(scene: Scene) -> list[Seen]:
    """This process meets the limit, the other heeds it; when it ends, this one probes and the other keeps away."""
    first = await scene.seen(scene.ask())
    async with scene.other() as other:
        second = await scene.seen(other.ask())
    scene.stage.clock.advance(AFTER_THE_MARK_S)
    async with scene.other() as other:
        before = len(scene.stage.lab.requests)
        probing = asyncio.ensure_future(scene.ask())
        while len(scene.stage.lab.requests) == before and not probing.done():  # noqa: ASYNC110
            await asyncio.sleep(0.002)  # the lab answers in a thread of its own
        told = await other.ask()
        probed = await probing
        asked = scene.stage.lab.requests[before:]
    return [first, second, Seen(told=probed, asked=asked[:1]), Seen(told=told, asked=asked[1:])]


async def _restart(scene: Scene) -> list[Seen]:
    """Another process meets the limit and is killed; this one heeds its mark, and asks again when that has ended."""
    async with scene.other() as other:
        first = await scene.seen(other.ask())
    second = await scene.seen(scene.ask())
    scene.stage.clock.advance(AFTER_THE_MARK_S)
    return [first, second, await scene.seen(scene.ask())]


_CASTS: Final = {"alone": _alone, "two_processes": _two_processes, "restart": _restart}


def written(folder: Path) -> tuple[AttemptRow, ...]:
    """The rows in a ledger's files, in the order of each file."""
    lines = (line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_bytes().splitlines())
    return tuple(decode(line, type=AttemptRow) for line in lines)
