"""What an error body says, whatever its shape: codes, messages, waits, nested errors. Pure; never raises.

Understood: an error object, ``[ {…} ]``, a string, a JSON string as the whole body, ``errors[]``, ``detail``,
``base_resp``, flat ``message``/``code``, problem+json, JSON inside a message, ``metadata.raw`` (a router's backend),
an SSE-framed error, HTML and plain text. Fields are read by name; the body is never searched as a whole.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from zc_notebooks.reliability.rules import plain

MAX_LOOKED_AT: Final = 64 * 1024
"""Bytes of a body that are read."""
MAX_MESSAGE: Final = 4096
"""Characters of one message that are read."""
_MAX_DEPTH = 7
_MAX_NODES = 80
_MAX_FOUND = 24

Kind = Literal["json", "html", "text", "empty"]

_CODES: Final = frozenset(
    {
        "code", "type", "status", "reason", "errorcode", "errortype", "statuscode", "rawstatuscode", "limitsource",
        "providererrorcode", "quotaid", "subcode", "kind", "errorname", "suberrorcode", "errorkind", "blockreason",
    }
)  # fmt: skip
_MESSAGES: Final = frozenset(
    {
        "message", "msg", "detail", "details", "error", "errors", "errormessage", "statusmsg", "errordescription",
        "description", "errormsg", "statusmessage", "raw", "err", "faultstring",
    }
)  # fmt: skip
_INSIDE: Final = frozenset(
    {
        "error", "errors", "detail", "details", "message", "metadata", "response", "baseresp", "innererror", "cause",
        "fault", "violations", "errorchain", "errordetails", "incompletedetails", "inner", "data", "output",
        "exception",
    }
)  # fmt: skip
_WAITS: Final = {
    "retrydelay": 1.0, "retryafter": 1.0, "retryafterseconds": 1.0, "retryaftersec": 1.0, "retryaftersecs": 1.0,
    "retryafters": 1.0, "retryinseconds": 1.0, "resetsinseconds": 1.0, "resetinseconds": 1.0, "waitseconds": 1.0,
    "quotaresetdelay": 1.0, "estimatedtime": 1.0, "retryafterms": 0.001, "resetinms": 0.001,
}  # fmt: skip
_INSTANTS: Final = frozenset(
    {"resetsat", "resetat", "resettime", "quotaresettimestamp", "nextflushtime", "resettimestamp", "budgetresetat"}
)
_TOKENS: Final = frozenset({"nctx", "maxcontextlength", "contextlength", "maxinputtokens"})
_QUOTA: Final = frozenset({"quotaid", "quotavalue", "quotalimit", "quotalimitvalue"})
"""Google's name of a quota and its size, of a violation and of an ``ErrorInfo``."""
_STATUS_KEYS: Final = frozenset({"code", "status", "statuscode", "rawstatuscode"})

_LOOSE = re.compile(
    r"""\\?["'](code|type|status|error_code|error_type|reason|__type|limit_source|quotaId|quotaValue|retryDelay)\\?["']"""
    r"""\s{0,3}:\s{0,3}\\?["']?([\w.\-]{1,80})"""
)
_LOOSE_MESSAGE = re.compile(
    r"""["'](?:message|msg|detail|error)["']\s{0,3}:\s{0,3}(?:"((?:[^"\\]|\\.){1,2000})|'((?:[^'\\]|\\.){1,2000}))"""
)
_BRACKETED = re.compile(r"\[(\d{3,5})\]\[")
_TRAILING = re.compile(r"\((\d{4})\)(?:\s\(\d{3}\))?\s{0,3}$")
_NAMED = re.compile(r"^(?:litellm\.)?((?:[A-Z][a-z]+){1,5}(?:Error|Exception))\b")
_AHEAD = re.compile(r"^([a-z]{2,30}(?:_[a-z]{2,30}){1,5})(?::|$)")
_LEADING = re.compile(r"^(?:AiError: |Ai: )*(\d{4}): ")
_TITLE = re.compile(r"<title[^>]{0,80}>([^<]{1,200})", re.IGNORECASE)
_WORDY = re.compile(r"\s")
_URL = re.compile(r"https?://\S+")
_CODE_WORD = re.compile(r"[A-Za-z][\w.:\-]{2,80}")


