"""A fleet of simulated providers that speak the real wires over loopback HTTP.

Example:
    >>> from zc_notebooks.lab import Lab
    >>> with Lab() as lab:
    ...     lab.set_fault("e", "cut:3", times=1)
    ...     toml = lab.config_text()
"""

from __future__ import annotations

from zc_notebooks.lab.answers import Prepared, register_answer, unregister_answer
from zc_notebooks.lab.asked import LabRequest
from zc_notebooks.lab.clock import LabClock
from zc_notebooks.lab.conversation import Conversation, Unreadable, decode_request
from zc_notebooks.lab.failures import Failure, failure, failure_response, failures
from zc_notebooks.lab.faults import Fault
from zc_notebooks.lab.lab import Lab, ScenarioRow, describe, serve
from zc_notebooks.lab.scenario import Scenario, load_scenario, parse_scenario, scenario_names

__all__ = [
    "Conversation",
    "Failure",
    "Fault",
    "Lab",
    "LabClock",
    "LabRequest",
    "Prepared",
    "Scenario",
    "ScenarioRow",
    "Unreadable",
    "decode_request",
    "describe",
    "failure",
    "failure_response",
    "failures",
    "load_scenario",
    "parse_scenario",
    "register_answer",
    "scenario_names",
    "serve",
    "unregister_answer",
]
