"""A provider that begins to answer and then holds the line until its client leaves; it runs in threads of a test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.raw_server import RawServer, whole
from tests.threaded_server import ThreadedServer, body
from zc_notebooks.testing import chat_answer, chat_chunk

WORDS = ("one ", "two ", "three ")
LIMIT_S = 30.0


class Holding:
    """``hold`` in the prompt: three words of a stream, then silence; ``silent``: not a byte; else a whole answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = 0
        self.asked = threading.Event()
        """A request to be held has come."""
        self.left = threading.Event()
        """The client of a held request has closed its end."""
        self._server = ThreadedServer(self._talk)
        self.url = f"{self._server.url}/v1"
        self.close = self._server.close

    def _talk(self, client: socket.socket) -> None:
        held = False
        with suppress(ConnectionError), client.makefile("rb") as file:
            while file.readline():
                with self._lock:
                    self.requests += 1
                held = self._answer(client, body(file))
        if held:
            self.left.set()

    def _answer(self, client: socket.socket, said: bytes) -> bool:
        if b"silent" not in said and b"hold" not in said:
            client.sendall(whole(200, chat_answer("answered").body, "Content-Type: application/json"))
            return False
        if b"hold" in said:
            words = b"".join(chat_chunk(word) for word in WORDS)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            client.sendall(head + f"{len(words):x}\r\n".encode() + words + b"\r\n")
        self.asked.set()
        return True


@contextmanager
def holding() -> Iterator[Holding]:
    """One such provider."""
    server = Holding()
    try:
        yield server
    finally:
        server.close()


def config(server: Holding | RawServer) -> str:
    """A ``zc.toml`` with a primary and a backup, both at ``server``."""
    lines = ["[ledger]", 'path = "ledger"', "[reliability]", "provider_backoff_ms = 1"]
    for name in "ab":
        lines += [f"[providers.custom.{name}]", f'uri = "{server.url}"', 'model = "m"', "keyless = true"]
    for name in "ab":
        lines += ["[[chain]]", f'provider = "custom.{name}"']
    return "\n".join(lines) + "\n"
