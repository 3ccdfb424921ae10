"""The cooldown board: what sets a mark, until when, whom it benches, and who may probe (spec 7)."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest

from tests.reliability.boards import DAY, HOUR, after, board, inferred, key, limit, state, stated, variant
from zc_notebooks.records import Entry, Mark, Variant, Verdict
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.reliability.mark_rules import covers
from zc_notebooks.testing import START


@pytest.mark.parametrize(
    ("verdict", "ends_s", "provenance"),
    [
        pytest.param(limit(2 * HOUR), 2 * HOUR, "stated", id="91 stated wait"),
        pytest.param(stated(after(2 * HOUR)), 2 * HOUR, "stated", id="91 stated instant"),
        pytest.param(limit(2 * HOUR, resets_at=after(7201)), 7201, "stated", id="the named instant beats the wait"),
        pytest.param(limit(), 10, "guessed", id="91 nothing stated"),
        pytest.param(inferred(after(9 * HOUR), reason="daily_limit"), 9 * HOUR, "inferred", id="91 known rule"),
        pytest.param(limit(reason="daily_limit"), 3600, "guessed", id="91 day quota, no rule"),
        pytest.param(limit(reason="token_daily_limit"), 3600, "guessed", id="91 token quota, no rule"),
        pytest.param(inferred(after(-1), reason="daily_limit"), 3600, "guessed", id="a rule that names the past"),
        pytest.param(stated(after(60 * DAY)), 32 * DAY, "stated", id="92 sixty days ahead"),
        pytest.param(limit(1e308), 32 * DAY, "stated", id="72 a wait without end"),
        pytest.param(limit(float("inf")), 32 * DAY, "stated", id="infinite"),
        pytest.param(limit(float("nan")), 10, "guessed", id="72 not a number"),
        pytest.param(limit(-1.0), 10, "guessed", id="72 negative"),
        pytest.param(limit(reason="capacity"), 10, "guessed", id="capacity as 429"),
        pytest.param(Verdict(reason="minute_limit", status=402, stated_wait_s=5.0), 5, "stated", id="98 402, a limit"),
        pytest.param(Verdict(reason="minute_limit", status=200), 10, "guessed", id="a limit inside a 200"),
        pytest.param(stated(after(DAY), reason="balance"), DAY, "stated", id="98 money with a stated reset"),
    ],
)
def test_length_and_provenance(verdict: Verdict, ends_s: float, provenance: str) -> None:
    """Behaviours 72, 91, 92, 98: a mark ends when somebody said so, else when the rule says so, else by a guess."""
    marks, _ = board()
    mark = marks.set_from(verdict, variant(), now=START)
    assert mark is not None
    assert (mark.until, mark.provenance) == (after(ends_s), provenance)
    assert marks.look(variant().key).mark == mark


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(limit(0.0), id="99 stated zero"),
        pytest.param(stated(after(0)), id="99 now"),
        pytest.param(stated(after(-5)), id="99 a past instant"),
        pytest.param(limit(0.0, reason="daily_limit"), id="99 a day quota that is over"),
        pytest.param(Verdict(reason="balance", status=402), id="98 plain balance"),
        pytest.param(inferred(after(DAY), reason="balance"), id="98 money, nobody stated when"),
        pytest.param(Verdict(reason="auth", status=401, stated_wait_s=5.0), id="98 auth"),
        pytest.param(Verdict(reason="permission", status=403, stated_wait_s=5.0), id="98 permission"),
        pytest.param(Verdict(reason="not_found", status=404, stated_wait_s=5.0), id="98 not found"),
        pytest.param(Verdict(reason="capacity", status=503, stated_wait_s=30.0), id="capacity, not as 429"),
        pytest.param(limit(50.0, reason="context_window", limit_kind="request"), id="48 an impossible request"),
        pytest.param(Verdict(reason="server_error", status=500), id="server error"),
        pytest.param(Verdict(reason="network"), id="network"),
        pytest.param(Verdict(reason="empty"), id="empty"),
    ],
)
def test_sets_no_mark(verdict: Verdict) -> None:
    """Behaviours 48, 98, 99: nothing but limits, quotas and dated money benches a candidate."""
    marks, _ = board()
    assert marks.set_from(verdict, variant(), now=START) is None
    assert state(marks, variant()) == "open"


@pytest.mark.parametrize(
    ("first", "second", "ends_s", "provenance"),
    [
        pytest.param(limit(600.0), limit(900.0), 600, "stated", id="93 later"),
        pytest.param(limit(600.0), limit(60.0), 600, "stated", id="93 earlier"),
        pytest.param(limit(600.0), limit(), 600, "stated", id="93 none"),
        pytest.param(limit(600.0), inferred(after(900)), 600, "stated", id="93 a rule"),
        pytest.param(limit(), limit(3.0), 6, "stated", id="94 a time replaces a guess"),
        pytest.param(limit(), limit(), 13, "guessed", id="94 the later of both guesses"),
        pytest.param(limit(reason="daily_limit"), limit(), 3600, "guessed", id="94 the first guess ends later"),
        pytest.param(limit(), inferred(after(5)), 5, "inferred", id="a rule replaces a guess"),
        pytest.param(inferred(after(900)), limit(60.0), 63, "stated", id="a time replaces a rule"),
        pytest.param(inferred(after(900)), limit(), 900, "inferred", id="a guess leaves a rule"),
    ],
)
def test_repeated_hit(first: Verdict, second: Verdict, ends_s: float, provenance: str) -> None:
    """Behaviours 93, 94: a second hit never moves a stated reset; better knowledge replaces worse."""
    marks, clock = board()
    marks.set_from(first, variant(), now=clock.now())
    clock.advance(3)
    mark = marks.set_from(second, variant(), now=clock.now())
    assert mark is not None
    assert (mark.until, mark.provenance) == (after(ends_s), provenance)


def test_a_hit_after_the_end_starts_anew() -> None:
    """Behaviour 104: a mark that has ended is replaced, a stated one by a guess too."""
    marks, clock = board()
    marks.set_from(limit(5.0), variant(), now=clock.now())
    clock.advance(6)
    mark = marks.set_from(limit(), variant(), now=clock.now())
    assert mark is not None
    assert (mark.until, mark.provenance) == (after(16), "guessed")


@pytest.mark.parametrize(
    ("verdict", "model", "pool", "credential", "benched"),
    [
        pytest.param(limit(60.0), "m2", "groq", "aaaaaaaa", True, id="95 unscoped: the sibling too"),
        pytest.param(limit(60.0, scope="model"), "m2", "groq", "aaaaaaaa", False, id="95 model-scoped: not"),
        pytest.param(limit(60.0, scope="model"), "m1", "groq", "aaaaaaaa", True, id="95 its own model"),
        pytest.param(limit(60.0), "m1", "groq", "bbbbbbbb", False, id="96 another key"),
        pytest.param(limit(60.0), "m1", "other", "aaaaaaaa", False, id="95 another pool"),
        pytest.param(limit(60.0, scope="credential"), "m2", "groq", "aaaaaaaa", True, id="credential-scoped"),
    ],
)
def test_whom_a_mark_benches(verdict: Verdict, model: str, pool: str, credential: str, benched: bool) -> None:
    """Behaviours 95, 96: pool and credential share a wall; the model counts only when the verdict says so."""
    marks, _ = board()
    marks.set_from(verdict, variant(), now=START)
    other = variant(model, ref="groq.second", pool=pool, credential=credential)
    assert state(marks, other) == ("cooling" if benched else "open")


def test_an_account_wide_quota_benches_what_it_covers() -> None:
    """A quota of all free models of an account benches those, whatever their name, and nothing else."""
    marks, _ = board()
    mark = marks.set_from(limit(HOUR, reason="daily_limit", covers="*:free"), variant("a/b:free"), now=START)
    assert mark is not None
    assert mark.key.model == "*:free"
    assert [state(marks, variant(name)) for name in ("a/b:free", "c:free", "c", "c:free2")] == [
        "cooling", "cooling", "open", "open",
    ]  # fmt: skip
    assert marks.look(key(None)).state == "open"


def test_a_cover_that_misses_its_own_candidate_is_not_believed() -> None:
    """The candidate that failed is benched in any case."""
    marks, _ = board()
    marks.set_from(limit(HOUR, covers="*:free"), variant("paid"), now=START)
    assert state(marks, variant("paid")) == "cooling"


@pytest.mark.parametrize(
    ("pattern", "model", "covered"),
    [
        (None, "m", True), (None, None, True), ("m", "m", True), ("m", "M", False), ("m", None, False),
        ("*", "anything", True), ("a*c", "abc", True), ("a*c", "abcd", False), ("[ab]*", "a", False),
        ("[ab]*", "[ab]x", True), ("?*", "x", False), ("a.c*", "abc", False), ("*:free", "x\n:free", True),
    ],
)  # fmt: skip
def test_model_patterns(pattern: str | None, model: str | None, covered: bool) -> None:
    """Only ``*`` is special in a mark's model, and case counts."""
    assert covers(pattern, model) is covered


