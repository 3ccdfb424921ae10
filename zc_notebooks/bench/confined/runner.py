"""Runs a model's code and makes the calls it is asked for. Started as ``python -I -S -B -c …``; the job is on stdin.

What the calls gave is printed as plain data on one line that begins with the job's token. What they *should* give
never comes here: the comparison is made on the other side, where no ``__eq__`` of the answer runs.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

REFUSED = 77
"""Exit status: the audit hook met something that is not allowed."""

CLOSED = (
    "os.fork os.forkpty os.posix_spawn os.spawn os.exec os.system os.startfile os.kill os.killpg os.putenv "
    "os.chmod os.chown os.link os.symlink os.rename os.truncate os.setxattr os.removexattr os.utime os.chflags "
    "os.add_dll_directory os.lockf subprocess.Popen pty.spawn signal.pthread_kill shutil.chown "
    "resource.setrlimit resource.prlimit "
    "syslog.openlog syslog.syslog socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo "
    "socket.gethostbyname socket.gethostbyaddr socket.getnameinfo socket.sethostname webbrowser.open "
    "sqlite3.connect ctypes.dlopen ctypes.dlsym _winapi.CreateProcess winreg.ConnectRegistry"
)
"""Audit events that end the process."""
OWN_PATHS = "os.remove os.rmdir os.mkdir"
"""Audit events that are allowed in the folder."""
MODULES = "ctypes _ctypes _multiprocessing _posixshmem _testcapi _testinternalcapi _xxsubinterpreters"
"""What leads past the interpreter, or makes memory with a name that outlives its process."""


def main() -> None:
    """Reads the job, closes the doors, runs the code, prints what came out."""
    job = json.load(sys.stdin)
    token = job["token"]
    if job["audit"]:
        close_doors(token, job["folder"])
    import traceback

    results: Any
    try:
        results = play(job, compile(job["code"], "<answer>", "exec"))
    except SyntaxError as error:
        results = {"syntax": str(error)[:500]}
    except BaseException as error:  # noqa: BLE001 (whatever the answer raises)
        results = {"failed": "".join(traceback.format_exception_only(error)).strip()[-500:]}
    tell(token, results)


def tell(token: str, results: Any) -> None:
    """One line, whatever the code did to ``sys.stdout``."""
    data = f"\n{token}{json.dumps(results)}\n".encode()
    while data:
        data = data[os.write(1, data) :]
    os._exit(0)  # no thread, exit handler or destructor of the answer has a say


def play(job: dict[str, Any], code: Any) -> list[dict[str, Any]]:
    """Runs the code as a module, then each call in turn."""
    space: dict[str, Any] = {"__name__": "answer", "__builtins__": __builtins__}
    exec(code, space)  # noqa: S102 (that is what this process is for)
    function = space.get(job["function"])
    if not callable(function):
        raise NameError(f"the code defines no function {job['function']}")
    return [called(function, case) for case in job["calls"]]


def called(function: Any, arguments: list[Any]) -> dict[str, Any]:
    """What one call gave, or raised, and what its arguments are afterwards."""
    result: dict[str, Any] = {}
    try:
        result["value"] = plain(function(*arguments))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the same)
        result["raised"] = [kind.__name__ for kind in type(error).__mro__]
        result["text"] = f"{type(error).__name__}: {error}"[:300]
    result["arguments"] = [plain(item) for item in arguments]
    return result


def plain(value: Any) -> Any:
    """``value`` as JSON data: a tuple is a list, also one with names; a set is marked; anything else is its type."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, list):
        return [plain(item) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return [plain(item) for item in tuple.__iter__(value)]
    if kind in (set, frozenset):
        return {"__set__": sorted((plain(item) for item in value), key=json.dumps)}
    if kind is dict or kind.__name__ in ("defaultdict", "Counter", "OrderedDict"):
        if all(type(key) is str for key in value):
            return {key: plain(item) for key, item in value.items()}
        return {"__pairs__": sorted(([plain(key), plain(item)] for key, item in value.items()), key=json.dumps)}
    return {"__type__": kind.__name__}


def close_doors(token: str, folder: str) -> None:
    """Installs the audit hook, which cannot be taken out. It ends the process: what is raised could be caught."""
    try:
        import _posixsubprocess  # has no audit event of its own

        _posixsubprocess.fork_exec = None  # type: ignore[assignment]
    except ImportError:
        pass
    for name in ("mkfifo", "mknod"):
        if hasattr(os, name):
            setattr(os, name, None)
    sys.addaudithook(_hook(token, folder))


def _hook(token: str, folder: str) -> Any:
    import _socket

    write, leave, real, decode = os.write, os._exit, os.path.realpath, os.fsdecode
    separator, writing = os.sep, os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    home = real(folder)
    readable = (
        home,
        *{real(item) for item in (sys.base_prefix, sys.base_exec_prefix)},
        "/usr/lib",
        "/usr/share/zoneinfo",
    )
    devices = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
    pairs = getattr(_socket, "AF_UNIX", None)  # an event loop wakes itself through a pair of them
    shut, own_paths = frozenset(CLOSED.split()), frozenset(OWN_PATHS.split())
    modules = frozenset(MODULES.split())

    def within(path: Any, places: tuple[str, ...]) -> bool:
        whole = real(decode(path))
        return whole in places or whole.startswith(tuple(place + separator for place in places))

    def allowed(event: str, args: tuple[Any, ...]) -> bool:
        if event in shut:
            return False
        if event == "open":
            path, _, flags = args
            if not isinstance(path, (str, bytes)):
                return True
            places = (home, *devices) if isinstance(flags, int) and flags & writing else (*readable, *devices)
            return within(path, places)
        if event in own_paths:
            return args[-1] == -1 and within(args[0], (home,))
        if event == "socket.__new__":
            return bool(args[1] == pairs)
        return not (event == "import" and args[0].partition(".")[0] in modules)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not allowed(event, args):
            write(1, f"\n{token}!{event}\n".encode())
            leave(REFUSED)

    return hook


if __name__ == "__main__":
    main()
