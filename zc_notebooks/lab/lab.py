"""The lab itself: a fleet of simulated providers, its clock, its faults and its request log."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from zc_notebooks.lab.asked import Asked, LabRequest, Route, route
from zc_notebooks.lab.clock import LabClock
from zc_notebooks.lab.config_text import config_text, key_variables
from zc_notebooks.lab.dialect import family
from zc_notebooks.lab.faults import FaultLike, Playing
from zc_notebooks.lab.provider import Provider
from zc_notebooks.lab.scenario import ProviderSpec, Scenario, load_scenario
from zc_notebooks.markup import counted
from zc_notebooks.records import Record, WireName

if TYPE_CHECKING:
    from zc_notebooks.lab.server import LabServer

_LOG_LINES = 50_000


class Lab:
    """Simulated providers over loopback HTTP, in this process.

    Args:
        scenario: Name of a shipped scenario, a TOML file, or a :class:`Scenario`.
        clock: The lab's time; by default the scenario's start, else the real now, running on.
        seed: The same seed, requests and clock give the same bytes.
        port: Port on 127.0.0.1 of :attr:`url`, each provider's own following it; free ones by default.
        latency: Factor on every simulated wait; 0 answers at once.

    Raises:
        ValueError: there is no such scenario, or it is wrong.

    ``with Lab() as lab:`` starts and closes it. All methods may be called from any thread.
    """

    def __init__(
        self,
        scenario: str | Path | Scenario = "default",
        *,
        clock: LabClock | None = None,
        seed: int = 0,
        port: int = 0,
        latency: float = 1.0,
    ) -> None:
        self.scenario = load_scenario(scenario)
        self.clock = clock or LabClock(self.scenario.start)
        self.seed = seed
        self._port = port
        self._lock = threading.Lock()
        self._log: deque[LabRequest] = deque(maxlen=_LOG_LINES)
        self._counted = 0
        self._providers = {
            spec.name: Provider(spec, self.clock, seed=seed, latency=latency) for spec in self.scenario.providers
        }
        self._server: LabServer | None = None

    def start(self) -> Self:
        """Starts to answer; does nothing when it already does.

        Raises:
            OSError: the port is taken.
        """
        if self._server is None:
            from zc_notebooks.lab.server import LabServer

            server = LabServer(self, tuple(self._providers), self._port)
            server.start()
            self._server = server
        return self

    def close(self) -> None:
        """Ends every response and connection; returns within seconds. Closing twice is fine."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """Whether it answers requests."""
        return self._server is not None

    @property
    def url(self) -> str:
        """Common origin: below it stands every provider under its name.

        Raises:
            RuntimeError: the lab is not started.
        """
        return f"http://127.0.0.1:{self._running.port}"

    @property
    def _running(self) -> LabServer:
        if self._server is None:
            raise RuntimeError("the lab is not started: use `with Lab() as lab:` or lab.start()")
        return self._server

    def origin(self, name: str) -> str:
        """The provider's own origin (scheme, host, port).

        Raises:
            KeyError: there is no such provider.
        """
        return f"http://127.0.0.1:{self._running.ports[self.scenario.provider(name).name]}"

    def base_url(self, name: str, wire: WireName | None = None) -> str:
        """The address a profile of the provider has as ``uri``.

        Args:
            name: Its name, ref or family.
            wire: The wire to speak; the provider's own by default.

        Raises:
            KeyError: there is no such provider.
        """
        spec = self.scenario.provider(name)
        return f"{self.origin(spec.name)}{path_of(spec, wire)}"

    def config_text(self) -> str:
        """A ``zc.toml`` for the whole fleet: providers, chain, reliability."""
        return config_text(self.scenario, self.base_url)

    def environ(self) -> Mapping[str, str]:
        """Variables that hold the keys of providers that ask for one; empty in most scenarios."""
        return key_variables(self.scenario)

    @property
    def requests(self) -> tuple[LabRequest, ...]:
        """The request log, oldest first."""
        with self._lock:
            return tuple(self._log)

    def requests_for(self, name: str) -> tuple[LabRequest, ...]:
        """The log of one provider, by its name, ref or family."""
        wanted = self.scenario.provider(name).name
        return tuple(request for request in self.requests if request.provider == wanted)

    def set_fault(
        self, provider: str, fault: FaultLike | Sequence[FaultLike | None] | None, times: int | None = None
    ) -> None:
        """Says what goes wrong at a provider from now on.

        Args:
            provider: Its name, ref or family.
            fault: A failure or fault by name (``"google.requests_per_day"``, ``"balance"``, ``"cut:40"``,
                ``"status:503"``, …), a :class:`~zc_notebooks.lab.faults.Fault`, a sequence with one of them (or
                ``None``) for each coming request, or ``None`` for none.
            times: For how many requests (of a sequence: how many rounds); by default until it is taken away or, for a
                failure that states its reset, until that reset comes on the lab's clock.

        Raises:
            KeyError: there is no such provider or failure.
        """
        self._providers[self.scenario.provider(provider).name].set_fault(fault, times)

    def reset(self) -> None:
        """Back to the start of the scenario as of the clock's now: quotas, balances, faults, chance and the log."""
        for provider in self._providers.values():
            provider.reset()
        with self._lock:
            self._log.clear()
            self._counted = 0

    def __repr__(self) -> str:
        where = f"port {self._server.port}" if self._server is not None else "not started"
        return f"Lab({self.scenario.name!r}, {counted(len(self._providers), 'provider')}, {where})"

    def receive(
        self, name: str, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[Playing, Callable[[], None]]:
        """For the server: what one request gets, and what to call when its response has ended."""
        from zc_notebooks.lab.asked import KEY_HEADERS

        with self._lock:
            self._counted += 1
            asked = Asked(
                number=self._counted,
                at=self.clock.now(),
                method=method,
                path=path,
                query=query,
                headers={key: value for key, value in headers.items() if key in KEY_HEADERS or key == "content-type"},
                body=body,
            )
        line = _Line(
            LabRequest(
                number=asked.number,
                at=asked.at,
                provider=name,
                method=method,
                path=path,
                header_names=tuple(sorted(headers)),
                key_came=asked.key is not None,
            )
        )
        provider = self._providers.get(name)
        if provider is None:
            playing = _nobody(name)
            self._keep(line, playing)
            return playing, lambda: None
        provider.enter(asked.key)
        try:
            playing = provider.serve(asked, _read(path), line.note)
        except BaseException:
            provider.leave(asked.key, asked.number)
            raise
        self._keep(line, playing)
        return playing, lambda: provider.leave(asked.key, asked.number)

    def _keep(self, line: _Line, playing: Playing) -> None:
        line.note(
            status=playing.status or None,
            answered=playing.answered,
            retry_after_s=_seconds(playing.headers.get("retry-after", "")),
        )
        with self._lock:
            self._log.append(line.request)


class _Line:
    """One line of the log while it is written."""

    def __init__(self, request: LabRequest) -> None:
        self.request = request

    def note(self, **fields: Any) -> None:
        """Sets fields of the line."""
        self.request = msgspec.structs.replace(self.request, **fields)


def _seconds(header: str) -> float | None:
    """The header as seconds; an HTTP date is not kept."""
    try:
        return float(header)
    except ValueError:
        return None


def _read(path: str) -> Route:
    return route(path)


def _nobody(name: str) -> Playing:
    body = f'{{"error":{{"message":"the lab has no provider {name[:40]!r}","type":"not_found"}}}}'.encode()
    return Playing(status=404, headers={"content-type": "application/json"}, steps=(body,), answered="no_such_provider")


def path_of(spec: ProviderSpec, wire: WireName | None = None) -> str:
    """Path of a provider's base URL below its name."""
    if spec.path is not None and wire in (None, spec.wire):
        return spec.path
    known = family(spec.family)
    return known.paths.get(wire or spec.wire or known.wire, "")


class ScenarioRow(Record, frozen=True, kw_only=True):
    """One provider of a scenario, in words."""

    scenario: str
    provider: str
    ref: str
    tier: str
    wire: str
    models: tuple[str, ...]
    limits: tuple[str, ...]
    title: str


def describe(scenario: str | Path | Scenario = "default") -> tuple[ScenarioRow, ...]:
    """The providers of a scenario as rows.

    Raises:
        ValueError: there is no such scenario.
    """
    loaded = load_scenario(scenario)
    return tuple(
        ScenarioRow(
            scenario=loaded.name,
            provider=spec.name,
            ref=spec.ref,
            tier=spec.tier,
            wire=spec.wire or family(spec.family).wire,
            models=tuple(model.id for model in spec.models),
            limits=tuple(_limits(spec)),
            title=spec.title,
        )
        for spec in loaded.providers
    )


def _limits(spec: ProviderSpec) -> list[str]:
    told = [f"{quota.limit:,} {quota.counts} per {quota.per}" for quota in spec.quotas]
    if spec.balance_usd is not None:
        told.append(f"{spec.balance_usd:g} USD")
    return told


def serve(scenario: str | Path | Scenario = "default", port: int = 0, *, seed: int = 0, latency: float = 1.0) -> Lab:
    """A started lab, for a process that keeps it running. It prints nothing; the caller shows :meth:`Lab.config_text`.

    Raises:
        OSError: the port is taken.
        ValueError: there is no such scenario.
    """
    return Lab(scenario, seed=seed, port=port, latency=latency).start()
