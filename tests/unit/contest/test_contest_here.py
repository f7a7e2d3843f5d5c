"""A contest on this machine: what programs show of themselves, and what they cannot get out of the judge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from ioi_eval import EmbeddedEngine, Limits, Scorer, Store, load_problems
from ioi_eval.contest import Contest, NotJudged, Refused, Rules, Session
from ioi_eval.models import Blob, NamedBlob, Problem, Subtask, Test, Verdict
from ioi_eval.store.resources import examples

pytestmark = pytest.mark.once

SECRET = "hidden-7f3a"
SUM = Problem(
    id="sum",
    limits=Limits.contest(2.0, 256 << 20),
    tests=(
        Test(name="0-a", input=Blob.of("1 2\n"), answer=Blob.of("3\n")),
        Test(name="1-a", input=Blob.of(f"30 4 {SECRET}\n"), answer=Blob.of("34\n")),
    ),
    subtasks=(
        Subtask(name="samples", points=0, tests=("0-a",)),
        Subtask(name="all", points=100, tests=("0-a", "1-a")),
    ),
)
GRADER = f"""#include <cstdio>
#include "graded.h"
const char *marker = "{SECRET}";
int main() {{ int a, b; if (scanf("%d %d", &a, &b) != 2) return 1; printf("%d\\n", add(a, b)); }}
"""
GRADED = msgspec.structs.replace(
    SUM,
    id="graded",
    options=msgspec.structs.replace(SUM.options, with_grader=True),
    grader_files=(
        NamedBlob(name="graders/grader.cpp", content=Blob.of(GRADER)),
        NamedBlob(name="graders/graded.h", content=Blob.of("int add(int a, int b);\n")),
    ),
)
RIGHT = '#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }\n'
ADDS = '#include "graded.h"\nint add(int a, int b) { return a + b; }\n'


SAMPLE_GRADER = """#include <cstdio>
#include "graded.h"
int main() { int a, b; scanf("%d %d", &a, &b); printf("the sample grader got %d\\n", add(a, b)); }
"""
HANDED = msgspec.structs.replace(
    GRADED,
    id="handed",
    attachments=(
        NamedBlob(name="cpp/grader.cpp", content=Blob.of(SAMPLE_GRADER)),
        NamedBlob(name="notes.pdf", content=Blob.of(b"%PDF\0")),
    ),
)


@pytest.fixture(scope="module")
def store(shared_cache: Path) -> Store:
    return Store(shared_cache)


@pytest.fixture
async def session(store: Store) -> AsyncIterator[Session]:
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        problems = {"sum": SUM, "graded": GRADED, "handed": HANDED}
        yield Contest(problems, Rules(output_bytes=40), judge=scorer.judge).session("otter")


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
async def test_runs_show_what_programs_wrote(
    session: Session, language: str, code: str, ended: str, output: str, error: str
) -> None:
    ran = await session.run("sum", code, language, input="30 4\n")
    assert ran.compiles and (ran.ended, ran.output, ran.error) == (ended, output, error)
    assert ran.cpu_seconds is not None and ran.memory_bytes
    assert ("exit code 1" in ran.words) is (ended == "RE")


async def test_one_build_serves_runs_samples_and_submissions(session: Session, store: Store) -> None:
    code = RIGHT + "// one build\n"
    assert (await session.run("sum", code, input="1 1")).output == "2\n"
    before = {path for path in store.root.rglob("*") if path.is_file()}
    tested = await session.test("sum", code)
    submitted = await session.submit("sum", code)
    assert tested.samples[0].verdict is Verdict.AC and submitted.points == 100
    built = {path for path in store.root.rglob("*") if path.is_file() and b"ELF" in path.read_bytes()[:4]}
    assert built <= before


async def test_a_program_cannot_say_what_it_read(session: Session) -> None:
    """By its error text, its output or its compiler's words."""
    loud = "import sys\ntext = sys.stdin.read()\nprint(text)\nprint(text, file=sys.stderr)\nsys.exit(1)"
    for code in (
        loud,
        loud.replace("sys.exit(1)", "raise ValueError(text)"),
        loud.replace("sys.exit(1)", ""),
    ):
        told = msgspec.json.encode(await session.submit("sum", code, "python")).decode()
        assert SECRET not in told and "30 4" not in told


