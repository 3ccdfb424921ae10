"""What one failure is: its status, its shape in words of the clock, and when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from zc_notebooks.lab.calendar import reset_instant
from zc_notebooks.lab.conversation import dump
from zc_notebooks.lab.dialect import family
from zc_notebooks.lab.reply import Ids
from zc_notebooks.records import Reason, Record

Lasts = float | Literal["utc_midnight", "pacific_midnight", "beijing_midnight", "month"] | None


class Moment(Record, frozen=True, kw_only=True):
    """The circumstances one response is rendered in."""

    now: datetime
    until: datetime | None = None
    """When the limit ends."""
    model: str = "lab-model"
    limit: int = 1000
    used: int = 1000
    requested: int = 1
    window: int = 8192
    """Context window in tokens."""
    afford: int = 0
    """Tokens the balance still pays for."""
    framing: str = "none"
    """How the request wants its stream framed; ``none``: it wants no stream."""
    wire: str = "openai_chat"
    seed: str = "lab"
    message: str = ""
    """What is wrong with a malformed request, in words."""

    @property
    def wait_s(self) -> float:
        """Seconds until the end; 0.0 when it has none."""
        return 0.0 if self.until is None else max((self.until - self.now).total_seconds(), 0.0)

    @property
    def whole_wait_s(self) -> int:
        """The same, rounded up."""
        return -int(-self.wait_s // 1)

    @property
    def end(self) -> datetime:
        """When the limit ends, or now."""
        return self.until or self.now

    @property
    def unix(self) -> int:
        """Unix seconds of the response."""
        return int(self.now.timestamp())

    def id(self, length: int = 24, kind: str = "") -> str:
        """Hexadecimal id of this response."""
        return Ids(f"{self.seed}{kind}{self.unix}").hex(length)

    def uuid(self) -> str:
        """The same in the form of a UUID."""
        return Ids(f"{self.seed}{self.unix}").uuid()

    @property
    def beijing(self) -> str:
        """The end as Beijing wall time without a zone."""
        return f"{self.end.astimezone(ZoneInfo('Asia/Shanghai')):%Y-%m-%d %H:%M:%S}"

    @property
    def rfc3339(self) -> str:
        """The end in UTC."""
        return f"{self.end:%Y-%m-%dT%H:%M:%SZ}"

    @property
    def http_date(self) -> str:
        """The end as an HTTP date."""
        return format_datetime(self.end, usegmt=True)

    @property
    def epoch_ms(self) -> int:
        """The end in Unix milliseconds."""
        return round(self.end.timestamp() * 1000)


Body = Callable[[Moment], object]
Headers = Callable[[Moment], Mapping[str, str]]


class Failure(Record, frozen=True, kw_only=True):
    """One failure of one family."""

    name: str
    """``<family>.<kind>``."""
    status: int
    reason: Reason
    """What it means, in the words of the classifier: the truth to test against."""
    about: str
    """One sentence."""
    body: Body
    """Plain data becomes JSON; text and bytes go out as they are."""
    headers: Headers = lambda _: {}
    lasts: Lasts = None
    """How long it lasts when set by hand: seconds, a reset rule, or until it is taken away."""
    numbers: Mapping[str, Any] = {}
    """Fields of :class:`Moment` it uses when nobody says others."""
    content_type: str = "application/json"
    when: Literal["any", "stream"] = "any"
    """``stream``: it stands inside a stream of status 200."""
    wires: tuple[str, ...] = ()
    """The only wires it can stand on; all when empty."""
    otherwise: str = "capacity"
    """Kind of the failure that stands for it where a request is not streamed."""

    @property
    def family(self) -> str:
        """First part of the name."""
        return self.name.partition(".")[0]

    @property
    def kind(self) -> str:
        """Second part of the name."""
        return self.name.partition(".")[2]


def entry(name: str, status: int, reason: Reason, about: str, body: Body, **more: Any) -> Failure:
    """A line of a table of failures."""
    return Failure(name=name, status=status, reason=reason, about=about, body=body, **more)


def wait_header(moment: Moment) -> dict[str, str]:
    """``retry-after`` in whole seconds."""
    return {"retry-after": str(moment.whole_wait_s)}


class Rendered(Record, frozen=True, kw_only=True):
    """A failure as it goes out."""

    name: str
    status: int
    headers: Mapping[str, str]
    body: bytes


def moment_of(failure: Failure, now: datetime, **numbers: Any) -> Moment:
    """The moment of a failure that begins now, with its own numbers where none are given."""
    given = {key: value for key, value in numbers.items() if value is not None}
    until = given.pop("until", None) or reset_instant(failure.lasts, now)
    wire = failure.wires[0] if failure.wires else family(failure.family).wire
    framing = ("ndjson" if wire == "ollama" else "sse") if failure.when == "stream" else "none"
    usual = {"wire": wire, "framing": framing, **failure.numbers}
    return msgspec.structs.replace(Moment(now=now, until=until), **{**usual, **given})


def render(failure: Failure, moment: Moment) -> Rendered:
    """The response at a moment."""
    body = failure.body(moment)
    headers = {"content-type": failure.content_type, **failure.headers(moment)}
    if not isinstance(body, bytes):
        body = body.encode() if isinstance(body, str) else dump(body).encode()
    return Rendered(name=failure.name, status=failure.status, headers=headers, body=body)


def go_duration(seconds: float) -> str:
    """A duration as Go prints it: ``9m38.016s``, ``750ms``, ``1h2m3s``."""
    if seconds <= 0:
        return "0s"
    if seconds < 1:
        return f"{max(round(seconds * 1000), 1)}ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    tail = f"{rest:.3f}".rstrip("0").rstrip(".")
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{tail}s"


def sse(*payloads: object, done: bool = False) -> str:
    """Data events; text goes out as it is."""
    texts = [payload if isinstance(payload, str) else dump(payload) for payload in payloads]
    return "".join(f"data: {text}\n\n" for text in (*texts, *(["[DONE]"] if done else [])))


def chunk(moment: Moment, delta: Mapping[str, Any], finish: str | None = None, **extra: Any) -> dict[str, Any]:
    """One OpenAI chat chunk for streams that fail."""
    return {
        "id": f"chatcmpl-{moment.id()}",
        "object": "chat.completion.chunk",
        "created": moment.unix,
        "model": moment.model,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
        **extra,
    }


def in_seconds(moment: Moment, seconds: float) -> datetime:
    """An instant after the moment."""
    return moment.now + timedelta(seconds=seconds)
