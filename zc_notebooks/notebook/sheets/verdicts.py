"""What a failure means, and what in the response decided it."""

from __future__ import annotations

from zc_notebooks.explanation import Explanation
from zc_notebooks.markup import Sheet
from zc_notebooks.records import Verdict
from zc_notebooks.redact import short


def verdict_sheet(verdict: Verdict) -> Sheet:
    """Reason, end of the limit, evidence, and the provider's own words."""
    lines = [f"{verdict.reason.replace('_', ' ')} ({verdict.failure_class})"]
    if verdict.stated_wait_s is not None:
        lines.append(f"back in {verdict.stated_wait_s:g} s, as stated")
    if verdict.resets_at is not None:
        lines.append(f"back at {verdict.resets_at:%Y-%m-%d %H:%M:%S} UTC ({verdict.reset_source})")
    return Sheet(
        title="Verdict",
        lines=tuple(lines),
        columns=("where", "found", "means"),
        rows=tuple((item.where, item.value, item.means) for item in verdict.evidence),
        notes=(short(verdict.text),) if verdict.text else (),
    )


def explanation_sheet(told: Explanation) -> Sheet:
    """What one recorded response means and what a chain does next."""
    return Sheet(
        title=repr(told).removeprefix("Explanation(").removesuffix(")").replace("_", " "),
        lines=(f"Next: {told.action}.",),
        columns=("where", "found", "means"),
        rows=tuple((item.where, item.value, item.means) for item in told.evidence),
        notes=(short(told.verdict.text, 300),) if told.verdict and told.verdict.text else (),
    )
