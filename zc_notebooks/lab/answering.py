"""Decides what one request gets and puts it into the family's form."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

from zc_notebooks.lab.account import Account, Refusal
from zc_notebooks.lab.asked import Asked, Route
from zc_notebooks.lab.breaking import big_error, broken_body, broken_stream
from zc_notebooks.lab.conversation import Conversation, Unreadable, decode_request, dump
from zc_notebooks.lab.dialect import family
from zc_notebooks.lab.failures import Failure, Rendered, failure, failures, moment_of, render
from zc_notebooks.lab.faults import End, Fault, Pause, Playing, fault
from zc_notebooks.lab.headers import rate_headers
from zc_notebooks.lab.listing import listing, probe
from zc_notebooks.lab.reply import Ids, Reply, Telling
from zc_notebooks.lab.scenario import ModelSpec
from zc_notebooks.lab.speaking import speak
from zc_notebooks.lab.tampering import said_usage, tampered
from zc_notebooks.lab.wires import CONTENT_TYPES, codec

if TYPE_CHECKING:
    from zc_notebooks.lab.provider import Provider

Note = Callable[..., None]
_FAMILY_STATUS = {
    400: "bad_request", 401: "auth", 402: "balance", 403: "permission", 404: "not_found", 429: "rate",
    500: "server_error", 503: "capacity",
}  # fmt: skip
_BEFORE_ANYTHING = ("reset", "hang", "html", "redirect", "status", "big_error", "empty_body")
_PROBED_REASONS = ("auth", "server_error", "network")


class Answering:
    """One request on its way through a provider."""

    def __init__(self, provider: Provider, asked: Asked, route: Route, place: int, note: Note) -> None:
        self._provider = provider
        self._spec = provider.spec
        self._asked = asked
        self._route = route
        self._place = place
        self._note = note
        self._now = asked.at
        self._ids = Ids(f"{provider.random('ids', place, route.operation).random()}")
        self._conversation: Conversation | None = None
        self._fault: Fault | None = None

    def answer(self) -> Playing:
        """The response."""
        if self._route.operation != "chat":
            return self._beside()
        unreadable = self._read()
        self._fault = self._provider.next_fault(take=True) or self._scripted()
        if self._fault is not None and self._fault.kind in _BEFORE_ANYTHING:
            return self._without_answer(self._fault)
        if self._fault is not None and self._fault.kind == "failure":
            return self._refuse(Refusal(failure=self._fault.failure or "server_error"), self._fault)
        refusal = self._refusal(unreadable)
        if refusal is not None:
            return self._refuse(refusal)
        return self._say()

    def _read(self) -> Unreadable | None:
        """Decodes the request; what is wrong with it is answered later, after the key."""
        wire = self._route.wire or "openai_chat"
        try:
            self._conversation = decode_request(wire, self._asked.target, self._asked.body)
        except Unreadable as error:
            self._note(wire=wire)
            return error
        request = self._conversation.request
        self._note(
            wire=wire,
            model=self._conversation.model,
            stream=self._conversation.stream,
            max_tokens=request.max_tokens,
            conversation=self._conversation,
        )
        return None

    def _refusal(self, unreadable: Unreadable | None) -> Refusal | None:
        """Everything that can stand in the way, in the order a provider looks at it."""
        wires = {*family(self._spec.family).paths, self._spec.wire}
        if self._route.wire not in wires:
            return Refusal(failure="custom.no_such_path", numbers={"message": self._asked.path})
        bad_key = self._bad_key()
        if bad_key is not None:
            return bad_key
        if unreadable is not None or self._conversation is None:
            return Refusal(failure="bad_request", numbers={"message": str(unreadable)})
        return self._unfit(self._conversation)

    def _bad_key(self) -> Refusal | None:
        key = self._asked.key
        if not self._spec.keys or key in self._spec.keys:
            return None
        unknown = f"{self._spec.family}.unknown_key"
        return Refusal(failure=unknown if key and unknown in failures() else "auth")

    def _scripted(self) -> Fault | None:
        """What the scenario's script, its failures by chance and its outages have for this request."""
        spec, place, model = self._spec, self._place, self._model
        if place <= len(spec.script):
            word = spec.script[place - 1]
            return None if word == "ok" else fault(word)
        for number, flaky in enumerate(spec.flaky):
            chance = self._provider.random("flaky", number, place).random()
            if chance < flaky.probability and any(fnmatchcase(model, pattern) for pattern in flaky.models):
                return fault(flaky.failure)
        since = (self._now - self._provider.started).total_seconds()
        for outage in spec.outages:
            if (since - outage.offset_s) % outage.every_s < outage.for_s and since >= outage.offset_s:
                return fault(outage.failure)
        return None

    def _unfit(self, conversation: Conversation) -> Refusal | None:
        model = self._spec.model(conversation.model)
        if model is None:
            return Refusal(failure="not_found")
        if conversation.operation == "count_tokens":
            return None
        if conversation.images and not model.vision:
            return Refusal(failure="bad_request", numbers={"message": f"{model.id} does not support image input."})
        if conversation.request.tools and not model.tools:
            return Refusal(failure="bad_request", numbers={"message": f"{model.id} does not support tools."})
        if conversation.input_tokens > model.window:
            return Refusal(failure="context", numbers={"requested": conversation.input_tokens, "window": model.window})
        return self._account.refuses(conversation, model, self._now, self._asked.number)

    def _say(self) -> Playing:
        conversation = self._conversation
        model = None if conversation is None else self._spec.model(conversation.model)
        if conversation is None or model is None:
            raise AssertionError("an answer needs a readable request and a known model")
        nth = self._provider.nth(model.id, conversation.last_user)
        draw = self._provider.random("draw", model.id, nth, conversation.last_user)
        reply = tampered(speak(conversation, model, draw=draw, ids=self._ids), self._fault, self._ids)
        cost = 0.0
        if conversation.operation != "count_tokens":
            cost = self._account.charge(reply, model, self._now, self._asked.number)
        return self._told(reply, conversation, model, cost)

    def _told(self, reply: Reply, conversation: Conversation, model: ModelSpec, cost: float) -> Playing:
        wire, broken = codec(conversation.wire), self._fault
        kind = None if broken is None else broken.kind
        telling = Telling(
            conversation=conversation,
            dialect=self._provider.dialect,
            reported="another-model" if kind == "other_model" else (model.reports or model.id),
            now=self._now,
            id=self._ids.hex(24),
            family=self._spec.family,
            usage=said_usage(broken),
            finish=kind != "no_finish",
            cost_usd=cost,
        )
        headers = self._headers(model.id)
        headers["content-type"] = CONTENT_TYPES[conversation.framing]
        hint_s = self._provider.dialect.success_wait_s
        if hint_s and self._provider.random("hint", self._place).random() < 1 / 9:
            headers["retry-after"] = str(hint_s)
        error = self._in_band(broken)
        late = Pause(seconds=self._delay_s(self._spec.latency_ms))
        answered = "ok" if kind is None else kind
        if conversation.stream and kind != "ok_error_body":
            chunk_s = self._spec.chunk_ms * self._provider.latency / 1000
            steps = broken_stream(wire.frames(reply, telling), broken, conversation, chunk_s=chunk_s, error=error)
            return Playing(status=200, headers=headers, steps=_after(late, steps), streamed=True, answered=answered)
        headers["content-type"] = CONTENT_TYPES["none"]
        if kind == "ok_error_body":
            return Playing(status=200, headers=headers, steps=(late, dump(error).encode()), answered=answered)
        body = dump(wire.whole(reply, telling)).encode()
        if self._provider.dialect.blank_lines:
            body = b"\n\n" + body
        return Playing(
            status=200, headers=headers, steps=_after(late, broken_body(body, broken, error)), answered=answered
        )

    def _refuse(self, refusal: Refusal, broken: Fault | None = None) -> Playing:
        rendered = self._rendered(refusal)
        headers = {**self._headers(self._model), **rendered.headers}
        if broken is not None and broken.retry_after_s is not None:
            headers["retry-after"] = f"{broken.retry_after_s:g}"
        if rendered.body.startswith((b"data:", b"event:", b": ")):
            headers["content-type"] = CONTENT_TYPES["sse"]
        late = Pause(seconds=self._delay_s(self._spec.refusal_ms))
        return Playing(status=rendered.status, headers=headers, steps=(late, rendered.body), answered=rendered.name)

    @property
    def _account(self) -> Account:
        return self._provider.account(self._asked.key)

    @property
    def _model(self) -> str:
        return "" if self._conversation is None else self._conversation.model

    def _rendered(self, refusal: Refusal) -> Rendered:
        chosen = self._on_this_wire(failure(refusal.failure, self._spec.family))
        numbers: dict[str, Any] = {
            "wire": self._route.wire or "openai_chat",
            "framing": "none" if self._conversation is None else self._conversation.framing,
            "seed": self._ids.hex(16),
            "model": self._model or None,
            **refusal.numbers,
        }
        moment = moment_of(chosen, self._now, **numbers)
        if "until" not in refusal.numbers:
            moment = msgspec.structs.replace(moment, until=self._provider.until(chosen, moment.until))
        return render(chosen, moment)

    def _on_this_wire(self, chosen: Failure) -> Failure:
        """The failure, or what stands for it where the wire or the missing stream has no place for it."""
        streamed = self._conversation is not None and self._conversation.stream
        if chosen.when == "stream" and not streamed:
            return failure(chosen.otherwise, chosen.family)
        if chosen.wires and self._route.wire not in chosen.wires:
            return failure(f"custom.{chosen.otherwise if chosen.status == 200 else chosen.kind}")  # noqa: PLR2004
        return chosen

    def _in_band(self, broken: Fault | None) -> object:
        """The provider's error as plain data, for faults that put one into an answer."""
        if broken is None or broken.kind not in ("error_event", "error_after_finish", "ok_error_body"):
            return None
        rendered = self._rendered(Refusal(failure=broken.failure or "capacity"))
        try:
            error = msgspec.json.decode(rendered.body)
        except msgspec.DecodeError:
            error = {"error": {"message": rendered.body.decode(errors="replace"), "type": "server_error"}}
        return error[0] if isinstance(error, list) else error

    def _without_answer(self, broken: Fault) -> Playing:
        """Faults that need no answer to break."""
        delay = Pause(seconds=self._delay_s(self._spec.refusal_ms))
        if broken.kind in ("reset", "hang"):
            end = End(how="reset") if broken.kind == "reset" else End(how="stall")
            return Playing(status=0, headers={}, steps=(end,), answered=broken.kind)
        if broken.kind == "redirect":
            headers = {**self._headers(self._model), "location": broken.to}
            return Playing(status=307, headers=headers, steps=(delay, b""), answered="redirect")
        if broken.kind == "big_error":
            headers = {"content-type": "application/json"}
            return Playing(
                status=500,
                headers=headers,
                steps=_after(delay, big_error(broken.size)),
                streamed=True,
                answered="big_error",
            )
        if broken.kind == "empty_body":
            return Playing(status=200, headers=self._headers(self._model), steps=(delay, b""), answered="empty_body")
        if broken.kind == "html":
            return self._refuse(Refusal(failure="custom.login_page"), broken)
        kind = _FAMILY_STATUS.get(broken.status, "server_error" if broken.status >= 500 else "bad_request")  # noqa: PLR2004
        playing = self._refuse(Refusal(failure=f"custom.{kind}"), broken)
        if broken.retry_after_s is None:
            playing.headers.pop("retry-after", None)
        return msgspec.structs.replace(playing, status=broken.status, answered=f"status:{broken.status}")

    def _beside(self) -> Playing:
        """Model lists and zero-token probes: they see keys and dead servers, not quotas."""
        broken = self._provider.next_fault(take=False)
        if broken is not None and broken.kind in _BEFORE_ANYTHING:
            return self._without_answer(broken)
        if broken is not None and broken.failure is not None:
            chosen = failure(broken.failure, self._spec.family)
            if chosen.reason in _PROBED_REASONS:
                return self._refuse(Refusal(failure=chosen.name))
        public = self._spec.family in ("openrouter", "huggingface", "nvidia") and self._route.operation == "models"
        refusal = None if public else self._bad_key()
        if refusal is None and self._route.operation == "unknown":
            refusal = Refusal(failure="custom.no_such_path", numbers={"message": self._asked.path})
        if refusal is not None:
            return self._refuse(refusal)
        if self._route.operation == "models":
            status, body = listing(self._provider, self._route.ending, self._now)
        else:
            status, body = probe(self._provider, self._account, self._route.ending, self._now)
        headers = {"content-type": "application/json"}
        late = Pause(seconds=self._delay_s(self._spec.refusal_ms))
        return Playing(status=status, headers=headers, steps=(late, dump(body).encode()))

    def _headers(self, model: str) -> dict[str, str]:
        levels = self._account.levels(model, self._now)
        told = rate_headers(self._provider.dialect.headers, levels)
        request_id = "request-id" if self._spec.family == "anthropic" else "x-request-id"
        return {**told, request_id: f"req_{self._ids.hex(24)}"}

    def _delay_s(self, milliseconds: float) -> float:
        chance = self._provider.random("delay", self._place).random()
        return milliseconds * (0.8 + 0.4 * chance) * self._provider.latency / 1000


def _after(late: Pause, steps: Any) -> Any:
    yield late
    yield from steps
