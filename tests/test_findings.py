"""What a user can stumble over, each found by somebody who did."""

from __future__ import annotations

import asyncio
import concurrent.futures
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet, chain_toml, profile
from zc_notebooks.borders import BorderWarning
from zc_notebooks.budget.spending import Spending
from zc_notebooks.cli.app import run as zc_command
from zc_notebooks.config.check import check_file
from zc_notebooks.config.load import find_config, load_config, parse_config
from zc_notebooks.errors import ConfigError, NoPermittedCandidate
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.testing import ManualClock, chat_answer


def fleet_of(folder: Path, toml: str | None = None, **options: Any) -> Fleet:
    return Fleet({"a": [chat_answer()] * 9, "b": [chat_answer()] * 9}, folder, toml=toml, **options)


@pytest.mark.parametrize("way", ["pool", "thread"])
def test_a_thread_outside_a_border_is_warned(tmp_path: Path, way: str) -> None:
    """A pool does not take a border along: the call says so; ``turn.carry`` takes it, and the border holds."""
    fleet = fleet_of(tmp_path, chain_toml("a", "b"))
    told: list[Any] = []

    def work() -> None:
        with pytest.warns(BorderWarning, match=r"turn\.carry"):
            fleet.chain.ask_sync("hello")
        told.append("warned")

    with zc.allowed(["custom.b"]):
        if way == "pool":
            with concurrent.futures.ThreadPoolExecutor() as pool:
                pool.submit(work).result()
        else:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        with fleet.chain.turn("hello") as turn, concurrent.futures.ThreadPoolExecutor() as pool:
            done = pool.submit(turn.carry(lambda: fleet.chain.ask_sync("hello"))).result()
    assert told == ["warned"]
    assert done.served.provider_ref == "custom.b"


@pytest.mark.parametrize("way", ["ask", "stream", "probe", "script"])
def test_a_thread_with_a_loop_of_its_own_is_warned_too(tmp_path: Path, way: str) -> None:
    """Whatever asks: coroutines in a loop of the thread's own, a probe, the one function for scripts."""
    fleet = fleet_of(tmp_path, chain_toml("a", "b"))

    async def stream() -> None:
        async with fleet.chain.stream("hello") as events:
            async for _ in events:
                pass

    def script() -> None:
        link = ("custom.a", "m")
        config, send = fleet.chain.config, lambda _: chat_answer()
        zc.call_with_fallback(chain=[link], payload_for=lambda _: "hello", config=config, environ=KEYS, transport=send)

    ways: dict[str, Callable[[], object]] = {
        "ask": lambda: asyncio.run(fleet.chain.ask("hello")),
        "stream": lambda: asyncio.run(stream()),
        "probe": lambda: fleet.chain.probe_sync("custom.a"),
        "script": script,
    }

    def work() -> None:
        with pytest.warns(BorderWarning):
            ways[way]()

    with zc.allowed(["custom.b"]), concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(work).result()


def test_a_thread_is_not_warned_where_nobody_holds_a_border(tmp_path: Path) -> None:
    """Warnings are errors here: none comes."""
    fleet = fleet_of(tmp_path)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(lambda: fleet.chain.ask_sync("hello")).result().text == "42"


def test_a_worker_is_not_warned_for_the_border_of_its_neighbour(tmp_path: Path) -> None:
    """One worker's own border never was the other one's: nothing is lost."""
    fleet = fleet_of(tmp_path, chain_toml("a", "b"))
    with concurrent.futures.ThreadPoolExecutor() as pool, concurrent.futures.ThreadPoolExecutor() as others:

        def bordered() -> None:
            with zc.allowed(["custom.b"]):
                others.submit(lambda: fleet.chain.stream_sync("hello")).result()

        pool.submit(bordered).result()


def test_a_worker_is_not_warned_for_the_border_of_a_running_call(tmp_path: Path) -> None:
    """Under effort routing each call has a border of its own, which is nobody else's."""
    routes = "".join(
        f'[[model_routes]]\nhint = "{name}"\nmodel_provider = "custom.{name}"\nmodel = "m"\n' for name in "ab"
    )
    toml = chain_toml("a", "b", extra=routes + '[effort_routing]\nlocal_hint = "a"\ncloud_hint = "b"\n')
    with concurrent.futures.ThreadPoolExecutor() as pool:

        def beside(_: object) -> Any:
            pool.submit(lambda: fleet.chain.stream_sync("hello")).result()
            return chat_answer()

        fleet = Fleet({"a": [beside], "b": [chat_answer()]}, tmp_path, toml=toml)
        assert fleet.chain.ask_sync("hello").served.provider_ref == "custom.a"
        assert asyncio.run(fleet.chain.ask("hello")).served.provider_ref == "custom.a"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model", '"dear"', "the model is the profile's"),
        ("messages", "[]", "the prompt is the call's"),
        ("contents", "[]", "the prompt is the call's"),
        ("stream", "true", "whether a call streams"),
    ],
)
def test_an_extra_cannot_decide_what_the_chain_decides(tmp_path: Path, name: str, value: str, words: str) -> None:
    """Otherwise another model is asked, and priced, than every row says."""
    toml = profile("a", provider_extra=f"{{ {name} = {value} }}")
    with pytest.raises(ConfigError) as raised:
        parse_config(toml, base_dir=tmp_path, source="zc.toml")
    assert words in str(raised.value.problems[0])
    assert raised.value.problems[0].path == f"providers.custom.a.provider_extra.{name}"