def test_the_longest_live_mark_decides() -> None:
    """With marks on the pool and on the model, the gate names the one that ends last."""
    marks, clock = board()
    marks.set_from(limit(30.0), variant(), now=START)
    marks.set_from(limit(90.0, scope="model"), variant(), now=START)
    assert _ends(marks) == after(90)
    clock.advance(40)
    assert state(marks, variant()) == "cooling"
    assert state(marks, variant("m2")) == "probe"


def test_a_keyless_candidate_and_one_without_its_key_have_a_place() -> None:
    """A candidate without a credential is benched under ``-``."""
    marks, _ = board()
    base = variant()
    keyless = Variant(entry=Entry(profile=base.entry.profile, model="m1", index=0), model="m1", credential=None)
    marks.set_from(limit(60.0), keyless, now=START)
    assert state(marks, keyless) == "cooling"
    assert state(marks, base) == "open"


def test_what_a_mark_tells_people() -> None:
    """A mark names its ref and a short redacted reason; no part of a key."""
    marks, _ = board()
    text = "Rate limit reached for key sk-abcdefghijklmnop1234567890\n" + "x" * 300
    mark = marks.set_from(limit(60.0, text=text), variant(), now=START)
    assert mark is not None
    assert (mark.provider_ref, mark.reason, mark.set_at) == ("groq.free", "minute_limit", START)
    assert len(mark.text) <= 140
    assert "\n" not in mark.text
    assert "abcd" not in mark.text


