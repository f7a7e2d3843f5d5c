"""Submissions that try to be unscored or to block a run get a verdict.

On this machine, on a worker, and on real servers: tools/real_servers passes them as `--real KIND=URL`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from borrowed_engine import BorrowedEngine
from requirements import require_language
from support.servers import FixedServers

from ioi_eval import EmbeddedEngine, Engine, PistonEngine, Scorer, Store, load_problems
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import (
    Blob,
    BuildLimits,
    BuildOptions,
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Submission,
    TaskType,
    Test,
    Verdict,
)
from ioi_eval.rules.assertions import read_assertions
from ioi_eval.server import Server, ServerOptions

pytestmark = pytest.mark.asyncio(loop_scope="module")

FLOCK = Path(__file__).parents[2] / "examples/problems/flock"
PROBLEM = Problem(
    id="echo",
    limits=Limits.contest(2.0, 256 << 20),
    checker=Checker(kind=CheckerKind.STRIPPED),
    tests=(Test(name="1", input=Blob.of("7\n"), answer=Blob.of("7\n")),),
)
ECHO = '#include <cstdio>\nint main() { int n; std::scanf("%d", &n); std::printf("%d\\n", n); }\n'
# A table that no server can compress, of 12 MB.
NOISE = r"""
asm(".section .rodata\n.set x, 12345\n.rept 1500000\n.set x, x * 6364136223846793005 + 1\n.quad x\n.endr\n.text\n");
"""
PYTHON = {
    "an import after the exit": "raise SystemExit(1)\nimport z3\n",
    "imports of missing modules": "import ortools, z3, cvxpy, shapely\nprint(input())\n",
    "an error that names a package": "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n",
    "blocks in blocks": "".join(f"{' ' * n}try:\n" for n in range(19))
    + f"{' ' * 19}pass\n"
    + "".join(f"{' ' * n}finally: pass\n" for n in reversed(range(19))),
    "the exit code of a killed compiler": "raise SystemExit(137)\n",
}
CPP = {
    "a compiler that reads its output": '#include "/dev/stdout"\n' + ECHO,
    "data of gigabytes": "char data[6l << 30] = {1};\n" + ECHO,
    "messages of a machine at fault": '#error "No space left on device: Cannot allocate memory"\n',
}
# By the command that builds it.
OTHERS = {
    "rustc": ("rust", 'static DATA: [u8; 6 << 30] = [1; 6 << 30];\nfn main() { println!("{}", DATA[7]); }\n'),
    "go": ("go", "package main\nvar data = [6 << 30]byte{6<<30 - 1: 1}\nfunc main() { println(data[7]) }\n"),
    "javac": (
        "java",
        'class Main { static final String a0 = "0123456789";\n'
        + "".join(f"static final String a{n} = {'+'.join([f'a{n - 1}'] * 10)};\n" for n in range(1, 10))
        + "public static void main(String[] args) { System.out.println(a9); } }\n",
    ),
}
STALLS = {
    "sleep": ("python", "import time\ntime.sleep(9999)\n"),
    "stopped by itself": ("python", "import os\nos.kill(os.getpid(), 19)\nimport time\ntime.sleep(9999)\n"),
    "membarrier": (
        "c++",
        "#include <unistd.h>\n#include <sys/syscall.h>\n"
        "int main() { for (;;) if (syscall(SYS_membarrier, 1, 0)) sleep(1); }\n",
    ),
    "vfork of a thread": (
        "python",
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nstack = ctypes.create_string_buffer(1 << 16)\n"
        "top = ctypes.addressof(stack) + (1 << 16) & ~15\nfor _ in range(1000):\n"
        f"    libc.clone(libc.usleep, ctypes.c_void_p(top), {0x00054F00}, ctypes.c_void_p(900_000))\n"
        "    libc.usleep(900_000)\n",
    ),
}
# Both read, and neither has written.
LISTENING = """#include <cstdio>
int main(int, char** names) { FILE *in = fopen(names[1], "r"), *out = fopen(names[2], "w"); int x;
  puts(fscanf(in, "%d", &x) == 1 && out ? "1" : "0"); }
