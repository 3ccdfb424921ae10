"""Starting, many at once, ending in the middle of everything, and the same bytes from the same seed."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import httpx
import pytest

from tests.lab.asking import WIRES, ask, request
from tests.open_files import open_files
from zc_notebooks.lab import Lab, LabClock, describe, load_scenario, parse_scenario, scenario_names, serve

NOON = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


def test_nothing_is_left_behind() -> None:
    """No thread and no descriptor more than before, after streams that were left half read."""
    with Lab("wires", latency=0) as warm, httpx.Client() as client:
        ask(warm, client, "openai_chat")
    gc.collect()
    threads, files = set(threading.enumerate()), open_files().items()
    for _ in range(3):
        with Lab("wires", latency=0) as lab, httpx.Client() as client:
            lab.set_fault("chat", "stall:2", times=1)
            path, body = request("openai_chat", "openai/gpt-oss-120b", "Count to 60", stream=True)
            with client.stream("POST", lab.base_url("chat") + path, json=body) as response:
                next(response.iter_bytes())
    gc.collect()
    assert set(threading.enumerate()) <= threads
    assert open_files().items() <= files


def test_closing_ends_stalled_and_slow_answers_at_once() -> None:
    """A hanging client does not keep a lab from closing; it sees its connection end."""
    lab = Lab("pair", latency=0).start()
    lab.set_fault("primary", ["hang", "stall", "slow_start:60"])
    errors: list[Exception] = []

    def hang(stream: bool) -> None:
        try:
            with httpx.Client(timeout=20) as client:
                ask(lab, client, "openai_chat", provider="primary", stream=stream)
        except httpx.HTTPError as error:
            errors.append(error)

    threads = [threading.Thread(target=hang, args=(stream,)) for stream in (False, True, True)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 5
    while len(lab.requests) < 3 and time.monotonic() < deadline:
        os.sched_yield()  # the lab tells of requests when it is asked
    started = time.monotonic()
    lab.close()
    for thread in threads:
        thread.join(5)
    assert time.monotonic() - started < 3
    assert len(errors) == 3
    lab.close()
    assert not lab.running


def test_it_starts_quickly_and_only_once() -> None:
    """A start takes well under a quarter of a second; starting twice is one start."""
    with Lab("pair"):
        pass
    lab = Lab("pair")
    started = time.perf_counter()
    lab.start()
    took = time.perf_counter() - started
    url = lab.start().url
    assert lab.url == url
    lab.close()
    assert took < 1.0  # 0.02 s on an idle machine
    with pytest.raises(RuntimeError, match="not started"):
        _ = lab.url


def test_a_taken_port_is_an_error() -> None:
    """serve() on a port somebody has says so, and leaves nothing open."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        serve("pair", taken.getsockname()[1])
    lab = serve("pair")
    assert lab.running
    lab.close()


def _transcript(seed: int) -> list[tuple[int, bytes]]:
    with Lab("guide", clock=LabClock(NOON, frozen=True), seed=seed, latency=0) as lab, httpx.Client() as client:
        names = [name for name in "abcdef" for _ in range(6)]
        told = [
            ask(lab, client, "openai_chat", provider=name, stream=place % 2 == 0) for place, name in enumerate(names)
        ]
        return [(response.status_code, response.content) for response in told]


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Chance, ids and answers follow from the seed; another seed gives others."""
    first = _transcript(7)
    assert first == _transcript(7)
    assert first != _transcript(8)


def test_the_measured_rates_come_out() -> None:
    """Over 36 calls each, refusals are as rare or as common as they were measured."""
    with Lab("guide", clock=LabClock(NOON, frozen=True), latency=0) as lab, httpx.Client() as client:
        refused = {
            name: sum(ask(lab, client, "openai_chat", provider=name).status_code != 200 for _ in range(36))
            for name in "abcdef"
        }
    assert 8 <= refused["a"] <= 20
    assert 26 <= refused["b"] <= 35
    assert refused["c"] == 36
    assert 9 <= refused["d"] <= 21
    assert (refused["e"], refused["f"]) == (0, 0)


@pytest.mark.parametrize("count", [100])
def test_many_streams_at_once(count: int) -> None:
    """A hundred concurrent streams over all wires, a third of them cut at random places: each ends as it should."""

    async def one(lab: Lab, client: httpx.AsyncClient, place: int) -> bool:
        wire = list(WIRES)[place % len(WIRES)]
        spec = lab.scenario.provider(WIRES[wire])
        path, body = request(wire, spec.models[0].id, "Count to 60", stream=True)
        try:
            response = await client.post(lab.base_url(spec.name, wire) + path, json=body)  # type: ignore[arg-type]
        except httpx.RemoteProtocolError:
            return False
        assert "60" in response.text
        return True

    async def all_of_them(lab: Lab) -> list[bool]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=30, limits=limits) as client:
            return await asyncio.gather(*(one(lab, client, place) for place in range(count)))

    draw = random.Random(1)  # noqa: S311 (a simulation)
    with Lab("wires", latency=0) as lab:
        for name in WIRES.values():
            lab.set_fault(name, [f"cut:{draw.randint(0, 59)}" if draw.random() < 0.33 else None for _ in range(17)])
        whole = asyncio.run(all_of_them(lab))
        cut = sum(request.answered == "cut" for request in lab.requests)
        assert len(lab.requests) == count
    assert 15 < cut < 55
    assert whole.count(False) == cut


def test_it_runs_on_h11_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without httptools the lab answers, streams and breaks in the same way."""
    monkeypatch.setitem(sys.modules, "httptools", None)  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "uvicorn.protocols.http.httptools_impl", raising=False)
    with Lab("wires", latency=0) as lab, httpx.Client() as client:
        assert ask(lab, client, "openai_chat").status_code == 200
        assert "[DONE]" in ask(lab, client, "openai_chat", stream=True).text
        lab.set_fault("chat", ["cut:3", "reset"])
        with pytest.raises(httpx.RemoteProtocolError):
            ask(lab, client, "openai_chat", stream=True)
        with pytest.raises(httpx.ReadError):
            ask(lab, client, "openai_chat")


