"""A model server that is a script, and the profiles that these tests are about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from zc_notebooks.config.load import parse_config
from zc_notebooks.local.model import SMOLLM2, LocalModel
from zc_notebooks.local.server import LocalServer
from zc_notebooks.records import Profile

FAKE = Path(__file__).with_name("fake_model.py")


def command(manner: str) -> tuple[str, ...]:
    return sys.executable, "-P", str(FAKE), manner


def fake_server(manner: str = "good", **options: Any) -> LocalServer:
    """A server whose process is the script."""
    return LocalServer(SMOLLM2, command=command(manner), **options)


def profiles(text: str) -> dict[str, Profile]:
    """Profiles of the blocks in ``text``."""
    return dict(parse_config(text, base_dir=Path.cwd()).profiles)


def profile(family: str, **fields: str) -> Profile:
    """One profile of ``family``, whose model is ``m``."""
    lines = [f'{name} = "{value}"' for name, value in ({"model": "m"} | fields).items()]
    return profiles("\n".join([f"[providers.{family}.box]", *lines]))[f"{family}.box"]


class Making:
    """Makes fake servers and keeps them."""

    def __init__(self, manner: str = "good", **options: Any) -> None:
        self.manner = manner
        self.options = options
        self.made: list[LocalServer] = []

    def __call__(self, _: LocalModel) -> LocalServer:
        self.made.append(fake_server(self.manner, **self.options))
        return self.made[-1]
