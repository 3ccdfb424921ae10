"""Counterparts that run as processes: found, started on a free port of this machine, and ended by their own id."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_READY_WITHIN_S = 30.0
"""Longest silence of a process that starts."""
_GONE_WITHIN_S = 5.0


def aimock() -> Path | None:
    """The command ``llmock``: where ``ZC_AIMOCK`` says (itself, or the folder npm installed it to), or on the PATH."""
    named = os.environ.get("ZC_AIMOCK")
    if named is None:
        found = shutil.which("llmock")
        return None if found is None else Path(found)
    inside = Path(named) / "node_modules" / ".bin" / "llmock"
    return next((path for path in (inside, Path(named)) if path.is_file()), None)


@contextmanager
def started(command: Sequence[str], ready: str) -> Iterator[str]:
    """Runs ``command`` inside the block; what the group of ``ready`` found in its output is what it is reached by.

    Raises:
        RuntimeError: it ended, or fell silent, before it was ready.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
    output = process.stdout
    if output is None:
        raise AssertionError("the output is a pipe")
    drain = threading.Thread(target=_read_all, args=(output,), daemon=True)
    try:
        yield _wait(output, re.compile(ready.encode()), drain)
    finally:
        process.terminate()
        try:
            process.wait(_GONE_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if drain.ident is not None:
            drain.join()
        output.close()


def _wait(output: IO[bytes], ready: re.Pattern[bytes], drain: threading.Thread) -> str:
    """Reads lines until one says that the process is ready; from there on a thread reads, so that no pipe fills up."""
    said = b""
    while select.select([output], [], [], _READY_WITHIN_S)[0] and (line := output.readline()):
        said += line
        found = ready.search(line)
        if found is not None:
            drain.start()
            return found[1].decode()
    raise RuntimeError(f"it did not start: {said.decode(errors='replace')[-500:]}")


def _read_all(output: IO[bytes]) -> None:
    while output.read(65_536):
        pass
