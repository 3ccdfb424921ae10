"""Runs code that a model wrote: in a process of its own, with nothing to reach and little to spend.

What each layer guarantees, and what it does not:

1. **Namespaces** (Linux 5.12 and later, where unprivileged user namespaces are allowed, or as root). Held by the
   kernel. No network: the only interface is a loopback that is down. No file of this machine but the interpreter and
   the system's libraries, read-only; one writable folder in memory of ``Limits.disk_bytes``, gone with the process. No
   process but its own: they are all killed by the kernel when the first one ends, daemons too. At most
   ``Limits.processes`` of them. It shares the kernel: a hole in the kernel is a hole here.
2. **Resource limits** (every Unix): CPU seconds, size of each file, open files; address space, which macOS does not
   enforce; number of processes, which does not bind root where there are no namespaces.
3. **An audit hook** inside the interpreter (everywhere, also behind the namespaces). It ends the process at a socket, a
   subprocess, a write outside the folder, a read outside the folder and the library, or ``ctypes``. It stops what a
   model writes by mistake and what it writes on purpose without knowing the hook; it is no wall: who studies CPython
   finds a way round (a directory descriptor, damaged bytecode). Where it is the only layer, run code only of models
   that you would let near this machine, or pass ``wall="namespaces"``.
4. **The watch from outside** (everywhere): wall-clock time, and output, which is counted while it is read; the whole
   process group is killed. If this process is killed, the kernel kills those it started (Linux).

On a system without these (Windows) nothing is run: :class:`SandboxMissing`.
"""

from __future__ import annotations

import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Final, Literal

import msgspec

from zc_notebooks.bench.confined.launcher import NO_WALLS
from zc_notebooks.bench.confined.runner import REFUSED
from zc_notebooks.errors import ZcError
from zc_notebooks.records import Record

Wall = Literal["namespaces", "audit hook"]
Ending = Literal["finished", "syntax", "failed", "refused", "time", "output", "died"]

_LAUNCHER: Final = Path(__file__).with_name("confined") / "launcher.py"
_CHUNK: Final = 1 << 16
_PREFIX: Final = "zc-sandbox-"
_STALE_S: Final = 3600.0
"""Age in seconds from which the folder of a process that is gone is removed."""


class SandboxMissing(ZcError):
    """Code cannot be run safely here; the message says what is missing."""


class Limits(Record, frozen=True, kw_only=True):
    """What one run may spend."""

    seconds: float = 10.0
    """Wall-clock seconds, start of the interpreter included."""
    cpu_seconds: int = 10
    memory_bytes: int = 256 << 20
    """Address space of each process."""
    disk_bytes: int = 16 << 20
    """Largest file; behind namespaces all files together."""
    processes: int = 8
    """Processes and threads, behind namespaces; elsewhere none can be started."""
    output_bytes: int = 1 << 20
    """Of standard output and standard error together."""


class Called(Record, frozen=True, kw_only=True):
    """What one call gave."""

    value: Any = None
    """As JSON data: a tuple is a list; ``{"__set__": […]}``, ``{"__pairs__": […]}``, ``{"__type__": …}`` are marks."""
    raised: tuple[str, ...] = ()
    """The exception's class and its bases, by name; empty when the call returned."""
    text: str = ""
    """The exception in words."""
    arguments: tuple[Any, ...] = ()
    """The arguments as they are afterwards."""


class Ran(Record, frozen=True, kw_only=True):
    """How one run ended."""

    ending: Ending
    why: str = ""
    """One sentence for every ending but ``finished``."""
    calls: tuple[Called, ...] = ()
    """One for each call, when it finished."""
    seconds: float = 0.0
    wall: Wall


def run_calls(
    code: str,
    function: str,
    calls: Sequence[Sequence[Any]],
    limits: Limits | None = None,
    *,
    wall: Wall | None = None,
    audit: bool = True,
) -> Ran:
    """Runs ``code`` as a module and calls its ``function`` once for each list of arguments (JSON data).

    Blocks for up to ``limits.seconds``; call it in a thread. Nothing is left behind: no process, no file.

    Args:
        code: Python source of one module.
        function: The name it must define.
        calls: One list of arguments for each call.
        limits: What the run may spend.
        wall: The strongest layer that works here by default.
        audit: ``False`` leaves the audit hook out, to see what the namespaces hold by themselves.

    Raises:
        SandboxMissing: This system has no layer that could hold it, or not the one that was asked for.
    """
    wall = wall or strongest_wall()
    token = f"zc-{os.getpid()}-{secrets.token_hex(12)}:"
    bounds = limits or Limits()
    if not _is_text(code):
        return Ran(ending="syntax", why="the code is no text that can be encoded", wall=wall)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        home = "/work" if wall == "namespaces" else folder
        job = {"code": code, "function": function, "calls": calls, "audit": audit, "folder": home, "token": token}
        with tempfile.TemporaryFile() as file:
            file.write(msgspec.json.encode(job))
            file.seek(0)
            return _watch(_start(_spec(wall, folder, home, token, bounds), file), token, bounds, wall)


