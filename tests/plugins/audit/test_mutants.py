"""Mutants: which changes are made, in one order for a seed; and sentences on how outputs differ."""

from __future__ import annotations

import pytest

from ioi_eval.plugins.audit.mutation import mutants_of
from ioi_eval.plugins.audit.outputs import difference, is_reordered
from ioi_eval.plugins.audit.records import Rate

PYTHON = """n = int(input())
if n < 3:
    n = n + 1
for i in range(n):
    print(i)
"""
CPP = """#include <vector>
int main() { // if (a < 1)
  long long n = 3; const char* text = "if (n < 5)";
  for (int i = 0; i < n; i++) if (i >= 2) n -= 1;
}
"""


def changed(code: str, language: str) -> set[str]:
    return {text for _, text in mutants_of(code, language, 0)}


def test_python_mutants_change_comparisons_constants_and_conditions() -> None:
    texts = changed(PYTHON, "python")
    assert any("n <= 3" in text for text in texts)
    assert any("n < 4" in text for text in texts)
    assert any("n + 2" in text for text in texts)
    assert any("range(n - 1)" in text for text in texts)
    assert any("if False:" in text for text in texts)
    assert len(texts) == 5


def test_cpp_mutants_leave_comments_and_literals_unchanged() -> None:
    texts = changed(CPP, "c++")
    assert any("i <= n" in text for text in texts)
    assert any("i > 2" in text for text in texts)
    assert any("i >= 3" in text for text in texts)
    assert any("  int n = 3" in text for text in texts)
    assert any("if (false && i >= 2)" in text for text in texts)
    assert all("// if (a < 1)" in text and '"if (n < 5)"' in text for text in texts)


def test_order_of_mutants_depends_on_the_seed_alone() -> None:
    assert mutants_of(CPP, "c++", 1) == mutants_of(CPP, "c++", 1) != mutants_of(CPP, "c++", 2)


@pytest.mark.parametrize("code", ["print(", "int main() {", ""])
def test_program_with_syntax_error_has_no_mutants(code: str) -> None:
    assert mutants_of(code, "python", 0) == [] and mutants_of(code, "rust", 0) == []


@pytest.mark.parametrize(
    ("output", "expected", "sentence"),
    [
        ("1  2\n", "1 2", "Only white space differs"),
        ("1 2", "12", "Only white space differs: words are written together"),
        ("YES 1", "yes 2", "Word 2 is '1', expected '2'"),
        ("YES", "yes", "Word 1 is 'YES', expected 'yes'"),
        ("1", "1 2", "Word 2 is missing"),
        ("1 2", "1", "Word 2 is too much"),
    ],
)
def test_difference_names_the_first_differing_word(output: str, expected: str, sentence: str) -> None:
    assert difference(output, expected) == sentence


def test_output_with_same_words_in_other_order_is_reordered() -> None:
    assert is_reordered("2 1", "1 2") and not is_reordered("1 2", "1  2") and not is_reordered("1 1", "1 2")


def test_rate_has_wilson_confidence_interval() -> None:
    rate = Rate.make(9, 10)
    assert (rate.low, rate.high) == (0.595850, 0.982124)
    assert Rate.make(0, 0).share is None
