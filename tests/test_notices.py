"""The notice of a fallback on every surface: said once, never part of an answer, a history or a prompt (spec 11)."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.fleet import Fleet, profile
from zc_notebooks.attribution import REDACTED, notice
from zc_notebooks.chat import Identity
from zc_notebooks.cli.app import run
from zc_notebooks.events import Final, Notice, Text
from zc_notebooks.notebook.cells import CellDraft, CellEvents
from zc_notebooks.notebook.display import sheet_of
from zc_notebooks.records import Record
from zc_notebooks.result import FallbackRecord
from zc_notebooks.sinks import CallableSink, TerminalSink
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_error, response

POOR = chat_error(402, "no money")
GONE = chat_error(404, "The model `big` does not exist", code="model_not_found")
MODES = ("off", "redacted", "detailed")


class Kind(Record, frozen=True, kw_only=True):
    """One way a record comes about."""

    toml: str
    first: tuple[Any, ...]
    said: str
    """The notice of ``detailed``; empty: the pairs are the same, so there is none."""
    model: str = "small"
    """What the answer names as its model."""


def cross_family() -> str:
    """The second in the chain is of another family."""
    block = '[providers.mistral.paid]\nuri = "https://b.test/v1"\nmodel = "small"\nkeyless = true\n'
    return profile("a", model="big") + block + links("custom.a", "mistral.paid")


def links(*refs: str) -> str:
    """A flat chain."""
    return "".join(f'[[chain]]\nprovider = "{ref}"\n' for ref in refs)


def models(first: str, second: str) -> str:
    """One profile with a fallback model of its own, which lives at the same host."""
    return f'default_provider = "custom.a"\n{profile("a", model=first, fallback_models=json.dumps([second]))}'


SAME_FAMILY = profile("a", model="big") + profile("b", model="small") + links("custom.a", "custom.b")
SKIPPED = profile("a", model="big", key="KEY_NONE") + profile("b", model="small") + links("custom.a", "custom.b")
KINDS = {
    "same family": Kind(
        toml=SAME_FAMILY,
        first=(POOR,),
        said="Note: custom.a/big was asked for, custom.b/small answered (balance).",
    ),
    "cross family": Kind(
        toml=cross_family(),
        first=(POOR,),
        said="Note: custom.a/big was asked for, mistral.paid/small answered (balance).",
    ),
    "after a skip": Kind(
        toml=SKIPPED,
        first=(POOR,),
        said="Note: custom.a/big was asked for, custom.b/small answered (skipped no key).",
    ),
    "another model of the profile": Kind(
        toml=models("big", "small"),
        first=(lambda request: GONE if b'"big"' in request.body else chat_answer("forty-two", model="small"),),
        said="Note: custom.a/big was asked for, custom.a/small answered (not found).",
    ),
    "a response that names another model": Kind(
        toml=SAME_FAMILY,
        first=(POOR,),
        model="tiny",
        said=(
            "Note: custom.a/big was asked for, custom.b/small answered (balance). "
            "Of the model: asked for small, the response says tiny."
        ),
    ),
    "the first entry": Kind(toml=SAME_FAMILY, first=(chat_answer("forty-two"),), said=""),
}


def fleet_of(kind: Kind, mode: str, folder: Path) -> Fleet:
    """A fleet in whose every call the kind comes about."""
    toml = f'model_fallback_notice = "{mode}"\n{kind.toml}'
    return Fleet({"a": kind.first, "b": [chat_answer("forty-two", model=kind.model)]}, folder, toml=toml)


def expected(kind: Kind, mode: str) -> str | None:
    """What has to be said."""
    return None if mode == "off" or not kind.said else REDACTED if mode == "redacted" else kind.said


class Told(Record, frozen=True, kw_only=True):
    """What one surface gave: the answer, and the notices beside it in order."""

    answer: str
    notices: tuple[str, ...]


def by_ask(fleet: Fleet, *_: Any) -> Told:
    """``Chain.ask``."""
    done = asyncio.run(fleet.chain.ask("x"))
    return Told(answer=str(done), notices=() if done.notice is None else (done.notice,))


def by_stream(fleet: Fleet, *_: Any) -> Told:
    """``Chain.stream_sync``: the notice is the last event but one."""
    events = list(fleet.chain.stream_sync("x"))
    said = tuple(event.text for event in events if isinstance(event, Notice) and event.text.startswith("Note: "))
    assert isinstance(events[-1], Final)
    assert events[-1].completion.notice == (said[0] if said else None)
    assert not said or isinstance(events[-2], Notice)
    return Told(answer="".join(event.text for event in events if isinstance(event, Text)), notices=said)


def by_tell(fleet: Fleet, *_: Any) -> Told:
    """``Chain.tell`` into a sink."""
    said: list[str] = []
    sink = CallableSink(lambda event: said.append(event.text) if isinstance(event, Notice) else None)
    done = asyncio.run(fleet.chain.tell("x", sink))
    return Told(answer=done.text, notices=tuple(text for text in said if text.startswith("Note: ")))


def by_terminal(fleet: Fleet, *_: Any) -> Told:
    """A terminal's sink."""
    out, remarks = io.StringIO(), io.StringIO()
    asyncio.run(fleet.chain.tell("x", TerminalSink(out, remarks)))
    return Told(answer=out.getvalue(), notices=notes(remarks.getvalue()))


