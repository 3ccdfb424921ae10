"""What each object looks like in a notebook, by subject; :mod:`zc_notebooks.notebook.display` knows which is whose."""
