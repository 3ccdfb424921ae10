"""The folder of what outlives a process (cooldown marks, spend, the salt) and the salt itself."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from zc_notebooks.complaint import warn

_SALT_BYTES: Final = 32


class StateWarning(UserWarning):
    """Something could not be kept between processes; nothing else is affected."""


def state_dir(environ: Mapping[str, str] | None = None) -> Path:
    """``ZC_STATE_DIR``, else ``zc_notebooks`` below ``XDG_STATE_HOME`` or ``~/.local/state``.

    Made with access for the owner only. Never raises: where it cannot be made, whoever writes there notices.
    """
    environ = os.environ if environ is None else environ
    path = _state_path(environ)
    with contextlib.suppress(OSError, ValueError):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _state_path(environ: Mapping[str, str]) -> Path:
    named = environ.get("ZC_STATE_DIR", "").strip()
    if named:
        return Path(os.path.expanduser(named)).absolute()  # noqa: PTH111 (pathlib's raises where there is no home)
    base = environ.get("XDG_STATE_HOME", "").strip()
    if base:
        return Path(base).absolute() / "zc_notebooks"
    try:
        return Path.home() / ".local" / "state" / "zc_notebooks"
    except RuntimeError:
        import tempfile

        return Path(tempfile.gettempdir()) / f"zc_notebooks-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def read_salt(folder: Path) -> bytes:
    """The installation's 32 random bytes, made by whichever process comes first.

    Where the folder cannot be used, the bytes are this process's own, with one :class:`StateWarning`.
    """
    path = folder / "salt"
    try:
        salt = _read(path) or _create(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no usable path"
        return _own_salt(f"{path} cannot be used ({reason})")
    return salt if len(salt) == _SALT_BYTES else _own_salt(f"{path} is damaged: remove it")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _create(path: Path) -> bytes:
    """Writes a salt beside the place and links it there: no reader ever meets half a file, and the first one wins."""
    draft = path.with_name(f"salt.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        _write(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            with contextlib.suppress(FileExistsError):
                _write(path)
    finally:
        draft.unlink(missing_ok=True)
    return path.read_bytes()


def _write(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_SALT_BYTES))


@cache
def _own_salt(reason: str) -> bytes:
    """This process's own bytes: the same, and one warning, for the same reason."""
    message = f"{reason}, so the ids of credentials hold for this process only"
    warn(message, StateWarning)
    return secrets.token_bytes(_SALT_BYTES)
