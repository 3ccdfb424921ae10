"""The labelled prompts, and how far the estimator agrees with them."""

from __future__ import annotations

from collections import Counter

from zc_notebooks.routing.agreement import LANGUAGES, Judged, Pair, agreement, load_pairs


def test_the_shipped_set() -> None:
    """At least 80 prompts, half of them Japanese, every request in both languages once, no tier left out."""
    pairs = load_pairs()
    texts = [text for pair in pairs for text in (pair.en, pair.ja)]
    assert len(texts) >= 80
    assert len(set(texts)) == len(texts)
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert all(pair.en.isascii() or "ō" in pair.en for pair in pairs)
    assert not any(pair.ja.isascii() for pair in pairs)
    assert min(Counter(pair.label for pair in pairs).values()) >= 15
    assert sum(bool(pair.hard) for pair in pairs) >= 10


def test_the_figures_of_the_built_in_estimator() -> None:
    """Pinned as they are, so that a change of the estimator or of the labels shows."""
    found = agreement()
    told = [str(share) for share in (found.overall, *map(found.of_language, LANGUAGES), found.alike, found.under)]
    assert told == [
        "61 of 104 (59%)",
        "31 of 52 (60%)",
        "30 of 52 (58%)",
        "48 of 52 (92%)",
        "26 of 104 (25%)",
    ]


def test_counting() -> None:
    """The parts add up to the whole, by hand."""
    pairs = (
        Pair(id="a", label="simple", en="hi", ja="やあ"),
        Pair(id="b", label="complex", en="prove it", ja="なぜか証明して", hard="short"),
    )
    found = agreement(pairs)
    assert (str(found.overall), str(found.of_plain)) == ("2 of 4 (50%)", "2 of 2 (100%)")
    assert (str(found.alike), str(found.under)) == ("1 of 2 (50%)", "2 of 4 (50%)")
    assert found.confusion()["complex"] == {"simple": 1, "standard": 1, "complex": 0}
    assert found.confusion("ja")["complex"] == {"simple": 0, "standard": 1, "complex": 0}
    assert [item.id for item in found.judged if isinstance(item, Judged) and not item.agrees] == ["b", "b"]
    assert str(agreement(()).overall) == "0 of 0 (0%)"
