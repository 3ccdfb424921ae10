"""Connections: kept, bounded, never trusted when stale, and closed whatever happens."""

from __future__ import annotations

import asyncio
import datetime
import gc
import socket
import ssl
from pathlib import Path

import pytest

from tests.raw_server import RawServer, Request, chunked, raw_server, whole, writes
from tests.test_transport import FAST_S, KEY, asked, post
from zc_notebooks.errors import TransportFailure
from zc_notebooks.transport import AsyncTransport, SyncTransport

OK = whole(200, b"{}")


async def _send(transport: AsyncTransport, url: str) -> int:
    return (await transport.send(post(url), connect_s=5, read_s=5)).status


async def _never(_: Request, __: object) -> None:
    """The request is read and never answered."""


# -- keeping ------------------------------------------------------------------------------------------------------


def test_one_connection_serves_calls_in_a_row() -> None:
    """Keep-alive, for whole answers and for streams read to their end."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        for _ in range(5):
            await _send(transport, server.url)
            async with transport.stream(post(server.url), connect_s=5, first_byte_s=5) as response:
                assert [piece async for piece in response.chunks()] == [b"{}"]

    server = asked(OK, use)
    assert (server.accepted, len(server.requests)) == (1, 10)


def test_concurrent_requests_are_bounded_and_reuse_their_connections() -> None:
    """300 requests at once through 20 connections; the wait for a turn is no timeout."""

    async def run() -> RawServer:
        transport = AsyncTransport(max_connections=20)
        async with raw_server(_a_little_later) as server:
            statuses = await asyncio.gather(*(_send(transport, server.url) for _ in range(300)))
            await transport.aclose()
        assert statuses == [200] * 300
        return server

    server = asyncio.run(run())
    assert server.most_open <= 20
    assert server.accepted <= 20


async def _a_little_later(_: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0)
    writer.write(OK)


def test_each_event_loop_has_its_own_connections() -> None:
    """One transport under two ``asyncio.run`` in a row, never closed by hand: the first loop took its socket along."""
    transport = AsyncTransport()
    left: list[bool] = []

    async def once() -> None:
        async with raw_server(OK) as server:
            assert await _send(transport, server.url) == 200
            left.append(server.client_left.is_set())

    asyncio.run(once())
    asyncio.run(once())
    gc.collect()  # an unclosed socket would warn here, and warnings are errors
    assert left == [False, False]


def test_a_closed_transport_can_be_used_again() -> None:
    """``aclose`` ends connections, not the object."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        await _send(transport, server.url)
        await transport.aclose()
        await asyncio.wait_for(server.client_left.wait(), 5)
        await _send(transport, server.url)

    assert asked(OK, use).accepted == 2


def test_idle_connections_to_other_hosts_make_room() -> None:
    """The limit counts what is open, not only what is busy."""

    async def run() -> None:
        transport = AsyncTransport(max_connections=2)
        async with raw_server(OK) as first, raw_server(OK) as second:
            for server in (first, second, first):
                await asyncio.gather(*(_send(transport, server.url) for _ in range(8)))
                await asyncio.sleep(FAST_S)
                assert first.open + second.open <= 2
            await transport.aclose()

    asyncio.run(run())


def test_an_idle_connection_is_closed_after_its_time() -> None:
    """Without another request: nothing stays open for a provider that is not asked any more."""

    async def run() -> None:
        transport = AsyncTransport(keepalive_s=FAST_S)
        async with raw_server(OK) as server:
            await _send(transport, server.url)
            await asyncio.wait_for(server.client_left.wait(), 5)
            await _send(transport, server.url)
            assert server.accepted == 2
        await transport.aclose()

    asyncio.run(run())


