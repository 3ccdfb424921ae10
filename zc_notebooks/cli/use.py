"""``zc use``: the candidate that all processes of this user ask first, with this configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson
from zc_notebooks.cli.output import answer, emit, report
from zc_notebooks.errors import ZcError

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain
    from zc_notebooks.routing.choice import Choice
    from zc_notebooks.routing.scope import Standing, Used


def use(
    candidate: Annotated[
        str | None, typer.Argument(metavar="[REF[/MODEL]|auto]", help="What to ask first; auto gives it back.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose the candidate that is asked first from now on; without one, show what is in effect."""
    import zc_notebooks as zc

    try:
        with zc.open(quiet=as_json) as chain:
            used = None if candidate is None else chain.use(candidate, scope="user")
            standing = chain.in_use()
            words = used.sentence if used is not None else _in_effect(chain, standing)
            told = _told(chain, used, standing, words)
    except ZcError as error:
        report(error, as_json=as_json)
    emit(told) if as_json else answer(words)


def _in_effect(chain: Chain, standing: Standing | None) -> str:
    if standing is not None:
        return f"{standing} is asked first; `zc use auto` gives it back"
    from zc_notebooks.routing.choice import default_choice

    default = default_choice(chain.config)
    order = f"the configuration's own order holds, {default} first" if default else "nothing says where to start"
    return f"nothing is chosen; {'each turn is judged by its effort' if chain.config.effort else order}"


def _told(chain: Chain, used: Used | None, standing: Standing | None, words: str) -> dict[str, Any]:
    """The documented form of ``zc use --json``."""
    from zc_notebooks.routing.choice import default_choice

    return {
        "scope": "user",
        "chosen": _choice(used.choice if used else standing.choice if standing else None),
        "in_effect": None if standing is None else {"scope": standing.scope, **(_choice(standing.choice) or {})},
        "default": _choice(default_choice(chain.config)),
        "shadowed": used.shadowed if used else False,
        "classifies": standing is None and chain.config.effort is not None,
        "sentence": words,
    }


def _choice(choice: Choice | None) -> dict[str, Any] | None:
    return None if choice is None else {"ref": choice.ref, "model": choice.model}
