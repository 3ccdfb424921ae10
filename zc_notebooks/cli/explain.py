"""``zc explain``: what a response means, since when it is known, what the chain would do, with the evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import answer, emit, fail, read_input, report, table
from zc_notebooks.errors import ZcError


def explain(
    file: Annotated[str | None, typer.Argument(help="The response's body, or - for standard input.")] = None,
    provider: Annotated[str, typer.Option(help="Provider family, as in zc.toml.")] = "custom",
    status: Annotated[int, typer.Option(min=0, max=999, help="HTTP status.")] = 200,
    wire: Annotated[str | None, typer.Option(help="Protocol; the family's unless given.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="The body is a stream.")] = False,
    header: Annotated[list[str] | None, typer.Option(help="A response header, 'name: value'.")] = None,
    case: Annotated[Path | None, typer.Option(help="A JSON file with provider, status, headers and body.")] = None,
    as_json: AsJson = False,
) -> None:
    """Explain one provider response."""
    from zc_notebooks.explanation import explain as explained
    from zc_notebooks.explanation import explain_case

    try:
        if case is not None:
            result = explain_case(_case(case))
        else:
            body = _body(file)
            headers = dict(_header(text) for text in header or [])
            result = explained(provider=provider, status=status, headers=headers, body=body, wire=wire, stream=stream)
    except (ZcError, ValueError) as error:
        if isinstance(error, ZcError):
            report(error, as_json=as_json)
        fail(str(error))
    if as_json:
        emit(result.to_dict())
        return
    answer(result.sentence())
    table(("where", "found", "means"), [(item.where, item.value, item.means) for item in result.evidence])
    if result.known:
        answer(f"known since {result.known}")


def _body(file: str | None) -> bytes:
    if file is None:
        fail("give the response's body as a file, - for standard input, or --case FILE.json")
    if file == "-":
        return read_input()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        fail(f"{file} cannot be read ({error.strerror})")


def _case(path: Path) -> dict[str, Any]:
    try:
        case = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"{path} cannot be read ({error.strerror})")
    except ValueError as error:
        fail(f"{path} is not JSON ({error})")
    if not isinstance(case, dict):
        fail(f"{path} is no case: an object with provider, status, headers and body is needed")
    return case


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        fail(f"--header {text!r} is no header: write 'name: value'")
    return name.strip().lower(), value.strip()