async def test_nothing_shows_the_judges_own_grader(session: Session) -> None:
    told = [
        await session.submit("graded", code)
        for code in (
            '#include "grader.cpp"\nint add(int, int) { nonsense }\n',
            '#define main static_assert(false, "x"); int m\n#include "grader.cpp"\n',
            "int add(int a, int b) { return a + b }\n",
            "int wrong(int a, int b) { return a + b; }\n",
        )
    ]
    assert all(one.compiles is False for one in told)
    assert "expected" in told[2].compiler and "does not fit" in told[3].compiler
    shouting = (
        '#include "graded.h"\n#include <cstdio>\n'
        "extern const char *marker;\nint add(int, int) { puts(marker); fputs(marker, stderr); throw 1; }\n"
    )
    tested = await session.test("graded", shouting)
    assert tested.samples[0].verdict is Verdict.RE
    with pytest.raises(Refused, match="only the judge has"):
        await session.run("graded", shouting, input="1 2")
    answers = [*told, tested, await session.submit("graded", shouting), session.statement("graded")]
    assert SECRET not in "".join(msgspec.json.encode(one).decode() for one in answers)
    assert (await session.submit("graded", ADDS)).points == 100


async def test_own_inputs_run_through_the_sample_grader_that_a_package_hands_out(session: Session) -> None:
    statement = session.statement("handed")
    assert set(statement.attachments) == {"graded.h", "cpp/grader.cpp"} and statement.own_inputs
    header = '#include "graded.h"\n'
    ran = await session.run("handed", header + "int add(int a, int b) { return a * b; }", input="3 4")
    assert (ran.ended, ran.output) == ("completed", "the sample grader got 12\n")
    wrong = '#include "grader.cpp"\nextern const char *marker;\nint add(int, int) { puts(marker); return 0; }'
    told = [await session.run("handed", wrong), await session.submit("handed", wrong)]
    assert SECRET not in "".join(msgspec.json.encode(one).decode() for one in told)
    with pytest.raises(Refused, match="no language"):
        await session.run("handed", "print(1)", "python")
    assert (await session.submit("handed", ADDS)).points == 100  # the judge's own grader judges


async def test_own_inputs_run_with_the_manager_that_a_package_hands_out(store: Store) -> None:
    drums = load_problems(examples() / "problems", only={"drums"}, cache=store.root)["drums"]
    stub = next(file for file in drums.grader_files if file.name.endswith("stub.cpp"))
    (judges,) = drums.manager.sources[:1] if drums.manager else ()
    text = judges.content.read().decode()
    handed = NamedBlob(
        name="manager.cpp", content=Blob.of(text.replace("stderr, ", 'stderr, "sample manager: " ', 1))
    )
    open_to_all = msgspec.structs.replace(drums, attachments=(stub, handed))
    code = (examples() / "problems" / "drums" / "solutions" / "model_solution" / "places.cpp").read_text()
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        session = Contest({"drums": open_to_all, "secret": drums}, judge=scorer.judge).session("otter")
        with pytest.raises(Refused, match="only the judge has"):
            await session.run("secret", code, input="1\n2 1 0\n")
        right = await session.run("drums", code, input="1\n2 1 0\n")
        assert right.compiles and right.ended == "completed" and right.words.startswith("sample manager: ")
        assert session.statement("drums").own_inputs and not session.statement("secret").own_inputs
        with pytest.raises(NotJudged, match="the program that is handed out did not work on this input"):
            await session.run("drums", code, input="no number")
