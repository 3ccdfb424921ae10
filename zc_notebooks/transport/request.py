"""A request as the bytes that go over the wire."""

from __future__ import annotations

import re
from typing import Final

from zc_notebooks import __version__
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest
from zc_notebooks.transport.address import Address
from zc_notebooks.transport.coding import ACCEPTED

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LINE_BREAK: Final = re.compile(r"[\r\n\0]")
_OURS: Final = frozenset({"content-length", "transfer-encoding", "connection"})
"""Headers that say how the message is framed: set here, whatever the caller says."""
_DEFAULTS: Final = {"accept": "*/*", "user-agent": f"zc-notebooks/{__version__}"}


def render(request: HttpRequest, place: Address, *, stream: bool) -> bytes:
    """Head and body of ``request``.

    A stream asks for no compression: a compressing proxy holds events back until its block is full.

    Raises:
        TransportFailure: ``protocol``: a header would break out of its line (a key pasted with its line end is the
            usual cause). Nothing was sent, and the value is not shown.
    """
    lines = [f"{request.method} {place.target} HTTP/1.1", f"Host: {place.authority}"]
    given = set()
    for name, value in request.headers.items():
        lower = name.lower()
        given.add(lower)
        if lower not in _OURS and lower != "host":
            lines.append(_line(name, value))
    lines.extend(f"{name}: {value}" for name, value in _DEFAULTS.items() if name not in given)
    if "accept-encoding" not in given:
        lines.append(f"accept-encoding: {'identity' if stream else ACCEPTED}")
    if request.body or request.method not in ("GET", "HEAD"):
        lines.append(f"content-length: {len(request.body)}")
    lines.append("\r\n")
    return "\r\n".join(lines).encode() + request.body


def _line(name: str, value: str) -> str:
    if _LINE_BREAK.search(value) or not _NAME.fullmatch(name):
        message = f"the header {name.strip()!r} holds a line break or another unfit sign and was not sent"
        raise TransportFailure(message, kind="protocol", sent=False)
    return f"{name}: {value}"
