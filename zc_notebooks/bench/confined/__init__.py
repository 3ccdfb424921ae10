"""The two programs that run on the other side of :mod:`zc_notebooks.bench.sandbox`. They import nothing of ours."""
