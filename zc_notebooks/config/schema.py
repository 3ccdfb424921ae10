"""What a loaded ``zc.toml`` is: frozen records with every default filled in (spec 2)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Literal

from zc_notebooks.markup import counted
from zc_notebooks.records import Profile, Record, Reliability, Tier
from zc_notebooks.redact import Secret

NoticeMode = Literal["off", "redacted", "detailed"]
Durability = Literal["os", "fsync"]
Escalation = Literal["never", "auto"]
UnknownPrice = Literal["refuse", "allow"]


class ConfigWarning(Record, frozen=True, kw_only=True):
    """Something questionable that did not stop the load (spec 2.6); each (code, path) stands once."""

    code: str
    path: str
    """Dotted config path."""
    message: str
    """One sentence; never a key."""
    ref: str = ""
    """The profile it is about, if there is one."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message} [{self.code}]"


class ChainEntry(Record, frozen=True, kw_only=True):
    """One ``[[chain]]`` block."""

    provider: str
    """Profile ref."""
    model: str | None = None
    """Its own model, else the profile's; never ``None`` after a load."""
    allow_tiers: tuple[Tier, ...] | None = None


class Route(Record, frozen=True, kw_only=True):
    """One ``[[model_routes]]`` block."""

    hint: str
    model_provider: str
    """Profile ref."""
    model: str
    api_key_env: str | None = None
    inline_key: Secret | None = None
    allow_tiers: tuple[Tier, ...] | None = None


class EffortRouting(Record, frozen=True, kw_only=True):
    """``[effort_routing]``; keyword lists of ``None`` stand for the built-in ones (spec 10.1)."""

    local_hint: str
    cloud_hint: str
    cloud_escalation: Escalation = "never"
    complex_over: int = 200
    """Characters above which a message is complex."""
    simple_under: int = 50
    """Characters below which a message without keywords is simple."""
    complex_keywords: int = 2
    """Distinct keywords from which a message is complex."""
    latin_keywords: tuple[str, ...] | None = None
    japanese_keywords: tuple[str, ...] | None = None


class Borders(Record, frozen=True, kw_only=True):
    """``[borders]`` (spec 2.7). Budgets in USD; ``None`` is no budget, and no ``allow_tiers`` is all tiers."""

    allow_tiers: tuple[Tier, ...] | None = None
    budget_call_usd: Decimal | None = None
    budget_day_usd: Decimal | None = None
    budget_month_usd: Decimal | None = None
    unknown_price: UnknownPrice = "refuse"


class LedgerConfig(Record, frozen=True, kw_only=True):
    """``[ledger]``."""

    path: Path | None = None
    """Absolute folder, ``None`` when the file names none."""
    durability: Durability = "os"


class Config(Record, frozen=True, kw_only=True):
    """One loaded configuration. The empty one (no file) has no profile."""

    default_provider: str | None = None
    profiles: Mapping[str, Profile] = {}
    """By ref, in file order."""
    chain: tuple[ChainEntry, ...] = ()
    routes: tuple[Route, ...] = ()
    effort: EffortRouting | None = None
    reliability: Reliability = Reliability()
    borders: Borders = Borders()
    ledger: LedgerConfig = LedgerConfig()
    model_fallback_notice: NoticeMode = "off"
    env_file: Path | None = None
    """Where names are looked up after the environment; it need not exist."""
    path: Path | None = None
    """The file it was read from."""
    warnings: tuple[ConfigWarning, ...] = ()

    def __repr__(self) -> str:
        where = "no file" if self.path is None else str(self.path)
        return (
            f"Config({where}: {counted(len(self.profiles), 'profile')}, "
            f"{counted(len(self.chain), 'chain entry', 'chain entries')}, "
            f"{counted(len(self.routes), 'route')}, {counted(len(self.warnings), 'warning')})"
        )
