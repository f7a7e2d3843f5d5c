"""Every solution of the packages in tests/packages gets its expected result.

Each package tests a feature of a format.
"""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.runs import read_result, read_rows
from support.servers import Server, ServerOptions

from ioi_eval import EmbeddedEngine, InputError, Scorer, Store, Submission, load_problems, validate
from ioi_eval.model.errors import JudgeFailure, ProgramBroken
from ioi_eval.models import Ending, StageStatus, Verdict
from ioi_eval.reports import write_reports
from ioi_eval.reports.validation import make_validation
from ioi_eval.rules.expectations import collect_package_solutions
from ioi_eval.runs import EngineChoice, ValidatedSolutions, generating
from ioi_eval.runs.generating import generate
from ioi_eval.sources import Problems
from ioi_eval.testing import FakeEngine

FOLDER = Path(__file__).parents[1] / "packages"
# Packages of formats that do not declare expected results of wrong solutions.
SAY_LITTLE = {"gradini", "powers"}
WITHOUT_TESTS = {"spindle", "stairs", "vineyard"}
LEFT_OUT = SAY_LITTLE | WITHOUT_TESTS
PACKAGES = sorted(package for package in FOLDER.iterdir() if package.name not in LEFT_OUT)


async def validated(package: Path, out: Path, cache: Path) -> ValidatedSolutions:
    return await validate(package, out=out, store=Store(cache))


# Before a merge, `nobody` tries some packages of each format, and root all. Limits that solutions set, as in
# pendulum, are in tests/unit/problems/test_kattis_younger.py.
@pytest.mark.nightly(unless="^(echoes|relics|twins)$")
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
async def test_package_validates_without_differences(
    package: Path, tmp_path: Path, shared_cache: Path
) -> None:
    report = (await validated(package, tmp_path / "run", shared_cache)).validation
    assert [case.reason for case in report.unjudged] == []
    assert [(case.solution, case.differences) for case in report.solutions if case.differences] == []
    assert report.expectations >= len(report.solutions) > 1


async def test_forking_package_validates_on_worker(tmp_path: Path, store: Store) -> None:
    """tests/with_ray and tests/servers test it on Ray nodes and real Pistons."""
    (problem,) = load_problems(FOLDER / "couriers").values()
    two = tuple(
        solution for solution in problem.solutions if solution.name in ("runs.cpp", "forks_itself.cpp")
    )
    async with (
        EmbeddedEngine(store=store) as local_engine,
        Server(local_engine, ServerOptions(port=0)) as server,
    ):
        worker, packages = EngineChoice(text=server.url), Problems([replace(problem, solutions=two)])
        run = await validate(packages, out=tmp_path / "run", store=store, engine=worker)
    assert (run.validation.unjudged, run.validation.differences) == ((), 0)
    rows = {row["solution"]: row for row in read_rows(tmp_path / "run")}
    assert (len(rows), {test["processes"] for test in rows["runs.cpp"]["test_results"]}) == (2, {3})


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("package", "sample"),
    [pytest.param("berries", "AC", id="raw-scores"), pytest.param("hollow", "WA", id="sample-of-0")],
)
async def test_solution_with_full_points_is_solved_regardless_of_sample_score(
    package: str, sample: str, tmp_path: Path, shared_cache: Path
) -> None:
    """The sample is worth 0 points, and the validator's score for it is not a fraction."""
    await validated(FOLDER / package, tmp_path / "run", shared_cache)
    rows = {row["solution"]: row for row in read_rows(tmp_path / "run")}
    half = "PA" if sample == "AC" else sample
    outcomes = {name: (row["points"], row["verdict"], row["solved"]) for name, row in rows.items()}
    assert outcomes == {
        "all.py": (100, "AC", True),
        "half.py": (50, half, False),
        "more.py": (0, "WA", False),
    }
    tests = [test for subtask in rows["all.py"]["all_subtasks_results"] for test in subtask["test_results"]]
    assert [test["status"] for test in tests] == [sample, "AC", "AC"]
    (model,) = write_reports(tmp_path / "run").models
    assert (model.solved, model.problems_solved, model.pass_at[0].value) == (1, 1, pytest.approx(1 / 3))
    (problem,) = load_problems(FOLDER / package).values()
    swapped = {"accepted": "partially_accepted", "partially_accepted": "accepted", "wrong_answer": "rejected"}
    swapped["accepted, AC"] = "partially_accepted"
    wrong = [replace(solution, expected=swapped[solution.expected]) for solution in problem.solutions]
    submissions, cases = collect_package_solutions({package: replace(problem, solutions=tuple(wrong))})
    results = {sent.key: read_result(rows[sent.row["solution"]]) for sent in submissions}
    report = make_validation(cases, {package: problem}, results, {})
    assert {solution.solution for solution in report.differing} == {"all.py", "half.py"}


