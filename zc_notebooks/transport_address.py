"""Where a request may go: addresses, plain http, the environment's proxy, whom TLS trusts. Nothing is sent here."""

from __future__ import annotations

import re
import ssl
import sys
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, NoReturn
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import Record

_LINE_BREAK: Final = re.compile(r"[\r\n\0]")


class Address(Record, frozen=True, kw_only=True):
    """A checked address, and what of it decides how a request travels."""

    url: URL
    host: str
    port: int
    tls: bool
    loopback: bool

    @property
    def name(self) -> str:
        """``host:port`` as failures show it."""
        return f"{self.host}:{self.port}"


@lru_cache(maxsize=256)
def address(url: str, *, allow_plain_http: bool = False) -> Address:
    """Checks ``url``.

    Plain http goes to this machine only, unless allowed: anybody on the way could read the key.

    Raises:
        TransportFailure: ``refused_url``; nothing was sent.
    """
    try:
        parsed = URL(url)
        host, port = parsed.host, parsed.port
    except ValueError:
        _refuse("the address is not a URL")
    if parsed.scheme not in ("http", "https"):
        _refuse(f"an address must begin with https:// or http://, not with {parsed.scheme or 'nothing'!r}")
    if not host or not port:
        _refuse("the address names no host")
    tls, loopback = parsed.scheme == "https", is_loopback(host)
    if not (tls or loopback or allow_plain_http):
        _refuse(
            f"plain http to {host} would show the key to the network: use https, or allow plain http in the profile"
        )
    return Address(url=parsed, host=host, port=port, tls=tls, loopback=loopback)


def _refuse(message: str) -> NoReturn:
    raise TransportFailure(message, kind="refused_url", sent=False)


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine: ``localhost`` or a loopback address, never a name that only resolves to one."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        ip = ip_address(host)
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_loopback


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuses a name or value that would break out of its line: a key pasted with its line end is the usual cause.

    Raises:
        TransportFailure: ``protocol``; nothing was sent. The value is not shown.
    """
    for name, value in headers.items():
        if _LINE_BREAK.search(value) or _LINE_BREAK.search(name):
            message = f"the header {name.strip()!r} holds a line break or a NUL and was not sent"
            raise TransportFailure(message, kind="protocol", sent=False)


def proxy_for(place: Address) -> str | None:
    """The proxy that the environment names for ``place`` (``HTTPS_PROXY``, ``ALL_PROXY``, ``NO_PROXY``).

    Only for https to another machine: a tunnel shows the proxy no key, and loopback never leaves this machine.

    Raises:
        TransportFailure: ``connect``, when the proxy is of a kind that is not spoken here (SOCKS).
    """
    if not place.tls or place.loopback:
        return None
    proxies = getproxies()
    proxy = proxies.get("https") or proxies.get("all")
    if not proxy or proxy_bypass(place.host):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    scheme = proxy.partition("://")[0].lower()
    if scheme not in ("http", "https"):
        message = f"the environment names a {scheme} proxy, and only http and https proxies are supported"
        raise TransportFailure(message, kind="connect", sent=False)
    return proxy


@lru_cache(maxsize=1)
def trusted() -> ssl.SSLContext | None:
    """Certificates to trust where the system has no store that OpenSSL finds; ``None``: its default is good.

    ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` are OpenSSL's own and are honoured either way.
    """
    paths = ssl.get_default_verify_paths()
    if sys.platform == "win32" or paths.cafile or paths.capath:
        return None
    import certifi

    return ssl.create_default_context(cafile=certifi.where())
