"""The marks file: shared and private when it can be used, one warning and memory when it cannot (spec 7.1)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.reliability.boards import after, board, key, limit, run, state, variant
from zc_notebooks import shared_file
from zc_notebooks.reliability import board_file
from zc_notebooks.reliability.cooldown import Marks, MarksWarning
from zc_notebooks.testing import START, ManualClock

SCOPED = limit(600.0, scope="model")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the marks go."""
    return tmp_path / "state" / "marks.sqlite"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_file, "BUSY_S", 0.02)


@pytest.fixture
def open_board(path: Path) -> Iterator[Callable[[], tuple[Marks, ManualClock]]]:
    """Opens boards on the one path and closes them in the end."""
    opened: list[Marks] = []

    def opener() -> tuple[Marks, ManualClock]:
        marks, clock = board(path)
        opened.append(marks)
        return marks, clock

    yield opener
    for marks in opened:
        marks.close()


Opener = Callable[[], tuple[Marks, ManualClock]]


def modes(path: Path) -> set[int]:
    """Permission bits of the file and of what stands beside it."""
    return {stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob(f"{path.name}*")}


def test_a_mark_is_seen_by_the_next_look_of_another(open_board: Opener) -> None:
    """Behaviour 100: set by one, seen by the other's very next look; so are its end, its probe and its clearing."""
    (here, clock), (there, other_clock) = open_board(), open_board()
    assert state(there, variant()) == "open"
    here.set_from(limit(5.0), variant(), now=START)
    assert there.look(key()).mark == here.look(key()).mark
    clock.advance(5)
    other_clock.advance(5)
    lease = here.acquire(key())
    assert lease is not None
    assert state(there, variant()) == "held"
    assert there.acquire(key()) is None
    here.release(lease, "success")
    assert state(there, variant()) == "open"
    here.set_from(limit(5.0), variant(), now=clock.now())
    assert there.clear("groq.free") == 1
    assert state(here, variant()) == "open"


def test_marks_survive_a_restart_in_full(open_board: Opener, path: Path) -> None:
    """Behaviour 100: what is read back is what was set, to the microsecond, and a running lease with it."""
    marks, _ = open_board()
    marks.set_from(limit(600.0, text="slow down"), variant(), now=after(0.000123))
    marks.set_from(limit(covers="*:free"), variant("x:free"), now=START)
    marks.set_from(limit(scope="model"), variant("名前"), now=START)
    assert marks.acquire(key("名前", credential="aaaaaaaa")) is None  # the pool's stated mark is live
    before = marks.list()
    marks.close()
    again, _ = open_board()
    assert again.list() == before
    assert repr(again) == "<Marks: 3 cooling, 0 ended, shared by file>"
    assert path.exists()


def test_the_file_is_its_owners_alone(open_board: Opener, path: Path) -> None:
    """The file, its log and its index can be read by their owner only, also when they were wider before."""
    old = os.umask(0)
    try:
        marks, _ = open_board()
        marks.set_from(limit(), variant(), now=START)
        assert modes(path) == {0o600}
        assert len(list(path.parent.iterdir())) == 3
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        marks.close()
        path.chmod(0o644)
        marks, _ = open_board()
        marks.set_from(limit(), variant(), now=START)
        assert modes(path) == {0o600}
    finally:
        os.umask(old)


def test_the_file_holds_no_part_of_a_key(open_board: Opener, path: Path) -> None:
    """Behaviours 101, 114: a key that a provider echoes reaches neither the file nor its log."""
    secret = "sk-QqWwEeRrTtYyUuIiOoPp0123456789"
    marks, _ = open_board()
    marks.set_from(limit(600.0, text=f"limit for {secret} reached"), variant(), now=START)
    marks.headroom.flush()
    stored = run_bytes(path)
    marks.close()
    stored += path.read_bytes()
    assert b"groq.free" in stored
    assert not any(secret[at : at + 4].encode() in stored for at in range(3, len(secret) - 3))


def run_bytes(path: Path) -> bytes:
    """The log's bytes, read without touching the main file (a close would drop this process's locks on it)."""
    return path.with_name(path.name + "-wal").read_bytes()


# -- files that cannot be used ---------------------------------------------------------------------------------------


def _garbage(path: Path) -> None:
    path.write_bytes(os.urandom(4096))


def _text(path: Path) -> None:
    path.write_text("[marks]\n")


def _directory(path: Path) -> None:
    path.mkdir()


def _half(path: Path) -> None:
    """A file of ours cut in the middle of a page."""
    _ours(path)
    os.truncate(path, path.stat().st_size - 5000)


def _damaged(path: Path) -> None:
    """A file of ours with noise over every page but the first."""
    _ours(path)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.execute("CREATE TABLE marks (title TEXT)")
    connection.close()