class Found(msgspec.Struct, gc=False):
    """One value and where it stood."""

    where: str
    text: str
    low: str
    """Codes: plain form. Messages: lower case, without links."""


class FailureBody(msgspec.Struct):
    """Everything read from one body."""

    kind: Kind
    codes: list[Found] = []
    messages: list[Found] = []
    titles: list[Found] = []
    """Headings (problem+json ``title``, HTML ``<title>``): shown, and looked at only when there is no message."""
    waits: list[tuple[str, str, float]] = []
    """(field, value, seconds per unit) of retry-delay fields."""
    instants: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    """Response headers that the body quotes (``metadata.headers``), names in lower case."""
    quota_ids: list[Found] = []
    zero_quota: bool = False
    """A violated quota whose value is 0."""
    tokens: int | None = None
    """A field that states the context length."""
    status: int | None = None
    """An HTTP status that the body carries."""
    own_key: bool = False
    """A router's ``is_byok``: the backend was called with the caller's own key."""
    moderated: bool = False
    upstream: FailureBody | None = None
    """What a router's backend had said (``metadata.raw``)."""
    shape: str = ""
    """Family whose envelope this is, when it is unmistakable."""

    @property
    def text(self) -> str:
        """The provider's words: its first message, else a heading, else its codes."""
        for found in (self.messages, self.titles, self.codes):
            if found:
                return found[0].text
        return ""


