"""Continuous reachability: installed is not reachable, so every candidate is asked now and then (as ledger rows)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from zc_notebooks.errors import ConfigError
from zc_notebooks.probe import ProbeResult, all_out, probe

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain

MIN_EVERY_S: Final = 1.0
Told = Callable[[ProbeResult], object]
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_every(text: str) -> float:
    """Seconds of ``90``, ``30s``, ``10m``, ``2h`` or ``1d``.

    Raises:
        ConfigError: Anything else, or less than a second.
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        seconds = float("nan")
    if not MIN_EVERY_S <= seconds <= 32 * 86400:
        raise ConfigError(f"--every {text!r} is no interval: write 30s, 10m or 2h (at least one second)")
    return seconds


def targets(chain: Chain, refs: Sequence[str]) -> list[str]:
    """The refs to ask: those named, else every profile that has a model, of its own or by the chain or a route.

    Raises:
        ConfigError: A named one is not configured.
    """
    config = chain.config
    known = config.profiles
    for ref in refs:
        if ref not in known:
            raise ConfigError(f"the profile {ref!r} is not configured (configured: {', '.join(known)})")
    named = {link.provider for link in config.chain} | {route.model_provider for route in config.routes}
    return list(refs) or [ref for ref, profile in known.items() if profile.model or ref in named]


async def watch(
    chain: Chain,
    refs: Sequence[str] = (),
    *,
    every_s: float = 600.0,
    rounds: int | None = None,
    told: Told | None = None,
) -> None:
    """Probes each candidate once in ``every_s`` seconds, spread evenly, until cancelled (or for ``rounds`` rounds).

    A candidate whose marks keep all its credentials out, or that a changed configuration no longer has, is not asked.
    Every probe is a ledger row of mode ``probe``.
    """
    chosen = targets(chain, refs)
    done, pause = 0, 0.0
    while rounds is None or done < rounds:
        for ref in chosen or ("",):  # nobody now: an edit may name somebody later
            await chain.clock.sleep(pause)
            pause = every_s / max(len(chosen), 1)
            if ref and not all_out(chain, ref):
                result = await probe(chain, ref, cooling=False)
                if told is not None:
                    told(result)
        done += 1
        chosen = list(refs) or targets(chain, ())  # the file may have changed


def start(chain: Chain, refs: Sequence[str], *, every_s: float, told: Told | None = None) -> asyncio.Task[None]:
    """:func:`watch` as a task of the running loop; cancel it to stop."""
    return asyncio.get_running_loop().create_task(watch(chain, refs, every_s=every_s, told=told), name="zc-watch")
