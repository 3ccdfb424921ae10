"""A price correction applied later: what the attempts of a period cost by the prices known today.

For a list price that was entered late or wrong, a profile's ``pricing`` that was forgotten, or rows imported without a
cost. Rows are not touched: what differs goes to a new version beside them (:mod:`zc_notebooks.ledger.price_versions`),
and a second run with the same prices writes nothing.

An attempt is priced as its row would be now: by its own provider, model and tokens, at the instant it began. Left as
they are: refusals (a known zero), attempts whose usage is not known, those whose price is not known today either, a
profile's own price when that profile is not configured any more, and what another program said it was charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from zc_notebooks.chat import Usage
from zc_notebooks.clock import Clock, SystemClock
from zc_notebooks.errors import LedgerError
from zc_notebooks.ledger import price_versions
from zc_notebooks.ledger.listing import Lister, nobody_looks
from zc_notebooks.ledger.locking import alone
from zc_notebooks.ledger.period import When, period
from zc_notebooks.ledger.prices import PROFILE, Cost, price
from zc_notebooks.ledger.read import Ledger
from zc_notebooks.ledger.steps import Disk, temporary
from zc_notebooks.markup import counted
from zc_notebooks.records import Profile, Record

_WAIT_S: Final = 30.0
"""For a compaction or an import to end."""
_PRICED: Final = """
select call_id, ordinal, t, provider_ref, model, tier, input_tokens, cached_input_tokens, output_tokens,
    reasoning_tokens, billed_input_tokens, billed_output_tokens, cost_usd, price_source
from attempts
where kind = 'attempt' and usage_state = 'complete' and not starts_with(status, 'http_') and status <> 'network'
    and ($1::timestamptz is null or t >= $1) and ($2::timestamptz is null or t < $2)
order by t, call_id, ordinal
"""


class Repricing(Record, frozen=True, kw_only=True):
    """What a correction found and did."""

    looked_at: int
    """Attempts of the period with known usage."""
    changed: int
    """Those that cost something else by today's prices."""
    unpriced: int
    """Those without a price then and now."""
    kept: int
    """Those whose price is not ours to change, or not known any more."""
    before_usd: Decimal
    after_usd: Decimal
    """Sums over the changed ones; where no price was known before, that counts as nothing here."""
    version: int | None
    """Number of the version that was written; ``None``: nothing changed, or a dry run."""
    dry_run: bool = False

    def __str__(self) -> str:
        what = f"{self.changed:,} of {counted(self.looked_at, 'attempt')} cost something else"
        if self.changed:
            what += f": ${self.after_usd:.6f} instead of ${self.before_usd:.6f}"
        parts = [what]
        parts += [counted(self.unpriced, "has no known price", "have no known price")] if self.unpriced else []
        parts += [counted(self.kept, "is left as it is", "are left as they are")] if self.kept else []
        if self.version is not None:
            parts.append(f"written as version {self.version}")
        elif self.dry_run:
            parts.append("a dry run, nothing was written")
        return ", ".join(parts)


def reprice(
    folder: Path | str,
    profiles: Mapping[str, Profile],
    *,
    since: When | None = None,
    until: When | None = None,
    dry_run: bool = False,
    clock: Clock | None = None,
) -> Repricing:
    """Corrects the costs of a period by today's prices.

    Args:
        folder: The ledger.
        profiles: By ref; whose ``pricing`` counts. A ref that is not among them has the list price of its family.
        since: Begin, included: ``"24h"``, a date or an instant.
        until: End, not included; the same forms.
        dry_run: Only count.
        clock: Whose time a correction bears.

    Raises:
        LedgerError: A bound cannot be read, or the ledger cannot be read or written.
    """
    clock = clock or SystemClock()
    folder = Path(folder).expanduser().absolute()
    begin, end = period(since, until, now=clock.now())
    if dry_run or not folder.is_dir():
        return _Correction(folder, profiles, begin, end, clock).result(None, dry_run=dry_run)
    try:
        with alone(folder, wait_s=_WAIT_S):
            correction = _Correction(folder, profiles, begin, end, clock)
            return correction.result(correction.write(), dry_run=False)
    except OSError as problem:
        raise LedgerError(f"the ledger {folder.name} cannot be repriced: {problem.strerror or problem}") from None


