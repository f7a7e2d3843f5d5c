"""Generate tests of the example problems that are not of type Batch, and of the problem for the preparation
system.

For small problems, answers are computed here by other means than the packages' solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from random import Random

from example_files import Files, contest, line, small_and_full

# --- Communication -----------------------------------------------------------------------------------


def cairn() -> Files:
    """Return the tests: number of stones, position of the cairn, slope of the path on both sides."""
    n = 20_000_000
    rows = {
        "0-01": (1, 1, 1, 1),
        "1-01": (2, 2, 5, 1),
        "1-02": (10, 7, 1, 1000),
        "1-03": (50, 23, 17, 4),
        "2-01": (3000, 40, 1000, 3),
        "2-02": (n, 13_579_246, 900, 1),
        "2-03": (n - 1, n - 1, 1000, 1000),
        "2-04": (n - 2, 1_234_567, 1, 999),
    }
    return small_and_full({name: (line(row), None) for name, row in rows.items()}, "few", 30)


def drums() -> Files:
    rng = Random("drums")

    def played(*sizes: int) -> str:
        rounds = [line([n, *rng.sample(range(n), n)]) for n in sizes]
        return f"{len(rounds)}\n" + "".join(rounds)

    last = line([13, *range(12, -1, -1)])
    tests = {
        "0-01": played(1),
        "1-01": played(2, 3, 4, 5),
        "1-02": played(*[5] * 20),
        "2-01": f"2\n{last}{line([13, *range(13)])}",
        "2-02": played(6, 7, 8, 9, 10, 11, 12, 14, 15),
        "2-03": played(*[16] * 20),
    }
    return small_and_full({name: (test_input, None) for name, test_input in tests.items()}, "few", 20)


def kegs() -> Files:
    """Return the tests: number of kegs, and the keg with water."""
    rows = {
        "0-01": (1, 1),
        "1-01": (2, 1),
        "1-02": (100, 37),
        "1-03": (64, 63),
        "2-01": (10_000, 6_789),
        "2-02": (9_999, 9_997),
    }
    tests: dict[str, tuple[str, str | None]] = {
        name: (f"{n} {keg}\n", f"{keg}\n") for name, (n, keg) in rows.items()
    }
    return small_and_full(tests, "few", 40)


# --- files that are submitted ------------------------------------------------------------------------


def postman() -> Files:
    """Return the tests, which are letter boxes and their shortest rounds, and the files of all solutions."""
    rng = Random("postman")
    towns = {
        "01": [(0, 0), (3, 1), (5, 0), (2, 4)],
        "02": rng.sample([(x, y) for x in range(30) for y in range(30)], 8),
        "03": rng.sample([(x, y) for x in range(1000) for y in range(1000)], 10),
        "04": rng.sample([(x, y) for x in range(7) for y in range(6)], 42),
        "05": rng.sample([(x, y) for x in range(10) for y in range(10)], 100),
    }
    tests = dict[str, tuple[str, str | None]]()
    files: Files = {}
    for name, town in towns.items():
        best = _grid_round(town) if len(town) > 12 else _shortest_round(town)
        tests[name] = (f"{len(town)}\n" + "".join(map(line, town)), f"{_length(town, best)}\n")
        files |= {f"solutions/{to}_{name}.txt": content for to, content in _handed_in(name, town, best)}
    return files | contest(tests, {f"{name}-round": (20, [name]) for name in towns})


Town = Sequence[tuple[int, int]]


def _handed_in(name: str, town: Town, best: list[int]) -> Iterable[tuple[str, str]]:
    yield "model_solution/shortest/output", _boxes(best)
    yield "correct/the_other_way/output", "\n".join(_boxes(best[::-1]).split()) + "\n\n"
    yield "partially_correct/next_nearest/output", _boxes(_greedy_round(town))
    yield "partially_correct/by_number/output", _boxes(range(len(town)))
    if name in ("01", "03", "05"):
        yield "incorrect/two_are_missing/output", _boxes(best)
    yield "incorrect/first_box_twice/output", _boxes([*best[:-1], best[0]])
    yield "incorrect/with_words/output", f"The round is {_boxes(best)}"


def _boxes(order: Iterable[int]) -> str:
    return line(box + 1 for box in order)


def _distance(a: tuple[int, int], b: tuple[int, int]) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _length(town: Town, order: Sequence[int]) -> int:
    return sum(_distance(town[i], town[j]) for i, j in pairwise([*order, order[0]]))


def _shortest_round(town: Town) -> list[int]:
    """Return the shortest round by the algorithm of Held and Karp over all sets of letter boxes."""
    n = len(town)
    best = {(1, 0): (0, [0])}
    for subset in range(3, 1 << n, 2):
        for last in (i for i in range(1, n) if subset >> i & 1):
            previous_subset = subset ^ 1 << last
            ways = [best[previous_subset, i] for i in range(n) if (previous_subset, i) in best]
            best[subset, last] = min(
                (length + _distance(town[way[-1]], town[last]), [*way, last]) for length, way in ways
            )
    ends = [best[(1 << n) - 1, last] for last in range(1, n)]
    return min((length + _distance(town[way[-1]], town[0]), way) for length, way in ends)[1]


def _grid_round(town: Town) -> list[int]:
    """Return a round with steps of length 1: up and down from the second row on, and back along the first
    row.
    """
    indexes = {box: i for i, box in enumerate(town)}
    width, height = max(x for x, _ in town) + 1, max(y for _, y in town) + 1
    if width % 2:
        indexes, width, height = {(y, x): i for (x, y), i in indexes.items()}, height, width
    home = [(x, 0) for x in range(width - 1, -1, -1)]
    rows = range(1, height)
    way = [(x, y) for x in range(width) for y in (rows if x % 2 == 0 else rows[::-1])]
    return [indexes[box] for box in [*way, *home]]


def _greedy_round(town: Town) -> list[int]:
    order = [0]
    while len(order) < len(town):
        unvisited = (i for i in range(len(town)) if i not in order)
        order.append(min(unvisited, key=lambda i: (_distance(town[order[-1]], town[i]), i)))
    return order


def scales() -> Files:
    rng = Random("scales")

    def weighed(n: int, top: int, chosen: int) -> tuple[str, list[int], list[int]]:
        weights = [rng.randint(top // 2, top) for _ in range(n)]
        chosen_indexes = sorted(rng.sample(range(n), chosen))
        return f"{n} {sum(weights[i] for i in chosen_indexes)}\n{line(weights)}", weights, chosen_indexes

    tests: dict[str, tuple[str, str | None]] = {
        "0-01": ("5 14\n2 4 5 6 7\n", None),
        "1-01": ("1 9\n9\n", None),
        "1-02": (weighed(12, 100, 5)[0], None),
        "1-03": (weighed(30, 10**9, 15)[0], None),
    }
    files: Files = {}
    for name in ("2-01", "2-02"):
        test_input, weights, chosen_indexes = weighed(50, 10**15, 24)
        tests[name] = (test_input, None)
        right, nearly = _boxes(chosen_indexes), _boxes(_lighter(weights, chosen_indexes))
        for folder in _WITH_FILES:
            files[f"solutions/{folder}/output_{name}.txt"] = right
        files[f"solutions/correct/search/{name}.out"] = right
        files[f"solutions/partially_correct/nearly/output_{name}.txt"] = nearly
        files[f"solutions/incorrect/files_are_wrong/output_{name}.txt"] = line(range(1, 26))
    groups = {
        "01-program": (60, [name for name in tests if name[0] in "01"]),
        "02-files": (40, [name for name in tests if name[0] == "2"]),
    }
    return files | contest(tests, groups)


_WITH_FILES = (
    "model_solution/masks",
    "incorrect/greedy",
    "time_limit/every_choice",
    "memory_limit/every_sum",
    "runtime_error/small_table",
    "output_limit/shows_all",
    "compile_error/no_semicolon",
)


def _lighter(weights: Sequence[int], places: Sequence[int]) -> list[int]:
    """Replace a weight by a lighter weight, with the smallest possible difference."""
    other_indexes = [i for i in range(len(weights)) if i not in places]
    swaps = ((weights[i] - weights[j], i, j) for i in places for j in other_indexes if weights[j] < weights[i])
    _, gone, added = min(swaps)
    return sorted([*(i for i in places if i != gone), added])


# --- TwoSteps, TPS -----------------------------------------------------------------------------------


def flock() -> Files:
    rng = Random("flock")
    bits = 1 << 30

    def listed(n: int, gone: int, top: int) -> tuple[str, str]:
        numbers = rng.sample(range(top), n)
        return f"{n} {gone}\nlist {line(numbers)}", f"{numbers[gone]}\n"

    def noise(n: int, gone: int, first: int, factor: int) -> tuple[str, str]:
        return f"{n} {gone}\nnoise {first} {factor}\n", f"{(first + gone) * factor % bits}\n"

    return small_and_full(
        {
            "0-01": listed(3, 1, 10),
            "1-01": ("1 0\nlist 1073741823\n", "1073741823\n"),
            "1-02": listed(20, 19, bits),
            "1-03": noise(1000, 500, 7, 1_000_003),
            "2-01": noise(20_000, 19_999, 77, 999_999_937),
            "2-02": noise(200_000, 0, 123_456, 654_321_987),
        },
        "few",
        40,
    )


def ferry() -> Files:
    rng = Random("ferry")

    def row(n: int, deck: int, low: int, top: int) -> tuple[int, list[int]]:
        return deck, [rng.randint(low, top) for _ in range(n)]

    groups = {
        "samples": [(10, [5, 4, 2, 7])],
        "few": [(7, [7]), row(15, 1000, 40, 250), row(14, 100, 1, 100)],
        "long-cars": [row(400, 10**6, 333_334, 700_000), row(20, 2000, 700, 1200)],
        "full": [row(3000, 10**6, 1, 1000), row(2999, 10**6, 5000, 300_000)],
    }
    files: Files = {}
    mapping: dict[str, list[str]] = {}
    for index, (group, rows) in enumerate(groups.items()):
        for number, (deck, cars) in enumerate(rows, 1):
            name = f"{index}-{number:02}"
            mapping[group] = [*mapping.get(group, []), name]
            files[f"tests/{name}.in"] = f"{len(cars)} {deck}\n{line(cars)}"
            files[f"tests/{name}.out"] = f"{_cheapest(deck, cars)}\n"
    mapping["few"] = mapping["samples"] + mapping["few"]
    mapping["full"] = mapping["few"] + mapping["long-cars"] + mapping["full"]
    lines = (f"{group} {name}\n" for group, names in mapping.items() for name in names)
    return files | {"tests/mapping": "".join(lines)}


def _cheapest(deck: int, cars: Sequence[int]) -> int:
    until = [0, *accumulate(cars)]
    min_costs = [0]
    for end in range(1, len(until)):
        ways = ((i, deck - until[end] + until[i]) for i in range(end - 1, -1, -1))
        fitting = []
        for i, gap in ways:
            if gap < 0:
                break
            fitting.append(min_costs[i] + gap * gap)
        min_costs.append(min(fitting))
    return min_costs[-1]


ALL: tuple[Callable[[], Files], ...] = (cairn, drums, kegs, postman, scales, flock, ferry)
