"""The attempts as one file for other programs: Parquet, CSV, or a DuckDB database with a table ``attempts``.

A copy of a moment, sorted by time; the store stays the folder. The file appears whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger.parquet import quoted

if TYPE_CHECKING:
    import duckdb

_COPIES: Final = {
    ".parquet": "copy ({query}) to {path} (format parquet, compression zstd, use_tmp_file false)",
    ".csv": "copy ({query}) to {path} (format csv, header true, use_tmp_file false)",
    ".duckdb": "attach {path} as written; create table written.attempts as {query}; detach written",
}


def copy_to(path: Path, kind: str, con: duckdb.DuckDBPyConnection, begin: datetime | None, end: datetime | None) -> int:
    """Writes the attempts of a period that ``con`` sees; how many. Raises :class:`duckdb.Error`."""
    bounds = [f"t >= '{begin.isoformat()}'::timestamptz"] if begin else []
    bounds += [f"t < '{end.isoformat()}'::timestamptz"] if end else []
    rows = "from attempts" + (f" where {' and '.join(bounds)}" if bounds else "")
    (count,) = con.execute(f"select count(*) {rows}").fetchall()[0]
    query = f"select * {rows} order by t, call_id, ordinal"
    con.execute(_COPIES[kind].format(query=query, path=quoted(str(path))))
    return int(count)


def place(file: Path | str, folder: Path, *, force: bool = False) -> Path:
    """Where an export goes, as an absolute path.

    Raises:
        LedgerError: The name ends in nothing known, is taken (unless ``force``), or lies in the ledger's own folder.
    """
    path = Path(file).expanduser().absolute()
    if path.suffix not in _COPIES:
        raise LedgerError(f"{path.name}: an export is a file that ends in {', '.join(_COPIES)}")
    return free(path, folder, force=force)


def free(file: Path | str, folder: Path, *, force: bool = False) -> Path:
    """``file`` as an absolute path that may be written, whatever it ends in.

    Raises:
        LedgerError: The name is taken (unless ``force``), or lies in the ledger's own folder.
    """
    path = Path(file).expanduser().absolute()
    if path.parent.resolve() == folder.resolve():
        raise LedgerError(f"{path.name} would lie in the ledger's own folder; choose another place")
    if (path.exists() or path.is_symlink()) and not force:
        raise LedgerError(f"{path.name} is there already; choose another name, or --force to replace it")
    return path


def appear(path: Path, write: Callable[[Path], int]) -> int:
    """Lets ``write`` make a hidden file and gives it its name when it is whole.

    Raises:
        LedgerError: It cannot be written.
    """
    import duckdb

    hidden = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        count = write(hidden)
        hidden.chmod(0o600)
        hidden.replace(path)
    except (OSError, duckdb.Error) as problem:
        why = getattr(problem, "strerror", None) or str(problem).split("\n", 1)[0]
        raise LedgerError(f"{path.name} could not be written: {why}") from None
    finally:
        for left in (hidden, hidden.with_name(f"{hidden.name}.wal")):
            with suppress(OSError):
                left.unlink(missing_ok=True)
    return count