class _Correction:
    """The rows of a period against today's prices."""

    def __init__(
        self,
        folder: Path,
        profiles: Mapping[str, Profile],
        begin: datetime | None,
        end: datetime | None,
        clock: Clock,
    ) -> None:
        self._folder, self._profiles, self._clock = folder, profiles, clock
        self._counts = {"looked_at": 0, "unpriced": 0, "kept": 0}
        self._before = self._after = Decimal(0)
        self._new: list[tuple[str, int, Cost]] = []
        ledger = Ledger(folder, clock=clock)
        try:
            for row in ledger.sql(_PRICED, [begin, end]).iter_rows(named=True):
                self._look_at(row)
        finally:
            ledger.close()

    def _look_at(self, row: Mapping[str, Any]) -> None:
        self._counts["looked_at"] += 1
        profile = None if _foreign(row["price_source"]) else self._profile(row)
        cost = Cost() if profile is None else price(profile, row["model"], _usage(row), at=row["t"])
        if profile is None or (cost.cost_usd is None and row["cost_usd"] is not None):
            self._counts["kept"] += 1
        elif cost.cost_usd is None:
            self._counts["unpriced"] += 1
        elif float(cost.cost_usd) != row["cost_usd"]:
            self._new.append((row["call_id"], row["ordinal"], cost))
            self._before += Decimal(str(row["cost_usd"] or 0))
            self._after += cost.cost_usd

    def _profile(self, row: Mapping[str, Any]) -> Profile | None:
        """The configured profile; without one a stand-in of its family, unless its own price is asked for."""
        known = self._profiles.get(row["provider_ref"])
        if known is not None or row["price_source"] == PROFILE:
            return known
        return _stand_in(row["provider_ref"], row["tier"])

    def write(self) -> int | None:
        """Puts what differs beside the rows; the number of the version, or ``None`` when nothing differs."""
        if not self._new:
            return None
        newest, now, disk = Lister(self._folder).look().prices, self._clock.now(), Disk()
        version = 1 + max(self._versions(), default=0)
        rows = [
            (call_id, ordinal, float(cost.cost_usd or 0), cost.source, now, version)
            for call_id, ordinal, cost in self._new
        ]
        hidden = temporary(self._folder)
        try:
            price_versions.write(hidden, price_versions.read(newest), rows, version, now)
            hidden.chmod(0o600)
            disk.sync(hidden)
            with nobody_looks(self._folder):
                disk.rename(hidden, self._folder / price_versions.new_name(version))
        finally:
            with suppress(OSError):
                hidden.unlink(missing_ok=True)
        return version

    def _versions(self) -> Iterator[int]:
        """Also of files that cannot be read: a name is never given twice."""
        for path in self._folder.iterdir():
            version = price_versions.version_of(path.name)
            if version is not None:
                yield version

    def result(self, version: int | None, *, dry_run: bool) -> Repricing:
        """What was found."""
        return Repricing(
            **self._counts,
            changed=len(self._new),
            before_usd=self._before,
            after_usd=self._after,
            version=version,
            dry_run=dry_run,
        )


def _foreign(source: str | None) -> bool:
    return source is not None and source != PROFILE and not source.startswith("genai-prices ")


def _usage(row: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cached_tokens=row["cached_input_tokens"],
        reasoning_tokens=row["reasoning_tokens"],
        billed_input_tokens=row["billed_input_tokens"],
        billed_output_tokens=row["billed_output_tokens"],
    )


@lru_cache(maxsize=1024)
def _stand_in(ref: str, tier: str | None) -> Profile:
    family, _, alias = ref.partition(".")
    return Profile(
        ref=ref,
        family=family,
        alias=alias,
        base_url="",
        wire="openai_chat",
        tier="local" if tier == "local" else "metered",
    )