NEARLY = """def ways(steps):
    last, current = 1, 1
    for _ in range(steps - 1):
        last, current = current, last + current
    return current + (1 if steps == 50 else 0)
"""


@pytest.mark.parametrize(
    ("package", "code", "points"),
    [
        ("gradini", (FOLDER / "gradini/sol/soluzione.py").read_text(), [0, 40, 60]),
        ("gradini", NEARLY, [0, 40, 30]),  # its checker awards half of the points
        ("gradini", "def ways(steps):\n    return steps", [0, 0, 0]),
        ("powers", "n = int(input())\na = next(a for a in range(2, n) if n % a == 0)\nprint(a, n // a)", [1]),
        ("powers", "print(7, 7)", [1 / 3]),
        ("powers", "print(1, input())", [0]),
    ],
)
async def test_program_earns_expected_points(
    store: Store, package: str, code: str, points: list[float]
) -> None:
    problem = load_problems(FOLDER / package)[package]
    submission = Submission(key="k", problem_id=package, code=code, language="python")
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        result = await scorer.score(problem, submission)
    earned = [subtask.exact_score * subtask.points for subtask in result.subtasks] or [result.points]
    assert earned == pytest.approx(points)


@pytest.mark.nightly
async def test_polygon_package_generates_tests_and_answers(tmp_path: Path, shared_cache: Path) -> None:
    store = Store(shared_cache)
    (generated,) = await generate(FOLDER / "stairs", tmp_path / "made", store=store)
    assert sorted(path.name for path in (FOLDER / "stairs/tests").iterdir()) == ["01"]
    contents = [(generated / "tests" / name).read_text() for name in ("01.a", "02", "02.a", "04", "04.a")]
    assert contents == ["6\n", "5\n1 3 5 7 9\n", "25\n", "7\n7 7 7 7 7 7 7\n", "49\n"]
    report = (await validated(generated, tmp_path / "run", shared_cache)).validation
    assert (len(report.solutions), report.unjudged, report.differences) == (2, (), 0)
    with pytest.raises(InputError, match="exists already"):
        await generate(FOLDER / "stairs", tmp_path / "made", store=store)


async def test_dmoj_generators_write_tests(tmp_path: Path, shared_cache: Path) -> None:
    with pytest.raises(
        InputError, match=r"there is no generated/2[.]in or generated/2[.]out, which a program"
    ):
        load_problems(FOLDER / "spindle")
    (generated,) = await generate(FOLDER / "spindle", tmp_path / "made", store=Store(shared_cache))
    assert {path.name: path.read_text() for path in (generated / "generated").iterdir()} == {
        **{"2.in": "5 1\n", "2.out": "6\n", "3.in": "70 3\n", "3.out": "73\n"},
        **{"4.in": "80 4\n", "4.out": "84\n"},
    }
    report = (await validated(generated, tmp_path / "run", shared_cache)).validation
    assert (len(report.solutions), report.unjudged, report.differences) == (2, (), 0)


