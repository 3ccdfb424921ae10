"""A provider that begins to answer and then holds the line until its client leaves; it runs in threads of a test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.raw_server import RawServer, whole
from zc_notebooks.testing import chat_answer, chat_chunk

WORDS = ("one ", "two ", "three ")
LIMIT_S = 30.0


class Holding:
    """``hold`` in the prompt: three words of a stream, then silence; ``silent``: not a byte; else a whole answer."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.requests = 0
        self.asked = threading.Event()
        """A request to be held has come."""
        self.left = threading.Event()
        """The client of a held request has closed its end."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # the test is over
            while True:
                threading.Thread(target=self._talk, args=self._listener.accept()[:1], daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        held = False
        with client, suppress(ConnectionError):
            file = client.makefile("rb")
            while line := file.readline():
                with self._lock:
                    self.requests += 1
                held = self._answer(client, _body(line, file))
        if held:
            self.left.set()

    def _answer(self, client: socket.socket, body: bytes) -> bool:
        if b"silent" not in body and b"hold" not in body:
            client.sendall(whole(200, chat_answer("answered").body, "Content-Type: application/json"))
            return False
        if b"hold" in body:
            words = b"".join(chat_chunk(word) for word in WORDS)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            client.sendall(head + f"{len(words):x}\r\n".encode() + words + b"\r\n")
        self.asked.set()
        return True

    def close(self) -> None:
        self._listener.close()


def _body(_: bytes, file: object) -> bytes:
    length = 0
    while (line := file.readline().strip().lower()) != b"":  # type: ignore[attr-defined]
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return bytes(file.read(length))  # type: ignore[attr-defined]


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
