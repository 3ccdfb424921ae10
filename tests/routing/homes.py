"""A chain over a lab with a model at home and two clouds, whose request log proves who was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.config.schema import Config
from zc_notebooks.lab import Lab
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.routing.effort import Telemetry
from zc_notebooks.testing import ManualClock

SCENARIO = Path(__file__).with_name("home.toml")
HOME, CLOUD, THIRD = "custom.home", "groq.free", "openai.prepaid"
COMPLEX = "compare the two and explain why"
SIMPLE = "hi"

ROUTES = f"""
[[model_routes]]
hint = "local"
model_provider = "{HOME}"
model = "small"

[[model_routes]]
hint = "cloud"
model_provider = "{CLOUD}"
model = "large"

[[model_routes]]
hint = "dear"
model_provider = "{THIRD}"
model = "dear"
"""
LINKS = "".join(f'\n[[chain]]\nprovider = "{ref}"\n' for ref in (CLOUD, THIRD))


def config_text(lab: Lab, *, policy: str | None = "never", flat: bool = False) -> str:
    """Every provider falls back to the others; ``policy=None`` leaves effort routing out, ``flat`` adds a chain."""
    text = lab.config_text()
    head, link, tail = text.partition("\n[[chain]]")
    for ref, others in ((HOME, [CLOUD, THIRD]), (CLOUD, [THIRD, HOME]), (THIRD, [CLOUD])):
        names = ", ".join(f'"{other}"' for other in others)
        head = head.replace(f"[providers.{ref}]", f"[providers.{ref}]\nfallback = [{names}]")
    rest = (link + tail).replace("\n[reliability]", LINKS + "\n[reliability]") if flat else _without_chain(link + tail)
    effort = f'\n[effort_routing]\nlocal_hint = "local"\ncloud_hint = "cloud"\ncloud_escalation = "{policy}"\n'
    return head + rest + ROUTES + (effort if policy is not None else "")


def _without_chain(text: str) -> str:
    return text[text.index("\n[reliability]") :]


class House:
    """A chain, what it wrote, and what the lab saw."""

    def __init__(self, lab: Lab, folder: Path, **options: Any) -> None:
        self.lab = lab
        self.rows: list[Any] = []
        self.told: list[Telemetry] = []
        self._seen = len(lab.requests)
        clock = ManualClock()
        self.chain = Chain(
            self.config(lab, folder, **options),
            clock=clock,
            ledger=folder / "ledger",
            marks=Marks(None, clock=clock),
            random=lambda: 0.0,
            environ=lab.environ(),
            on_attempt=self.rows.append,
            on_decision=self.told.append,
        )

    @staticmethod
    def config(lab: Lab, folder: Path, **options: Any) -> Config:
        return parse_config(config_text(lab, **options), base_dir=folder, source="zc.toml", path=folder / "zc.toml")

    def asked(self) -> list[str]:
        """Providers that were asked since this was last looked at, in order, by the lab's own log."""
        requests = self.lab.requests
        new = requests[self._seen :]
        self._seen = len(requests)
        return [request.provider for request in new]

    def skips(self) -> list[tuple[str, str]]:
        """(ref, status) of the rows of skips so far."""
        return [(row.provider_ref, row.status) for row in self.rows if row.status.startswith("skipped")]