"""
# A TwoSteps task: the first run writes to the second run. Code of both runs, code before both, expected verdict.
STEPS = {
    "the first never writes": ("pause();", "return stick;", "", Verdict.TLE),
    "the second never reads on": ("return 1;", "pause();", "", Verdict.TLE),
    "both wait": ("pause();", "pause();", "", Verdict.TLE),
    "both wait before anything is opened": ("", "", "pause();", Verdict.TLE),
    "only the second waits": ("return 1;", "return stick;", "if (argv[1][0] == '1') pause();", Verdict.TLE),
    "the first has closed all it had": (
        "for (int i = 0; i < 99; i++) close(i); pause();",
        "",
        "",
        Verdict.TLE,
    ),
    "the first waits when all is written": ("atexit([] { pause(); }); return 1;", "", "", Verdict.TLE),
    "the first stops itself": ("raise(SIGSTOP);", "", "", Verdict.TLE),
    "the first exits too early": ("_exit(0);", "pause();", "", Verdict.WA),
    "the first kills itself": ("raise(SIGKILL);", "pause();", "", Verdict.RE),
}
STEPPING = """#include "flock.h"
#include <csignal>
#include <cstdlib>
#include <unistd.h>
__attribute__((constructor)) static void before(int, char** argv, char**) { (void)argv; BEFORE }
int evening(std::vector<int>) { FIRST return 0; }
int morning(std::vector<int>, int stick) { SECOND return stick; }
"""
# A build uses twice the size of the data.
LARGE = "static char data[60 << 20] = {NUMBER};\n" + ECHO.replace("{ int", "{ data[1] = 1; int", 1)
REFUSED = (Verdict.CE, Verdict.MLE, Verdict.TLE)  # by a compiler, or by the check of a source
SCORED = (*REFUSED, Verdict.WA, Verdict.RE)
NAMES = {
    "a name that is too long": ("b" * 300 + ".h",),
    "a name with a zero": ("b\0.h",),
    "a name twice": ("b.h", "b.h"),
    "a file and a folder": ("b", "b/c.h"),
    "a name above": ("../b.h",),
}


@pytest.fixture(scope="module")
def cache(shared_cache: Path) -> Store:
    return Store(shared_cache)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    real = metafunc.config.getoption("--real", default=None) or []
    real_places = [
        server for server in real if not server.startswith("stock=")
    ]  # whose own limits are too low
    metafunc.parametrize(
        "place", real_places or ["here", pytest.param("a worker", marks=pytest.mark.nightly)], scope="module"
    )


@pytest.fixture
def builds(request: pytest.FixtureRequest) -> BuildOptions:
    """Return the limits of builds: the test's parameter, or the default."""
    return getattr(request, "param", BuildOptions())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines(place: str, cache: Store) -> AsyncIterator[tuple[Engine, Engine | None]]:
    """Yield the engine that judges, and the engine that builds its proctor."""
    async with AsyncExitStack() as stack:
        if "=" in place:
            url, trusted = place.partition("=")[2], None
        else:
            trusted = await stack.enter_async_context(EmbeddedEngine(store=cache, slots=1))
            if place == "here":
                yield trusted, None
                return
            worker = await stack.enter_async_context(EmbeddedEngine(store=cache, slots=1))
            url = (await stack.enter_async_context(Server(worker, ServerOptions(port=0)))).url
        yield await stack.enter_async_context(PistonEngine(FixedServers([url]))), trusted


@pytest.fixture(scope="module")
def store(place: str, cache: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store, which is empty unless the place is "here".

    A real server first builds the proctor, once for all tests.
    """
    return cache if place == "here" else Store(tmp_path_factory.mktemp("store"))


@pytest_asyncio.fixture(loop_scope="module")
async def scorer(
    engines: tuple[Engine, Engine | None], store: Store, builds: BuildOptions
) -> AsyncIterator[Scorer]:
    judging, trusted = engines
    async with Scorer(
        BorrowedEngine(judging), store=store, builds=builds, trusted=trusted and BorrowedEngine(trusted)
    ) as opened:
        yield opened


async def verdict(
    scorer: Scorer, code: str, language: str, *names: str, problem: Problem = PROBLEM
) -> Verdict:
    files = tuple(NamedBlob(name=name, content=Blob.of("//\n")) for name in names)
    submission = Submission(key="k", problem_id="echo", code=code, language=language, files=files)
    (test,) = (await scorer.score(problem, submission)).tests
    return test.status


@pytest.mark.parametrize("name", PYTHON)
async def test_hostile_python_is_never_unscored(scorer: Scorer, name: str) -> None:
    assert await verdict(scorer, PYTHON[name], "python") in SCORED


# A checker that reports testlib's `_fail` if it cannot read the output.
CANNOT_READ = """#include <cstdio>
int main(int, char** argv) {
  int number;
  if (fscanf(fopen(argv[2], "r"), "%d", &number) != 1) return fputs("FAIL cannot parse the output", stderr), 3;
  return fputs("ok", stderr), number != 7;
}
"""


async def test_unreadable_output_is_never_unscored(scorer: Scorer) -> None:
    sources = (NamedBlob(name="checker.cpp", content=Blob.of(CANNOT_READ)),)
    problem = msgspec.structs.replace(PROBLEM, checker=Checker(kind=CheckerKind.TESTLIB, sources=sources))
    for code, expected in (("print('{}')\n", Verdict.WA), ("print(7)\n", Verdict.AC)):
        assert await verdict(scorer, code, "python", problem=problem) is expected


async def test_checker_that_also_fails_on_the_answer_is_a_judge_failure(scorer: Scorer) -> None:
    source = '#include <cstdio>\nint main() { fputs("FAIL no such file", stderr); return 3; }\n'
    sources = (NamedBlob(name="checker.cpp", content=Blob.of(source)),)
    problem = msgspec.structs.replace(PROBLEM, checker=Checker(kind=CheckerKind.TESTLIB, sources=sources))
    with pytest.raises(JudgeFailure, match="FAIL no such file"):
        await verdict(scorer, "print(7)\n", "python", problem=problem)


async def test_huge_result_in_assertion_is_never_unscored(scorer: Scorer) -> None:
    """The test's answer is an assertion, not a result, so no other output proves that the checker works."""
    asserted = read_assertions("def check(candidate):\n    assert set(candidate(3)) == {1}\n", "f")
    problem = asserted.add_to(PROBLEM, Blob.of)
    checker = msgspec.structs.replace(problem.checker, limits=Limits(memory=64 << 20))
    problem = msgspec.structs.replace(problem, checker=checker)
    code = "def f(n):\n    return range(10 ** 18)\n"
    assert await verdict(scorer, code, "python", problem=problem) is Verdict.WA


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("number", "builds"),
    [
        pytest.param(1_500_000, BuildOptions(), id="of six megabytes"),
        # With less memory a real Piston cannot compile the proctor.
        pytest.param(500_000, BuildOptions(limits=BuildLimits(memory=512 << 20)), id="of two"),
    ],
    indirect=["builds"],
)
async def test_list_that_fills_compiler_memory_is_never_unscored(scorer: Scorer, number: int) -> None:
    """Python's parser uses 1,400 bytes per element."""
    assert await verdict(scorer, f"all = [{'[0],' * number}]\n", "python") in SCORED


