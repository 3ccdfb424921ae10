"""The commands put together, and how whatever they raise becomes an exit status."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer
from typer.exceptions import TyperException

from zc_notebooks import __version__
from zc_notebooks.cli import (
    ask,
    bench,
    bench_report,
    bench_run,
    budget,
    chat,
    configure,
    effort,
    explain,
    lab,
    ledger_files,
    local,
    money,
    notebooks,
    operate,
    outlook,
    plan,
    replay,
    report,
    use,
)
from zc_notebooks.cli.output import CANCELLED, LOST, OK, USAGE, OutputLost, answer, form_of, refuse, say
from zc_notebooks.errors import ZcError
from zc_notebooks.prompt_parts import InvalidRequest

app = typer.Typer(
    name="zc",
    help="Answer prompts through a chain of LLM providers that run out, and see every attempt.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("ask")(ask.ask)
app.command("chat")(chat.chat)
app.command("plan")(plan.plan)
app.command("replay")(replay.replay)
app.command("report")(report.report)
app.command("use")(use.use)
app.command("effort")(effort.effort)
app.command("explain")(explain.explain)
app.command("probe")(operate.probe)
app.command("marks")(operate.marks)
app.command("status")(operate.show_status)
app.command("budget")(budget.show_budget)
app.command("watch")(operate.watch)
app.add_typer(configure.app, name="config")
money.add_to(ledger_files.app)
outlook.add_to(ledger_files.app)
app.add_typer(ledger_files.app, name="ledger")
bench.app.command("run")(bench_run.run)
bench.app.command("report")(bench_report.show_report)
bench.app.command("order")(bench_report.order)
app.add_typer(bench.app, name="bench")
app.add_typer(lab.app, name="lab")
app.add_typer(local.app, name="local")
app.add_typer(notebooks.app, name="notebooks")


def _version(asked: bool) -> None:
    if asked:
        answer(f"zc {__version__}")
        raise typer.Exit


@app.callback()
def _zc(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),  # noqa: FBT003 (typer)
) -> None:
    """Answer prompts through a chain of LLM providers that run out, and see every attempt."""


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit status; a user's mistake is one sentence, never a traceback."""
    with warnings.catch_warnings(), form_of(arguments):
        warnings.showwarning = _warned
        return _run(arguments)


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"zc: warning: {message}")


def _run(arguments: Sequence[str]) -> int:
    try:
        return _status(arguments)
    except OutputLost as lost:
        _drop_output()
        if not lost.reader_left and lost.name == "standard output":
            with suppress(OutputLost):
                say(f"zc: {lost}")
        return LOST


def _drop_output() -> None:
    """What is still buffered can go nowhere; without this the interpreter complains at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
            continue
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _status(arguments: Sequence[str]) -> int:
    try:
        status = app(args=list(arguments), prog_name="zc", standalone_mode=False)
    except typer.Exit as leave:
        return leave.exit_code
    except TyperException as error:
        words = error.format_message()
        show = getattr(error, "show", None)  # usage errors know their command's usage line
        refuse(words, say_it=show if show is not None else lambda: say(f"zc: {words}"))
        return USAGE
    except (typer.Abort, KeyboardInterrupt):
        refuse("cancelled", kind="TurnCancelled", say_it=lambda: None)
        say("cancelled")
        return CANCELLED
    except (ZcError, InvalidRequest) as error:
        words = str(error)
        refuse(words, kind=type(error).__name__, say_it=lambda: say(f"zc: {words}"))
        return USAGE
    if status == CANCELLED:
        say("cancelled")
    return status if isinstance(status, int) else OK
