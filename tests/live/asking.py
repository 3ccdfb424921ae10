"""Our own client at a counterpart: a chain from a config text, one profile for each wire."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zc_notebooks.chain import Chain
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.config.load import parse_config
from zc_notebooks.events import Event, Text
from zc_notebooks.records import WireName
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.result import Completion


@dataclass(frozen=True)
class Place:
    """Where a wire is served, and as what."""

    family: str
    path: str
    model: str

    @property
    def ref(self) -> str:
        """The profile's ref."""
        return f"{self.family}.at"


PLACES: dict[WireName, Place] = {
    "openai_chat": Place("custom", "/v1", "gpt-5-mini"),
    "openai_responses": Place("openai", "/v1", "gpt-5-mini"),
    "anthropic_messages": Place("anthropic", "/v1", "claude-sonnet-4-5"),
    "gemini": Place("google", "/v1beta", "gemini-2.5-flash"),
    "ollama": Place("ollama", "", "qwen3"),
    "cohere_v2": Place("cohere", "/v2", "command-r"),
}


def config_text(url: str) -> str:
    """Keyless profiles at ``url``, one for each wire, and a chain over them; nothing is tried twice."""
    profiles = [
        f'[providers.{place.family}.at]\nuri = "{url}{place.path}"\nwire_api = "{wire}"\nkeyless = true\n'
        f'model = "{place.model}"\nvision = true\n'
        for wire, place in PLACES.items()
    ]
    links = [f'[[chain]]\nprovider = "{place.ref}"\n' for place in PLACES.values()]
    return "\n".join([*profiles, *links, "[reliability]\nprovider_retries = 0\n"])


@dataclass
class Asker:
    """Asks through a chain of its own each time, so that no mark of one call touches the next."""

    url: str
    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    """A manual clock makes no wait real; its limits on connections and streams never strike."""
    shown: list[Event] = field(default_factory=list)
    """Events of the last streamed call, the failed one included."""

    def ask(self, prompt: Any, wire: WireName | None = None, *, streamed: bool = False, **settings: Any) -> Completion:
        """One answer; of a wire alone, or through the whole chain."""
        if wire is not None:
            settings |= {"start": PLACES[wire].ref, "fallback": False}
        return asyncio.run(self._ask(prompt, streamed=streamed, **settings))

    @property
    def pieces(self) -> list[str]:
        """Pieces of text of the last streamed call."""
        return [event.text for event in self.shown if isinstance(event, Text)]

    async def _ask(self, prompt: Any, *, streamed: bool, **settings: Any) -> Completion:
        config = parse_config(config_text(self.url), base_dir=self.folder, source="zc.toml")
        marks = Marks(None, clock=self.clock)
        chain = Chain(config, clock=self.clock, ledger=self.folder / "ledger", marks=marks, environ={})
        self.shown = []
        try:
            if not streamed:
                return await chain.ask(prompt, **settings)
            async with chain.stream(prompt, **settings) as events:
                async for event in events:
                    self.shown.append(event)
            if events.completion is None:
                raise AssertionError("a stream that ends well has a completion")
            return events.completion
        finally:
            await chain.aclose()
