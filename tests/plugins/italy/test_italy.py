"""Packages in CMS's italy_yaml format: gen/GEN with its subtasks, and what is refused in a sentence."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from package_files import only_error, read, sound

from ioi_eval.model.fields import Faults
from ioi_eval.models import CheckerKind, ScoreType, TaskType
from ioi_eval.plugins.italy.packages import Italy

GRADINI = Path(__file__).parents[2] / "packages" / "gradini"
OLD = {"name: ": "nome_breve: ", "title: ": "nome: ", "time_limit: ": "timeout: ", "memory_limit": "memlimit"}


def changed(tmp_path: Path, files: Mapping[str, str | None], **fields: object) -> Path:
    """The package with other files, or without those that are None, and with more lines in task.yaml."""
    folder = tmp_path / "gradini"
    shutil.copytree(GRADINI, folder)
    for name, content in files.items():
        (folder / name).unlink(missing_ok=True)
        if content is not None:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content)
    lines = [
        line for line in (folder / "task.yaml").read_text().splitlines() if line.split(":")[0] not in fields
    ]
    more = [f"{name}: {value}" for name, value in fields.items() if value != "missing"]
    (folder / "task.yaml").write_text("\n".join([*lines, *more]))
    return folder


@pytest.mark.parametrize("name", ["cor/checker.cpp", "check/correttore.cpp"])
def test_a_checker_by_another_name(tmp_path: Path, name: str) -> None:
    """Outputs would be compared without it."""
    folder = changed(tmp_path, {"check/checker.cpp": None, name: "int main() {}\n"})
    assert f"{name}: it is neither a checker nor a manager by its name. Call it" in str(only_error(folder))


@pytest.mark.parametrize("line", ["#st: 100", "# ST : 100"])
def test_subtasks_that_are_comments(tmp_path: Path, line: str) -> None:
    """Each test would be worth the same."""
    error = only_error(changed(tmp_path, {"gen/GEN": f"{line}\n1\n2\n3\n4\n5\n"}))
    assert (error.row, "is only a comment" in str(error)) == (1, True)


def test_a_folder_in_capitals(tmp_path: Path) -> None:
    """The checker would be lost, and outputs compared without it."""
    folder = changed(tmp_path, {})
    (folder / "check").rename(folder / "Check")
    assert "Call it check" in str(only_error(folder))


def test_a_folder_in_capitals_beside_the_one_that_counts(tmp_path: Path) -> None:
    folder = changed(tmp_path, {"Check/notes.txt": "old\n"})
    problem = sound(folder)
    assert problem.checker.sources
    assert any("Check: ignored because of its name" in note for note in read(folder).notes)


def test_a_package() -> None:
    problem = sound(GRADINI)
    assert (problem.id, problem.name, problem.task_type) == ("gradini", "Gradini", TaskType.BATCH)
    assert (problem.limits.cpu_time, problem.limits.memory) == (1.0, 256 << 20)
    assert problem.options.with_grader
    assert (problem.options.input_file, problem.options.output_file) == ("", "")
    graders = {"graders/gradini.h", "graders/grader.cpp", "graders/grader.py"}
    assert {file.name for file in problem.grader_files} == graders
    assert (problem.checker.kind, problem.checker.sources[0].name) == (CheckerKind.CMS, "check/checker.cpp")
    assert [(s.name, s.points, s.tests) for s in problem.subtasks] == [
        ("0", 0, ("000",)),
        ("1", 40, ("001", "002")),
        ("2", 60, ("003", "004")),
    ]
    assert {solution.name: solution.expected for solution in problem.solutions} == {
        "slow.cpp": "",
        "solution.cpp": "correct",
        "soluzione.py": "correct",
    }
    assert Italy().package_id(GRADINI, "") == "gradini"


def test_names_of_old(tmp_path: Path) -> None:
    text = (GRADINI / "task.yaml").read_text()
    for new, old in OLD.items():
        text = text.replace(new, old)
    problem = sound(changed(tmp_path, {"task.yaml": text}))
    assert (problem.id, problem.name, problem.limits.memory) == ("gradini", "Gradini", 256 << 20)


def test_a_mark_of_byte_order_is_no_test(tmp_path: Path) -> None:
    lines = {"gen/GEN": "\ufeff# written on Windows\n1\n2\n3\n4\n"}
    (subtask,) = sound(changed(tmp_path, lines)).subtasks
    assert len(subtask.tests) == 4  # of the five that there are


def test_without_subtasks_every_test_is_worth_the_same(tmp_path: Path) -> None:
    lines = {"gen/GEN": "1\n2\n# a comment\n3\n\n4 # and another\n#COPY: a.txt\n"}
    (subtask,) = sound(changed(tmp_path, lines, total_value=50)).subtasks
    assert (subtask.points, subtask.score_type, len(subtask.tests)) == (50, ScoreType.SUM, 5)
    (subtask,) = sound(changed(tmp_path / "no", {"gen/GEN": None}, n_input=4)).subtasks
    assert (subtask.points, len(subtask.tests)) == (100, 4)


def test_a_score_type_of_its_own(tmp_path: Path) -> None:
    own: dict[str, Any] = {"score_type": "GroupMul", "score_type_parameters": "[[30, 2], [70, '00[2-4]']]"}
    error = only_error(changed(tmp_path / "mixed", {}, **own))
    assert error.field == "score_type_parameters.2.tests"
    objects = [{"max_score": 30, "testcases": 2}, {"max_score": 70, "testcases": 3}]
    for number, parameters in enumerate(("[[30, 2], [70, 3]]", objects)):
        own["score_type_parameters"] = parameters
        problem = sound(changed(tmp_path / str(number), {}, **own))
        assert [(s.points, s.score_type, len(s.tests)) for s in problem.subtasks] == [
            (30, ScoreType.GROUP_MUL, 2),
            (70, ScoreType.GROUP_MUL, 3),
        ]


def test_half_a_score_type_is_told(tmp_path: Path) -> None:
    package = read(changed(tmp_path, {}, score_type="GroupMul"))
    assert "score_type and score_type_parameters have an effect only together" in package.notes[0]
    assert package.problem is not None
    assert {subtask.score_type for subtask in package.problem.subtasks} == {ScoreType.GROUP_MIN}


def test_files_that_are_read_and_written_unless_said_otherwise(tmp_path: Path) -> None:
    options = sound(changed(tmp_path, {}, infile="missing", outfile="gradini.out")).options
    assert (options.input_file, options.output_file) == ("input.txt", "gradini.out")


def test_communication(tmp_path: Path) -> None:
    files = {"check/checker.cpp": None, "check/manager.cpp": "int main() {}\n", "sol/stub.cpp": "\n"}
    problem = sound(changed(tmp_path, files, num_processes=2))
    assert problem.task_type is TaskType.COMMUNICATION
    assert problem.manager is not None
    assert problem.manager.sources[0].name == "check/manager.cpp"
    options = problem.options
    assert (options.with_grader, options.processes, options.user_io) == (True, 2, "fifo_io")
    alone = sound(changed(tmp_path / "alone", {**files, "sol/stub.cpp": None})).options
    assert (alone.with_grader, alone.user_io) == (False, "std_io")


def test_output_only(tmp_path: Path) -> None:
    problem = sound(changed(tmp_path, {}, output_only="true", time_limit="missing"))
    assert (problem.task_type, problem.limits.cpu_time) == (TaskType.OUTPUT_ONLY, None)


def test_tests_that_files_are_handed_in_for(tmp_path: Path) -> None:
    problem = sound(changed(tmp_path / "only", {}, output_only_testcases='"1, 4"'))
    assert problem.task_type is TaskType.BATCH_AND_OUTPUT
    assert (problem.options.output_tests, problem.options.with_grader) == (("001", "004"), True)
    assert {solution.expected for solution in problem.solutions} == {""}
    problem = sound(changed(tmp_path / "optional", {}, output_optional_testcases='"0"'))
    assert (problem.task_type, problem.options.output_tests) == (TaskType.BATCH_AND_OUTPUT, ())


def test_tests_that_are_not_counted_are_told(tmp_path: Path) -> None:
    folder = changed(tmp_path, {"input/input5.txt": "", "output/output5.txt": ""})
    assert read(folder, "gradini").notes == (
        "gradini/input: ignored, no test uses it: input5.txt",
        "gradini/output: ignored, no test uses it: output5.txt",
    )


def test_without_a_checker_outputs_are_compared(tmp_path: Path) -> None:
    assert sound(changed(tmp_path, {"check/checker.cpp": None})).checker.kind is CheckerKind.WHITE_DIFF


@pytest.mark.parametrize(
    ("files", "fields", "place", "words"),
    [
        ({"check/checker.cpp": None, "check/checker": "x"}, {}, "check/checker", "a binary without its sou"),
        ({"output/output3.txt": None}, {}, "output/output3.txt", "1 files of 5 tests are missing"),
        ({"gen/GEN": "#ST: 90\n1\n2\n3\n4\n5\n"}, {}, "gen/GEN", "90 points. Expected 100 together"),
        ({"gen/GEN": "1 #ST: 100\n2\n"}, {}, "gen/GEN, row 1", "a test and a command in one line"),
        ({"gen/GEN": "#ST: many\n1\n"}, {}, "gen/GEN, row 1", "'ST: many' has no points. Write `#ST: 20`"),
        ({"gen/GEN": "1\n#ST: 100\n2\n"}, {}, "gen/GEN, row 2", "a test before the first subtask"),
        ({"gen/GEN": "#ST: 20\n#ST: 80\n1\n"}, {}, "gen/GEN", "subtask 0 has points and no tests"),
        ({"gen/GEN": "# nothing\n"}, {}, "gen/GEN", "no tests"),
        ({}, {"n_input": 4}, "task.yaml, field n_input", "gen/GEN has 5 tests"),
        ({}, {"memory_limit": 268435456}, "task.yaml, field memory_limit", "The unit is MiB, not bytes"),
        ({}, {"time_limit": "missing"}, "task.yaml, field time_limit", "missing. Add it"),
        ({}, {"output_only_testcases": '"1,5"'}, "task.yaml, field output_only_testcases", "no test '5'"),
        ({}, {"score_precison": 1}, "task.yaml, field score_precison", "Did you mean 'score_precision'"),
        ({}, {"infile": "a/b"}, "task.yaml, field infile", "not a plain file name"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, files: dict[str, str | None], fields: dict[str, object], place: str, words: str
) -> None:
    error = read(changed(tmp_path, files, **fields)).errors[0]
    shown = f"{error.where}{f', row {error.row}' if error.row else ''}, field {error.field}"
    assert shown.removesuffix(", field ") == f"sum/{place}"
    assert words in str(error)


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/passwd", "gone.txt"])
def test_a_copied_input_lies_in_the_package(tmp_path: Path, name: str) -> None:
    program = "int main() {}\n"
    files = {
        "gen/GEN": f"#COPY: {name}\n",
        "gen/generator.cpp": program,
        "sol/soluzione.cpp": program,
        "sol/soluzione.py": None,
    }
    folder = changed(tmp_path, files)
    (tmp_path / "outside.txt").write_text("1\n")
    faults = Faults(str(folder))
    assert Italy().making(folder, faults) is not None
    (error,) = faults.errors
    assert (error.row, error.problem) == (1, f"there is no file '{name}'")


def test_cases_of_task_maker_without_what_it_writes_from_them(tmp_path: Path) -> None:
    """They have the subtasks: without these every test would be worth the same."""
    cases = {"gen/GEN": None, "gen/cases.gen": ":SUBTASK 40\n1\n2\n:SUBTASK 60\n3\n4\n5\n"}
    folder = changed(tmp_path, cases, n_input=5)
    assert "gen/cases.gen" in str(only_error(folder)) and "task-maker" in str(only_error(folder))
    header = folder / "task.yaml"
    header.write_text(
        f"{header.read_text()}\nscore_type: GroupMin\nscore_type_parameters: [[40, 2], [60, 3]]\n"
    )
    assert [subtask.points for subtask in sound(folder).subtasks] == [40, 60]


@pytest.mark.parametrize("name", ["check/validator.cpp", "check/valida.py", "cor/soluzione.cpp"])
def test_programs_beside_no_checker_that_are_none_by_their_names(tmp_path: Path, name: str) -> None:
    folder = changed(tmp_path, {"check/checker.cpp": None, name: "int main() {}\n"})
    assert sound(folder).checker.kind is CheckerKind.WHITE_DIFF


def test_a_comment_on_a_test_that_begins_like_a_command(tmp_path: Path) -> None:
    lines = "#ST: 100\n1 # copy: as in the statement\n2\n3\n4\n5\n"
    assert len(sound(changed(tmp_path, {"gen/GEN": lines})).tests) == 5