def test_a_spend_file_that_was_cut_off_is_not_a_new_day(tmp_path: Path) -> None:
    """Emptied, not removed: nothing that costs is asked; removed by hand it counts anew."""
    toml = 'default_provider = "custom.a"\n' + profile("a", pricing="{ m = 1.0 }", max_tokens="50")
    toml += "[borders]\nbudget_day_usd = 1.0\n"
    path = tmp_path / "spend.sqlite"
    clock = ManualClock()
    fleet = fleet_of(tmp_path, toml, spending=Spending(path, clock=clock))
    fleet.chain.ask_sync("hello")
    fleet.chain.close()
    path.write_bytes(b"")
    for beside in tmp_path.glob("spend.sqlite-*"):
        beside.unlink()
    again = fleet_of(tmp_path, toml, spending=Spending(path, clock=clock))
    with pytest.raises(NoPermittedCandidate, match="it is empty"):
        again.chain.ask_sync("hello")
    assert again.transport.requests == []
    path.unlink()
    anew = fleet_of(tmp_path, toml, spending=Spending(path, clock=clock))
    assert anew.chain.ask_sync("hello").text == "42"


def test_a_link_that_leads_nowhere_is_a_file_that_is_missing(tmp_path: Path) -> None:
    """Not "no zc.toml": somebody put it there."""
    (tmp_path / "zc.toml").symlink_to("gone.toml")
    found = find_config({"HOME": str(tmp_path / "nobody")}, tmp_path)
    assert found == tmp_path / "zc.toml"
    with pytest.raises(ConfigError, match=r"zc\.toml is a link to gone\.toml, which does not exist"):
        load_config(found, environ={})


def test_a_configuration_without_a_start_is_a_warning(tmp_path: Path) -> None:
    """It loads; a call that names no start cannot be answered, and the check says so."""
    path = tmp_path / "zc.toml"
    path.write_text(profile("a"), encoding="utf-8")
    checked = check_file(path, KEYS)
    assert checked.ok
    assert [warning.code for warning in checked.warnings] == ["no_start"]
    path.write_text('default_provider = "custom.a"\n' + profile("a"), encoding="utf-8")
    assert check_file(path, KEYS).warnings == ()


def test_a_time_limit_that_numpy_counted(tmp_path: Path) -> None:
    """A whole number of any kind is one."""
    assert fleet_of(tmp_path).chain.ask_sync("hello", timeout_s=np.int64(5)).text == "42"


@pytest.mark.parametrize("seconds", ["5", float("nan"), float("inf"), 0, -1, True])
def test_a_time_limit_is_a_number_of_seconds(tmp_path: Path, seconds: Any) -> None:
    """One sentence, whatever was given."""
    fleet = fleet_of(tmp_path)
    with pytest.raises(InvalidRequest, match="is no number of seconds above 0"):
        fleet.chain.ask_sync("hello", timeout_s=seconds)
    assert fleet.transport.requests == []


def test_one_tier_is_a_tier(tmp_path: Path) -> None:
    """``allow_tiers="free"`` means that one."""
    fleet = fleet_of(tmp_path, chain_toml("a", tier='"free"'))
    assert fleet.chain.ask_sync("hello", allow_tiers="free").text == "42"  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'fre' is no tier"):
        fleet.chain.ask_sync("hello", allow_tiers="fre")  # type: ignore[arg-type]


# -- the command line's own output ------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["--version"], ["plan"], ["effort", "hi"], ["lab", "scenarios", "--json"]])
def test_a_full_disk_is_a_sentence(command: list[str], tmp_path: Path) -> None:
    """No traceback; status 1."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "zc_notebooks.cli", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    last = done.stderr.decode().strip().splitlines()[-1]
    assert last == "zc: standard output cannot be written (No space left on device)"
    assert b"Traceback" not in done.stderr


def test_a_reader_that_left_is_no_news(tmp_path: Path) -> None:
    """``zc … | true``: nothing on standard error."""
    done = subprocess.run(  # noqa: S602 (a pipe is what is tested)
        f"{sys.executable} -m zc_notebooks.cli lab scenarios | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        check=False,
        timeout=60,
    )
    assert done.stderr == b""
    assert done.returncode in (0, 1)


def test_an_interrupt_while_the_commands_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the first moments: the same word and status as later."""
    from zc_notebooks import cli

    def interrupted(_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("zc_notebooks.cli.app.run", interrupted)
    with pytest.raises(SystemExit) as left:
        cli.main(["plan"])
    assert left.value.code == 130
    assert capsys.readouterr().err == "cancelled\n"
    assert zc_command is not interrupted
