"""What an object that notebooks show inherits: three forms of one snapshot, and a repr that cannot fail."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, Generic, TypeVar

from zc_notebooks.redact import redact

Item = TypeVar("Item")

_FORMS = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown"}


class Shown:
    """Adds ``_repr_mimebundle_``, ``_repr_html_`` and ``_repr_markdown_``.

    The pictures are drawn in :mod:`zc_notebooks.notebook.display`, which is looked up by name when something is shown:
    records stay below the notebook layer and importing them loads nothing. A form that cannot be made is left out,
    because a raising formatter marks the cell as failed.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" in cls.__dict__:
            setattr(cls, "__repr__", safe_repr(cls.__dict__["__repr__"]))  # noqa: B010 (mypy: a method cannot be assigned)
        if issubclass(cls, tuple | BaseException):
            setattr(cls, "_repr_pretty_", _pretty)  # noqa: B010 (else IPython's own form of these goes first)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """All forms of one moment; none where the object cannot be drawn, so that its repr is shown."""
        try:
            sheet = import_module("zc_notebooks.notebook.display").sheet_of(self)
            wanted = [name for name in _FORMS if (not include or name in include) and name not in (exclude or ())]
            return {name: str(getattr(sheet, _FORMS[name])()) for name in wanted}
        except Exception:  # noqa: BLE001 (a repr never raises)
            return {}

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_(("text/html",)).get("text/html")

    def _repr_markdown_(self) -> str | None:
        return self._repr_mimebundle_(("text/markdown",)).get("text/markdown")


class Keyed(Generic[Item]):
    """Adds ``thing["key"]``, ``"key" in thing``, iteration over the keys, and their completion in a notebook."""

    __slots__ = ()

    def by_key(self) -> Mapping[str, Item]:
        """Key → part, in the order of the parts."""
        raise NotImplementedError

    def __getitem__(self, key: str) -> Item:
        parts = self.by_key()
        if key not in parts:
            raise KeyError(f"{key!r} is not in this {type(self).__name__} (there: {', '.join(parts) or 'nothing'})")
        return parts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_key())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.by_key())


def _pretty(shown: Any, printer: Any, cycle: bool) -> None:
    """As text what is shown by itself; its line where it is a part of something."""
    del cycle
    drawn = shown._repr_mimebundle_(("text/plain",)) if len(printer.stack) == 1 else {}
    printer.text(drawn.get("text/plain") or repr(shown))


def safe_repr(shown: Callable[[Any], str]) -> Callable[[Any], str]:
    """A ``__repr__`` without secrets that gives a line whatever the object holds."""

    @wraps(shown)
    def safe(self: Any) -> str:
        try:
            return redact(shown(self))
        except Exception as error:  # noqa: BLE001 (a repr never raises)
            return f"{type(self).__name__}(cannot be shown: {type(error).__name__})"

    return safe
