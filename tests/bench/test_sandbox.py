"""What a model's code cannot do, behind each wall by itself; and that nothing of it is left."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zc_notebooks.bench import sandbox
from zc_notebooks.bench.sandbox import Limits, SandboxMissing, run_calls, strongest_wall

if sys.platform != "linux":
    pytest.skip("the walls are tested on Linux", allow_module_level=True)

NAMESPACES = pytest.param(
    {"wall": "namespaces", "audit": False},
    id="namespaces alone",
    marks=pytest.mark.skipif(strongest_wall() != "namespaces", reason="no user namespaces here"),
)
AUDIT = pytest.param({"wall": "audit hook"}, id="audit hook alone")
BEST: Any = pytest.param({}, id="as it is used")
SHORT = Limits(seconds=1.5, cpu_seconds=1)
walls = pytest.mark.parametrize("wall", [NAMESPACES, AUDIT, BEST])


def remains(owner: int) -> dict[int, str]:
    """Processes of the sandboxes of ``owner`` that still run, with their command (zombies have no environment)."""
    mark, found = f"ZC_SANDBOX=zc-{owner}-".encode(), {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in entry.joinpath("environ").read_bytes():
                found[int(entry.name)] = entry.joinpath("cmdline").read_text(encoding="utf-8")
        except OSError:
            continue
    return found


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, for this test alone."""
    made = tmp_path_factory.mktemp("place")
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture(autouse=True)
def _nothing_left(place: Path) -> Iterator[None]:
    """After each test no process and no folder of a sandbox is left."""
    yield
    end = time.monotonic() + 5
    while remains(os.getpid()) and time.monotonic() < end:
        os.sched_yield()
    assert remains(os.getpid()) == {}
    assert list(place.iterdir()) == []


ENDLESS = "def f():\n while True: pass"
DEAF = """
import signal
def f():
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except Exception: pass
    while True:
        try:
            while True: pass
        except BaseException: pass
"""
BOMB = """
import os
def f():
    while True:
        try: os.fork()
        except OSError: pass
"""
DAEMON = """
import os, time
def f():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(3): os.close(number)
            time.sleep(3600)
        os._exit(0)
    return 1
"""
GREEDY = "def f():\n return len(bytearray(10 << 30))"
GREEDY_TOP = "hoard = []\nwhile True: hoard.append(bytearray(64 << 20))\ndef f(): return 1"
CHATTY = "def f():\n for _ in range(1 << 14): print('x' * (1 << 16))\n return 1"
SOCKET = """
import socket
def f(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as door: door.sendall(b"x")
    except Exception as error:
        return "no"
    return "out"
"""
WRITER = """
import pathlib
def f(path):
    try: pathlib.Path(path).write_text("mine")
    except Exception: return "no"
    return "written"
"""


@walls
@pytest.mark.parametrize(
    ("code", "endings"),
    [
        (ENDLESS, {"time", "died"}),
        (DEAF, {"time", "died"}),
        (BOMB, {"time", "died", "refused"}),
        (GREEDY_TOP, {"failed"}),
        (CHATTY, {"output"}),
        ("import os\nos._exit(0)", {"died"}),
        ("import os\nos._exit(76)", {"died"}),
        ("import os\nos._exit(77)", {"died"}),
        ("def f(): return '\ud800'", {"syntax"}),
        ("import os, signal\nos.abort()", {"died"}),
        ("raise SystemExit(0)", {"failed"}),
        ("def f(:", {"syntax"}),
        ("def g(): return 1", {"failed"}),
        ("import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()", {"died", "failed", "time"}),
    ],
)
def test_what_does_not_end_well_is_ended(wall: dict[str, Any], code: str, endings: set[str]) -> None:
    """Loops, bombs, hoards, floods, exits and crashes: each has an ending and a sentence, and the next run works."""
    ran = run_calls(code, "f", [[]], SHORT if "time" in endings else None, **wall)
    assert ran.ending in endings
    assert ran.why
    assert ran.calls == ()
    assert run_calls("def f(): return 1", "f", [[]], **wall).calls[0].value == 1


@walls
def test_ten_gigabytes_are_an_error_of_the_call(wall: dict[str, Any]) -> None:
    """The address space is bounded, so the call raises."""
    ran = run_calls(GREEDY, "f", [[]], **wall)
    assert ran.calls[0].raised[0] == "MemoryError"


