"""Decoding streams into events, interleaved with other parsers of the same bytes.

``parse`` decodes about 5 MB of an OpenAI chat stream, cut as the network cuts it, again and again, each parser in turn.
The best round of each counts: noise of the machine only ever adds.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator

from zc_notebooks.records import WireName
from zc_notebooks.wire.registry import wire

READ_SIZE = 16 * 1024
"""Bytes of one piece, as much as a TLS record."""

TARGET_US = 3.0
"""Microseconds a chunk of an OpenAI chat stream may take, events and all."""

Parser = Callable[[list[bytes]], int]
"""Reads a stream given in pieces; returns how many text deltas it saw."""


def chat_stream(chunks: int) -> bytes:
    """A chat stream with ``chunks`` text chunks of about 330 bytes, usage and ``[DONE]``."""
    head = (
        '{"id":"chatcmpl-0123456789abcdefghijklmnopq","object":"chat.completion.chunk","created":1790000000,'
        '"model":"gpt-5-mini-2025-08-07","service_tier":"default","system_fingerprint":"fp_0123456789",'
    )
    events = [
        f'{head}"choices":[{{"index":0,"delta":{{"content":" word{number % 89}"}},'
        '"logprobs":null,"finish_reason":null}],'
        f'"usage":null,"obfuscation":"{number:08x}"}}'
        for number in range(chunks)
    ]
    events.append(f'{head}"choices":[{{"index":0,"delta":{{}},"logprobs":null,"finish_reason":"stop"}}],"usage":null}}')
    events.append(f'{head}"choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":{chunks},"total_tokens":9}}}}')
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()


def anthropic_stream(chunks: int) -> bytes:
    """A message stream with ``chunks`` text deltas."""
    events = [
        f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":" word{number % 89}"}}      }}'
        for number in range(chunks)
    ]
    events.append('{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}')
    return "".join(f"event: {json.loads(event)['type']}\ndata: {event}\n\n" for event in events).encode()


def responses_stream(chunks: int) -> bytes:
    """A Responses stream with ``chunks`` text deltas."""
    return "".join(
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":'
        f'{number},"item_id":"msg_0123456789","output_index":0,"content_index":0,"delta":" word{number % 89}",'
        f'"logprobs":[],"obfuscation":"{number:08x}"}}\n\n'
        for number in range(chunks)
    ).encode()


def ours(name: WireName) -> Parser:
    """The wire's own decoder, every event built."""

    def parse(pieces: list[bytes]) -> int:
        decoder = wire(name).decoder({}, anthropic_completion="stop_reason")
        seen = sum(len(decoder.feed(piece)) for piece in pieces)
        decoder.finish(interrupted="idle")
        return seen

    return parse


def lines_and_json(pieces: list[bytes]) -> int:
    """What is written by hand: text lines, ``data: ``, ``json.loads``. No event, no judgement."""
    seen = 0
    for line in _lines(pieces):
        if line.startswith("data: ") and line != "data: [DONE]":
            choices = json.loads(line[6:])["choices"]
            seen += bool(choices and choices[0]["delta"].get("content"))
    return seen


def _lines(pieces: list[bytes]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *lines, rest = (rest + piece.decode()).split("\n")
        yield from lines


def sse_library() -> Parser | None:
    """``httpx-sse`` and ``json``, when it is installed."""
    try:
        from httpx_sse import EventSource
    except ImportError:
        return None
    import httpx

    def parse(pieces: list[bytes]) -> int:
        response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Pieces(pieces))
        seen = 0
        for event in EventSource(response).iter_sse():
            if event.data != "[DONE]":
                choices = json.loads(event.data)["choices"]
                seen += bool(choices and choices[0]["delta"].get("content"))
        return seen

    return parse


