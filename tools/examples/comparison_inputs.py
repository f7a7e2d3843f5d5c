"""Tests of the example problems that show how outputs are compared: by JSON, a script, tokens, bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random

from example_files import Files, contest, line, small_and_full


def calm() -> Files:
    rng = Random("calm")

    def asked(winds: list[int], d: int) -> tuple[str, str]:
        first, days = _calmest(winds, d)
        return json.dumps([winds, d]) + "\n", json.dumps({"first": first, "days": days}) + "\n"

    walk = list(accumulate((rng.randint(-3, 3) for _ in range(9000)), initial=500_000))[:9000]
    return small_and_full(
        {
            "0-01": asked([3, 5, 4, 9, 8], 2),
            "1-01": asked([7], 0),
            "1-02": asked([4, 4, 1, 4, 4, 9, 9], 0),
            "1-03": asked([rng.randint(0, 10**6) for _ in range(50)], 600_000),
            "2-01": asked(walk, 120),
        },
        "few",
        40,
    )


def _calmest(winds: Sequence[int], d: int) -> tuple[int, int]:
    best = (0, 0)
    for first in range(len(winds)):
        low = high = winds[first]
        days = 0
        for wind in winds[first:]:
            low, high = min(low, wind), max(high, wind)
            if high - low > d:
                break
            days += 1
        best = max(best, (days, -first))
    return -best[1], best[0]


def banners() -> Files:
    rows = {
        "0-01": (6, 3),
        "0-02": (4, 3),
        "1-01": (1, 0),
        "1-02": (8, 5),
        "1-03": (8, 6),
        "2-01": (5000, 3333),
        "2-02": (700, 12),
    }
    tests: dict[str, tuple[str, str | None]] = {}
    for name, (n, falls) in rows.items():
        # Any three neighbouring positions include a position that is not a fall.
        possible = falls <= n - 1 - (n - 1) // 3
        tests[name] = (f"{n} {falls}\n", "possible\n" if possible else "impossible\n")
    return small_and_full(tests, "few", 40)


def carrier() -> Files:
    rng = Random("carrier")

    def day(carts: Sequence[int], people: Sequence[int]) -> tuple[str, str]:
        lines = []
        for time in people:
            waiting_times = [(cart - time) % 100_000 for cart in carts]
            answer = "today" if time + min(waiting_times) < 100_000 else "tomorrow"
            lines.append(f"{answer} {min(waiting_times)}\n")
        return f"{len(carts)} {len(people)}\n{line(carts)}{line(people)}", "".join(lines)

    def some(carts: int, people: int) -> tuple[str, str]:
        return day([rng.randrange(100_000) for _ in range(carts)], rng.choices(range(100_000), k=people))

    return small_and_full(
        {
            "0-01": day([600, 90_000], [600, 601, 99_999]),
            "1-01": day([0], [0, 1, 99_999]),
            "1-02": some(4, 5),
            "2-01": some(200, 60),
            "2-02": some(3000, 3000),
        },
        "few",
        40,
    )


def frame() -> Files:
    def drawn(w: int, h: int) -> tuple[str, str]:
        rows = [["|", *" " * (w - 2), "|"] for _ in range(h)]
        rows[0] = rows[-1] = ["+", *"-" * (w - 2), "+"]
        return f"{w} {h}\n", "".join("".join(row) + "\n" for row in rows)

    sizes = {"0-01": (4, 3), "1-01": (2, 2), "1-02": (10, 9), "2-01": (300, 120)}
    return small_and_full({name: drawn(*size) for name, size in sizes.items()}, "small", 40)


def verse() -> Files:
    rng = Random("verse")

    def read(lines: Sequence[str]) -> tuple[str, str]:
        return f"{len(lines)}\n" + "\n".join([*lines, ""]), "\n".join([line[::-1] for line in lines] + [""])

    def words(count: int) -> str:
        drawn = ("".join(rng.choices("aeinrstl", k=rng.randint(1, 7))) for _ in range(count))
        return "".join(token + " " * rng.randint(1, 2) for token in drawn).strip() + "."

    tests = {
        "1-01": read(["a"]),
        "1-02": read([words(30)]),
        "2-01": read(["the boat", "is small"]),
        "2-02": read(["ab  ba", "", "no.on", words(20)]),
        "2-03": read([words(30) for _ in range(300)]),
    }
    groups = {"01-line": (40, ["1-01", "1-02"]), "02-full": (60, list(tests))}
    return contest(tests, groups)


ALL: tuple[Callable[[], Files], ...] = (calm, banners, carrier, frame, verse)
