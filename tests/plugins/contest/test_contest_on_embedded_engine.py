"""A contest on the embedded engine: outputs of programs, and secrets that programs cannot get."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import msgspec
import pytest
from support.contest_problems import PROBLEMS, RIGHT, find_hidden_strings

from ioi_eval import EmbeddedEngine, Scorer, Store, load_problems
from ioi_eval.engines import Check
from ioi_eval.models import Blob, Job, JobResult, NamedBlob, Verdict
from ioi_eval.plugins.contest import Contest, RefusedCall, Rules, Session, UnjudgedCall
from ioi_eval.store.resources import examples_folder

ADDS = '#include "graded.h"\nint add(int a, int b) { return a + b; }\n'


@pytest.fixture
async def session(store: Store) -> AsyncIterator[Session]:
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        yield Contest(PROBLEMS, Rules(output_bytes=40), judge=scorer.judge).session("otter")


@pytest.mark.parametrize(
    ("language", "code", "ended", "output", "error"),
    [
        ("c++", RIGHT, "completed", "34\n", ""),
        ("python", "print(sum(map(int, input().split())))", "completed", "34\n", ""),
        ("python", "import sys; print('out'); sys.exit('why')", "RE", "out\n", "why\n"),
        ("python", "print('7' * 100)", "completed", "7" * 40, ""),
        ("python", "print('\\x1b[31m')", "completed", " [31m\n", ""),
        ("python", "import sys; print('so far', flush=True)\nwhile True: pass", "TLE", "so far\n", ""),
    ],
)
async def test_run_on_own_input_returns_output_and_error_stream(
    session: Session, language: str, code: str, ended: str, output: str, error: str
) -> None:
    ran = await session.run("sum", code, language, input="30 4\n")
    assert ran.compiles and (ran.ended, ran.output, ran.error) == (ended, output, error)
    assert ran.cpu_seconds is not None and ran.memory_bytes
    assert ("exit code 1" in ran.words) is (ended == "RE")


class Counting(EmbeddedEngine):
    """Counts its builds."""

    builds = 0

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        self.builds += "submission" in job.keep
        return await super().execute(job, check)


async def test_program_is_built_once_for_runs_samples_and_submissions(store: Store) -> None:
    engine = Counting(store=store)
    async with Scorer(engine, store=store) as scorer:
        session = Contest(PROBLEMS, judge=scorer.judge).session("otter")
        code = RIGHT + f"long own = {time.time_ns()}L;\n"
        ran, tested, submitted = await asyncio.gather(
            session.run("sum", code, input="1 1"), session.test("sum", code), session.submit("sum", code)
        )
        assert engine.builds == 1
        assert (await session.run("sum", code, input="2 2")).output == "4\n"
        assert engine.builds == 1
    assert ran.output == "2\n" and tested.samples[0].verdict is Verdict.AC and submitted.points == 100


async def test_submission_feedback_does_not_contain_hidden_input(session: Session) -> None:
    loud = "import sys\ntext = sys.stdin.read()\nprint(text)\nprint(text, file=sys.stderr)\nsys.exit(1)"
    for code in (
        loud,
        loud.replace("sys.exit(1)", "raise ValueError(text)"),
        loud.replace("sys.exit(1)", ""),
    ):
        assert not find_hidden_strings(await session.submit("sum", code, "python"))


async def test_compiler_output_does_not_contain_the_hidden_grader(session: Session) -> None:
    replies = [
        await session.submit("graded", code)
        for code in (
            '#include "grader.cpp"\nint add(int, int) { nonsense }\n',
            '#define main static_assert(false, "x"); int m\n#include "grader.cpp"\n',
            "int add(int a, int b) { return a + b }\n",
            "int wrong(int a, int b) { return a + b; }\n",
        )
    ]
    assert all(reply.compiles is False for reply in replies)
    assert "expected" in replies[2].compiler and "does not compile with" in replies[3].compiler
    shouting = (
        '#include "graded.h"\n#include <cstdio>\n'
        "extern const char *marker;\nint add(int, int) { puts(marker); fputs(marker, stderr); throw 1; }\n"
    )
    tested = await session.test("graded", shouting)
    assert tested.samples[0].verdict is Verdict.RE
    with pytest.raises(RefusedCall, match="that participants do not have"):
        await session.run("graded", shouting, input="1 2")
    answers = [*replies, tested, await session.submit("graded", shouting), session.statement("graded")]
    assert not find_hidden_strings(*answers)


async def test_own_inputs_run_with_sample_grader_from_attachments(session: Session) -> None:
    statement = session.statement("handed")
    assert set(statement.attachments) == {"graded.h", "cpp/grader.cpp"} and statement.own_inputs
    header = '#include "graded.h"\n'
    ran = await session.run("handed", header + "int add(int a, int b) { return a * b; }", input="3 4")
    assert (ran.ended, ran.output) == ("completed", "the sample grader got 12\n")
    wrong = '#include "grader.cpp"\nextern const char *marker;\nint add(int, int) { puts(marker); return 0; }'
    replies = [await session.run("handed", wrong), await session.submit("handed", wrong)]
    assert not find_hidden_strings(*replies)
    with pytest.raises(RefusedCall, match="the language 'python' is not available"):
        await session.run("handed", "print(1)", "python")
    assert (await session.submit("handed", ADDS)).points == 100  # the judge's own grader judges


async def test_own_inputs_run_with_sample_manager_from_attachments(store: Store) -> None:
    drums = load_problems(examples_folder() / "problems", only={"drums"}, cache=store.root)["drums"]
    stub = next(file for file in drums.grader_files if file.name.endswith("stub.cpp"))
    (judges,) = drums.manager.sources[:1] if drums.manager else ()
    source = judges.content.read().decode()
    handed = NamedBlob(
        name="manager.cpp", content=Blob.of(source.replace("stderr, ", 'stderr, "sample manager: " ', 1))
    )
    open_to_all = msgspec.structs.replace(drums, attachments=(stub, handed))
    code = (
        examples_folder() / "problems" / "drums" / "solutions" / "model_solution" / "places.cpp"
    ).read_text()
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        session = Contest({"drums": open_to_all, "secret": drums}, judge=scorer.judge).session("otter")
        with pytest.raises(RefusedCall, match="that participants do not have"):
            await session.run("secret", code, input="1\n2 1 0\n")
        right = await session.run("drums", code, input="1\n2 1 0\n")
        assert right.compiles and right.ended == "completed" and right.words.startswith("sample manager: ")
        assert session.statement("drums").own_inputs and not session.statement("secret").own_inputs
        with pytest.raises(UnjudgedCall, match="the package's sample manager did not work on this input"):
            await session.run("drums", code, input="no number")
