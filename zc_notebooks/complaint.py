"""A warning said once, and only where a filter that turns it into an exception can do no harm."""

from __future__ import annotations

import warnings


class Complaint:
    """What is wrong with a thing: the first trouble is kept by :meth:`say`, under a lock, and given by :meth:`warn`."""

    def __init__(self, category: type[Warning]) -> None:
        self._category = category
        self._waiting: str | None = None
        self._said = False

    def say(self, words: str) -> None:
        """Keeps ``words``, unless something was said before."""
        if not self._said:
            self._said, self._waiting = True, words

    def warn(self) -> None:
        """Warns of what was kept; for outside the lock, when all is settled."""
        words, self._waiting = self._waiting, None
        if words is not None:
            warnings.warn(words, self._category, stacklevel=3)