def _wrong_schema(path: Path) -> None:
    """Our sign on a table that is not ours."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE marks (title TEXT)")
    connection.execute(f"PRAGMA application_id={board_file.APPLICATION_ID}")
    connection.close()


def _parent_is_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("")


def _link_into_nothing(path: Path) -> None:
    path.symlink_to("/nonexistent/folder/marks.sqlite")


def _ours(path: Path) -> None:
    marks = Marks(path, clock=ManualClock())
    for number in range(200):
        marks.set_from(SCOPED, variant(f"old-{number}"), now=START)
    marks.close()


@pytest.mark.parametrize(
    "spoil",
    [_garbage, _text, _directory, _half, _damaged, _foreign, _wrong_schema, _parent_is_a_file, _link_into_nothing],
    ids=lambda spoil: spoil.__name__.strip("_"),
)
def test_an_unusable_file_costs_one_warning(path: Path, open_board: Opener, spoil: Callable[[Path], None]) -> None:
    """Behaviour 101: calls go on with marks in memory; the warning comes once; what is there is left alone."""
    path.parent.mkdir()
    spoil(path)
    content = path.read_bytes() if path.is_file() else None
    marks, clock = open_board()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(3):
            marks.set_from(SCOPED, variant(f"m{number}"), now=clock.now())
            assert state(marks, variant(f"m{number}")) == "cooling"
            clock.advance(6)
        clock.advance(600)
        lease = marks.acquire(key("m0"))
        assert lease is not None
        assert state(marks, variant("m0")) == "held"
        marks.release(lease, "success")
        assert state(marks, variant("m0")) == "open"
        assert marks.clear(all=True) >= 2
        assert repr(marks) == "<Marks: 0 cooling, 0 ended, in memory>"
    assert [one.category for one in caught] == [MarksWarning]
    assert str(path) in str(caught[0].message)
    if content is not None:
        assert path.read_bytes() == content


@pytest.mark.parametrize("spoil", [_garbage, _foreign], ids=["garbage", "foreign"])
def test_a_file_that_is_mended_is_shared_again(path: Path, open_board: Opener, spoil: Callable[[Path], None]) -> None:
    """When the broken file is gone, what was set in memory meanwhile goes into the new one."""
    path.parent.mkdir()
    spoil(path)
    marks, clock = open_board()
    with pytest.warns(MarksWarning, match=r"marks\.sqlite: .* in the memory of this process alone"):
        marks.set_from(SCOPED, variant("kept"), now=START)
    marks.set_from(SCOPED, variant("cleared"), now=START)
    marks.clear(model="cleared")
    path.unlink()
    clock.advance(6)
    assert state(marks, variant("kept")) == "cooling"
    assert run(path, "look", "nothing") == "open"
    assert [mark.key.model for mark in open_board()[0].list()] == ["kept"]


def test_an_empty_file_is_taken_over(path: Path, open_board: Opener) -> None:
    """A file of no bytes becomes a marks file, without a word."""
    path.parent.mkdir()
    path.touch()
    marks, _ = open_board()
    marks.set_from(limit(600.0), variant(), now=START)
    assert state(open_board()[0], variant()) == "cooling"


def test_a_read_only_folder(tmp_path: Path) -> None:
    """A folder in which nothing can be made means memory."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folder = tmp_path / "fixed"
    folder.mkdir(mode=0o500)
    marks, _ = board(folder / "marks.sqlite")
    with pytest.warns(MarksWarning, match="unable to open|denied"):
        marks.set_from(limit(), variant(), now=START)
    assert state(marks, variant()) == "cooling"


def test_an_older_file_gets_the_columns_it_lacks(path: Path, open_board: Opener) -> None:
    """The schema only grows: a file without the newer columns keeps its marks, and one with unknown columns too."""
    _older(path)
    marks, _ = open_board()
    assert [(mark.key.model, mark.provenance, mark.until) for mark in marks.list()] == [("m1", "stated", after(600))]
    marks.set_from(SCOPED, variant("new"), now=START)
    marks.set_from(limit(900.0, scope="model"), variant(), now=START)
    marks.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT model, colour FROM marks ORDER BY model").fetchall() == [
        ("m1", "red"),
        ("new", "white"),
    ]
    connection.close()


