"""One process at a shared purse: ``python -m tests.budget_worker PATH COMMAND [ARGUMENT …]``."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import zc_notebooks as zc
from zc_notebooks.budget.spend_file import Reservation
from zc_notebooks.budget.spending import PeriodLimits, Shortage, Spending
from zc_notebooks.clock import SystemClock

PRICE = 1_000_000
"""Nano-dollars that every attempt here needs: a tenth of a cent."""


def spend_all(spending: Spending, limit: str) -> None:
    """Spends, one attempt after the other, until nothing is left; prints how many there were."""
    ready()
    limits, made = PeriodLimits(day=int(limit)), 0
    while isinstance(held := spending.reserve(PRICE, limits), Reservation):
        spending.settle(held, PRICE)
        made += 1
    assert isinstance(held, Shortage)
    print(made)


def spend_for_ever(spending: Spending, limit: str) -> None:
    """Reserves, reports, settles at half the price, reports, for ever."""
    limits = PeriodLimits(day=int(limit))
    while True:
        held = spending.reserve(PRICE, limits)
        if isinstance(held, Reservation):
            os.write(1, b"reserved\n")
            spending.settle(held, PRICE // 2)
            os.write(1, b"settled\n")


def hang(spending: Spending, _: str) -> None:
    """Reserves and never settles."""
    print(type(spending.reserve(PRICE, PeriodLimits())).__name__, flush=True)
    sys.stdin.readline()


def fork(spending: Spending, limit: str) -> None:
    """Reserves on both sides of a fork; prints how many got something."""
    limits = PeriodLimits(day=int(limit))
    made = isinstance(spending.reserve(PRICE, limits), Reservation)
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            os._exit(int(isinstance(spending.reserve(PRICE, limits), Reservation)))
        children.append(child)
    print(made + sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))


def ask(_: Spending, config: str, ledger: str, calls: str) -> None:
    """Makes calls until one is not permitted; prints how many were answered."""
    ready()
    answered = 0
    with zc.open(config, ledger=ledger) as chain:
        for _ in range(int(calls)):
            try:
                chain.ask_sync("What is 17 * 23?", start="deepseek.prepaid", max_tokens=600)
            except zc.NoPermittedCandidate:
                break
            answered += 1
    print(answered)


def ready() -> None:
    """Says so, and waits for a line on standard input."""
    print("ready", flush=True)
    sys.stdin.readline()


COMMANDS = {"all": spend_all, "ever": spend_for_ever, "hang": hang, "fork": fork, "ask": ask}

if __name__ == "__main__":
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
    COMMANDS[sys.argv[2]](Spending(Path(sys.argv[1]), clock=SystemClock()), *(sys.argv[3:] or [""]))