@pytest.mark.nightly
async def test_lines_of_gen_file_become_generated_tests(tmp_path: Path, shared_cache: Path) -> None:
    with pytest.raises(InputError, match="8 files of 4 tests are missing"):
        load_problems(FOLDER / "vineyard")
    store = Store(shared_cache)
    (generated,) = await generate(FOLDER / "vineyard", tmp_path / "made", store=store)
    contents = [(generated / name).read_text() for name in ("input/input0.txt", "output/output0.txt")]
    assert contents == ["2\n3 4\n", "7\n"]
    await validated(generated, tmp_path / "run", shared_cache)
    rows = {row["solution"]: row["points"] for row in read_rows(tmp_path / "run")}
    assert rows == {"soluzione.cpp": 100, "few.py": 40}
    package = tmp_path / "vineyard"
    shutil.copytree(FOLDER / "vineyard", package)
    (package / "gen/GEN").write_text("#ST: 100\n11 1\n")
    with pytest.raises(InputError, match=r"the validator rejects input/input0[.]txt"):
        await generate(package, tmp_path / "more", store=store)


async def test_generated_tests_have_unix_line_ends(tmp_path: Path, store: Store) -> None:
    package = tmp_path / "stairs"
    shutil.copytree(FOLDER / "stairs", package)
    (package / "tests/01").write_bytes(b"3\r\n1 2 3\r\n")
    (generated,) = await generate(package, tmp_path / "made", store=store)
    assert [(generated / "tests" / name).read_bytes() for name in ("01", "01.a")] == [b"3\n1 2 3\n", b"6\n"]


@pytest.mark.nightly
async def test_main_solution_with_files_writes_answers(tmp_path: Path, store: Store) -> None:
    package = tmp_path / "stairs"
    shutil.copytree(FOLDER / "stairs", package)
    header = package / "problem.xml"
    header.write_text(header.read_text().replace('file="" output-file=""', 'file="a.in" output-file="a.out"'))
    grader = package / "files/grader.cpp"
    files = 'freopen("a.in", "r", stdin), freopen("a.out", "w", stdout);'
    grader.write_text(grader.read_text().replace("main() {", f"main() {{ {files}"))
    (generated,) = await generate(package, tmp_path / "made", store=store)
    assert [(generated / "tests" / name).read_text() for name in ("01.a", "02.a")] == ["6\n", "25\n"]
    grader.write_text(grader.read_text().replace("a.out", "b.out"))
    with pytest.raises(
        InputError, match=r"the main solution fails on tests/01: the program did not write a[.]out"
    ):
        await generate(package, tmp_path / "more", store=store)


async def test_validators_get_group_of_test(tmp_path: Path, store: Store) -> None:
    package = tmp_path / "stairs"
    shutil.copytree(FOLDER / "stairs", package)
    header = package / "problem.xml"
    grouped = header.read_text().replace('<test method="manual"', '<test group="few" method="manual"')
    header.write_text(grouped.replace("val.cpp", "val.py"))
    condition = (
        "sys.argv[1:] != ['--testset', 'tests', '--group', 'few' if len(sys.stdin.read()) < 9 else '']"
    )
    (package / "files/val.py").write_text(f"import sys\nsys.exit(3 * ({condition}))\n")
    (package / "tests/01").write_text("1\n1\n")
    header.write_text(header.read_text().replace('cmd="same 7"', 'cmd="gen 7"'))
    (generated,) = await generate(package, tmp_path / "made", store=store)
    assert (generated / "tests/01.a").read_text() == "1\n"
    (package / "tests/01").write_text("5\n1 1 1 1 1\n")
    with pytest.raises(InputError, match=r"the validator rejects tests/01"):
        await generate(package, tmp_path / "more", store=store)


REMOVE = "for name in os.listdir('.'): os.path.isdir(name) or os.remove(name)"


