"""End-to-end attacks.

Each kind of attack is a round of submissions or jobs on an engine. A round returns a verdict for every attack, and
a message if the verdict is unexpected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from attack import CHECKER, FRAGILE, OUT_FILE, PROGRAM_IN, SECRET, Attack, Way, is_clean
from attack_environment import AttackEnvironment, called
from attacking_pairs import INTERACTOR, MANAGER, STEPS, Pair, pairs_program
from attacks_compiling import DEEP, SourceAttack
from attacks_functions import Call, functions_program
from attacks_java import CPU_TIME, MEMORY
from attacks_scripts import Script
from catalogue import FILES, FUNCTIONS, PAIRS, PROGRAMS

from ioi_eval import Engine, Scorer
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Job,
    JobFile,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Submission,
    SubmissionResult,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.scoring import Deduplication

_MANY_WORDS = 1 << 20
WHITE_DIFF = Checker()
_QUOTING, _FRAGILE = (
    Checker(kind=CheckerKind.CMS, sources=(NamedBlob(name="checker.cpp", content=Blob.of(source)),))
    for source in (CHECKER, FRAGILE)
)
# Three times the memory of Python: touching more is too slow on a busy machine.
LIMITS = Limits(cpu_time=0.2, wall_time=2.5, memory=40 << 20, output=4 << 20)
_IN_JAVA = msgspec.structs.replace(LIMITS, cpu_time=CPU_TIME, memory=MEMORY)


@dataclass(frozen=True)
class Found:
    """The outcome of an attack: a verdict, and the message if it is unexpected. After the verdict: how Python
    was run.
    """

    verdict: str
    fault: str = ""


Round = Mapping[str, Found]


# --- programs on a Batch task ---


async def programs(
    scorer: Scorer,
    ground: AttackEnvironment,
    attacks: Sequence[Attack],
    *,
    alone: bool = False,
    way: Way | None = None,
    compared: bool = False,
    forks: int = 0,
) -> Round:
    """Try attacks in the same language, on the same kind of task, as a single submission. It behaves after each attack.

    `alone`: the program contains only one attack. `way`: how Python must be run; `None` means any way. `compared`:
    no checker quotes the output. `forks`: processes that the package's runner file may start.
    """
    language = attacks[0].language
    code = PROGRAM_IN[language](attacks if alone else PROGRAMS)
    orders = [(name, ground.order(order, wild=True)) for name, order in _in_turn(attacks)]
    checker = WHITE_DIFF if compared else _FRAGILE if attacks[0].fragile else _QUOTING
    options = TaskOptions(output_file=OUT_FILE) if attacks[0].writes_file else TaskOptions()
    tests = _tests(ground, orders, fine="fine\n" if compared else None)
    # The file is included even if it may not fork, so that both cases share a build.
    runner = _named("c++/runner.h", "int started = fork();")
    problem = Problem(
        id="attacked",
        tests=tests,
        limits=_IN_JAVA if language == "java" else LIMITS,
        checker=checker,
        options=msgspec.structs.replace(options, forks=forks),
        included=(runner,) if language == "c++" else (),
        forks_by=(runner.name,) if forks else (),
    )
    return _round(attacks, await _score(scorer, problem, code, language), ground, way)


# --- tasks of other types ---


async def pairs(
    scorer: Scorer, ground: AttackEnvironment, task_type: TaskType, attacks: Sequence[Pair] = PAIRS
) -> Round:
    """Try the same pairs of programs on tasks with several processes."""
    orders = [(name, f"{order} {ground.mark} 7\n") for name, order in _in_turn(attacks)]
    steps = task_type is TaskType.TWO_STEPS
    managers = {
        TaskType.COMMUNICATION: Manager(sources=(_named("graders/manager.cpp", MANAGER),)),
        TaskType.INTERACTIVE: Manager(
            sources=(_named("interactor.cpp", INTERACTOR),), kind=CheckerKind.TESTLIB
        ),
    }
    problem = Problem(
        id="pairs",
        task_type=task_type,
        options=TaskOptions(processes=2),
        tests=_tests(ground, orders, "7\n"),
        limits=LIMITS,
        manager=managers.get(task_type),
        grader_files=(_named("graders/manager.cpp", STEPS),) if steps else (),
    )
    code = pairs_program(attacks, steps=steps)
    return _round(attacks, await _score(scorer, problem, code), ground)


async def functions(
    scorer: Scorer, ground: AttackEnvironment, attacks: Sequence[Call] = FUNCTIONS, *, way: Way | None = None
) -> Round:
    orders = [(name, f'["{order}", true]') for name, order in _in_turn(attacks)]
    right = {call.name: call.right for call in FUNCTIONS}
    problem = Problem(
        id="called",
        task_type=TaskType.FUNCTION,
        options=TaskOptions(function="solve"),
        tests=_tests(ground, orders, right, '"fine"'),
        limits=LIMITS,
        checker=Checker(kind=CheckerKind.JSON),
    )
    return _round(attacks, await _score(scorer, problem, functions_program(), "python"), ground, way)


async def files(scorer: Scorer, ground: AttackEnvironment, task_type: TaskType) -> Round:
    """Try all attacks as submitted files. In a BatchAndOutput task they are half of the outputs, which a checker quotes."""
    quoted = task_type is TaskType.BATCH_AND_OUTPUT
    orders = [(name, order) for name, order in _in_turn(FILES)]
    problem = Problem(
        id="handed-in",
        task_type=task_type,
        options=TaskOptions(output_tests=tuple(name for name, _ in orders)),
        tests=_tests(ground, orders, SECRET, "fine\n"),
        limits=LIMITS,
        checker=_QUOTING if quoted else Checker(),
    )
    contents = {file.name: file.content for file in FILES}
    outputs = tuple(
        NamedBlob(name=name, content=Blob.of(contents.get(name, b"fine\n"))) for name, _ in orders
    )
    submission = Submission(key="1", problem_id=problem.id, code=None, outputs=outputs)
    return _round(FILES, await scorer.score(problem, submission, deduplication=Deduplication()), ground)


# --- builds, whole jobs ---


async def sources(
    scorer: Scorer, ground: AttackEnvironment, attacks: Iterable[SourceAttack], checker: Checker = WHITE_DIFF
) -> Round:
    outcomes, deduplication = {}, Deduplication()
    tests = _tests(ground, [("only", "1\n")])
    problem = Problem(id="compiled", tests=tests, limits=LIMITS, checker=checker)
    for attack in attacks:
        paths = {"answer": ground.answer, "home": ground.home, "neighbour": ground.neighbour}
        code = attack.source.format(depth=DEEP, **paths)
        result = await _score(scorer, problem, code, attack.language, deduplication)
        verdict = result.tests[0].status.value if result.compiles else "CE"
        outcomes[attack.name] = Found(verdict, _fault(attack.verdicts, verdict, result, attack.sign))
    return outcomes


async def scripts(
    engine: Engine, ground: AttackEnvironment, attacks: Iterable[Script], boxes: Path, most: int = 256
) -> Round:
    """Try scripts. No file or process of a job may exist after the job.

    `boxes` is the engine's folder of sandboxes, `most` the maximum number of processes.
    """
    outcomes = {}
    for attack in attacks:
        names = {"home": ground.home, "neighbour": ground.neighbour, "mark": ground.mark, "most": most}
        script = "".join(f"{name}='{value}'\n" for name, value in names.items()) + attack.body + "\n"
        keep = attack.keep if (await engine.capabilities()).takes_paths else ()
        file = JobFile(name="main.sh", content=Blob.of(script))
        ran = await engine.execute(Job(files=(file,), runtime="bash", run_timeout=20_000, keep=keep))
        output = ran.run.stdout + ran.run.stderr
        leftover = _boxes(boxes)
        faults = [
            "it read the secret" if SECRET in output else "",
            "it won" if "won" in ran.run.stdout.split() else "",
            f"it left {leftover}" if leftover else "",
            f"it is still there: {list(called(ground.mark))}" if list(called(ground.mark)) else "",
            f"it kept {ran.kept}" if ran.kept else "",
        ]
        status = ran.run.status.value if ran.run.status is not None else "ok"
        outcomes[attack.name] = Found(status, ", ".join(fault for fault in faults if fault))
    return outcomes


def _boxes(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*/box-*")]


# --- shared by all rounds ---


def _named(name: str, text: str) -> NamedBlob:
    return NamedBlob(name=name, content=Blob.of(text))


def _in_turn(attacks: Iterable[Attack] | Iterable[Pair]) -> list[tuple[str, str]]:
    """Yield names of tests, and their inputs."""
    return [
        pair
        for attack in attacks
        for pair in ((attack.name, attack.name), (f"after {attack.name}", "behave"))
    ]


def _tests(
    ground: AttackEnvironment,
    orders: Iterable[tuple[str, str]],
    answer: str | Mapping[str, str] = SECRET,
    fine: str | None = None,
) -> tuple[Test, ...]:
    """Return tests whose files are on the host, where the embedded engine reads them."""
    tests = []
    for number, (name, order) in enumerate(orders):
        input_path, expected = ground.place / f"{number}.in", ground.place / f"{number}.out"
        input_path.write_text(order)
        if fine is not None and name.startswith("after "):
            expected.write_text(fine)
        else:
            expected.write_text(answer if isinstance(answer, str) else answer[name])
        tests.append(Test(name=name, input=Blob.of_file(input_path), answer=Blob.of_file(expected)))
    return tuple(tests)


async def _score(
    scorer: Scorer,
    problem: Problem,
    code: str,
    language: str = "c++",
    deduplication: Deduplication | None = None,
) -> SubmissionResult:
    """Score as a run does: equal programs share a result. `deduplication` is shared by a round's submissions."""
    submission = Submission(key="1", problem_id=problem.id, code=code, language=language)
    return await scorer.score(problem, submission, deduplication=deduplication or Deduplication())


