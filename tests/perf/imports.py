"""``python -m tests.perf imports``: what importing costs, and a cold ``zc ask`` against a server that answers."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import ROOT
from tests.perf.measure import Targets, at
from tests.perf.server import serving
from tests.perf.setting import config_text

_IMPORT = "import zc_notebooks"
_TRANSPORT = "import zc_notebooks.transport"
_ASK = "import sys; from zc_notebooks.cli import main; main(sys.argv[1:])"
_USAGE = """
import os, pathlib, resource
times, most = os.times(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
status = pathlib.Path("/proc/self/status")  # ru_maxrss counts the process that forked this one, VmHWM does not
lines = status.read_text().splitlines() if status.exists() else []
print(times.user + times.system, *[line.split()[1] for line in lines if line.startswith("VmHWM")] or [most])
"""


def run(arguments: list[str]) -> int:
    """Prints the figures and the targets. ``--check`` makes a missed target the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf imports", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--rounds", type=int, default=9, help="fresh processes of each kind")
    options = parser.parse_args(arguments)
    targets = Targets()
    bare, package, transport = _imports(options.rounds, "", _IMPORT, _TRANSPORT)
    print(f"\n  {'':34}{'CPU s':>10}{'MB':>8}   (of the whole process)")
    for name, (cpu, memory) in {"python": bare, _IMPORT: package, _TRANSPORT: transport}.items():
        print(f"  {name:34}{cpu:10.3f}{memory:8.1f}")
    targets.at_most("import zc_notebooks, CPU s, python included", package[0], 0.20)
    targets.at_most("import zc_notebooks, MB, python included", package[1], 30)
    with tempfile.TemporaryDirectory() as folder, serving() as base:
        seconds = _cold_asks(Path(folder), base, options.rounds)
    print(f"\n  cold zc ask, seconds of wall time: p50 {at(seconds, 0.5):.3f}, worst {max(seconds):.3f}")
    targets.at_most("cold zc ask, p50 s", at(seconds, 0.5), 0.45)
    return targets.show(check=options.check)


def _imports(rounds: int, *codes: str) -> list[tuple[float, float]]:
    """For each code, run in processes of its own in turn: the median (CPU seconds, MB) of the whole process."""
    seen: dict[str, list[tuple[float, float]]] = {code: [] for code in codes}
    for number in range(rounds + 1):
        for code in codes:
            done = subprocess.run(
                [sys.executable, "-c", f"{code}\n{_USAGE}"], cwd=ROOT, capture_output=True, text=True, check=True
            )
            cpu, memory = done.stdout.split()
            if number:  # the first one writes the byte code
                seen[code].append((float(cpu), float(memory) / (2**20 if sys.platform == "darwin" else 2**10)))
    return [(at([one[0] for one in seen[code]], 0.5), at([one[1] for one in seen[code]], 0.5)) for code in codes]


def _cold_asks(folder: Path, base: str, rounds: int) -> list[float]:
    """Wall seconds of ``zc ask`` in fresh processes."""
    (folder / "zc.toml").write_text(config_text(base, [""], "ask"), encoding="utf-8")
    environment = {**os.environ, "ZC_STATE_DIR": str(folder), "ZC_CONFIG": str(folder / "zc.toml")}
    environment["PYTHONPATH"] = str(ROOT)
    took = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", _ASK, "ask", "why?"], cwd=folder, env=environment, capture_output=True, check=True
        )
        took.append(time.perf_counter() - start)
    return took[1:]
