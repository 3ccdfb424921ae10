"""What the states behind widgets share: observers by callback, and exceptions that nobody waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable

from zc_notebooks.errors import ZcError
from zc_notebooks.notebook.trouble import Trouble, tell
from zc_notebooks.redact import redact, short

Told = Callable[[str], object]


class Observed:
    """A state that tells what changed by its topic. Safe to use from several threads."""

    def __init__(self) -> None:
        self.notice = ""
        """What the last button did, in one sentence."""
        self.trouble: Trouble | None = None
        self.version = 0
        """Grows with every change; a click says which one its page had seen."""
        self._lock = threading.RLock()
        self._observers: list[Told] = []

    def observe(self, told: Told) -> Callable[[], None]:
        """Calls ``told`` with the topic of every change, on whatever thread it happens; returns how to end that."""
        self._observers.append(told)
        return lambda: self._observers.remove(told) if told in self._observers else None

    def failed(self, doing: str, error: BaseException) -> None:
        """An exception nobody waits for: shown in one sentence. An error of ours is a notice, and no trouble."""
        if isinstance(error, ZcError):
            self.note(short(str(error), 300))
            return
        self.trouble = Trouble.of(doing, error)
        tell(self.trouble)
        self._tell("trouble")

    def dismiss(self) -> None:
        """The trouble was read."""
        self.trouble = None
        self._tell("trouble")

    def note(self, words: str) -> None:
        """Shows one sentence, and everything else as far as it can be looked at."""
        self.notice = redact(words)
        try:
            self.refresh(always=True)
        except ZcError as problem:
            if str(problem) not in words:
                self.notice = redact(short(f"{words} ({problem})", 300))
            self._tell("panel")

    def refresh(self, *, always: bool = False) -> None:
        """Looks at what other processes may have changed; tells when something is new, or ``always``."""
        raise NotImplementedError

    def _tell(self, topic: str) -> None:
        with self._lock:
            self.version += 1
        for told in tuple(self._observers):
            try:
                told(topic)
            except Exception as error:  # noqa: BLE001 (an observer must not end a call; it is shown instead)
                trouble = self.trouble = Trouble.of(f"showing the {topic}", error)
                tell(trouble)
                if topic != "trouble":  # else telling of it would go round in circles
                    self._tell("trouble")
