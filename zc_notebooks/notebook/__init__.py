"""What the package shows and does inside Jupyter."""

from __future__ import annotations

from zc_notebooks.notebook.nested import allow_nested_loops

__all__ = ["allow_nested_loops"]
