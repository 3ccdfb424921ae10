"""A candidate that a person or a model names, and the small file that keeps a user's choice between processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

import msgspec

from zc_notebooks.config.schema import Config
from zc_notebooks.config.state import state_dir
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Record
from zc_notebooks.reliability.materialize import Ask, parse_start, plan

AUTO: Final = "auto"
"""The word that gives a choice back."""


class Choice(Record, frozen=True, kw_only=True):
    """A profile, and the model to ask it for."""

    ref: str
    model: str
    """Where none was named, the one the profile had at that time: a later edit of the profile does not change it."""

    def __str__(self) -> str:
        return f"{self.ref}/{self.model}"


def read_choice(config: Config, text: str, model: str | None = None) -> Choice:
    """``family.alias[/model]``, checked. Raises :class:`ConfigError` where it cannot be called."""
    ref, named = parse_start(text)
    made = plan(config, Ask(start=ref, model=named or model, source="graph"))
    return Choice(ref=ref, model=made.requested_model)


def default_choice(config: Config) -> Choice | None:
    """Where a call starts when nobody chooses; ``None`` when the configuration does not say."""
    try:
        made = plan(config, Ask())
    except ConfigError:
        return None
    return Choice(ref=made.entries[0].ref, model=made.requested_model)


class _Kept(msgspec.Struct, kw_only=True):
    """The file."""

    config: str
    ref: str
    model: str


class ChoiceFile:
    """The user's choice for one configuration, shared by all processes of this machine.

    One file for each configuration, replaced as a whole: no reader meets half a file, and a choice made for one
    project does not reach another.
    """

    def __init__(self, config: Config, folder: Path | None = None) -> None:
        place = b"no file" if config.path is None else os.fsencode(config.path.absolute())
        self._config = place.decode("utf-8", "backslashreplace")
        name = hashlib.sha256(place).hexdigest()[:16]
        self.path = (folder or state_dir()) / "choices" / f"{name}.json"

    def read(self) -> Choice | None:
        """Raises :class:`ConfigError` when there is a choice that cannot be read: it is never passed over."""
        try:
            kept = msgspec.json.decode(self.path.read_bytes(), type=_Kept)
        except (FileNotFoundError, NotADirectoryError):  # the latter where no state can be kept at all
            return None
        except OSError as error:
            raise ConfigError(f"your choice in {self.path} cannot be read ({error.strerror})") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ConfigError(f"your choice in {self.path} is damaged: choose again, or `zc use auto`") from None
        return Choice(ref=kept.ref, model=kept.model)

    def write(self, choice: Choice | None) -> None:
        """Keeps a choice; ``None`` forgets it. Raises :class:`ConfigError` when the folder cannot be written."""
        try:
            if choice is None:
                self.path.unlink(missing_ok=True)
            else:
                self._replace(_Kept(config=self._config, ref=choice.ref, model=choice.model))
        except OSError as error:
            raise ConfigError(f"your choice cannot be kept in {self.path} ({error.strerror})") from None

    def _replace(self, kept: _Kept) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.path.with_name(f"{self.path.stem}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            draft.write_bytes(msgspec.json.encode(kept))
            draft.replace(self.path)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
