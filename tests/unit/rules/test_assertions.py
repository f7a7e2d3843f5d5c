"""Python assertions are parsed into calls and results, without executing them."""

from __future__ import annotations

import pytest

from ioi_eval.rules.assertions import read_assertions
from ioi_eval.rules.json_tests import CasesError


def test_unsupported_assertion_raises_cases_error() -> None:
    for body, message in (
        ("assert f(1) == f(2)", "with several arguments"),
        ("assert f(x=1) == 2", "passes arguments by keyword"),
        ("assert f(g()) == 2", "not a literal value"),
        ("with open('a') as b:\n        assert f(1)", "not a plain assertion"),
        ("assert f(1); pytest.raises(ValueError, f, 2)", "not a plain assertion"),
        ("assert f(1); self.assertEqual(f(2), 3)", "not a plain assertion"),
        ("assert f(1); assert_close(f(2), 3)", "not a plain assertion"),
        ("x = [1]; x.append(2); assert f(x) == 3", "may change a value that an assertion uses"),
        ("x = 1; x += 1; assert f(x) == 3", "may change"),
        ("x = [1]; x[0] = 2; assert f(x) == 3", "may change"),
        ("x = f(1); x.sort(); assert x == [1]", "may change"),
        ("x = [1]; assert f(x) is None; assert x == []", "does not assert anything about a call"),
        ("assert f(1).val == 2", "that JSON does not preserve"),
        ("assert len(f(1)(2)) == 3", "that JSON does not preserve"),
        ("x = [1]; assert f(x) is not x", "that JSON does not preserve"),
        ("assert list(f({1: 2}).keys()) == [1]", "that JSON does not preserve"),
        ("assert next(iter(f({1: 2}).items())) == (1, 2)", "that JSON does not preserve"),
    ):
        with pytest.raises(CasesError, match=message):
            read_assertions(f"def check(candidate):\n    {body}\n", "f")
    with pytest.raises(CasesError, match="No test cases"):
        read_assertions("def check(candidate): pass", "f")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def g(x):\n    assert f(x) == 2\ndef test_a():\n    g(1)\n", "'g.1.' is not a plain assertion"),
        (
            "def test_a():\n    def g():\n        assert f(1) == 2\n    g()\n",
            "'g..' is not a plain assertion",
        ),
        ("@pytest.mark.skip\ndef test_a():\n    assert f(1) == 2\n", "'test_a' may be skipped"),
        ("@pytest.mark.xfail(strict=True)\ndef test_a():\n    assert f(1) == 2\n", "is expected to fail"),
        ("async def test_a():\n    assert await f(1) == 2\n", "'test_a' is asynchronous"),
    ],
)
def test_nested_skipped_or_async_tests_raise_cases_error(source: str, message: str) -> None:
    with pytest.raises(CasesError, match=message):
        read_assertions(f"{source}def test_b():\n    assert f(5) == 6\n", "f")


@pytest.mark.nightly(unless="list")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("assert f([0] * 9_999 * 9_999) == 1", "not a literal value"),
        ("assert f(9_999 * 'a' * 9_999) == 1", "not a literal value"),
        ("assert f(list(range(9_999)) * 9_999) == 1", "not a literal value"),
        (f"assert f({' * '.join(['9'] * 900)}) == 1", "nested too deep"),
        (
            f"a = {[0] * 9_999}; b = [{'a, ' * 99}]; " + "assert f(b) == 1; " * 9,
            "the test's variables, such as 'a', have values that are too large",
        ),
    ],
    ids=["list", "text", "range", "product", "names"],
)
def test_huge_constant_in_assertion_raises_cases_error(body: str, message: str) -> None:
    """Otherwise a benchmark row could exhaust the machine's memory or time."""
    with pytest.raises(CasesError, match=message):
        read_assertions(f"def check(candidate):\n    {body}\n", "f")


