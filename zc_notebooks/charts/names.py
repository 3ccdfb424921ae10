"""What stands beside a line or point: the shortest name that no other one in the same picture or table has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

LONGEST: Final = 40
"""Characters of a name that a picture has room for."""
Line = tuple[str, str | None, str | None]
"""``family.alias``, model and credential id; ``None`` (or an empty model): all of them, or not known."""
_Key = TypeVar("_Key")


def candidate_names(lines: Iterable[Line], *, models: bool = False, whole: bool = False) -> dict[Line, str]:
    """``family.alias``, with as much of its model, and the credential's id, as it takes to tell the lines apart.

    Args:
        lines: What is named; the same one may come again.
        models: A line that has a model always shows it: that it is about this model only is news.
        whole: Where there is room: a name that is shown is neither cut nor without the model's maker.
    """
    return _apart({line: _forms(*line, models=models, whole=whole) for line in dict.fromkeys(lines)})


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Names as long as a picture has room for, whole where cut ones would be the same."""
    return _apart({name: (cut(name), name) for name in names})


def cut(name: str) -> str:
    """A name as long as a picture has room for."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _forms(ref: str, model: str | None, credential: str | None, *, models: bool, whole: bool) -> Sequence[str]:
    """From the shortest to the longest name."""
    full = f"{ref}/{model}" if model else ref
    last = f"{ref}/{model.rpartition('/')[2]}" if model else ref
    shorter = [] if whole else [*map(cut, (last, full))]
    plain = [*([] if models else [ref if whole else cut(ref)]), *shorter, full]
    return plain if credential is None else [*plain, *(f"{name} [{credential}]" for name in plain)]


def _apart(forms: Mapping[_Key, Sequence[str]]) -> dict[_Key, str]:
    """The first form of each that is no form of another one, else its last."""
    owners = Counter(form for some in forms.values() for form in set(some))
    return {key: next((form for form in some if owners[form] == 1), some[-1]) for key, some in forms.items()}
