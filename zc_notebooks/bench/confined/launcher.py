"""Builds the walls and starts the runner behind them. Started as ``python -I -S -B launcher.py SPEC``; SPEC is JSON.

With ``isolate`` it takes new user, mount, network, process, IPC and host-name namespaces, gives the runner a root that
holds the interpreter and system libraries read-only and one small writable folder, and gives up every privilege.
What fails on the way ends it with :data:`NO_WALLS` before a line of foreign code has run.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

NO_WALLS: Final = 76
"""Exit status: this system does not give the namespaces."""

_NEW_SPACES: Final = 0x10000000 | 0x00020000 | 0x40000000 | 0x20000000 | 0x08000000 | 0x04000000
"""CLONE_NEWUSER, NEWNS, NEWNET, NEWPID, NEWIPC, NEWUTS."""
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 0x40000
_DETACH: Final = 2
_MOUNT_SETATTR: Final = 442
"""The same number on every architecture (Linux 5.12)."""
_AT_RECURSIVE: Final = 0x8000
_READ_ONLY: Final = 1 | 2
"""MOUNT_ATTR_RDONLY, NOSUID."""
_NO_DEVICES: Final = 4
_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38
_INSIDE: Final = 1000
"""User and group id behind the walls."""
_NOBODY: Final = 65534
_SHOWN: Final = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store")
"""What a system's interpreter may need, where it exists."""
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def main() -> None:
    """Walls, then a child that becomes the runner; its exit status is ours (128 + signal where one ended it)."""
    spec = json.loads(sys.argv[1])
    die_with_parent()
    if os.getppid() != spec["parent"]:
        os._exit(1)
    source = Path(__file__).with_name("runner.py").read_text(encoding="utf-8")
    if spec["isolate"]:
        try:
            isolate(spec)
        except OSError as error:
            os.write(2, f"{error}\n".encode())
            os._exit(NO_WALLS)
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        become_runner(spec, source, told)
    for number in (0, 1, 2, told):
        os.close(number)
    failed = os.read(heard, 1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    code = code if code >= 0 else 128 - code
    os._exit(NO_WALLS if failed else code if code != NO_WALLS else 1)


def become_runner(spec: dict[str, Any], source: str, told: int) -> None:
    """Gives up privileges, takes the limits, and becomes the runner. Does not return.

    ``told`` closes as the runner begins: what is written to it before is ours, whatever status foreign code ends with.
    """
    try:
        os.chdir(spec["folder"])
        if spec["isolate"] and os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(_INSIDE, _INSIDE, _INSIDE)
            os.setresuid(_INSIDE, _INSIDE, _INSIDE)
        die_with_parent()
        limit(spec["limits"])
        environment = {
            "HOME": spec["folder"],
            "TMPDIR": spec["folder"],
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "ZC_SANDBOX": spec["token"],
        }
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-B", "-c", source], environment)  # noqa: S606
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    finally:
        os.write(told, b"!")
        os._exit(NO_WALLS)


def limit(limits: dict[str, int]) -> None:
    """Sets each limit hard; one that this system refuses is left (macOS does not enforce address space)."""
    import resource

    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        try:
            _, hard = resource.getrlimit(kind)
            bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (bound, bound))
        except (ValueError, OSError):
            continue


def die_with_parent() -> None:
    """The kernel kills this process when the one that started it is gone (Linux)."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def isolate(spec: dict[str, Any]) -> None:
    """New namespaces and a new root; raises :class:`OSError` where one is not to be had."""
    libc = ctypes.CDLL(None, use_errno=True)
    _unshare(libc)
    root, folder = spec["root"], spec["folder"]
    _mount(libc, None, "/", None, _REC | _PRIVATE)
    _mount(libc, "tmpfs", root, "tmpfs", 0, "size=1m,mode=755")
    for name in dict.fromkeys((*_SHOWN, sys.base_prefix, str(Path(sys.executable).resolve().parent.parent))):
        _show(libc, root, name)
    for name in _DEVICES:
        _device(libc, root, name)
    Path(root + folder).mkdir()
    _mount(libc, "tmpfs", root + folder, "tmpfs", 0, f"size={spec['disk_bytes']},nr_inodes=1024,mode=1777")
    os.chdir(root)
    _done(libc, libc.pivot_root(b".", b"."))
    _done(libc, libc.umount2(b".", _DETACH))
    os.chdir("/")
    _attributes(libc, "/", _READ_ONLY, 0)
    die_with_parent()


def _unshare(libc: Any) -> None:
    """A helper that stays outside writes the id maps: root may map a second, powerless user."""
    ready, go = os.pipe()
    user, group, me = os.geteuid(), os.getegid(), os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(go)
        os.read(ready, 1)
        os._exit(_write_maps(me, user, group))
    os.close(ready)
    failed = libc.unshare(_NEW_SPACES)
    error = ctypes.get_errno()
    os.write(go, b"!")
    os.close(go)
    _, status = os.waitpid(helper, 0)
    if failed or status:
        raise OSError(error, "namespaces are not to be had")


def _write_maps(process: int, user: int, group: int) -> int:
    folder = Path(f"/proc/{process}")
    try:
        if user == 0:
            folder.joinpath("uid_map").write_text(f"0 0 1\n{_INSIDE} {_NOBODY} 1\n")
            folder.joinpath("gid_map").write_text(f"0 0 1\n{_INSIDE} {_NOBODY} 1\n")
        else:
            folder.joinpath("setgroups").write_text("deny")
            folder.joinpath("uid_map").write_text(f"{_INSIDE} {user} 1\n")
            folder.joinpath("gid_map").write_text(f"{_INSIDE} {group} 1\n")
    except OSError:
        return 1
    return 0


def _show(libc: Any, root: str, name: str) -> None:
    """One folder of the system, read-only, at its own place."""
    source, target = Path(name), Path(root + name)
    if not source.exists() or target.is_symlink() or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    target.mkdir()
    _mount(libc, name, str(target), None, _BIND | _REC)
    _attributes(libc, str(target), _READ_ONLY | _NO_DEVICES, _AT_RECURSIVE)


def _device(libc: Any, root: str, name: str) -> None:
    if Path(name).exists():
        Path(root, "dev").mkdir(exist_ok=True)
        os.close(os.open(root + name, os.O_CREAT | os.O_WRONLY))
        _mount(libc, name, root + name, None, _BIND)


def _mount(libc: Any, source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if item is None else os.fsencode(item) for item in (source, target, kind, data)]
    _done(libc, libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]))


def _attributes(libc: Any, target: str, flags: int, recursive: int) -> None:
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    place = ctypes.c_long(-100)  # AT_FDCWD
    flag = ctypes.c_uint(recursive)
    _done(libc, libc.syscall(_MOUNT_SETATTR, place, os.fsencode(target), flag, ctypes.byref(attributes), size))


def _done(libc: Any, result: int) -> None:
    del libc
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
