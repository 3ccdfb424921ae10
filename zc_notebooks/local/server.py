"""A model server as a child process: started when first needed, ended by its own id, never longer alive than we are."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import IO, Any, Final

from zc_notebooks.local.model import MODELS, SERVER, LocalModel, folder_of
from zc_notebooks.redact import short

START_S: Final = 60.0
"""Seconds until a start that has not ended counts as failed."""
END_S: Final = 2.0
"""Seconds a process has to end after it was told to."""
_LOG: Final = 4096
"""Bytes of its last words that are read when it fails."""


class StartFailed(Exception):
    """The model could not be started; the message is one sentence."""


class LocalServer:
    """One model server of this process. Thread-safe; nothing runs before :meth:`start`.

    Args:
        model: What to serve.
        port: On 127.0.0.1; 0 takes a free one.
        api_key: Refuse requests without it (by default everybody on this machine may ask).
        command: The process to start; it speaks as :mod:`zc_notebooks.local.child` does.
        start_s: Seconds a start may take.
    """

    def __init__(
        self,
        model: LocalModel,
        *,
        port: int = 0,
        api_key: str | None = None,
        command: Sequence[str] | None = None,
        start_s: float = START_S,
    ) -> None:
        self.model = model
        self._port = port
        self._api_key = api_key
        self._command = command
        self._start_s = start_s
        self._lock = threading.Lock()
        self._run: _Run | None = None

    def start(self) -> Future[str]:
        """The server's address (``http://127.0.0.1:PORT``) when it is ready; starts it unless it runs already.

        The future's exception is :class:`StartFailed`. Cancelling it does nothing.
        """
        with self._lock:
            if self._run is None or self._run.over:
                self._run = _Run(self._asked, self._command or _own_command(), self.model.title, self._start_s)
            return self._run.address

    def stop(self) -> None:
        """Ends the process and waits for it. It may be started again."""
        with self._lock:
            run, self._run = self._run, None
        if run is not None:
            run.stop()

    @property
    def pid(self) -> int | None:
        """Id of the running process."""
        run = self._run
        return None if run is None or run.over else run.pid

    def when_ended(self, call: Callable[[], object]) -> None:
        """Calls ``call`` from another thread once the process that runs now has ended."""
        if self._run is not None:
            self._run.ended.add_done_callback(lambda _: call())

    def _asked(self) -> Mapping[str, Any]:
        """What the child is told. Raises :class:`StartFailed` when a package is missing."""
        missing, weights = self.model.missing(), self.model.weights()
        if self._command is None and missing is not None:
            raise StartFailed(missing)
        native = folder_of(SERVER)
        return {
            "parent": os.getpid(),
            "module": SERVER,
            "folders": [] if native is None else [str(native.parent)],
            "name": self.model.name,
            "weights": str(weights),
            "context": self.model.context,
            "port": self._port,
            "api_keys": [] if self._api_key is None else [self._api_key],
        }


class _Run:
    """One life of the process. A thread of its own keeps it: Linux ends a child with the *thread* that made it."""

    def __init__(
        self, asked: Callable[[], Mapping[str, Any]], command: Sequence[str], title: str, start_s: float
    ) -> None:
        self.address: Future[str] = Future()
        self.address.set_running_or_notify_cancel()
        self.ended: Future[None] = Future()
        self._asked = asked
        self._command = command
        self._title = title
        self._start_s = start_s
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()
        threading.Thread(target=self._keep, name=f"zc-{title}", daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether it has ended, or belongs to the process this one was forked from."""
        return self.ended.done() or self._owner != os.getpid()

    @property
    def pid(self) -> int | None:
        """Id of the process, once it is there."""
        return None if self._process is None else self._process.pid

    def stop(self) -> None:
        """Ends it and waits."""
        if self.over:
            return
        self._stopped.set()
        self._kill()
        wait([self.ended], timeout=END_S)

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()  # it holds nothing that an orderly end would save

    def _keep(self) -> None:
        """Starts the process, tells the address, waits for its end."""
        try:
            with tempfile.TemporaryFile() as log:
                self._live(log)
        except BaseException as error:  # noqa: BLE001 (whoever waits for the address must be told)
            if not self.address.done():
                self.address.set_exception(_as_failure(error, self._title))
        finally:
            self.ended.set_result(None)

    def _live(self, log: IO[bytes]) -> None:
        asked = self._asked()
        with subprocess.Popen(  # noqa: S603 (our own file, run by this very interpreter)
            list(self._command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=os.name == "posix",  # Ctrl-C in the terminal and a kernel's interrupt are not for it
        ) as process:
            self._process = process
            try:
                if self._stopped.is_set():
                    raise StartFailed(f"{self._title} was stopped while it started")
                self.address.set_result(self._ready(process, asked, log))
                process.wait()
            finally:
                self._kill()

    def _ready(self, process: subprocess.Popen[bytes], asked: Mapping[str, Any], log: IO[bytes]) -> str:
        """The address, once the process says it."""
        into, out = process.stdin, process.stdout
        if into is None or out is None:  # never: both are pipes
            raise StartFailed(f"{self._title} cannot be spoken to")
        timer = threading.Timer(self._start_s, process.kill)
        timer.daemon = True
        timer.start()
        try:
            into.write(json.dumps(asked).encode() + b"\n")
            into.flush()
            line = out.readline()
        except OSError:
            line = b""
        finally:
            timer.cancel()
        if line:
            return str(json.loads(line)["address"])
        process.kill()
        raise StartFailed(f"{self._title} could not be started: {_last_words(log, process.wait())}")


def _last_words(log: IO[bytes], status: int) -> str:
    """Why it ended: the last line it wrote, else its exit status."""
    log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG))
    lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    if lines:
        return short(lines[-1])
    return f"its process was ended by signal {-status}" if status < 0 else f"its process ended with status {status}"


def _as_failure(error: BaseException, title: str) -> StartFailed:
    if isinstance(error, StartFailed):
        return error
    return StartFailed(f"{title} could not be started: {short(str(error) or type(error).__name__)}")


def _own_command() -> tuple[str, ...]:
    """Our child, run as a file: no folder of the caller comes before the standard library."""
    if not sys.executable:
        raise StartFailed("the path of the Python interpreter is not known, so that no process can be started")
    return sys.executable, "-P", str(Path(__file__).with_name("child.py"))


class Servers:
    """The model servers of one process by name, each started once and stopped at its exit."""

    def __init__(self, make: Callable[[LocalModel], LocalServer] = LocalServer) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._known: dict[str, LocalServer] = {}

    def get(self, name: str) -> LocalServer:
        """The server of a model. Raises :class:`StartFailed` for a name nobody knows."""
        if name not in MODELS:
            raise StartFailed(f"no model is called {name!r} here (known: {', '.join(MODELS)})")
        with self._lock:
            if not self._known:
                atexit.register(self.stop)
            if name not in self._known:
                self._known[name] = self._make(MODELS[name])
            return self._known[name]

    def stop(self) -> None:
        """Ends every server that runs."""
        for server in list(self._known.values()):
            server.stop()


shared: Final = Servers()
"""The servers of this process: chains share them."""
