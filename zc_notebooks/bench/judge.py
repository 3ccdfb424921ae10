"""A model that judges prose: any candidate of a chain, or any function that answers a prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from zc_notebooks.errors import ZcError
from zc_notebooks.model_names import same_model
from zc_notebooks.records import Record
from zc_notebooks.reliability.materialize import Ask, plan

if TYPE_CHECKING:
    from zc_notebooks.chain import Chain


class NoVerdict(ZcError):
    """A judge gave no usable verdict; the message says why."""


class Judge(Record, frozen=True, kw_only=True):
    """Who is asked, and how."""

    name: str
    """The model's name, by which it is kept from judging itself, whatever the route."""
    ask: Callable[[str], Awaitable[str]]
    """Prompt to answer. A :class:`~zc_notebooks.errors.ZcError` means: no verdict."""


def impartial(judges: Sequence[Judge], judged: str | None) -> Judge | None:
    """The first judge that is not the judged model, or ``None``."""
    return next((judge for judge in judges if judged is None or not same_model(judge.name, judged)), None)


def chain_judge(chain: Chain, candidate: str) -> Judge:
    """A candidate of ``chain`` (``family.alias/model``) as a judge: asked alone, without fallback.

    Raises :class:`NoVerdict` when ``candidate`` names no model (a judge must be known by its name), and
    :class:`~zc_notebooks.errors.ConfigError` when it is not configured.
    """
    model = candidate.partition("/")[2]
    if not model:
        raise NoVerdict(f"judge {candidate}: name the model too, as in groq.free/openai/gpt-oss-120b")
    plan(chain.config, Ask(start=candidate, fallback=False))

    async def ask(prompt: str) -> str:
        answer = await chain.ask(prompt, start=candidate, fallback=False, mode="bench", temperature=0.0)
        if not same_model(model, answer.served.model):
            raise NoVerdict(f"judge {candidate}: another model answered ({answer.served.model})")
        return answer.text

    return Judge(name=model, ask=ask)
