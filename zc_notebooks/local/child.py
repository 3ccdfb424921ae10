"""The model's own process: llama.cpp's server on loopback. Run as a file, so that it needs nothing of this package.

Standard input holds one line of JSON (what to serve) and stays open for as long as the parent lives: when it ends, so
does this process, whatever state the native code is in. Standard output gets one line of JSON: the address.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serves until standard input ends."""
    wanted: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    _die_with(wanted["parent"])
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever native code prints is no answer
    sys.path.extend(folder for folder in wanted["folders"] if folder not in sys.path)
    address = _serve(importlib.import_module(wanted["module"]), wanted)
    told.write(json.dumps({"address": address}) + "\n")
    told.flush()
    sys.stdin.buffer.read()
    os._exit(0)  # an orderly end would wait for the native threads


def _die_with(parent: int) -> None:
    """Linux: the kernel ends this process with its parent, also while native code holds the interpreter's lock."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.name == "posix" and os.getppid() != parent:
        os._exit(0)


_running: list[Any] = []
"""The native server, which would stop if it were collected."""


def _serve(native: Any, wanted: dict[str, Any]) -> str:
    """Starts the server and returns its address once the model is loaded."""
    params = native.CommonParams()
    params.model.path = wanted["weights"]
    params.model_alias = {wanted["name"]}  # else every answer names a path of this machine
    params.hostnames = ["127.0.0.1"]
    params.port = wanted["port"]
    params.api_keys = wanted["api_keys"]
    params.n_ctx = wanted["context"]
    params.n_parallel = 1  # further requests wait in line, each with the whole context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads()
    params.sampling.penalty_repeat, params.sampling.penalty_last_n = 1.1, 256  # so small a model runs in circles else
    params.cache_ram_mib = 0  # its own default keeps up to 8 GiB of old prompts
    params.cors_origins, params.cors_origins_explicit = "localhost", True  # no page of the web may ask it
    params.cors_credentials = params.ui = params.endpoint_slots = False
    params.verbosity = 1
    _running.append(native.Server(params))
    return str(_running[0].listening_address)


def _threads() -> int:
    """Half of the cores, at most four: the threads spin while they wait for each other.

    Measured on two cores: one thread makes 83 tokens/s, and 32 beside two busy processes; two threads make 137, and 7.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(cores // 2, 1), 4)


if __name__ == "__main__":
    main()
