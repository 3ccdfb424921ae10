"""``zc``: the command line. Each command calls public functions of the package and has ``--json``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs ``zc`` and leaves with its exit status.

    0 answered, 2 usage or configuration, 3 all candidates failed, 4 nothing permitted, 5 interrupted after output,
    130 cancelled.
    """
    from zc_notebooks.cli.app import run

    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))
