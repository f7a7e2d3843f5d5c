"""No source can detect or change precompiled headers and grader objects.

Each source is built without and with them. Both builds must produce the same bytes or the same compile error.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from borrowed_engine import BorrowedEngine, artifacts_on
from support.builds import graded_problem, named, plain_problem, submitted

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines import Check
from ioi_eval.engines.contract import BuildSuccess
from ioi_eval.judge.programs import Artifacts
from ioi_eval.models import BuildOptions, Job, JobResult, Problem

FEW = "#include <cstdio>\n#include <climits>\n"
BIG = "#include <bits/stdc++.h>\n"
_MAIN = "int main() { return 0; }\n"


class Counting(BorrowedEngine):
    """Counts jobs and their endings."""

    def __init__(self, engine: EmbeddedEngine) -> None:
        super().__init__(engine)
        self.jobs: Counter[str] = Counter()

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        result = await super().execute(job, check)
        limit = (result.compile or result.run).limit
        names = {file.name.rpartition("/")[2] for file in job.files}
        self.jobs.update(
            {
                job.keep[0] if job.keep else "run": 1,
                "with a header": any(name.endswith(".gch") for name in names),
                "with an object": "ioi-eval-grader.o" in names,
                "alone": job.exclusive,
                f"killed: {limit}": bool(limit),
            }
        )
        return result


async def outcome(artifacts: Artifacts, source: str, problem: Problem | None = None) -> str:
    """Build a source and wait for all background builds.

    Return the program's hash, or the compiler's messages.
    """
    build = await artifacts.build_submission(
        artifacts.prepare_problem(problem or plain_problem()), submitted(source)
    )
    while artifacts.builder.is_busy:  # noqa: ASYNC110 - a background build
        await asyncio.sleep(0.01)
    return f"{build.artifact.sha256} {build.log}" if isinstance(build, BuildSuccess) else build.log


class Bench(NamedTuple):
    counting: Counting
    cold: Artifacts
    warm: Artifacts
    problem: Problem


GRADED = graded_problem(
    grader_files=(
        named("graders/grader.cpp", '#include "sum.h"\nint main() { return add(1, 2) - 3; }\n'),
        named("graders/sum.h", "int add(int a, int b);\n"),
    )
)


@asynccontextmanager
async def bench(
    folder: Path, store: Store, begins: str, problem: Problem, layers: Sequence[str] | None = None
) -> AsyncIterator[Bench]:
    engine = EmbeddedEngine(store=store, slots=2, layers=None if layers is None else tuple(layers))
    async with engine:
        counting = Counting(engine)
        async with (
            artifacts_on(counting, Store(folder / "cold"), BuildOptions(precompile=False)) as cold,
            artifacts_on(counting, Store(folder / "warm"), BuildOptions()) as warm,
        ):
            for number in range(3):
                body = "int add(int a, int b) { return a + b; }\n" if problem is GRADED else _MAIN
                await outcome(warm, f"{begins}{body}static int n{number} = {number};\n", problem)
            yield Bench(counting, cold, warm, problem)


# --- sources that try to detect headers and objects --------------------------------------------------

_FILES = (
    *("ioi-eval-headers/bits/stdc++.h.gch", "../ioi-eval-headers/bits/stdc++.h", "bits/stdc++.h.gch"),
    *("ioi-eval-head.hpp", "ioi-eval-head.hpp.gch", "../ioi-eval-grader.o", "ioi-eval-grader.o"),
    *("compile", "../compile", ".ioi-eval.log", "submission", "sum.cpp", "graders/sum.cpp"),
    *("/proc/self/maps", "/proc/self/cmdline", "/proc/self/environ", "/proc/self/mountinfo", "/proc/self/io"),
    *("/proc/1/cmdline", "/proc/2/cmdline", "/proc/3/environ", "/proc/4/stat", "/proc/5/maps"),
    *(f"{folder}/{number}" for folder in ("/proc/self/fd", "/dev/fd") for number in (0, 3, 64, 65, 255)),
)


def _incbin(file: str) -> str:
    return f'asm(".section .rodata\\n.incbin \\"{file}\\"\\n.text");\n'


def _level(again: str) -> str:
    """Return a source that detects at which include depth a header, included again, reads other headers."""
    return f"""#undef __GNUC_PREREQ
