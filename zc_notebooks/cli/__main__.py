"""``python -m zc_notebooks.cli``."""

from zc_notebooks.cli import main

main()