def test_a_slow_reader_slows_the_server_down() -> None:
    """50 MB that nobody reads yet are not pulled into memory."""
    written: list[int] = []

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n")
        for count in range(500):
            writer.write(b"x" * 100_000)
            await writer.drain()
            written.append(count)

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        async with transport.stream(post(server.url), connect_s=5, first_byte_s=5, idle_s=5) as response:
            pieces = response.chunks()
            total = len(await anext(pieces))
            await asyncio.sleep(FAST_S)
            assert len(written) < 400
            total += sum([len(piece) async for piece in pieces])
        assert total == 50_000_000

    asked(answer, use)


# -- stale connections --------------------------------------------------------------------------------------------


def test_a_connection_the_server_has_closed_is_not_used_again() -> None:
    """The server closes after its answer without saying so; the next call opens a new connection and is sent once."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        for _ in range(5):
            assert await _send(transport, server.url) == 200

    server = asked(writes(OK, close=True), use)
    assert len(server.requests) == 5


def test_a_request_that_was_written_is_never_sent_again() -> None:
    """A kept connection dies after the request was read: the provider may have billed it, so the caller decides."""

    async def once_then_die(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.number > 1:
            writer.close()
        else:
            writer.write(OK)

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        await _send(transport, server.url)
        with pytest.raises(TransportFailure, match="without an answer") as caught:
            await _send(transport, server.url)
        assert (caught.value.kind, caught.value.sent) == ("read", True)

    assert len(asked(once_then_die, use).requests) == 2


def test_what_a_server_says_unasked_ends_the_connection() -> None:
    """A 408 on an idle connection is not the answer to the next request."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        for _ in range(3):
            assert await _send(transport, server.url) == 200
            await asyncio.sleep(FAST_S / 5)

    assert asked(_answers_and_complains, use).accepted == 3


