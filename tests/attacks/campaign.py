"""Tries all attacks on all engines. tools/attacks calls it, and writes its table in docs/security.md."""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol, TypeVar

from attack import SECRET, Way
from attack_environment import AttackEnvironment
from attack_rounds import Found, files, functions, pairs, programs, scripts, sources
from attacks_java import HERE
from catalogue import ATTACKS, COMPILING, FUNCTIONS, PAIRS, PROGRAMS, SCRIPTS, WORKER
from harness import EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE
from support.servers import Server, ServerOptions
from worker_attacks import sieges

from ioi_eval import EmbeddedEngine, Engine, JudgeOptions, PistonEngine, Scorer, Store, discovery
from ioi_eval.models import BuildLimits, BuildOptions, CheckerLimits, TaskType

ENGINES = ("embedded", "worker")
MIXTURES = {"everything": EVERYTHING, "Landlock alone": LANDLOCK_ALONE, "namespaces alone": NAMESPACES_ALONE}
BUILDS = BuildOptions(limits=BuildLimits(cpu_time=0.6, wall_time=60.0, memory=300 << 20), precompile=False)
# All attacks are in a single program here, and a busy machine is slow.
_PATIENT = BuildOptions(limits=BuildLimits(cpu_time=8.0, wall_time=120.0, memory=400 << 20), precompile=False)
BEGIN, END = "<!-- the table of attacks begins -->", "<!-- the table of attacks ends -->"
SUCCEEDED = "**succeeded**"

CHECKING = CheckerLimits(cpu_time=0.3, wall_time=4.0, memory=64 << 20)  # of a checker that is attacked


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)
Column = dict[str, list[Found]]  # the outcomes of each attack, on every task that it was tried on


@asynccontextmanager
async def engine_of(
    kind: str, store: Store, layers: tuple[str, ...], boxes: Path, max_processes: int = 256
) -> AsyncIterator[Engine]:
    """Return an engine that is not open yet, with its helpers. `kind` may be the address of a server."""
    if is_server(kind):
        yield PistonEngine(discovery(kind))
        return
    local = EmbeddedEngine(
        store=store,
        slots=1,
        layers=layers,
        sandboxes=boxes,
        max_processes=max_processes,
        max_disk=64 << 20,
        max_names=3000,
    )
    async with AsyncExitStack() as stack:
        if kind == "embedded":
            yield local
            return
        await stack.enter_async_context(local)
        server = await stack.enter_async_context(Server(local, ServerOptions(port=0, token=SECRET)))
        yield PistonEngine(discovery(server.url), token=SECRET)


def is_server(kind: str) -> bool:
    return "://" in kind


async def column(
    kind: str,
    layers: tuple[str, ...],
    cache: Path,
    ground: AttackEnvironment,
    workshop: Path,
    names: Collection[str] = (),
) -> Column:
    """Try all attacks, or those in `names`, on an engine with a mixture of layers."""

    def way(language: str) -> Way | None:
        if language != "python" or is_server(kind):
            return None
        return Way.FORKED if kind == "embedded" and "namespaces" in layers else Way.STARTED

    boxes = workshop / f"boxes-{ground.mark}"
    boxes.mkdir(mode=0o711)
    options = JudgeOptions(all_tests=True, layers=layers, checker=CHECKING)
    with tempfile.TemporaryDirectory() as built:
        async with (
            engine_of(kind, Store(cache), layers, boxes) as engine,
            Scorer(engine, store=Store(Path(built)), options=options, builds=_PATIENT) as scorer,
        ):
            columns = await _submitted(scorer, ground, names, way)
            if not is_server(kind):  # clients' scripts on a server can only attack the server's sandboxes
                columns.append(await scripts(engine, ground, _among(SCRIPTS, names), boxes))
    if not is_server(kind):
        async with EmbeddedEngine(store=Store(cache), slots=1, layers=layers, sandboxes=boxes) as local:
            columns.append(await sieges(local, _among(WORKER, names), listens=kind == "worker"))
    whole: Column = {}
    for round_ in columns:
        for name, result in round_.items():
            whole.setdefault(name, []).append(result)
    return whole


def _among(attacks: Iterable[T], names: Collection[str]) -> list[T]:
    return [attack for attack in attacks if not names or attack.name in names]


