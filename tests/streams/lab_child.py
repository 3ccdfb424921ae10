"""A lab in a process of its own, to be killed: ``python -m tests.streams.lab_child stall:5``.

It writes a line of JSON with every wire's base URL and model, then one line for each request it has received.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from zc_notebooks.lab import Lab
from zc_notebooks.lab.scenario import Scenario, load_scenario


def plain() -> Scenario:
    """The six wires, none of which thinks aloud: the first thing said is text."""
    import msgspec

    loaded = load_scenario("wires")
    providers = []
    for spec in loaded.providers:
        models = tuple(msgspec.structs.replace(model, thinking=0) for model in spec.models)
        providers.append(msgspec.structs.replace(spec, models=models))
    return msgspec.structs.replace(loaded, providers=tuple(providers))


class Telling(Lab):
    """Says on standard output who was asked."""

    def receive(self, name: str, *rest: Any) -> Any:
        """See :class:`~zc_notebooks.lab.Lab`."""
        answer = super().receive(name, *rest)
        print(name, flush=True)
        return answer


def main(fault: str) -> None:
    with Telling(plain(), latency=0.0) as lab:
        for spec in lab.scenario.providers:
            lab.set_fault(spec.name, fault)
        places = {spec.name: (lab.base_url(spec.name), spec.models[0].id) for spec in lab.scenario.providers}
        print(json.dumps(places), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