# -- ends and probes ----------------------------------------------------------------------------------------------


def ended(wait_s: float = 5.0) -> tuple[Marks, Mark]:
    """A board whose one mark has just ended."""
    marks, clock = board()
    mark = marks.set_from(limit(wait_s), variant(), now=START)
    clock.advance(wait_s)
    assert mark is not None
    return marks, mark


def _ends(marks: Marks) -> object:
    mark = marks.look(variant().key).mark
    return mark and mark.until


def test_one_caller_probes_an_ended_mark() -> None:
    """Behaviour 103: the first caller gets the lease; for the others the entry is held."""
    marks, mark = ended()
    assert marks.look(key()).mark == mark
    assert state(marks, variant()) == "probe"
    lease = marks.acquire(key())
    assert lease is not None
    assert lease.until == after(65)
    assert marks.acquire(key()) is None
    gate = marks.look(key())
    assert (gate.state, gate.lease_until, gate.mark) == ("held", after(65), mark)


def test_a_successful_probe_deletes_the_mark() -> None:
    """Behaviour 104: success opens the entry for everybody."""
    marks, _ = ended()
    lease = marks.acquire(key())
    assert lease is not None
    marks.release(lease, "success")
    assert state(marks, variant()) == "open"
    assert marks.list(ended=True) == ()


