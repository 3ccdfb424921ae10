"""What the package shows and does inside Jupyter."""