@walls
def test_no_byte_reaches_a_socket(wall: dict[str, Any]) -> None:
    """A listener on this machine hears nothing, also from code that hides the attempt."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0.0)
        ran = run_calls(SOCKET, "f", [[door.getsockname()[1]]], **wall)
        with pytest.raises(BlockingIOError):
            door.accept()
    assert ran.ending == "refused" or ran.calls[0].value == "no"


@walls
def test_no_file_outside_is_written(wall: dict[str, Any], tmp_path: Path, place: Path) -> None:
    """Neither a new one nor one that is there; inside its own folder it may."""
    old = tmp_path / "old"
    old.write_text("ours", encoding="utf-8")
    for path in (old, tmp_path / "new", Path("/usr/zc-test"), place / "zc-test"):
        ran = run_calls(WRITER, "f", [[str(path)]], **wall)
        assert ran.ending == "refused" or ran.calls[0].value == "no"
    assert old.read_text(encoding="utf-8") == "ours"
    assert [item.name for item in tmp_path.iterdir()] == ["old"]
    assert run_calls(WRITER, "f", [["own.txt"]], **wall).calls[0].value == "written"


@walls
def test_files_of_this_machine_are_not_read(wall: dict[str, Any], tmp_path: Path) -> None:
    """Keys and settings lie about; what the code prints may travel."""
    secret = tmp_path / ".env"
    secret.write_text("KEY=1", encoding="utf-8")
    code = "def f(path):\n try: return open(path).read()\n except Exception: return 'no'"
    ran = run_calls(code, "f", [[str(secret)]], **wall)
    assert ran.ending == "refused" or ran.calls[0].value == "no"


@walls
def test_the_environment_is_empty(wall: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of ours is inherited, by the code or by who started it."""
    monkeypatch.setenv("GROQ_API_KEY", "planted-key")
    code = "import os\ndef f(): return sorted(os.environ)"
    assert "GROQ_API_KEY" not in run_calls(code, "f", [[]], **wall).calls[0].value


@pytest.mark.parametrize("wall", [NAMESPACES])
def test_a_daemon_ends_with_its_namespace(wall: dict[str, Any]) -> None:
    """A process that leaves group and session and closes every file is killed by the kernel all the same."""
    ran = run_calls(DAEMON, "f", [[]], **wall)
    assert ran.ending in ("finished", "time")


@pytest.mark.parametrize("wall", [NAMESPACES])
def test_all_files_together_are_bounded(wall: dict[str, Any]) -> None:
    """Many files below the limit of one do not fill the disk."""
    code = """
def f():
    try:
        for number in range(100):
            with open(f"f{number}", "wb") as file: file.write(bytes(1 << 20))
    except OSError as error: return [number, error.strerror]
"""
    number, words = run_calls(code, "f", [[]], **wall).calls[0].value
    assert (number <= 16, words) == (True, "No space left on device")


@pytest.mark.parametrize("wall", [AUDIT, BEST])
@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("import os; os.fork()", "os.fork"),
        ("import os; os.system('true')", "os.system"),
        ("import os; os.kill(os.getppid(), 9)", "os.kill"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import ctypes", "import"),
        ("from multiprocessing import shared_memory", "import"),
        ("import socket; socket.socket()", "socket.__new__"),
        ("import socket; socket.getaddrinfo('localhost', 1)", "socket.getaddrinfo"),
        ("import sqlite3; sqlite3.connect('/tmp/zc-test.db')", "sqlite3.connect"),
        ("import os; os.rename('a', '/tmp/b')", "os.rename"),
        ("import os; os.symlink('/etc', 'etc')", "os.symlink"),
        ("import os; os.mkdir('/tmp/zc-test')", "os.mkdir"),
        ("import os; os.open('/tmp/zc-test', os.O_CREAT | os.O_WRONLY)", "open"),
        ("open('../zc-test', 'w')", "open"),
        ("open('/etc/passwd')", "open"),
    ],
)
def test_the_hook_ends_what_it_meets(wall: dict[str, Any], line: str, event: str) -> None:
    """It names the event, and no ``except`` outlives it."""
    code = f"try:\n    {line}\nexcept BaseException: pass\ndef f(): return 1"
    ran = run_calls(code, "f", [[]], **wall)
    assert (ran.ending, ran.why) == ("refused", f"ended at {event}, which is not allowed")


