"""``zc ask``: one prompt through the chain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zc_notebooks.budget.amounts import dollars
from zc_notebooks.chat import Hop
from zc_notebooks.cli import Ended
from zc_notebooks.cli.output import answer, attempt_json, emit, fail, hops_json, piece, read_input, report, say
from zc_notebooks.errors import CandidateFailure, StreamCancelledAfterOutput, TurnCancelled, ZcError, variant_name
from zc_notebooks.events import Final, Notice, Text
from zc_notebooks.markup import counted
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import Variant
from zc_notebooks.result import Completion

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain
    from zc_notebooks.ledger.row import AttemptRow
    from zc_notebooks.messages import Prompt
    from zc_notebooks.routing.effort import Telemetry

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
Start = Annotated[
    str | None, typer.Option("--start", "--provider", metavar="REF[/MODEL]", help="Candidate to start with.")
]
Model = Annotated[str | None, typer.Option(help="Model to ask the start for, or hint:NAME.")]
Hint = Annotated[str | None, typer.Option(help="Name of a route.")]
System = Annotated[str | None, typer.Option(help="An instruction before the prompt.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Limit of each answer in tokens.")]


def ask(
    prompt: Annotated[str, typer.Argument(help="The prompt, or - to read standard input.")],
    start: Start = None,
    model: Model = None,
    hint: Hint = None,
    no_fallback: Annotated[bool, typer.Option("--no-fallback", help="The start candidate alone.")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Print the answer while it comes.")] = False,
    system: System = None,
    image: Annotated[list[str] | None, typer.Option(help="An image file to send along; may be repeated.")] = None,
    schema: Annotated[Path | None, typer.Option(help="A JSON schema file the answer must follow.")] = None,
    max_tokens: MaxTokens = None,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds for the whole call.")] = None,
    budget: Annotated[
        float | None, typer.Option(min=0.0, metavar="USD", help="What the call may cost at most.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer one prompt through the chain: the answer on standard output, hops on standard error."""
    import zc_notebooks as zc

    options = {
        "start": start,
        "model": model,
        "hint": hint,
        "fallback": not no_fallback,
        "system": system,
        "images": tuple(Path(name) for name in image or ()),
        "response_format": None if schema is None else read_schema(schema),
        "max_tokens": max_tokens,
        "timeout_s": timeout,
        "budget_usd": budget,
    }
    text = read_prompt(prompt)
    try:
        seen = _Seen()
        told: dict[str, Any] = seen.hooks() if as_json else {"on_failover": _hop, "on_decision": _decided}
        with zc.open(quiet=as_json, **told) as chain:
            done = show_stream(chain, text, options) if stream and not as_json else chain.ask_sync(text, **options)
    except (ZcError, InvalidRequest) as error:
        report(error, as_json=as_json)
    except KeyboardInterrupt:
        if not as_json:
            raise
        report(seen.cancelled(), as_json=True)
    if as_json:
        emit(completion_json(done))
        return
    if not stream:
        answer(done.said)
        if done.notice is not None:  # a stream has said it
            say(done.notice)
    remark(done)


class _Seen:
    """What has happened in a call so far, for one that is cancelled."""

    def __init__(self) -> None:
        self._rows: list[AttemptRow] = []
        self._hops: list[Hop] = []

    def hooks(self) -> dict[str, Any]:
        """For the chain."""
        return {"on_attempt": self._rows.append, "on_failover": self._hop}

    def cancelled(self) -> TurnCancelled:
        """The call's end."""
        error = TurnCancelled("cancelled", [CandidateFailure(row=row) for row in self._rows])
        error.hops = tuple(self._hops)
        return error

    def _hop(self, origin: Variant, to: Variant, reason: str) -> None:
        self._hops.append(Hop(origin=variant_name(origin), to=variant_name(to), reason=reason))