def read_failure(body: bytes | str, *, level: int = 0) -> FailureBody:
    """Reads one error body; ``level`` counts the bodies it was quoted in."""
    raw = body.encode(errors="replace") if isinstance(body, str) else bytes(body)
    cut = len(raw) > MAX_LOOKED_AT
    raw = raw[:MAX_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").strip()
    if not raw:
        return FailureBody(kind="empty")
    if raw[:1] == b"<":
        return _html(raw.decode(errors="replace"))
    data, known = (None, False) if cut else _json(raw)
    if not known:
        text = raw.decode(errors="replace")
        data, known = _framed(text)
        if not known:
            return _plain(text, level)
    return _Reader(FailureBody(kind="json"), level).whole(data)


def _json(raw: bytes | str) -> tuple[Any, bool]:
    try:
        return msgspec.json.decode(raw), True
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None, False


def _framed(text: str) -> tuple[Any, bool]:
    """The JSON of an SSE-framed error: its ``data:`` (or ``error:``) lines, the last whole event that has one."""
    if not text.startswith(("data:", "event:", "error:", ":", "id:")):
        return None, False
    events: list[Any] = []
    for block in re.split(r"\r?\n\r?\n|\r\r", text):
        lines = [line for line in re.split(r"\r\n|\r|\n", block) if line.startswith(("data:", "error:"))]
        data, known = _json("\n".join(line.partition(":")[2] for line in lines).strip())
        if known:
            events.append(data)
    errors = [event for event in events if isinstance(event, dict) and event.get("error")]
    return ((errors or events)[-1], True) if events else (None, False)


def _html(text: str) -> FailureBody:
    title = _TITLE.search(text[:4096])
    words = " ".join(title[1].split()) if title else ""
    return FailureBody(kind="html", titles=[Found("page title", words, words.lower())] if words else [])


def _plain(text: str, level: int) -> FailureBody:
    reader = _Reader(FailureBody(kind="text"), level)
    if text[0] in "{[":
        reader.found.titles.append(Found("body", text[:400], text[:400].lower()))
        reader.broken("body", text[:MAX_MESSAGE])
    else:
        reader.message("body", text)
    return reader.found


def _lower(text: str) -> str:
    """A message in lower case and without its links: a page's address is no statement."""
    low = text.lower()
    return _URL.sub(" ", low) if "http" in low else low


class _Reader:
    """Walks one decoded body by field names."""

    def __init__(self, found: FailureBody, level: int) -> None:
        self.found = found
        self.level = level
        self.nodes = 0

    def whole(self, data: Any) -> FailureBody:
        if isinstance(data, list):
            with_error = [item for item in data[:_MAX_NODES] if isinstance(item, dict) and item.get("error")]
            data = with_error[0] if with_error else data
        self.found.shape = _shape(data)
        self.visit("", data, 0)
        return self.found

    def visit(self, path: str, node: Any, depth: int) -> None:
        self.nodes += 1
        if depth > _MAX_DEPTH or self.nodes > _MAX_NODES:
            return
        if isinstance(node, dict):
            for key, value in node.items():
                self.field(path, str(key), value, depth)
        elif isinstance(node, list):
            for item in node[:16]:
                self.visit(path + "[]", item, depth + 1)
        elif isinstance(node, str):
            self.message(path or "body", node)

    def field(self, path: str, key: str, value: Any, depth: int) -> None:
        if value is None or value == "" or key.startswith("@"):
            return
        name = plain(key)
        where = f"{path}.{key}" if path else key
        if isinstance(value, dict | list):
            self.container(name, where, value, depth)
        elif isinstance(value, bool):
            self.found.own_key |= value and name == "isbyok"
        elif isinstance(value, str | int | float):
            self.scalar(name, where, value)

    def container(self, name: str, where: str, value: Any, depth: int) -> None:
        if name == "headers" and isinstance(value, dict):
            self.found.headers.update((str(key).lower(), str(item)) for key, item in list(value.items())[:40])
        elif name == "retrydelay" and isinstance(value, dict) and value:
            self.found.waits.append((where, f"{value.get('seconds', 0)}s{value.get('nanos', 0)}ns", 1.0))
        elif name == "reasons":
            self.found.moderated |= "metadata" in where
        elif name == "raw" and isinstance(value, dict):
            self.backend(where, value)
        elif name in _INSIDE:
            self.visit(where, value, depth + 1)

    def scalar(self, name: str, where: str, value: str | float) -> None:
        text = str(value).strip()
        if name in _QUOTA:
            self.quota(name, where, text)
        elif name in _WAITS:
            self.found.waits.append((where, text, _WAITS[name]))
        elif name in _INSTANTS:
            self.found.instants.append((where, text))
        elif name in _TOKENS and isinstance(value, int):
            self.found.tokens = value
        elif name == "raw":
            self.backend(where, text)
        elif name == "title":
            self.found.titles.append(Found(where, text[:400], text[:400].lower()))
        else:
            self.said(name, where, value, text)
        self.found.moderated |= name == "flaggedinput"

    def said(self, name: str, where: str, value: str | float, text: str) -> None:
        """A code, a message, or neither."""
        if name in _CODES:
            if name in _STATUS_KEYS:
                self.status(text)
            if isinstance(value, str) and name == "reason" and _WORDY.search(text):
                self.message(where, text)
            elif len(text) <= 200:  # noqa: PLR2004 (a code is short)
                self.code(where, text.rpartition("#")[2])
        elif isinstance(value, str) and name in _MESSAGES:
            self.message(where, text)
            if name == "error" and _CODE_WORD.fullmatch(text):
                self.code(where, text)

    def quota(self, name: str, where: str, text: str) -> None:
        if name.endswith("value"):
            self.found.zero_quota |= text == "0"
        else:
            self.found.quota_ids.append(Found(where, text, text.lower()))
            self.found.shape = self.found.shape or "google"

    def status(self, text: str) -> None:
        if self.found.status is None and len(text) == 3 and text.isascii() and text.isdigit() and text >= "400":  # noqa: PLR2004
            self.found.status = int(text)

    def code(self, where: str, text: str) -> None:
        if text and len(self.found.codes) < _MAX_FOUND:
            self.found.codes.append(Found(where, text, plain(text)))

    def message(self, where: str, text: str) -> None:
        if not text or len(self.found.messages) >= _MAX_FOUND:
            return
        whole, text = text, text[:MAX_MESSAGE]
        if any(text == said.text for said in self.found.messages):
            return
        self.found.messages.append(Found(where, text, _lower(text)))
        self.hints(where, text)
        start = text.find("{")
        if start >= 0:
            self.nested(where, whole, start)

    def hints(self, where: str, text: str) -> None:
        """Codes that providers write into the message itself."""
        for pattern in (_BRACKETED, _TRAILING, _NAMED, _LEADING, _AHEAD):
            match = pattern.search(text)
            if match:
                self.code(f"{where} (in the text)", match[1])

    def nested(self, where: str, text: str, start: int) -> None:
        """JSON inside a message."""
        data, known = _json(text[start : text.rfind("}") + 1])
        if known and isinstance(data, dict):
            self.found.shape = self.found.shape or _shape(data)
            self.visit(f"{where}{{}}", data, 2)
        else:
            self.broken(where, text[start:])

    def broken(self, where: str, text: str) -> None:
        """What can be read of JSON that is cut or was printed by a program: its codes and messages."""
        for match in _LOOSE.finditer(text):
            self.loose(plain(match[1]), f"{where} ({match[1]} in the text)", match[2])
        for inner in list(_LOOSE_MESSAGE.finditer(text))[:4]:
            said = inner[1] or inner[2]
            self.found.messages.append(Found(f"{where} (in the text)", said, _lower(said)))

    def loose(self, name: str, where: str, text: str) -> None:
        if name in _QUOTA:
            self.quota(name, where, text)
        elif name in _WAITS:
            self.found.waits.append((where, text, _WAITS[name]))
        else:
            self.status(text)
            self.code(where, text)

    def backend(self, where: str, value: Any) -> None:
        """What a router says its backend had answered."""
        if self.level > 1:
            return
        if isinstance(value, str):
            inner = read_failure(value, level=self.level + 1)
        else:
            inner = _Reader(FailureBody(kind="json"), self.level + 1).whole(value)
        for found in (*inner.messages, *inner.codes):
            found.where = f"{where}: {found.where}"
        self.found.upstream = inner


_GOOGLE: Final = frozenset({"RESOURCE_EXHAUSTED", "INVALID_ARGUMENT", "PERMISSION_DENIED", "FAILED_PRECONDITION"})


def _shape(data: Any) -> str:
    """Whose envelope this is, when no other provider's looks like it."""
    if not isinstance(data, dict):
        return ""
    if "base_resp" in data:
        return "minimax"
    if isinstance(data.get("errors"), list) and "success" in data:
        return "cloudflare"
    if data.get("type") == "error" and isinstance(data.get("error"), dict):
        return "anthropic"
    if isinstance(data.get("code"), int) and data["code"] > 9999 and "data" in data:  # noqa: PLR2004
        return "siliconflow"
    error = data.get("error")
    return _error_shape(error) if isinstance(error, dict) else ""


def _error_shape(error: dict[str, Any]) -> str:
    if str(error.get("status")) in _GOOGLE or any(isinstance(one, dict) and "@type" in one for one in _list(error)):
        return "google"
    code = error.get("code")
    if isinstance(code, str) and len(code) == 4 and code.isdigit() and code.startswith("1"):  # noqa: PLR2004
        return "zai"
    metadata = error.get("metadata")
    named = isinstance(metadata, dict) and ("provider_name" in metadata or "limit_source" in metadata)
    return "openrouter" if named else ""


def _list(error: dict[str, Any]) -> list[Any]:
    details = error.get("details")
    return details if isinstance(details, list) else []
