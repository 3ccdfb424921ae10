"""Where a chain comes from: a named file, ``$ZC_CONFIG``, ``./zc.toml``, the user's own, or else the embedded lab."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import find_config, load_config, parse_config
from zc_notebooks.config.schema import Config
from zc_notebooks.local.model import last_link
from zc_notebooks.places import ledger_folder

NO_FILE: Final = "no zc.toml found: answering from the embedded lab (simulated providers, no key needed)"
NO_PROFILES: Final = "{path} names no provider: answering from the embedded lab (simulated providers, no key needed)"

_SCENARIO: Final = "default"
_NOBODY: Final = "http://127.0.0.1:9/v1"


def open(  # noqa: A001 (the package is used as zc.open)
    path: Path | str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    quiet: bool = False,
    **options: Any,
) -> Chain:
    """Opens a configuration: ``path``, else ``$ZC_CONFIG``, else ``./zc.toml``, else the user's, else the lab.

    Args:
        path: A ``zc.toml``.
        environ: Variables to read keys and ``ZC_CONFIG`` from; the process's unless given.
        quiet: Do not say on standard error that the embedded lab answers.
        options: See :class:`Chain`.

    Raises:
        ConfigError: The file cannot be used; ``.problems`` lists every fault.
    """
    variables = os.environ if environ is None else environ
    found = Path(path) if path is not None else find_config(variables, Path.cwd())
    config = load_config(found, environ=variables) if found is not None else Config()
    if config.profiles:
        return Chain(config, environ=variables, **options)
    why = NO_FILE if found is None else NO_PROFILES.format(path=found)
    return _open_lab(variables, why=None if quiet else why, **options)


def lab_config(environ: Mapping[str, str], base_url: Callable[[str], str] = lambda _: _NOBODY) -> Config:
    """What a chain of the embedded lab is configured by; nobody answers unless a started lab gives its addresses."""
    from zc_notebooks.lab.config_text import config_text
    from zc_notebooks.lab.scenario import load_scenario

    text = config_text(load_scenario(_SCENARIO), base_url) + last_link(environ)
    return parse_config(text, base_dir=Path.cwd(), source="the lab's configuration")


def _open_lab(environ: Mapping[str, str], *, why: str | None, **options: Any) -> Chain:
    from zc_notebooks.lab import Lab

    lab = Lab(_SCENARIO).start()
    try:
        options.setdefault("ledger", ledger_folder(None))
        chain = Chain(lab_config(environ, lab.base_url), environ=environ, lab=lab, **options)
    except BaseException:
        lab.close()
        raise
    if why is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(why + "\n")
    return chain