@walls
@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("import re, json, math, datetime, collections, itertools, decimal\ndef f(): return math.floor(2.5)", 2),
        ("import asyncio\nasync def g(): return 3\ndef f(): return asyncio.run(g())", 3),
        ("import zoneinfo, statistics, fractions, dataclasses, typing\ndef f(): return 4", 4),
        ("import tempfile\ndef f():\n with tempfile.TemporaryFile() as t: return t.write(b'abc')", 3),
        ("def f(): return (1, [2], {'a': {3}}, None, True, 'あ')", [1, [2], {"a": {"__set__": [3]}}, None, True, "あ"]),
        ("def f(): return {1: 'a'}", {"__pairs__": [[1, "a"]]}),
        ("import collections\ndef f(): return collections.namedtuple('P', 'x y')(1, 2)", [1, 2]),
        ("class L(list):\n def __iter__(s): return iter([9])\ndef f(): return L([1])", [1]),
        ("class E:\n def __eq__(s, o): return True\ndef f(): return E()", {"__type__": "E"}),
        ("def f(): return f", {"__type__": "function"}),
        ("print('zc-ffff:[]')\ndef f(): return 1", 1),
        ("import sys\nsys.stdout.close()\ndef f(): return 1", 1),
    ],
)
def test_ordinary_code_runs(wall: dict[str, Any], code: str, value: Any) -> None:
    """The library is there; values come back as plain data of their exact type."""
    assert run_calls(code, "f", [[]], **wall).calls[0].value == value


def test_what_a_call_raised_and_did_to_its_arguments() -> None:
    """Class and bases by name, and the arguments afterwards."""
    ran = run_calls("def f(x):\n x.append(1)\n raise KeyError('k')", "f", [[[0]]])
    assert ran.calls[0].raised[:2] == ("KeyError", "LookupError")
    assert ran.calls[0].text == "KeyError: 'k'"
    assert ran.calls[0].arguments == ([0, 1],)


def test_output_is_counted_while_it_is_read() -> None:
    """A gigabyte is cut at the limit, long before it was written."""
    ran = run_calls(CHATTY, "f", [[]], Limits(seconds=60, output_bytes=1 << 16))
    assert ran.ending == "output"


def test_a_killed_bench_leaves_no_process(place: Path) -> None:
    """``kill -9`` of whoever runs the code takes launcher and runner along; an empty folder is all it leaves."""
    code = f"""
from zc_notebooks.bench.sandbox import run_calls
run_calls("while 1: pass", "f", [], wall={strongest_wall()!r})
"""
    with subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(place)}) as bench:
        end = time.monotonic() + 30
        while not any("-c" in line.split("\0") for line in remains(bench.pid).values()) and time.monotonic() < end:
            os.sched_yield()
        doors = [os.pidfd_open(process) for process in remains(bench.pid)]
        bench.kill()
    assert len(doors) == 2  # the launcher and the runner
    for door in doors:
        assert select.select([door], [], [], 10)[0], "it still runs"
        os.close(door)
    for folder in place.glob("zc-sandbox-*"):
        folder.rmdir()


def test_what_a_killed_bench_left_is_swept_up(place: Path) -> None:
    """The folder of a process that is gone, once it is old; that of a living one and a young one stay."""
    gone, young, ours = (place / f"zc-sandbox-{name}" for name in ("0-gone", "0-young", f"{os.getpid()}-ours"))
    for folder in (gone, young, ours):
        folder.mkdir()
    for folder in (gone, ours):
        os.utime(folder, (0, 0))
    strongest_wall.cache_clear()
    strongest_wall()
    assert [folder.exists() for folder in (gone, young, ours)] == [False, True, True]
    young.rmdir()
    ours.rmdir()


def test_a_system_without_walls_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run there."""
    monkeypatch.setattr(sys, "platform", "win32")
    strongest_wall.cache_clear()
    with pytest.raises(SandboxMissing, match="Linux and macOS only"):
        run_calls("def f(): return 1", "f", [[]])
    monkeypatch.undo()
    strongest_wall.cache_clear()


def test_without_namespaces_the_hook_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel refuses is found out once, and no foreign code has run until then."""
    launcher = "import json, os, sys\nos._exit(76 if json.loads(sys.argv[1])['isolate'] else 0)"
    path = tmp_path / "launcher.py"
    path.write_text(launcher, encoding="utf-8")
    monkeypatch.setattr(sandbox, "_LAUNCHER", path)
    strongest_wall.cache_clear()
    assert strongest_wall() == "audit hook"
    with pytest.raises(SandboxMissing, match="no user namespaces"):
        run_calls("def f(): return 1", "f", [[]], wall="namespaces")
    monkeypatch.undo()
    strongest_wall.cache_clear()
    assert json.dumps(run_calls("def f(): return 1", "f", [[]]).wall) == f'"{strongest_wall()}"'
