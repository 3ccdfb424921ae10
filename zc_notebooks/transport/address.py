"""Where a request may go: addresses, plain http, the environment's proxy, whom TLS trusts. Nothing is sent here."""

from __future__ import annotations

import os
import re
import ssl
import sys
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, NoReturn
from urllib.parse import SplitResult, quote, urlsplit

from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import Record

_PORTS: Final = {"http": 80, "https": 443}
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]")
"""What parsers read differently: an address that one takes for loopback must not lead elsewhere."""
_SAFE: Final = "%/?:@!$&'()*+,;=~-._[]"


class Address(Record, frozen=True, kw_only=True):
    """A checked address, and what of it decides how a request travels."""

    host: str
    """Name or number to connect to, without brackets."""
    port: int
    tls: bool
    loopback: bool
    target: str
    """Path and query as they stand in the first line of a request."""

    @property
    def name(self) -> str:
        """``host:port`` as failures show it and as a tunnel is asked for."""
        return f"{self._bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """The ``Host`` header."""
        return self._bracketed if self.port == _PORTS["https" if self.tls else "http"] else self.name

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


@lru_cache(maxsize=256)
def address(url: str, *, allow_plain_http: bool = False) -> Address:
    """Checks ``url``.

    Plain http goes to this machine only, unless allowed: anybody on the way could read the key.

    Raises:
        TransportFailure: ``refused_url``; nothing was sent.
    """
    parts, host, port = _split(url)
    tls, loopback = parts.scheme == "https", is_loopback(host)
    if not (tls or loopback or allow_plain_http):
        _refuse(
            f"plain http to {host} would show the key to the network: use https, or allow plain http in the profile"
        )
    if parts.username is not None:
        _refuse("an address with user@ is not used: give the key by api_key_env, or a header in extra_headers")
    target = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    return Address(host=host, port=port, tls=tls, loopback=loopback, target=target)


def _split(url: str) -> tuple[SplitResult, str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host if host.isascii() else host.encode("idna").decode()
    except ValueError:
        _refuse("the address is not a URL")
    if _UNFIT.search(url):
        _refuse("the address holds a blank or another unfit sign")
    if parts.scheme not in _PORTS:
        _refuse(f"an address must begin with https:// or http://, not with {parts.scheme or 'nothing'!r}")
    if not host or port == 0:
        _refuse("the address names no host")
    return parts, host, port or _PORTS[parts.scheme]


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


def proxy_for(place: Address) -> SplitResult | None:
    """The proxy that the environment names for ``place`` (``HTTPS_PROXY``, ``ALL_PROXY``, ``NO_PROXY``).

    Only for https to another machine: a tunnel shows the proxy no key, and loopback never leaves this machine.

    Raises:
        TransportFailure: ``connect``, when the proxy is of a kind that is not spoken here (SOCKS). Going round it could
            be forbidden, so nothing was sent.
    """
    if not place.tls or place.loopback or not _proxies_possible():
        return None
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get("https") or proxies.get("all")
    if not proxy or proxy_bypass(place.host):
        return None
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.scheme not in _PORTS or not parts.hostname:
        message = f"the environment names a {parts.scheme} proxy, and only http and https proxies are supported"
        raise TransportFailure(message, kind="connect", sent=False)
    return parts


def _proxies_possible() -> bool:
    """``urllib.request`` costs 25 ms to import; macOS and Windows keep proxies outside the environment as well."""
    return sys.platform in ("darwin", "win32") or any(name.lower().endswith("_proxy") for name in os.environ)


@lru_cache(maxsize=1)
def trusted() -> ssl.SSLContext:
    """The process's one TLS context, made at the first https request: verification on, HTTP/1.1.

    Trusts the system's certificates (``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` are OpenSSL's own), and certifi's where the
    system has none that OpenSSL finds.
    """
    paths = ssl.get_default_verify_paths()
    if sys.platform == "win32" or paths.cafile or paths.capath:
        context = ssl.create_default_context()
    else:
        import certifi

        context = ssl.create_default_context(cafile=certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
