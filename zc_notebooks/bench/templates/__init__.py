"""Templates: each makes a fresh task from a random source, with the right and the nearly right answers computed.

They are functions ``(random, language, level) -> Made``; the same source gives the same task everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from zc_notebooks.bench.extract import Language
from zc_notebooks.bench.templates.arithmetic import average_speed, discount_margin
from zc_notebooks.bench.templates.calendar_rules import earliest_date, relative_date
from zc_notebooks.bench.templates.code_repair import last_items, window_sums
from zc_notebooks.bench.templates.made import Made
from zc_notebooks.bench.templates.negative import without_a_word
from zc_notebooks.bench.templates.nuance import late_clock, who_did_it
from zc_notebooks.bench.templates.queue import order_of_turns
from zc_notebooks.bench.templates.records_of_tax import log_lines, tax_records, tax_total

Template = Callable[[Random, Language, int], Made]

TEMPLATES: Final[Mapping[str, Template]] = {
    function.__name__: function
    for function in (
        average_speed,
        discount_margin,
        earliest_date,
        last_items,
        late_clock,
        log_lines,
        order_of_turns,
        relative_date,
        tax_records,
        tax_total,
        who_did_it,
        window_sums,
        without_a_word,
    )
}
"""By the name a task file uses."""
