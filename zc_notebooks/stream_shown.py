"""What a turn has handed out so far; whatever was is immutable (spec 8.3)."""

from __future__ import annotations

from zc_notebooks.clock import Clock, Limit


class Stopped(Exception):
    """Somebody pressed Stop."""


class Opening:
    """The beginning of a streamed text. Blanks alone are no answer, so they wait for its first word."""

    def __init__(self) -> None:
        self._blanks: list[str] = []

    def feed(self, text: str) -> str:
        """What may be shown once ``text`` has come."""
        self._blanks.append(text)
        return self.rest() if text.strip() else ""

    def rest(self) -> str:
        """What still waits."""
        held, self._blanks = "".join(self._blanks), []
        return held


class Shown:
    """What a turn has handed out so far, and whether somebody wants it to end."""

    def __init__(self, clock: Clock) -> None:
        self._pieces: list[str] = []
        self.reasoning = False
        self.pre_executed = False
        """A tool ran on the provider's side: nothing may be sent again."""
        self.cancelled = False
        self._clock = clock
        self._limit: Limit | None = None

    @property
    def text(self) -> str:
        """Text forwarded, exactly."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @text.setter
    def text(self, text: str) -> None:
        self._pieces = [text] if text else []

    @property
    def spoken(self) -> bool:
        """Whether any text was forwarded."""
        return bool(self._pieces)

    def say(self, text: str) -> None:
        """More text was forwarded; it is joined when somebody looks."""
        self._pieces.append(text)

    def limit(self, seconds: float) -> Limit:
        """A time limit that :meth:`cancel` makes strike at once."""
        self._limit = self._clock.timeout(max(seconds, 0.0))
        return self._limit

    def cancel(self) -> None:
        """The running read ends at once."""
        self.cancelled = True
        if self._limit is not None:
            self._limit.expire()

    def look(self) -> None:
        """A cancel that was signalled wins over a pending event."""
        if self.cancelled:
            raise Stopped
