"""Tests of the example problems in the ICPC's format: files of a package by name, the same in each call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random

from example_files import Files, line


def _data(tests: Mapping[str, tuple[str, str]]) -> Files:
    endings = ("in", "ans")
    return {
        f"data/{name}.{ending}": content
        for name, contents in tests.items()
        for ending, content in zip(endings, contents, strict=True)
    }


def compass() -> Files:
    ships = {
        "sample/1": (536_870_912, 700_000_000),
        "secret/01-north-east": (10**9, 999_999_999),
        "secret/02-south-east": (987_654_321, 3),
        "secret/03-south-west": (1, 1),
        "secret/04-north-west": (7, 999_999_937),
    }
    return _data({name: (line(position), line(position)) for name, position in ships.items()})


def kettle() -> Files:
    rng = Random("kettle")

    def kitchen(wanted: int, jugs: Sequence[tuple[int, int]]) -> tuple[str, str]:
        litres = _litres(wanted, jugs)
        test_input = f"{len(jugs)} {wanted}\n" + "".join(map(line, jugs))
        return test_input, f"{litres:.9f}\n" if litres else "nothing\n"

    some = [(rng.randint(1, 1000), rng.randint(0, 100)) for _ in range(2000)]
    return _data(
        {
            "sample/1": kitchen(80, [(3, 100), (2, 20), (1, 90)]),
            "secret/01-exact": kitchen(40, [(1000, 40)]),
            "secret/02-cold": kitchen(99, [(5, 98), (1000, 0), (3, 17), (8, 50)]),
            "secret/03-even": kitchen(50, [(10, 40), (10, 60), (7, 50)]),
            "secret/04-drop": kitchen(1, [(1, 100), (1, 0), (2, 2), (1000, 99), (3, 100)]),
            "secret/05-many": kitchen(61, some),
        }
    )


def _litres(wanted: int, jugs: Sequence[tuple[int, int]]) -> float:
    heat = [sum(v * abs(t - wanted) for v, t in jugs if sign * (t - wanted) > 0) for sign in (-1, 1)]
    litres = float(sum(v for v, t in jugs if t == wanted))
    for sign in (-1, 1):
        remaining = min(heat)
        for off in range(1, 101):
            volume = sum(v for v, t in jugs if t - wanted == sign * off)
            volume_used = min(remaining, volume * off)
            remaining -= volume_used
            litres += volume_used / off
    return litres


def shelves() -> Files:
    """Return full shelves, cut into books. Widest first is optimal in every second test only."""
    rng = Random("shelves")
    tests = {"sample/1": ("5 10\n4 6 5 3 2\n", "2\n")}
    for group, width, pieces in (("1-few", 30, (3, 3, 2)), ("2-many", 100, (4, 4, 3, 4, 3))):
        for number, extra in enumerate((1, 0), 1):
            books = _cut(rng, width, pieces)
            while _widest_first(books, width) != len(pieces) + extra:
                books = _cut(rng, width, pieces)
            test_input = f"{len(books)} {width}\n{line(books)}"
            tests[f"secret/{group}/{number:02}"] = (test_input, f"{len(pieces)}\n")
    return _data(tests)


def _cut(rng: Random, width: int, pieces: Sequence[int]) -> list[int]:
    books: list[int] = []
    for count in pieces:
        cuts = [0, *sorted(rng.sample(range(1, width), count - 1)), width]
        books += [right_cut - left_cut for left_cut, right_cut in pairwise(cuts)]
    rng.shuffle(books)
    return books


def _widest_first(books: Sequence[int], width: int) -> int:
    free_widths: list[int] = []
    for book in sorted(books, reverse=True):
        shelf = next((i for i, free_width in enumerate(free_widths) if free_width >= book), len(free_widths))
        if shelf == len(free_widths):
            free_widths.append(width)
        free_widths[shelf] -= book
    return len(free_widths)


def parcels() -> Files:
    """Return large numbers of parcels in short lines: a rule generates their weights."""
    rules = {
        "sample/1": (5, 4, 0, 1, 4),
        "secret/1-small/01": (1000, 50, 3, 7, 97),
        "secret/1-small/02": (999, 0, 0, 5, 10),
        "secret/2-either/equal/01": (200_000, 0, 0, 0, 1),
        "secret/2-either/equal/02": (199_999, 14, 0, 0, 9),
        "secret/2-either/rising/01": (200_000, 200_001, 0, 1, 1_000_000),
        "secret/3-large/01": (200_000, 1234, 17, 5, 1009),
        "secret/3-large/02": (199_998, 700_000, 12, 34_567, 999_983),
    }
    return _data({name: (line(rule), line((_pairs(*rule),))) for name, rule in rules.items()})


def _pairs(n: int, s: int, p: int, q: int, m: int) -> int:
    weights = Counter((p * i * i + q * i) % m for i in range(1, n + 1))
    ordered = sum(count * weights[s - weight] for weight, count in list(weights.items()))
    return (ordered - (weights[s // 2] if s % 2 == 0 else 0)) // 2


ALL: tuple[Callable[[], Files], ...] = (compass, kettle, shelves, parcels)
