"""The share of the stream guard in decoding: what judges a stream and takes thinking out of its text, run alone.

``guard`` decodes a stream and, in turn with it, repeats the guard's part on the very events of that stream: for each
one the evidence is looked at and noted and its text goes through the ``<think>`` filter; at the end comes the
judgement. The loop around that counts for the guard, so its share is an upper bound. The best round of each counts.
"""

from __future__ import annotations

import argparse

from tests.perf.measure import Targets
from tests.perf.parse import Parser, anthropic_stream, chat_stream, cut, interleaved, ours, responses_stream
from zc_notebooks.chat import Text
from zc_notebooks.records import WireName
from zc_notebooks.stream_guard.completion import StreamJudge
from zc_notebooks.stream_guard.think import ThinkFilter
from zc_notebooks.wire.assemble import AnswerBuilder
from zc_notebooks.wire.registry import wire

SHARE = 0.10
"""Of the decode time the guard may take."""


def texts(name: WireName, pieces: list[bytes]) -> list[str]:
    """The text deltas of a stream."""
    decoder = wire(name).decoder({}, anthropic_completion="stop_reason")
    return [event.text for piece in pieces for event in decoder.feed(piece) if isinstance(event, Text)]


def guard(deltas: list[str]) -> Parser:
    """The guard's part in a stream of ``deltas``."""

    def run(_: list[bytes]) -> int:
        judge, think, shown = StreamJudge("its end"), ThinkFilter(), 0
        for delta in deltas:
            judge.started = True
            if judge.closed:
                break
            visible, _thought = think.feed(delta)
            shown += bool(visible)
        judge.complete("finish_reason=stop")
        judge.done()
        judge.end(AnswerBuilder({}))
        return shown

    return run


def run(arguments: list[str]) -> int:
    """Prints the share on each wire. ``--check`` makes a missed target the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf guard", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--chunks", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    bodies: dict[WireName, bytes] = {
        "openai_chat": chat_stream(options.chunks),
        "openai_responses": responses_stream(options.chunks),
        "anthropic_messages": anthropic_stream(options.chunks),
    }
    targets = Targets()
    print(
        f"\n{options.chunks:,} chunks; best of {options.rounds}\n  {'':22}{'decode µs':>11}{'guard µs':>11}{'share':>8}"
    )
    for name, body in bodies.items():
        pieces = cut(body)
        deltas = texts(name, pieces)
        best = interleaved({"decode": (ours(name), pieces), "guard": (guard(deltas), pieces)}, options.rounds)
        each = {part: seconds / len(deltas) * 1e6 for part, seconds in best.items()}
        share = each["guard"] / each["decode"]
        print(f"  {name:22}{each['decode']:11.2f}{each['guard']:11.3f}{share:8.3f}", flush=True)
        targets.at_most(f"{name}: guard / decode", share, SHARE)
    return targets.show(check=options.check)
