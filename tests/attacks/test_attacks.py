"""No attack changes a verdict, reads a secret or stops the judge: end to end, with all combinations of layers."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from attack import HEADINGS, SECRET, Way, cpp_program
from attack_environment import AttackEnvironment, prepared
from attack_rounds import Found, Round, files, functions, pairs, programs, scripts, sources
from attacks_java import HERE
from built_programs import built_once
from campaign import BUILDS, CHECKING, FILED, SUCCEEDED, Half, Table, engine_of, rows_of
from catalogue import ATTACKS, COMPILING, FUNCTIONS, PROGRAMS, SCRIPTS, WORKER
from engine_without_paths import EngineWithoutPaths
from harness import EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE
from requirements import skip_or_fail_in_ci
from worker_attacks import sieges

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.engines.embedded.persistent_proctor import PersistentProctor
from ioi_eval.models import TaskType

SECURITY = Path(__file__).parents[2] / "docs" / "security.md"
CPP = [
    attack for attack in PROGRAMS if attack.language == "c++" and not (attack.writes_file or attack.fragile)
]
PYTHON = [attack for attack in PROGRAMS if attack.language == "python"]
THIRDS = {name: slice(first, None, 3) for first, name in enumerate(("one", "two", "three"))}
PARTS = {
    "c++ one": CPP[::2],
    "c++ two": CPP[1::2],
    "c++ into a file": [attack for attack in PROGRAMS if attack.writes_file],
    "c++ and a fragile checker": [attack for attack in PROGRAMS if attack.fragile],
    "java": [attack for attack in PROGRAMS if attack.language == "java"],
}


@pytest.fixture(
    params=[EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE], ids=["everything", "landlock", "namespaces"]
)
def layers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture
async def scorer(layers: tuple[str, ...], store: Store, way: Way | None) -> AsyncIterator[Scorer]:
    engine = EmbeddedEngine(store=store, slots=1, layers=layers, waiting=way is not Way.STARTED)
    # The default is all layers, and a persistent proctor needs the default.
    chosen = None if layers == EVERYTHING else layers
    options = JudgeOptions(all_tests=True, layers=chosen, checker=CHECKING)
    async with Scorer(engine, store=store, options=options) as opened:
        yield opened


@pytest.fixture
def way() -> Way | None:
    """How Python must run."""
    return None


@pytest.fixture
def ground(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AttackEnvironment]:
    monkeypatch.setenv("API_KEY", SECRET)
    with prepared(workshop) as environment:
        yield environment


@pytest.fixture(scope="session")
def built(workshop: Path, store: Store, binaries: Path) -> None:
    """Build the single program of all C++ attacks once, before parallel test processes need it."""

    async def try_one(ground: AttackEnvironment) -> None:
        async with Scorer(EmbeddedEngine(store=store, slots=1), store=store) as scorer:
            assert await programs(scorer, ground, CPP[:1])

    def build(mark: Path) -> None:
        with prepared(workshop) as ground:
            asyncio.run(try_one(ground))
        mark.touch()

    digest = hashlib.sha256(cpp_program(PROGRAMS).encode()).hexdigest()
    built_once(binaries / f"attacks-{digest[:16]}", build)


def faults(found: Round) -> list[str]:
    assert found
    return [f"{name}: {result.fault}" for name, result in found.items() if result.fault]


# Before a merge, `nobody` tries half of the C++ programs, and root all.
@pytest.mark.usefixtures("built")
@pytest.mark.nightly(unless="everything-c[+][+] two")
@pytest.mark.parametrize("part", PARTS)
async def test_attacking_program_does_not_succeed(
    scorer: Scorer, ground: AttackEnvironment, part: str
) -> None:
    if part == "java" and not HERE:
        skip_or_fail_in_ci("without java")
    assert not faults(await programs(scorer, ground, PARTS[part]))


# Attacks that succeed if a package permits forks.
GRANTED = {"numbers-of-inodes", "pipes-that-are-counted"}  # both by pipes, which programs with threads have


@pytest.mark.usefixtures("built")
@pytest.mark.nightly
@pytest.mark.parametrize("half", ["one", "two"])
async def test_attacking_program_with_fork_permission_fails(
    scorer: Scorer, ground: AttackEnvironment, half: str
) -> None:
    attacks = [attack for attack in PARTS[f"c++ {half}"] if attack.name not in GRANTED]
    assert not faults(await programs(scorer, ground, attacks, forks=2))


@pytest.mark.nightly(unless="everything")
async def test_program_with_fork_permission_succeeds_only_in_documented_attacks(
    scorer: Scorer, ground: AttackEnvironment
) -> None:
    attacks = [attack for attack in PROGRAMS if attack.name in GRANTED]
    successes = faults(await programs(scorer, ground, attacks, forks=2))
    assert {fault.partition(":")[0] for fault in successes} == GRANTED
    page = SECURITY.read_text()
    assert all(f"`{name}`" in page for name in GRANTED), "the page names the attacks that succeed"


# Without namespaces, interpreters are always started, even if a fork server is permitted.
WAYS = {
    "everything-started": (EVERYTHING, Way.STARTED),
    "everything-forked": (EVERYTHING, Way.FORKED),
    "landlock-forked": (LANDLOCK_ALONE, Way.FORKED),
    "namespaces-started": (NAMESPACES_ALONE, Way.STARTED),
    "namespaces-forked": (NAMESPACES_ALONE, Way.FORKED),
}


# Before a merge, `nobody` tries a third of the programs: they cover all headings except one, which C++ programs cover.
@pytest.mark.nightly(unless="everything-forked-two")
@pytest.mark.parametrize("third", THIRDS)
@pytest.mark.parametrize(("layers", "way"), WAYS.values(), indirect=["layers"], ids=WAYS)
async def test_attacking_python_program_fails(
    scorer: Scorer,
    ground: AttackEnvironment,
    layers: tuple[str, ...],
    way: Way,
    third: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python programs are forked, which needs namespaces, or started.

    With all layers, a persistent proctor forks them in turn.
    """
    expected = way if "namespaces" in layers else Way.STARTED
    judge, stayed = PersistentProctor.execute, []

    def counted(*arguments: Any) -> Any:
        stayed.append(judge(*arguments))
        return stayed[-1]

    monkeypatch.setattr(PersistentProctor, "execute", counted)
    attacks = PYTHON[THIRDS[third]]
    assert not faults(await programs(scorer, ground, attacks, way=expected))
    stays = way is Way.FORKED and layers == EVERYTHING
    quick = [
        attack for attack in attacks if attack.verdicts != ("TLE",)
    ]  # TLE attacks run until their time limit
    for repeated in (
        (attacks, quick) if stays else (attacks,)
    ):  # twice in the same proctor, so that leftovers would be detected
        assert not faults(await programs(scorer, ground, repeated, way=expected, compared=True))
    assert not faults(await functions(scorer, ground, FUNCTIONS[THIRDS[third]], way=expected))
    executed = [stage for stage in stayed if stage is not None]
    # With fewer layers a build asks for a persistent proctor, unless the build is cached, and gets `None`.
    assert len(executed) == len(stayed) >= 3 if stays else not executed


