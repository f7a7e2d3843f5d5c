"""Batched judging and classic jobs agree. This file tests other properties of classic jobs, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from borrowed_engine import judge_on
from both_paths import KEPT, OWN, compare, compare_with, has_classic_job, one_of_each, submitted
from support.folders import graders_folder
from support.judged_examples import PLACE, judged

from ioi_eval import EmbeddedEngine, Engine, JudgeOptions, Store, load_problems
from ioi_eval.classic import run_classic
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Solution,
    TaskOptions,
    TaskType,
    Test,
    TestResult,
)
from ioi_eval.models import Verdict as V
from ioi_eval.server.prepared import ClassicJobEngine

# Tasks that are equal to another task for classic jobs.
ALIKE = {"garland": "carousel", "lanterns": "ferry", "pumpkins": "threes"}
OF_SCORES = ("correct", "model_solution", "partially_correct", "incorrect")
PROBLEMS = sorted(path.name.removesuffix(".zip") for path in PLACE.iterdir())


def shape(problem: Problem) -> tuple[object, ...]:
    return problem.task_type, problem.checker.kind, problem.options


@pytest.fixture
async def classics(store: Store) -> AsyncIterator[ClassicJobEngine]:
    """Return an engine that runs classic jobs with their scripts, and caches compiled programs."""
    async with EmbeddedEngine(store=store, packages=(graders_folder() / "classic",)) as opened:
        yield ClassicJobEngine(opened, store)


@pytest.mark.nightly  # quicker tests below judge comparisons and Communication on both paths
@pytest.mark.parametrize("name", PROBLEMS)
async def test_classic_and_batch_judging_agree(
    classics: ClassicJobEngine, cache: Path, shared: Path, shared_cache: Path, name: str
) -> None:
    """A solution of every kind is judged with the scripts, the other solutions with cached programs.

    For similar tasks only right, partial and wrong solutions are judged.
    """
    problem = load_problems(PLACE, cache=cache, only={name})[name]
    if not has_classic_job(problem):
        pytest.skip(f"a {problem.task_type} task with a {problem.checker.kind} checker has no classic job")
    if name in ALIKE:
        assert shape(problem) == shape(load_problems(PLACE, cache=cache, only={ALIKE[name]})[ALIKE[name]])
    first, *other_solutions = [
        candidate
        for candidate in one_of_each(problem)
        if name not in ALIKE or candidate.expected in OF_SCORES
    ]
    results = await asyncio.to_thread(judged, name, shared, shared_cache)
    for solution in (first, *other_solutions):
        batched, runtime = results[solution.name].tests, OWN if solution is first else KEPT
        assert await compare_with(batched, classics, problem, solution, runtime=runtime)


# --- Batch -------------------------------------------------------------------------------------------

COPY = "#include <cstdio>\nint main() { for (int c; (c = getchar()) != EOF;) putchar(c); }\n"


def batch(answer: str, output: str, **changes: object) -> Problem:
    """Return a problem whose inputs are the outputs that a copying program should print."""
    test = Test(name="1", input=Blob.of(output), answer=Blob.of(answer))
    return Problem(**({"id": "copy", "limits": Limits.contest(0.3, 256 << 20), "tests": (test,)} | changes))


async def classic(engine: Engine, problem: Problem, code: str = COPY, *, runtime: str = OWN) -> TestResult:
    return await run_classic(engine, problem, problem.tests[0], submitted(problem, code), runtime=runtime)


COMPARISONS = (CheckerKind.WHITE_DIFF, CheckerKind.STRIPPED, CheckerKind.STRIPPED_LINES)
# An answer, an output, and the score by each kind of comparison.
COMPARED = [
    ("1 2\n3\n", "1 2\n3\n", 1, 1, 1),
    ("1 2\n3\n", " 1 \t 2  \n3\n\n \n", 1, 0, 0),
    ("1 2 \n3\n", " 1 2\t\n\t3\n\n \n", 1, 0, 1),
    ("1 2\n3\n", "\n1 2\n3", 0, 1, 1),
    ("1 2\n3\n", "1 2\n\n3\n", 0, 0, 0),
    ("1\n \n2\n", "1\n\n2\n", 1, 0, 1),
    ("1 2\n3\n", "1 2 3\n", 0, 0, 0),
    ("1 2\n3\n", "12\n3\n", 0, 0, 0),
    ("", "\n \n\n", 1, 1, 1),
    ("", "x", 0, 0, 0),
    ("a", "a \r\n", 1, 1, 1),
    ("a  b\n", "a b\n", 1, 0, 0),
    ("a\n\n\nb\n", "a\n\nb\n", 0, 0, 0),
]


APART = [row for row in COMPARED if len(set(row[2:])) > 1]


@pytest.mark.parametrize(
    "compared",
    [APART, pytest.param(COMPARED, marks=pytest.mark.nightly)],
    ids=["differences", "all"],
)
@pytest.mark.parametrize("kind", COMPARISONS)
async def test_comparisons_of_classic_jobs_agree_with_proctor(
    classics: ClassicJobEngine,
    store: Store,
    kind: CheckerKind,
    compared: list[tuple[str, str, int, int, int]],
) -> None:
    tests = tuple(
        Test(name=f"{answer!r} {output!r}", input=Blob.of(output), answer=Blob.of(answer))
        for answer, output, *_ in compared
    )
    right = {test.name: row[2 + COMPARISONS.index(kind)] for test, row in zip(tests, compared, strict=True)}
    problem = batch("", "", tests=tests, checker=Checker(kind=kind))
    submission = submitted(problem, COPY)
    for test in tests:
        result = await run_classic(classics, problem, test, submission, runtime=KEPT)
        assert result.score == right[test.name], test.name
    async with judge_on(classics, store, JudgeOptions(all_tests=True)) as judge:
        batched = (await judge.judge(problem, submission)).tests
    assert {test.test_name: test.score for test in batched} == right


def checker(source: str, kind: CheckerKind = CheckerKind.CMS) -> dict[str, object]:
    files = (NamedBlob(name="checker/checker.cpp", content=Blob.of(source)),)
    return {"checker": Checker(kind=kind, sources=files)}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int main() { return nonsense; }", "The checker does not compile"),
        ("int main() { return 5; }", "The checker ended with code 5"),
        (
            '#include <cstdio>\nint main() { fputs("FAIL no such file", stderr); return 3; }',
            "The checker.*FAIL no such file",
        ),
        (
            "#include <cstdio>\nint main() {"
            ' fputs("Traceback (most recent call last):\\n  File\\nKeyError: 3\\n", stderr); return 1; }',
            "The checker ended with code 1: KeyError: 3$",
        ),
        ("int main() {}", "The checker printed no score"),
        ('#include <cstdio>\nint main() { puts("nan"); }', "no score: nan"),
        ('#include <cstdio>\nint main() { puts("1.5"); }', r"no score: 1\.5"),
    ],
)
async def test_failed_checker_is_judge_failure(engine: EmbeddedEngine, source: str, words: str) -> None:
    with pytest.raises(JudgeFailure, match=words):
        await classic(engine, batch("", "", **checker(source)))


FRAGILE = """#include <cstdio>
int main(int, char** v) { int n = 0; fscanf(fopen(v[3], "r"), "%d", &n); if (n != 5) return 5; puts("1"); }"""


async def test_output_that_breaks_checker_is_wa(engine: EmbeddedEngine) -> None:
    """The checker accepts the reference answer."""
    result = await classic(engine, batch("5", "x", **checker(FRAGILE)))
    assert (result.status, result.score) == (V.WA, 0)
    assert "ended with code 5" in result.feedback and "it accepts the reference answer" in result.feedback
    reports = FRAGILE.replace("return 5;", 'return fputs("FAIL cannot parse", stderr), 3;')
    result = await classic(engine, batch("5", "x", **checker(reports)))
    assert (result.status, result.score) == (V.WA, 0) and "FAIL cannot parse" in result.feedback


async def test_checker_may_use_more_memory_than_submission(engine: EmbeddedEngine) -> None:
    source = (
        "#include <cstdio>\n#include <sys/mman.h>\nint main() { void *p = mmap(0, 1ul << 33, 3, 34, -1, 0);\n"
    )
    source += 'puts(p == MAP_FAILED ? "0" : "1"); }\n'
    assert (await classic(engine, batch("", "", **checker(source)))).status is V.AC


@pytest.mark.parametrize(
    ("code", "status"),
    [
        pytest.param(
            "#include <csignal>\nint main() { for (signal(SIGTERM, SIG_IGN);;) raise(0); }",
            V.TLE,
        ),
        (
            "#include <csignal>\n#include <unistd.h>\nint main() { signal(SIGTERM, SIG_IGN); sleep(60); }",
            V.TLE,
        ),
        ("int main() { for (;;) __builtin_trap(); }", V.RE),
        (
            '#include <cstdio>\nint main() { for (;;) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); }',
            V.RE,
        ),
        ('#include <cstdio>\nint main() { fputs("Compilation error", stderr); puts("1"); }', V.WA),
    ],
)
async def test_classic_submission_ending_gives_verdict(engine: EmbeddedEngine, code: str, status: V) -> None:
    result = await classic(engine, batch("right", "wrong"), code)
    assert (result.status, result.score) == (status, 0.0)


async def test_classic_submission_cannot_read_answer(engine: EmbeddedEngine) -> None:
    code = "#include <cstdio>\nint main() { for (auto name : "
    code += '{"correct_output.txt", "../correct_output.txt"}) if (FILE* file = fopen(name, "r")) '
    code += "for (int c; (c = getc(file)) != EOF;) putchar(c); }\n"
    assert (await classic(engine, batch("secret", "x"), code)).score == 0


# --- Communication -----------------------------------------------------------------------------------

MANAGER = """
#include <cstdio>
#include <cstring>
int main(int argc, char **argv) {
    int processes, n, sum = 0;
    if (scanf("%d %d", &processes, &n) != 2 || argc < 1 + 2 * processes) return 9;
    bool loud = argc > 1 + 2 * processes && !strcmp(argv[1 + 2 * processes], "loud");
    for (int i = 0; i < processes; i++) {
        FILE *to = fopen(argv[2 + 2 * i], "w"), *from = fopen(argv[1 + 2 * i], "r");
        if (!to || !from) return 9;
        int answer = 0;
        fprintf(to, "%d\\n", n + i);
        fflush(to);
        if (fscanf(from, "%d", &answer) != 1) { puts("0.0"); fputs("no answer\\n", stderr); return 0; }
        sum += answer == 2 * (n + i);
        fclose(to);
        fclose(from);
    }
    printf("%g\\n", double(sum) / processes);
    fputs(loud ? "loud\\n" : "translate:success\\n", stderr);
}
"""
STUB = {
    "std_io": """
