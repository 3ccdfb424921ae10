"""A process that writes rows: started by ``test_processes``; says after each row that its write returned.

Arguments: ledger folder, name (the call id), number of rows (0: until killed), file for the acknowledgements.
"""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

from tests.ledger.rows import row
from zc_notebooks.ledger.append import LedgerWriter


def main(folder: str, name: str, rows: str, acknowledged: str) -> None:
    writer = LedgerWriter(Path(folder))
    done = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(rows)) if int(rows) else count():
        if writer.write(row(name, number, notes="n" * (number % 300))):
            os.write(done, b".")


if __name__ == "__main__":
    main(*sys.argv[1:])
