"""The estimator of effort and the policy that picks a route (spec 10.1, 10.2, 10.5)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.config.schema import EffortRouting, Route
from zc_notebooks.routing.effort import EFFORT_TIERS, Decision, Telemetry, decide, estimate_effort, length_of, telemetry
from zc_notebooks.routing.keywords import JAPANESE, LATIN, comparable, found_keywords

ROUTES = (
    Route(hint="local", model_provider="custom.home", model="m"),
    Route(hint="cloud", model_provider="groq.free", model="m"),
)
NEVER = EffortRouting(local_hint="local", cloud_hint="cloud")
AUTO = EffortRouting(local_hint="local", cloud_hint="cloud", cloud_escalation="auto")
TEXTS = st.text(max_size=260)
KEYWORDS = st.sampled_from((*LATIN, *JAPANESE))


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("hi", "simple"),
        ("", "simple"),
        ("a" * 201, "complex"),
        ("```\nx\n```", "complex"),
        ("``", "simple"),
        ("compare and explain", "complex"),
        ("explain this", "standard"),
        ("a" * 80, "standard"),
    ],
)
def test_the_three_rules(text: str, tier: str) -> None:
    """159: length, fence and keywords decide, in this order."""
    assert estimate_effort(text).tier == tier


@pytest.mark.parametrize(("length", "tier"), [(0, "simple"), (49, "simple"), (50, "standard"), (200, "standard")])
def test_the_edges_of_length(length: int, tier: str) -> None:
    """160: exactly 200 is not complex by length, exactly 50 is standard, 49 without a keyword is simple."""
    assert estimate_effort("a" * length).tier == tier


@pytest.mark.parametrize(
    ("count", "length", "tier"),
    [(24, 48, "simple"), (25, 50, "standard"), (100, 200, "standard"), (101, 202, "complex")],
)
@pytest.mark.parametrize("char", ["山", "あ", "한", "Ａ", "🙂"])
def test_wide_characters_count_twice(char: str, count: int, length: int, tier: str) -> None:
    """161: a message is as long in Japanese as it looks."""
    effort = estimate_effort(char * count)
    assert (effort.length, effort.tier) == (length, tier)


@pytest.mark.parametrize(
    ("text", "keywords", "tier"),
    [
        ("designated", (), "simple"),
        ("whyever", (), "simple"),
        ("why_not", (), "simple"),
        ("why2", (), "simple"),
        ("éwhy", (), "simple"),
        ("このコードをrefactorして", ("refactor",), "standard"),
        ("なぜ?", ("なぜ",), "standard"),
        ("設計を比較して", ("比較", "設計"), "complex"),
        ("ｄｅｂｕｇ", ("debug",), "standard"),
        ("WHY?", ("why",), "standard"),
        ("step\n  by\u3000step", ("step by step",), "standard"),
        ("trade-off, tradeoff", ("trade-off", "tradeoff"), "complex"),
        ("why, why, why", ("why",), "standard"),
        ("designated design", ("design",), "standard"),
        ("ﾃﾞﾊﾞｯｸﾞ", ("デバッグ",), "standard"),
    ],
)
def test_keywords(text: str, keywords: tuple[str, ...], tier: str) -> None:
    """162: Latin keywords are words, a Japanese neighbour is a boundary, width and case do not matter."""
    effort = estimate_effort(text)
    assert (set(effort.keywords), effort.tier) == (set(keywords), tier)


def test_own_thresholds_and_keywords() -> None:
    """Every figure and both lists of the estimator are configuration; a blank keyword is found nowhere."""
    own = EffortRouting(
        local_hint="l",
        cloud_hint="c",
        complex_over=20,
        simple_under=5,
        complex_keywords=1,
        latin_keywords=("prove", " "),
        japanese_keywords=("証明",),
    )
    told = [estimate_effort(text, own).tier for text in ("why", "whyso", "prove it", "証明", "a" * 20, "a" * 21)]
    assert told == ["simple", "standard", "complex", "complex", "standard", "complex"]


def test_words_are_compared_case_folded() -> None:
    """162: both sides; folding is more than lower case."""
    own = EffortRouting(local_hint="l", cloud_hint="c", latin_keywords=("Straße",))
    assert [estimate_effort(text, own).keywords for text in ("STRASSE", "straße", "strassen")] == [
        ("Straße",),
        ("Straße",),
        (),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hi", "length 2 is below 50"),
        ("why", "1 keyword (why), fewer than 2"),
        ("a" * 60, "length 60 is from 50 to 200"),
        ("a" * 300, "length 300 is above 200"),
        ("```", "code fence"),
        ("設計を比較して", "2 keywords (比較, 設計)"),
    ],
)
def test_the_rule_that_decided_is_said(text: str, words: str) -> None:
    """One sentence with the figures that a person needs to check it."""
    assert words in estimate_effort(text).why


@pytest.mark.parametrize(
    ("text", "config", "hint", "allowlist"),
    [
        ("hi", NEVER, "local", ("custom.home",)),
        ("explain this", NEVER, "local", ("custom.home",)),
        ("compare and explain", NEVER, "local", ("custom.home",)),
        ("hi", AUTO, "local", ("custom.home",)),
        ("explain this", AUTO, "local", ("custom.home",)),
        ("compare and explain", AUTO, "cloud", ("custom.home", "groq.free")),
    ],
)
def test_the_policy(text: str, config: EffortRouting, hint: str, allowlist: tuple[str, ...]) -> None:
    """163: ``never`` keeps every tier local; ``auto`` sends complex turns, and only those, to the cloud."""
    made = decide(estimate_effort(text, config), config, ROUTES)
    assert (made.hint, made.allowlist) == (hint, allowlist)


def test_telemetry_has_four_fields() -> None:
    """168: target, tier, policy and length, and nothing else."""
    made = decide(estimate_effort("compare and explain", AUTO), AUTO, ROUTES)
    assert telemetry(made) == Telemetry(target="groq.free", tier="complex", policy="auto", length=19)
    assert Telemetry.__struct_fields__ == ("target", "tier", "policy", "length")
    assert not {"text", "prompt", "keywords", "why"} & set(Decision.__struct_fields__)


# -- whatever the text ------------------------------------------------------------------------------------------------


@given(st.text(st.characters(codec=None)))
def test_any_text_is_judged(text: str) -> None:
    """Lone surrogates, controls and unassigned code points included."""
    effort = estimate_effort(text)
    assert effort.tier in EFFORT_TIERS
    assert effort.length >= 0


@given(TEXTS)
def test_composed_and_decomposed_texts_are_alike(text: str) -> None:
    """A Mac's decomposed が counts as the composed one."""
    forms = {estimate_effort(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert len(forms) == 1


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)), KEYWORDS)
def test_full_width_texts_hold_the_same_keywords(text: str, keyword: str) -> None:
    """Every ASCII character has a full-width twin; the two are one word."""
    plain = f"{text} {keyword}"
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in plain)
    assert found_keywords(wide) == found_keywords(plain)


@given(TEXTS, KEYWORDS, st.booleans())
def test_a_keyword_more_never_lowers_the_tier(text: str, keyword: str, before: bool) -> None:
    """Whether it stands before or behind."""
    more = f"{keyword} {text}" if before else f"{text} {keyword}"
    assert EFFORT_TIERS.index(estimate_effort(more).tier) >= EFFORT_TIERS.index(estimate_effort(text).tier)
    assert keyword in estimate_effort(more).keywords


@given(TEXTS)
def test_length_is_at_least_the_characters_and_at_most_twice(text: str) -> None:
    """A character counts 1 or 2."""
    composed = unicodedata.normalize("NFC", text)
    assert len(composed) <= length_of(text) <= 2 * len(composed)


@given(TEXTS)
def test_comparing_twice_changes_nothing_that_is_found(text: str) -> None:
    """The compared form of the compared form holds the same keywords."""
    assert found_keywords(comparable(text)) == found_keywords(text)