@pytest.mark.nightly(unless="same|removes|floods")
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("tests/01", "3\n1", "4\n1", "the validator rejects tests/01: the program ended with exit code 3"),
        (
            "files/same.py",
            "import sys",
            "raise SystemExit(5)",
            "same 7 fails, which should generate tests/04: the program ended with exit code 5",
        ),
        pytest.param(
            *("files/same.py", "import sys", "__import__('time').sleep(600)"),
            "same 7 fails, which should generate tests/04: it did nothing for 3 s. Correct",
            id="it-sleeps",
        ),
        pytest.param(
            *("files/val.cpp", "int main() {", "#include <unistd.h>\nint main() { for (;;) pause();"),
            "the validator rejects tests/01: it did nothing for 3 s. Correct",
            id="its-validator-sleeps",
        ),
        pytest.param(
            *("files/same.py", "import sys", "__import__('os').kill(-1, 9)"),
            "same 7 fails, which should generate tests/04: killed by a signal, not by a limit. Correct",
            id="it-kills-all",
        ),
        pytest.param(
            *("files/val.cpp", "int main() {", "#include <signal.h>\nint main() { kill(-1, SIGKILL);"),
            "the validator rejects tests/01: killed by a signal, not by a limit. Correct",
            id="its-validator-kills-all",
        ),
        pytest.param(
            *("files/same.py", "import sys", f"import os, sys\n{REMOVE}"),
            "same 7 fails, which should generate tests/04: the program removed ioi-eval-",
            id="it-removes-its-folder",
        ),
        pytest.param(
            *(
                "files/val.cpp",
                "int main() {",
                '#include <cstdlib>\nint main() { system("rm -rf ./*"); return 3;',
            ),
            "the validator rejects tests/01: the program removed ioi-eval-",
            id="its-validator-removes-its-folder",
        ),
        pytest.param(
            *("files/same.py", "import sys", "while True: print('x' * 65536)"),
            "same 7 fails, which should generate tests/04: ",
            id="it-floods",
        ),
        ("files/gen.cpp", "int main", "int mine", "files/gen.cpp does not compile"),
        ("problem.xml", 'cmd="gen 1000"', 'cmd="gem 1000"', "no generator 'gem'. Did you mean 'gen'?"),
        ("problem.xml", 'cmd="gen 1000"', "", "tests/03 is missing, and the test has no command"),
        ("problem.xml", 'tag="main"', 'tag="accepted"', "no solution is tagged main"),
    ],
)
async def test_ungeneratable_tests_are_input_error(
    tmp_path: Path, store: Store, file: str, old: str, new: str, words: str
) -> None:
    package = tmp_path / "stairs"
    shutil.copytree(FOLDER / "stairs", package)
    content = (package / file).read_text()
    assert old in content
    (package / file).write_text(content.replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(words)):
        await generate(package, tmp_path / "made", store=store)
    assert not (tmp_path / "made").exists()


