"""Writes a proposed order into a ``zc.toml``; comments, order and everything else of the file stay as they are.

The file is rewritten as text: the places where ``[[chain]]`` blocks stand are filled in the new order. A block is moved
with the comments that stand right above and below it; what stands apart from it by a blank line stays where it is.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from zc_notebooks.bench.order import Proposal, as_chain
from zc_notebooks.errors import ConfigError
from zc_notebooks.records import Record

_HEADER: Final = re.compile(r"\s*\[{1,2}\s*((?:[^\[\]#\"']|\"[^\"]*\"|'[^']*')+?)\s*\]{1,2}\s*(?:#.*)?$")
_LINK: Final = re.compile(r"(\s*\[\[\s*[\"']?chain[\"']?\s*\]\])\s*(#.*)?$")
_OURS: Final = "# measured: "
"""How a reason begins that was written here, so that the next order replaces it and no other comment."""


class _Block(Record, frozen=True, kw_only=True):
    """One ``[[chain]]`` with its comments."""

    lines: tuple[str, ...]
    provider: str
    model: str
    """Blank: the provider's own."""


def with_order(text: str, proposal: Proposal) -> str:
    """The file's text with ``[[chain]]`` in the proposed order; each place's reason stands beside its header.

    An entry that names the same candidate keeps its other keys (``allow_tiers``) and its own comments;
    one without a model goes to the first place of its provider.

    Raises:
        ConfigError: The text is no TOML, or ``chain`` is something else.
    """
    break_ = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    old = _parsed(text)
    chain = old.get("chain", [])
    parts = _parts(text.rstrip("\n").split("\n") if text.strip() else [])
    blocks = [part for part in parts if isinstance(part, _Block)]
    if not isinstance(chain, list) or len(blocks) != len(chain):
        raise ConfigError("chain is no list of [[chain]] blocks: nothing was written")
    made = "\n".join(_filled(parts, _ordered(blocks, proposal))).rstrip("\n") + "\n"
    new = _parsed(made)
    if [(link["provider"], link["model"]) for link in new.pop("chain")] != [
        (link["provider"], link["model"]) for link in as_chain(proposal)
    ] or new != {key: value for key, value in old.items() if key != "chain"}:
        raise ConfigError("the [[chain]] blocks cannot be told from the rest of the file: nothing was written")
    return made.replace("\n", break_)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the file is no TOML ({error}): nothing was written") from None


def _is_whole(lines: Sequence[str]) -> bool:
    """Whether a text or list that goes over several lines is not still open."""
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _parts(lines: list[str]) -> list[str | _Block]:
    """The file in order: its lines, and its ``[[chain]]`` blocks with what belongs to each."""
    headers = [at for at, line in enumerate(lines) if _HEADER.match(line) and _is_whole(lines[:at])]
    parts: list[str | _Block] = []
    done = 0
    for place, at in enumerate(headers):
        if at < done or not _LINK.match(lines[at]):
            continue
        others = (other for other in headers[place + 1 :] if not _belongs(lines[other]))
        begin, end = _above(lines, at), _below(lines, at, next(others, len(lines)))
        parts += lines[done:begin]
        parts.append(_block(lines[begin:end]))
        done = end
    return [*parts, *lines[done:]]


def _belongs(line: str) -> bool:
    """Whether a header is that of a table inside the block before it."""
    found = _HEADER.match(line)
    return found is not None and re.match(r"[\"']?chain[\"']?\s*\.", found[1]) is not None


def _above(lines: Sequence[str], at: int) -> int:
    """Where the comment right above a header begins; what the file begins with is about the file."""
    first = at
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first or at


def _below(lines: Sequence[str], at: int, end: int) -> int:
    """Where a block ends: behind its last key and the comment right below that, which is not the next header's."""
    if end < len(lines):
        end = _above(lines, end)
    last = max(place for place in range(at, end) if (line := lines[place].strip()) and not line.startswith("#"))
    last += 1
    while last < end and lines[last].lstrip().startswith("#"):
        last += 1
    return last


def _block(lines: Sequence[str]) -> _Block:
    link = tomllib.loads("\n".join(lines))["chain"][0]
    return _Block(lines=tuple(lines), provider=str(link.get("provider")), model=str(link.get("model", "")))


def _ordered(blocks: Sequence[_Block], proposal: Proposal) -> list[list[str]]:
    """The lines of every place, in the proposed order."""
    left = list(blocks)
    made = []
    for link, place in zip(as_chain(proposal), proposal.places, strict=True):
        wanted = ((link["provider"], link["model"]), (link["provider"], ""))
        found = (block for name in wanted for block in left if (block.provider, block.model) == name)
        block = next(found, None)
        if block is not None:
            left.remove(block)
        lines = list(block.lines) if block is not None else ["[[chain]]", f"provider = {_quoted(link['provider'])}"]
        at = next(number for number, line in enumerate(lines) if _LINK.match(line))
        if block is None or not block.model:
            key = next(number for number, line in enumerate(lines) if re.match(r"\s*[\"']?provider[\"']?\s*=", line))
            lines.insert(key + 1, f"model = {_quoted(link['model'])}")
        lines[at] = _headed(lines[at], place.reason)
        made.append(lines)
    return made


def _quoted(text: str) -> str:
    import tomlkit

    return tomlkit.item(text).as_string()


def _headed(line: str, reason: str) -> str:
    """The header with the reason beside it, unless somebody wrote a comment of their own there."""
    found = _LINK.match(line)
    assert found is not None  # noqa: S101 (it is one)
    if found[2] and not found[2].startswith(_OURS):
        return line
    return f"{found[1]} {_OURS}{' '.join(reason.split())}"


def _filled(parts: Sequence[str | _Block], links: list[list[str]]) -> list[str]:
    """The file with its places filled in order; what is more than there were goes behind the last, or to the end."""
    places = [at for at, part in enumerate(parts) if isinstance(part, _Block)]
    lines: list[str] = []
    for at, part in enumerate(parts):
        if isinstance(part, str):
            lines.append(part)
            continue
        now, links = (links, []) if at == places[-1] else (links[:1], links[1:])
        lines += _spaced(now)
    if not places:
        lines += [*([""] if lines else []), *_spaced(links)]
    return lines


def _spaced(links: Sequence[Sequence[str]]) -> list[str]:
    return [line for number, link in enumerate(links) for line in ([""] * (number > 0) + list(link))]


def write_order(path: Path, proposal: Proposal) -> None:
    """Replaces the file (through a link) at once; a failure leaves the old one.

    Raises:
        ConfigError: It cannot be read or written.
    """
    path = path.resolve()
    try:
        text = with_order(path.read_bytes().decode("utf-8"), proposal)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        made = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            made.chmod(path.stat().st_mode & 0o777)
            made.replace(path)
        finally:
            made.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be rewritten ({error.strerror}): the order was not changed") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8: the order was not changed") from None
