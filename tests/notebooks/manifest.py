"""Every notebook stands here exactly once: ``strict`` compares outputs, ``lax`` only runs."""

from __future__ import annotations

NOTEBOOKS = {
    "00_start_here.ipynb": "strict",
    "01_first_answer.ipynb": "strict",
    "02_why_did_it_fail.ipynb": "strict",
    "03_streams_that_break.ipynb": "strict",
    "04_routes_and_borders.ipynb": "strict",
    "05_outage_investigation.ipynb": "strict",
    "06_cost_per_attempt.ipynb": "strict",
    "07_order_the_chain.ipynb": "strict",
    "08_controls.ipynb": "strict",
}
