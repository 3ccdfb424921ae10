"""Requests and answers against raw sockets: what comes back, and what every kind of broken answer becomes."""

from __future__ import annotations

import asyncio
import gzip
import traceback
import zlib
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.raw_server import Answer, RawServer, Request, chunked, raw_server, whole, writes
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.transport import MAX_ERROR_BODY, AsyncTransport, StreamedResponse

KEY = "sk-planted-0123456789abcdef"
FAST_S = 0.05
"""A limit that a test waits out."""


def post(url: str, body: bytes = b'{"n": 1}') -> HttpRequest:
    return HttpRequest(
        method="POST",
        url=url,
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
        body=body,
    )


def asked(answer: Answer | bytes, use: Callable[[AsyncTransport, RawServer], Awaitable[object]]) -> RawServer:
    """Runs ``use`` against a server with that answer; the transport is closed after it."""

    async def run() -> RawServer:
        transport = AsyncTransport()
        async with raw_server(answer) as server:
            try:
                await use(transport, server)
            finally:
                await transport.aclose()
            return server

    return asyncio.run(run())


def sent(answer: Answer | bytes, *, read_s: float = 5.0, **limits: int) -> HttpResponse:
    """One ``send`` to a server with that answer."""
    got: list[HttpResponse] = []

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        got.append(await transport.send(post(server.url), connect_s=5, read_s=read_s, **limits))

    asked(answer, use)
    return got[0]


def streamed(answer: Answer | bytes, *, idle_s: float | None = 5.0) -> tuple[int, list[bytes]]:
    """Status and pieces of one stream."""
    got: list[tuple[int, list[bytes]]] = []

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        async with transport.stream(post(server.url), connect_s=5, first_byte_s=5, idle_s=idle_s) as response:
            got.append((response.status, [piece async for piece in response.chunks()]))

    asked(answer, use)
    return got[0]


async def _collect(response: StreamedResponse, into: list[bytes]) -> None:
    """Keeps what came before a failure."""
    async for piece in response.chunks():
        into.append(piece)  # noqa: PERF401 (a comprehension would lose it)


async def _silent(_: Request, __: object) -> None:
    """The request is read and never answered."""


BOMB = whole(200, gzip.compress(b"\0" * 20_000_000), "Content-Encoding: gzip")


# -- what arrives -------------------------------------------------------------------------------------------------


def test_the_request_arrives_as_it_was_given() -> None:
    """Method, path, headers and body; a length, and no header that the wire did not ask for but the usual ones."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        await transport.send(post(server.url + "/chat?alt=sse"), connect_s=5, read_s=5)

    request = asked(whole(200, b"{}"), use).requests[0]
    assert request.line == "POST /v1/chat?alt=sse HTTP/1.1"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-length"] == "8"
    assert request.body == b'{"n": 1}'
    assert request.headers["user-agent"].startswith("zc-notebooks/")
    assert set(request.headers) <= {
        *("authorization", "content-type", "content-length", "host", "accept", "accept-encoding", "user-agent"),
    }


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(whole(200, b'{"a": 1}'), b'{"a": 1}', id="length"),
        pytest.param(chunked(b'{"a"', b": 1}"), b'{"a": 1}', id="chunked"),
        pytest.param(writes(b"HTTP/1.1 200 OK\r\n\r\nabc", close=True), b"abc", id="until the end of the connection"),
        pytest.param(whole(200, gzip.compress(b"zip"), "Content-Encoding: gzip"), b"zip", id="gzip"),
        pytest.param(whole(200, zlib.compress(b"zip"), "Content-Encoding: deflate"), b"zip", id="deflate"),
        pytest.param(whole(200, b"\xff\xfe\0\x80"), b"\xff\xfe\0\x80", id="NUL and no UTF-8"),
        pytest.param(b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + whole(200, b"late"), b"late", id="after early hints"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="none"),
    ],
)
def test_a_whole_body_is_read(answer: Answer | bytes, body: bytes) -> None:
    """Every framing ends cleanly, as one answer and as a stream."""
    assert sent(answer).body == body
    assert b"".join(streamed(answer)[1]) == body


def test_header_names_are_lower_case_and_never_break_text() -> None:
    """Repeated headers are joined; bytes that are no UTF-8 are replaced, so that rows can be written."""
    answer = whole(200, b"", "Retry-After: 3", "X-A: 1", "x-a: 2").replace(b"X-A: 1", b"X-A: 1\xff")
    headers = sent(answer).headers
    assert headers["retry-after"] == "3"
    assert headers["x-a"] == "1\N{REPLACEMENT CHARACTER}, 2"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_carries_no_key(status: int) -> None:
    """The other host is never asked; the answer is the redirect itself."""

    async def run() -> None:
        transport = AsyncTransport()
        async with raw_server(whole(200, b"stolen")) as other, raw_server(_redirect(status, other)) as first:
            answer = await transport.send(post(first.url), connect_s=5, read_s=5)
            async with transport.stream(post(first.url), connect_s=5, first_byte_s=5) as response:
                assert response.status == status
            await transport.aclose()
        assert (answer.status, answer.headers["location"]) == (status, other.url)
        assert other.accepted == 0

    asyncio.run(run())


def _redirect(status: int, other: RawServer) -> bytes:
    return whole(status, b"", f"Location: {other.url}")


# -- sizes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 429, 500, 302])
def test_a_large_error_body_is_cut_and_not_read_on(status: int) -> None:
    """A 5 MB error body: 64 KiB are kept and the connection ends there."""
    written: list[int] = []

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} No\r\nContent-Length: 5000000\r\n\r\n".encode())
        for count in range(1, 51):
            writer.write(b"x" * 100_000)
            await writer.drain()
            written.append(count)

    response = sent(answer)
    assert (response.status, response.body, response.cut) == (status, b"x" * MAX_ERROR_BODY, True)
    assert len(written) < 50


def test_read_body_cuts_a_streams_error_too() -> None:
    """``read_body`` keeps its limit and closes the rest."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        async with transport.stream(post(server.url), connect_s=5, first_byte_s=5) as response:
            assert len(await response.read_body()) == MAX_ERROR_BODY
        async with transport.stream(post(server.url), connect_s=5, first_byte_s=5) as response:
            assert len(await response.read_body(limit=10)) == 10
        await asyncio.wait_for(server.client_left.wait(), 5)

    asked(whole(500, b"x" * 5_000_000), use)


