"""``python -m tests.perf NAME [ARGUMENTS]``: runs one benchmark; without a name, says which there are."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

_PARTS = {"__init__", "__main__", "ledger_views", "measure", "server", "setting"}


def main(arguments: list[str]) -> int:
    """Exit code of the benchmark: 0 unless it was asked to ``--check`` its targets and one was missed."""
    names = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - _PARTS)
    if not arguments or arguments[0] not in names:
        print(f"python -m tests.perf NAME [--help]; NAME is one of: {', '.join(names)}", file=sys.stderr)
        return 2
    return int(import_module(f"tests.perf.{arguments[0]}").run(arguments[1:]) or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
