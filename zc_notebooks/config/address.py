"""Addresses: what a ``uri`` may be, the base URL a wire appends to, and the billing pool it stands for."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from zc_notebooks.config.fields import Wrong
from zc_notebooks.records import WireName

Lookup = Callable[[str], str | None]
"""Name of a variable → its value, ``None`` when unset or blank."""

MANAGED: Final = "managed://"
"""Begins the address of a model that this package starts itself when it is first asked."""
_KEY_PARAMETERS: Final = frozenset(
    {"key", "api_key", "api-key", "apikey", "token", "access_token", "code", "sig", "signature", "subscription-key"}
)
_PORTS: Final = {"http": 80, "https": 443}
_NO_ADDRESS: Final = re.compile(r"[\s\\{}<>\"]")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_HOST_PART: Final = re.compile(r"[A-Za-z0-9._-]+")
_VERSIONED: Final = re.compile(r"/v\d+\w*$")
_VERSION: Final[Mapping[WireName, str]] = {"anthropic_messages": "/v1", "gemini": "/v1beta", "cohere_v2": "/v2"}
"""These wires live below a version that people leave out, because the vendors' own clients add it."""


def check_address(given: str, *, allow_plain_http: bool) -> str:
    """The address without a trailing slash. Raises :class:`Wrong` for anything but a plain http(s) address."""
    parts = _split(given)
    if parts.username is not None or parts.password is not None:
        raise Wrong("must not hold a name or password: put the key in a variable", hidden=True)
    if "#" in given or any(name.lower() in _KEY_PARAMETERS for name, _ in parse_qsl(parts.query)):
        raise Wrong("must hold no fragment and no key: put the key in a variable", hidden=True)
    if parts.scheme.lower() == "http" and not allow_plain_http and not is_loopback(parts.hostname or ""):
        raise Wrong("sends keys and prompts unencrypted: use https, or set allow_plain_http = true")
    own = {"scheme": parts.scheme.lower(), "netloc": parts.netloc.lower(), "path": parts.path.rstrip("/")}
    return parts._replace(**own).geturl()


def base_url(address: str, wire: WireName, *, local: bool) -> str:
    """What ``wire`` appends to for a profile at a ``uri``: a version that was left out is added.

    ``local``: a server of one's own machine, which serves the OpenAI protocols below ``/v1``. Any other address of
    those protocols stays as it is.
    """
    parts = urlsplit(address)
    path = parts.path
    if wire == "ollama":
        path = re.sub(r"/(?:api|v1)$", "", path)
    elif wire in _VERSION:
        path = path if _VERSIONED.search(path) else path + _VERSION[wire]
    elif local and not path:
        path = "/v1"
    return parts._replace(path=path).geturl()


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine."""
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_is(address: str, host: str) -> bool:
    """Whether an address is at ``host`` or below it."""
    own = (urlsplit(address).hostname or "").rstrip(".")
    return own == host or own.endswith(f".{host}")


def pool_of(family: str, address: str) -> str:
    """The default billing pool: family + ``@`` + scheme, host and port."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = parts.port or _PORTS.get(parts.scheme)
    return f"{family}@{parts.scheme}://{host}" + (f":{port}" if port else "")


def expand(template: str, variables: Mapping[str, str], lookup: Lookup) -> str:
    """Fills a template's placeholders; one whose variable is unset stays. Raises :class:`Wrong` for a bad value."""
    address = template
    for placeholder, name in variables.items():
        value = (lookup(name) or "").strip().rstrip("/")
        if not value:
            continue
        rest = template.partition("{" + placeholder + "}")[2]
        if template.startswith("{" + placeholder + "}"):
            value = value.removesuffix(rest)
        elif not _HOST_PART.fullmatch(value):
            raise Wrong(f"{name} must hold a plain name (letters, digits, . _ -)", hidden=True)
        address = address.replace("{" + placeholder + "}", value)
    return address


def unfilled(address: str) -> str | None:
    """The first placeholder that is still open, or ``None``."""
    match = _PLACEHOLDER.search(address)
    return match[1] if match else None


def _split(given: str) -> SplitResult:
    try:
        parts = urlsplit(given)
        port = parts.port
        host = parts.hostname
    except ValueError:
        raise Wrong("must be a valid http or https address") from None
    known = parts.scheme.lower() in _PORTS and host and port != 0
    if not known or _NO_ADDRESS.search(given) or not given.isprintable():
        raise Wrong("must be an http or https address such as https://host/v1")
    return parts