def _is_text(code: str) -> bool:
    try:
        code.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


@cache
def strongest_wall() -> Wall:
    """The strongest layer that works on this system, tried once. Raises :class:`SandboxMissing` where there is none."""
    if sys.platform == "win32":
        raise SandboxMissing("code that a model wrote is run on Linux and macOS only; leave the code tasks out here")
    _sweep()
    try:
        ran = run_calls("def f(): return 1", "f", [[]], wall="namespaces")
    except SandboxMissing:
        return "audit hook"
    return "namespaces" if ran.ending == "finished" else "audit hook"


def _sweep() -> None:
    """Removes the folders that a killed bench could not. Young ones stay: their process may be in a container."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        with suppress(OSError, ValueError):
            alive = Path(f"/proc/{int(folder.name.split('-')[2])}").exists()
            if not alive and time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


def _spec(wall: Wall, folder: str, home: str, token: str, limits: Limits) -> Mapping[str, Any]:
    isolate = wall == "namespaces"
    return {
        "isolate": isolate,
        "root": os.path.realpath(folder),
        "folder": home,
        "token": token,
        "parent": os.getpid(),
        "disk_bytes": limits.disk_bytes,
        "limits": {
            "CPU": limits.cpu_seconds,
            "AS": limits.memory_bytes,
            "FSIZE": limits.disk_bytes,
            "NPROC": limits.processes if isolate else 0,
            "NOFILE": 64,
            "CORE": 0,
        },
    }


def _start(spec: Mapping[str, Any], job: IO[bytes]) -> subprocess.Popen[bytes]:
    interpreter = getattr(sys, "_base_executable", "") or sys.executable
    command = [interpreter, "-I", "-S", "-B", str(_LAUNCHER), msgspec.json.encode(spec).decode()]
    return subprocess.Popen(  # noqa: S603 (our own launcher)
        command,
        stdin=job,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"ZC_SANDBOX": spec["token"], "LANG": "C.UTF-8"},
        start_new_session=True,
        close_fds=True,
    )


def _watch(process: subprocess.Popen[bytes], token: str, limits: Limits, wall: Wall) -> Ran:
    began = time.monotonic()
    try:
        output, over = _read(process, limits, began + limits.seconds)
    finally:
        _kill(process)
    seconds = time.monotonic() - began
    if over is not None:
        return Ran(ending=over, why=_OVER[over].format(limits=limits), seconds=seconds, wall=wall)
    return _ended(output, token, process.returncode, seconds, wall)


_OVER: Final[Mapping[Ending, str]] = {
    "time": "not done after {limits.seconds:g} s; killed",
    "output": "more than {limits.output_bytes} bytes of output; killed",
}


def _read(process: subprocess.Popen[bytes], limits: Limits, until: float) -> tuple[bytes, Ending | None]:
    """Reads to the end of the output, or to a limit, never holding more than the limit and one chunk."""
    pipe = process.stdout
    assert pipe is not None  # noqa: S101 (we asked for a pipe)
    output = bytearray()
    with pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not selector.select(left):
                continue
            piece = os.read(pipe.fileno(), _CHUNK)
            if not piece:
                _await_end(process, until)
                return bytes(output), None
            output += piece
            if len(output) > limits.output_bytes:
                return b"", "output"
    return b"", "time"


def _await_end(process: subprocess.Popen[bytes], until: float) -> None:
    """Waits until it is dead but not reaped, so that its id still names its group; its output may end sooner."""
    while time.monotonic() < until:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return
        time.sleep(0.002)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the whole group, which has its leader's id for as long as the leader is not reaped; then reaps it."""
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says the second of a dead leader
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(output: bytes, token: str, status: int, seconds: float, wall: Wall) -> Ran:
    if status == NO_WALLS:
        raise SandboxMissing("this system gives no user namespaces, so code is held by the audit hook only")
    mark = token.encode()
    told = [line[len(mark) :] for line in output.split(b"\n") if line.startswith(mark)]
    if status == REFUSED and told and told[-1].startswith(b"!"):
        event = told[-1][1:].decode("utf-8", "replace")
        return Ran(ending="refused", why=f"ended at {event}, which is not allowed", seconds=seconds, wall=wall)
    if status == 0 and told:
        return _finished(told[-1], seconds, wall)
    tail = output[-300:].decode("utf-8", "replace").strip()
    why = f"ended with status {status} before it had answered" + (f": {tail}" if tail else "")
    return Ran(ending="died", why=why, seconds=seconds, wall=wall)


def _finished(line: bytes, seconds: float, wall: Wall) -> Ran:
    try:
        data = msgspec.json.decode(line)
        if isinstance(data, dict):
            ending: Ending = "failed" if "failed" in data else "syntax"
            return Ran(ending=ending, why=str(data.get(ending)), seconds=seconds, wall=wall)
        calls = msgspec.convert(data, tuple[Called, ...])
    except msgspec.MsgspecError:
        return Ran(ending="died", why="what it printed is not the result of a run", seconds=seconds, wall=wall)
    return Ran(ending="finished", calls=calls, seconds=seconds, wall=wall)