def test_a_probe_that_hits_a_limit_writes_a_fresh_mark() -> None:
    """Behaviour 104: the fresh mark replaces the ended one, and the lease is gone with it."""
    marks, _ = ended()
    lease = marks.acquire(key())
    assert lease is not None
    fresh = marks.set_from(limit(30.0), variant(), now=after(5))
    marks.release(lease, "limit")
    gate = marks.look(key())
    assert (gate.state, gate.mark, gate.lease_until) == ("cooling", fresh, None)


def test_another_failure_frees_the_lease() -> None:
    """A probe that failed for another reason leaves the probe to the next caller."""
    marks, _ = ended()
    lease = marks.acquire(key())
    assert lease is not None
    marks.release(lease, "other")
    assert state(marks, variant()) == "probe"
    assert marks.acquire(key()) is not None


def test_a_dead_holder_keeps_the_entry_for_a_minute() -> None:
    """Behaviour 104: after 60 s another caller may probe, and the dead one's late word no longer counts."""
    marks, clock = board()
    marks.set_from(limit(5.0), variant(), now=START)
    clock.advance(5)
    first = marks.acquire(key())
    clock.advance(59.9)
    assert state(marks, variant()) == "held"
    clock.advance(0.1)
    assert state(marks, variant()) == "probe"
    second = marks.acquire(key())
    assert first is not None
    assert second is not None
    marks.release(first, "success")
    assert state(marks, variant()) == "held"
    marks.release(second, "success")
    assert state(marks, variant()) == "open"


def test_a_probe_takes_every_ended_mark_of_its_candidate() -> None:
    """With the pool's and the model's mark ended, one probe decides both; a sibling waits for the pool's."""
    marks, clock = board()
    marks.set_from(limit(5.0), variant(), now=START)
    marks.set_from(limit(6.0, scope="model"), variant(), now=START)
    clock.advance(7)
    lease = marks.acquire(key())
    assert lease is not None
    assert len(lease.marks) == 2
    assert state(marks, variant("m2")) == "held"
    marks.release(lease, "success")
    assert marks.list(ended=True) == ()


@pytest.mark.parametrize(("verdict", "granted"), [(limit(), True), (limit(60.0), False), (inferred(after(60)), False)])
def test_last_resort_probes_guesses_only(verdict: Verdict, granted: bool) -> None:
    """Behaviours 106, 107: a live mark is probed before its end only when nobody stated or knew that end."""
    marks, _ = board()
    marks.set_from(verdict, variant(), now=START)
    assert (marks.acquire(key()) is not None) is granted
    assert marks.acquire(key()) is None


def test_success_under_a_guessed_mark_deletes_it() -> None:
    """Behaviour 108: the last resort worked, even if no time has passed since the mark was set."""
    marks, _ = board()
    marks.set_from(limit(), variant(), now=START)
    lease = marks.acquire(key())
    assert lease is not None
    marks.release(lease, "success")
    assert state(marks, variant()) == "open"


def test_a_limit_set_by_another_call_survives_a_probes_success() -> None:
    """A mark that became another one during the probe is newer than the probe's start and stays."""
    marks, clock = board()
    marks.set_from(limit(), variant(), now=START)
    lease = marks.acquire(key())
    assert lease is not None
    clock.advance(1)
    marks.set_from(limit(300.0), variant(), now=clock.now())
    marks.release(lease, "success")
    gate = marks.look(key())
    assert (gate.state, gate.lease_until) == ("cooling", None)


def test_an_open_entry_needs_no_lease() -> None:
    """Where nothing is marked there is nothing to lease."""
    marks, _ = board()
    assert marks.acquire(key()) is None


def test_a_second_call_waits_for_the_first_ones_probe() -> None:
    """Behaviour 105: with one entry, the second call waits for the first one's probe and then goes through."""

    async def both() -> tuple[str, float]:
        marks, clock = board()
        marks.set_from(limit(5.0), variant(), now=START)
        clock.advance(5)
        lease = marks.acquire(key())
        assert lease is not None
        waiter = asyncio.create_task(marks.wait_free(key(), timeout_s=300))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiter.done()
        marks.release(lease, "success")
        return (await waiter).state, sum(clock.slept)

    state_then, slept = asyncio.run(both())
    assert state_then == "open"
    assert slept <= 1.0