#define __GNUC_PREREQ(a, b) (__INCLUDE_LEVEL__ == 2)
#undef assert
#include <{again}>
#ifdef assert
int level = 2;
#endif
"""


# What follows a head. All of these compile, or are refused, in the same way.
LOOKS = {
    **{f"assembles {file}": _incbin(file) for file in _FILES},
    **{f"has {file}": f'#if __has_include("{file}")\nint there = 1;\n#endif\n' for file in _FILES},
    **{f"includes {file}": f'#include "{file}"\n' for file in _FILES},
    "a name of a header that is computed": '#define N "../ioi-eval-" \n#if __has_include(N)\n#endif\n',
    "macros of the library": "#ifdef __need___va_list\nint need = 1;\n#endif\n",
    "depth": _level("cassert"),
    "depth of the big header": _level("bits/stdc++.h"),
    "counter": "int counter = __COUNTER__;\n",
    "names and lines": "const char* f = __FILE__, *b = __BASE_FILE__; int l = __LINE__;\n",
    "time of the source": "static_assert(sizeof __TIMESTAMP__ == 25);\n",  # its text differs by second
    "warned": "#warning my warning\n",
    "warned, then assembles the program": "#warning my warning\n" + _incbin("submission"),
    "warned, then assembles the messages": "#warning my warning\n" + _incbin(".ioi-eval.log"),
    "refused": "int x = y;\n",
    "a compiled one": '#pragma GCC pch_preprocess "ioi-eval-head.hpp.gch"\n',
    "next": "#include_next <climits>\n",
    "imported": "#import <climits>\n",
    "once": "#pragma once\n",
    "options after the includes": '#pragma GCC optimize("O0")\n#pragma GCC target("avx2")\n',
    "a new section": 'asm(".section .own, \\"awx\\"\\n.byte 0xc3\\n.text");\n',
    "a warning for the linker": 'asm(".section .gnu.warning, \\"\\"\\n.ascii \\"my warning\\"\\n.text");\n',
    "a comment that continues after two backslashes": "// \\\\\n#define INT_MAX 1\n#include <climits>\n",
    "a keyword as a macro": "#define using\n#include <chrono>\n",
    "strings with the same suffix": 'const char* suffixes[] = {"xyzabcdefg" + 3, "abcdefg"};\n',
    "a symbol that is missing": "int f(int);\nint g = f(1);\n",
}  # fmt: skip
_SHORT = [
    name
    for number, name in enumerate(LOOKS)
    if number % 8 == 0 or name.startswith(("warned", "counter", "macros", "depth"))
]
_ADD = "int add(int a, int b) { return a + b; }\n"


@pytest.mark.parametrize(
    ("begins", "layers", "problem", "names"),
    [
        (FEW, None, GRADED, _SHORT[::6]),
        (FEW, None, plain_problem(), _SHORT[::6]),
        pytest.param(FEW, None, plain_problem(), [*LOOKS], marks=pytest.mark.nightly),
        pytest.param(BIG, None, plain_problem(), _SHORT, marks=pytest.mark.nightly),
        *(
            pytest.param(FEW, layers, GRADED, [*LOOKS], marks=pytest.mark.nightly)
            for layers in (None, ("landlock", "seccomp"), ("namespaces", "seccomp"))
        ),
    ],
    ids=["short", "short-plain", "few", "big", "grader-all", "grader-landlock", "grader-namespaces"],
)
async def test_source_cannot_detect_prebuilt_header(
    tmp_path: Path,
    store: Store,
    begins: str,
    layers: Sequence[str] | None,
    problem: Problem,
    names: Sequence[str],
) -> None:
    body, differ = _ADD if problem is GRADED else _MAIN, dict[str, list[str]]()
    async with bench(tmp_path, store, begins, problem, layers) as tools:
        for name in dict.fromkeys(["counter", *names]):
            served_before = tools.counting.jobs["with a header"]
            outcomes = [
                await outcome(side, f"{begins}{LOOKS[name]}{body}", problem)
                for side in (tools.cold, tools.warm)
            ]
            if outcomes[0] != outcomes[1]:
                differ[name] = outcomes
            served = tools.counting.jobs["with a header"] - served_before
            assert name != "counter" or served, "the prebuilt header is used"
    assert differ == {}
    assert problem is not GRADED or tools.counting.jobs["with an object"] > 0


# --- sources that try to change headers of other sources ---------------------------------------------

# Lines before, between or after the includes. `!` is replaced by the includes of the victim.
_REST = 'int main() { std::printf("%d %d\\n", INT_MAX, int(sizeof(std::FILE*))); }\n'
HOSTILE = {
    "a macro before": "#define INT_MAX 1\n!",
    "a macro between": "#include <cstdio>\n#define __INT_MAX__ 1\n#include <climits>\n",
    "a macro after": "!#undef INT_MAX\n#define INT_MAX 1\n",
    "a pragma": '#pragma pack(1)\n!#pragma GCC optimize("O0")\n',
    "a macro in a comment that continues": "// \\\n\n#define INT_MAX 1\n!",
    "a macro that a comment hides": "/* */#define INT_MAX 1\n!",
    "digraphs": "%:define INT_MAX 1\n!",
    "lines that are joined": "#def\\\nine INT_MAX 1\n#inc\\\nlude <cstdio>\n#include <climits>\n",
    "another file's name": '#include "climits"\n#include <cstdio>\n#include <climits>\n',
    "a name that climbs": "#include <../include/limits.h>\n#include <cstdio>\n#include <climits>\n",
    "a name with an option": "#include <cstdio> -DINT_MAX=1\n#include <climits>\n",
    "declarations": "static int INT_MAX_ = 1;\n!namespace std { static int poisoned; }\n",
    "nothing": "!",
}


@pytest.mark.nightly
@pytest.mark.parametrize("begins", [FEW, BIG], ids=["few", "big"])
async def test_hostile_sources_do_not_change_the_prebuilt_header(
    tmp_path: Path, store: Store, begins: str
) -> None:
    async with bench(tmp_path, store, begins, plain_problem()) as tools:
        for name, source in HOSTILE.items():
            for number in range(3):
                declaration = f"static int number{number} = {number}; // {name}\n"
                await outcome(tools.warm, source.replace("!", begins) + declaration + _REST)
        victim = f"{begins}int victim = 1;\n{_REST}"
        outcomes = [await outcome(side, victim) for side in (tools.cold, tools.warm)]
    assert outcomes[0] == outcomes[1] and outcomes[0].endswith(" "), "a program without compiler messages"
    assert tools.counting.jobs["with a header"] > 0


# --- a compiler that would wait for itself -----------------------------------------------------------

_STREAMS = (
    *("/dev/stdin", "/dev/stdout", "/dev/stderr"),
    *(f"{folder}/{number}" for folder in ("/dev/fd", "/proc/self/fd") for number in range(12)),
)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "layers",
    [None, ("landlock", "seccomp"), ("namespaces", "seccomp")],
    ids=["all", "landlock", "namespaces"],
)
@pytest.mark.parametrize(
    "how", ['#include "{}"\n', 'asm(".incbin \\"{}\\"");\n'], ids=["included", "assembled"]
)
async def test_source_that_includes_a_standard_stream_file_is_built_once(
    tmp_path: Path, store: Store, layers: Sequence[str] | None, how: str
) -> None:
    """It must not idle until it is built again exclusively."""
    async with EmbeddedEngine(
        store=store, slots=2, layers=None if layers is None else tuple(layers)
    ) as engine:
        counting = Counting(engine)
        async with artifacts_on(counting, Store(tmp_path), BuildOptions(precompile=False)) as artifacts:
            for name in _STREAMS:
                await outcome(artifacts, how.format(name) + _MAIN)
    assert counting.jobs["submission"] == len(_STREAMS)
    assert counting.jobs["alone"] == 0
    assert not [name for name, count in counting.jobs.items() if name.startswith("killed") and count]