#include <cstdio>
int twice(int);
int main() { int n; if (scanf("%d", &n) == 1) printf("%d\\n", twice(n)); }
""",
    "fifo_io": """
#include <cstdio>
int twice(int);
int main(int argc, char **argv) {
    FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
    int n;
    if (in && out && fscanf(in, "%d", &n) == 1) fprintf(out, "%d\\n", twice(n));
}
""",
}


def communication(user_io: str, processes: int, **changes: object) -> Problem:
    files = (
        NamedBlob(name="graders/manager.cpp", content=Blob.of(MANAGER)),
        NamedBlob(name="graders/stub.cpp", content=Blob.of(STUB[user_io])),
    )
    options = TaskOptions(with_grader=True, user_io=user_io, processes=processes)
    values: dict[str, object] = {
        "id": "twice",
        "task_type": TaskType.COMMUNICATION,
        "options": options,
        "limits": Limits.contest(0.3, 256 << 20),
        "grader_files": files,
        "manager": Manager(sources=files),
        "tests": (Test(name="1", input=Blob.of(f"{processes} 21\n")),),
    }
    return Problem(**(values | changes))


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("int twice(int n) { __builtin_trap(); }", V.RE),
        ("#include <unistd.h>\nint twice(int n) { sleep(60); return 0; }", V.TLE),
    ],
)
async def test_classic_communication_ending_gives_verdict(
    engine: EmbeddedEngine, code: str, status: V
) -> None:
    result = await classic(engine, communication("std_io", 1), code)
    assert (result.score, result.status) == (0.0, status), result


@pytest.mark.nightly(unless=r"std_io-1-(return 2|_Exit\(3\))")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return 2 * n;", V.AC),
        ("return 42;", V.PA),  # right for the first process only
        ("return n;", V.WA),
        ("_Exit(0);", V.WA),
        ("_Exit(3);", V.RE),
        ("for (volatile int i = 0;; i = i + 1) {}", V.TLE),
    ],
)
@pytest.mark.parametrize(
    ("user_io", "processes"), [("std_io", 1), ("std_io", 3), ("fifo_io", 1), ("fifo_io", 3)]
)
async def test_classic_and_batched_jobs_agree_on_communication(
    classics: ClassicJobEngine, store: Store, user_io: str, processes: int, body: str, status: V
) -> None:
    code = f"#include <cstdlib>\nint twice(int n) {{ {body} }}\n"
    async with judge_on(classics, store) as judge:
        problem = communication(user_io, processes)
        (result,) = await compare(classics, judge, problem, Solution(name=body, code=code, expected=""))
    assert result.status is (V.AC if status is V.PA and processes == 1 else status), result


@pytest.mark.nightly(unless="0-fifo_io|3-std_io")
@pytest.mark.parametrize("user_io", ["std_io", "fifo_io"])
@pytest.mark.parametrize("end", ["0", "3"])
async def test_submission_exiting_before_opening_pipe_does_not_hang(
    engine: EmbeddedEngine, user_io: str, end: str
) -> None:
    code = "#include <cstdlib>\n__attribute__((constructor)) void early() { _Exit(CODE); }\n"
    code = code.replace("CODE", end) + "int twice(int n) { return n; }\n"
    result = await classic(engine, communication(user_io, 2), code)
    assert result.score == 0
    assert result.status is (V.RE if end == "3" else V.WA), result


async def test_classic_manager_gets_its_configured_arguments(engine: EmbeddedEngine) -> None:
    problem = communication("std_io", 1, options=TaskOptions(with_grader=True, manager_args=("loud",)))
    assert (await classic(engine, problem, "int twice(int n) { return 2 * n; }")).feedback.strip() == "loud"


async def test_classic_manager_output_is_checked(engine: EmbeddedEngine) -> None:
    """The checker gets the manager's output."""
    source = "#include <cstdio>\nint main(int, char **v) { double x;\n"
    source += 'fscanf(fopen(v[3], "r"), "%lf", &x); printf("%g\\n", x / 2); fputs("halved\\n", stderr); }\n'
    problem = communication("std_io", 1, **checker(source))
    result = await classic(engine, problem, "int twice(int n) { return 2 * n; }")
    assert (result.score, result.feedback.strip()) == (0.5, "halved")


@pytest.mark.parametrize(
    ("manager", "words"),
    [
        ("int main() { return 1; }", "manager ended with code 1"),
        ("int main() {}", "manager printed no score"),
        ("nonsense", "The manager does not compile"),
    ],
)
async def test_broken_manager_is_judge_failure(engine: EmbeddedEngine, manager: str, words: str) -> None:
    files = (
        NamedBlob(name="graders/manager.cpp", content=Blob.of(manager)),
        NamedBlob(name="graders/stub.cpp", content=Blob.of("int twice(int);\nint main() { twice(1); }\n")),
    )
    problem = communication("fifo_io", 1, grader_files=files, manager=Manager(sources=files))
    with pytest.raises(JudgeFailure, match=words):
        await classic(engine, problem, "int twice(int n) { return n; }")
