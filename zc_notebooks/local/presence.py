"""Which candidates on this machine answer: asked once, remembered for a while (installed is not running).

A provider elsewhere is simply called. One on this machine is often not running, and a walk that calls it would wait
for its retries every time; so it has to show first that it answers, by a request without tokens and without a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from zc_notebooks.clock import Clock
from zc_notebooks.config.address import is_loopback
from zc_notebooks.config.catalogue import families
from zc_notebooks.errors import TransportFailure
from zc_notebooks.local.model import MODELS, managed_name
from zc_notebooks.records import HttpRequest, HttpResponse, Profile, Record

ASK_S: Final = 0.5
"""Seconds within which a server on this machine answers a request that costs it nothing."""
PRESENT_S: Final = 300.0
"""Seconds for which an answer is remembered."""
ABSENT_S: Final = 60.0
"""Seconds for which silence is remembered."""

Ask = Callable[[HttpRequest], Awaitable[HttpResponse]]


class Site(Record, frozen=True, kw_only=True):
    """Where a candidate on this machine would answer."""

    origin: str
    """Scheme, host and port; ``managed://NAME`` for a model that this package starts itself."""
    title: str
    url: str
    """What is asked, with GET. Any answer counts, an error too: somebody is there."""
    start: str
    """The command that starts it; empty when it is not known."""

    def not_running(self, why: str) -> str:
        """Who, how to start it, what was asked, what came of it: one sentence."""
        if managed_name(self.url) is not None:
            return why
        start = f": start it with `{self.start}`" if self.start else ""
        return f"{self.title} is not running{start} (GET {self.url}: {why})"


def site_of(profile: Profile) -> Site | None:
    """Where ``profile`` answers when it is a candidate on this machine, else ``None``."""
    return _site(profile.base_url, profile.family, profile.ref, local=profile.tier == "local")


@lru_cache(maxsize=256)
def _site(base_url: str, family_name: str, ref: str, *, local: bool) -> Site | None:
    name = managed_name(base_url)
    if name is not None:
        title = MODELS[name].title if name in MODELS else name
        return Site(origin=base_url.removesuffix("/v1"), title=title, url=base_url, start="")
    parts = urlsplit(base_url)
    if not is_loopback(parts.hostname or ""):
        return None
    family = families().get(family_name)
    known = family if family is not None and family.tier == "local" else None
    if known is None and not local:
        return None
    url = known.probe_url(base_url) if known is not None else None
    return Site(
        origin=f"{parts.scheme}://{parts.netloc}",
        title=known.title if known is not None else ref,
        url=url or f"{base_url.rstrip('/')}/models",
        start=known.start if known is not None else "",
    )


class Seen(Record, frozen=True, kw_only=True):
    """What is remembered of a site."""

    until: float
    """Instant on the monotonic clock after which it is asked again."""
    why: str | None = None
    """What stands in its way (``Connection refused``); ``None``: it answered."""


Memory = dict[str, Seen]
"""Origin → what was seen there."""
shared: Final[Memory] = {}
"""What this process has seen; chains on the system's clock share it."""


class Presence:
    """Remembers who answered. Any thread and any loop may use it.

    Args:
        ask: Sends one request to a site.
        clock: Decides what is too old.
        memory: Where it is kept.
        ask_s: Real seconds one question may take, whatever the clock is.
    """

    def __init__(self, ask: Ask, clock: Clock, *, memory: Memory | None = None, ask_s: float = ASK_S) -> None:
        self._ask = ask
        self._clock = clock
        self._memory: Memory = {} if memory is None else memory
        self._ask_s = ask_s
        self._asking: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Task[None]]] = WeakKeyDictionary()

    async def look(self, profiles: Iterable[Profile], *, remembered: bool = True) -> dict[str, str]:
        """Base URL → one sentence for each candidate on this machine that does not answer.

        Those that nothing is known of are asked, all at once. With ``remembered=False`` nobody is asked and what is
        known is disregarded: only a model that is not installed at all is in the way.
        """
        sites = {profile.base_url: site for profile in profiles if (site := site_of(profile)) is not None}
        if not sites:
            return {}
        unknown = [site for site in sites.values() if self._known(site.origin) is None] if remembered else []
        if unknown:
            await asyncio.gather(*map(self._asked, unknown))
        absent = {url: self._absent(site, remembered=remembered) for url, site in sites.items()}
        return {url: words for url, words in absent.items() if words is not None}

    def saw(self, origin: str) -> None:
        """It has answered just now."""
        self._memory[origin] = Seen(until=self._clock.monotonic() + PRESENT_S)

    def lost(self, origin: str, why: str) -> None:
        """It does not answer: ``why`` is what the system says, or the sentence of a model that did not start."""
        self._memory[origin] = Seen(until=self._clock.monotonic() + ABSENT_S, why=why)

    def forget(self, origin: str) -> None:
        """The next look asks again."""
        self._memory.pop(origin, None)

    # -- inside -----------------------------------------------------------------------------------------------------

    def _known(self, origin: str) -> Seen | None:
        seen = self._memory.get(origin)
        return seen if seen is not None and seen.until > self._clock.monotonic() else None

    def _absent(self, site: Site, *, remembered: bool) -> str | None:
        model = MODELS.get(managed_name(site.url) or "")
        missing = None if model is None else model.missing()
        seen = self._known(site.origin) if remembered else None
        return missing or (None if seen is None or seen.why is None else site.not_running(seen.why))

    async def _asked(self, site: Site) -> None:
        """Asks a site, once for all who wait for it on this loop."""
        if managed_name(site.url) is not None:
            return  # started when it is called
        tasks = self._asking.setdefault(asyncio.get_running_loop(), {})
        if site.origin not in tasks:
            tasks[site.origin] = asyncio.ensure_future(self._question(site))
            tasks[site.origin].add_done_callback(lambda _: tasks.pop(site.origin, None))
        await asyncio.shield(tasks[site.origin])

    async def _question(self, site: Site) -> None:
        try:
            async with asyncio.timeout(self._ask_s):
                await self._ask(HttpRequest(method="GET", url=site.url, headers={"accept": "application/json"}))
        except TransportFailure as failure:
            self.lost(site.origin, reason(failure))
        except TimeoutError:
            self.lost(site.origin, f"no answer within {self._ask_s:g} s")
        else:
            self.saw(site.origin)


def reason(failure: TransportFailure) -> str:
    """The last part of a failure's words, which is the system's own."""
    return str(failure).rpartition(": ")[2]
