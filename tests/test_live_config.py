"""The configuration in force follows its file: at the next turn, never in the middle of a call, never a broken one."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import KEYS, chain_toml, profile
from zc_notebooks.attribution import REDACTED
from zc_notebooks.cli.app import run
from zc_notebooks.config import stamp
from zc_notebooks.config.load import load_config
from zc_notebooks.events import Final, Notice, Text
from zc_notebooks.live_config import BrokenEditWarning, LiveConfig
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import CHAT_DONE, ManualClock, Pieces, ScriptedTransport, chat_answer, chat_chunk, chat_error

OK = chat_answer("forty-two")
POOR = chat_error(402, "no money")
FIRST = chain_toml("a", "b")
OTHER = chain_toml("c", "b")
HOSTS = "abc"


class Desk:
    """A chain opened from a file that is being edited."""

    def __init__(self, folder: Path, text: str = FIRST, script: Any = None, environ: Any = None) -> None:
        self.path = folder / "zc.toml"
        self.path.write_text(text, encoding="utf-8")
        self.environ: dict[str, str] = dict(KEYS if environ is None else environ)
        self.clock = ManualClock()
        script = {f"{name}.test": [OK] for name in HOSTS} | {
            f"{key}.test": item for key, item in (script or {}).items()
        }
        self.transport = ScriptedTransport(script, clock=self.clock)
        self.chain = zc.open(
            self.path,
            environ=self.environ,
            transport=self.transport,
            clock=self.clock,
            ledger=folder / "ledger",
            marks=Marks(None, clock=self.clock),
        )

    def write(self, text: str) -> None:
        """Saves in place."""
        self.path.write_text(text, encoding="utf-8")

    def replace(self, text: str) -> None:
        """Saves as most editors do: a new file that takes the old one's name."""
        draft = self.path.with_name(".zc.toml.new")
        draft.write_text(text, encoding="utf-8")
        draft.rename(self.path)

    def ask(self) -> str:
        """Who serves the next turn."""
        return asyncio.run(self.chain.ask("x")).served.provider_ref

    @property
    def problem(self) -> str:
        return str(self.chain.config_problem or "")


