"""``zc``: the command line. Each command calls public functions of the package and has ``--json``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs ``zc`` and leaves with its exit status.

    0 answered, 1 the result could not be written (or a fault wall that shows harm), 2 usage or configuration, 3 all
    candidates failed, 4 nothing permitted, 5 interrupted after output, 130 cancelled.
    """
    try:
        from zc_notebooks.cli.app import run

        status = run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:  # while the commands are loaded, or on the way out
        sys.stderr.write("cancelled\n")
        status = 130
    sys.exit(status)
