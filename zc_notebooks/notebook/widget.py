"""What the package's widgets share: their page side, what it is told, clicks that are heard, and whether anybody looks.

What must never be saved in a notebook (prompts, answers, tracebacks) travels as messages, not as traits: a saved widget
state holds traits alone.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import anywidget
import msgspec
import traitlets

from zc_notebooks.markup import Sheet
from zc_notebooks.notebook.observed import Observed
from zc_notebooks.notebook.tasks import Soon, Tasks

EVERY_S: Final = 1.0
"""Seconds between two looks at what other processes did, while the widget is on a page."""
_ASSETS: Final = Path(__file__).parent / "assets"


def script(name: str) -> str:
    """The page side of a widget: the shared part, then its own."""
    return "\n".join((_ASSETS / part).read_text(encoding="utf-8") for part in ("common.js", f"{name}.js"))


class Page(anywidget.AnyWidget):
    """A thin view on a state. It looks at the state again and again only while it stands on a page.

    Args:
        state: What is shown; it hears of every exception of a click or of a task.
        loop: Where tasks run; the package's own loop unless given.
        sleep: Waits between two looks.
    """

    _css = (_ASSETS / "panel.css").read_text(encoding="utf-8")
    panel = traitlets.Dict().tag(sync=True)
    """What the page shows. It is saved in notebooks: no prompt and no answer is part of it."""

    def __init__(
        self,
        state: Observed,
        *,
        loop: Soon | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        super().__init__()
        self.state = state
        self.tasks = Tasks(state.failed, loop)
        self._sleep = sleep
        self._following = False
        self._lock = threading.RLock()
        self._view_count = 0  # counted by the page from here on
        self.on_msg(self._heard)
        self.observe(self._counted, "_view_count")
        self._unobserve = state.observe(self.told)
        self.told("panel")

    # -- to be filled in ----------------------------------------------------------------------------------------------

    def shown(self) -> dict[str, Any]:
        """What the page shows, as plain data; instants are milliseconds since 1970."""
        raise NotImplementedError

    def sheet(self) -> Sheet:
        """What is seen where no widget can be: an export, a page of a repository, a notebook without its kernel."""
        raise NotImplementedError

    def hear(self, message: Mapping[str, Any]) -> None:
        """One click."""
        if message["do"] != "dismiss":
            raise ValueError(f"there is no button {message['do']!r}")
        self.state.dismiss()

    def told(self, topic: str) -> None:
        """What changed in the state, by its topic."""
        if topic == "trouble":
            trouble = self.state.trouble
            self.send({"kind": "trouble", "trouble": None if trouble is None else msgspec.to_builtins(trouble)})
            return
        with self._lock:
            self.panel = self.shown()

    def say_all(self) -> None:
        """Everything, to a page that has just begun to show the widget."""
        self.state.refresh(always=True)
        self.told("trouble")

    # -- the rest -----------------------------------------------------------------------------------------------------

    @property
    def following(self) -> bool:
        """Whether it looks at its state by itself."""
        return self._following

    def close(self) -> None:
        """Ends it: nothing is looked at any more, and pages drop it."""
        self._unobserve()
        self._unfollow()
        super().close()

    def click(self, message: Mapping[str, Any]) -> None:
        """One message of the page; whatever it raises is shown there."""
        doing = str(message.get("do", "a message")).replace("_", " ")
        try:
            self.say_all() if doing == "hello" else self.hear(message)
        except Exception as error:  # noqa: BLE001 (nobody waits for a click; it is shown instead)
            self.state.failed(doing, error)

    def _heard(self, _widget: object, message: Any, _buffers: object) -> None:
        self.click(message if isinstance(message, dict) else {})

    def _counted(self, change: Mapping[str, Any]) -> None:
        if change["new"] and not self._following:
            self._following = True
            self.tasks.start("following", self._follow)
        elif not change["new"]:
            self._unfollow()

    def _unfollow(self) -> None:
        if self._following:
            self._following = False
            self.tasks.cancel("following")

    async def _follow(self) -> None:
        said = ""
        while self._following:
            try:
                await asyncio.to_thread(self.state.refresh)
                if said:
                    await asyncio.to_thread(self.state.note, "")
                said = ""
            except Exception as error:  # noqa: BLE001 (the next look may go well: a folder comes back, a lock is freed)
                if said != str(error):
                    said = str(error)
                    self.state.failed("looking", error)
            await self._sleep(EVERY_S)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        made = super()._repr_mimebundle_(**options)
        if made is not None:
            made[0]["text/html"] = self.sheet().html()
        return made


def ms(at: datetime) -> float:
    """Milliseconds since 1970."""
    return at.timestamp() * 1000