def told(action: Callable[[], object]) -> list[str]:
    """The warnings of an action, of which Python hides none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        action()
    assert all(item.category is BrokenEditWarning for item in caught)
    return [str(item.message) for item in caught]


# -- one edit ---------------------------------------------------------------------------------------------------------

GOOD_EDITS: dict[str, Callable[[Desk], object]] = {
    "saved in place": lambda desk: desk.write(OTHER),
    "renamed over": lambda desk: desk.replace(OTHER),
    "deleted and written again": lambda desk: (desk.path.unlink(), desk.write(OTHER)),
    "the same size at the same time": lambda desk: (
        desk.write(OTHER),
        os.utime(desk.path, ns=(desk.path.stat().st_atime_ns, FIRST_SEEN[desk.path])),
    ),
    "with a byte order mark": lambda desk: desk.path.write_bytes(b"\xef\xbb\xbf" + OTHER.encode()),
    "moved away, linked back": lambda desk: (
        desk.path.with_name("real.toml").write_text(OTHER),
        desk.path.unlink(),
        desk.path.symlink_to("real.toml"),
    ),
}
FIRST_SEEN: dict[Path, int] = {}


@pytest.mark.parametrize("edit", GOOD_EDITS.values(), ids=GOOD_EDITS)
def test_a_good_edit_is_in_force_at_the_next_turn(tmp_path: Path, edit: Callable[[Desk], object]) -> None:
    """However the editor saves; and the other way back as well."""
    desk = Desk(tmp_path)
    FIRST_SEEN[desk.path] = desk.path.stat().st_mtime_ns
    assert desk.ask() == "custom.a"
    edit(desk)
    assert told(lambda: None) == []
    assert (desk.ask(), desk.problem) == ("custom.c", "")
    desk.write(FIRST)
    assert desk.ask() == "custom.a"


BROKEN_EDITS: dict[str, tuple[Callable[[Desk], object], str]] = {
    "no TOML": (lambda desk: desk.write(OTHER + "\n[chain"), "is not valid TOML"),
    "half of it": (lambda desk: desk.write(OTHER[: len(OTHER) // 2].rstrip() + '\nmodel = "'), "is not valid TOML"),
    "emptied": (lambda desk: desk.write(""), "names no provider"),
    "a wrong field": (lambda desk: desk.write(OTHER + "\n[reliability]\nretries = 2\n"), "reliability.retries"),
    "a dangling name": (lambda desk: desk.write(OTHER + '\n[[chain]]\nprovider = "custom.zz"\n'), "custom.zz"),
    "not UTF-8": (lambda desk: desk.path.write_bytes(b"\xff\xfe\x00"), "is not UTF-8"),
    "deleted": (lambda desk: desk.path.unlink(), "is gone"),
    "a folder": (lambda desk: (desk.path.unlink(), desk.path.mkdir()), "is a folder"),
    "a dangling link": (lambda desk: (desk.path.unlink(), desk.path.symlink_to("nowhere")), "is gone"),
    "another vendor's key": (
        lambda desk: (
            desk.environ.update(OPENAI_API_KEY="gsk_0123456789abcdefghij"),
            desk.write(OTHER + '\n[providers.openai.x]\nmodel = "m"\n'),
        ),
        "does not belong",
    ),
}


@pytest.mark.parametrize(("edit", "words"), BROKEN_EDITS.values(), ids=BROKEN_EDITS)
def test_a_broken_edit_changes_nothing_and_is_said_once(
    tmp_path: Path, edit: Callable[[Desk], object], words: str
) -> None:
    """The last good one stays in force; one warning with the sentence; the problem stands until it is mended."""
    desk = Desk(tmp_path)
    edit(desk)
    said = told(lambda: [desk.ask(), desk.ask(), desk.chain.plan(), desk.chain.status()])
    assert len(said) == 1
    assert words in said[0]
    assert "stays in force" in said[0]
    assert str(desk.path) in said[0]
    assert words in desk.problem
    assert told(desk.ask) == []
    assert desk.ask() == "custom.a"
    if desk.path.is_dir():
        desk.path.rmdir()
    desk.replace(OTHER)
    assert (told(desk.ask), desk.ask(), desk.problem) == ([], "custom.c", "")


def test_each_broken_edit_is_said(tmp_path: Path) -> None:
    """Another problem is news, the same one saved again is not, and after a mended one it is news again."""
    desk = Desk(tmp_path)

    def save(text: str) -> int:
        desk.write(text)
        return len(told(desk.ask))

    assert [save("[x"), save("[x"), save("[[chain]]\n"), save(FIRST), save("[x"), save(FIRST)] == [1, 0, 1, 0, 1, 0]
    assert desk.problem == ""


def test_what_was_said_holds_no_line_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A warning as Python prints it: the sentence and the place, never the line that may hold a key."""
    desk = Desk(tmp_path)
    desk.write(f'api_key = "zz-secret-0123456789"\n{OTHER}\n[x')
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda *item, **_: sys.stderr.write(warnings.formatwarning(*item[:4]))
        desk.ask()
    err = capsys.readouterr().err
    assert "BrokenEditWarning" in err
    assert "zz-secret" not in err


def test_a_notebook_shows_a_standing_problem(tmp_path: Path) -> None:
    """The chain's own picture says why another configuration is in force than the file holds."""
    desk = Desk(tmp_path)
    desk.write("[x")
    told(desk.ask)
    assert "is not valid TOML" in str(desk.chain._repr_html_())
    desk.write(FIRST)
    assert "is not valid TOML" not in str(desk.chain._repr_html_())


