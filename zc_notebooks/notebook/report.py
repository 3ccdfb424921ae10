"""Runs a notebook against a ledger and writes one HTML file that needs nothing else: pictures inside, no network.

At its end stand the parameters, the versions of the packages and a hash of the rows it is about; the same inputs give
the same file.
"""

from __future__ import annotations

import hashlib
import html
import os
import platform
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from zc_notebooks.errors import ZcError
from zc_notebooks.ledger.exporting import free
from zc_notebooks.ledger.period import period
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.notebook.inert import inert, words_of
from zc_notebooks.notebook.parameters import TAG, parameter_names
from zc_notebooks.redact import redact, short
from zc_notebooks.resources import resource

KINDS: Final[Mapping[str, str]] = {
    "outage": "05_outage_investigation.ipynb",
    "cost": "06_cost_per_attempt.ipynb",
}
PACKAGES: Final = ("zc-notebooks", "duckdb", "polars", "altair")
LIMIT_S: Final = 120
"""Seconds for one cell."""
SAMPLE: Final = "sample"
"""Tag of cells that tell the story of the notebook's own example: they are left out of a report on other rows."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
"""Colours and the like, which a kernel gives to the lines of an error."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]+")
_ROWS: Final = """
select count(*) as rows
from attempts
where t >= coalesce($since::timestamptz, '-infinity') and t < coalesce($until::timestamptz, 'infinity')
"""
_HASH: Final = """
select coalesce(md5(string_agg(line, '' order by call_id, ordinal, line)), 'empty') as hash, count(*) as rows
from (
    select call_id, ordinal, md5(concat_ws('|', call_id, ordinal, t, provider_ref, model, status, reason, accepted,
        input_tokens, output_tokens, cost_usd)) as line
    from attempts
)
"""

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre, code { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
svg, img { max-width: 100%; height: auto; }
.jp-InputPrompt, .jp-OutputPrompt, .jp-InputArea-prompt, .jp-OutputArea-prompt { display: none; }
details.code > summary { font-size: .85rem; opacity: .8; }
"""


class ReportError(ZcError):
    """A report cannot be made; the message says which cell and why."""


def make_report(
    kind: str,
    out: Path,
    *,
    ledger: Path,
    parameters: Mapping[str, Any] | None = None,
    code: bool = False,
    tell: Callable[[str], object] = lambda _: None,
) -> Path:
    """Executes the notebook of ``kind`` and writes ``out``.

    Args:
        kind: One of :data:`KINDS`, or the path of your own notebook (``….ipynb``) with a cell tagged ``parameters``.
        out: The HTML file; replaced at once when the report is whole.
        ledger: Folder of the ledger it is about.
        parameters: Values for names of the notebook's cell tagged ``parameters``.
        code: Whether the cells' code is shown.
        tell: Called with what of the ledger could not be read, which the report says too.

    Raises:
        ReportError: There is no such kind or parameter, a package is missing, ``out`` cannot be written, a cell failed
            or took longer than :data:`LIMIT_S`, or the ledger has no rows in the period of a report of :data:`KINDS`.
        LedgerError: A bound of that period cannot be read, or ``out`` would lie in the ledger's folder.
    """
    path = _notebook_of(kind)
    if not ledger.is_dir():
        raise ReportError(f"{ledger} is no ledger: a folder with its rows is needed")
    try:
        import nbclient  # noqa: F401 (asked for at once, not after the rows were read)
        import nbformat
    except ImportError as error:
        raise ReportError(f"a report needs {error.name}: pip install 'zc-notebooks[report]'") from None
    given = {"ledger_path": str(ledger.resolve()), **(parameters or {})}
    try:
        notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 (whatever is wrong with a file of the user's)
        raise ReportError(f"{path} cannot be read as a notebook ({_last_line(str(error))})") from None
    _inject(notebook, given)
    _check_place(out, ledger)
    with closing(Ledger(ledger)) as store:
        if kind in KINDS:
            _some_rows(store, given)
        _execute(notebook)
        about, damage = _about(store, given), store.check().damage
    if damage is not None:
        tell(damage)
    _write(out, _page(Path(kind).stem, notebook, about, damage, code=code))
    return out


def _notebook_of(kind: str) -> Path:
    if kind.endswith(".ipynb"):
        return Path(kind)
    if kind not in KINDS:
        raise ReportError(
            f"there is no report {kind!r}: one of {', '.join(KINDS)}, or a notebook of your own (….ipynb)"
        )
    return resource("notebooks", KINDS[kind])


def _execute(notebook: Any) -> None:
    """Fills in the outputs, in an empty folder."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    begun: list[str] = []
    with tempfile.TemporaryDirectory(prefix="zc-report-") as folder:
        client = NotebookClient(
            notebook,
            timeout=LIMIT_S,
            kernel_name="python3",
            extra_arguments=[
                "--log-level=50"
            ],  # what a kernel says of itself at its start and its end is nobody's news
            resources={"metadata": {"path": folder}},
            on_cell_start=lambda cell, cell_index: begun.append(cell.source),  # noqa: ARG005 (nbclient's names)
        )
        client.log.setLevel("CRITICAL")  # the error says it
        try:
            client.execute()
        except CellExecutionError as error:
            raise _stopped(_last_line(_plain(str(error)))) from None
        except CellTimeoutError:
            raise _stopped(f"{_cell_named(begun)} took longer than {LIMIT_S} seconds") from None
        except DeadKernelError:
            raise _stopped(f"{_cell_named(begun)} ended the kernel") from None
        except Exception as error:  # noqa: BLE001 (whatever keeps a kernel from running)
            raise _stopped(f"{type(error).__name__}: {_last_line(str(error))}") from None


def _stopped(why: str) -> ReportError:
    return ReportError(f"the notebook of the report stopped: {redact(why)}")


def _cell_named(begun: list[str]) -> str:
    """The cell that was run last, by its beginning."""
    lines = begun[-1].strip().splitlines() if begun else []
    return f"the cell that begins with {short(lines[0], 60)!r}" if lines else "a cell"


def _check_place(out: Path, ledger: Path) -> None:
    """Says that ``out`` cannot be written before a notebook has run for it."""
    try:
        free(out, ledger, force=True)
        if out.is_dir():
            raise ReportError(f"{out} is a folder: name a file for the report")
        if out.exists() and not out.is_file():
            raise ReportError(f"{out} is no ordinary file: name another one for the report")
        near = next(place for place in out.absolute().parents if os.path.lexists(place))
        for name in out.absolute().relative_to(near).parts:
            with suppress(FileNotFoundError):  # but a name may be too long
                (near / name).lstat()
        with tempfile.TemporaryFile(dir=near):
            pass
    except OSError as error:
        raise ReportError(f"{out} cannot be written ({error.strerror})") from None


def _some_rows(store: Ledger, given: Mapping[str, Any]) -> None:
    """Says that a period is empty before a kernel is started; "24h" counts back from the last row, as the cells do."""
    ((first, last),) = store.sql("select min(t), max(t) from attempts").rows()
    if last is None:
        raise ReportError(f"the ledger {store.folder} has no rows yet: there is nothing to report")
    since, until = period(given.get("since"), given.get("until"), now=last)
    (count,) = store.sql(_ROWS, {"since": since, "until": until})["rows"]
    if not count:
        raise ReportError(
            f"the ledger {store.folder} has no rows in this period: they go from {first:%Y-%m-%d %H:%M} to "
            f"{last:%Y-%m-%d %H:%M} UTC; choose --since and --until among them"
        )


def _inject(notebook: Any, given: Mapping[str, Any]) -> None:
    """A cell with the values behind the one tagged ``parameters``."""
    from nbformat.v4 import new_code_cell

    for place, cell in enumerate(notebook.cells):
        if TAG in cell.metadata.get("tags", []):
            known = _names(cell.source)
            wrong = sorted(set(given) - known)
            if wrong:
                raise ReportError(f"this report has no parameter {wrong[0]!r}: it has {', '.join(sorted(known))}")
            source = "\n".join(f"{name} = {value!r}" for name, value in given.items())
            notebook.cells.insert(place + 1, new_code_cell(source, id="injected"))  # type: ignore[no-untyped-call]
            return
    raise ReportError("the report's notebook has no cell tagged parameters")


def _names(source: str) -> set[str]:
    try:
        return set(parameter_names(source))
    except SyntaxError as error:
        raise ReportError(f"the notebook's cell tagged parameters is no Python: {error}") from None


def _about(store: Ledger, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    (found,) = store.sql(_HASH).to_dicts()
    rows = [(name, repr(value)) for name, value in given.items() if name != "ledger_path"]
    rows += [("rows", f"{found['rows']:,}"), ("hash of the rows", found["hash"])]
    rows += [(name, _version(name)) for name in PACKAGES]
    return [*rows, ("Python", platform.python_version())]


def _version(name: str) -> str:
    try:
        return version(name)
    except Exception:  # noqa: BLE001 (not installed as a distribution)
        return "unknown"


def _page(kind: str, notebook: Any, about: list[tuple[str, str]], damage: str | None, *, code: bool) -> str:
    parts = [_cell(cell, code=code) for cell in notebook.cells if cell.get("id") != "injected" and not _told(cell)]
    if damage is not None:
        about = [*about, ("damage", damage)]
        parts.insert(1, f"<p><strong>Of this ledger, {html.escape(damage)}.</strong></p>")
    lines = "".join(f"<tr><th>{html.escape(name)}</th><td>{_escaped(value)}</td></tr>" for name, value in about)
    digest = hashlib.sha256("".join(parts).encode()).hexdigest()[:16]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>zc report: {html.escape(kind)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>\n'
        f"{''.join(parts)}\n<h2>About this report</h2><table>{lines}</table>"
        f"<p>Contents {digest}.</p></body></html>\n"
    )


def _told(cell: Any) -> bool:
    return SAMPLE in cell.metadata.get("tags", ())


def _cell(cell: Any, *, code: bool) -> str:
    if cell.cell_type == "markdown":
        from markdown_it import MarkdownIt

        written = MarkdownIt("commonmark", {"html": False}).enable("table")
        shown = str(written.render(redact(cell.source)))
        return shown if inert(shown) else str(written.disable("image").render(redact(cell.source)))
    if cell.cell_type != "code":
        return ""
    shown = "".join(_output(output) for output in cell.outputs)
    source = f"<pre><code>{_escaped(cell.source)}</code></pre>"
    return (f'<details class="code"><summary>code</summary>{source}</details>' if code else "") + shown


def _output(output: Any) -> str:
    """The richest form that does nothing by itself and fetches nothing, without secrets."""
    if output.output_type == "stream":
        return f"<pre>{_escaped(output.text)}</pre>"
    if output.output_type == "error":  # of a cell that may raise
        return f"<pre>{_escaped(f'{output.ename}: {output.evalue}')}</pre>"
    data = output.get("data", {})
    svg, png, markup = (str(data.get(kind, "")) for kind in ("image/svg+xml", "image/png", "text/html"))
    if shown := _without_secrets(svg):
        return f"<figure>{shown}</figure>"
    if _BASE64.fullmatch(png):
        text = _escaped(str(data.get("text/plain", "picture")))
        return f'<figure><img alt="{text}" src="data:image/png;base64,{png}"></figure>'
    return _without_secrets(markup) or f"<pre>{_escaped(str(data.get('text/plain', '')))}</pre>"


def _without_secrets(markup: str) -> str:
    """``markup`` redacted; nothing when it is not inert, or hides a secret in character references or between tags."""
    kept = redact(markup)
    return kept if inert(kept) and words_of(kept) == redact(words_of(markup)) else ""


def _escaped(text: str) -> str:
    return html.escape(redact(_plain(text)))


def _plain(text: str) -> str:
    return _ANSI.sub("", text)


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given"


def _write(out: Path, text: str) -> None:
    part = out.with_name(f".{os.urandom(4).hex()}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(out)
    except OSError as error:
        raise ReportError(f"{out} cannot be written ({error.strerror})") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