async def _submitted(
    scorer: Scorer, ground: AttackEnvironment, names: Collection[str], way: Callable[[str], Way | None]
) -> list[dict[str, Found]]:
    """Try attacks that a submission can contain. `way`: how programs in a language are run."""
    alone, paired = bool(names), _among(PAIRS, names)
    columns = [
        await programs(scorer, ground, chosen, alone=alone, way=way(chosen[0].language))
        for batch in TOGETHER
        if (chosen := _among(batch, names))
    ]
    if paired:
        columns += [await pairs(scorer, ground, task_type, paired) for task_type in _PAIRED]
    columns.append(await sources(scorer, ground, _among(COMPILING, names)))
    if called := _among(FUNCTIONS, names):
        columns.append(await functions(scorer, ground, called, way=way("python")))
    if not names:
        columns += [await files(scorer, ground, task_type) for task_type in FILED]
    return columns


FILED = (TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT)
_PAIRED = (TaskType.COMMUNICATION, TaskType.INTERACTIVE, TaskType.TWO_STEPS)
_LANGUAGES = ("c++", "python", *(("java",) if HERE else ()))
TOGETHER = [
    together
    for task in product(_LANGUAGES, (False, True), (False, True))
    if (together := [each for each in PROGRAMS if (each.language, each.writes_file, each.fragile) == task])
]


@dataclass(frozen=True)
class Half:
    """The outcomes for a user. `columns` maps titles to columns."""

    user: str
    columns: dict[str, Column]

    @property
    def attempts(self) -> int:
        return sum(len(outcomes) for column in self.columns.values() for outcomes in column.values())

    @property
    def faults(self) -> list[str]:
        return [
            f"as {self.user}: {title}: {name}: {outcome.fault}"
            for title, column in self.columns.items()
            for name, all_found in column.items()
            for outcome in all_found
            if outcome.fault
        ]


@dataclass(frozen=True)
class Table:
    """The outcomes for all users, in the same columns.

    `known` is an earlier table, used for attacks that were not tried now.
    """

    halves: Sequence[Half]
    known: str = ""

    @property
    def faults(self) -> list[str]:
        return [fault for half in self.halves for fault in half.faults]

    @property
    def summary(self) -> str:
        first, *later = self.halves
        earlier = [
            int(number) for number in re.findall(r"(\d+) (?:attempts )?as ", self.known.split("\n", 1)[0])
        ]
        counts = [half.attempts for half in self.halves]
        if earlier:
            counts = [count + earlier_count for count, earlier_count in zip(counts, earlier, strict=True)]
        attempts = [f"{counts[0]} attempts as {first.user}"]
        attempts += [f"{count} as {half.user}" for count, half in zip(counts[1:], later, strict=True)]
        return f"{len(ATTACKS)} attacks, {' and '.join(attempts)}, {len(self.faults)} successful."

    def markdown(self) -> str:
        titles = list(self.halves[0].columns)
        lines = [
            self.summary,
            "",
            "| attack | goal | written in | " + " | ".join(titles) + " | stopped by |",
            "|---|---|---|" + "---|" * len(titles) + "---|",
        ]
        known_rows = _rows(self.known)
        for attack in ATTACKS:
            if attack.name in known_rows and not self._found(titles[0], attack.name):
                lines.append(f"| {attack.name} | {' | '.join(known_rows[attack.name])} |")
                continue
            cells = " | ".join(_cell(self._found(title, attack.name)) for title in titles)
            stops = ", ".join(attack.layers)
            lines.append(f"| {attack.name} | {attack.heading} | {attack.language} | {cells} | {stops} |")
        return "\n".join(lines) + "\n"

    def _found(self, title: str, name: str) -> list[Found]:
        return [outcome for half in self.halves for outcome in half.columns[title].get(name, [])]


def _cell(found: list[Found]) -> str:
    if any(outcome.fault for outcome in found):
        return SUCCEEDED
    return " ".join(dict.fromkeys(outcome.verdict for outcome in found)) or "not tried"


def table_of(document: Path) -> str:
    return document.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def put_into(document: Path, table: str) -> None:
    page = document.read_text()
    head, _, tail = page.partition(BEGIN)
    _, _, foot = tail.partition(END)
    document.write_text(f"{head}{BEGIN}\n{table}{END}{foot}")


def rows_of(document: Path) -> dict[str, list[str]]:
    """Return the table's cells by the attack's name."""
    return _rows(table_of(document))


def _rows(table: str) -> dict[str, list[str]]:
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")][2:]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}
