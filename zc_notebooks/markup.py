"""One snapshot, three forms: HTML, Markdown and text. No colours of its own, so it reads in light and dark themes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Final, TextIO

from zc_notebooks.records import Record
from zc_notebooks.redact import redact, visible

ROWS_SHOWN: Final = 200
NOTES_SHOWN: Final = 20
CELL_CHARS: Final = 600
LINE_CHARS: Final = 50_000
"""What a form shows at most of a table, its notes, a cell and a paragraph: a saved notebook must still open."""

_FONT = "font-family:var(--vscode-font-family,var(--jp-ui-font-family,system-ui,sans-serif))"
_TABLE = f"border-collapse:collapse;font-size:0.92em;margin:0.4em 0;color:inherit;overflow-wrap:break-word;{_FONT}"
_CELL = (
    "text-align:left;vertical-align:top;padding:0.2em 0.8em 0.2em 0;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)"
)
_TEXT = "white-space:pre-wrap;overflow-wrap:anywhere"
_MARKUP = re.compile(r"(^#|[\\`*\[\]|~$<>&]|(?<!\w)_|_(?!\w))")
_TICKS = re.compile(r"`{3,}")


class Sheet(Record, frozen=True, kw_only=True):
    """A titled table with lines above and below it. All text is redacted, shortened and escaped on the way out."""

    title: str
    lines: tuple[str, ...] = ()
    """Paragraphs between the title and the table."""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    """Small print below the table."""

    def html(self) -> str:
        """A table with a name and header cells that screen readers announce."""
        head = "".join(f'<th scope="col" style="{_CELL}">{_html(name)}</th>' for name in self.columns)
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in self.rows[:ROWS_SHOWN])
        named = f'<table aria-label="{_html(self.title)}" style="{_TABLE}">'
        table = f"{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        parts = [f"<p><strong>{_html(self.title)}</strong></p>"]
        parts += [f'<p style="{_TEXT}">{_html(line, LINE_CHARS)}</p>' for line in self.lines]
        parts += [f'<div style="overflow-x:auto">{table}</div>'] if self.columns else []
        parts += [f'<p style="{_TEXT};font-size:0.88em">{_html(note)}</p>' for note in self._notes()]
        return f'<div class="zc">{"".join(parts)}</div>'

    def markdown(self) -> str:
        """For exports that take no HTML. Text of others is escaped: it makes no link, picture or heading."""
        parts = [f"**{_marked(self.title)}**", *map(_paragraph, self.lines)]
        if self.columns:
            lines = [self.columns, ("---",) * len(self.columns)]
            cells = [*lines, *([_marked(cell) or " " for cell in row] for row in self.rows[:ROWS_SHOWN])]
            parts.append("\n".join("| " + " | ".join(line) + " |" for line in cells))
        return "\n\n".join([*parts, *map(_marked, self._notes())])

    def text(self) -> str:
        """Aligned columns for a terminal or a plain page."""
        table = aligned(self.columns, [[_short(cell) for cell in row] for row in self.rows[:ROWS_SHOWN]])
        lines = [clean(line, LINE_CHARS) for line in self.lines]
        return "\n".join([clean(self.title), *lines, *table, *map(clean, self._notes())])

    def _notes(self) -> tuple[str, ...]:
        rows, notes = len(self.rows) - ROWS_SHOWN, len(self.notes) - NOTES_SHOWN
        more = [f"{counted(rows, 'more row is', 'more rows are')} not shown."] if rows > 0 else []
        rest = [f"{counted(notes, 'more note is', 'more notes are')} not shown."] if notes > 0 else []
        return (*more, *self.notes[:NOTES_SHOWN], *rest)


def counted(number: int, word: str, words: str = "") -> str:
    """``1 answer``, ``2 answers``, ``1,000 answers``; ``words`` where the plural is not ``word`` with an s."""
    return f"{number:,} {word if number == 1 else words or f'{word}s'}"


def clean(text: str, limit: int = CELL_CHARS) -> str:
    """``text`` as it may leave: redacted, at most ``limit`` characters, without what breaks a file or a terminal.

    Lone surrogates cannot be saved, and control characters are obeyed by terminals: both become visible signs.
    """
    kept = redact(text).encode("utf-8", "replace").decode() if not text.isascii() else redact(text)
    kept = visible(kept.replace("\r\n", "\n").replace("\r", "\n"))
    return kept if len(kept) <= limit else f"{kept[:limit]}… ({counted(len(kept) - limit, 'more character')})"


def screened(text: str, stream: TextIO) -> str:
    """Text of an answer as ``stream`` may have it: as it is in a file or a pipe, without control on a terminal.

    A piece may end between the two characters of a line end: the first one is dropped.
    """
    return visible(text.replace("\r", "")) if stream.isatty() else text


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a text table; wide characters count two."""
    if not columns:
        return []
    table = [list(columns), *([redact(cell) for cell in row] for row in rows)]
    widths = [max(_width(line[place]) for line in table) for place in range(len(columns))]
    return [
        "  ".join(cell + " " * (widths[i] - _width(cell)) for i, cell in enumerate(line)).rstrip() for line in table
    ]


def _width(text: str) -> int:
    from unicodedata import east_asian_width

    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _short(cell: str) -> str:
    """A cell of a text table is one line."""
    return " ".join(clean(cell, 140).split("\n"))


def _cells(row: Sequence[str]) -> str:
    return "".join(f'<td style="{_CELL}">{_html(cell)}</td>' for cell in row)


def _html(text: str, limit: int = CELL_CHARS) -> str:
    return escape(clean(text, limit))


def _marked(text: str) -> str:
    """One line of Markdown that shows the text as it is."""
    return _MARKUP.sub(r"\\\1", " ".join(clean(text).split("\n")))


def _paragraph(text: str) -> str:
    """Short text as a paragraph; text with lines of its own in a fence, where nothing in it is obeyed."""
    kept = clean(text, LINE_CHARS)
    if "\n" not in kept:
        return _MARKUP.sub(r"\\\1", kept)
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(kept))])
    return f"{fence}text\n{kept}\n{fence}"