def test_a_conversation_in_the_terminal_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``zc chat``: a broken edit between two turns is a warning in words, once; the mended one is in force."""
    desk = Desk(tmp_path)
    edits = iter([FIRST, "[x", "[x", OTHER])

    class Typing:
        def isatty(self) -> bool:
            return False

        def readline(self) -> str:
            text = next(edits, None)
            desk.write(text or FIRST)
            return "" if text is None else "hello\n"

    monkeypatch.setattr("sys.stdin", Typing())
    monkeypatch.setattr("zc_notebooks.open", lambda **_: desk.chain, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run(["chat"]) == 0
    err = capsys.readouterr().err
    served = [line.split(",")[0] for line in err.splitlines() if line.startswith("served by")]
    assert served == [f"served by custom.{name}/m" for name in "aaac"]
    assert err.count("zc: warning: ") == 1


def test_touched_only(tmp_path: Path) -> None:
    """A new time with the same text: the very same configuration, nothing said, nothing made anew."""
    desk = Desk(tmp_path)
    before, transport = desk.chain.config, desk.chain.transport
    os.utime(desk.path, (1_000_000_000, 1_000_000_000))
    assert told(desk.ask) == []
    assert desk.chain.config is before
    desk.replace(FIRST)
    assert desk.chain.config is before
    assert desk.chain.transport is transport


def test_a_comment_is_no_change(tmp_path: Path) -> None:
    """Another text of the same meaning keeps the objects too."""
    desk = Desk(tmp_path)
    before = desk.chain.config
    desk.write(f"# a remark\n{FIRST}")
    assert desk.chain.config is before


def test_nothing_is_read_while_the_file_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the file is older than a clock's tick, a turn looks at it and does not read it."""
    monkeypatch.setattr(stamp, "FRESH_NS", -(10**18))
    desk = Desk(tmp_path)
    desk.ask()

    def never(*_: Any) -> str:
        raise AssertionError("the file was read")

    monkeypatch.setattr("zc_notebooks.live_config.read_text", never)
    assert [desk.ask() for _ in range(3)] == ["custom.a"] * 3


def test_an_edit_whose_time_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program copies in place, the same number of bytes, and gives the file its old time: the edit counts."""
    monkeypatch.setattr(stamp, "FRESH_NS", -(10**18))  # as if the file had long been there
    desk = Desk(tmp_path)
    desk.ask()
    seen = desk.path.stat()
    desk.write(OTHER)
    while desk.path.stat().st_ctime_ns == seen.st_ctime_ns:  # one tick of the file system's clock
        os.utime(desk.path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    os.utime(desk.path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert (desk.path.stat().st_size, desk.path.stat().st_mtime_ns) == (seen.st_size, seen.st_mtime_ns)
    assert desk.ask() == "custom.c"


def test_a_file_that_never_stands_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes each time while it is read: this turn goes on with the last good one, a later one gets the end."""
    from zc_notebooks.config import load

    desk = Desk(tmp_path)
    desk.write(OTHER)
    busy = [True]

    def read(path: Path) -> str:
        text = load.read_text(path)
        if busy[-1]:
            busy.append(True)
            desk.write(f"{OTHER}# {'x' * len(busy)}\n")
        return text

    monkeypatch.setattr("zc_notebooks.live_config.read_text", read)
    assert desk.ask() == "custom.a"
    busy.append(False)
    assert desk.ask() == "custom.c"


def test_reload_by_hand(tmp_path: Path) -> None:
    """Reads whatever the time says, returns what is in force, and says a standing problem again."""
    desk = Desk(tmp_path)
    desk.write(OTHER)
    assert list(desk.chain.reload().profiles) == ["custom.c", "custom.b"]
    desk.write("[x")
    assert len(told(desk.chain.reload)) == 1
    assert len(told(desk.chain.reload)) == 1
    assert told(desk.ask) == []
    assert list(desk.chain.config.profiles) == ["custom.c", "custom.b"]