def test_importing_the_package_does_not_load_the_server() -> None:
    """Starlette and uvicorn load when a lab starts, not before."""
    code = "import sys, zc_notebooks, zc_notebooks.lab; print('uvicorn' in sys.modules, 'starlette' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("name", scenario_names())
def test_shipped_scenarios_are_described(name: str) -> None:
    """Each shipped scenario loads, has a chain, and can be told in rows."""
    rows = describe(name)
    scenario = load_scenario(name)
    assert scenario.chain
    assert [row.provider for row in rows] == [spec.name for spec in scenario.providers]
    assert all(row.models for row in rows)


GOOD = """
name = "x"
title = "x"
[[provider]]
name = "p"
family = "groq"
alias = "a"
[[provider.model]]
id = "m"
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 3", "Expected `str`"),
        (GOOD.replace('alias = "a"', 'alias = "a"\nlatency = 3'), "latency"),
        (GOOD + '[[chain]]\nprovider = "q"', "names no provider"),
        (GOOD + '[[chain]]\nprovider = "p"\nmodel = "z"', "no model 'z'"),
        (GOOD + GOOD[GOOD.index("[[provider]]") :], "two providers"),
        (GOOD + '[[provider.quota]]\ncounts = "cows"\nper = "day"\nlimit = 1', "cows"),
    ],
)
def test_wrong_scenarios_are_told(text: str, says: str) -> None:
    """What is wrong in a file is said with its place."""
    with pytest.raises(ValueError, match=says):
        parse_scenario(text, source="mine.toml")


def test_wrong_names_in_a_scenario_are_told() -> None:
    """A missing scenario names those there are; an unknown failure or deviation in one is an error at once."""
    with pytest.raises(ValueError, match="default"):
        Lab("nowhere")
    with pytest.raises(KeyError, match="no failure"):
        Lab(parse_scenario(GOOD.replace('alias = "a"', 'alias = "a"\nscript = ["kaput"]')))
    with pytest.raises(ValueError, match="deviations of groq"):
        Lab(parse_scenario(GOOD.replace('alias = "a"', 'alias = "a"\ndeviations = { hats = 3 }')))


def test_a_scenario_can_be_changed_in_code() -> None:
    """One field of one provider is replaced; the rest stays."""
    changed = load_scenario("pair").changed("primary", family="openrouter", balance_usd=0.0)
    assert changed.provider("primary").ref == "openrouter.primary"
    with Lab(changed, latency=0) as lab:
        assert lab.base_url("primary").endswith("/api/v1")
        assert lab.base_url("backup").endswith("/v1")


def test_deviations_can_be_switched() -> None:
    """A provider can be given another family's habits."""
    text = GOOD.replace(
        'alias = "a"',
        'alias = "a"\ndeviations = { finish = false, comment = "hello", usage = "never", moderation = true }',
    )
    with Lab(parse_scenario(text), latency=0) as lab, httpx.Client() as client:
        stream = ask(lab, client, "openai_chat", provider="p", stream=True).text
    assert stream.startswith(": hello")
    assert '"finish_reason":"stop"' not in stream
    assert "prompt_tokens" not in stream
    assert '"moderation"' in stream
