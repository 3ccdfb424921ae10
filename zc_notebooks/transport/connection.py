"""One HTTP/1.1 connection: writes a request, reads its answer, says whether it can be used again."""

from __future__ import annotations

import asyncio
import select
from typing import Final, cast

from zc_notebooks.transport.answer import Answer

READ_BYTES: Final = 16 * 2**10
"""One read. With the event loop's own 256 KiB the first event of a burst would wait for the parsing of all of it."""
FIRST_READ_BYTES: Final = 2 * 2**10
"""The same until the head of a stream is there: it comes with the first event, and seldom with much more."""
_HIGH_WATER: Final = 256 * 2**10
"""Unread body above which the socket is not read: a slow consumer slows the server down."""


def read_buffer() -> bytearray:
    """A buffer for :class:`Connection` s."""
    return bytearray(READ_BYTES)


class Connection(asyncio.BufferedProtocol):
    """A connection that belongs to one exchange at a time.

    Args:
        siblings: The open connections of the pool; this one leaves the set when it ends.
        buffer: Where reads land; what is read is copied out at once, so one buffer serves all connections of a loop.
    """

    def __init__(self, siblings: set[Connection], buffer: bytearray) -> None:
        self.idle_since = 0.0
        """Loop time at which it was last put away."""
        self.served = 0
        """Requests answered before."""
        self._siblings = siblings
        self._buffer = buffer
        self._view = memoryview(buffer)
        self._first = self._view[:FIRST_READ_BYTES]
        self._wire: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._whole = False
        self._paused = False
        self._taken = 0
        self._waiter: asyncio.Future[None] | None = None

    # -- the exchange -------------------------------------------------------------------------------------------------

    def start(self, data: bytes, answer: Answer) -> bool:
        """Writes a request. ``False``: the connection is dead and not a byte of it has left this machine.

        Args:
            data: Head and body.
            answer: Where the response goes.
        """
        wire = self._wire
        if wire is None or wire.is_closing():
            return False
        self._answer, self._whole, self._taken = answer, answer.bounded, 0
        wire.write(data)  # tries to send at once; the loop closes a connection that takes nothing
        return not wire.is_closing()

    async def settled(self) -> None:
        """Returns when the whole answer is there, or larger than it may be.

        Raises:
            TransportFailure: It did not arrive whole.
        """
        answer = self._current()
        while not answer.settled:
            await self._news()
        if answer.failure is not None:
            raise answer.failure

    async def head(self) -> None:
        """Returns when status and headers are there.

        Raises:
            TransportFailure: They did not arrive.
        """
        answer = self._current()
        while not (answer.head or answer.settled):
            await self._news()
        if not answer.head and answer.failure is not None:
            raise answer.failure

    async def more(self) -> bytes:
        """The body's next bytes as they came, ``b""`` at its end.

        Raises:
            TransportFailure: It did not arrive whole; what had arrived before was handed out first.
        """
        answer = self._current()
        while not answer.parts:
            if answer.failure is not None:
                raise answer.failure
            if answer.complete:
                return b""
            await self._news()
        end = len(answer.parts) if self._taken else 1  # the first event does not wait until its neighbours are decoded
        taken = b"".join(answer.parts[:end])
        del answer.parts[:end]
        self._taken += len(taken)
        if self._paused and self.usable:
            self._paused = False
            self.wire.resume_reading()
        return taken

    def finish(self) -> bool:
        """Ends the exchange. ``True``: the connection can serve another one; otherwise it is closed now."""
        answer, self._answer = self._answer, None
        wire = self._wire
        kept = answer is not None and answer.complete and answer.keep
        if kept and wire is not None and not wire.is_closing() and not wire.get_write_buffer_size():
            self.served += 1
            return True
        self.abort()
        return False

    # -- the socket ---------------------------------------------------------------------------------------------------

    @property
    def usable(self) -> bool:
        """Whether it is open, as far as the event loop has looked."""
        return self._wire is not None and not self._wire.is_closing()

    @property
    def readable(self) -> bool:
        """Whether something arrived that the event loop has not looked at: on an idle connection mostly its end."""
        sock = self._wire.get_extra_info("socket") if self._wire is not None else None
        if sock is None or (descriptor := sock.fileno()) < 0:
            return True
        if not hasattr(select, "poll"):  # Windows
            return bool(select.select([descriptor], [], [], 0)[0])
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))

    @property
    def wire(self) -> asyncio.Transport:
        """The event loop's side of the socket."""
        if self._wire is None:
            raise RuntimeError("the connection is not open yet")
        return self._wire

    def adopt(self, wire: asyncio.Transport) -> None:
        """Goes on over ``wire``: the tunnel that a proxy has opened."""
        self._wire, self._answer = wire, None

    def abort(self) -> None:
        """Closes the socket at once."""
        self._siblings.discard(self)
        if self._wire is not None:
            self._wire.abort()

    def _current(self) -> Answer:
        if self._answer is None:
            raise RuntimeError("no exchange is running on this connection")
        return self._answer

    async def _news(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- called by the event loop -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open; with TLS, the handshake is done."""
        self._wire = cast("asyncio.Transport", transport)
        self._siblings.add(self)

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:  # noqa: ARG002 (the protocol's signature)
        """Where the next read may land."""
        answer = self._answer
        return self._buffer if self._whole or answer is None or answer.head else self._first

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have landed."""
        answer = self._answer
        if answer is None:  # nobody asked: a server that gives up says so, or something worse
            self.abort()
            return
        answer.feed(self._view[:nbytes])
        if answer.settled or not self._whole:
            self._wake()
        if not self._whole and not self._paused and answer.size - self._taken > _HIGH_WATER:
            self._paused = True
            self.wire.pause_reading()

    def eof_received(self) -> None:
        """The server has nothing more to say; the loop closes the connection."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self._siblings.discard(self)
        if self._answer is not None:
            self._answer.end(str(exc) if exc is not None else "")
            self._wake()
