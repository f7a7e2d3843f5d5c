"""The inputs of the example problems. Each function returns a problem's tests by name, and its subtasks.

A subtask is (name, points, tests, more fields of its file); tests are patterns of test names.
"""

from __future__ import annotations

from random import Random
from typing import Any

Subtask = tuple[str, float, tuple[str, ...], dict[str, Any]]
Inputs = tuple[dict[str, str], tuple[Subtask, ...]]


def _named(prefix: str, inputs: list[str]) -> dict[str, str]:
    return {f"{prefix}-{i:02}": test_input for i, test_input in enumerate(inputs, 1)}


def _line(numbers: Any) -> str:
    return " ".join(map(str, numbers)) + "\n"


def lanterns() -> Inputs:
    rng = Random("lanterns")

    def listed(n: int, k: int, top: int) -> str:
        return f"{n} {k}\nlist {_line(rng.randint(0, top) for _ in range(n))}"

    tests = _named("0", ["4 2\nlist 4 2 5 3\n", "6 3\nlist 7 7 1 9 8 9\n"])
    small = [listed(1, 1, 9), listed(9, 9, 10**9), listed(50, 7, 100), listed(999, 400, 10**9)]
    tests |= _named("1", [*small, "1000 3\nnoise 17 1000000000\n", "1000 999\nnoise 5 20\n"])
    tests |= _named(
        "2", [listed(2, 2, 10**9), *(f"{n} 2\nnoise {n} 1000000000\n" for n in (700, 1999990, 2000000))]
    )
    stairs = [(800, 20, 3, 2), (1000, 1000, 0, 7), (2000000, 5, 100, 1), (2000000, 900000, 400000000, 3)]
    tests |= _named("3", [f"{n} {k}\nstairs {a} {w}\n" for n, k, a, w in stairs])
    large = [(2000000, 1, 10**9), (2000000, 3, 10**9), (2000000, 1000000, 10**9), (2000000, 2000000, 5)]
    tests |= _named(
        "4", [f"{n} {k}\nnoise {n + k} {top}\n" for n, k, top in [*large, (1999999, 900000, 10**9)]]
    )
    return tests, (
        ("00-samples", 0, ("0-",), {}),
        ("01-small", 20, ("0-", "1-", "2-01", "2-02", "3-01", "3-02"), {}),
        ("02-pairs", 15, ("0-01", "2-"), {}),
        ("03-rising", 25, ("3-",), {}),
        ("04-full", 40, ("",), {}),
    )


def garland() -> Inputs:
    rng = Random("garland")

    def asked(*questions: int) -> str:
        return f"{len(questions)}\n" + "".join(f"{n}\n" for n in questions)

    tests = _named("0", [asked(1, 2, 3)])
    tests |= _named("1", [asked(4), asked(5, 6, 7), asked(8, 9), asked(12, 11, 10, 1, 2)])
    tests |= _named(
        "2", [asked(13), asked(99, 100), asked(4567, 31), asked(999999), asked(10**6, 10**6 - 17, 20)]
    )
    huge = [asked(*(rng.randint(10**15, 10**18 - 1) for _ in range(count))) for count in (1, 2, 3, 5)]
    tests |= _named("3", [asked(10**15), *huge, asked(10**18, 10**18 - 1)])
    return tests, (
        ("01-short", 20, ("0-", "1-"), {}),
        ("02-medium", 30, ("0-", "1-", "2-"), {}),
        ("03-full", 50, ("",), {}),
    )


def threes() -> Inputs:
    rng = Random("threes")

    def cards(zeros: int, ones: int, twos: int, top: int = 10**9) -> str:
        chosen = [rng.randrange(r or 3, top, 3) for r, n in enumerate((zeros, ones, twos)) for _ in range(n)]
        rng.shuffle(chosen)
        return f"{len(chosen)}\n{_line(chosen)}"

    def first(n: int) -> str:
        return f"{n}\n{_line(rng.sample(range(1, n + 1), n))}"

    tests = _named("0", ["5\n3 4 7 9 10\n", "2\n1 2\n"])
    small = [(1, 0, 0), (2, 0, 0), (2, 1, 0), (1, 4, 3), (5, 2, 1), (4, 2, 1), (3, 0, 5)]
    tests |= _named("1", [cards(*counts) for counts in small])
    tests |= _named("2", [cards(0, 3, 3), cards(0, 900, 0), cards(0, 0, 400), cards(0, 300, 300)])
    tests |= _named("3", [first(n) for n in (3, 7, 100, 2500, 5000)])
    large = [(2001, 1500, 500), (2000, 1200, 1799), (1, 2000, 2000), (1500, 800, 600), (2400, 2399, 0)]
    tests |= _named("4", [*(cards(*counts) for counts in large), cards(300, 400, 500, 200)])
    return tests, (
        ("00-samples", 0, ("0-",), {}),
        ("01-few", 20, ("0-", "1-", "2-01", "3-01", "3-02"), {}),
        ("02-no-multiples", 15, ("0-02", "2-"), {}),
        ("03-first-numbers", 25, ("0-02", "3-"), {}),
        ("04-full", 40, ("",), {}),
    )


