"""``%load_ext zc_notebooks``: ``%%ask``, ``%zc`` and ``%%zcsql``.

They are plain functions that the shell is given, so IPython is not imported here. What waits runs on the private loop
thread: the kernel's own loop is neither patched nor needed, and the kernel's interrupt reaches the waiting cell.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from zc_notebooks.chain import Chain
from zc_notebooks.complaint import heard_by
from zc_notebooks.errors import CallError, ZcError
from zc_notebooks.markup import clean, counted
from zc_notebooks.notebook.cells import CellDraft
from zc_notebooks.notebook.magic.completing import offered
from zc_notebooks.notebook.magic.filling import filled, schema, variable
from zc_notebooks.notebook.magic.options import COMMANDS, MagicError, closest, command_of, kind_of, name_of, parse
from zc_notebooks.notebook.magic.session import Session
from zc_notebooks.notebook.sheets.calls import summary
from zc_notebooks.probe import ProbeResults
from zc_notebooks.prompt_parts import InvalidRequest
from zc_notebooks.result import Completion
from zc_notebooks.sync import shared

_TODAY: Final = """
select provider_ref, model, attempts, accepted, input_tokens, output_tokens, cost_usd, at_least
from spend where day = make_timestamp(epoch_us(now()))::date order by cost_usd desc nulls first, provider_ref, model
"""
_NAMES: Final = (("cell", "%%", "ask"), ("cell", "%%", "zcsql"), ("line", "%", "zc"))
"""Kind, signs and name of each magic; a method of :class:`Magics` does it."""
INTERRUPTED: Final = "interrupted: the request was cancelled and its connection closed; its row in the ledger says so"


class Magics:
    """The magics of one shell.

    Args:
        shell: An IPython shell; its ``user_ns`` holds the user's variables.
        session: Holds the chain.
    """

    def __init__(self, shell: Any, session: Session | None = None) -> None:
        self._shell = shell
        self.session = session or Session()

    def ask(self, line: str, cell: str) -> Completion | None:
        """Answer the text of the cell through the chain, and show the answer with every attempt.

        %%ask [--hint HINT] [--start REF[/MODEL]] [--no-fallback] [--stream] [--schema NAME] [--out NAME] [--fill]

        --hint HINT          name of a route
        --start REF[/MODEL]  candidate to start with
        --no-fallback        the start candidate alone: fails loudly, never a silent swap
        --stream             show the answer while it comes, rewritten in place
        --schema NAME        variable with the JSON schema that the answer must follow
        --out NAME           keep the result in this variable instead of showing it
        --fill               put variables in for {name}; {{name}} stays as {name}

        The kernel's interrupt ends it. The chain is opened on first use; %zc use NAME takes one of your own.
        """
        if _helped(line, Magics.ask):
            return None
        with _sentences():
            options, out = _first_line("%%ask", line, "prompt", self._shell.user_ns)
            prompt, call = self._call(cell, options)
            streamed = options.get("stream", False)
            done = self._streamed(prompt, call, shown=out is None) if streamed else self._asked(prompt, call)
            if out is not None:
                self._keep(out, done, summary(done))
            return None if streamed or out is not None else done

    def zcsql(self, line: str, cell: str) -> Any:
        """Query the attempt ledger with DuckDB's SQL; the result is a frame. A query only reads.

        %%zcsql [--out NAME]

        --out NAME  keep the result in this variable instead of showing it

        Views: attempts (every attempt and skip), calls, hops, spend, latency, reachability, exhaustion, last_state …
        """
        if _helped(line, Magics.zcsql):
            return None
        with _sentences():
            _, out = _first_line("%%zcsql", line, "query", self._shell.user_ns)
            if not cell.strip():
                raise MagicError("%%zcsql: the query is empty; write it below the first line")
            frame = self.session.ledger().sql(cell)
            if out is None:
                return frame
            return self._keep(out, frame, f"{counted(frame.height, 'row')} × {counted(frame.width, 'column')}")

    def zc(self, line: str) -> Any:
        """Look at the chain and operate it.

        %zc status      every provider: how it stands, what is left, its last outcome
        %zc marks       what is not asked until when, and who said so
        %zc probe REF   ask these alone whether they are reachable (several REFs may stand there)
        %zc plan        who would be asked, in which order; [--hint HINT] [--start REF[/MODEL]]
        %zc cost        what today's attempts cost, by provider and model (UTC)
        %zc budget      what may be spent, was spent, and is left
        %zc use NAME    ask through the chain in this variable
        """
        command, _, rest = line.strip().partition(" ")
        if _helped(line, Magics.zc):
            return None
        if not command:
            sys.stdout.write("".join(f"%zc {name}: {text}\n" for name, text in COMMANDS.items()))
            return None
        with _sentences():
            does: dict[str, Callable[[str], Any]] = {"probe": self._probe, "plan": self._plan, "use": self._use}
            found = does.get(command_of(command))
            return self._look(command, rest) if found is None else found(rest)

    def complete(self, _: Any, event: Any) -> list[str]:
        """IPython's hook for Tab."""
        return offered(event.text_until_cursor.lstrip(), event.symbol, self.session, self._shell.user_ns)

    def _call(self, cell: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        prompt = cell.strip("\n")
        if not prompt.strip():
            raise MagicError("%%ask: the prompt is empty; write it below the first line")
        call: dict[str, Any] = {name: options[name] for name in ("hint", "start") if name in options}
        call["fallback"] = "no-fallback" not in options
        if "schema" in options:
            call["response_format"] = schema(options["schema"], self._shell.user_ns)
        return filled(prompt, self._shell.user_ns) if "fill" in options else prompt, call

    def _asked(self, prompt: str, call: dict[str, Any]) -> Completion:
        return self.session.chain().ask_sync(prompt, **call)

    def _streamed(self, prompt: str, call: dict[str, Any], *, shown: bool) -> Completion:
        draft = CellDraft()
        try:
            done = shared.run(self.session.chain().tell(prompt, draft=draft, **call))
        except BaseException as error:
            draft.end("stopped" if isinstance(error, KeyboardInterrupt) else "not an answer: the call failed")
            raise
        if shown:
            draft.end("answer", summary(done))
        return done

    def _keep(self, name: str, value: Any, words: str) -> None:
        self._shell.user_ns[name] = value
        sys.stdout.write(f"{name}: {words}\n")

    def _look(self, command: str, rest: str) -> Any:
        _, words = parse(f"%zc {command}", rest)
        if words:
            raise MagicError(f"%zc {command} stands alone (not followed by {words[0]!r})")
        if command == "cost":
            return self.session.ledger().sql(_TODAY)
        chain = self.session.chain()
        looks: dict[str, Callable[[], Any]] = {"status": chain.status, "marks": chain.marks, "budget": chain.budget}
        return looks[command]()

    def _probe(self, rest: str) -> Any:
        _, refs = parse("%zc probe", rest)
        chain = self.session.chain()
        known = ", ".join(chain.config.profiles)
        if not refs:
            raise MagicError(f"%zc probe needs a name: one or several of {known}")
        for ref in refs:
            if ref not in chain.config.profiles:
                near = closest(ref, list(chain.config.profiles))
                raise MagicError(f"%zc probe: {ref!r} is not configured{near or ';'} there are {known}")
        found = ProbeResults(chain.probe_sync(ref) for ref in refs)
        return found[0] if len(found) == 1 else found

    def _plan(self, rest: str) -> Any:
        options, words = parse("%zc plan", rest)
        if words:
            raise MagicError(f"%zc plan takes options only (not {words[0]!r}): --hint HINT, --start REF[/MODEL]")
        return self.session.chain().plan(**options)

    def _use(self, rest: str) -> None:
        _, names = parse("%zc use", rest)
        if len(names) != 1:
            raise MagicError("%zc use needs the name of one variable that holds a chain")
        held = variable("%zc use", names[0], self._shell.user_ns)
        if not isinstance(held, Chain):
            raise MagicError(f"%zc use: {names[0]} is {kind_of(held)}, a chain is needed (zc.open() makes one)")
        self.session.use(held)
        sys.stdout.write(f"asking through {held!r}\n")


def _helped(line: str, magic: Callable[..., Any]) -> bool:
    """Whether ``line`` asks for help, which is what ``?`` shows; then it was printed."""
    if not {"-h", "--help"} & set(line.split()):
        return False
    sys.stdout.write(f"{inspect.getdoc(magic)}\n")
    return True


def _first_line(magic: str, line: str, below: str, held: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The options of a cell magic, and the name that ``--out`` gives."""
    options, words = parse(magic, line)
    if words:
        raise MagicError(f"{magic} takes options on its first line, the {below} stands below it (not {words[0]!r})")
    out = options.pop("out", None)
    return options, None if out is None else name_of(magic, out, held)


@contextmanager
def _sentences() -> Iterator[None]:
    """What goes wrong inside is one sentence, and so is each warning; a call that failed shows its candidates."""
    try:
        with heard_by(lambda words: sys.stderr.write(f"{clean(words)}\n")):
            yield
    except KeyboardInterrupt:
        raise MagicError(INTERRUPTED) from None
    except (CallError, MagicError):
        raise
    except (ZcError, InvalidRequest) as error:
        raise MagicError(str(error)) from None


def load(shell: Any) -> Magics:
    """Gives the magics to ``shell``."""
    magics = Magics(shell)
    setattr(Magics.ask, "_ipython_magic_no_var_expand", True)  # noqa: B010 (IPython's mark: {name} is for --fill alone)
    setattr(Magics.zcsql, "_ipython_magic_no_var_expand", True)  # noqa: B010
    for kind, signs, name in _NAMES:
        shell.register_magic_function(getattr(magics, name), magic_kind=kind, magic_name=name)
        shell.set_hook("complete_command", magics.complete, str_key=signs + name)
    return magics


def unload(shell: Any) -> None:
    """Takes them back and closes the chain they opened."""
    for kind, signs, name in _NAMES:
        shell.strdispatchers["complete_command"].strs.pop(signs + name, None)
        magic = shell.magics_manager.magics[kind].pop(name, None)
        if isinstance(getattr(magic, "__self__", None), Magics):
            magic.__self__.session.close()
