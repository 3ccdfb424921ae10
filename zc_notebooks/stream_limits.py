"""Which time limit holds at each read of a stream, and the sentence of the one that struck (spec 2.3, 5.5). Pure."""

from __future__ import annotations

from typing import Final, Literal

from zc_notebooks.clock import Clock
from zc_notebooks.records import Profile
from zc_notebooks.reliability.deadline import CallTime, late_words

Struck = Literal["first token", "idle", "deadline"]

TIME: Final[tuple[Struck, ...]] = ("first token", "idle", "deadline")
"""Ends of a stream that are our own time limits (spec 4.2: the network)."""


class StreamLimits:
    """The limits of one stream that began at ``began`` (seconds of ``clock``).

    Bytes that are there already are read without any waiting, so a limit that has passed is looked at before each read
    and not only while one waits.
    """

    def __init__(self, profile: Profile, call: CallTime, clock: Clock, began: float) -> None:
        self._profile = profile
        self._call = call
        self._clock = clock
        self._began = began
        self._rest_began: float | None = None
        self.struck: Struck = "idle"
        """The limit that holds now, or that struck."""

    def sent(self) -> None:
        """The request left just now: what it waited for before (a free connection) was not the provider's time."""
        self._began = self._clock.monotonic()

    def heard(self) -> None:
        """An event came."""
        self._rest_began = None

    def next_s(self, *, said: bool, ended: bool = False) -> float:
        """Seconds the next read may take; ``said``: something of an answer has come; ``ended``: so has its signal.

        Any byte ends the idle limit's wait. Once the signal was seen nothing has to follow, and only events count: who
        then sends comments for ever does not keep a whole answer from its reader.

        Raises:
            TimeoutError: None are left.
        """
        if ended:
            now = self._clock.monotonic()
            self._rest_began = now if self._rest_began is None else self._rest_began
            limit, self.struck = self._rest_began + self._profile.idle_timeout_s - now, "idle"
        elif said:
            limit, self.struck = self._profile.idle_timeout_s, "idle"
        else:
            limit = self._began + self._profile.first_token_timeout_s - self._clock.monotonic()
            self.struck = "first token"
        remaining = self._call.remaining_s()
        if remaining < limit:
            limit, self.struck = remaining, "deadline"
        if limit <= 0:
            raise TimeoutError
        return limit

    def look(self) -> None:
        """Raises ``TimeoutError`` when the time of the whole call is over, whoever spent it."""
        if self._call.remaining_s() <= 0:
            self.struck = "deadline"
            raise TimeoutError

    @property
    def words(self) -> str:
        """What struck, and after how many seconds."""
        if self.struck == "first token":
            seconds = self._profile.first_token_timeout_s
            return f"first token limit of {seconds:g} s reached: nothing of an answer had come"
        if self.struck == "idle":
            return f"idle limit of {self._profile.idle_timeout_s:g} s reached: nothing more arrived"
        return f"{late_words(self._call.timeout_s)} before the answer was complete"