async def test_hostile_cpp_is_never_unscored(scorer: Scorer) -> None:
    for name, code in CPP.items():
        assert await verdict(scorer, code, "c++") in REFUSED, name
    for name, names in NAMES.items():
        assert await verdict(scorer, ECHO, "c++", *names) is Verdict.CE, name


@pytest.mark.nightly  # tests/unit/judge/test_job_sizes.py has jobs that are too large
async def test_program_too_large_for_a_request_is_not_unscored(scorer: Scorer) -> None:
    """The program runs if it fits a request and is refused otherwise. It is scored in both cases."""
    assert await verdict(scorer, NOISE + ECHO, "c++") in (Verdict.AC, Verdict.CE)


@pytest.mark.nightly
@pytest.mark.parametrize("tool", OTHERS)
async def test_hostile_source_of_other_compiler_is_never_unscored(
    scorer: Scorer, place: str, tool: str
) -> None:
    if "=" in place:
        pytest.skip("these servers have only the compilers of C++ and Python")
    language, code = OTHERS[tool]
    require_language(language)
    assert await verdict(scorer, code, language) in REFUSED


@pytest.mark.nightly
async def test_hostile_program_never_stalls(scorer: Scorer) -> None:
    short = msgspec.structs.replace(PROBLEM, limits=Limits.contest(0.5, 256 << 20))
    for name, (language, code) in STALLS.items():
        assert await verdict(scorer, code, language, problem=short) is Verdict.TLE, name


async def test_deadlock_with_manager_exceeds_time_limit(scorer: Scorer) -> None:
    manager = Manager(sources=(NamedBlob(name="manager.cpp", content=Blob.of(LISTENING)),))
    limits = Limits.contest(0.5, 256 << 20)
    problem = msgspec.structs.replace(
        PROBLEM, task_type=TaskType.COMMUNICATION, manager=manager, limits=limits, checker=Checker()
    )
    assert await verdict(scorer, ECHO, "c++", problem=problem) is Verdict.TLE


@pytest.mark.nightly
async def test_hostile_two_steps_program_never_stalls(scorer: Scorer) -> None:
    problem = msgspec.structs.replace(load_problems(FLOCK)["flock"], limits=Limits.contest(0.5, 256 << 20))
    for way, (first, second, first_lines, expected) in STEPS.items():
        code = STEPPING.replace("BEFORE", first_lines).replace("FIRST", first).replace("SECOND", second)
        submission = Submission(key="k", problem_id="flock", code=code, language="c++")
        result = await scorer.score(problem, submission)
        statuses = {test.status for test in result.tests if test.status is not Verdict.SKIPPED}
        assert result.compiles and statuses == {expected} and not result.points, (way, result)


@pytest.mark.nightly
async def test_concurrent_large_programs_get_the_verdict_of_a_single_program(scorer: Scorer) -> None:
    codes = [LARGE.replace("NUMBER", str(number)) for number in range(3)]
    alone = await verdict(scorer, codes[0], "c++")
    both = await asyncio.gather(*(verdict(scorer, code, "c++") for code in codes[1:]))
    assert alone in (Verdict.AC, Verdict.CE) and both == [alone] * 2
