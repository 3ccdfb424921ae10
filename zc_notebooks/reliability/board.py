"""The board in memory: marks by pool and credential, and what providers last said is left. Remembers its changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from zc_notebooks.records import Mark, MarkKey, Record
from zc_notebooks.reliability.mark_rules import Row, meet


class Seen(Record, frozen=True, kw_only=True):
    """What a provider stated about its limits on a success, for one pool, credential and model."""

    key: MarkKey
    seen_at: datetime
    dims: str
    """JSON list of :class:`~zc_notebooks.reliability.reset_time.Headroom`."""
    provider_ref: str = ""


class Board:
    """Marks and headroom. Not locked: :class:`~zc_notebooks.reliability.board_store.BoardStore` owns it.

    Rows of one (pool, credential) are a tuple that is replaced as a whole, so a reader without the lock sees the old
    or the new rows and nothing between.
    """

    def __init__(self, rows: Iterable[Row] = (), seen: Iterable[Seen] = ()) -> None:
        self._rows: dict[tuple[str, str], tuple[Row, ...]] = {}
        self.seen: dict[MarkKey, Seen] = {one.key: one for one in seen}
        for row in rows:
            self._replace(row.mark.key, row)
        self.changed: dict[MarkKey, Row | None] = {}
        """Rows put (or dropped: ``None``) since the last :meth:`settle`."""
        self.changed_seen: dict[MarkKey, Seen | None] = {}

    @property
    def quiet(self) -> bool:
        """Nothing is on the board: no mark, no statement."""
        return not self._rows and not self.seen

    def under(self, pool: str, credential_id: str) -> tuple[Row, ...]:
        """Rows of one pool and credential."""
        return self._rows.get((pool, credential_id), ())

    def __iter__(self) -> Iterator[Row]:
        for rows in tuple(self._rows.values()):
            yield from rows

    def get(self, key: MarkKey) -> Row | None:
        """The row of exactly this key."""
        return next((row for row in self.under(key.pool, key.credential_id) if row.mark.key == key), None)

    def put(self, row: Row) -> None:
        """Adds or replaces a row."""
        self.changed[row.mark.key] = row
        self._replace(row.mark.key, row)

    def drop(self, key: MarkKey) -> None:
        """Removes a row."""
        self.changed[key] = None
        self._replace(key, None)

    def hit(self, mark: Mark, now: datetime) -> Mark:
        """Sets ``mark``, or leaves what outranks it (spec 7.1). A running lease stays. Returns what now stands."""
        old = self.get(mark.key)
        stands = mark if old is None else meet(old.mark, mark, now)
        if old is None:
            self.put(Row(mark=stands))
        elif stands != old.mark:
            self.put(Row(mark=stands, lease=old.lease, lease_until=old.lease_until))
        return stands

    def note(self, seen: Seen) -> None:
        """Keeps a statement unless a later one is there."""
        old = self.seen.get(seen.key)
        if old is None or old.seen_at <= seen.seen_at:
            self.seen[seen.key] = self.changed_seen[seen.key] = seen

    def forget(self, key: MarkKey) -> None:
        """Drops what was stated for a key."""
        self.changed_seen[key] = None
        self.seen.pop(key, None)

    def settle(self) -> None:
        """The changes are written (or need not be)."""
        self.changed.clear()
        self.changed_seen.clear()

    def _replace(self, key: MarkKey, row: Row | None) -> None:
        place = (key.pool, key.credential_id)
        rest = tuple(old for old in self._rows.get(place, ()) if old.mark.key != key)
        rows = rest if row is None else (*rest, row)
        if rows:
            self._rows[place] = rows
        else:
            self._rows.pop(place, None)