async def _answers_and_complains(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(OK)
    await writer.drain()
    await asyncio.sleep(0)
    writer.write(whole(408, b"you are slow"))


def test_a_reset_in_mid_body_says_so() -> None:
    """The process behind the provider died."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        await writer.drain()
        writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        with pytest.raises(TransportFailure, match="before the body was complete") as caught:
            await _send(transport, server.url)
        assert (caught.value.kind, caught.value.sent) == ("read", True)

    asked(answer, use)


def test_nobody_listening_is_a_connect_failure_that_was_not_sent() -> None:
    """The message names the place and the system's reason."""

    async def run() -> None:
        async with raw_server(OK) as server:
            url = server.url
        transport = AsyncTransport()
        with pytest.raises(TransportFailure, match=r"127\.0\.0\.1:\d+: no connection: Connection refused") as caught:
            await _send(transport, url)
        await transport.aclose()
        assert (caught.value.kind, caught.value.sent) == ("connect", False)

    asyncio.run(run())


# -- cancelling ---------------------------------------------------------------------------------------------------


def test_a_cancel_passes_through_and_closes_the_socket() -> None:
    """While waiting for the answer."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        task = asyncio.create_task(_send(transport, server.url))
        await asyncio.wait_for(server.asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.client_left.wait(), 5)

    asked(_never, use)


def test_a_cancelled_stream_closes_the_socket() -> None:
    """While waiting for the next piece."""

    async def use(transport: AsyncTransport, server: RawServer) -> None:
        first = asyncio.Event()

        async def read() -> None:
            async with transport.stream(post(server.url), connect_s=5, first_byte_s=5, idle_s=5) as response:
                async for _ in response.chunks():
                    first.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(first.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.client_left.wait(), 5)

    asked(chunked(b"one", end=False), use)


def test_a_stream_left_early_closes_the_socket_and_frees_its_place() -> None:
    """Dropping the consumer closes the connection; the next request has its turn."""

    async def run() -> None:
        transport = AsyncTransport(max_connections=1)
        async with raw_server(chunked(b"one", end=False)) as server:
            for _ in range(3):
                async with transport.stream(post(server.url), connect_s=5, first_byte_s=5) as response:
                    async for piece in response.chunks():
                        assert piece == b"one"
                        break
            assert server.most_open <= 2
        await transport.aclose()

    asyncio.run(run())


def test_nothing_is_left_running() -> None:
    """After answers, failures, timeouts and cancels no task is alive but the test's own."""

    async def run() -> None:
        transport = AsyncTransport()
        async with raw_server(_never) as server:
            for _ in range(20):
                with pytest.raises(TransportFailure):
                    await transport.send(post(server.url), connect_s=5, read_s=FAST_S / 50)
        await transport.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


# -- synchronous code ---------------------------------------------------------------------------------------------


def test_synchronous_code_sends_from_anywhere() -> None:
    """In a thread without a loop, and inside a running loop (a notebook cell), over kept connections."""

    async def run() -> RawServer:
        transport = SyncTransport()
        async with raw_server(OK) as server:

            def call() -> int:
                return transport.send(post(server.url), connect_s=5, read_s=5).status

            assert [await asyncio.to_thread(call) for _ in range(3)] == [200] * 3
            await asyncio.to_thread(transport.close)
        return server

    assert asyncio.run(run()).accepted == 1


def test_a_synchronous_failure_is_the_same_failure() -> None:
    """Refused before anything is sent."""
    transport = SyncTransport()
    with pytest.raises(TransportFailure, match="plain http to api"):
        transport.send(post("http://api.example.com/v1"), connect_s=5, read_s=5)
    transport.close()


# -- TLS and proxies ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate with its key for 127.0.0.1 and api.example.com."""
    x509 = pytest.importorskip("cryptography.x509", reason="makes the certificate of the TLS tests")
    import ipaddress

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "api.example.com")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("api.example.com"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def _server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize("trusting", [True, False])
def test_a_certificate_nobody_vouches_for_ends_the_attempt(trusting: bool, certificate: Path) -> None:
    """Verification is on; the key never leaves. With the certificate trusted the same server answers."""

    async def run() -> RawServer:
        tls = ssl.create_default_context(cafile=str(certificate)) if trusting else None
        transport = AsyncTransport(tls=tls)
        async with raw_server(OK, tls=_server_tls(certificate)) as server:
            if trusting:
                assert [await _send(transport, server.url) for _ in range(3)] == [200] * 3
            else:
                with pytest.raises(TransportFailure, match="certificate") as caught:
                    await _send(transport, server.url)
                assert (caught.value.kind, caught.value.sent) == ("connect", False)
            await transport.aclose()
            return server

    server = asyncio.run(run())
    assert len(server.requests) == (3 if trusting else 0)


@pytest.mark.parametrize("lets_through", [True, False])
def test_https_goes_through_the_environments_proxy(
    lets_through: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CONNECT tunnel that never shows the key to the proxy; a proxy that refuses is a connect failure."""

    async def proxy(request: Request, writer: asyncio.StreamWriter) -> None:
        if not request.line.startswith("CONNECT"):
            writer.write(OK)  # the provider at the other end of the tunnel
            return
        assert KEY not in str(request)
        assert request.line == "CONNECT api.example.com:443 HTTP/1.1"
        if not lets_through:
            writer.write(whole(407, b"who are you?"))
            return
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await writer.start_tls(_server_tls(certificate))

    async def run() -> None:
        async with raw_server(proxy) as server:
            monkeypatch.setenv("HTTPS_PROXY", server.url.removesuffix("/v1"))
            monkeypatch.delenv("NO_PROXY", raising=False)
            transport = AsyncTransport(tls=ssl.create_default_context(cafile=str(certificate)))
            try:
                if lets_through:
                    assert await _send(transport, "https://api.example.com/v1") == 200
                    return
                with pytest.raises(TransportFailure, match="407") as caught:
                    await _send(transport, "https://api.example.com/v1")
                assert (caught.value.kind, caught.value.sent) == ("connect", False)
            finally:
                await transport.aclose()

    asyncio.run(run())
