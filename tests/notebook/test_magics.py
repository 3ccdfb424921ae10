"""Magics without a kernel: options, filling, sentences, completion, the one chain."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import zc_notebooks as zc
from tests.fleet import Fleet, chain_toml
from zc_notebooks.chat import JsonSchema
from zc_notebooks.notebook.cells import CellDraft
from zc_notebooks.notebook.magic.completing import offered
from zc_notebooks.notebook.magic.filling import filled, schema
from zc_notebooks.notebook.magic.options import COMMANDS, OPTIONS, MagicError, parse
from zc_notebooks.notebook.magic.session import Session
from zc_notebooks.notebook.magics import INTERRUPTED, Magics, load, unload
from zc_notebooks.testing import chat_answer, chat_error


class Shell:
    """What the magics need of IPython."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.hooks: list[str] = []
        self.magics_manager = SimpleNamespace(magics={"cell": {}, "line": {}})
        self.strdispatchers = {"complete_command": SimpleNamespace(strs={"cd": "the shell's own"})}

    def register_magic_function(self, magic: Any, magic_kind: str, magic_name: str) -> None:
        self.magics_manager.magics[magic_kind][magic_name] = magic

    def set_hook(self, name: str, hook: Any, str_key: str) -> None:
        self.strdispatchers[name].strs[str_key] = hook
        self.hooks.append(f"{name} {str_key}")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Two candidates: a sleepy one and one that answers."""
    route = '[[model_routes]]\nhint = "quick"\nmodel_provider = "custom.b"\nmodel = "m"\n'
    script = {"a": [chat_error(429, "slow", {"retry-after": "90"})] * 3, "b": [chat_answer("42")] * 3}
    return Fleet(script, tmp_path, toml=chain_toml("a", "b", extra=route))


@pytest.fixture
def magics(fleet: Fleet) -> Magics:
    """Magics that ask through the fleet."""
    made = Magics(Shell())
    made.session.use(fleet.chain)
    return made


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("", {}, []),
        ("--stream --hint fast", {"stream": True, "hint": "fast"}, []),
        ("--hint=fast --start 'a.b/c d'", {"hint": "fast", "start": "a.b/c d"}, []),
        ("--no-fallback x", {"no-fallback": True}, ["x"]),
        ("--stream   # while it comes", {"stream": True}, []),
        ("--hint a --hint b", {"hint": "b"}, []),
    ],
)
def test_options_are_read(line: str, options: dict[str, Any], words: list[str]) -> None:
    """Values stand after a blank or an equals sign, in quotes where they hold blanks."""
    assert parse("%%ask", line) == (options, words)


@pytest.mark.parametrize(
    ("magic", "line", "cell", "said"),
    [
        ("ask", "--hnit x", "hi", "%%ask knows no option '--hnit'; did you mean --hint? it knows --hint HINT, "),
        ("ask", "-x", "hi", "%%ask knows no option '-x'"),
        ("ask", "--hint", "hi", "%%ask --hint needs a value: --hint HINT (name of a route)"),
        ("ask", "--hint --stream", "hi", "%%ask --hint needs a value"),
        ("ask", '--hint ""', "hi", "%%ask --hint needs a value: --hint HINT (name of a route)"),
        ("ask", "--start=", "hi", "%%ask --start needs a value"),
        ("ask", "--stream=yes", "hi", "%%ask --stream takes no value"),
        ("ask", "--hint 'x", "hi", "a quotation mark is not closed"),
        ("ask", "hello", "hi", "the prompt stands below it (not 'hello')"),
        ("ask", "", " \n", "the prompt is empty"),
        ("ask", "--out 1x", "hi", "--out '1x': a variable cannot have this name"),
        ("ask", "--out class", "hi", "a variable cannot have this name"),
        ("ask", "--schema nope", "hi", "there is no variable 'nope'"),
        ("ask", "--schema ope", "hi", "there is no variable 'ope' (define it in a cell above)"),
        ("ask", "--schema numbr", "hi", "did you mean number?"),
        ("ask", "--schema number", "hi", "number is an int; a JSON schema"),
        ("ask", "--fill", "hi {nmber}", "there is no variable 'nmber'; did you mean number?"),
        ("ask", "--start custom.x", "hi", "custom.x"),
        ("zcsql", "--fill", "select 1", "%%zcsql knows no option '--fill'; it knows --out NAME"),
        ("zcsql", "", "", "the query is empty"),
        ("zcsql", "", "selct 1", "syntax error"),
        ("zcsql", "", "drop table attempts", "only read"),
        ("zcsql", "x", "select 1", "the query stands below"),
        ("zc", "stats", None, "%zc knows no command 'stats'; did you mean status?"),
        ("zc", "status now", None, "%zc status stands alone (not followed by 'now')"),
        ("zc", "probe", None, "%zc probe needs a name: one or several of custom.a, custom.b"),
        ("zc", "probe custom.aa", None, "'custom.aa' is not configured; did you mean custom.a?"),
        ("zc", "probe --x", None, "%zc probe knows no option '--x'; it takes no options"),
        ("zc", "cost --since 1h", None, "%zc cost knows no option '--since'; it takes no options"),
        ("zc", "plan x", None, "takes options only (not 'x')"),
        ("zc", "plan --start custom.x", None, "custom.x"),
        ("zc", "use", None, "needs the name of one variable"),
        ("zc", "use nope", None, "there is no variable 'nope'"),
        ("zc", "use number", None, "number is an int, a chain is needed"),
    ],
)
def test_a_mistake_is_a_sentence(magics: Magics, magic: str, line: str, cell: str | None, said: str) -> None:
    """What, where, what to do; no frames, and nobody is asked."""
    magics._shell.user_ns.update(number=5, open=open)  # noqa: SLF001
    with pytest.raises(MagicError) as caught:
        getattr(magics, magic)(line, *([] if cell is None else [cell]))
    assert said in str(caught.value)
    assert caught.value._render_traceback_() == str(caught.value).splitlines()


OTHERS = "get_ipython In Out exit display __builtins__ __name__ _ __ ___ _3 _i _i3 _oh print ValueError zc"


@pytest.mark.parametrize("name", OTHERS.split())
@pytest.mark.parametrize(("magic", "cell"), [("ask", "hi"), ("zcsql", "select 1")])
def test_no_result_takes_a_name_of_the_kernel(magics: Magics, fleet: Fleet, magic: str, cell: str, name: str) -> None:
    """Names of the shell, of Python and of an imported module stay what they are; nobody is asked."""
    names = magics._shell.user_ns  # noqa: SLF001
    names["zc"] = zc
    with pytest.raises(MagicError, match=f"%%{magic} --out '{name}': this"):
        getattr(magics, magic)(f"--out {name}", cell)
    assert names == {"zc": zc}
    assert fleet.called == []


def test_ask(magics: Magics, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """The result, or the variable: then one line without the answer."""
    done = magics.ask("", "\nhi\n")
    assert done is not None
    assert (done.text, done.served.provider_ref) == ("42", "custom.b")
    assert magics.ask("--hint quick --out kept", "hi") is None
    assert magics._shell.user_ns["kept"].text == "42"  # noqa: SLF001
    assert capsys.readouterr().out == "kept: 1 attempt, 0 hops, 0.00 s, cost unknown\n"
    with pytest.raises(zc.AllCandidatesFailed):
        magics.ask("--start custom.a --no-fallback", "hi")
    assert fleet.called[-1] == "a"


@pytest.mark.parametrize("options", ["", "--stream --out kept"])
def test_an_unknown_hint_is_said_each_time(
    magics: Magics, options: str, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """One sentence that names no file, also the second time."""
    pytest.importorskip("IPython")
    for _ in range(2):
        magics.ask(f"--hint nope {options}", "hi")
        said = capsys.readouterr().err
        assert said == "'nope' is the hint of no route (known: quick): the default target is asked\n"
    assert list(recwarn) == []


def test_prompts_are_filled_only_when_asked(magics: Magics, fleet: Fleet) -> None:
    """Without ``--fill`` braces are text."""
    magics._shell.user_ns["n"] = 17  # noqa: SLF001
    magics.ask("--hint quick", "{n} {{n}}")
    magics.ask("--hint quick --fill", "{n} {{n}}")
    bodies = [(request.body or b"").decode() for request in fleet.transport.requests]
    assert "{n} {{n}}" in bodies[0]
    assert "17 {n}" in bodies[1]


@pytest.mark.parametrize(
    ("prompt", "is_filled"),
    [
        ("{a} and {a}", "1 and 1"),
        ('{"a": 1} {a.b} {a[0]} {} { a }', '{"a": 1} {a.b} {a[0]} {} { a }'),
        ("{{a}} }}{{", "{a} }{"),
        ("{again}", "{a}"),
        ("{café}", "é"),
    ],
)
def test_filling(prompt: str, is_filled: str) -> None:
    """Plain names only, once: no attribute, no index, no format, no second round."""
    assert filled(prompt, {"a": 1, "again": "{a}", "café": "é"}) == is_filled


class Node(msgspec.Struct):
    """A tree."""

    kids: list[Node]


def test_a_schema_that_names_itself() -> None:
    """A tree's own type is inlined, and stays where its branches look for it."""
    made = schema("tree", {"tree": Node})
    assert isinstance(made, JsonSchema)
    assert made.schema["type"] == "object"
    assert made.schema["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}
    assert made.schema["$defs"]["Node"]["properties"] == made.schema["properties"]


def test_schemas() -> None:
    """A dictionary, our record, a msgspec Struct, or whatever says ``model_json_schema``."""

    class Answer(msgspec.Struct):
        n: int

    class Model:
        @classmethod
        def model_json_schema(cls) -> dict[str, Any]:
            return {"type": "object", "title": "M"}

    held: dict[str, Any] = {"d": {"type": "object"}, "r": JsonSchema(name="r", schema={}), "s": Answer, "m": Model}
    assert schema("d", held) == {"type": "object"}
    assert schema("r", held) is held["r"]
    made = schema("s", held)
    assert isinstance(made, JsonSchema)
    assert made.schema["properties"] == {"n": {"type": "integer"}}
    assert schema("m", held) == JsonSchema(name="Model", schema={"type": "object", "title": "M"})


def test_looking(magics: Magics, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command gives an object that shows itself; alone, ``%zc`` says what it can do."""
    found = {name: type(magics.zc(name)).__name__ for name in ("status", "marks", "plan", "budget", "cost")}
    assert found == {"status": "Status", "marks": "LiveMarks", "plan": "Plan", "budget": "Budget", "cost": "DataFrame"}
    assert type(magics.zc("status  # now")).__name__ == "Status"
    assert type(magics.zc("plan --hint quick")).__name__ == "Plan"
    assert magics.zc("probe custom.b").ref == "custom.b"
    assert [item.ref for item in magics.zc("probe custom.a custom.b")] == ["custom.a", "custom.b"]
    assert magics.zc("") is None
    assert [line.split(":")[0].removeprefix("%zc ") for line in capsys.readouterr().out.splitlines()] == list(COMMANDS)
    assert magics.zcsql("", "select count(*) as n from attempts")["n"][0] >= 1


def test_asking_for_help(magics: Magics, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` and ``-h`` print what ``?`` shows."""
    for magic, line in (("ask", "--help"), ("ask", "--stream -h"), ("zcsql", "--help"), ("zc", "--help")):
        getattr(magics, magic)(line, *(["hi"] if magic != "zc" else []))
        assert capsys.readouterr().out == f"{inspect.getdoc(getattr(Magics, magic))}\n"
    magics.zc("plan --help")
    assert "%zc status" in capsys.readouterr().out
    assert fleet.called == []


def test_an_interrupt_is_a_sentence(magics: Magics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a call is under way."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(magics.session.chain(), "ask_sync", interrupted, raising=False)
    with pytest.raises(MagicError, match=INTERRUPTED):
        magics.ask("", "hi")


def test_one_chain(fleet: Fleet) -> None:
    """Opened once, on first use; closed when the user's own takes its place, which is never closed here."""
    opened: list[Any] = []

    def open_one() -> Any:
        opened.append(SimpleNamespace(closed=0, close=lambda: setattr(opened[0], "closed", 1)))
        return opened[-1]

    session = Session(open_one)
    assert opened == []
    assert session.chain() is session.chain() is opened[0]
    session.use(fleet.chain)
    assert (session.chain(), opened[0].closed) == (fleet.chain, 1)
    session.close()
    assert fleet.chain.plan().entries


def test_a_query_opens_no_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a query nor Tab starts the lab; both know what it would be asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    session = Session(lambda: pytest.fail("opened"))
    assert session.ledger().sql("select 1 as one")["one"][0] == 1
    assert "groq.free" in offered("%%ask --start ", "", session, {})
    session.close()
    tmp_path.joinpath("zc.toml").write_text("[providers", encoding="utf-8")
    assert offered("%%ask --start ", "", Session(), {}) == []


def test_tab_knows_the_local_model_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is installed the lab's chain ends in it: what Tab offers before the chain is opened is what it has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("ZC_LOCAL_MODEL", "on")
    monkeypatch.setattr("zc_notebooks.local.model.LocalModel.missing", lambda _: None)
    session = Session(lambda: zc.open(quiet=True))
    before = offered("%%ask --start ", "", session, {})
    assert before == list(session.chain().config.profiles)
    assert before[-1] == "local.smollm2"
    session.close()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("%%ask --h", ["--hint"]),
        ("%%ask ", [option.name for option in OPTIONS["%%ask"]]),
        ("%%ask --stream --st", ["--start"]),
        ("%%ask --start ", ["custom.a", "custom.b"]),
        ("%%ask --start=custom.b", ["custom.b"]),
        ("%%ask --hint q", ["quick"]),
        ("%%ask --schema ", ["form"]),
        ("%%ask --out ", []),
        ("%%zcsql -", ["--out"]),
        ("%zc ", list(COMMANDS)),
        ("%zc p", ["probe", "plan"]),
        ("%zc probe custom.a custom", ["custom.a", "custom.b"]),
        ("%zc plan --", ["--hint", "--start"]),
        ("%zc plan --hint ", ["quick"]),
        ("%zc use ", ["mine"]),
        ("%zc status ", []),
        ("%%a", []),
    ],
)
def test_what_tab_offers(magics: Magics, fleet: Fleet, line: str, wanted: list[str]) -> None:
    """Options not yet there, commands, refs, hints, and variables that fit."""
    magics._shell.user_ns.update(form={"type": "object"}, mine=fleet.chain, other=5, _form={})  # noqa: SLF001
    symbol = line.replace("=", " ").split(" ")[-1]
    assert magics.complete(None, SimpleNamespace(text_until_cursor=line, symbol=symbol)) == wanted


def test_help_names_everything() -> None:
    """Each option and command stands in the docstring that ``?`` shows, with its words."""
    for magic, shown in (("%%ask", Magics.ask), ("%%zcsql", Magics.zcsql)):
        assert all(option.usage in (shown.__doc__ or "") for option in OPTIONS[magic])
        assert all(option.help in (shown.__doc__ or "") for option in OPTIONS[magic])
    assert all(f"%zc {name}" in (Magics.zc.__doc__ or "") for name in COMMANDS)


def test_load_and_unload() -> None:
    """The package is the extension: its two functions give the magics and take them back."""
    shell = Shell()
    zc.load_ipython_extension(shell)
    load(shell)
    assert sorted(shell.magics_manager.magics["cell"]) == ["ask", "zcsql"]
    assert "complete_command %%ask" in shell.hooks
    zc.unload_ipython_extension(shell)
    unload(shell)
    assert shell.magics_manager.magics == {"cell": {}, "line": {}}
    assert shell.strdispatchers["complete_command"].strs == {"cd": "the shell's own"}


def test_drafts_are_bounded_and_say_how_they_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long text is rewritten less often; the last word is always drawn, with every character."""
    display = pytest.importorskip("IPython.display")
    drawn: list[dict[str, str]] = []
    handle = SimpleNamespace(update=lambda bundle, **_: drawn.append(bundle))
    monkeypatch.setattr(display, "display", lambda bundle, **_: drawn.append(bundle) or handle)
    now = [0.0]
    draft = CellDraft(now=lambda: now[0])
    draft.end("stopped")
    assert drawn == []

    async def stream() -> None:
        for place in range(1, 201):
            now[0] += 0.01
            await draft.draft("x" * 200 * place, final=False)

    asyncio.run(stream())
    assert sum(len(bundle["text/html"]) for bundle in drawn) < 600_000  # in two seconds
    assert 3 <= len(drawn) < 40
    draft.end("stopped", "as told")
    assert drawn[-1]["text/plain"] == f"[stopped] {'x' * 40_000}\n[as told]"


def test_a_terminal_shows_each_sentence_once(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is rewritten there: the remark, the answer while it comes, how it ended."""
    getipython = pytest.importorskip("IPython.core.getipython")
    monkeypatch.setattr(getipython, "get_ipython", SimpleNamespace)
    again = "[the stream gave no answer; the chain is asked once more without streaming]\n"
    magics = Magics(Shell())
    magics.session.use(fleet.chain)
    assert magics.ask("--stream", "hi") is None
    head, _, rest = capsys.readouterr().out.partition("42\n")
    assert head == again
    assert rest.startswith("[2 attempts, ")
    assert rest.count("\n") == 1

    async def stream(draft: CellDraft) -> None:
        await draft.draft("4", final=False)
        await draft.draft("", final=False)
        await draft.remark("anew")
        await draft.draft("42", final=True)

    draft = CellDraft(now=iter(range(99)).__next__)
    asyncio.run(stream(draft))
    draft.end("answer", "as told")
    assert capsys.readouterr().out == "4\n[what stands above is no answer]\n[anew]\n42\n[as told]\n"
    draft = CellDraft(now=iter(range(99)).__next__)
    asyncio.run(draft.draft("4", final=False))
    draft.end("stopped")
    assert capsys.readouterr().out == "4\n[stopped]\n"
