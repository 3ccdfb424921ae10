"""A real kernel: cells go in, what a page would show comes out."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from jupyter_client.manager import KernelManager

LIMIT_S = 60.0


class Ran(msgspec.Struct, kw_only=True):
    """One cell's reply and outputs."""

    status: str
    """``ok``, ``error`` or ``aborted``."""
    ename: str = ""
    traceback: str = ""
    printed: str = ""
    """Standard output and error."""
    paged: str = ""
    """What ``name?`` opens."""
    shown: list[dict[str, str]] = []
    """Bundles of results, displays and updates, in order."""


class Kernel:
    """A running kernel."""

    def __init__(self, manager: KernelManager, client: Any) -> None:
        self.manager = manager
        self.client = client

    def run(self, code: str) -> Ran:
        """Runs one cell to its end."""
        return self.run_all([code])[0]

    def run_all(self, cells: list[str]) -> list[Ran]:
        """Sends all cells at once, as "Run All" does, and waits for every reply and its outputs."""
        sent = [self.client.execute(code, stop_on_error=False) for code in cells]
        return [self.result(key) for key in sent]

    def send(self, code: str) -> str:
        """Sends one cell and does not wait."""
        return str(self.client.execute(code, stop_on_error=False))

    def result(self, key: str) -> Ran:
        """Reply and outputs of a sent cell."""
        ran, end = Ran(status="", shown=[]), time.monotonic() + LIMIT_S
        while True:
            message = self.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
            if message["parent_header"].get("msg_id") != key:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind == "stream":
                ran.printed += content["text"]
            elif kind == "error":
                ran.ename, ran.traceback = content["ename"], "\n".join(content["traceback"])
            elif "data" in content:
                ran.shown.append(content["data"])
        while True:
            reply = self.client.get_shell_msg(timeout=max(0.1, end - time.monotonic()))
            if reply["parent_header"].get("msg_id") == key:
                ran.status = reply["content"]["status"]
                pages = [item["data"]["text/plain"] for item in reply["content"].get("payload", ()) if "data" in item]
                ran.paged = "".join(pages)
                return ran

    def wait_for(self, key: str, found: str) -> None:
        """Waits until something the cell ``key`` shows holds ``found``. What was read is gone."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            message = self.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
            if message["parent_header"].get("msg_id") == key and found in str(message["content"]):
                return
        raise queue.Empty

    def complete(self, code: str) -> list[str]:
        """What Tab offers at the end of ``code``."""
        reply = self.client.complete(code, reply=True, timeout=LIMIT_S)
        return list(reply["content"]["matches"])


@contextmanager
def kernel(folder: Path, env: Mapping[str, str]) -> Iterator[Kernel]:
    """A kernel in ``folder``, ended by its own manager."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder), env=dict(env))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=LIMIT_S)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