BOMB = """import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


async def test_endlessly_forking_generator_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store
) -> None:
    """It exceeds its total CPU time, or its number of processes if the kernel counts CPU time late."""
    monkeypatch.setattr(generating, "EmbeddedEngine", partial(EmbeddedEngine, max_processes=32))
    package = tmp_path / "stairs"
    shutil.copytree(FOLDER / "stairs", package)
    (package / "files/same.py").write_text(BOMB)
    slow = r"it took too long[.] Correct it in the package, or allow more than 0[.]2 s \(seconds=S\)"
    end = f"({slow}|Too many processes[.] Correct it in the package)"
    message = rf"same 7 fails, which should generate tests/04: {end}"
    with pytest.raises(InputError, match=message):
        await generate(package, tmp_path / "made", store=store, seconds=0.2)
    assert not (tmp_path / "made").exists()


async def test_killed_compiler_of_generator_is_judge_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store
) -> None:
    killed = Ending(signal="SIGKILL", status=StageStatus.SG)
    monkeypatch.setattr(generating, "EmbeddedEngine", lambda store: FakeEngine(faults=[killed, killed]))
    with pytest.raises(JudgeFailure, match="killed or stopped twice while it built a generator"):
        await generate(FOLDER / "stairs", tmp_path / "made", store=store)
    assert not (tmp_path / "made").exists()


async def test_missing_score_file_leaves_solutions_unjudged(tmp_path: Path, shared_cache: Path) -> None:
    package = tmp_path / "quarry"
    shutil.copytree(FOLDER / "quarry", package)
    validator = package / "output_validators/weigh.py"
    written = '(Path(sys.argv[3]) / "score.txt").write_text(words[0])\n'
    assert written in validator.read_text()
    validator.write_text(validator.read_text().replace(written, ""))
    report = (await validated(package, tmp_path / "run", shared_cache)).validation
    assert {case.solution: "score.txt was not written" in case.reason for case in report.unjudged} == {
        "all.py": True,
        "half.py": True,
        "greedy.py": True,
    }
    assert [case.solution for case in report.solutions] == ["more.py"], "a wrong solution may have no points"


@pytest.mark.nightly
async def test_partial_points_on_any_line_of_checker_output_count(tmp_path: Path, store: Store) -> None:
    package = tmp_path / "pulleys"
    shutil.copytree(FOLDER / "pulleys", package)
    checker = package / "checker.cpp"
    points_line = 'std::fprintf(stderr, "points %lld\\n", 20 / PARTS);'
    assert points_line in checker.read_text()
    header = package / "init.yml"
    order = "lang: CPP17, args_format_string: '{output_file} {answer_file} {input_file}'"
    header.write_text(header.read_text().replace("lang: CPP17", order))
    partial_lines = 'std::fprintf(stderr, "a partial 1/3\\nmore\\npartial 1/4\\n");'
    source = checker.read_text().replace(points_line, partial_lines)
    for old_code, new_code in (
        ("argv[1]", "argv[0]"),
        ("argv[2]", "argv[1]"),
        ("argv[3]", "argv[2]"),
        ("argv[0]", "argv[3]"),
    ):
        source = source.replace(old_code, new_code)
    checker.write_text(source)
    problem = load_problems(package)["pulleys"]
    half = next(solution for solution in problem.solutions if solution.name.endswith("half.cpp"))
    submission = Submission(key="k", problem_id="pulleys", code=half.code, language="c++")
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        result = await scorer.score(problem, submission)
    assert {test.score for test in result.tests if test.status is Verdict.PA} == {0.25}


@pytest.mark.nightly(unless="echoes")  # barters is an interactive package of that version
@pytest.mark.parametrize(
    ("name", "validation", "passes", "solutions"),
    [
        ("echoes", "custom multi-pass", 3, {"letters.py", "forgets.py"}),
        ("cairns", "custom interactive multi-pass", 2, {"halves.py", "forgets.py"}),
    ],
)
async def test_multi_pass_package_of_older_version_validates(
    name: str, validation: str, passes: int, solutions: set[str], tmp_path: Path, shared_cache: Path
) -> None:
    package = tmp_path / name
    shutil.copytree(FOLDER / name, package)
    limits = f"limits: {{memory: 256, validation_passes: {passes}}}"
    (package / "problem.yaml").write_text(f"name: {name}\nvalidation: {validation}\n{limits}\n")
    (package / ".timelimit").write_text("0.2\n")
    for folder in (package / "submissions").iterdir():
        if folder.name not in ("accepted", "wrong_answer"):
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    (package / "output_validators").mkdir()
    (package / "output_validator").rename(package / "output_validators/validate")
    report = (await validated(package, tmp_path / "run", shared_cache)).validation
    assert (report.unjudged, report.differences) == ((), 0)
    assert {case.solution for case in report.solutions} == solutions


async def test_interactor_writes_generated_answers(tmp_path: Path, store: Store) -> None:
    package = tmp_path / "relics"
    shutil.copytree(FOLDER / "relics", package)
    header = package / "problem.xml"
    header.write_text(header.read_text().replace('run-count="2"', 'run-count="1"'))
    for answer in package.glob("tests/*.a"):
        answer.unlink()
    (generated,) = await generate(package, tmp_path / "made", store=store)
    assert [path.read_text() for path in sorted(generated.glob("tests/*.a"))] == ["find h\n", "find bae\n"]
    (package / "files/interact.py").write_text("raise SystemExit(3)")
    with pytest.raises(
        InputError, match=r"the main solution fails on tests/01: .* the program ended with exit code 1"
    ):
        await generate(package, tmp_path / "more", store=store)


async def test_polygon_package_with_interactor_in_both_runs_validates(
    tmp_path: Path, shared_cache: Path
) -> None:
    package = tmp_path / "relics"
    shutil.copytree(FOLDER / "relics", package)
    header = (package / "problem.xml").read_text()
    end = "        </interactor>"
    assert end in header
    runs = "            <runs><run>1</run><run>2</run></runs>"
    (package / "problem.xml").write_text(header.replace(end, f"{runs}\n{end}"))
    report = (await validated(package, tmp_path / "run", shared_cache)).validation
    assert (len(report.solutions), report.unjudged, report.differences) == (4, (), 0)


MADE = """#!/bin/sh
set -e
mv hidden.txt made.py
printf '#!/bin/sh\\nexec python3 "${0%%/*}/made.py" "$@"\\n' > run
chmod +x run
"""


@pytest.mark.nightly  # barters has a build script in a folder of the older version
@pytest.mark.parametrize(
    ("name", "validator"),
    [("berries", "output_validators"), ("cairns", "output_validator"), ("gauges", "output_validator")],
)
async def test_output_validator_with_build_script_is_built_by_the_script(
    name: str, validator: str, tmp_path: Path, shared_cache: Path
) -> None:
    package = tmp_path / name
    shutil.copytree(FOLDER / name, package)
    (source,) = (package / validator).iterdir()
    folder = package / validator / ("judge" if name == "berries" else "")
    folder.mkdir(exist_ok=True)
    source.rename(folder / "hidden.txt")
    (folder / "build").write_text(MADE)
    report = (await validated(package, tmp_path / "run", shared_cache)).validation
    assert (report.unjudged, report.differences) == ((), 0)
    assert report.expectations >= 3
    (folder / "build").write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(
        ProgramBroken, match="build does not compile: error: the script build exited with code 3"
    ):
        await validated(package, tmp_path / "broken", shared_cache)


@pytest.mark.nightly
async def test_points_of_polygon_checker_are_absolute(tmp_path: Path, store: Store) -> None:
    package = tmp_path / "halves"
    shutil.copytree(FOLDER / "halves", package)
    checker = package / "files/check.cpp"
    end = 'return says(0, "ok two parts");'
    assert end in checker.read_text()
    some = 'if (n > 9 && a != n / 2) return says(7, "points 5 uneven parts");'
    checker.write_text(checker.read_text().replace(end, f"{some}\n  {end}"))
    problem = load_problems(package)["halves"]
    code = "n = int(input())\nprint(1, n - 1)"
    submission = Submission(key="k", problem_id="halves", code=code, language="python")
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        result = await scorer.score(problem, submission)
    assert {subtask.subtask: subtask.exact_score * subtask.points for subtask in result.subtasks} == {
        "0": 0,
        "1": 30,
        "2": pytest.approx(15),  # three tests of 10, 20 and 40 points
    }


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("print('fine, 30')", "grader wrote 'fine, 30\\n' instead of a verdict and points"),
        ("print('JE 0')", "grader wrote 'JE 0\\n'"),
        ("print('AC 31')", "groups earned 31 points, but the maximum is 30"),
        ("raise SystemExit(3)", "grader ended with exit 3"),
        ("import os; os.fork()", "grader ended with"),
    ],
)
async def test_failing_package_grader_leaves_solution_unjudged(
    tmp_path: Path, store: Store, source: str, words: str
) -> None:
    package = tmp_path / "relaybatons"
    shutil.copytree(FOLDER / "relaybatons", package)
    (package / "data/secret/testdata.yaml").write_text("on_reject: continue\ngrader_flags: always_accept\n")
    (package / "graders/grade.py").write_text(f"{source}\n")
    (problem,) = load_problems(package).values()
    packages = Problems([replace(problem, solutions=problem.solutions[:1])])
    report = (await validate(packages, out=tmp_path / "run", store=store)).validation
    (unjudged,) = report.unjudged
    assert words in unjudged.reason and not report.solutions


async def test_compile_output_explains_file_size_limit(tmp_path: Path, store: Store) -> None:
    (problem,) = load_problems(FOLDER / "torrent").values()
    filled = tuple(solution for solution in problem.solutions if solution.name == "filled.cpp")
    packages = Problems([replace(problem, solutions=filled)])
    await validate(packages, out=tmp_path / "run", store=store)
    (row,) = read_rows(tmp_path / "run")
    assert (
        "Each file that the compiler writes, including the program, may have at most 256 MiB."
        in row["compile_output"]
    )
