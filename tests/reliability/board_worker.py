"""One process at a shared board: ``python -m tests.reliability.board_worker PATH COMMAND [ARGUMENT]``."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import warnings
from datetime import timedelta
from pathlib import Path

from tests.reliability.boards import key, limit, variant
from zc_notebooks.clock import SystemClock
from zc_notebooks.reliability.cooldown import Marks, MarksWarning

CLOCK = SystemClock()


def look(marks: Marks, model: str) -> None:
    """Prints the gate's word."""
    print(marks.look(variant(model).key).state)


def set_mark(marks: Marks, model: str) -> None:
    """Sets a mark of two hours on one model."""
    marks.set_from(limit(7200.0, scope="model"), variant(model), now=CLOCK.now())


def write_for_ever(marks: Marks, name: str) -> None:
    """Sets one mark after another and reports each once it is set."""
    number = 0
    while True:
        set_mark(marks, f"{name}-{number}")
        os.write(1, f"{name}-{number}\n".encode())
        number += 1


def probe(marks: Marks, threads: str) -> None:
    """Waits for a line on standard input, then lets threads try for one probe all at once; prints how many got it."""
    barrier = threading.Barrier(int(threads))
    leases = []

    def caller() -> None:
        barrier.wait()
        if marks.look(key()).state == "probe" and (lease := marks.acquire(key())) is not None:
            leases.append(lease)

    callers = [threading.Thread(target=caller) for _ in range(int(threads))]
    print("ready", flush=True)
    sys.stdin.readline()
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    print(len(leases))


def probe_and_hang(marks: Marks, model: str) -> None:
    """Takes the probe and never decides it."""
    print("leased" if marks.acquire(key(model)) else "refused", flush=True)
    sys.stdin.readline()


def fork(marks: Marks, _: str) -> None:
    """Uses the board on both sides of a fork while threads use it too."""
    set_mark(marks, "before")
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            marks.look(variant("before").key)

    readers = [threading.Thread(target=read) for _ in "ab"]
    for reader in readers:
        reader.start()
    seen = []
    for number in range(10):
        child = os.fork()
        if child == 0:
            set_mark(marks, f"child-{number}")
            os._exit(0 if marks.look(variant("before").key).state == "cooling" else 1)
        seen.append(os.waitpid(child, 0)[1] == 0 and marks.look(variant(f"child-{number}").key).state == "cooling")
    stop.set()
    for reader in readers:
        reader.join()
    print(all(seen))


def fill_disk(marks: Marks, _: str) -> None:
    """Goes on when the file can no longer grow, and prints how many warnings that cost."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    set_mark(marks, "before")
    wal = Path(f"{sys.argv[1]}-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size + 5000, resource.RLIM_INFINITY))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(20):
            set_mark(marks, f"full-{number}")
    states = {marks.look(variant(f"full-{number}").key).state for number in range(20)}
    print(len(caught), all(issubclass(one.category, MarksWarning) for one in caught), *states)


def stale_probe(marks: Marks, _: str) -> None:
    """Puts a mark on the board that has just ended."""
    marks.set_from(limit(1.0, scope="model"), variant(), now=CLOCK.now() - timedelta(seconds=2))


COMMANDS = {
    "look": look,
    "set": set_mark,
    "write": write_for_ever,
    "probe": probe,
    "hang": probe_and_hang,
    "fork": fork,
    "fill": fill_disk,
    "ended": stale_probe,
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
    COMMANDS[sys.argv[2]](Marks(Path(sys.argv[1]), clock=CLOCK), (sys.argv[3:] or [""])[0])