def by_cell(fleet: Fleet, capsys: pytest.CaptureFixture[str], *_: Any) -> Told:
    """A notebook cell's sink: the notice on a line of its own."""
    asyncio.run(fleet.chain.tell("x", CellEvents()))
    lines = capsys.readouterr().out.splitlines()
    said = tuple(line[1:-1] for line in lines if line.startswith("[Note: "))
    return Told(answer="".join(line for line in lines if not line.startswith("[")), notices=said)


def by_draft(fleet: Fleet, _: Any, monkeypatch: pytest.MonkeyPatch) -> Told:
    """A preview in a notebook cell that is rewritten: the notice below the text, in both forms."""
    drawn: list[dict[str, str]] = []

    class Handle:
        def update(self, bundle: dict[str, str], **_: Any) -> None:
            drawn.append(bundle)

    def show(bundle: dict[str, str], **_: Any) -> Handle:
        drawn.append(bundle)
        return Handle()

    monkeypatch.setattr("IPython.display.display", show)
    asyncio.run(fleet.chain.tell("x", draft=CellDraft()))
    lines = drawn[-1]["text/plain"].splitlines()
    text, *remarks = lines[next(place for place, line in enumerate(lines) if line.startswith("[answer] ")) :]
    said = tuple(line[1:-1] for line in remarks if line.startswith("[Note: "))
    assert drawn[-1]["text/html"].count("Note: ") == len(said)
    return Told(answer=text.removeprefix("[answer] "), notices=said)


def by_repr(fleet: Fleet, *_: Any) -> Told:
    """What a notebook shows of the answer."""
    done = asyncio.run(fleet.chain.ask("x"))
    for form in (done._repr_html_(), done._repr_markdown_()):
        assert form is not None
        assert form.count("Note: ") == int(done.notice is not None)
    sheet = sheet_of(done)
    return Told(answer="".join(sheet.lines), notices=tuple(note for note in sheet.notes if note.startswith("Note: ")))


