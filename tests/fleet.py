"""Small chains for tests: profiles at made-up hosts, answered by a scripted transport on a manual clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.reliability.cooldown import Marks
from zc_notebooks.testing import ManualClock, Scripted, ScriptedTransport

KEYS = {f"KEY_{name.upper()}": f"zz{name}-0123456789abcdef-{name}zz" for name in ("a", "b", "c", "d", "e")}


def profile(name: str, **fields: Any) -> str:
    """A ``[providers.custom.<name>]`` block at ``http://<name>.test``; ``key=None`` leaves the key out."""
    lines = [f"[providers.custom.{name}]", f'uri = "https://{name}.test/v1"', f'model = "{fields.pop("model", "m")}"']
    key = fields.pop("key", f"KEY_{name.upper()}")
    if key is not None:
        lines.append(f'api_key_env = "{key}"')
    lines += [f"{field} = {value}" for field, value in fields.items()]
    return "\n".join(lines) + "\n"


def chain_toml(*names: str, extra: str = "", **fields: Any) -> str:
    """Profiles and a flat chain over them."""
    blocks = [profile(name, **fields) for name in names]
    links = [f'[[chain]]\nprovider = "custom.{name}"\n' for name in names]
    return "\n".join([*blocks, *links, extra])


class Fleet:
    """A chain, its transport and its clock."""

    def __init__(
        self,
        script: Mapping[str, Sequence[Scripted]],
        folder: Path,
        *,
        toml: str | None = None,
        environ: Mapping[str, str] = KEYS,
        transport: type[ScriptedTransport] = ScriptedTransport,
        **options: Any,
    ) -> None:
        self.clock = ManualClock()
        self.transport = transport({f"{name}.test": items for name, items in script.items()}, clock=self.clock)
        text = toml if toml is not None else chain_toml(*script)
        self.hops: list[tuple[str, str, str]] = []
        self.rows: list[Any] = []
        self.chain = Chain(
            parse_config(text, base_dir=folder, source="zc.toml"),
            transport=self.transport,
            clock=self.clock,
            ledger=folder / "ledger",
            marks=Marks(None, clock=self.clock),
            random=lambda: 0.0,
            environ=environ,
            on_attempt=self.rows.append,
            on_failover=lambda origin, to, reason: self.hops.append((origin.ref, to.ref, reason)),
            **options,
        )

    @property
    def called(self) -> list[str]:
        """Hosts in the order they were asked."""
        return [request.url.split("//")[1].split(".")[0] for request in self.transport.requests]

    @property
    def statuses(self) -> list[tuple[str, str]]:
        """(ref, status) of every row."""
        return [(row.provider_ref.removeprefix("custom."), row.status) for row in self.rows]
