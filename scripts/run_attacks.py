"""Runs the attacks of tests/attacks outside of the tests. See scripts/attacks."""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from attack import SECRET
from building import build_proctor, build_program, built_once
from campaign import ENGINES, MIXTURES, Table, column, put_into
from catalogue import ATTACKS
from ground import prepared
from harness import EVERYTHING, Bench
from leftovers import adopt_orphans
from mutation import TEST_BUILD, Trial, trials

_TOP = Path(__file__).resolve().parents[1]
_DOCUMENT = _TOP / "docs" / "security.md"


def main(arguments: list[str]) -> int:
    match arguments:
        case ["table"]:
            return _write_table()
        case ["mutate", *names]:
            return _mutate(names)
    print("scripts/attacks table | mutate [NAME...]", file=sys.stderr)
    return 2


@contextmanager
def _places() -> Iterator[tuple[Path, Path]]:
    """A folder that boxes may look into, and one for what is built."""
    workshop = Path(tempfile.mkdtemp(prefix="ioi-eval-attacks-", dir="/dev/shm"))
    workshop.chmod(0o711)
    try:
        with tempfile.TemporaryDirectory(prefix="ioi-eval-attacks-") as cache:
            yield workshop, Path(cache)
    finally:
        shutil.rmtree(workshop)


def _write_table() -> int:
    os.environ["API_KEY"] = SECRET
    columns = {}
    with _places() as (workshop, cache):
        for engine in ENGINES:
            for name, layers in MIXTURES.items():
                with prepared(workshop) as ground:
                    title = f"{engine}, {name}"
                    print(f"{title} ...", file=sys.stderr, flush=True)
                    columns[title] = asyncio.run(column(engine, layers, cache, ground, workshop))
    table = Table(columns, getpass.getuser())
    put_into(_DOCUMENT, table.markdown())
    print(*table.faults, sep="\n")
    print(f"{len(ATTACKS)} attacks, {len(table.faults)} successful: {_DOCUMENT.relative_to(_TOP)}")
    return 1 if table.faults else 0


def _mutate(names: list[str]) -> int:
    wrong = done = 0
    adopt_orphans()
    with _places() as (workshop, cache):
        proctor = built_once(cache / "proctor", partial(build_proctor, TEST_BUILD))

        def compiled(code: str) -> Path:
            return built_once(cache / f"{abs(hash(code))}.bin", partial(build_program, code))

        bench = Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=EVERYTHING, store=cache)
        for trial in trials(names):
            done += 1
            why = trial.fault(bench)
            wrong += bool(why)
            print(_told(trial, why), flush=True)
    print(f"{done} trials, {wrong} not as expected")
    return 1 if wrong else 0


def _told(trial: Trial, why: str) -> str:
    away = f"without {', '.join(trial.away)}" if trial.away else "with everything"
    wanted = "succeeds" if trial.succeeds else "fails"
    return f"{trial.attack.name} {wanted} {away}" + (f": NOT SO. {why[:600]}" if why else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
