"""Mutants of solutions, their order, and descriptions of output differences."""

from __future__ import annotations

import pytest

from ioi_eval.plugins.audit.mutation import generate_mutants
from ioi_eval.plugins.audit.outputs import describe_difference, is_reordered
from ioi_eval.plugins.audit.page import render_page
from ioi_eval.plugins.audit.records import Audit, ProblemAudit, Rate, Rejection

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


def mutant_sources(code: str, language: str) -> set[str]:
    return {mutant for _, mutant in generate_mutants(code, language, 0)}


def test_python_mutants_change_comparisons_constants_and_conditions() -> None:
    mutants = mutant_sources(PYTHON, "python")
    assert any("n <= 3" in mutant for mutant in mutants)
    assert any("n < 4" in mutant for mutant in mutants)
    assert any("n + 2" in mutant for mutant in mutants)
    assert any("range(n - 1)" in mutant for mutant in mutants)
    assert any("if False:" in mutant for mutant in mutants)
    assert len(mutants) == 5


def test_cpp_mutants_leave_comments_and_literals_unchanged() -> None:
    mutants = mutant_sources(CPP, "c++")
    assert any("i <= n" in mutant for mutant in mutants)
    assert any("i > 2" in mutant for mutant in mutants)
    assert any("i >= 3" in mutant for mutant in mutants)
    assert any("  int n = 3" in mutant for mutant in mutants)
    assert any("if (false && i >= 2)" in mutant for mutant in mutants)
    assert all("// if (a < 1)" in mutant and '"if (n < 5)"' in mutant for mutant in mutants)


def test_order_of_mutants_depends_on_the_seed_alone() -> None:
    assert (
        generate_mutants(CPP, "c++", 1) == generate_mutants(CPP, "c++", 1) != generate_mutants(CPP, "c++", 2)
    )


@pytest.mark.parametrize("code", ["print(", "int main() {", ""])
def test_program_with_syntax_error_has_no_mutants(code: str) -> None:
    assert generate_mutants(code, "python", 0) == [] and generate_mutants(code, "rust", 0) == []


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
    assert describe_difference(output, expected) == sentence


def test_output_with_same_words_in_other_order_is_reordered() -> None:
    assert is_reordered("2 1", "1 2") and not is_reordered("1 2", "1  2") and not is_reordered("1 1", "1 2")


def test_page_names_the_test_of_the_shown_output() -> None:
    rejection = Rejection(
        row="slow.py", language="python", tests=("0", "2"), test="2", status="WA", difference="Word 1 is 2"
    )
    rate = Rate.from_counts(0, 1)
    problem = ProblemAudit(problem="one", tests=3, right=rate, wrong=rate, rejections=(rejection,))
    report = Audit(
        source="x", settings={}, sentences=(), right=rate, wrong=rate, problems=(problem,), untrusted={}
    )
    assert "slow.py: WA on 2. Word 1 is 2" in render_page(report)


def test_rate_has_wilson_confidence_interval() -> None:
    rate = Rate.from_counts(9, 10)
    assert (rate.low, rate.high) == (0.595850, 0.982124)
    assert Rate.from_counts(0, 0).share is None