def test_the_embedded_lab_has_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that appears later changes nothing; reload gives what there is."""
    monkeypatch.chdir(tmp_path)
    with zc.open(environ={"HOME": str(tmp_path), "ZC_LOCAL_MODEL": "off"}, quiet=True, ledger=tmp_path) as chain:
        before = chain.config
        (tmp_path / "zc.toml").write_text(FIRST)
        assert chain.config is before
        assert (chain.reload() is before, chain.config_problem) == (True, None)


# -- what a change reaches --------------------------------------------------------------------------------------------


def test_a_call_in_flight_keeps_what_it_began_with(tmp_path: Path) -> None:
    """The file changes while the first candidate is asked: this call goes on to its own second one, the next is new."""

    def change(_: Any) -> Any:
        desk.write(chain_toml("c"))
        return POOR

    desk = Desk(tmp_path, script={"a": [change]})
    assert desk.ask() == "custom.b"
    assert desk.ask() == "custom.c"


def test_a_stream_in_flight_keeps_what_it_began_with(tmp_path: Path) -> None:
    """So does a stream, its recovery included."""
    desk = Desk(tmp_path, script={"a": [Pieces(pieces=(chat_chunk(role="assistant"),))]})
    stream = desk.chain.stream_sync("x")
    served = None
    for event in stream:
        desk.write(chain_toml("c"))
        if isinstance(event, Final):
            served = event.completion.served.provider_ref
    assert served == "custom.b"
    assert desk.ask() == "custom.c"


def test_profiles_come_and_go(tmp_path: Path) -> None:
    """Plan, status, probe and marks know the new ones and no longer the old ones."""
    desk = Desk(tmp_path)
    desk.write(OTHER)
    assert [entry.ref for entry in desk.chain.plan().entries] == ["custom.c", "custom.b"]
    assert [item.ref for item in desk.chain.status().profiles] == ["custom.c", "custom.b"]
    assert desk.chain.probe_sync("custom.c").reachable
    with pytest.raises(zc.ConfigError, match=r"custom\.a"):
        desk.chain.clear("custom.a")
    with pytest.raises(zc.ConfigError, match=r"custom\.a"):
        asyncio.run(desk.chain.ask("x", start="custom.a"))


def test_a_border_is_in_force_at_once(tmp_path: Path) -> None:
    """A border that was written while the chain is open holds from the next turn on."""
    desk = Desk(tmp_path)
    desk.ask()
    desk.write(FIRST + '\n[borders]\nallow_tiers = ["local"]\n')
    with pytest.raises(zc.NoPermittedCandidate):
        desk.ask()


def test_a_watch_goes_on_when_a_profile_is_gone(tmp_path: Path) -> None:
    """The one that is gone is not asked, the new one is, from the next round on."""
    from zc_notebooks.watch import watch

    desk = Desk(tmp_path)
    asked: list[str] = []

    def told_of(result: Any) -> None:
        asked.append(result.ref)
        desk.write(OTHER)

    asyncio.run(watch(desk.chain, every_s=10, rounds=2, told=told_of))
    assert asked == ["custom.a", "custom.b", "custom.c", "custom.b"]


def test_candidates_on_this_machine_are_known(tmp_path: Path) -> None:
    """A local profile that is added is asked whether it runs; one that is removed is forgotten."""
    local = '[providers.ollama.box]\nmodel = "qwen3"\n[[chain]]\nprovider = "ollama.box"\n'
    desk = Desk(tmp_path)
    plain = desk.chain.transport
    assert plain is desk.transport
    desk.write(local + FIRST)
    done = asyncio.run(desk.chain.ask("x"))
    assert [(row.provider_ref, row.status) for row in done.attempts] == [
        ("ollama.box", "skipped_not_running"),
        ("custom.a", "ok"),
    ]
    knowing = desk.chain.transport
    desk.write(f"{local}{FIRST}[reliability]\nprovider_retries = 1\n")
    assert desk.chain.transport is knowing
    desk.write(FIRST)
    assert desk.chain.transport is plain


def test_the_guessed_length_of_marks_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mark that nobody stated an end for is as long as the file in force says."""
    monkeypatch.setenv("ZC_STATE_DIR", str(tmp_path / "state"))
    path, clock = tmp_path / "zc.toml", ManualClock()
    path.write_text(FIRST)
    transport = ScriptedTransport({"a.test": [chat_error(429, "slow")], "b.test": [OK]}, clock=clock)
    with zc.open(path, environ=KEYS, transport=transport, clock=clock, ledger=tmp_path / "ledger") as chain:
        path.write_text(f"{FIRST}[reliability]\ncooldown_guess_s = 77\n")
        chain.ask_sync("x")
        (mark,) = chain.marks()
        assert (mark.until - clock.now()).total_seconds() == pytest.approx(77, abs=1)


