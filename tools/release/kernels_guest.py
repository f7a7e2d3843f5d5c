"""Reports the confinement and the outcomes of the attacks in a guest of tools/release/kernels.

    kernels_guest.py CACHE [MIXTURE...]

Prints JSON. Programs in the cache are not built again, because a guest is slow.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from attack import SECRET
from attack_environment import AttackEnvironment, prepared
from attack_rounds import Found, Round, files, functions, pairs, programs, scripts
from campaign import FILED, MIXTURES
from catalogue import PROGRAMS, SCRIPTS

import ioi_eval.engines.embedded.engine as embedded
from ioi_eval import EmbeddedEngine, JudgeFailure, JudgeOptions, Scorer, Store
from ioi_eval.models import BuildLimits, BuildOptions, TaskType

_BUILDS = BuildOptions(
    limits=BuildLimits(cpu_time=300.0, wall_time=600.0, memory=400 << 20), precompile=False
)
_PAIRED = (TaskType.COMMUNICATION, TaskType.INTERACTIVE, TaskType.TWO_STEPS)


def main(store: Store, mixture_names: Sequence[str]) -> int:
    embedded.find_toolchains = cache(embedded.find_toolchains)
    os.environ["API_KEY"] = SECRET
    with _make_work_folder() as work_folder:
        report = _probe_confinement(store, work_folder)
        _print_status(report)
        outcomes = {}
        for name, layers in _select_layer_mixtures(report, mixture_names):
            _print_status(name)
            outcomes[name] = asyncio.run(_try_attacks_under_layers(store, layers, work_folder))
    document = {
        "kernel": platform.release(),
        "user": getpass.getuser(),
        "report": report,
        "mixtures": outcomes,
    }
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    return 0


def _select_layer_mixtures(
    report: Mapping[str, Any], mixture_names: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names and layers of the mixtures to try; a mixture is a combination of sandbox layers.

    If the kernel lacks Landlock or namespaces, only the mixture of all available layers is tried.
    """
    has_both = report["landlock"] and report["namespaces"]
    for name, layers in MIXTURES.items():
        if name in (mixture_names or MIXTURES) and (has_both or name == "everything"):
            yield name, layers


def _print_status(message: object) -> None:
    print(message, file=sys.stderr, flush=True)


@contextmanager
def _make_work_folder() -> Iterator[Path]:
    """Yield a temporary folder in memory, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="ioi-eval-kernels-", dir="/dev/shm"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


async def _build_proctor(store: Store) -> bytes:
    """Return the binary of the proctor, the program that supervises submissions."""
    async with EmbeddedEngine(store=store, slots=1) as engine:
        proctor = (await engine.capabilities()).proctor
        assert proctor is not None
        return proctor.read()


def _probe_confinement(store: Store, work_folder: Path) -> dict[str, Any]:
    """Return the proctor's report of the sandbox layers that this kernel supports."""
    proctor_path = work_folder / "proctor"
    proctor_path.write_bytes(asyncio.run(_build_proctor(store)))
    proctor_path.chmod(0o755)
    process = subprocess.run([proctor_path, "probe"], check=True, capture_output=True, cwd=work_folder)
    report: dict[str, Any] = msgspec.json.decode(process.stdout)
    return report


async def _try_attacks_under_layers(
    store: Store, layers: tuple[str, ...], work_folder: Path
) -> dict[str, list[Found]]:
    """Try all attacks by programs, functions, files and scripts under a mixture of layers."""
    outcomes: dict[str, list[Found]] = {}
    sandbox_folder = work_folder / f"boxes-{'-'.join(layers)}"
    sandbox_folder.mkdir(mode=0o711)
    engine = EmbeddedEngine(
        store=store, slots=1, layers=layers, sandboxes=sandbox_folder, max_disk=64 << 20, max_names=3000
    )
    options = JudgeOptions(all_tests=True, layers=layers)
    with prepared(work_folder) as environment:
        async with Scorer(engine, store=store, options=options, builds=_BUILDS) as scorer:
            for title, start_round in _list_attack_rounds(scorer, engine, environment, sandbox_folder):
                for name, outcome in (await _run_attack_round(title, start_round)).items():
                    outcomes.setdefault(name, []).append(outcome)
                    if outcome.fault:
                        _print_status(f"    {name}: {outcome.fault}")
                _print_status(f"  {title}")
    return outcomes


async def _run_attack_round(title: str, start_round: Callable[[], Awaitable[Round]]) -> Round:
    """Return the outcomes of a round. A judge failure counts as a successful attack."""
    try:
        return await start_round()
    except JudgeFailure as failure:
        return {title: Found("", f"the judge failed: {failure}")}


def _list_attack_rounds(
    scorer: Scorer, engine: EmbeddedEngine, environment: AttackEnvironment, sandbox_folder: Path
) -> Iterator[tuple[str, Callable[[], Awaitable[Round]]]]:
    for language in ("c++", "python"):
        attacks = [attack for attack in PROGRAMS if attack.language == language]
        yield f"programs in {language}", partial(programs, scorer, environment, attacks)
    for task_type in _PAIRED:
        yield f"pairs, {task_type}", partial(pairs, scorer, environment, task_type)
    yield "functions", partial(functions, scorer, environment)
    for task_type in FILED:
        yield f"files, {task_type}", partial(files, scorer, environment, task_type)
    yield "scripts", partial(scripts, engine, environment, SCRIPTS, sandbox_folder)


if __name__ == "__main__":
    sys.exit(main(Store(Path(sys.argv[1])), sys.argv[2:]))