def _round(
    attacks: Iterable[Attack] | Iterable[Pair],
    result: SubmissionResult,
    ground: AttackEnvironment,
    way: Way | None = None,
) -> Round:
    results = {test.test_name: test for test in result.tests}
    assert results, result.compile_output
    outcomes = {}
    ran = str(result.confinement.get("interpreter", Way.STARTED.value)).partition(":")[0]
    for attack in attacks:
        hostile, behaving = results[attack.name], results[f"after {attack.name}"]
        fault = _fault(attack.verdicts, hostile.status.value, result)
        if hostile.score != 0:
            fault += f" it got points: {hostile}"
        if not is_clean(hostile.feedback):
            fault += f" its feedback is not to be shown: {hostile.feedback[:300]!r}"
        if behaving.status != "AC":
            fault += f" the behaving test after it got {behaving}"
        if way is not None and ran != way.value:
            fault += f" it was not {way.value}: {result.confinement}"
        verdict = hostile.status.value
        outcomes[attack.name] = Found(f"{verdict} ({ran})" if way is not None else verdict, fault)
    for pid in called(ground.mark):
        outcomes[f"process {pid}"] = Found("", "it is still there")
    return outcomes


def _fault(verdicts: Iterable[str], verdict: str, result: SubmissionResult, sign: str = SECRET) -> str:
    if verdict not in verdicts:
        return f"a verdict of {verdict} {result.compile_output[:300]}"
    if len(result.compile_output) > _MANY_WORDS:
        return f"the compiler's {len(result.compile_output)} characters are in the result"
    whole = msgspec.json.encode(result)
    return "the secret is in the result" if any(secret.encode() in whole for secret in (SECRET, sign)) else ""