def _older(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE marks (pool TEXT NOT NULL, credential_id TEXT NOT NULL, model TEXT NOT NULL, until_us INTEGER,"
        " provenance TEXT, colour TEXT NOT NULL DEFAULT 'white', PRIMARY KEY (pool, credential_id, model))"
    )
    until = int(after(600).timestamp() * 1_000_000)
    connection.execute("INSERT INTO marks VALUES ('groq', 'aaaaaaaa', 'm1', ?, 'stated', 'red')", (until,))
    connection.execute(f"PRAGMA application_id={board_file.APPLICATION_ID}")
    connection.commit()
    connection.close()


def test_rows_that_make_no_sense_are_passed_over(path: Path, open_board: Opener) -> None:
    """Nonsense in a row never breaks a call: words of a newer version become the cautious ones, the rest is skipped."""
    marks, _ = open_board()
    marks.set_from(SCOPED, variant("good"), now=START)
    marks.close()
    connection = sqlite3.connect(path)
    for model, until, provenance, reason in [
        ("text", "soon", "stated", "minute_limit"),
        ("far", 2**62, "stated", "minute_limit"),
        ("blob", b"\xff\xfe", "stated", "minute_limit"),
        ("newer", int(after(60).timestamp() * 1_000_000), "divined", "moon_phase"),
    ]:
        connection.execute(
            "INSERT INTO marks (pool, credential_id, model, until_us, provenance, reason)"
            " VALUES ('groq', 'aaaaaaaa', ?, ?, ?, ?)",
            (model, until, provenance, reason),
        )
    connection.execute(
        "INSERT INTO headroom (pool, credential_id, model, seen_at_us, dims) VALUES ('p','c','m','x','{')"
    )
    connection.commit()
    connection.close()
    marks, _ = open_board()
    assert [(mark.key.model, mark.provenance, mark.reason) for mark in marks.list()] == [
        ("newer", "guessed", "minute_limit"),
        ("good", "stated", "minute_limit"),
    ]


# -- files that stop being usable ------------------------------------------------------------------------------------


def test_a_lock_held_by_somebody_else(path: Path, open_board: Opener) -> None:
    """While another connection sits on the file marks are kept in memory; a second later they are shared after all."""
    marks, clock = open_board()
    marks.set_from(SCOPED, variant("before"), now=START)
    sitter = sqlite3.connect(path, isolation_level=None)
    sitter.execute("BEGIN IMMEDIATE")
    with pytest.warns(MarksWarning, match="locked.*close what holds it"):
        marks.set_from(SCOPED, variant("during"), now=START)
    marks.set_from(SCOPED, variant("later"), now=START)
    assert [state(marks, variant(name)) for name in ("before", "during", "later")] == ["cooling"] * 3
    sitter.execute("ROLLBACK")
    sitter.close()
    clock.advance(1.1)
    assert state(marks, variant("during")) == "cooling"
    assert {mark.key.model for mark in open_board()[0].list()} == {"before", "during", "later"}


def test_who_sits_on_the_file_is_waited_for_once(
    path: Path, open_board: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first write waits a moment; later ones while the same holder sits there try once and go on."""
    waits: list[float] = []
    monkeypatch.setattr(shared_file.time, "sleep", waits.append)
    marks, clock = open_board()
    marks.set_from(SCOPED, variant("before"), now=START)
    sitter = sqlite3.connect(path, isolation_level=None)
    sitter.execute("BEGIN IMMEDIATE")
    with pytest.warns(MarksWarning, match="locked"):
        marks.set_from(SCOPED, variant("during"), now=START)
    assert waits
    waits.clear()
    for _ in range(3):
        clock.advance(1.1)
        assert state(marks, variant("during")) == "cooling"
    assert waits == []
    sitter.close()


def test_an_exclusive_lock_from_the_start(path: Path, open_board: Opener) -> None:
    """A file that cannot even be read is memory and one warning, and shared once it can be."""
    _ours(path)
    sitter = sqlite3.connect(path, isolation_level=None)
    sitter.execute("PRAGMA locking_mode=EXCLUSIVE")
    sitter.execute("BEGIN IMMEDIATE")
    marks, clock = open_board()
    with pytest.warns(MarksWarning, match="locked"):
        assert state(marks, variant()) == "open"
    sitter.execute("ROLLBACK")
    sitter.close()
    clock.advance(6)
    assert state(marks, variant("old-7")) == "cooling"


@pytest.mark.parametrize("how", ["deleted", "with log and index", "log only", "replaced", "folder gone"])
def test_a_file_that_is_taken_away_in_use(path: Path, open_board: Opener, how: str, tmp_path: Path) -> None:
    """Marks known to a running process outlive their file: they are written into the one that takes its place."""
    marks, clock = open_board()
    marks.set_from(SCOPED, variant("known"), now=START)
    if how == "folder gone":
        shutil.rmtree(path.parent)
    elif how == "with log and index":
        for one in path.parent.iterdir():
            one.unlink()
    elif how == "deleted":
        path.unlink()
    elif how == "log only":
        path.with_name("marks.sqlite-wal").unlink()
    else:
        fresh, _ = board(tmp_path / "fresh.sqlite")
        fresh.set_from(SCOPED, variant("theirs"), now=START)
        fresh.close()
        (tmp_path / "fresh.sqlite").replace(path)
    clock.advance(1)
    with pytest.warns(MarksWarning, match="removed or replaced"):
        assert state(marks, variant("known")) == "cooling"
    marks.set_from(SCOPED, variant("new"), now=clock.now())
    expected = {"known", "new"} | ({"theirs"} if how == "replaced" else set())
    assert {mark.key.model for mark in open_board()[0].list()} == expected
    assert {mark.key.model for mark in marks.list()} == expected


def test_a_mark_of_the_file_that_took_its_place_is_newer(path: Path, open_board: Opener, tmp_path: Path) -> None:
    """What was learnt later is not overwritten by what the lost file held."""
    marks, clock = open_board()
    marks.set_from(limit(5.0), variant(), now=START)
    fresh, _ = board(tmp_path / "fresh.sqlite")
    newer = fresh.set_from(limit(), variant(), now=after(60))
    fresh.close()
    (tmp_path / "fresh.sqlite").replace(path)
    clock.advance(60)
    with pytest.warns(MarksWarning, match="removed or replaced"):
        assert marks.look(key()).mark == newer


def test_a_folder_that_cannot_come_back(path: Path, open_board: Opener) -> None:
    """A disk that goes away in use costs one warning and no mark of this process."""
    marks, clock = open_board()
    marks.set_from(SCOPED, variant("known"), now=START)
    shutil.rmtree(path.parent)
    path.parent.write_text("")
    with pytest.warns(MarksWarning, match="memory of this process"):
        marks.set_from(SCOPED, variant("new"), now=START)
    for _ in range(3):
        clock.advance(10)
        assert [state(marks, variant(name)) for name in ("known", "new")] == ["cooling", "cooling"]
    path.parent.unlink()
    clock.advance(10)
    assert state(marks, variant("known")) == "cooling"
    assert {mark.key.model for mark in open_board()[0].list()} == {"known", "new"}


def test_a_file_that_is_cut_in_use(path: Path, open_board: Opener) -> None:
    """A file damaged under a running process: no exception, and its own marks stay."""
    _ours(path)
    marks, clock = open_board()
    assert state(marks, variant("old-1")) == "cooling"
    os.truncate(path, 4096)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(50):
            marks.set_from(SCOPED, variant(f"new-{number}"), now=clock.now())
    assert len(caught) == 1
    assert state(marks, variant("old-1")) == "cooling"
    assert state(marks, variant("new-49")) == "cooling"


def test_a_full_disk(path: Path) -> None:
    """When the file can no longer grow, marks go on in memory after one warning (a process with a file size limit)."""
    assert run(path, "fill") == "1 True cooling"
    assert run(path, "look", "before") == "cooling"


def test_a_look_asks_the_file_for_one_number(open_board: Opener) -> None:
    """Cooling or not, as long as nobody writes a look costs one pragma and no query of a table."""
    marks, _ = open_board()
    marks.set_from(limit(600.0), variant(), now=START)
    asked: list[str] = []
    marks._store._connection.set_trace_callback(asked.append)  # type: ignore[union-attr]  # noqa: SLF001 (to listen in)
    for name in ("m1", "m2"):
        state(marks, variant(name))
        state(marks, variant(name, pool="other"))
    marks.success(variant(pool="other"), START)
    assert set(asked) == {"PRAGMA data_version"}
    assert len(asked) == 5


def test_close_is_not_the_end(open_board: Opener) -> None:
    """A closed board opens its file again when it is used."""
    marks, _ = open_board()
    with marks as same:
        same.set_from(limit(600.0), variant(), now=START)
    assert state(marks, variant()) == "cooling"


def test_marks_over_for_a_month_are_swept(path: Path, open_board: Opener) -> None:
    """Candidates nobody asks for any more leave the file 32 days after their mark has ended."""
    marks, clock = open_board()
    marks.set_from(limit(5.0, scope="model"), variant("gone"), now=START)
    marks.close()
    clock.advance(33 * 86400)
    marks.set_from(SCOPED, variant("here"), now=clock.now())
    assert [mark.key.model for mark in marks.list(ended=True)] == ["here"]
    marks.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT model FROM marks").fetchall() == [("here",)]
    connection.close()


def test_a_warning_that_is_an_error_leaves_the_board_whole(path: Path, open_board: Opener) -> None:
    """Where warnings are errors the first use raises it; the mark is set all the same and nothing is stuck."""
    path.parent.mkdir()
    _garbage(path)
    marks, _ = open_board()
    with pytest.raises(MarksWarning):
        marks.set_from(limit(600.0), variant(), now=START)
    assert state(marks, variant()) == "cooling"
