"""Runs the attacks of tests/attacks outside of pytest. See tools/attacks."""

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
from attack_environment import prepared
from built_programs import build_proctor, build_program, built_once, waiting_library
from campaign import ENGINES, MIXTURES, Half, Table, column, is_server, put_into, table_of
from catalogue import ATTACKS
from harness import EVERYTHING, Bench
from leftovers import adopt_orphans
from mutation import TEST_BUILD, Trial, trials

_TOP = Path(__file__).resolve().parents[1]
_DOCUMENT = _TOP / "docs" / "security.md"
_ROOT, _ORDINARY = "root", "an ordinary user"
_USER = _ROOT if os.geteuid() == 0 else _ORDINARY


def main(arguments: list[str]) -> int:
    match arguments:
        case ["try", file, *names] if not _find_unknown_names(names):
            return _try_all_layer_combinations(Path(file), names)
        case ["servers", *targets] if targets and not _find_unknown_names(
            names := [*filterfalse(is_server, targets)]
        ):
            return _attack_servers([*filter(is_server, targets)], names)
        case ["write", which, *files] if files:
            return _update_attack_table([Path(file) for file in files], has_all_attacks=which == "all")
        case ["mutate", *names] if not _find_unknown_names(names):
            return _try_with_and_without_layers(names)
        case ["try", _, *names] | ["mutate", *names] | ["servers", *names]:
            names = [*filterfalse(is_server, names)]
            print(f"unknown attack: {', '.join(_find_unknown_names(names))}", file=sys.stderr)
    return 2


def _find_unknown_names(names: list[str]) -> list[str]:
    return [name for name in names if name not in {attack.name for attack in ATTACKS}]


@contextmanager
def _make_attack_folders() -> Iterator[tuple[Path, Path]]:
    """Yield a folder that sandboxes may read, and a folder for builds."""
    sandbox_parent = Path(tempfile.mkdtemp(prefix="ioi-eval-attacks-", dir="/dev/shm"))
    sandbox_parent.chmod(0o711)
    try:
        with tempfile.TemporaryDirectory(prefix="ioi-eval-attacks-") as build_folder:
            yield sandbox_parent, Path(build_folder)
    finally:
        shutil.rmtree(sandbox_parent)


def _try_all_layer_combinations(output_file: Path, attacks: list[str]) -> int:
    """Try attacks on all engines and combinations of layers, as the current user.

    If `attacks` is empty, try all.
    """
    os.environ["API_KEY"] = SECRET
    outcomes_by_column = {}
    with _make_attack_folders() as (work_folder, cache):
        for engine, (name, layers) in product(ENGINES, MIXTURES.items()):
            title, start_time = f"{engine}, {name}", time.monotonic()
            _print_progress(f"{title}, as {_USER} ...")
            with prepared(work_folder) as environment:
                outcomes_by_column[title] = asyncio.run(
                    column(engine, layers, cache, environment, work_folder, attacks)
                )
            _print_progress(f"    {time.monotonic() - start_time:.0f} s")
    output_file.write_bytes(msgspec.json.encode(Half(_USER, outcomes_by_column)))
    return 0


def _attack_servers(urls: list[str], attacks: list[str]) -> int:
    """Try attacks on running servers, and return 1 if an attack succeeds. If `attacks` is empty, try all.

    Attacks by a client's scripts are not tried: they could attack only the server's own sandboxes.
    """
    os.environ["API_KEY"] = SECRET
    faults = []
    with _make_attack_folders() as (work_folder, cache):
        for url in urls:
            with prepared(work_folder) as environment:
                outcomes = asyncio.run(column(url, EVERYTHING, cache, environment, work_folder, attacks))
            table_half = Half(_USER, {url: outcomes})
            print(
                f"{url}: {table_half.attempts} attacks tried, {len(table_half.faults)} succeeded",
                *table_half.faults,
                sep="\n",
            )
            faults += table_half.faults
    return 1 if faults else 0


def _print_progress(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _update_attack_table(files: list[Path], *, has_all_attacks: bool) -> int:
    """Update the table of attacks with the outcomes in these files, and return 1 if an outcome is wrong.

    Unless the files contain the outcomes of all attacks, the other rows of the table stay.
    """
    table_halves = [msgspec.json.decode(file.read_bytes(), type=Half) for file in files]
    table = Table(table_halves, known="" if has_all_attacks else table_of(_DOCUMENT))
    print(*table.faults, table.summary, sep="\n")
    document = _DOCUMENT.relative_to(_TOP)
    if _USER == _ROOT:
        put_into(_DOCUMENT, table.markdown())
        print(f"{document} has been updated.")
    else:
        print(f"{document} is unchanged: the table needs attacks as root and as nobody. Run this as root.")
    return 1 if table.faults else 0


def _try_with_and_without_layers(attacks: list[str]) -> int:
    """Try each attack with its layers switched on and off, and return 1 if an outcome is unexpected."""
    fault_count = trial_count = 0
    adopt_orphans()
    with _make_attack_folders() as (work_folder, cache):
        proctor = built_once(cache / "proctor", partial(build_proctor, TEST_BUILD))

        def compile_program(code: str) -> Path:
            return built_once(cache / f"{abs(hash(code))}.bin", partial(build_program, code))

        library = waiting_library(cache, "waiting", TEST_BUILD)
        bench = Bench(
            workshop=work_folder,
            proctor=proctor,
            compiled=compile_program,
            layers=EVERYTHING,
            store=cache,
            waiting=library,
        )
        for trial in trials(attacks):
            trial_count += 1
            fault = trial.fault(bench)
            fault_count += bool(fault)
            print(_format_trial(trial, fault), flush=True)
    print(f"{trial_count} trials as {_USER}, {fault_count} not as expected", flush=True)
    return 1 if fault_count else 0


def _format_trial(trial: Trial, fault: str) -> str:
    layers = f"without {', '.join(trial.away)}" if trial.away else "with all layers"
    expected_outcome = "succeeds" if trial.succeeds else "fails"
    return f"{trial.attack.name}, {trial.way.value}, {expected_outcome} {layers}" + (
        f": UNEXPECTED. {fault[:600]}" if fault else ""
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