@pytest.mark.parametrize(
    ("timeout_s", "state_then", "slept_s"), [(0.12, "held", 0.12), (300.0, "probe", 60.0), (0.0, "held", 0.0)]
)
def test_waiting_ends_with_the_deadline_or_the_lease(timeout_s: float, state_then: str, slept_s: float) -> None:
    """Behaviours 104, 105: who waits for a dead holder goes on after its 60 s, or at its own deadline before that."""

    async def wait() -> tuple[str, float]:
        marks, clock = board()
        marks.set_from(limit(5.0), variant(), now=START)
        clock.advance(5)
        marks.acquire(key())
        gate = await marks.wait_free(key(), timeout_s=timeout_s)
        return gate.state, sum(clock.slept)

    assert asyncio.run(wait()) == (state_then, pytest.approx(slept_s, abs=0.051))


def test_a_release_on_another_thread_and_loop_wakes_the_waiter() -> None:
    """A waiter on one event loop learns of a release made on another thread without waiting for its next look."""
    marks, clock = board()
    marks.set_from(limit(5.0), variant(), now=START)
    clock.advance(5)
    lease = marks.acquire(key())
    assert lease is not None
    listening = threading.Event()

    class Patient:
        """A clock whose sleep only ends by cancel."""

        now, monotonic = staticmethod(clock.now), staticmethod(clock.monotonic)

        async def sleep(self, _seconds: float) -> None:
            listening.set()
            await asyncio.Event().wait()

    marks._clock = Patient()  # noqa: SLF001 (the sleep must not end by itself)
    states: list[str] = []
    thread = threading.Thread(
        target=lambda: states.append(asyncio.run(marks.wait_free(key(), timeout_s=60.0)).state), daemon=True
    )
    thread.start()
    assert listening.wait(10)
    marks.release(lease, "success")
    thread.join(10)
    assert states == ["open"]


# -- successes, clearing, listing ------------------------------------------------------------------------------------


def test_a_success_deletes_older_marks_that_cover_it() -> None:
    """A success deletes the marks of its pool, model and pattern set before its attempt began, and no others."""
    marks, clock = board()
    marks.set_from(limit(600.0), variant("x:free"), now=clock.now())
    marks.set_from(limit(600.0, scope="model"), variant("x:free"), now=clock.now())
    marks.set_from(limit(600.0, covers="*:free"), variant("x:free"), now=clock.now())
    marks.set_from(limit(600.0, scope="model"), variant("other"), now=clock.now())
    marks.set_from(limit(600.0), variant("x:free", credential="bbbbbbbb"), now=clock.now())
    clock.advance(1)
    assert marks.success(variant("x:free"), clock.now()) == 3
    assert {(mark.key.credential_id, mark.key.model) for mark in marks.list()} == {
        ("aaaaaaaa", "other"),
        ("bbbbbbbb", None),
    }


def test_a_success_leaves_a_mark_set_after_it_began() -> None:
    """What was learnt during the attempt is newer than what its success proves."""
    marks, clock = board()
    started = clock.now()
    clock.advance(1)
    marks.set_from(limit(600.0), variant(), now=clock.now())
    assert marks.success(variant(), started) == 0
    assert state(marks, variant()) == "cooling"


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        pytest.param({"ref": "groq.free"}, {"openrouter.credit", "groq.other"}, id="102 by ref"),
        pytest.param({"pool": "groq"}, {"openrouter.credit"}, id="102 by pool"),
        pytest.param({"ref": "openrouter.credit", "pool": "groq"}, set(), id="ref or its pool"),
        pytest.param({"all": True}, set(), id="102 all"),
        pytest.param(
            {"ref": "groq.free", "model": "nope"}, {"openrouter.credit", "groq.other", "groq.free"}, id="model"
        ),
        pytest.param({"model": "m9"}, {"openrouter.credit", "groq.free"}, id="model alone"),
    ],
)
def test_clearing_by_hand(choice: dict[str, object], left: set[str]) -> None:
    """Behaviour 102: what is cleared is open for the next call, and the count says how many went."""
    marks, _ = board()
    marks.set_from(limit(600.0), variant(), now=START)
    marks.set_from(limit(600.0, scope="model"), variant("m9", ref="groq.other"), now=START)
    marks.set_from(limit(600.0), variant(ref="openrouter.credit", pool="or"), now=START)
    assert marks.clear(**choice) == 3 - len(left)  # type: ignore[arg-type]
    assert {mark.provider_ref for mark in marks.list()} == left