def read_prompt(prompt: str) -> str:
    """The prompt itself, or standard input for ``-``. An empty one ends the command."""
    if prompt == "-":
        prompt = read_input().decode("utf-8", "replace")
    if not prompt.strip():
        fail("the prompt is empty: give one, or - and some standard input")
    return prompt


def read_schema(path: Path) -> dict[str, Any]:
    """A JSON schema from a file; a file that holds none ends the command."""
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"{path} cannot be read ({error.strerror})")
    except ValueError as error:
        fail(f"{path} is not JSON ({error})")
    if not isinstance(schema, dict):
        fail(f"{path} is no JSON schema: an object is needed")
    return schema


def show_stream(chain: Chain, prompt: Prompt, options: dict[str, Any]) -> Completion:
    """Prints text as it comes, notices as remarks. An interruption ends the line first."""
    shown = open_line = False
    stream = chain.stream_sync(prompt, **options)
    try:
        for event in stream:
            if isinstance(event, Text):
                piece(event.text)
                shown = open_line = True
            elif isinstance(event, Notice | Final):  # what is said from here on stands in lines of its own
                if open_line:
                    piece("\n")
                    open_line = False
                if isinstance(event, Notice):
                    say(event.text)
    except KeyboardInterrupt as stop:
        raise _cancelled(stop, stream.partial_text if shown else None) from None
    finally:
        stream.close()
        if open_line:
            piece("\n")
    if stream.completion is None:
        raise RuntimeError("the stream ended without its last event")
    done = stream.completion
    if done.tool_calls:
        answer(done.said[len(done.text) :].lstrip("\n"))
    return done


def _cancelled(stop: KeyboardInterrupt, partial: str | None) -> BaseException:
    """Ctrl-C ends one answer; who ends the process ends everything."""
    if isinstance(stop, Ended):
        return stop
    words = "cancelled"
    return TurnCancelled(words) if partial is None else StreamCancelledAfterOutput(words, partial_text=partial)


def remark(done: Completion) -> None:
    """What is to be said of an answer once it stands there: that it was cut, and who gave it at what cost."""
    if done.cut:
        say(done.cut)
    say(summary(done))


def _decided(facts: Telemetry) -> None:
    say(f"effort {facts.tier} (length {facts.length}, policy {facts.policy}): goes to {facts.target}")


def _hop(origin: Variant, to: Variant, reason: str) -> None:
    say(f"hop {variant_name(origin)} -> {variant_name(to)}: {reason}")


def summary(done: Completion) -> str:
    """Who served, how long it took, how many attempts, what it cost."""
    tried = sum(row.kind == "attempt" for row in done.attempts)
    skipped = len(done.attempts) - tried
    attempts = counted(tried, "attempt") + (f", {skipped} skipped" if skipped else "")
    other = f" ({done.served.mismatch})" if done.served.mismatch else ""
    return (
        f"served by {done.served.provider_ref}/{done.served.model}{other}, {done.secs:.2f} s, {attempts}, {cost(done)}"
    )


def cost(done: Completion) -> str:
    """``cost $0.000123``, ``cost at least …`` or ``cost unknown``."""
    if done.cost_usd is None or (done.at_least and not done.cost_usd):
        return "cost unknown"
    return f"cost {'at least ' if done.at_least else ''}{dollars(done.cost_usd)}"


def completion_json(done: Completion) -> dict[str, Any]:
    """The documented form of ``zc ask --json``; ``notice`` is there when there is one."""
    return {
        "call_id": done.call_id,
        "text": done.text,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments, "raw": call.raw} for call in done.tool_calls
        ],
        "finish_reason": done.finish_reason,
        "served": done.served,
        "requested": {"provider_ref": done.requested.provider_ref, "model": done.requested.model},
        "attempts": [attempt_json(row) for row in done.attempts],
        "hops": hops_json(done.hops),
        "usage_by_provider": done.usage_by_provider,
        "cost_usd": done.cost_usd,
        "at_least": done.at_least,
        **({} if done.notice is None else {"notice": done.notice}),
    }
