"""Bytes in, answer out; request in, bytes out. No socket anywhere."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raw_server import chunked, whole
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest
from zc_notebooks.transport.address import address
from zc_notebooks.transport.answer import MAX_HEAD, Answer
from zc_notebooks.transport.coding import PIECE, Inflater, inflater
from zc_notebooks.transport.request import render


def read(*pieces: bytes, method: str = "POST", most: int | None = None, end: bool = False) -> Answer:
    """An answer fed with ``pieces``."""
    answer = Answer(method, most)
    for piece in pieces:
        answer.feed(memoryview(piece))
    if end:
        answer.end()
    return answer


# -- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "method", "status", "body", "keep"),
    [
        pytest.param(whole(200, b"{}"), "POST", 200, b"{}", True, id="length"),
        pytest.param(chunked(b"a", b"b"), "POST", 200, b"ab", True, id="chunked"),
        pytest.param(chunked(b"a", end=False) + b"0\r\nLate: x\r\n\r\n", "POST", 200, b"a", True, id="trailers"),
        pytest.param(b"HTTP/1.1 204 N\r\n\r\n", "POST", 204, b"", True, id="no content"),
        pytest.param(b"HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n", "GET", 304, b"", True, id="not modified"),
        pytest.param(b"HTTP/1.1 200 N\r\nContent-Length: 9\r\n\r\n", "HEAD", 200, b"", False, id="answer to HEAD"),
        pytest.param(b"HTTP/1.1 200 N\r\n\r\n", "CONNECT", 200, b"", False, id="tunnel"),
        pytest.param(whole(200, b"{}", "Connection: close"), "POST", 200, b"{}", False, id="close"),
        pytest.param(whole(200, b"{}").replace(b"1.1", b"1.0"), "POST", 200, b"{}", False, id="HTTP/1.0"),
        pytest.param(whole(200, b"{}") + b"more", "POST", 200, b"{}", False, id="more than was asked for"),
        pytest.param(whole(200, b"{}") + whole(500, b"!"), "POST", 200, b"{}", False, id="a second answer"),
        pytest.param(b"HTTP/1.1 100 C\r\n\r\n" + whole(200, b"x"), "POST", 200, b"x", True, id="after continue"),
        pytest.param(b"HTTP/1.1 103 E\r\nA: b\r\n\r\n" + whole(429, b"x"), "POST", 429, b"x", True, id="after hints"),
    ],
)
def test_an_answer_is_complete_by_its_framing(raw: bytes, method: str, status: int, body: bytes, keep: bool) -> None:
    """In one piece and byte by byte; and whether its connection serves another request."""
    for pieces in ([raw], [raw[at : at + 1] for at in range(len(raw))]):
        answer = read(*pieces, method=method)
        assert (answer.status, b"".join(answer.parts), answer.complete) == (status, body, True)
        assert answer.keep is keep
        assert "a" not in answer.headers  # those of an interim answer are not the answer's


@given(st.data())
def test_any_cut_of_the_bytes_reads_the_same(data: st.DataObject) -> None:
    """Where the network splits them changes nothing."""
    body = data.draw(st.binary(max_size=60))
    raw = data.draw(st.sampled_from([whole(200, body, "A: 1", "a: 2"), chunked(body or b"x", body or b"y")]))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    one, many = read(raw), read(*pieces)
    assert one.complete
    assert many.complete
    assert (one.status, one.headers, b"".join(one.parts)) == (many.status, many.headers, b"".join(many.parts))


def test_a_body_to_the_end_of_the_connection() -> None:
    """Without a length the orderly end completes it, and a reset does not."""
    raw = b"HTTP/1.1 200 OK\r\n\r\nabc"
    assert read(raw, end=True).complete
    answer = read(raw)
    answer.end("Connection reset by peer")
    assert not answer.complete
    assert "reset by peer" in str(answer.failure)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "another protocol"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * MAX_HEAD, "bytes of headers"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * MAX_HEAD, "bytes of headers"),
        (chunked(b"a", end=False) + b"1;" + b"e" * 2 * MAX_HEAD, "bytes of headers"),
        (chunked(b"a", end=False) + b"0\r\nA: " + b"x" * 2 * MAX_HEAD, "bytes of headers"),
        (b"not http at all", "not HTTP"),
    ],
)
def test_an_answer_that_cannot_be_read_fails_once_and_for_all(raw: bytes, words: str) -> None:
    """Headers, chunk extensions and trailers without end are no way to fill the memory."""
    pieces = [raw[at : at + 16_384] for at in range(0, len(raw), 16_384)]
    answer = read(*pieces, b"and more", end=True)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.sent) == ("protocol", True)
    assert words in str(answer.failure)
    assert not answer.keep


@pytest.mark.parametrize(("status", "over"), [(200, True), (500, False)])
def test_the_limit_of_a_good_body(status: int, over: bool) -> None:
    """Other answers have their own."""
    assert read(whole(status, b"x" * 11), most=10).over is over


# -- compressed bodies --------------------------------------------------------------------------------------------

TEXT = b"To be, or not to be. " * 20_000
RAW_DEFLATE = zlib.compressobj(wbits=-15)
FORMS = [
    pytest.param("gzip", gzip.compress(TEXT), id="gzip"),
    pytest.param("x-gzip", gzip.compress(TEXT), id="x-gzip"),
    pytest.param("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]), id="two members"),
    pytest.param("deflate", zlib.compress(TEXT), id="deflate"),
    pytest.param("deflate", RAW_DEFLATE.compress(TEXT) + RAW_DEFLATE.flush(), id="deflate without its header"),
]


def opened(coding: str, *pieces: bytes) -> bytes:
    opener = inflater({"content-encoding": coding})
    assert opener is not None
    out = []
    for piece in pieces:
        for part in opener.pieces(piece):
            assert len(part) <= PIECE
            out.append(part)
    opener.close()
    return b"".join(out)


@pytest.mark.parametrize(("coding", "packed"), FORMS)
def test_a_compressed_body_opens_however_it_is_cut(coding: str, packed: bytes) -> None:
    """Whole, byte by byte, and never more than a piece at a time."""
    assert opened(coding, packed) == TEXT
    assert opened(coding, *(packed[at : at + 1] for at in range(len(packed)))) == TEXT


@pytest.mark.parametrize(("coding", "packed"), FORMS)
def test_a_compressed_body_that_ends_early_is_not_whole(coding: str, packed: bytes) -> None:
    """Its framing may be complete all the same; the missing part must not be missing in silence."""
    with pytest.raises(TransportFailure, match="compressed body ended early") as caught:
        opened(coding, packed[: len(packed) // 2])
    assert caught.value.kind == "read"


@pytest.mark.parametrize("junk", [b"\x1f\x8bnot gzip", b"plain text", gzip.compress(TEXT)[:40] + b"\xff" * 500])
def test_junk_instead_of_compressed_data(junk: bytes) -> None:
    """A clear failure."""
    with pytest.raises(TransportFailure, match=r"cannot be read|ended early"):
        opened("gzip", junk)


@given(st.binary(max_size=300))
def test_opening_raises_nothing_else(junk: bytes) -> None:
    """Whatever the bytes are."""
    opener = Inflater()
    with suppress(TransportFailure):
        for _ in opener.pieces(junk):
            pass
        opener.close()


def test_a_coding_nobody_asked_for() -> None:
    """Said as such; plain bodies need no opener."""
    assert inflater({}) is None
    assert inflater({"content-encoding": "identity"}) is None
    with pytest.raises(TransportFailure, match="its coding is br"):
        inflater({"content-encoding": "br"})


# -- requests -----------------------------------------------------------------------------------------------------


def rendered(headers: dict[str, str], url: str = "https://api.example.com/v1", method: str = "POST") -> list[str]:
    body = b"{}" if method == "POST" else b""
    request = HttpRequest(method=method, url=url, headers=headers, body=body)
    head, _, rest = render(request, address(url), stream=False).decode().partition("\r\n\r\n")
    assert rest == body.decode()
    return head.split("\r\n")


@pytest.mark.parametrize(
    ("url", "first", "host"),
    [
        ("https://api.example.com", "POST / HTTP/1.1", "api.example.com"),
        ("https://api.example.com:443/v1/", "POST /v1/ HTTP/1.1", "api.example.com"),
        ("https://api.example.com:8443/v1?a=b&c=d", "POST /v1?a=b&c=d HTTP/1.1", "api.example.com:8443"),
        ("https://api.example.com/m/a:stream?alt=sse#x", "POST /m/a:stream?alt=sse HTTP/1.1", "api.example.com"),
        ("https://api.example.com/m/a%2Fb", "POST /m/a%2Fb HTTP/1.1", "api.example.com"),
        ("https://api.example.com/日本", "POST /%E6%97%A5%E6%9C%AC HTTP/1.1", "api.example.com"),
        ("https://例え.example.com/", "POST / HTTP/1.1", "xn--r8jz45g.example.com"),
        ("http://[::1]:8080/v1", "POST /v1 HTTP/1.1", "[::1]:8080"),
    ],
)
def test_the_first_lines(url: str, first: str, host: str) -> None:
    """Path and host as HTTP wants them; what was already encoded stays."""
    assert rendered({}, url)[:2] == [first, f"Host: {host}"]


def test_headers_of_the_caller_come_first_and_framing_is_ours() -> None:
    """Defaults only where the caller says nothing; no second length, no other host."""
    lines = rendered(
        {
            "Accept": "text/event-stream",
            "Content-Length": "999",
            "Transfer-Encoding": "chunked",
            "Host": "evil",
            "X": "日",
        }
    )
    assert lines[1:] == [
        "Host: api.example.com",
        "Accept: text/event-stream",
        "X: 日",
        lines[4],
        "accept-encoding: gzip, deflate",
        "content-length: 2",
    ]
    assert lines[4].startswith("user-agent: zc-notebooks/")


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer pasted-with-its-line-end\n"},
        {"authorization": "Bearer a\r\nx-injected: pasted"},
        {"x\r\ny": "pasted"},
        {"x y": "pasted"},
        {"x:": "pasted"},
        {"": "pasted"},
        {"x": "pasted\0"},
    ],
)
def test_a_header_cannot_break_out_of_its_line(headers: dict[str, str]) -> None:
    """The message names the header and never shows its value; nothing was sent."""
    with pytest.raises(TransportFailure, match="was not sent") as caught:
        rendered(headers)
    assert "pasted" not in str(caught.value)
    assert not caught.value.sent
