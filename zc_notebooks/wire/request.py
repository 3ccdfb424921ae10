"""What the requests of all wires share: URL, headers with the key, the operator's extras, notes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import msgspec

from zc_notebooks.chat import JsonSchema
from zc_notebooks.config.catalogue import auth_for
from zc_notebooks.records import HttpRequest
from zc_notebooks.wire.base import Encoded, Target
from zc_notebooks.wire.loose_json import to_text

_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_VERSION_SEGMENT: Final = re.compile(r"/v\d+[a-z0-9]*$")


def join_url(base_url: str, path: str) -> str:
    """``base_url`` with ``path`` appended to its path; a query stays, a base that already ends so is kept."""
    parts = urlsplit(base_url)
    stem = parts.path.rstrip("/")
    joined = stem if stem.endswith(path) else stem + path
    return urlunsplit((parts.scheme, parts.netloc, joined, parts.query, ""))


def ends_in_version(base_url: str) -> bool:
    """Whether the path of ``base_url`` ends in a segment such as ``/v1`` or ``/v1beta``."""
    return bool(_VERSION_SEGMENT.search(urlsplit(base_url).path.rstrip("/")))


def auth_headers(target: Target) -> dict[str, str]:
    """The header that carries the key, by the family's way on this wire; none without a key."""
    if target.key is None:
        return {}
    way = auth_for(target.profile.family, target.profile.wire)
    if way == "none":
        return {}
    key = target.key.reveal()
    return {"authorization": f"Bearer {key}"} if way == "bearer" else {way: key}


def json_request(
    target: Target,
    url: str,
    body: dict[str, Any],
    *,
    stream: bool,
    notes: list[str],
    headers: Mapping[str, str] | None = None,
) -> Encoded:
    """A POST of ``body``. The profile's ``provider_extra`` and ``extra_headers`` come last and win.

    A table of ``provider_extra`` is merged into a table of the body (``options = { num_ctx = 8192 }``).
    Hop-by-hop headers of the profile are left out: they belong to the connection.
    """
    profile = target.profile
    sent = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
        **auth_headers(target),
        **(headers or {}),
    }
    sent.update({name.lower(): value for name, value in profile.extra_headers.items() if _ours(name)})
    _merge(body, profile.provider_extra)
    request = HttpRequest(method="POST", url=url, headers=sent, body=_json(body))
    return Encoded(request=request, notes=tuple(notes))


def _merge(body: dict[str, Any], extra: Mapping[str, Any]) -> None:
    for name, value in extra.items():
        inner = body.get(name)
        if isinstance(inner, dict) and isinstance(value, Mapping):
            _merge(inner, value)
        else:
            body[name] = value


def _json(body: dict[str, Any]) -> bytes:
    """JSON; a lone surrogate in somebody's text is escaped, not an exception."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return to_text(body).encode()


def _ours(name: str) -> bool:
    return name.lower() not in _HOP_BY_HOP


def schema_instruction(schema: JsonSchema) -> str:
    """The sentence that asks for JSON of a schema where the provider has no field for it."""
    text = msgspec.json.encode(schema.schema).decode()
    return f"Answer with a single JSON object and nothing else. It must follow this JSON schema: {text}"


def parameters(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool's parameters; most servers refuse an empty schema."""
    return schema or {"type": "object", "properties": {}}
