"""A provider in threads of the test: for commands and kernels that are no tasks of its loop."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO


class ThreadedServer:
    """Gives each connection to ``talk``, in a thread of its own, on a free loopback port; the client may leave."""

    def __init__(self, talk: Callable[[socket.socket], None]) -> None:
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Takes no more."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the test is over
            while True:
                threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(ConnectionError):
            self._talk(client)


def body(file: BinaryIO) -> bytes:
    """The body of a request whose first line was read."""
    length = 0
    while (line := file.readline().strip().lower()) != b"":
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return file.read(length)
