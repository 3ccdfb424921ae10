"""``zc ask``: one prompt through the chain."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from zc_notebooks.cli.output import answer, attempt_json, emit, fail, hops_json, report, say
from zc_notebooks.errors import ZcError, variant_name
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.records import Variant
from zc_notebooks.result import Completion

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


def ask(
    prompt: Annotated[str, typer.Argument(help="The prompt, or - to read standard input.")],
    start: Annotated[str | None, typer.Option(metavar="REF[/MODEL]", help="Candidate to start with.")] = None,
    hint: Annotated[str | None, typer.Option(help="Name of a route.")] = None,
    no_fallback: Annotated[bool, typer.Option("--no-fallback", help="The start candidate alone.")] = False,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Limit of the answer in tokens.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds for the whole call.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer one prompt through the chain: the answer on standard output, hops on standard error."""
    import zc_notebooks as zc

    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        fail("the prompt is empty: give one, or - and some standard input")
    try:
        chain = zc.open(on_failover=None if as_json else _hop, quiet=as_json)
    except ZcError as error:
        report(error, as_json=as_json)
    with chain:
        try:
            done = chain.ask_sync(
                text, start=start, hint=hint, fallback=not no_fallback, max_tokens=max_tokens, timeout_s=timeout
            )
        except (ZcError, InvalidRequest) as error:
            report(error, as_json=as_json)
    if as_json:
        emit(completion_json(done))
        return
    answer(done.text)
    say(summary(done))


def _hop(origin: Variant, to: Variant, reason: str) -> None:
    say(f"hop {variant_name(origin)} -> {variant_name(to)}: {reason}")


def summary(done: Completion) -> str:
    """Who served, how long it took, how many attempts, what it cost."""
    tried = sum(row.kind == "attempt" for row in done.attempts)
    skipped = len(done.attempts) - tried
    attempts = f"{tried} attempt{'s' if tried != 1 else ''}" + (f", {skipped} skipped" if skipped else "")
    named = done.served.model_reported
    other = f" (the response says {named})" if named and named != done.served.model else ""
    return (
        f"served by {done.served.provider_ref}/{done.served.model}{other}, {done.secs:.2f} s, {attempts}, {cost(done)}"
    )


def cost(done: Completion) -> str:
    """``cost $0.000123``, ``cost at least …`` or ``cost unknown``."""
    if done.cost_usd is None or (done.at_least and not done.cost_usd):
        return "cost unknown"
    figure = f"{done.cost_usd:.6f}".rstrip("0").rstrip(".")
    return f"cost {'at least ' if done.at_least else ''}${figure}"


def completion_json(done: Completion) -> dict[str, Any]:
    """The documented form of ``zc ask --json``."""
    return {
        "call_id": done.call_id,
        "text": done.text,
        "finish_reason": done.finish_reason,
        "served": done.served,
        "requested": {"provider_ref": done.requested.provider_ref, "model": done.requested.model},
        "attempts": [attempt_json(row) for row in done.attempts],
        "hops": hops_json(done.hops),
        "usage_by_provider": done.usage_by_provider,
        "cost_usd": done.cost_usd,
        "at_least": done.at_least,
    }