# -- the environment --------------------------------------------------------------------------------------------------


def test_a_variable_exported_later_is_used(tmp_path: Path) -> None:
    """16: the key of the first candidate appears after construction, in the environment or in .env."""
    desk = Desk(tmp_path, environ={"KEY_B": KEYS["KEY_B"]})
    assert desk.ask() == "custom.b"
    (tmp_path / ".env").write_text(f"KEY_A={KEYS['KEY_A']}\n")
    assert desk.ask() == "custom.a"
    (tmp_path / ".env").write_text(f"KEY_A={KEYS['KEY_A'][::-1]}\n")
    desk.ask()
    (tmp_path / ".env").unlink()
    assert desk.ask() == "custom.b"
    desk.environ["KEY_A"] = KEYS["KEY_C"]
    assert desk.ask() == "custom.a"
    sent = [request.headers["authorization"].split()[1] for request in desk.transport.sent_to("a.test")]
    assert sent == [KEYS["KEY_A"], KEYS["KEY_A"][::-1], KEYS["KEY_C"]]


def test_another_env_file(tmp_path: Path) -> None:
    """``env_file`` itself is part of what is live."""
    desk = Desk(tmp_path, environ={"KEY_B": KEYS["KEY_B"]})
    (tmp_path / "keys.env").write_text(f"KEY_A={KEYS['KEY_A']}\n")
    assert desk.ask() == "custom.b"
    desk.write(f'env_file = "keys.env"\n{FIRST}')
    assert desk.ask() == "custom.a"


ACCOUNT = '[providers.cloudflare.x]\nmodel = "m"\napi_key_env = "KEY_A"\n[[chain]]\nprovider = "cloudflare.x"\n'


@pytest.mark.parametrize("place", ["environment", ".env"])
def test_an_address_that_holds_a_variable(tmp_path: Path, place: str) -> None:
    """16: an account that becomes known later fills the address at the next turn, and only that."""
    desk = Desk(tmp_path, text=ACCOUNT + FIRST)
    name = _account_variable()

    def say(value: str) -> None:
        if place == "environment":
            desk.environ[name] = value
        else:
            (tmp_path / ".env").write_text(f"{name}={value}\n")

    for value in ("one-account", "two-account"):
        say(value)
        assert value in desk.chain.config.profiles["cloudflare.x"].base_url
    assert desk.chain.config.profiles["custom.a"].base_url == "https://a.test/v1"


def _account_variable() -> str:
    from zc_notebooks.config.catalogue import families

    return next(iter(families()["cloudflare"].url_vars.values()))


def test_what_a_program_changed_stays_until_the_file_changes(tmp_path: Path) -> None:
    """A configuration that a program narrowed is not widened by a touched file or another variable."""
    from msgspec.structs import replace

    from zc_notebooks.config.schema import Borders

    path = tmp_path / "zc.toml"
    path.write_text(ACCOUNT + FIRST)
    environ = dict(KEYS)
    narrowed = replace(load_config(path, environ=environ), borders=Borders(allow_tiers=("local",)))
    live = LiveConfig(narrowed, environ)
    os.utime(path, (1, 1))
    environ[_account_variable()] = "acc"
    assert live.now().config.borders.allow_tiers == ("local",)
    assert "acc" in live.now().config.profiles["cloudflare.x"].base_url
    path.write_text(FIRST)
    assert live.now().config.borders.allow_tiers is None


# -- the mode of notices ----------------------------------------------------------------------------------------------


