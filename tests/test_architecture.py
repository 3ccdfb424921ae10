"""The house has one direction. This parses imports; nothing is imported."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import ROOT

PACKAGE = ROOT / "zc_notebooks"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("wakeful", "resources", "clock", "redact", "forks", "shared_file", "model_names", "complaint", "nesting"),
    ("shown",),
    ("records",),
    ("markup", "chat", "ledger.row"),
    ("errors", "result", "images", "prompt_parts", "request_settings", "messages"),
    ("config",),
    (
        "ledger.prices",
        "ledger.list_prices",
        "reliability.answer",
        "reliability.backoff",
        "reliability.checks",
        "reliability.classify",
        "reliability.decide",
        "reliability.failure_body",
        "reliability.families",
        "reliability.finish_words",
        "reliability.instants",
        "reliability.mark_rules",
        "reliability.periods",
        "reliability.phrases",
        "reliability.quota_headers",
        "reliability.reset_time",
        "reliability.rules",
        "reliability.stated",
        "reliability.steps",
        "reliability.walk",
        "routing.effort",
        "routing.keywords",
    ),
    ("wire", "stream_guard"),
    ("borders", "places", "ledger", "sync", "local"),
    ("transport",),
    ("reliability", "budget"),
    ("routing", "attribution", "live_config"),
    (
        "outcome",
        "explain",
        "explanation",
        "events",
        "stream_attempt",
        "stream_limits",
        "stream_shown",
        "calling",
        "planning",
        "turn",
        "sinks",
        "streaming",
    ),
    ("chain_transport",),
    ("testing", "lab"),
    ("probe", "fallback", "chain", "routing.router", "watch", "status", "opening"),
    ("wall", "sample", "frames", "bench"),
    ("charts",),
    ("notebook",),
    ("cli",),
)
"""From the leaves up: pure decisions, then wires, then what touches disk and network, then what people use."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {f"zc_notebooks.{name_of(path)}" for path in modules()}


def layer_of(name: str) -> int:
    """The longest listed prefix decides."""
    best, found = -1, -1
    for level, names in enumerate(LAYERS):
        for listed in names:
            if (name == listed or name.startswith(f"{listed}.")) and len(listed) > best:
                best, found = len(listed), level
    return found


def imports(path: Path) -> set[str]:
    """Names of this package's modules and of foreign packages that ``path`` imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(inner & MODULES or {node.module})
    return found


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_module_has_a_layer(path: Path) -> None:
    """A new module must be placed in the house."""
    name = name_of(path)
    assert name == "" or layer_of(name) >= 0 or name in ("reliability", "ledger"), f"{name} stands in no layer"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_down(path: Path) -> None:
    """No module imports from a layer above its own."""
    name = name_of(path)
    if not name:
        return
    for target in sorted(imports(path)):
        if not target.startswith("zc_notebooks."):
            continue
        inner = target.removeprefix("zc_notebooks.")
        assert layer_of(inner) <= layer_of(name), f"{name} imports {inner}, which is above it"


def test_only_the_transport_imports_an_http_library() -> None:
    """One door to the network."""
    libraries = {"aiohttp", "httpcore", "httptools", "httpx", "httpx2", "requests", "urllib3"}
    doors = {name_of(path) for path in modules() if libraries & {item.split(".")[0] for item in imports(path)}}
    assert doors == {"transport.answer"}


def test_the_lab_does_not_use_our_wires() -> None:
    """The lab judges the wires, so it may not share them."""
    for path in modules():
        if name_of(path).startswith("lab"):
            assert not any(item.startswith("zc_notebooks.wire") for item in imports(path)), name_of(path)