@pytest.mark.nightly
@pytest.mark.parametrize("task_type", [TaskType.COMMUNICATION, TaskType.INTERACTIVE, TaskType.TWO_STEPS])
async def test_attacking_pair_of_programs_fails(
    scorer: Scorer, ground: AttackEnvironment, task_type: TaskType
) -> None:
    assert not faults(await pairs(scorer, ground, task_type))


@pytest.mark.nightly
async def test_attacking_submitted_file_fails(scorer: Scorer, ground: AttackEnvironment) -> None:
    for task_type in FILED:
        assert not faults(await files(scorer, ground, task_type))


@pytest.mark.nightly(unless="everything-two")  # it has attacks of every heading
@pytest.mark.parametrize("third", THIRDS)
async def test_attacking_source_does_not_succeed(
    layers: tuple[str, ...], third: str, store: Store, tmp_path: Path, ground: AttackEnvironment
) -> None:
    """A new store ensures that no build of another combination of layers is reused."""
    engine = EmbeddedEngine(store=store, slots=1, layers=layers)
    options = JudgeOptions(all_tests=True, layers=layers)
    built = tmp_path / "built"
    async with Scorer(engine, store=Store(built), options=options, builds=BUILDS) as scorer:
        assert not faults(await sources(scorer, ground, COMPILING[THIRDS[third]]))
    built_files = [path for path in built.rglob("*") if path.is_file()]
    assert built_files
    assert not [path for path in built_files if SECRET.encode() in path.read_bytes()]


