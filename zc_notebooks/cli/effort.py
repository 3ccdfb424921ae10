"""``zc effort``: how a message is judged and where it would go; how far the estimator agrees with people."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zc_notebooks.cli.ask import AsJson, read_prompt
from zc_notebooks.cli.output import answer, emit, fail, report, say, table
from zc_notebooks.errors import ZcError

if TYPE_CHECKING:
    from zc_notebooks.config.schema import Config
    from zc_notebooks.routing.agreement import Agreement
    from zc_notebooks.routing.effort import Decision, Effort
    from zc_notebooks.routing.scope import Standing


def effort(
    text: Annotated[str | None, typer.Argument(help="The message, or - to read standard input.")] = None,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Judge the shipped labelled prompts instead, and count.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how a message is judged (simple, standard, complex), why, and where it would go. No model is called."""
    if agreement == (text is not None):
        fail('give one message, as in: zc effort "text", or --agreement alone')
    from zc_notebooks.config.load import load_config

    try:
        config = load_config(None, environ=os.environ)
        if agreement:
            _show_agreement(config, as_json=as_json)
        else:
            _show_effort(config, read_prompt(text or ""), as_json=as_json)
    except ZcError as error:
        report(error, as_json=as_json)


# -- one message ------------------------------------------------------------------------------------------------------


def _show_effort(config: Config, text: str, *, as_json: bool) -> None:
    from zc_notebooks.routing.effort import BUILT_IN, estimate_effort
    from zc_notebooks.routing.scope import Overrides
    from zc_notebooks.routing.steering import decision_of

    judged = estimate_effort(text, config.effort or BUILT_IN)
    decision = decision_of(config, text)
    standing = Overrides().standing(config)
    if as_json:
        emit(effort_json(judged, decision, standing))
        return
    answer(f"{judged.tier}: {judged.why}")
    answer(f"  length {judged.length} (wide characters count 2)")
    answer(f"  code fence {'yes' if judged.fence else 'no'}")
    answer(f"  keywords {', '.join(judged.keywords) or 'none'}")
    answer(f"  {_where(decision, standing)}")


def _where(decision: Decision | None, standing: Standing | None) -> str:
    if standing is not None:
        return f"goes to {standing}: while a choice stands, no turn is judged by its effort"
    if decision is None:
        return "goes where the configuration's order says: there is no [effort_routing]"
    only = " and ".join(decision.allowlist)
    return f"goes to {decision.target} (hint {decision.hint}, policy {decision.policy}), and touches only {only}"


def effort_json(judged: Effort, decision: Decision | None, standing: Standing | None) -> dict[str, Any]:
    """The documented form of ``zc effort --json``; ``decision`` is null where no turn is judged."""
    told = None
    if decision is not None and standing is None:
        told = {name: getattr(decision, name) for name in ("hint", "target", "allowlist", "policy")}
    return {
        "tier": judged.tier,
        "why": judged.why,
        "length": judged.length,
        "fence": judged.fence,
        "keywords": judged.keywords,
        "decision": told,
        "override": None if standing is None else {"scope": standing.scope, "choice": str(standing.choice)},
    }


# -- many messages ----------------------------------------------------------------------------------------------------


def _show_agreement(config: Config, *, as_json: bool) -> None:
    from zc_notebooks.routing.agreement import agreement
    from zc_notebooks.routing.effort import BUILT_IN

    found = agreement(config=config.effort or BUILT_IN)
    if as_json:
        emit(agreement_json(found, own=config.effort is not None))
        return
    answer(f"agrees with the labels: {found.overall}; not marked as hard: {found.of_plain}")
    answer(f"  English {found.of_language('en')}, Japanese {found.of_language('ja')}")
    answer(f"  both languages of a pair judged alike: {found.alike}")
    answer(f"  judged to need less than a person says: {found.under}")
    table(("label", *(f"judged {tier}" for tier in found.confusion())), _lines(found))
    say(f"figures and keywords: {'this configuration' if config.effort else 'built in'}")


def _lines(found: Agreement) -> list[tuple[str, ...]]:
    english, japanese = found.confusion("en"), found.confusion("ja")
    return [
        (label, *(f"{count} (en {english[label][tier]}, ja {japanese[label][tier]})" for tier, count in row.items()))
        for label, row in found.confusion().items()
    ]


def agreement_json(found: Agreement, *, own: bool) -> dict[str, Any]:
    """The documented form of ``zc effort --agreement --json``."""
    from zc_notebooks.routing.agreement import LANGUAGES, Share

    def share(value: Share) -> dict[str, Any]:
        return {"count": value.count, "of": value.of, "fraction": round(value.fraction, 4)}

    return {
        "estimator": "configured" if own else "built in",
        "overall": share(found.overall),
        "not_hard": share(found.of_plain),
        "languages": {language: share(found.of_language(language)) for language in LANGUAGES},
        "pairs_alike": share(found.alike),
        "under": share(found.under),
        "confusion": {"all": found.confusion(), **{language: found.confusion(language) for language in LANGUAGES}},
        "disagreements": [
            {"id": item.id, "language": item.language, "label": item.label, "tier": item.tier, "why": item.why}
            for item in found.judged
            if not item.agrees
        ],
    }