@pytest.mark.parametrize(
    ("answer", "limit"),
    [
        pytest.param(whole(200, b"x" * 101), 100, id="one byte too many"),
        pytest.param(BOMB, 1_000_000, id="decompression bomb"),
    ],
)
def test_a_good_answer_above_its_limit_is_a_failure(answer: bytes, limit: int) -> None:
    """A cut answer must not pass for one, so it is refused whole."""
    assert sent(whole(200, b"x" * 100), max_body=100).body == b"x" * 100
    with pytest.raises(TransportFailure, match="larger than") as caught:
        sent(answer, max_body=limit)
    assert (caught.value.kind, caught.value.sent) == ("too_large", True)


def test_a_bomb_in_a_stream_arrives_in_small_pieces() -> None:
    """20 MB out of 20 kB never stand in memory at once: reading waits for the consumer."""
    pieces = streamed(BOMB)[1]
    assert sum(map(len, pieces)) == 20_000_000
    assert max(map(len, pieces)) <= 1_000_000


# -- broken answers -----------------------------------------------------------------------------------------------

BROKEN = [
    pytest.param(b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "protocol", id="another protocol"),
    pytest.param(b"\0\0\0\x01\x02\r\n\r\n", "protocol", id="binary"),
    pytest.param(b"HTTP/1.1 abc OK\r\n\r\n", "protocol", id="no status"),
    pytest.param(b"HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 0\r\n\r\n", "protocol", id="NUL in a header"),
    pytest.param(b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n", "protocol", id="a line without colon"),
    pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}", "protocol", id="negative length"),
    pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "protocol", id="two lengths"),
    pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 10_000_000, "protocol", id="10 MB header line"),
    pytest.param(b"HTTP/1.1 200 " + b"x" * 10_000_000, "protocol", id="10 MB status line"),
    pytest.param(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 100_000, "protocol", id="100,000 headers"),
    pytest.param(chunked(b"abc", end=False) + b"zz\r\nabc", "protocol", id="no chunk size"),
    pytest.param(whole(200, b"plain", "Content-Encoding: gzip"), "protocol", id="gzip that is none"),
    pytest.param(writes(b"", close=True), "read", id="closed without an answer"),
    pytest.param(writes(b"HTTP/1.1 200 OK\r\nA: b\r\n", close=True), "read", id="closed in the headers"),
    pytest.param(writes(chunked(b"abc", end=False), close=True), "read", id="chunked without its end"),
    pytest.param(
        writes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", close=True), "read", id="shorter than its length"
    ),
]


