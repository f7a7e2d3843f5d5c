"""Packages of DMOJ's judge: cases, batches and pretests, its checkers, its programs, what is refused."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from package_files import only_error, read, sound
from support.runs import submission_result

from ioi_eval.model.fields import Faults
from ioi_eval.models import CheckerKind, ScoreType, Submission, TaskType, TestResult, Verdict
from ioi_eval.plugins.dmoj.packages import Dmoj
from ioi_eval.store.resources import graders

PACKAGES = Path(__file__).parents[2] / "packages"
LISTED = "test_cases: [{in: 1.in, out: 1.out, points: 5}, {in: 2.in, out: 2.out, points: 5}]\n"


def package(tmp_path: Path, config: str, **files: str) -> Path:
    """`files`: their contents, by names where `_` stands for the dot."""
    folder = tmp_path / "pond"
    folder.mkdir()
    names = {name.replace("_", "."): content for name, content in files.items()}
    for name, content in {"1.in": "1", "1.out": "1\r\n2", "2.in": "2", "2.out": "2\n", **names}.items():
        (folder / name).write_text(content, newline="")
    (folder / "init.yml").write_text(config)
    return folder


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    folder = tmp_path / name
    shutil.copytree(PACKAGES / name, folder)
    text = (folder / "init.yml").read_text()
    assert old in text
    (folder / "init.yml").write_text(text.replace(old, new, 1))
    return folder


def test_cases_batches_and_pretests() -> None:
    problem = sound(PACKAGES / "terraces")
    assert [(one.name, one.points, one.tests) for one in problem.subtasks] == [
        ("case 1", 0, ("1",)),
        ("cases 2 to 3", 30, ("1", "2", "3")),
        ("batch 1", 30, ("1", "4", "5")),
        ("batch 2", 40, ("1", "4", "5", "6")),
    ]
    assert {one.score_type for one in problem.subtasks} == {ScoreType.SUM}, "behind others in a tree"
    assert (problem.limits.cpu_time, problem.limits.wall_time) == (2, 8)
    assert (problem.limits.memory, problem.limits.output) == (64 << 20, 4096)
    told = [json.loads(test.arguments[0]) for test in problem.tests]
    assert [(one["check"], one["points"], one["batch"], one["stops"]) for one in told] == [
        ("package_check", 1, 0, False),
        ("package_check", 10, 0, False),
        ("floats", 20, 0, False),
        ("package_check", 30, 1, True),
        ("package_check", 30, 1, False),
        ("package_check", 40, 2, False),
    ]


def test_the_usual_package(tmp_path: Path) -> None:
    found = read(package(tmp_path, LISTED), "pond")
    problem = found.problem
    assert problem is not None
    assert (problem.id, problem.checker.kind) == ("pond", CheckerKind.WORD_LINES)
    assert [test.answer and test.answer.read() for test in problem.tests] == [b"1\n2\n", b"2\n"]
    assert [test.arguments for test in problem.tests] == [(), ()]
    assert [(one.name, one.points, one.grading) for one in problem.subtasks] == [("cases 1 to 2", 10, None)]
    assert (problem.limits.cpu_time, problem.limits.wall_time, problem.limits.memory) == (2, 6, 64 << 20)
    assert "no limits are in the package: 2 s and 64 MiB" in found.notes[0]


def test_batches_behind_others(tmp_path: Path) -> None:
    """One that is worth nothing has to be passed first; one that needs another needs what that one needs."""
    case = "[{in: 1.in, out: 1.out}]"
    batches = [
        f"{{points: 0, batched: {case}}}",
        f"{{points: 1, batched: {case}}}",
        f"{{points: 2, batched: {case}, dependencies: [2]}}",
        f"{{points: 3, batched: {case}, dependencies: [3]}}",
    ]
    problem = sound(package(tmp_path, f"test_cases: [{', '.join(batches)}]\n"), "pond")
    found = [(one.points, one.tests) for one in problem.subtasks]
    assert found == [(0, ("1",)), (1, ("1", "2")), (2, ("1", "2", "3")), (3, ("1", "2", "3", "4"))]

    status = {0: Verdict.WA, 1: Verdict.AC}

    def earned(*scores: float) -> list[float]:
        results = {
            name: TestResult(test_name=name, score=score, status=status.get(score, Verdict.PA))
            for name, score in zip("1234", scores, strict=True)
        }
        found = submission_result(problem, Submission(key="1", problem_id="pond", code=""), results)
        return [one.exact_score * one.points for one in found.subtasks]

    assert earned(1, 1, 1, 1) == [0, 1, 2, 3]
    assert earned(1, 0.5, 1, 0.25) == [0, 0.5, 2, 0.75], "a part of its points is enough to pass"
    assert earned(1, 1, 0, 1) == [0, 1, 0, 0]
    assert earned(0, 1, 1, 1) == [0, 0, 0, 0]


def test_a_batch_is_worth_what_its_cases_are(tmp_path: Path) -> None:
    """DMOJ's site takes the points of a batch from its cases, which have the batch's where they say none."""
    cases = "[{in: 1.in, out: 1.out, points: 30}, {in: 2.in, out: 2.out, points: 30}]"
    problem = sound(package(tmp_path, f"test_cases: [{{batched: {cases}}}]\n"), "pond")
    assert [(one.points, one.tests) for one in problem.subtasks] == [(30, ("1", "2"))]


def test_a_key_that_nobody_knows_is_told(tmp_path: Path) -> None:
    found = read(package(tmp_path, "written_by: me\nhints: [unicode]\n" + LISTED), "pond")
    assert found.problem is not None
    assert "pond/init.yml: written_by: unknown key, so it is ignored" in found.notes
    assert not any("hints" in note for note in found.notes)


def test_binary_data_is_left_alone(tmp_path: Path) -> None:
    problem = sound(package(tmp_path, "binary_data: true\n" + LISTED), "pond")
    assert problem.tests[0].answer and problem.tests[0].answer.read() == b"1\r\n2"


def test_cases_by_their_names_in_an_archive(tmp_path: Path) -> None:
    folder = package(tmp_path, "archive: all.zip\npoints: 3\n")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for name in ("pond.1", "pond.2-1", "pond.2-2", "pond.10"):
            archive.writestr(f"{name}.in", name)
            archive.writestr(f"{name}.out", name)
    problem = sound(folder, "pond")
    assert [test.input.read().decode() for test in problem.tests] == [
        "pond.1\n",
        "pond.2-1\n",
        "pond.2-2\n",
        "pond.10\n",
    ]
    assert [(one.name, one.points) for one in problem.subtasks] == [
        ("case 1", 3),
        ("batch 1", 3),
        ("case 4", 3),
    ]


def test_names_and_points_of_one_s_own(tmp_path: Path) -> None:
    formats = r"{input_format: '^in(?P<case>\d+)$', output_format: '^ans(?P<case>\d+)$', case_points: [7, 8]}"
    folder = package(tmp_path, f"archive: all.zip\ntest_cases: {formats}\n")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for name in ("in1", "ans1", "in2", "ans2", "readme.txt"):
            archive.writestr(name, name)
    problem = sound(folder, "pond")
    assert [(one.name, one.points) for one in problem.subtasks] == [("cases 1 to 2", 15)]
    assert [test.answer and test.answer.read() for test in problem.tests] == [b"ans1\n", b"ans2\n"]


@pytest.mark.parametrize(
    ("formats", "names", "words"),
    [
        (
            "",
            ("s.1.in", "s.1.out", "s.2a.in", "s.2a.out", "s.2b.out"),
            "'s.2a.out' and 's.2b.out' are one case, 2",
        ),
        ("test_cases: {input_format: 'in.*'}\n", ("in1", "out1"), "it finds no case in 'in1'. Name a group"),
        ("", ("s1.in", "s1.out", "s2.in"), "missing in 1 cases"),
        ("test_cases: {case_points: [3, 4]}\n", ("1.in", "1.out"), "more points than cases"),
    ],
)
def test_files_of_an_archive_that_would_be_lost(
    tmp_path: Path, formats: str, names: tuple[str, ...], words: str
) -> None:
    folder = package(tmp_path, f"archive: all.zip\n{formats}")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for name in names:
            archive.writestr(name, name)
    assert words in str(read(folder, "pond").errors[0])


@pytest.mark.parametrize(("said", "full", "own"), [("true", 100, None), ("false", 80, 20)])
def test_points_of_a_program_by_percent(tmp_path: Path, said: str, full: float, own: float | None) -> None:
    new = f"lang: CPP17, treat_checker_points_as_percentage: {said}"
    problem = sound(changed(tmp_path, "pulleys", "lang: CPP17", new), "pulleys")
    assert (problem.checker.full, problem.tests[0].full) == (full, own)


def test_arguments_that_a_generator_has_itself(tmp_path: Path) -> None:
    config = "test_cases: [{generator_args: [1, 2]}, {points: 5}]\ngenerator: {source: gen.py, args: [7]}\n"
    folder, faults = package(tmp_path, config, gen_py=""), Faults("pond")
    making = Dmoj().making(folder, faults)
    assert making is not None and not faults.errors
    assert [test.command for test in making.tests] == [("gen.py", "1", "2"), ("gen.py", "7")]


def test_a_generator_of_inputs_alone(tmp_path: Path) -> None:
    config = "test_cases: [{out: 2.out}, {in: 1.in, out: 1.out}]\ngenerator: gen.py\n"
    folder, faults = package(tmp_path, config, gen_py=""), Faults("pond")
    making = Dmoj().making(folder, faults)
    assert making is not None and [test.input for test in making.tests] == ["generated/1.in"]
    (folder / "generated").mkdir()
    (folder / "generated/1.in").write_text("7\n")
    (folder / "generated/1.out").write_text("not this\n")
    first, second = sound(folder, "pond").tests
    assert first.answer is not None and (first.input.read(), first.answer.read()) == (b"7\n", b"2\n")
    assert second.input.read() == b"1\n"


def test_linecount_is_told_apart(tmp_path: Path) -> None:
    (note,) = read(
        package(tmp_path, "checker: linecount\ntime_limit: 1\nmemory_limit: 65536\n" + LISTED), "pond"
    ).notes
    assert "linecount: the output of a program that fails earns nothing here" in note


def test_programs() -> None:
    lodestone, pulleys = sound(PACKAGES / "lodestone"), sound(PACKAGES / "pulleys")
    assert lodestone.task_type is TaskType.INTERACTIVE
    assert lodestone.manager and lodestone.manager.kind is CheckerKind.EXIT_CODE
    assert (pulleys.checker.kind, pulleys.checker.full) == (CheckerKind.TESTLIB, 80)
    assert [source.name for source in pulleys.checker.sources] == ["checker.cpp", "limits.h"]
    assert [test.full for test in pulleys.tests] == [20, None]
    assert [file.name for file in pulleys.grader_files] == [
        "graders/grader.c",
        "graders/grader.cpp",
        "graders/pulleys.h",
    ]
    assert '#include "pulleys.h"\n#define main' in pulleys.options.prelude


def test_files_that_are_read_and_written(tmp_path: Path) -> None:
    options = sound(package(tmp_path, "file_io: {input: a.in, output: a.out}\n" + LISTED), "pond").options
    assert (options.input_file, options.output_file) == ("a.in", "a.out")


@pytest.mark.parametrize(
    ("config", "field", "words"),
    [
        ("{}", "archive", "Name the archive whose files are the cases"),
        ("test_cases: 3", "test_cases", "3 is not a list of cases"),
        ("test_cases: [{in: 3.in, out: 1.out}]", "test_cases.0.in", "no file '3.in' in the package"),
        ("test_cases: [{in: ../pond/1.in}]", "test_cases.0.in", "no file '../pond/1.in'"),
        ("test_cases: [{in: 1.in, points: 0}]", "points", "no case or batch has points"),
        ("test_cases: [{in: 1.in, points: ten}]", "test_cases.0.points", '"ten" is not a number'),
        ("test_cases: [{batched: []}]", "test_cases.0.batched", "not a list of cases"),
        ("test_cases: [{batched: [{batched: []}]}]", "test_cases.0.batched.0.batched", "a batch in a batch"),
        (
            "test_cases: [{in: 1.in, point: 5}]",
            "test_cases.0.point",
            "unknown key. Did you mean 'points'",
        ),
        ("test_cases: [{points: 5, batchd: [{in: 1.in}]}]", "test_cases.0.batchd", "mean 'batched'"),
        (
            "test_cases: [{points: 5, batched: [{input: 1.in}]}]",
            "test_cases.0.batched.0.input",
            "unknown key. Did you mean 'in'?",
        ),
        ("chekcer: floats\n" + LISTED, "chekcer", "unknown key. Did you mean 'checker'"),
        (
            "checker: {name: floats, arg: {precision: 2}}\n" + LISTED,
            "test_cases.0.checker.arg",
            "Did you mean 'args'",
        ),
        ("file_io: {input: a.in, ouput: a.out}\n" + LISTED, "file_io.ouput", "Did you mean 'output'"),
        (
            "signature_grader: {entry: 1.in, header: 2.in, allow_mian: true}\n" + LISTED,
            "signature_grader.allow_mian",
            "Did you mean 'allow_main'",
        ),
        (
            "test_cases: {case_point: [5, 5]}\n",
            "test_cases.case_point",
            "Did you mean 'case_points'",
        ),
        ("memory: 65536\n" + LISTED, "memory", "unknown key. Did you mean 'memory_limit'"),
        (
            "test_cases: [{points: 9, batched: [{in: 1.in}, {in: 2.in, points: 3}]}]",
            "test_cases.0.points",
            "the cases of a batch have different points. Give the batch points, and its cases none",
        ),
        (
            "test_cases: [{dependencies: [1], batched: [{in: 1.in}]}]",
            "test_cases.0.dependencies",
            "[1] are not numbers of earlier batches. Count from 1",
        ),
        (
            "test_cases: [{file_io: {input: a}, batched: [{in: 1.in}]}]",
            "test_cases.0.file_io",
            "it has no effect in a case",
        ),
        (
            "test_cases: [{in: 1.in, wall_time_factor: 2}]",
            "test_cases.0.wall_time_factor",
            "it has no effect in a case",
        ),
        (
            "test_cases: [{generator_args: [1]}]\ngenerator: gen.cpp",
            "test_cases.0.generator",
            "which a program writes",
        ),
        (
            "test_cases++: |\n  pass\n" + LISTED,
            "test_cases++",
            "Python code in a package is not run",
        ),
        ("custom_judge: judge.py\n" + LISTED, "custom_judge", "Use interactive, or signature_grader"),
        ("communication: {num_processes: 2}\n" + LISTED, "communication", "managers are not supported"),
        ("output_only: true\n" + LISTED, "output_only", "output files are not supported"),
        ("symlinks: {a: b}\n" + LISTED, "symlinks", "no further files"),
        ("archive: all.zip\n" + LISTED, "archive", "no file 'all.zip' in the package"),
        ("archive: /etc/passwd\n" + LISTED, "archive", "no file '/etc/passwd' in the package"),
        ("archive: 1.in\n" + LISTED, "archive", "not a readable zip"),
        (
            "test_cases: {input_format: '(', output_format: x}\narchive: 1.in",
            "test_cases.input_format",
            "expression",
        ),
        (
            "test_cases: [{in: 1.in}, {in: 2.in, out: 2.out}]",
            "test_cases.0.out",
            "missing in 1 cases, and outp",
        ),
        (
            "test_cases: [{batched: [{in: 1.in, out: 1.out}, {in: 1.in}, {in: 2.in}]}]\nchecker: floats",
            "test_cases.0.batched.1.out",
            "missing in 2 cases, and outputs are compared with it. Name the answer, or an empty file",
        ),
        (
            "checker: {name: floats, args: {precison: 3}}\n" + LISTED,
            "test_cases.0.checker.args.precison",
            "floats has no such argument. Did you mean 'precision'?",
        ),
        (
            "interactive: {files: 1.in, treat_points_as_percentage: true}\n" + LISTED,
            "interactive.treat_points_as_percentage",
            "unknown key. Did you mean 'treat_checker_points_as_percentage'?",
        ),
        (
            "test_cases: [{generator_args: [1]}]\ngenerator: {source: gen.cpp, flags: [-O0]}",
            "test_cases.0.generator.flags",
            "programs of a package are built without own flags",
        ),
        (
            "test_cases: [{in: 1.in, generator_args: [1]}]\ngenerator: gen.cpp",
            "test_cases.0.generator",
            "a generator that reads `in` and writes another input is not supported. Set `out` too",
        ),
        ("checker: flots\n" + LISTED, "checker", "unknown checker 'flots'. Did you mean 'floats'"),
        ("checker: check.py\n" + LISTED, "checker", "no file 'check.py' in the package"),
        ("checker: {name: floats, args: 3}\n" + LISTED, "test_cases.0.checker.args", "3 is not an object"),
        (
            "checker: {name: bridged, args: {files: 1.in, type: peg}}\n" + LISTED,
            "checker.args.type",
            '"peg" is not one of default, testlib, coci',
        ),
        (
            "interactive: {files: talk.cpp}\n" + LISTED,
            "interactive.files",
            '"talk.cpp" is not in the package',
        ),
        ("file_io: {input: ../a}\n" + LISTED, "file_io.input", "not a plain file name"),
        ("output_limit_length: none\n" + LISTED, "output_limit_length", "is not a whole number"),
    ],
)
def test_what_is_refused(tmp_path: Path, config: str, field: str, words: str) -> None:
    error = read(package(tmp_path, config), "pond").errors[0]
    assert (error.where, error.field) == ("pond/init.yml", field)
    assert words in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("asked", ["submission_source", "run_on_error"])
def test_a_check_that_asks_for_the_source(tmp_path: Path, asked: str) -> None:
    source = f"def check(process_output, judge_output, {asked}, **kwargs):\n    return True\n"
    error = only_error(package(tmp_path, "checker: check.py\n" + LISTED, check_py=source), "pond")
    assert f"check.py uses {asked}" in str(error)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def check(:\n", "line 1: SyntaxError: invalid syntax"),
        (
            "def check(a, b, **c):\n    print 1\n",
            "line 2: SyntaxError: Missing parentheses in call to 'print'",
        ),
        ("import Queue\ndef check(a, b, **c):\n    return True\n", "No module named 'Queue'"),
    ],
)
def test_python_checker_that_cannot_run_is_refused(tmp_path: Path, source: str, message: str) -> None:
    error = only_error(package(tmp_path, "checker: check.py\n" + LISTED, check_py=source), "pond")
    assert "check.py: Python" in str(error) and message in str(error)
    assert error.remedy == "Write it in Python 3"


def test_checkers_that_differ_between_cases(tmp_path: Path) -> None:
    old = "checker:\n  name: bridged\n  args: {files: [checker.cpp, limits.h], lang: CPP17, type: testlib}\n"
    new = "{in: 2.in, out: 2.out, points: 80, checker: standard}"
    folder = changed(tmp_path, "pulleys", "{in: 2.in, out: 2.out, points: 80}", new)
    assert old in (folder / "init.yml").read_text()
    assert "Give all cases the same checker" in str(only_error(folder, "pulleys"))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ("source: gone.py", "tests/right/test.yml, field 'source': there is no file 'gone.py'"),
        ("source: /etc/passwd", "field 'source': there is no file '/etc/passwd'"),
        (
            "source: ones.py\nexpect: RIGHT",
            "field 'expect': \"RIGHT\" is not a status of DMOJ. Expected *, AC",
        ),
        ("source: ones.py\ntime: 0", "field 'time': 0 is not a number above 0"),
    ],
)
def test_tests_of_its_suite_that_are_wrong(tmp_path: Path, files: str, words: str) -> None:
    folder = changed(tmp_path, "terraces", "points: 10", "points: 10")
    time = "" if "time" in files else "time: 2\n"
    (folder / "tests/right/test.yml").write_text(f"language: PY3\n{time}memory: 65536\n{files}\n")
    assert words in str(only_error(folder, "terraces"))


def test_what_its_suite_expects(tmp_path: Path) -> None:
    problem = sound(PACKAGES / "terraces")
    keywords = {
        solution.name: [(entry.subtask, entry.keyword) for entry in solution.test_keywords]
        for solution in problem.solutions
    }
    assert keywords["wrong/zero.py"] == [("", "required wa")]
    assert keywords["large/whole.cpp"] == [("", "permitted ac"), ("case 6", "permitted ac wa")]
    folder = changed(tmp_path, "terraces", "points: 10", "points: 10")
    yml = "language: PY3\ntime: 2\nmemory: 65536\nsource: zero.py\n"
    for expect, expected, rules in (("CE", ["compile_error"], []), ("'*'", [""], []), ("IE", [], [])):
        (folder / "tests/wrong/test.yml").write_text(f"{yml}expect: {expect}\n")
        found = [one for one in sound(folder, "terraces").solutions if one.name == "wrong/zero.py"]
        assert (
            [one.expected for one in found],
            [*(entry for one in found for entry in one.test_keywords)],
        ) == (
            expected,
            rules,
        )


def test_codes_of_cases_that_are_not_there(tmp_path: Path) -> None:
    folder = changed(tmp_path, "terraces", "points: 10", "points: 10")
    yml = "language: PY3\ntime: 2\nmemory: 65536\nsource: ones.py\ncases: {6: WA, 9: AC}\n"
    (folder / "tests/right/test.yml").write_text(yml)
    package = read(folder, "terraces")
    assert package.problem is not None
    (right,) = (one for one in package.problem.solutions if one.name == "right/ones.py")
    assert ("case 6", "permitted wa") in [(part.subtask, part.keyword) for part in right.test_keywords]
    assert any("tests/right/test.yml: cases: there is no case 9" in note for note in package.notes)


@pytest.mark.parametrize("key", ["score: 5", "score_cases: {1: 5}"])
def test_a_code_beside_a_score_is_not_full_marks(tmp_path: Path, key: str) -> None:
    folder = changed(tmp_path, "terraces", "points: 10", "points: 10")
    yml = "language: PY3\ntime: 2\nmemory: 65536\nsource: ones.py\nexpect: AC\n"
    for said, expected, rules in ((key, "", ["permitted ac"]), ("", "accepted", [])):
        (folder / "tests/right/test.yml").write_text(yml + said)
        (right,) = (one for one in sound(folder, "terraces").solutions if one.name == "right/ones.py")
        assert (right.expected, [part.keyword for part in right.test_keywords]) == (expected, rules)


@pytest.mark.parametrize(
    ("config", "limits"),
    [
        ("[{in: 1.in, out: 1.out, time_limit: 3}, {in: 2.in, out: 2.out, time_limit: 3}]", (3, 64 << 20)),
        (
            "[{points: 5, time_limit: 1.5, memory_limit: 2048, batched: [{in: 1.in, out: 1.out}]}]",
            (1.5, 2 << 20),
        ),
        ("[{in: 1.in, out: 1.out}]\nmemory_limit: 4096", (2, 4 << 20)),
    ],
)
def test_limits_of_cases(tmp_path: Path, config: str, limits: tuple[float, int]) -> None:
    problem = sound(package(tmp_path, f"test_cases: {config}\n"))
    assert (problem.limits.cpu_time, problem.limits.memory) == limits


def test_limits_that_differ_between_cases(tmp_path: Path) -> None:
    cases = "[{in: 1.in, out: 1.out, time_limit: 3}, {in: 2.in, out: 2.out}]"
    error = only_error(package(tmp_path, f"test_cases: {cases}\n"), "pond")
    assert "limits differ between cases. Give all of them the same" in str(error)


def test_the_order_of_a_programs_arguments(tmp_path: Path) -> None:
    old, order = "lang: CPP17", "'{answer_file}  --said={output_file} {input_file}'"
    folder = changed(tmp_path, "pulleys", old, f"{old}, args_format_string: {order}")
    checker = sound(folder, "pulleys").checker
    assert checker.given == ("correct_output.txt", "--said=user_output.txt", "input.txt")
    text = (folder / "init.yml").read_text().replace(order, "'{answer_file} {source_file}'")
    (folder / "init.yml").write_text(text)
    assert "'{source_file}' is not supported" in str(only_error(folder, "pulleys"))


# --- what outputs are worth --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def script() -> dict[str, object]:
    path = graders() / "python" / "dmoj_checker.py"
    namespace: dict[str, object] = {"__name__": "dmoj_checker"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    ("name", "output", "answer", "args", "worth"),
    [
        ("standard", b"1  2\n\n3", b"1 2\n3\n", {}, 1),
        ("standard", b"1\n2", b"1 2", {}, 0),
        ("easy", b"B a", b"ab\n", {}, 1),
        ("easy", b"ab", b"abb", {}, 0),
        ("identical", b"1 \n", b"1\n", {}, 0),
        ("identical", b"1\n", b"1\n", {"pe_allowed": False}, 1),
        ("floats", b"x 1.0000001", b"x 1", {}, 1),
        ("floats", b"1.01", b"1", {"precision": 1}, 1),
        ("floats", b"1000.01", b"1000", {"precision": 4, "error_mode": "absolute"}, 0),
        ("floats", b"1000.01", b"1000", {"precision": 4, "error_mode": "relative"}, 1),
        ("floats", b"nan", b"1", {}, 0),
        ("floats", b"1\n2", b"1 2", {}, 0),
        ("floatsabs", b"1000.01", b"1000", {"precision": 4}, 0),
        ("floatsrel", b"1000.01", b"1000", {"precision": 4}, 1),
        ("sorted", b"b a\nc", b"c\nb a", {}, 1),
        ("sorted", b"b a\nc", b"c\na b", {}, 0),
        ("sorted", b"b a\nc", b"c\na b", {"split_on": "whitespace"}, 1),
        ("unordered", b"3 2 1", b"1\n2\n3", {}, 1),
        ("linecount", b"1\n5\n3\n", b"1\n2\n3\n4\n", {}, 0.5),
        ("linecount", b"1\n2\n3\n", b"1\n2\n", {}, 0),
        ("linematches", b"1\n5\n", b"1\n2\n", {"point_distribution": [3, 1]}, 0.75),
        ("linematches", b"1\n", b"1\n2\n", {"point_distribution": [3, 1]}, 0),
        ("rstripped", b"1  \n2\n", b"1\n2\n", {}, 1),
        ("rstripped", b" 1\n2\n", b"1\n2\n", {}, 0),
    ],
)
def test_its_own_checkers(
    script: dict[str, object], name: str, output: bytes, answer: bytes, args: dict[str, object], worth: float
) -> None:
    found = script["CHECKERS"][name](output, answer, point_value=20, **args)  # type: ignore[index]
    assert script["worth"](found, 20, stops=False) == worth  # type: ignore[operator]


def test_what_is_not_passed_ends_its_batch(script: dict[str, object]) -> None:
    part = script["CheckerResult"](False, 5)  # type: ignore[operator]
    worth = script["worth"]
    found = [worth(part, 10, stops=stops) for stops in (False, True)]  # type: ignore[operator]
    assert [*found, worth(part, 0, stops=False)] == [0.5, 0, 0]  # type: ignore[operator]
