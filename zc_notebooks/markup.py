"""One snapshot, three forms: HTML, Markdown and text. No colours of its own, so it reads in light and dark themes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from zc_notebooks.records import Record
from zc_notebooks.redact import redact

_STYLE = (
    "border-collapse:collapse;font-size:0.92em;margin:0.4em 0;font-family:var(--jp-ui-font-family,system-ui,sans-serif)"
)
_CELL = (
    "text-align:left;padding:0.2em 0.8em 0.2em 0;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)"
)


class Sheet(Record, frozen=True, kw_only=True):
    """A titled table with lines above and below it. All text is redacted and escaped on the way out."""

    title: str
    lines: tuple[str, ...] = ()
    """Paragraphs between the title and the table."""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    """Small print below the table."""

    def html(self) -> str:
        """A table with a caption and header cells that screen readers announce."""
        head = "".join(f'<th scope="col" style="{_CELL}">{_html(name)}</th>' for name in self.columns)
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in self.rows)
        table = f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        parts = [f"<p><strong>{_html(self.title)}</strong></p>"]
        parts += [f'<p style="white-space:pre-wrap">{_html(line)}</p>' for line in self.lines]
        parts += [table] if self.columns else []
        parts += [f'<p style="font-size:0.85em;opacity:0.85">{_html(note)}</p>' for note in self.notes]
        return f'<div class="zc">{"".join(parts)}</div>'

    def markdown(self) -> str:
        """For exports that take no HTML."""
        parts = [f"**{_plain(self.title)}**", *map(_plain, self.lines)]
        if self.columns:
            rows = ["| " + " | ".join(_bar(cell) for cell in row) + " |" for row in self.rows]
            parts.append("\n".join(["| " + " | ".join(self.columns) + " |", "|" + " --- |" * len(self.columns), *rows]))
        return "\n\n".join([*parts, *map(_plain, self.notes)])

    def text(self) -> str:
        """Aligned columns for a terminal or a plain page."""
        parts = [_plain(self.title), *map(_plain, self.lines), *aligned(self.columns, self.rows)]
        return "\n".join([*parts, *map(_plain, self.notes)])


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a text table; wide characters count two."""
    if not columns:
        return []
    table = [list(columns), *([_plain(cell) for cell in row] for row in rows)]
    widths = [max(_width(line[place]) for line in table) for place in range(len(columns))]
    return [
        "  ".join(cell + " " * (widths[i] - _width(cell)) for i, cell in enumerate(line)).rstrip() for line in table
    ]


def _width(text: str) -> int:
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _cells(row: Sequence[str]) -> str:
    return "".join(f'<td style="{_CELL}">{_html(cell)}</td>' for cell in row)


def _html(text: str) -> str:
    return escape(redact(text))


def _plain(text: str) -> str:
    return redact(text)


def _bar(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")
