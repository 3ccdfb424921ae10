"""Where requests may go."""

from __future__ import annotations

import pytest

from zc_notebooks.errors import TransportFailure
from zc_notebooks.transport.address import address, is_loopback, proxy_for


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),  # noqa: S104 (a host that must not pass for loopback)
        ("127.1", False),
        ("localhost.example.com", False),
        ("127.0.0.1.nip.io", False),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("", False),
    ],
)
def test_loopback_is_this_machine_alone(host: str, expected: bool) -> None:
    """A name that merely resolves to loopback is not trusted with plain http."""
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://api.example.com/v1", "plain http to api.example.com"),
        ("http://127.0.0.1@api.example.com/v1", "plain http to api.example.com"),
        ("ftp://127.0.0.1/v1", "must begin with https://"),
        ("api.example.com/v1", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https:///v1", "no host"),
        ("", "must begin with https://"),
        ("http://127.0.0.1:notaport/v1", "not a URL"),
        ("http://[::1/v1", "not a URL"),
        ("http://127.0.0.1:0/v1", "no host"),
        ("https://user:word@api.example.com/v1", "user@"),
        ("http://127.0.0.1\\@api.example.com/v1", "unfit sign"),
        ("https://api.example.com/a b", "unfit sign"),
        ("https://api.example.com/\nx", "unfit sign"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_before_anything_is_sent(url: str, words: str) -> None:
    """The sentence names what is wrong, and nothing was sent."""
    with pytest.raises(TransportFailure, match=words) as caught:
        address(url)
    assert (caught.value.kind, caught.value.sent) == ("refused_url", False)


@pytest.mark.parametrize(
    ("url", "allow", "port", "tls"),
    [
        ("https://api.example.com/v1", False, 443, True),
        ("https://api.example.com:8443/v1", False, 8443, True),
        ("http://127.0.0.1:8080/v1", False, 8080, False),
        ("http://localhost/v1", False, 80, False),
        ("http://[::1]:11434/api/chat", False, 11434, False),
        ("http://gpu.lan:8000/v1", True, 8000, False),
    ],
)
def test_an_address_that_may_be_used(url: str, allow: bool, port: int, tls: bool) -> None:
    """Https anywhere, http on this machine, http elsewhere only by permission."""
    place = address(url, allow_plain_http=allow)
    assert (place.port, place.tls) == (port, tls)


@pytest.mark.parametrize(
    ("url", "environment", "expected"),
    [
        ("https://api.example.com/v1", {}, None),
        ("https://api.example.com/v1", {"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ("https://api.example.com/v1", {"ALL_PROXY": "proxy:3128"}, "http://proxy:3128"),
        ("https://api.example.com/v1", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example.com"}, None),
        ("https://api.example.com/v1", {"HTTP_PROXY": "http://proxy:3128"}, None),
        ("https://127.0.0.1:9/v1", {"HTTPS_PROXY": "http://proxy:3128"}, None),
        ("http://127.0.0.1:9/v1", {"HTTP_PROXY": "http://proxy:3128", "ALL_PROXY": "http://proxy:3128"}, None),
    ],
)
def test_the_proxy_of_the_environment(
    url: str, environment: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It carries https to other machines; loopback never leaves this one."""
    _only(monkeypatch, environment)
    found = proxy_for(address(url))
    assert (found.geturl() if found else None) == expected


def test_a_socks_proxy_is_a_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind of proxy that is not spoken is said, not skipped: going round it could be forbidden."""
    _only(monkeypatch, {"ALL_PROXY": "socks5://proxy:1080"})
    with pytest.raises(TransportFailure, match="socks5 proxy") as caught:
        proxy_for(address("https://api.example.com/v1"))
    assert (caught.value.kind, caught.value.sent) == ("connect", False)


def _only(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
