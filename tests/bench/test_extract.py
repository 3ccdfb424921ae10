"""Where the answer stands: by the rule, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zc_notebooks.bench.extract import Rule, extract, is_json


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("ANSWER: 12.5", "12.5"),
        ("answer: 12.5", "12.5"),
        ("Final answer: 12.5", "12.5"),
        ("答え：12.5", "12.5"),
        ("答え: 12.5", "12.5"),
        ("回答：12.5\r\n", "12.5"),
        ("First 3, then 4.\n\n**ANSWER: 12.5**", "12.5"),
        ("**ANSWER:** 12.5", "12.5"),
        ("**ANSWER**: 12.5", "12.5"),
        ("### 答え：**12.5**", "12.5"),
        ("> ANSWER: `12.5`", "12.5"),
        ("ANSWER: $\\boxed{12.5}$", "12.5"),
        ("ANSWER: \\(12.5\\)", "12.5"),
        ("ANSWER: <12.5>", "12.5"),
        ("ANSWER:\n\n12.5\n", "12.5"),
        ("**答え：**\n**12.5**", "12.5"),
        ("ANSWER: 1\nno, wait\nANSWER: 12.5", "12.5"),
        ("ANSWER: 12.5\n(rounded)", "12.5"),
        ("ANSWER:\n- a\n- b\n\nBoth.", "- a\n- b"),
        ("ANSWER:\n1. **a**\n2. b\n- c\nd", "1. **a**\n2. b\n- c"),
        ("ANSWER:\n\n- a\n\n- b", "- a\n- b"),
        ("ANSWER:\n- a\nb", "- a"),
        ("ANSWER: a\n- b\n- c", "a"),
        ("ANSWER:\n・a\n・b", "・a\n・b"),
        ("答え：\n1番目：a\n2番目：b", "1番目：a\n2番目：b"),
        ("ANSWER:\n```\n12.5\n```\nDone.", "12.5"),
        ("ANSWER: ```text\n12.5\n```", "12.5"),
        ("ANSWER:\n```\na\nb\n```", "a\nb"),
        ("```\nANSWER: 12.5\n```", "12.5"),
        ("ANSWER:\n\n$$\n\\boxed{12.5}\n$$", "12.5"),
        ("ANSWER:\n\\[\n12.5\n\\]", "12.5"),
        ("ANSWER: \\[12.5\\]", "12.5"),
        ("ANSWER: $$12.5$$", "12.5"),
        ("ANSWER: \\boxed{12.5}.", "12.5."),
        ("ANSWER: $\\boxed{12.5 \\text{ kg}}$", "12.5  kg"),
        ("ANSWER: \\boxed{12.5} kg", "12.5 kg"),
        ("ANSWER: \\textbf{12.5}", "12.5"),
        ("*ANSWER: 12.5*", "12.5"),
        ("__ANSWER: 12.5__", "12.5"),
        ("最終的な答え：12.5", "12.5"),
        ("ANSWER: `a`, `b`", "`a`, `b`"),
        ("ANSWER: **a** **b**", "**a** **b**"),
        ("ANSWER:\n```\n12.5", None),
        ("<think>ANSWER: 1</think>ANSWER: 12.5", "12.5"),
        ("12.5", None),
        ("The answer is 12.5", None),
        ("My ANSWER: 12.5 it is", None),
        ("ANSWER:", None),
        ("", None),
        ("<think>ANSWER: 12.5</think>", None),
        ("<think>ANSWER: 12.5", None),
    ],
)
def test_the_last_line_with_the_mark(text: str, answer: str | None) -> None:
    """However it is dressed; a number that merely stands about is none."""
    assert extract(text, "last_line") == answer


@pytest.mark.parametrize(
    ("text", "rule", "answer"),
    [
        ("```python\na\n```", "code", "a\n"),
        ("```\na\n```\nthen\n~~~py\nb\n~~~", "code", "b\n"),
        ("````\n```\na\n```\n````", "code", "```\na\n```\n"),
        ("```python\na", "code", None),
        ("```a\n```b\n```", "code", "```b\n"),
        ("~~~\n```\na\n~~~~", "code", "```\na\n"),
        ("1. Mended:\n   ```python\n   def f():\n       return 1\n   ```", "code", "def f():\n    return 1\n"),
        ("- a\n    ```\n    b\n     c\n    ```", "code", "b\n c\n"),
        ("```python\na\n    ```\nb\n```", "code", "a\n    ```\nb\n"),
        ("a = 1", "code", None),
        ("```\n\n```", "code", None),
        ("<think>```\na\n```</think>", "code", None),
        ('{"a": 1}', "json", '{"a": 1}'),
        ('Here:\n```json\n{"a": 1}\n```\nDone.', "json", '{"a": 1}'),
        ('Here: {"a": 1}', "json", None),
        ('{"a": 1} {"a": 2}', "json", None),
        ('{"a": NaN}', "json", None),
        ('{"a": 1, "a": 2}', "json", None),
        ("[" * 100_000, "json", None),
        (" text \n", "whole", "text"),
        ("<think>no</think>text", "whole", "text"),
        ("<think>text</think>", "whole", None),
        (" \n", "whole", None),
    ],
)
def test_blocks_json_and_whole_texts(text: str, rule: Rule, answer: str | None) -> None:
    """The last closed block; JSON of the standard; everything but reasoning."""
    assert extract(text, rule) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("```\ndef f(): 1\n```\n```\nprint(f())\n```", "def f(): 1\n"),
        ("```\ndef f(): 1\n```\n```\ndef f(): 2\n```", "def f(): 2\n"),
        ("```\nf = lambda: 1\n```\n```\n1\n```", "f = lambda: 1\n"),
        ("```\nfrom m import f\n```\n```\nf == 1\n```", "from m import f\n"),
        ("```\ndef ff(): 1\n```\n```\n1\n```", "1\n"),
    ],
)
def test_the_last_block_that_defines_it(text: str, answer: str) -> None:
    """An example of its use, or what it prints, is no answer; where nothing defines it the last block is."""
    assert extract(text, "code", defines="f") == answer


@pytest.mark.parametrize(
    "piece",
    [
        "\\boxed{",
        "ANSWER: \\boxed{",
        "ANSWER: $",
        "ANSWER:\n```\n",
        "```x\n",
        "~~~\n```\n",
        "*",
        "**\n",
        "ANSWER: ",
        "> ",
        "ANSWER:\n\n",
        "<think>",
        "`",
    ],
)
@pytest.mark.parametrize("rule", ["last_line", "code", "json", "whole"])
def test_a_long_hostile_text_is_read_in_one_pass(piece: str, rule: Rule) -> None:
    """Half a megabyte of beginnings without an end, which a careless pattern tries from every place."""
    began = time.process_time()
    extract(piece * (500_000 // len(piece)), rule)
    assert time.process_time() - began < 2


@given(st.text(), st.sampled_from(["last_line", "code", "json", "whole"]))
def test_no_text_makes_a_rule_fail(text: str, rule: Rule) -> None:
    """Anything can be read; what is found is not blank."""
    found = extract(text, rule)
    assert found is None or found.strip()
    assert is_json(text) in (True, False)


@given(st.text(alphabet="ab1 \n*`$：:<>"), st.sampled_from(["last_line", "code", "json", "whole"]))
def test_reasoning_is_never_an_answer(text: str, rule: Rule) -> None:
    """Whatever stands only in a ``<think>`` span, closed or not, is unparsed."""
    assert extract(f"<think>ANSWER: {text}```\n{text}\n```</think>", rule) is None
    assert extract(f"<think>ANSWER: {text}", rule) is None