STEALING = [attack for attack in COMPILING if "landlock" in attack.layers and not attack.needs]
WINNING = [attack for attack in STEALING if attack.name in ("include-the-answer", "include-users")]


@pytest.mark.nightly(unless="bash")
@pytest.mark.parametrize("runtime", ["bash", "ioi_eval"])
async def test_attacking_source_fails_on_unconfined_server(
    store: Store, tmp_path: Path, ground: AttackEnvironment, runtime: str
) -> None:
    """The build contains the proctor unless the server is believed to confine it."""
    async with EmbeddedEngine(store=store, slots=1, layers=("seccomp",), allow_unconfined=True) as open_house:
        proctor = (await open_house.capabilities()).proctor
        for confines, attacks in ((False, STEALING), (True, WINNING)):
            server = EngineWithoutPaths(open_house, runtime, confines=confines, proctor=proctor)
            built = Store(tmp_path / str(confines))
            async with Scorer(
                server, store=built, options=JudgeOptions(all_tests=True), builds=BUILDS
            ) as scorer:
                outcomes = await sources(scorer, ground, attacks)
            assert bool(faults(outcomes)) is confines
    assert faults(outcomes) == [f"{attack.name}: the secret is in the result" for attack in WINNING]


@pytest.mark.nightly(unless="everything")
async def test_attacking_job_script_does_not_succeed(
    layers: tuple[str, ...], store: Store, workshop: Path, ground: AttackEnvironment
) -> None:
    boxes = workshop / f"boxes-{ground.mark}"
    boxes.mkdir(mode=0o711)
    max_processes = 64  # processes, because starting the default maximum of 256 is slow
    async with engine_of("embedded", store, layers, boxes, max_processes) as engine, engine:
        assert not faults(await scripts(engine, ground, SCRIPTS, boxes, max_processes))
    assert not list(boxes.iterdir())


async def test_flooding_a_worker_with_requests_does_not_succeed(store: Store) -> None:
    async with EmbeddedEngine(store=store, slots=1) as engine:
        assert not faults(await sieges(engine, WORKER, listens=True))


def test_catalogue_has_unique_names_and_a_heading_and_layers_for_each_attack() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names))
    assert {attack.heading for attack in ATTACKS} == set(HEADINGS)
    for attack in ATTACKS:
        assert attack.layers, f"what stops {attack.name} is said"


def test_attack_table_has_outcomes_as_root_and_as_ordinary_user() -> None:
    first_name, other = ATTACKS[0].name, ATTACKS[1].name
    halves = [
        Half("root", {"here": {first_name: [Found("RE")], other: [Found("WA")]}}),
        Half(
            "an ordinary user",
            {"here": {first_name: [Found("RE"), Found("SG")], other: [Found("WA", "it won")]}},
        ),
    ]
    table = Table([msgspec.json.decode(msgspec.json.encode(half), type=Half) for half in halves])
    lines = table.markdown().splitlines()
    assert lines[0] == table.summary
    assert "2 attempts as root and 3 as an ordinary user, 1 successful." in table.summary
    assert f"| {first_name} | " in lines[4] and " | RE SG | " in lines[4]
    assert f"| {SUCCEEDED} | " in lines[5]
    assert table.faults == [f"as an ordinary user: here: {other}: it won"]


def test_attack_table_in_docs_lists_all_attacks() -> None:
    """tools/attacks writes the table."""
    rows = rows_of(SECURITY)
    assert sorted(rows) == sorted(attack.name for attack in ATTACKS), "run tools/attacks table"
    assert not [name for name, cells in rows.items() if SUCCEEDED in cells or "not tried" in cells]
    for attack in ATTACKS:
        assert rows[attack.name][-1] == ", ".join(attack.layers)
