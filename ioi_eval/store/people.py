"""Results of people at the contests of a run's problems, for its report."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import Value
from ioi_eval.store.files import read_value, replace

PEOPLE = "people.json"


class ContestResults(Value):
    """A contest's totals over some of the run's problems, and the contestants' ratings on Codeforces."""

    contest: str
    problems: tuple[str, ...]  # ids
    totals: tuple[float, ...]
    ratings: tuple[float | None, ...]  # of the same contestants; None: unknown


class People(Value):
    """Results of people. `rated`: the problems' difficulties are ratings on the scale of Codeforces."""

    source: str
    contests: tuple[ContestResults, ...] = ()
    rated: bool = False
    missing: str = ""  # why there are none


def read_people(folder: Path) -> People | None:
    """Return what the run's folder says; None where it says nothing."""
    remedy = f"Delete {PEOPLE}: the next call of the run's command writes it"
    return read_value(folder / PEOPLE, People, "does not describe people", remedy)


def write_people(folder: Path, people: People) -> None:
    replace(folder / PEOPLE, [as_json(msgspec.to_builtins(people)), b"\n"])
