"""Blocks in generators: what a loop left early leaves behind, and what must stay (spec 9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextvars import copy_context

import pytest

import zc_notebooks as zc
from zc_notebooks.borders import allowlist


async def inside(ref: str) -> AsyncGenerator[frozenset[str] | None]:
    """A border around what a generator yields."""
    with zc.allowed(ref):
        yield allowlist()
        yield allowlist()


async def closed() -> None:
    """Generators that were dropped are closed by tasks of the loop's own."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_a_loop_left_early_leaves_no_border_behind() -> None:
    """The generator ends in another task; the one that looped over it, its threads and its later tasks are free."""

    async def run() -> list[frozenset[str] | None]:
        async for _ in inside("a.b"):
            break
        await closed()
        here = allowlist()
        return [here, await asyncio.to_thread(allowlist), await asyncio.create_task(_look())]

    assert asyncio.run(run()) == [None, None, None]


def test_a_task_begun_inside_keeps_the_border_that_ended_elsewhere() -> None:
    """Whoever began inside stays inside, however the block ended."""

    async def run() -> list[frozenset[str] | None]:
        go = asyncio.Event()

        async def later() -> frozenset[str] | None:
            await go.wait()
            return allowlist()

        async for _ in inside("a.b"):
            task, context = asyncio.create_task(later()), copy_context()
            break
        await closed()
        assert allowlist() is None
        go.set()
        return [await task, await asyncio.to_thread(context.run, allowlist)]

    assert asyncio.run(run()) == [frozenset({"a.b"})] * 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_blocks_that_end_in_any_order(order: tuple[int, int]) -> None:
    """The one that is still open holds; when both have ended, nothing does."""

    async def run() -> None:
        both = [inside("a.b"), inside("a.b")]
        for each in both:
            await anext(each)
        for place, number in enumerate(order):
            assert allowlist() == frozenset({"a.b"}), place
            await both[number].aclose()
        assert allowlist() is None

    asyncio.run(run())


def test_plain_generators_too() -> None:
    """Without any loop: two of them, the first one closed first."""

    def plain(ref: str) -> Iterator[frozenset[str] | None]:
        with zc.allowed(ref):
            yield allowlist()

    first, second = plain("a.b"), plain("a.b")
    assert [next(first), next(second)] == [frozenset({"a.b"})] * 2
    first.close()  # type: ignore[attr-defined]
    assert allowlist() == frozenset({"a.b"})
    second.close()  # type: ignore[attr-defined]
    assert allowlist() is None


def test_a_context_taken_inside_keeps_the_border() -> None:
    """Also in the thread it was taken in, after the block."""
    with zc.allowed("a.b"):
        context = copy_context()
    assert (context.run(allowlist), allowlist()) == (frozenset({"a.b"}), None)


async def _look() -> frozenset[str] | None:
    return allowlist()