def test_large_values_of_variables_in_assertion_raise_cases_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioi_eval.rules.assertions.MAX_INSERTED_NODES", 1_000)
    body = f"a = {[0] * 99}; b = [a, a]; assert f(b) == 1; "
    assert len(read_assertions(f"def check(candidate):\n    {body}\n", "f").cases) == 1
    with pytest.raises(CasesError, match="the test's variables, such as 'a', have values that are too large"):
        read_assertions(f"def check(candidate):\n    {body * 3}\n", "f")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def test_a():\n    import math\n    assert math.isclose(f(1), 2)\n", "math"),
        ("from solution import f, MOD\ndef test_a():\n    assert f(1) % MOD == 2\n", "MOD"),
        ("def g(x):\n    return x - f(2)\ndef test_a():\n    assert g(f(1)) == 2\n", "f"),
        ("class Node:\n    pass\ndef test_a():\n    assert isinstance(f(1), Node)\n", "Node"),
    ],
)
def test_undefined_name_in_assertion_raises_cases_error(source: str, name: str) -> None:
    """Otherwise the checker would fail and every program would be wrong."""
    with pytest.raises(CasesError, match=f"the name '{name}', which is not defined"):
        read_assertions(source, "f")


def test_method_call_on_class_of_solution_raises_cases_error() -> None:
    """Sets have `add` as well, and names of MBPP's functions may start with capitals."""
    for name, comparison in (("Bag", "Bag().add(1, 2) == 3"), ("Solution", "Solution().count([1], 2) == 3")):
        with pytest.raises(CasesError, match="that JSON does not preserve"):
            read_assertions(f"from solution import {name}\ndef test_a():\n    assert {comparison}\n")
    assert read_assertions("assert Find_Max([1]) == 1").function == "Find_Max"


def test_assertion_on_assigned_result_is_read_as_call() -> None:
    """In KodCode's rows the call is on a separate line, and no column names the function."""
    source = "import solution\nfrom solution import f\ndef test_a():\n    r = f(1)\n    assert r == 2\n"
    source += "def test_b():\n    xs = [3]\n    r = f(xs)\n    assert r == [4]\n    assert f(5) == 6\n"
    parsed = read_assertions(source)
    assert (parsed.function, [case.input for case in parsed.cases]) == ("f", ["(1,)", "([3],)", "(5,)"])
    with pytest.raises(CasesError, match="the assertions do not all call the same function"):
        read_assertions(source + "def test_c():\n    r = g(1)\n    assert r == 2\n")


def test_methods_of_builtin_results_are_accepted() -> None:
    for assertion in (
        "f(1).upper() == 'A' and f(1) is not None and True is f(1)",
        "sorted(f(1).keys()) == [1] and len(f(1).items()) == 1 and type(f(1)) is dict",
        "f(1).real == 1 and next(f(1)) == 2 and isinstance(f(1), list)",
    ):
        assert len(read_assertions(f"assert {assertion}", "f").cases) == 1


def test_argument_expression_that_fails_raises_cases_error() -> None:
    for argument in ("999.9 ** 1000", "10 ** 400 + 0.5", "{} + {}", "{1} * 2", "1000 ** 1000 * 1000 ** 1000"):
        with pytest.raises(CasesError, match="is not a literal value"):
            read_assertions(f"assert f({argument}) == 1", "f")


def test_helper_with_invalid_syntax_raises_cases_error() -> None:
    with pytest.raises(CasesError, match="not valid Python"):
        read_assertions("def g(x):\n    nonlocal y\n    return x\nassert g(f(1)) == 2\n", "f")


def test_imported_and_local_names_are_accepted() -> None:
    read_assertions(
        "import os.path\nfrom math import isclose as near\nMOST = 7\n"
        "def g(x):\n    total = 0\n    for n in x:\n        total += near(n, MOST)\n    return total\n"
        "assert g([n for n in [f(1)] if (m := n)]) < MOST and os.path and (lambda x: x)(f(1))\n",
        "f",
    )
    read_assertions("from math import *\nassert isclose(f(1), 2)", "f")


def test_function_imported_under_alias_is_resolved() -> None:
    test = read_assertions("from solution import total as add\ndef test_a():\n    assert add([1]) == 1\n")
    assert (test.function, test.cases) == ("total", (("([1],)", "1"),))


def test_last_of_two_tests_with_same_name_is_read() -> None:
    test = read_assertions(
        "def test_a():\n    assert f(1) == 5\n"
        "class TestB:\n    def test_a(self):\n        assert f(2) == 2\n"
        "def test_a():\n    assert f(3) == 3\n"
    )
    assert sorted(case.input for case in test.cases) == ["(2,)", "(3,)"]


def test_names_bound_in_assertion_expression_are_unchanged() -> None:
    test = read_assertions("x = 5\nassert [y := f(x)] and all(x > 2 for x in f(5)), x\nassert True", "f")
    assert [case.output for case in test.cases] == ["assert [(y := out)] and all((x > 2 for x in out))"]
