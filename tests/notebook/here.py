"""Widgets without a page: their tasks on the running loop, their messages kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from zc_notebooks.notebook.board_state import BoardState
from zc_notebooks.notebook.board_view import Board
from zc_notebooks.notebook.controls_state import ControlsState
from zc_notebooks.notebook.controls_view import Controls
from zc_notebooks.notebook.widget import Page


class Here:
    """The running loop, where the package has its own."""

    def call_soon(self, call: Callable[[], object]) -> None:
        asyncio.get_running_loop().call_soon(call)


class Looks:
    """The pause between two looks of a widget: none, but counted."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, _: float) -> None:
        self.count += 1
        await asyncio.sleep(0)

    async def more(self, looks: int) -> None:
        """Returns when it has looked so many times more."""
        wanted = self.count + looks
        await until(lambda: self.count >= wanted)


class Kept:
    """Keeps what would go to the page."""

    sent: list[dict[str, Any]]

    def send(self, content: dict[str, Any], buffers: object = None) -> None:
        del buffers
        self.__dict__.setdefault("sent", []).append(content)

    def said(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.__dict__.get("sent", []) if message["kind"] == kind]


class KeptControls(Kept, Controls):
    """A control panel on the running loop."""

    def __init__(self, state: ControlsState) -> None:
        self.looks = Looks()
        super().__init__(state, loop=Here(), sleep=self.looks)


class KeptBoard(Kept, Board):
    """A board on the running loop."""

    def __init__(self, state: BoardState) -> None:
        self.looks = Looks()
        super().__init__(state, loop=Here(), sleep=self.looks)


async def until(true: Callable[[], object]) -> None:
    """Lets other tasks run until ``true()``, which may lie in another thread; fails after 20 seconds."""
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 (no event tells of it)
            await asyncio.sleep(0)


async def settled(page: Page) -> None:
    """Returns when no click is being carried out any more; following goes on."""
    await asyncio.sleep(0)
    await until(lambda: not set(page.tasks.running) - {"following"})
