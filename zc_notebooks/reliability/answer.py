"""One failed answer, read once: what the steps of :mod:`.decide` look at. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Final

from zc_notebooks.reliability.failure_body import FailureBody, Found
from zc_notebooks.reliability.families import known_failures
from zc_notebooks.reliability.families.anyone import STATUS_OF
from zc_notebooks.reliability.instants import Stated
from zc_notebooks.reliability.quota_headers import Dimension, dimensions
from zc_notebooks.reliability.rules import Failures, Rule
from zc_notebooks.reliability.stated import from_body

TOO_MANY: Final = 429
_STATUS_IN_TEXT = re.compile(
    r"(?:^\W{0,3}|\b(?:http(?:/[\d.]{1,3})?|status|code|error)[\s:=#(\"']{0,4}(?:code|status)?[\s:=#(\"']{0,4})"
    r"(\d{3})(?!\w|[.,]\d)",
    re.IGNORECASE,
)
_MEASURED = re.compile(r"\s?(?:ms|s|sec|seconds?|tokens?|bytes?|kb|mb|characters?|chars|%)\b", re.IGNORECASE)
_NAMES_A_MODEL = re.compile(
    r"for model [`'\"]?\w|this model|specific to .{0,12}model|userbymodel|and model \w"
    r"|limit reached for [\w./:-]+ (?:\(for [^)]{1,80}\) )?in |permodel|per model|for the model"
)


class Answer:
    """One failed answer, read once: what the steps look at."""

    def __init__(
        self,
        body: FailureBody,
        *,
        status: int | None,
        headers: Mapping[str, str],
        family: str,
        wire: str,
        now: datetime,
        in_band: bool,
        quoted: bool = False,
    ) -> None:
        self.body = body
        self.headers = headers
        self.now = now
        self.in_band = in_band
        self.family = family
        self.wire = wire
        self.known = known_failures(family, wire)
        other = body.shape if body.shape != family else ""
        self.tables: tuple[Failures, ...] = (self.known, known_failures(other)) if other else (self.known,)
        self.soft: tuple[Found, Rule] | None = None
        self.status = _effective(status, body, in_band=in_band)
        self.implied = body.status is None and (in_band or quoted or status is None) and stands_for(body) is not None
        """Whether no number states the status, but only the error's type stands for one (``api_error``)."""

    @cached_property
    def exhausted(self) -> tuple[Dimension, ...]:
        """Header quotas with nothing left; the only one there is, when it does not say what is left."""
        found = tuple(one for one in self.quotas if one.name != "other")
        gone = tuple(one for one in found if one.exhausted)
        if not gone and len(found) == 1 and found[0].remaining is None and found[0].reset_text:
            return found
        return gone or tuple(one for one in self.quotas if one.exhausted)

    @cached_property
    def quotas(self) -> tuple[Dimension, ...]:
        """Every quota that the headers, and headers quoted in the body, describe."""
        merged = {**self.body.headers, **self.headers} if self.body.headers else self.headers
        return dimensions(merged, self.known.periods)

    @cached_property
    def said(self) -> list[Stated]:
        """Every wait and instant that the body states."""
        return from_body(self.body, self.clock.zone, self.now)

    @property
    def clock(self) -> Failures:
        """Whose zone and reset rule count: the family's own, else those of the provider whose envelope came through."""
        return self.known if self.known.day_reset or self.known.zone != "UTC" else self.tables[-1]

    def exhausted_if(self, limited: bool) -> tuple[Dimension, ...]:
        """:attr:`exhausted` for a limit; nothing, and no work, for any other cause."""
        return self.exhausted if limited else ()

    @property
    def limited(self) -> bool:
        """Whether status or code already say that a limit was hit."""
        return self.status == TOO_MANY or (self.soft is not None and self.soft[1].limit)

    @property
    def phrases_count(self) -> bool:
        """Whether messages are looked at: where no number states a status, and on a 4xx (spec 4.2).

        Not on 401, nor on one that means something else at this provider than anywhere else.
        """
        if self.status is None or self.implied:
            return True
        return 400 <= self.status < 500 and self.status != 401 and self.status not in self.known.statuses  # noqa: PLR2004


def names_a_model(answer: Answer) -> bool:
    """Whether a limit's own words bind it to one model."""
    kind = answer.headers.get("x-ratelimit-type", "").lower()
    lows = [found.low for found in answer.body.messages if "model" in found.low or "reached for" in found.low]
    return "bymodel" in kind or any(_NAMES_A_MODEL.search(low) for low in lows)


def _effective(status: int | None, body: FailureBody, *, in_band: bool) -> int | None:
    """The status that the rules go by: the HTTP one, else one that the error itself carries or stands for."""
    if status is not None and not in_band:
        return status
    found = stands_for(body)
    if found is not None or in_band:
        return found
    return next((number for message in body.messages[:1] if (number := _in_text(message.text))), None)


def stands_for(body: FailureBody) -> int | None:
    """The status that a body carries, or that its error type stands for."""
    if body.status is not None:
        return body.status
    return next((STATUS_OF[found.low] for found in body.codes if found.low in STATUS_OF), None)


def _in_text(text: str) -> int | None:
    """A status written in a text (spec 4.2): three digits at its start or behind a word such as ``http``, ``code``."""
    for match in _STATUS_IN_TEXT.finditer(text[:1000]):
        number = int(match[1])
        if number == TOO_MANY or (400 <= number < 600 and not _MEASURED.match(text, match.end())):  # noqa: PLR2004
            return number
    return None