def command(*arguments: str) -> Callable[..., Told]:
    """``zc`` on the fleet's chain."""

    def surface(fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Told:
        monkeypatch.setattr("zc_notebooks.open", lambda **_: fleet.chain, raising=False)
        monkeypatch.setattr("sys.stdin", io.StringIO("x\n"))
        assert run(arguments) == 0
        out, err = capsys.readouterr()
        assert "Note: " not in out
        return Told(answer=out.strip(), notices=notes(err))

    return surface


def by_json(fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Told:
    """``zc ask --json``: a field when there is one."""
    monkeypatch.setattr("zc_notebooks.open", lambda **_: fleet.chain, raising=False)
    assert run(["ask", "x", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return Told(answer=found["text"], notices=(found["notice"],) if "notice" in found else ())


def notes(text: str) -> tuple[str, ...]:
    """The notices among the remarks."""
    return tuple(line for line in text.splitlines() if line.startswith("Note: "))


SURFACES: dict[str, Callable[..., Told]] = {
    "ask": by_ask,
    "stream": by_stream,
    "tell": by_tell,
    "terminal sink": by_terminal,
    "cell sink": by_cell,
    "cell draft": by_draft,
    "repr": by_repr,
    "zc ask": command("ask", "x"),
    "zc ask --stream": command("ask", "x", "--stream"),
    "zc ask --json": by_json,
    "zc chat": command("chat"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_mode_on_every_surface(
    kind: Kind,
    surface: Callable[..., Told],
    mode: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """172: off leaves the reply as it is; redacted names nobody; detailed both refs and models; said once."""
    told = surface(fleet_of(kind, mode, tmp_path), capsys, monkeypatch)
    words = expected(kind, mode)
    assert told == Told(answer="forty-two", notices=() if words is None else (words,))


def test_a_record_of_the_same_pair_is_no_news() -> None:
    """A later entry served just the ref and model that were asked for."""
    same = Identity(provider_ref="custom.a", model="m")
    record = FallbackRecord(requested=same, served=same, cause="balance")
    assert [notice(record, mode) for mode in ("off", "redacted", "detailed")] == [None, None, None]


NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=5, max_size=20).map(lambda text: f"q{text}7")


@given(NAMES, NAMES, NAMES, NAMES, NAMES, NAMES, st.text(max_size=60))
def test_redacted_holds_no_name_of_the_configuration(
    family: str, alias: str, model: str, other_family: str, other_alias: str, other_model: str, reported: str
) -> None:
    """172: no ref, family, alias, model, reported model or cause, whatever they are; detailed is always one line."""
    asked = Identity(provider_ref=f"{family}.{alias}", model=model)
    served = Identity(provider_ref=f"{other_family}.{other_alias}", model=other_model, model_reported=reported)
    record = FallbackRecord(requested=asked, served=served, cause=f"skipped_{alias}")
    words = notice(record, "redacted") or ""
    names = (family, alias, model, other_family, other_alias, other_model)
    assert not any(name in words for name in (*names, asked.provider_ref, served.provider_ref))
    assert words in (REDACTED, "")
    assert len((notice(record, "detailed") or "").splitlines()) <= 1


@pytest.mark.parametrize("mode", MODES)
def test_a_history_never_holds_a_notice(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """173: three turns of ``zc chat``: no request carries a notice, and each was said once."""
    fleet = fleet_of(KINDS["a response that names another model"], mode, tmp_path)
    monkeypatch.setattr("zc_notebooks.open", lambda **_: fleet.chain, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\nthree\n"))
    assert run(["chat"]) == 0
    assert len(notes(capsys.readouterr().err)) == (0 if mode == "off" else 3)
    sent = [request.body.decode() for request in fleet.transport.requests]
    assert any("forty-two" in body for body in sent)
    assert not any("Note: " in body or REDACTED in body for body in sent)


def test_a_recovered_stream_says_it_once(tmp_path: Path) -> None:
    """172: the remark about the recovery comes first, the notice after the whole answer."""
    kind = KINDS["same family"]
    fleet = Fleet(
        {"a": [Pieces(pieces=(CHAT_DONE,))], "b": [chat_answer("forty-two", model="small")]},
        tmp_path,
        toml=f'model_fallback_notice = "redacted"\n{kind.toml}',
    )
    events = list(fleet.chain.stream_sync("x"))
    assert [event.text for event in events if isinstance(event, Notice)][1:] == [REDACTED]
    assert isinstance(events[-2], Notice)


def test_the_one_function_for_scripts(tmp_path: Path) -> None:
    """172: ``call_with_fallback`` follows the mode of the configuration it is given."""
    fleet = fleet_of(KINDS["same family"], "redacted", tmp_path)
    done = zc.call_with_fallback(
        chain=[("custom.a", "big"), ("custom.b", "small")],
        payload_for=lambda _: "x",
        config=fleet.chain.config,
        environ={"KEY_A": "kkkkkkkkkkkkkkkk", "KEY_B": "llllllllllllllll"},
        transport=lambda request: POOR if "a.test" in request.url else chat_answer("yes"),
    )
    assert done.notice == REDACTED


# -- the response's own word -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reported", "shown"), [("tiny", True), ("m-2026-01-01", False), ("open/m", False), ("m", False)]
)
def test_another_model_is_made_visible(
    reported: str, shown: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for X, the response says Y: in repr, HTML and ``zc ask``, in every mode, without any fallback."""
    fleet = Fleet({"a": [chat_answer("forty-two", model=reported)]}, tmp_path)
    words = f"asked for m, the response says {reported}"
    done = asyncio.run(fleet.chain.ask("x"))
    assert (words in repr(done)) == shown
    assert (words in (done._repr_html_() or "")) == shown
    monkeypatch.setattr("zc_notebooks.open", lambda **_: fleet.chain, raising=False)
    assert run(["ask", "x"]) == 0
    assert (words in capsys.readouterr().err) == shown
    assert done.notice is None


def test_a_reported_model_is_somebody_elses_text(tmp_path: Path) -> None:
    """Markup, line ends and length of what a response calls itself cannot spoil what is shown."""
    bad = "<script>\n" + "x" * 500
    body = {"model": bad, "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    done = asyncio.run(Fleet({"a": [response(200, body)]}, tmp_path).chain.ask("x"))
    assert "<script>" not in (done._repr_html_() or "<script>")
    assert len(repr(done).splitlines()) == 1
    assert len(repr(done)) < 250
