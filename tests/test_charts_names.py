"""Names in charts: as short as they can be, and never the same for two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.charts.names import LONGEST, Line, candidate_names, short_names

LONG = "org/" + "a-model-with-a-long-name-" * 2


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ([("a.x", "org/m", None), ("b.y", "org/m", None)], ["a.x", "b.y"]),
        ([("a.x", "org/m", None), ("a.x", "org/n", None), ("b.y", "m", None)], ["a.x/m", "a.x/n", "b.y"]),
        ([("a.x", "one/m", None), ("a.x", "two/m", None)], ["a.x/one/m", "a.x/two/m"]),
        ([("a.x", "m", None), ("a.x", None, None)], ["a.x/m", "a.x"]),
        ([("a.x", "m", "c1"), ("a.x", "m", "c2"), ("b.y", "m", "c1")], ["a.x [c1]", "a.x [c2]", "b.y"]),
        ([("a.x", "m", "c1"), ("a.x", "m", "c2"), ("a.x", "n", "c1")], ["a.x/m [c1]", "a.x [c2]", "a.x/n"]),
        ([("a.x", LONG + "1", None), ("a.x", LONG + "2", None)], [f"a.x/{LONG}1", f"a.x/{LONG}2"]),
    ],
    ids=["one model each", "two models", "two makers", "all models", "two keys", "keys and models", "long"],
)
def test_as_much_as_it_takes(lines: list[Line], names: list[str]) -> None:
    """The ref alone where it does; else the model's last part, the whole model, the credential's id."""
    assert list(candidate_names(lines).values()) == names


def test_a_limit_of_a_model_names_it() -> None:
    """Where asked for, a model is always shown."""
    assert list(candidate_names([("a.x", "org/m", "c")], models=True).values()) == ["a.x/m"]


part = st.text("ab", min_size=1, max_size=3)
long_part = st.sampled_from(["x" * LONGEST, "x" * LONGEST + "y"])
model = st.none() | part | long_part | st.builds("{}/{}".format, part, part)


@given(st.sets(st.tuples(part | long_part, model, st.none() | st.sampled_from(["1", "2"])), min_size=2))
def test_no_two_share_a_name(lines: set[Line]) -> None:
    """Whatever they are called."""
    names = candidate_names(lines)
    assert len(set(names.values())) == len(lines)


def test_cut_names_that_would_be_the_same_are_whole() -> None:
    """A name has room for 40 characters; what differs behind them is shown."""
    long = "t" * LONGEST
    assert list(short_names(["short", f"{long}1"]).values()) == ["short", f"{long[1:]}…"]
    assert list(short_names([f"{long}1", f"{long}2"]).values()) == [f"{long}1", f"{long}2"]
