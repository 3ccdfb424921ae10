"""Who would be asked, in which order, and how each stands now."""

from __future__ import annotations

from zc_notebooks.chain import Chain
from zc_notebooks.markup import Sheet, counted
from zc_notebooks.planning import COLUMNS
from zc_notebooks.planning import lines as plan_lines
from zc_notebooks.records import Plan


def plan_sheet(made: Plan) -> Sheet:
    """The entries as they would be asked, with what was left out where it hangs."""
    of = f"hint {made.hint}" if made.hint is not None else f"the {made.source}"
    return Sheet(
        title=f"Plan: {counted(len(made.entries), 'candidate')} from {of}",
        columns=COLUMNS,
        rows=tuple(plan_lines(made)),
        notes=tuple(f"{item.code}: {item.path} ({item.ref})" for item in (*made.pruned, *made.warnings)),
    )


def chain_sheet(chain: Chain) -> Sheet:
    """The plan of a plain call, and where the chain comes from."""
    made = chain.plan()
    plan = plan_sheet(made)
    where = "the embedded lab (simulated providers)" if chain.lab is not None else "zc.toml"
    problem = chain.config_problem
    broken = () if problem is None else (f"What was read before is in force, because: {problem}",)
    return Sheet(title=f"Chain from {where}", columns=plan.columns, rows=plan.rows, notes=(*broken, *plan.notes))