def pumpkins() -> Inputs:
    rng = Random("pumpkins")

    def load(n: int, low: int, top: int) -> str:
        return f"{n}\n{_line(rng.randint(low, top) for _ in range(n))}"

    tests = _named("0", ["5\n8 7 6 5 4\n"])
    few = [load(1, 5, 9), load(2, 1, 2000), "6\n1 1 1 1 1 6\n", "7\n3 3 3 2 2 2 11\n"]
    tests |= _named("1", [*few, "3\n2000 1 1000\n", load(9, 1, 30), load(12, 500, 2000), load(12, 1, 2000)])
    tests |= _named("2", ["5\n20 19 11 10 8\n", "11\n20 20 20 18 18 15 15 15 12 12 7\n", load(100, 1, 20)])
    heavy = [load(100, 1000, 2000), load(100, 1200, 2000), load(99, 1000, 2000), load(98, 2, 40)]
    tests |= _named("3", [*heavy, f"25\n{_line([1999, *[1000 + 7 * i for i in range(24)]])}"])
    return tests, (
        (
            "01-any-loads",
            10,
            ("0-", "1-02", "1-06", "2-02", "3-"),
            {"score_type": "GroupThreshold", "threshold": 1.0},
        ),
        ("02-few", 30, ("0-", "1-", "2-01", "2-02"), {"score_type": "Sum"}),
        ("03-light", 20, ("0-", "1-03", "1-04", "2-"), {"score_type": "GroupMul"}),
        ("04-full", 40, ("",), {}),
    )


def tide() -> Inputs:
    rng = Random("tide")

    def reef(r: int, c: int, low: int, top: int) -> str:
        return f"{r} {c}\n" + "".join(_line(rng.randint(low, top) for _ in range(c)) for _ in range(r))

    def winding(r: int, c: int, low: int, top: int) -> str:
        """High rocks along a winding way, with rocks between them that flood early."""
        rows = []
        for i in range(r):
            dry = range(c) if i % 2 == 0 else (c - 1 if i % 4 == 1 else 0,)
            rows.append(
                _line(rng.randint(low, top) if j in dry else rng.randint(0, low // 9) for j in range(c))
            )
        return f"{r} {c}\n" + "".join(rows)

    tests = _named("0", ["2 3\n9 9 2\n5 9 7\n", "2 2\n5 0\n0 5\n"])
    small = [reef(4, 4, 5, 20), reef(10, 10, 30, 50), reef(9, 10, 0, 30), winding(7, 5, 44, 50)]
    tests |= _named("1", ["1 1\n0\n", *small])
    tests |= _named(
        "2", ["1 4\n3 2 1 0\n", reef(1, 10, 12, 50), *(reef(1, 60, 10**8, 10**9) for _ in range(2))]
    )
    large = [reef(60, 60, 10**6, 10**7), winding(59, 59, 10**8, 10**9), winding(55, 60, 10**6, 10**7)]
    tests |= _named(
        "3", [*large, reef(59, 60, 10**5, 10**6), reef(60, 60, 0, 70), reef(30, 2, 4 * 10**8, 10**9)]
    )
    return tests, (
        ("01-small", 30, ("0-", "1-", "2-01", "2-02"), {}),
        ("02-one-row", 20, ("1-01", "2-"), {}),
        ("03-full", 50, ("",), {}),
    )


def relay() -> Inputs:
    rng = Random("relay")

    def runners(n: int, d: int, top: int) -> str:
        return f"{n} {d}\n{_line(rng.randint(1, top) for _ in range(n))}"

    def rising(n: int, d: int, step: int, noise: int) -> str:
        return f"{n} {d}\n{_line(1 + i * step + rng.randint(0, noise) for i in range(n))}"

    tests = _named("0", ["6 3\n4 9 1 6 8 12\n"])
    few = [
        runners(1, 1, 9),
        runners(9, 1, 20),
        runners(12, 5, 60),
        runners(12, 1000, 100000),
        rising(12, 2, 3, 1),
    ]
    tests |= _named("1", [*few, "12 1\n4 5 1 2 3 8 6 7 2 9 3 4\n"])
    tests |= _named("2", [f"60 1\n{_line(range(120, 0, -2))}", runners(100, 1, 100), runners(199, 1, 5000)])
    tests |= {"2-04": rising(200, 1, 20, 300)}
    large = [runners(2000, 1, 100000), runners(2000, 700, 100000), runners(1999, 40, 99999)]
    tests |= _named("3", [*large, runners(2000, 3, 2000), rising(2000, 10, 45, 9000)])
    return tests, (
        ("01-few", 20, ("0-", "1-"), {}),
        ("02-plain", 30, ("1-01", "1-02", "1-06", "2-"), {}),
        ("03-full", 50, ("",), {}),
    )


def carousel() -> Inputs:
    rng = Random("carousel")

    def ring(length: int, times: int, colours: str = "abcdefghijklmnopqrstuvwxyz") -> str:
        return "".join(rng.choices(colours, k=length)) * times

    def one_differs(length: int, times: int) -> str:
        return ("a" * (length - 1) + "b") * times

    tests = _named("0", ["redredred", "blues"])
    tests |= _named(
        "1",
        ["q", "a" * 1000, ring(40, 50), ring(1999, 1, "ab"), "abcab", one_differs(300, 4), "abba" + "baab"],
    )
    tests |= _named("2", [ring(1000, 200), ring(700, 300)[:199999], "z" * 200000, ring(300, 2) * 300])
    tests |= _named("3", [ring(4000, 500), one_differs(1500000, 2), one_differs(1250000, 8)])
    return {name: test_input + "\n" for name, test_input in tests.items()}, (
        ("01-small", 25, ("0-", "1-"), {}),
        ("02-medium", 35, ("0-", "1-", "2-"), {}),
        ("03-full", 40, ("",), {}),
    )


ALL = (lanterns, garland, threes, pumpkins, tide, relay, carousel)