def test_the_mode_in_force_at_delivery(tmp_path: Path) -> None:
    """173: the mode changes between turns, and even while a call runs; the next delivery uses it."""

    def change(_: Any) -> Any:
        desk.write(f'model_fallback_notice = "off"\n{FIRST}')
        return POOR

    script = {"a": [POOR, POOR, POOR, POOR, change]}
    desk = Desk(tmp_path, text=f'model_fallback_notice = "detailed"\n{FIRST}', script=script)

    def turn(mode: str) -> str | None:
        desk.write(f'model_fallback_notice = "{mode}"\n{FIRST}')
        return asyncio.run(desk.chain.ask("x")).notice

    said = [turn(mode) for mode in ("detailed", "redacted", "off", "redacted")]
    detailed = "Note: custom.a/m was asked for, custom.b/m answered (balance)."
    assert said == [detailed, REDACTED, None, REDACTED]
    assert asyncio.run(desk.chain.ask("x")).notice is None


def test_the_mode_in_force_at_the_end_of_a_stream(tmp_path: Path) -> None:
    """173: it changes while text comes; what is said at the end goes by what then stands in the file."""
    good = Pieces(pieces=(chat_chunk("Hello"), chat_chunk(finish="stop"), CHAT_DONE))
    mark = chat_error(429, "slow", {"retry-after": "90"})
    desk = Desk(tmp_path, text=FIRST, script={"a": [mark], "b": [OK, good]})
    desk.ask()
    notices = []
    for event in desk.chain.stream_sync("x"):
        if isinstance(event, Text):
            desk.write(f'model_fallback_notice = "redacted"\n{FIRST}')
        if isinstance(event, Notice):
            notices.append(event.text)
    assert notices == [REDACTED]


# -- several at once --------------------------------------------------------------------------------------------------


def test_threads_and_loops_at_once(tmp_path: Path) -> None:
    """Eight loops ask while the file is saved over and over, good and broken: every answer comes from a whole one."""
    desk = Desk(tmp_path, text=chain_toml("a"))
    texts = [chain_toml("a"), chain_toml("b"), "[broken", chain_toml("c"), ""]
    seen: list[str] = []
    errors: list[BaseException] = []
    stop = threading.Event()

    def worker() -> None:
        try:
            while not stop.is_set():
                seen.append(desk.ask())
        except BaseException as error:  # noqa: BLE001 (told below)
            errors.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workers = [threading.Thread(target=worker) for _ in range(8)]
        for thread in workers:
            thread.start()
        for number in range(100):
            (desk.write if number % 2 else desk.replace)(texts[number % len(texts)])
            desk.ask()
        desk.write(chain_toml("c"))
        stop.set()
        for thread in workers:
            thread.join()
    assert errors == []
    assert set(seen) <= {"custom.a", "custom.b", "custom.c"}
    assert desk.ask() == "custom.c"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_goes_on_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread reads the file while the process forks: the child is not left with its lock."""
    from zc_notebooks.config import load

    desk = Desk(tmp_path)
    desk.write(OTHER)
    reading, go = threading.Event(), threading.Event()

    def slow(path: Path) -> str:
        reading.set()
        go.wait(5)
        return load.read_text(path)

    monkeypatch.setattr("zc_notebooks.live_config.read_text", slow)
    worker = threading.Thread(target=desk.chain.live.now)
    worker.start()
    reading.wait(5)
    threading.Timer(0.05, go.set).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        monkeypatch.setattr("zc_notebooks.live_config.read_text", load.read_text)
        desk.write(FIRST)
        os._exit(0 if "custom.a" in desk.chain.config.profiles else 1)
    worker.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_two_threads_adopt_one_object(tmp_path: Path) -> None:
    """A change is read once, whoever comes first."""
    path = tmp_path / "zc.toml"
    path.write_text(FIRST)
    adopted: list[Any] = []
    live = LiveConfig(load_config(path, environ=KEYS), KEYS, adopted=adopted.append)
    path.write_text(OTHER)
    barrier = threading.Barrier(6)

    def look() -> None:
        barrier.wait()
        live.now()

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(adopted) == 1
    assert profile("c").splitlines()[1].split('"')[1] == adopted[0].profiles["custom.c"].base_url