def test_clearing_nothing_in_particular_is_refused() -> None:
    """Without a name it is not everything that goes."""
    marks, _ = board()
    with pytest.raises(ValueError, match="say which marks"):
        marks.clear()


def test_the_earliest_reset_of_several() -> None:
    """Behaviour 106: the error can name the reset that opens the first candidate, and who stated it."""
    marks, _ = board()
    day, minute, open_one = variant("m1"), variant("m2"), variant("m3")
    marks.set_from(inferred(after(DAY), scope="model"), day, now=START)
    marks.set_from(limit(60.0, scope="model"), minute, now=START)
    marks.set_from(limit(90.0, scope="model"), minute, now=START)
    earliest = marks.earliest([day.key, minute.key, open_one.key])
    assert earliest is not None
    assert (earliest.until, earliest.provenance) == (after(60), "stated")
    assert marks.earliest([open_one.key]) is None


def test_listing_shows_live_marks_nearest_first() -> None:
    """Ended marks are listed on request only."""
    marks, clock = board()
    for seconds in (90.0, 5.0, 30.0):
        marks.set_from(limit(seconds, scope="model"), variant(f"m{seconds:.0f}"), now=START)
    clock.advance(10)
    assert [mark.key.model for mark in marks.list()] == ["m30", "m90"]
    assert [mark.key.model for mark in marks.list(ended=True)] == ["m5", "m30", "m90"]
    assert repr(marks) == "<Marks: 2 cooling, 1 ended, in memory>"


@pytest.mark.parametrize("jump_days", [-1, -400])
def test_a_clock_that_jumps_back_ends_a_mark_within_32_days(jump_days: int) -> None:
    """However far the wall clock is set back, no mark outlasts 32 days from then."""
    marks, clock = board()
    marks.set_from(stated(after(32 * DAY)), variant(), now=START)
    clock.advance(jump_days * DAY)
    gate = marks.look(key())
    assert gate.mark is not None
    assert gate.mark.until <= clock.now() + timedelta(days=32)
    clock.advance(20 * DAY)
    assert state(marks, variant()) == "cooling"
    clock.advance(12 * DAY)
    assert state(marks, variant()) == "probe"


def test_a_clock_that_jumps_back_voids_a_lease() -> None:
    """A lease that would last longer than a lease can is nobody's; a step of a second is not such a jump."""
    marks, clock = board()
    marks.set_from(limit(), variant(), now=START)
    assert marks.acquire(key()) is not None
    clock.advance(-1)
    assert marks.acquire(key()) is None
    clock.advance(-DAY)
    assert marks.acquire(key()) is not None


def test_a_stream_and_a_call_share_the_board() -> None:
    """Behaviour 97: the board does not ask what kind of call set a mark, nor what kind looks."""
    marks, _ = board()
    marks.set_from(Verdict(reason="minute_limit", status=200, text="in-band error"), variant(), now=START)
    assert state(marks, variant()) == "cooling"


def test_threads_lose_no_mark() -> None:
    """Marks set by eight threads at once are all there."""
    marks, clock = board()

    def setter(name: int) -> None:
        for number in range(25):
            marks.set_from(limit(600.0, scope="model"), variant(f"{name}-{number}"), now=clock.now())

    threads = [threading.Thread(target=setter, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(marks.list()) == 200
