"""Runs the attacks of tests/attacks outside of the tests. See scripts/attacks."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import filterfalse, product
from pathlib import Path

import msgspec
from attack import SECRET
from building import build_proctor, build_program, built_once, waiting_library
from campaign import ENGINES, MIXTURES, Half, Table, column, is_server, put_into, table_of
from catalogue import ATTACKS
from ground import prepared
from harness import EVERYTHING, Bench
from leftovers import adopt_orphans
from mutation import TEST_BUILD, Trial, trials

_TOP = Path(__file__).resolve().parents[1]
_DOCUMENT = _TOP / "docs" / "security.md"
_ROOT, _ORDINARY = "root", "an ordinary user"
_USER = _ROOT if os.geteuid() == 0 else _ORDINARY


def main(arguments: list[str]) -> int:
    match arguments:
        case ["try", file, *names] if not _unknown(names):
            return _try_all(Path(file), names)
        case ["servers", *words] if words and not _unknown(names := [*filterfalse(is_server, words)]):
            return _try_servers([*filter(is_server, words)], names)
        case ["write", which, *files] if files:
            return _write_table([Path(file) for file in files], whole=which == "all")
        case ["mutate", *names] if not _unknown(names):
            return _mutate(names)
        case ["try", _, *names] | ["mutate", *names] | ["servers", *names]:
            names = [*filterfalse(is_server, names)]
            print(f"no such attack: {', '.join(_unknown(names))}", file=sys.stderr)
    return 2


def _unknown(names: list[str]) -> list[str]:
    return [name for name in names if name not in {attack.name for attack in ATTACKS}]


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


def _try_all(file: Path, names: list[str]) -> int:
    """All engines under all mixtures, as whoever we are. `names`: of attacks, where not all are tried."""
    os.environ["API_KEY"] = SECRET
    columns = {}
    with _places() as (workshop, cache):
        for engine, (name, layers) in product(ENGINES, MIXTURES.items()):
            title, begun = f"{engine}, {name}", time.monotonic()
            _tell(f"{title}, as {_USER} ...")
            with prepared(workshop) as ground:
                columns[title] = asyncio.run(column(engine, layers, cache, ground, workshop, names))
            _tell(f"    {time.monotonic() - begun:.0f} s")
    file.write_bytes(msgspec.json.encode(Half(_USER, columns)))
    return 0


def _try_servers(urls: list[str], names: list[str]) -> int:
    """All attacks, or some, on servers that run already. What their clients' scripts can do is not asked."""
    os.environ["API_KEY"] = SECRET
    faults = []
    with _places() as (workshop, cache):
        for url in urls:
            with prepared(workshop) as ground:
                found = asyncio.run(column(url, EVERYTHING, cache, ground, workshop, names))
            half = Half(_USER, {url: found})
            print(f"{url}: {half.attempts} attempts, {len(half.faults)} successful", *half.faults, sep="\n")
            faults += half.faults
    return 1 if faults else 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _write_table(files: list[Path], *, whole: bool) -> int:
    halves = [msgspec.json.decode(file.read_bytes(), type=Half) for file in files]
    table = Table(halves, known="" if whole else table_of(_DOCUMENT))
    print(*table.faults, table.summary, sep="\n")
    document = _DOCUMENT.relative_to(_TOP)
    if _USER == _ROOT:
        put_into(_DOCUMENT, table.markdown())
        print(f"{document} is written.")
    else:
        print(f"{document} is left as it is: it is written by root, who tries as both.")
    return 1 if table.faults else 0


def _mutate(names: list[str]) -> int:
    wrong = done = 0
    adopt_orphans()
    with _places() as (workshop, cache):
        proctor = built_once(cache / "proctor", partial(build_proctor, TEST_BUILD))

        def compiled(code: str) -> Path:
            return built_once(cache / f"{abs(hash(code))}.bin", partial(build_program, code))

        library = waiting_library(cache, "waiting", TEST_BUILD)
        bench = Bench(
            workshop=workshop,
            proctor=proctor,
            compiled=compiled,
            layers=EVERYTHING,
            store=cache,
            waiting=library,
        )
        for trial in trials(names):
            done += 1
            why = trial.fault(bench)
            wrong += bool(why)
            print(_told(trial, why), flush=True)
    print(f"{done} trials as {_USER}, {wrong} not as expected", flush=True)
    return 1 if wrong else 0


def _told(trial: Trial, why: str) -> str:
    away = f"without {', '.join(trial.away)}" if trial.away else "with everything"
    wanted = "succeeds" if trial.succeeds else "fails"
    return f"{trial.attack.name}, {trial.way.value}, {wanted} {away}" + (
        f": NOT SO. {why[:600]}" if why else ""
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
