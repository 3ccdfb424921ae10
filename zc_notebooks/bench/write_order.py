"""Writes a proposed order into a ``zc.toml``; comments, order and everything else of the file stay as they are."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Final

from zc_notebooks.bench.order import Proposal, as_chain
from zc_notebooks.errors import ConfigError

_LINK: Final = re.compile(r"\s*\[\[\s*\"?chain\"?\s*\]\]")
_OURS: Final = "measured: "
"""How a reason begins that was written here, so that the next order replaces it and no other comment."""


def with_order(text: str, proposal: Proposal) -> str:
    """The file's text with ``[[chain]]`` in the proposed order; each place's reason stands beside its header.

    An entry that names the same candidate keeps its other keys (``allow_tiers``) and its own comments;
    one without a model goes to the first place of its provider.

    Raises:
        ConfigError: The text is no TOML, or ``chain`` is something else.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError
    from tomlkit.items import AoT

    try:
        document = tomlkit.parse(text)
    except ParseError as error:
        raise ConfigError(f"the file is no TOML ({error}): nothing was written") from None
    old = document.get("chain")
    if old is not None and not isinstance(old, AoT):
        raise ConfigError("chain is no list of [[chain]] blocks: nothing was written")
    known = {(str(block.get("provider")), str(block.get("model", ""))): block for block in old or ()}
    made = tomlkit.aot()
    for link, place in zip(as_chain(proposal), proposal.places, strict=True):
        block = known.pop((link["provider"], link["model"]), None)
        if block is None:
            block = known.pop((link["provider"], ""), None)
        if block is None:
            block = tomlkit.table()
        for name, value in link.items():
            if block.get(name) != value:
                block[name] = value
        if not block.trivia.comment or block.trivia.comment.startswith(f"# {_OURS}"):
            block.comment(f"{_OURS}{place.reason}")
        made.append(block)
    if old is None:
        document.append("chain", made)
    else:
        document["chain"] = made
    return _parted(tomlkit.dumps(document))


def _parted(text: str) -> str:
    """A blank line between the chain's last block and the table that follows it."""
    lines = text.splitlines(keepends=True)
    last = max(place for place, line in enumerate(lines) if _LINK.match(line))
    following = next((place for place in range(last + 1, len(lines)) if lines[place].startswith("[")), None)
    if following is not None and lines[following - 1].strip():
        lines.insert(following, "\n")
    return "".join(lines)


def write_order(path: Path, proposal: Proposal) -> None:
    """Replaces the file (through a link) at once; a failure leaves the old one.

    Raises:
        ConfigError: It cannot be read or written.
    """
    path = path.resolve()
    try:
        text = with_order(path.read_text(encoding="utf-8"), proposal)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        made = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            made.chmod(path.stat().st_mode & 0o777)
            made.replace(path)
        finally:
            made.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be rewritten ({error.strerror}): the order was not changed") from None
