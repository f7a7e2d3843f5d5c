"""The judge on the embedded engine, with real compilers and a real proctor."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from borrowed_engine import artifacts_on
from judge_samples import problem, submission, subtask
from leftovers import named
from msgspec.structs import replace
from requirements import require_language
from support.engines import BuildSuccess
from support.waiting import until

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store, score_sync
from ioi_eval.engines import Check
from ioi_eval.errors import CheckerBroken, JudgeFailure
from ioi_eval.model.errors import FileEdited
from ioi_eval.models import (
    Blob,
    BuildLimits,
    BuildOptions,
    Checker,
    CheckerKind,
    Job,
    JobResult,
    Limits,
    NamedBlob,
    Problem,
    TaskOptions,
    Test,
)
from ioi_eval.models import Verdict as V

ADD = '#include <cstdio>\nint main() { long long a, b; scanf("%lld %lld", &a, &b); printf("%lld", a + b); }\n'
TESTS = tuple(Test(name=f"t{n}", input=Blob.of(f"{n} {n}\n"), answer=Blob.of(f"{2 * n}\n")) for n in range(3))


def summing(**changes: object) -> Problem:
    values = {
        "tests": TESTS,
        "limits": Limits.contest(0.3, 64 << 20),
        "subtasks": (subtask("s", 100, range(3)),),
    }
    return problem(**(values | changes))


ONE = summing(tests=TESTS[1:2], subtasks=(subtask("s", 100, [1]),))


async def statuses(scorer: Scorer, code: str, language: str = "c++", of: Problem = ONE) -> set[V]:
    result = await scorer.score(of, submission(code, language=language))
    return {test.status for test in result.tests}


ASKS = '#include <cstdio>\nint n();\nint main() { printf("%d", n()); }\n'


@pytest.mark.parametrize("name", ["grader.cpp", "answer"])
async def test_file_edited_after_reading_problem_is_judge_failure(
    scorer: Scorer, tmp_path: Path, name: str
) -> None:
    """Otherwise results and cached programs would be stored under the digest of the old files."""
    files = {"grader.cpp": f"{ASKS}// {tmp_path}", "answer": "2\n"}

    def read() -> Problem:
        for file, content in files.items():
            (tmp_path / file).write_text(content)
        test = Test(name="t1", input=Blob.of(""), answer=Blob.of_file(tmp_path / "answer"))
        grader = NamedBlob(name="graders/grader.cpp", content=Blob.of_file(tmp_path / "grader.cpp"))
        options = TaskOptions(with_grader=True)
        return replace(ONE, tests=(test,), grader_files=(grader,), options=options)

    original, code = read(), "int n() { return 2; }"
    (tmp_path / name).write_text(files[name].replace("2", "3").replace("n());", "n() + 1);"))
    with pytest.raises(FileEdited, match=f"{name} was edited after"):
        await statuses(scorer, code, of=original)
    assert await statuses(scorer, code, of=read()) == {V.AC}
    assert await statuses(scorer, code, of=original) == {V.AC}, "the file has its original content again"


FILLS = "for (int i = 0; i < 1 << 28; i += 4096) a[i] = 1;"


@pytest.mark.parametrize(
    ("code", "language", "status"),
    [
        (ADD, "c++", V.AC),
        ("int main() {}", "C++17", V.WA),
        pytest.param("int main() { for (volatile int i = 0;; i = i + 1) {} }", "c++", V.TLE),
        (f"int main() {{ volatile char* a = new char[1 << 28]; {FILLS} }}", "c++", V.MLE),
        ("int main() { __builtin_abort(); }", "c++", V.RE),
        ("int main() { return 1; }", "c++", V.RE),
        ("int main() { return x; }", "c++", V.CE),
        pytest.param(  # test_undefined_function_is_refused
            "int f();\nint main() { return f(); }", "c++", V.CE, marks=pytest.mark.nightly
        ),
        pytest.param("", "c++", V.CE, marks=pytest.mark.nightly),  # like a function that the linker misses
        ("int main() {}\0\0", "c++", V.WA),
        pytest.param("//" + "x" * 1_100_000 + "\nint main() {}", "c++", V.WA, id="1 MB"),
        pytest.param(
            "//" + "x" * 10_000_000 + "\nint main() {}", "c++", V.WA, id="10 MB", marks=pytest.mark.nightly
        ),
        ("\ud800", "c++", V.CE),
        ("print(sum(map(int, input().split())))", "python", V.AC),
        ("print(", "python", V.CE),
        ("1 / 0", "python", V.RE),
    ],
)
async def test_program_gets_expected_verdict_on_embedded_engine(
    scorer: Scorer, code: str, language: str, status: V
) -> None:
    assert await statuses(scorer, code, language) == {status}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param('#include "../t/0.in"\nint main() {}', marks=pytest.mark.nightly),
        '#include "/etc/passwd"\nint main() {}',
        'asm(".incbin \\"t/0.out\\"");\nint main() {}',
    ],
)
async def test_source_including_files_of_machine_is_compile_error(scorer: Scorer, code: str) -> None:
    assert await statuses(scorer, code) == {V.CE}


@pytest.mark.nightly(unless="zero|data")
@pytest.mark.parametrize(
    "code",
    [
        '#include "/dev/zero"\nint main() {}',
        "template <int n> struct A { using a = typename A<n + 1>::a; };\nA<0>::a x;\nint main() {}",
        "char data[1ull << 34] = {1};\nint main() {}",
        '#include "sum.cpp"\nint main() {}',
    ],
)
async def test_compile_bomb_is_compile_error_and_next_submission_is_judged(store: Store, code: str) -> None:
    builds = BuildOptions(limits=BuildLimits(wall_time=5, cpu_time=5, memory=256 << 20))
    async with Scorer(EmbeddedEngine(store=store), store=store, builds=builds) as scorer:
        assert await statuses(scorer, code) == {V.CE}
        assert await statuses(scorer, ADD) == {V.AC}


CONSTANTS = """
struct Node { Node* next; };
constexpr int f(int n) {
  Node* last = nullptr;
  for (int i = 0; i < n; i++) last = new Node{last};
  while (last) { Node* next = last->next; delete last; last = next; }
  return 7;
}
static_assert(f(3000000) == 7);
int main() {}
"""
NESTED = (
    "".join(f"{' ' * depth}try: pass\n{' ' * depth}finally:\n" for depth in range(19)) + " " * 19 + "pass\n"
)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", NESTED),
        pytest.param("python", f"x = [{'1.5, [], ' * 650_000}]", marks=pytest.mark.nightly),
        pytest.param("c++", CONSTANTS, marks=pytest.mark.nightly),  # as in test_attacks, before a merge
    ],
    ids=["nested", "list", "constants"],
)  # fmt: skip
async def test_compiler_out_of_memory_is_cached_compile_error(store: Store, language: str, code: str) -> None:
    """Otherwise a source could choose to be unscored."""
    memory = 1 << (26 if language == "python" else 28)
    builds, engine = BuildOptions(limits=BuildLimits(memory=memory)), Counting(store=store)
    async with Scorer(engine, store=store, builds=builds) as scorer:
        assert await statuses(scorer, code, language) == {V.CE}
        built = engine.builds
        assert await statuses(scorer, code, language) == {V.CE}
    assert engine.builds == built <= 2


class Counting(EmbeddedEngine):
    """Counts builds."""

    builds = 0

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        self.builds += bool(job.keep)
        return await super().execute(job, check)


@pytest.mark.parametrize("language", ["c++", "c", "python", "pypy", "java", "rust", "go"])
async def test_compiler_over_sandbox_memory_is_compile_error(store: Store, language: str) -> None:
    """Interpreters may allocate and fail between two polls of their memory."""
    require_language(language)
    code = "anything\n" * (200_000 if language in ("python", "pypy") else 1)
    builds = BuildOptions(limits=BuildLimits(memory=12 << 20))
    async with Scorer(EmbeddedEngine(store=store, waiting=False), store=store, builds=builds) as scorer:
        assert await statuses(scorer, code, language) == {V.CE}


async def test_cpp_grader_is_linked_with_submission(scorer: Scorer) -> None:
    files = (
        NamedBlob(
            name="graders/grader.cpp",
            content=Blob.of('#include <cstdio>\n#include "sum.h"\nint main() {\n'
            'int a, b; if (scanf("%d %d", &a, &b) == 2) printf("%d\\n", add(a, b)); }\n'),
        ),
        NamedBlob(name="graders/sum.h", content=Blob.of("int add(int a, int b);\n")),
    )  # fmt: skip
    graded = summing(grader_files=files, options=TaskOptions(with_grader=True))
    good = '#include "sum.h"\nint add(int a, int b) { return a + b; }\n'
    assert await statuses(scorer, good, of=graded) == {V.AC}
    assert await statuses(scorer, "int ad(int a, int b) { return a + b; }", of=graded) == {V.CE}


async def test_c_grader_is_linked_with_c_submissions_only(scorer: Scorer) -> None:
    """C++ submissions lack a grader here, which is a judge failure."""
    main = '#include <stdio.h>\n#include "sum.h"\nint main(void) { int a, b;\n'
    main += 'if (scanf("%d %d", &a, &b) == 2) printf("%d\\n", add(a, b)); return 0; }\n'
    files = (
        NamedBlob(name="graders/grader.c", content=Blob.of(main)),
        NamedBlob(name="graders/sum.h", content=Blob.of("int add(int a, int b);\n")),
    )
    graded = summing(grader_files=files, options=TaskOptions(with_grader=True))
    good = '#include "sum.h"\nint add(int a, int b) { int class = a; return class + b; }\n'
    assert await statuses(scorer, good, "c", of=graded) == {V.AC}
    with pytest.raises(JudgeFailure, match=r"no grader in c\+\+"):
        await statuses(scorer, good, "c++", of=graded)


def checked(source: str, **changes: object) -> Problem:
    files = (NamedBlob(name="checker/checker.cpp", content=Blob.of(source)),)
    return summing(checker=Checker(kind=CheckerKind.CMS, sources=files), **changes)


async def test_checker_gives_partial_score_and_feedback(scorer: Scorer) -> None:
    half = checked('#include <cstdio>\nint main() { puts("0.5"); fputs("translate:partial", stderr); }')
    result = await scorer.score(half, submission(ADD))
    assert {(test.score, test.feedback) for test in result.tests} == {(0.5, "Output is partially correct")}


@pytest.mark.parametrize(
    "source",
    [
        "int main() { return 5; }",
        "int main() {}",
        pytest.param("int main() { for (;;) {} }"),
    ],
)
async def test_failed_checker_is_judge_failure(store: Store, source: str) -> None:
    from ioi_eval.models import CheckerLimits

    options = JudgeOptions(checker=CheckerLimits(cpu_time=0.1, wall_time=1))
    async with Scorer(EmbeddedEngine(store=store), store=store, options=options) as scorer:
        one_test_problem = checked(source, tests=TESTS[:1], subtasks=(subtask("s", 100, [0]),))
        with pytest.raises(JudgeFailure, match=r"cms checker checker/checker\.cpp on test t\d"):
            await scorer.score(one_test_problem, submission(ADD))


COMPUTES = """#include <cstdio>
#include <ctime>
static char touched[16 << 20];
int main() {
    for (char& byte : touched) byte = 1;
    while (clock() < CLOCKS_PER_SEC / 10) {}
    printf("%d", touched[0]);
}
"""


@pytest.mark.parametrize(
    ("checker_limits", "failure"),
    [
        (None, "CPU time"),
        (Limits(cpu_time=5), ""),
        (Limits(cpu_time=5, memory=8 << 20), "memory"),
    ],
)
async def test_checker_limits_of_problem_override_options(
    store: Store, checker_limits: Limits | None, failure: str
) -> None:
    from ioi_eval.models import CheckerLimits

    options = JudgeOptions(checker=CheckerLimits(cpu_time=0.05))
    one_test_problem = checked(COMPUTES, tests=TESTS[:1], subtasks=(subtask("s", 100, [0]),))
    one_test_problem = replace(
        one_test_problem, checker=replace(one_test_problem.checker, limits=checker_limits)
    )
    async with Scorer(EmbeddedEngine(store=store), store=store, options=options) as scorer:
        if failure:
            with pytest.raises(JudgeFailure, match=failure):
                await scorer.score(one_test_problem, submission(ADD))
        else:
            assert await statuses(scorer, ADD, of=one_test_problem) == {V.AC}


async def test_checker_compile_error_is_checker_broken(scorer: Scorer) -> None:
    with pytest.raises(CheckerBroken, match=r"does not compile: .*error: .*nonsense"):
        await scorer.prepare(checked("int main() { return nonsense; }"))


async def test_unsupported_cpp_standard_is_judge_failure(scorer: Scorer) -> None:
    with pytest.raises(JudgeFailure, match="cannot build even an empty program"):
        await scorer.score(summing(cpp_standard="gnu++99"), submission(ADD))


@pytest.mark.nightly
@pytest.mark.parametrize("beginning", ["bits/stdc++.h", "vector"])
async def test_build_with_precompiled_header_gives_same_artifact(
    tmp_path: Path, store: Store, beginning: str
) -> None:
    source = f"#include <{beginning}>\n" + ADD
    async with EmbeddedEngine(store=store) as engine:
        async with artifacts_on(engine, Store(tmp_path / "plain"), BuildOptions(precompile=False)) as plain:
            without = await plain.build_submission(plain.prepare_problem(summing()), submission(source))
        async with artifacts_on(engine, Store(tmp_path / "quick"), BuildOptions()) as quick:
            for number in range(2):
                await quick.build_submission(
                    quick.prepare_problem(summing()), submission(f"{source}// {number}\n")
                )
                await until(lambda: not quick.builder.is_busy, every=0.001)
            build = await quick.build_submission(quick.prepare_problem(summing()), submission(source))
    assert isinstance(without, BuildSuccess) and isinstance(build, BuildSuccess)
    assert build.artifact.sha256 == without.artifact.sha256


async def test_engine_is_usable_after_cancelled_submissions(scorer: Scorer) -> None:
    mark = f"slow-{os.urandom(4).hex()}"
    code = f'int main() {{ prctl(PR_SET_NAME, "{mark}"); pause(); }}'
    slow = submission(f"#include <sys/prctl.h>\n#include <unistd.h>\n{code}")
    tasks = [asyncio.create_task(scorer.score(summing(), slow)) for _ in range(3)]
    await until(lambda: named(mark))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert all(task.cancelled() for task in tasks)
    assert await statuses(scorer, ADD) == {V.AC}


def test_score_sync_opens_default_engine(store: Store) -> None:
    assert score_sync(summing(), submission(ADD), store=store).points == 100