@pytest.mark.parametrize(("answer", "kind"), BROKEN)
def test_a_broken_answer_is_a_transport_failure(answer: Answer | bytes, kind: str) -> None:
    """Never another exception, for a whole answer and for a stream alike; the request may have been worked on."""
    for read in (sent, streamed):
        with pytest.raises(TransportFailure) as caught:
            read(answer)
        assert (caught.value.kind, caught.value.sent) == (kind, True)
        assert len(str(caught.value)) < 400


def test_what_arrived_before_a_cut_is_handed_out_first() -> None:
    """A half-closed socket in mid-body: the pieces, then the failure."""
    got: list[bytes] = []

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        async with transport.stream(post(server.url), connect_s=5, first_byte_s=5) as response:
            with pytest.raises(TransportFailure, match="before the body was complete"):
                await _collect(response, got)

    asked(_cut_after_a_pause, use)
    assert b"".join(got) == b"data: one\n\n"


async def _cut_after_a_pause(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(chunked(b"data: one\n\n", end=False))
    await writer.drain()
    await asyncio.sleep(FAST_S)
    writer.close()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_transport_failure(junk: bytes) -> None:
    """Whatever a server writes, nothing else is raised."""
    for raw in (junk, b"HTTP/1.1 200 OK\r\n" + junk, chunked(b"x", end=False) + junk):
        try:
            response = sent(writes(raw, close=True))
        except TransportFailure:
            continue
        assert isinstance(response.body, bytes)


# -- time limits --------------------------------------------------------------------------------------------------


async def _dripping(_: Request, writer: asyncio.StreamWriter) -> None:
    """Headers at once, then a byte now and then, without end."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(FAST_S / 5)


@pytest.mark.parametrize("answer", [_silent, _dripping])
def test_the_read_limit_covers_the_whole_answer(answer: Answer) -> None:
    """Bytes that trickle in do not extend it (keep-alive blanks before a JSON body must not hold a call for ever)."""
    with pytest.raises(TransportFailure, match=r"no complete answer within 0\.05 s") as caught:
        sent(answer, read_s=FAST_S)
    assert (caught.value.kind, caught.value.sent) == ("timeout", True)


def test_the_first_byte_limit_of_a_stream() -> None:
    """No headers in time."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        with pytest.raises(TransportFailure, match=r"no response headers within 0\.05 s") as caught:
            async with transport.stream(post(server.url), connect_s=5, first_byte_s=FAST_S):
                pass
        assert (caught.value.kind, caught.value.sent) == ("timeout", True)

    asked(_silent, use)


def test_the_idle_limit_runs_between_pieces() -> None:
    """A stream may last as long as it likes while bytes arrive, and not a moment longer without."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(end=False))
        for _ in range(10):
            writer.write(b"1\r\n.\r\n")
            await writer.drain()
            await asyncio.sleep(FAST_S / 5)

    got: list[bytes] = []

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        async with transport.stream(post(server.url), connect_s=5, first_byte_s=5, idle_s=FAST_S) as response:
            with pytest.raises(TransportFailure, match=r"nothing arrived for 0\.05 s") as caught:
                await _collect(response, got)
        assert (caught.value.kind, caught.value.sent) == ("timeout", True)

    asked(answer, use)
    assert b"".join(got) == b"." * 10


def test_a_connection_that_is_not_made_in_time_was_not_sent() -> None:
    """A TLS handshake that is never answered: the request cannot have been seen."""

    async def run() -> None:
        transport = AsyncTransport()
        async with raw_server(_silent) as server:
            with pytest.raises(TransportFailure, match=r"no connection within 0\.05 s") as caught:
                await transport.send(post(server.url.replace("http:", "https:")), connect_s=FAST_S, read_s=5)
        await transport.aclose()
        assert (caught.value.kind, caught.value.sent) == ("timeout", False)

    asyncio.run(run())


# -- secrets ------------------------------------------------------------------------------------------------------


def test_no_failure_shows_the_key() -> None:
    """A server that echoes the key, and an address that holds it: nothing of it in message or traceback."""

    async def echo(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {request.headers['authorization']}\r\n\r\n".encode())

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        for url in (f"{server.url}?key={KEY}", f"http://api.example.com/?key={KEY}"):
            with pytest.raises(TransportFailure) as caught:
                await transport.send(post(url), connect_s=5, read_s=5)
            shown = "".join(traceback.format_exception(caught.value))
            assert KEY not in shown
            assert KEY[:6] not in str(caught.value)

    asked(echo, use)