def vendor_sdk() -> Parser | None:
    """The official client over a transport that answers from memory, when it is installed."""
    try:
        import openai
    except ImportError:
        return None
    import httpx

    def parse(pieces: list[bytes]) -> int:
        def answer(_request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Pieces(pieces))

        client = openai.OpenAI(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(answer)))
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
        return sum(bool(chunk.choices and chunk.choices[0].delta.content) for chunk in stream)

    return parse


def _Pieces(pieces: list[bytes]) -> object:  # noqa: N802 (stands for a class of a library that loads late)
    import httpx

    class Stream(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from pieces

    return Stream()


def cut(body: bytes, size: int = READ_SIZE) -> list[bytes]:
    """``body`` in pieces of ``size`` bytes."""
    return [body[start : start + size] for start in range(0, len(body), size)]


def interleaved(parsers: dict[str, tuple[Parser, list[bytes]]], rounds: int) -> dict[str, float]:
    """Seconds of the best round of each parser."""
    best = dict.fromkeys(parsers, float("inf"))
    for _ in range(rounds):
        for name, (parser, pieces) in parsers.items():
            gc.collect()
            start = time.perf_counter()
            parser(pieces)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def run(args: list[str]) -> int:
    """Prints µs a chunk, MB/s and chunks/s of each parser; ``--check``: 1 when ours takes more than the target."""
    options = argparse.ArgumentParser(prog="parse", description=run.__doc__)
    options.add_argument("--chunks", type=int, default=15_000)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--check", action="store_true")
    wanted = options.parse_args(args)
    bodies = {
        "openai_chat": chat_stream(wanted.chunks),
        "openai_responses": responses_stream(wanted.chunks),
        "anthropic_messages": anthropic_stream(wanted.chunks),
    }
    chat = cut(bodies["openai_chat"])
    parsers: dict[str, tuple[Parser, list[bytes]]] = {"this package: openai_chat": (ours("openai_chat"), chat)}
    parsers["this package: openai_chat, an event a read"] = (ours("openai_chat"), _by_event(bodies["openai_chat"]))
    for name in ("openai_responses", "anthropic_messages"):
        parsers[f"this package: {name}"] = (ours(name), cut(bodies[name]))  # type: ignore[arg-type]
    parsers["lines + json (no events)"] = (lines_and_json, chat)
    for name, parser in (("httpx-sse + json (no events)", sse_library()), ("openai SDK", vendor_sdk())):
        if parser is None:
            print(f"{name}: not installed, skipped")
        else:
            parsers[name] = (parser, chat)
    _check({name: (parser, pieces) for name, (parser, pieces) in parsers.items() if pieces is chat}, wanted.chunks)
    best = interleaved(parsers, wanted.rounds)
    print(f"\n{wanted.chunks:,} chunks, {len(bodies['openai_chat']) / 1e6:.1f} MB of chat; best of {wanted.rounds}")
    print(f"{'parser':46} {'µs/chunk':>9} {'MB/s':>7} {'chunks/s':>11} {'× ours':>7}")
    base = best["this package: openai_chat"]
    for name, seconds in best.items():
        size = sum(map(len, parsers[name][1]))
        print(
            f"{name:46} {seconds / wanted.chunks * 1e6:9.2f} {size / seconds / 1e6:7.0f} "
            f"{wanted.chunks / seconds:11,.0f} {seconds / base:7.2f}"
        )
    missed = base / wanted.chunks * 1e6 > TARGET_US
    print(f"target: at most {TARGET_US} µs a chunk, events and all: {'missed' if missed else 'met'}")
    return int(missed and wanted.check)


def _by_event(body: bytes) -> list[bytes]:
    return [event + b"\n\n" for event in body.split(b"\n\n") if event]


def _check(parsers: dict[str, tuple[Parser, list[bytes]]], chunks: int) -> None:
    """Every parser saw every delta (ours also gives the usage)."""
    for name, (parser, pieces) in parsers.items():
        seen = parser(pieces)
        if seen not in (chunks, chunks + 1):
            raise SystemExit(f"{name} saw {seen} of {chunks} deltas")
