"""Answer prompts through a chain of LLM providers that run out, and see every attempt.

The public names are loaded when they are first used, so importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

_WHERE: Final = {
    "open": "opening",
    "Chain": "chain",
    "allowed": "borders",
    "attribution": "attribution",
    "estimate_effort": "routing.effort",
    "Effort": "routing.effort",
    "Telemetry": "routing.effort",
    "Ledger": "ledger.read",
    "board": "notebook.panels",
    "controls": "notebook.panels",
    "Completion": "result",
    "call_with_fallback": "fallback",
    "classify_failure": "reliability.classify",
    "explain": "explanation",
    "events": "events",
    "notebook": "notebook",
    "SystemClock": "clock",
    "Message": "chat",
    "ImagePart": "chat",
    "TextPart": "chat",
    "Tool": "chat",
    "ToolCall": "chat",
    "JsonSchema": "chat",
    "Plan": "records",
    "RouterModelProvider": "routing.router",
    "Verdict": "records",
    "ZcError": "errors",
    "ConfigError": "errors",
    "LedgerError": "errors",
    "CallError": "errors",
    "NoPermittedCandidate": "errors",
    "AllCandidatesFailed": "errors",
    "CallTimeout": "errors",
    "ContextWindowExceeded": "errors",
    "TurnCancelled": "errors",
    "StreamInterruptedAfterOutput": "errors",
    "StreamCancelledAfterOutput": "errors",
    "PreExecutedToolsWithoutAnswer": "errors",
}

__all__ = ["__version__", *_WHERE]  # noqa: PLE0604 (names of the table)

if TYPE_CHECKING:
    from zc_notebooks import attribution as attribution
    from zc_notebooks import events as events
    from zc_notebooks import notebook as notebook
    from zc_notebooks.borders import allowed as allowed
    from zc_notebooks.chain import Chain as Chain
    from zc_notebooks.chat import ImagePart as ImagePart
    from zc_notebooks.chat import JsonSchema as JsonSchema
    from zc_notebooks.chat import Message as Message
    from zc_notebooks.chat import TextPart as TextPart
    from zc_notebooks.chat import Tool as Tool
    from zc_notebooks.chat import ToolCall as ToolCall
    from zc_notebooks.clock import SystemClock as SystemClock
    from zc_notebooks.errors import AllCandidatesFailed as AllCandidatesFailed
    from zc_notebooks.errors import CallError as CallError
    from zc_notebooks.errors import CallTimeout as CallTimeout
    from zc_notebooks.errors import ConfigError as ConfigError
    from zc_notebooks.errors import ContextWindowExceeded as ContextWindowExceeded
    from zc_notebooks.errors import LedgerError as LedgerError
    from zc_notebooks.errors import NoPermittedCandidate as NoPermittedCandidate
    from zc_notebooks.errors import PreExecutedToolsWithoutAnswer as PreExecutedToolsWithoutAnswer
    from zc_notebooks.errors import StreamCancelledAfterOutput as StreamCancelledAfterOutput
    from zc_notebooks.errors import StreamInterruptedAfterOutput as StreamInterruptedAfterOutput
    from zc_notebooks.errors import TurnCancelled as TurnCancelled
    from zc_notebooks.errors import ZcError as ZcError
    from zc_notebooks.explanation import explain as explain
    from zc_notebooks.fallback import call_with_fallback as call_with_fallback
    from zc_notebooks.ledger.read import Ledger as Ledger
    from zc_notebooks.notebook.panels import board as board
    from zc_notebooks.notebook.panels import controls as controls
    from zc_notebooks.opening import open as open  # noqa: A004 (zc.open)
    from zc_notebooks.records import Plan as Plan
    from zc_notebooks.records import Verdict as Verdict
    from zc_notebooks.reliability.classify import classify_failure as classify_failure
    from zc_notebooks.result import Completion as Completion
    from zc_notebooks.routing.effort import Effort as Effort
    from zc_notebooks.routing.effort import Telemetry as Telemetry
    from zc_notebooks.routing.effort import estimate_effort as estimate_effort
    from zc_notebooks.routing.router import RouterModelProvider as RouterModelProvider


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_WHERE[name]}")
    value = module if _WHERE[name] == name else getattr(module, name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext zc_notebooks``: the magics ``%%ask``, ``%zc`` and ``%%zcsql``."""
    import_module(f"{__name__}.notebook.magics").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext zc_notebooks``."""
    import_module(f"{__name__}.notebook.magics").unload(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
