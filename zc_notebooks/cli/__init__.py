"""``zc``: the command line. Each command calls public functions of the package and has ``--json``."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

_CANCELLED: Final = 130
_ENDING: Final = (signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP: what Ctrl-C does, and nothing goes on after it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs ``zc`` and leaves with its exit status.

    0 answered, 1 the result could not be written (or a fault wall that shows harm), 2 usage or configuration, 3 all
    candidates failed, 4 nothing permitted, 5 interrupted after output, 130 cancelled; 143 and 129 the same by
    SIGTERM and SIGHUP.
    """
    with _terminable() as terminated:
        try:
            from zc_notebooks.cli.app import run

            status = run(sys.argv[1:] if arguments is None else list(arguments))
        except KeyboardInterrupt:  # while the commands are loaded, or on the way out
            sys.stderr.write("cancelled\n")
            status = _CANCELLED
    sys.exit(128 + terminated[0] if terminated and status == _CANCELLED else status)


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """SIGTERM and SIGHUP are Ctrl-C: the socket closes, the row is written. What is ignored (``nohup``) stays so.

    Servers and watchers have handlers of their own.
    """
    terminated: list[int] = []

    def terminate(number: int, _: object) -> None:
        terminated.append(number)
        raise Ended

    hears = threading.current_thread() is threading.main_thread()
    names = [number for number in _ENDING if hears and signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, terminate) for number in names}
    try:
        yield terminated
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
