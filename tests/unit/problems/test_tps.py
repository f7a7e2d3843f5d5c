"""Packages of the preparation system: a folder becomes a problem, and each thing that is wrong a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from package_files import only_error, read, sound
from support.datasets import check_problems

from ioi_eval.models import CheckerKind, TaskType
from ioi_eval.problems import load_problems
from ioi_eval.problems.tps import Tps

HEADER: Mapping[str, Any] = {
    "name": "hills",
    "code": "hills-2",
    "title": "Hills",
    "type": "Batch",
    "time_limit": 1.5,
    "memory_limit": 256,
}
SUBTASKS: Mapping[str, Any] = {
    "global_validators": ["validator.cpp"],
    "subtasks": {
        "full": {"index": 2, "score": 70, "validators": []},
        "samples": {"index": 0, "score": 0},
        "2^n": {"index": 1, "score": 30},
    },
}
SOLUTIONS: Mapping[str, Any] = {
    "best.cpp": {"verdict": "model_solution"},
    "greedy.py": {"verdict": "incorrect", "except": {"samples": "correct", "2^n": "time_limit"}},
}
FILES: Mapping[str, str] = {
    "grader/cpp/grader.cpp": "int main() {}\n",
    "grader/cpp/hills.h": "int hills(int);\n",
    "grader/java/grader.java": "class grader {}\n",
    "grader/Makefile": "all:\n",
    "checker/checker.cpp": "int main() {}\n",
    "checker/testlib.h": "// a library\n",
    "solution/best.cpp": "int hills(int a) { return a; }\n",
    "solution/greedy.py": "print(1)\n",
    "tests/0-01.in": "0\n",
    "tests/0-01.out": "0\n",
    "tests/1-01.in": "1\n",
    "tests/1-01.out": "1\n",
    "tests/2-01.in": "2\n",
    "tests/2-01.out": "2\n",
    "tests/mapping": "samples 0-01\n2^n 1-01\n\nfull 0-01\nfull 1-01\nfull 2-01\nfull 1-01\n",
    "tests/gen_summary": "0-01 manual\n",
}


def write(
    folder: Path,
    files: Mapping[str, str | None] | None = None,
    *,
    subtasks: Any = SUBTASKS,
    solutions: Any = SOLUTIONS,
    drop: str = "",
    **fields: Any,
) -> Path:
    header = {key: value for key, value in {**HEADER, **fields}.items() if key != drop}
    documents = {"problem.json": header, "subtasks.json": subtasks, "solutions.json": solutions}
    texts = {name: json.dumps(value) for name, value in documents.items()}
    for name, content in {**texts, **FILES, **(files or {})}.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return folder


def test_every_field_of_a_package_arrives(tmp_path: Path) -> None:
    package = read(write(tmp_path), "hills")
    assert (package.format, package.notes) == ("TPS", ())
    problem = sound(tmp_path)
    assert (problem.id, problem.name, problem.task_type) == ("hills", "Hills", TaskType.BATCH)
    assert (problem.limits.cpu_time, problem.limits.wall_time, problem.limits.memory) == (1.5, 4, 256 << 20)
    assert problem.options.with_grader
    names = [file.name for file in problem.grader_files]
    assert names == ["graders/Makefile", "graders/grader.cpp", "graders/hills.h"]
    assert problem.checker.kind is CheckerKind.CMS
    assert [file.name for file in problem.checker.sources] == ["checker/checker.cpp", "checker/testlib.h"]
    assert problem.manager is None
    assert [test.name for test in problem.tests] == ["0-01", "1-01", "2-01"]
    assert [(s.name, s.points, s.tests) for s in problem.subtasks] == [
        ("samples", 0, ("0-01",)),
        ("2^n", 30, ("1-01",)),
        ("full", 70, ("0-01", "1-01", "2-01")),
    ]


def test_solutions_have_a_verdict_for_each_subtask(tmp_path: Path) -> None:
    best, greedy = sound(write(tmp_path)).solutions
    assert (best.name, best.language, best.expected) == ("best.cpp", "c++", "model_solution")
    assert best.code == FILES["solution/best.cpp"]
    assert (best.each_subtask, dict(best.exceptions)) == (True, {})
    assert (greedy.language, greedy.expected) == ("python", "incorrect")
    assert dict(greedy.exceptions) == {"samples": "correct", "2^n": "time_limit"}


MANAGER = {"grader/manager.cpp": "int main() {}\n", "grader/testlib.h": "// a library\n"}


@pytest.mark.parametrize("fields", [{}, {"grader_name": "stub"}])
def test_a_manager_and_its_stub(tmp_path: Path, fields: dict[str, Any]) -> None:
    stub = {"grader/cpp/stub.cpp": "int main() { return 1; }\n", "grader/cpp/grader.cpp": None}
    problem = sound(write(tmp_path, {**MANAGER, **stub}, type="Communication", num_processes=2, **fields))
    assert (problem.options.with_grader, problem.options.processes) == (True, 2)
    assert problem.options.user_io == "std_io"
    assert problem.manager is not None
    names = [file.name for file in problem.manager.sources]
    assert names[0] == "graders/manager.cpp"
    assert {"graders/testlib.h", "graders/stub.cpp", "graders/hills.h"} <= set(names)
    # Where the package does not say so, a checker is not for a task with a manager.
    assert problem.checker.sources == ()


def test_a_grader_of_another_name_becomes_the_stub(tmp_path: Path) -> None:
    named = {"grader/cpp/main.cpp": "int main() { return 2; }\n"}
    problem = sound(write(tmp_path, {**MANAGER, **named}, type="Communication", grader_name="main"))
    (stub,) = [file for file in problem.grader_files if file.name == "graders/stub.cpp"]
    assert stub.content.read() == b"int main() { return 2; }\n"
    assert "graders/main.cpp" not in [file.name for file in problem.grader_files]


def test_a_manager_and_a_checker(tmp_path: Path) -> None:
    problem = sound(write(tmp_path, MANAGER, type="Communication", has_checker=True))
    assert problem.manager is not None
    assert problem.checker.sources[0].name == "checker/checker.cpp"


PARAMS = {
    "task_type_parameters_Communication_user_io": "fifo_io",
    "task_type_parameters_Communication_num_processes": 2,
    "manager_args": "--most 300",
}


def test_parameters_as_the_contest_system_s_list(tmp_path: Path) -> None:
    params = [2, "stub", "fifo_io"]
    options = sound(write(tmp_path, MANAGER, type="Communication", task_type_parameters=params)).options
    assert (options.processes, options.user_io) == (2, "fifo_io")


@pytest.mark.parametrize("params", [PARAMS, json.dumps(PARAMS)])
def test_parameters_hold_unless_a_field_says_otherwise(tmp_path: Path, params: Any) -> None:
    options = sound(write(tmp_path, MANAGER, type="Communication", type_params=params)).options
    assert (options.processes, options.user_io, options.manager_args) == (2, "fifo_io", ("--most", "300"))
    assert options.with_grader
    own = {"num_processes": 3, "user_io": "std_io"}
    options = sound(write(tmp_path, MANAGER, type="Communication", type_params=params, **own)).options
    assert (options.processes, options.user_io) == (3, "std_io")


def test_files_that_a_batch_task_reads_and_writes(tmp_path: Path) -> None:
    params = {"task_type_parameters_Batch_io_0_inputfile": "hills.in", "output_filename": "hills.out"}
    options = sound(write(tmp_path, type_params=params, has_grader=False)).options
    assert (options.input_file, options.output_file, options.with_grader) == ("hills.in", "hills.out", False)


def test_graders_in_c_lie_beside_those_in_cpp(tmp_path: Path) -> None:
    in_c = {"grader/c/main.c": "int main(void) {}\n", "grader/c/hills.h": "// not this one\n"}
    named = {**in_c, "grader/cpp/main.cpp": "int main() { return 2; }\n"}
    problem = sound(write(tmp_path, named, grader_name="main"))
    files = {file.name: file.content.read().decode() for file in problem.grader_files}
    assert files["graders/grader.c"] == in_c["grader/c/main.c"]
    assert files["graders/grader.cpp"] == named["grader/cpp/main.cpp"]
    assert files["graders/hills.h"] == FILES["grader/cpp/hills.h"]
    assert "graders/main.c" not in files


def test_a_grader_in_python(tmp_path: Path) -> None:
    named = {"grader/cpp/main.cpp": "int main() {}\n", "grader/py/main.py": "import hills\n"}
    files = {
        file.name: file.content.read().decode()
        for file in sound(write(tmp_path, named, grader_name="main")).grader_files
    }
    assert files["graders/grader.py"] == named["grader/py/main.py"]
    folder = write(tmp_path, named, name="random", grader_name="main")
    package = read(folder, "random")
    assert package.problem is not None
    assert "graders/grader.py" not in {file.name for file in package.problem.grader_files}
    assert "it cannot import submissions, which are named random.py. Rename the task" in str(package.notes)


def test_the_grader_of_two_steps_is_their_manager(tmp_path: Path) -> None:
    problem = sound(write(tmp_path, type="TwoSteps"))
    assert problem.manager is None
    assert problem.options.with_grader
    (manager,) = [file for file in problem.grader_files if file.name == "graders/manager.cpp"]
    assert manager.content.read() == FILES["grader/cpp/grader.cpp"].encode()


def test_files_that_are_handed_in(tmp_path: Path) -> None:
    files = {"solution/best/output_1-01.txt": "1\n", "solution/best/2-01.out": "2\n"}
    solutions = {"best": {"verdict": "correct"}, "greedy.py": {"verdict": "incorrect"}}
    folder = write(
        tmp_path, files, type="OutputOnly", solutions=solutions, drop="time_limit", memory_limit=None
    )
    problem = sound(folder)
    assert (problem.limits.cpu_time, problem.options.with_grader) == (None, False)
    (best,) = problem.solutions
    assert [(file.name, file.content.read()) for file in best.outputs] == [("1-01", b"1\n"), ("2-01", b"2\n")]
    assert "solution/greedy.py: ignored" in read(folder).notes[0]


def test_without_a_grader_and_without_a_checker(tmp_path: Path) -> None:
    absent = {name: None for name in FILES if name.startswith(("grader/", "checker/"))}
    problem = sound(write(tmp_path, absent, has_grader=False, has_checker=False))
    assert not problem.options.with_grader
    assert problem.checker.kind is CheckerKind.WHITE_DIFF


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path, {"solution/best.xyz": ""}, solutions={"best.xyz": {"verdict": "correct"}})
    assert sound(folder).solutions == ()
    assert "solution/best.xyz: ignored" in read(folder).notes[0]
    (folder / "solutions.json").unlink()
    assert "no expected results" in read(folder).notes[0]


def test_a_source_of_both_systems(tmp_path: Path) -> None:
    write(tmp_path / "packages" / "hills")
    problems = load_problems(tmp_path / "packages", cache=tmp_path / "cache", only={"hills"})
    assert list(problems) == ["hills"]
    (package,) = check_problems(tmp_path / "packages", cache=tmp_path / "cache")
    assert package.format == "TPS"


# --- what is wrong -----------------------------------------------------------------------------------

KEPT = {"samples": {"index": 0, "score": 0}, "2^n": {"index": 1, "score": 30}}


@pytest.mark.parametrize(
    ("changes", "where", "field", "words"),
    [
        ({"drop": "name"}, "problem.json", "name", "missing"),
        ({"name": "a/b"}, "problem.json", "name", "not an id"),
        ({"type": "Quiz"}, "problem.json", "type", "one of Batch"),
        (
            {"type": "Function"},
            "problem.json",
            "type",
            "is not one of Batch, Communication, OutputOnly, TwoSteps",
        ),
        ({"time_limit": 0}, "problem.json", "time_limit", "above 0"),
        ({"memory_limit": 256 << 20}, "problem.json", "memory_limit", "MB, not bytes"),
        ({"type": "Communication"}, "grader/manager.cpp", "", "missing file"),
        ({"grader_name": "main"}, "grader/cpp/main.cpp", "", "missing file"),
        ({"type_params": "{"}, "problem.json", "type_params", "broken JSON"),
        ({"has_chekcer": False}, "problem.json", "has_chekcer", "unknown key. Did you mean 'has_checker'"),
        (
            {"type_params": {"input_filename": "a/b"}},
            "problem.json",
            "type_params.inputfile",
            "plain file name",
        ),
        ({"has_checker": "yes"}, "problem.json", "has_checker", "true or false"),
        ({"subtasks": []}, "subtasks.json", "", "not a JSON object"),
        ({"subtasks": {"subtasks": 5}}, "subtasks.json", "subtasks", "not an object"),
        ({"solutions": []}, "solutions.json", "", "not a JSON object"),
        ({"solutions": {"best.cpp": 5}}, "solutions.json", "best.cpp", "not an object"),
        ({"solutions": {"best.cpp": None}}, "solutions.json", "best.cpp.verdict", "missing"),
        ({"solutions": {"best.cpp": {}}}, "solutions.json", "best.cpp.verdict", "missing"),
        ({"solutions": {"none.cpp": {"verdict": "x"}}}, "solution/none.cpp", "", "missing file"),
        (
            {"solutions": {"../../x.cpp": {"verdict": "x"}}},
            "solutions.json",
            "",
            "not the name of a solution",
        ),
        (
            {"solutions": {"best.cpp": {"verdict": "x", "exept": {"full": "y"}}}},
            "solutions.json",
            "best.cpp.exept",
            "Did you mean 'except'?",
        ),
        (
            {"solutions": {"best.cpp": {"verdict": "x", "except": {"ful": "y"}}}},
            "solutions.json",
            "best.cpp.except.ful",
            "Did you mean 'full'",
        ),
        (
            {"solutions": {"best.cpp": {"verdict": "x", "except": {"full": 3}}}},
            "solutions.json",
            "best.cpp.except.full",
            "not a text",
        ),
    ],
)
def test_a_wrong_field_is_named(
    tmp_path: Path, changes: dict[str, Any], where: str, field: str, words: str
) -> None:
    if isinstance(changes.get("subtasks"), Mapping | list):
        changes = {"files": {"tests/mapping": ""}, "solutions": {}, **changes}
    error = only_error(write(tmp_path, **changes), "hills")
    assert (error.where, error.field) == (f"hills/{where}", field)
    assert words in str(error)
    assert error.remedy


def test_a_mapping_with_a_mark_of_byte_order(tmp_path: Path) -> None:
    sound(write(tmp_path, {"tests/mapping": "\ufeff" + FILES["tests/mapping"]}), "hills")


@pytest.mark.parametrize(
    ("files", "where", "row", "words"),
    [
        ({"tests/mapping": None}, "tests/mapping", None, "tps gen"),
        ({"tests/mapping": FILES["tests/mapping"] + "ful 1-01"}, "tests/mapping", 8, "Did you mean 'full'"),
        ({"tests/mapping": FILES["tests/mapping"] + "full 1-1"}, "tests/mapping", 8, "unknown test '1-1'"),
        ({"tests/mapping": FILES["tests/mapping"] + "full"}, "tests/mapping", 8, "1 names"),
        ({"tests/mapping": "samples 0-01\nfull 1-01\n"}, "subtasks.json", None, "has no tests"),
        ({"checker/checker.cpp": None}, "problem.json", None, "cpp. Add it, or set this to false"),
        ({"subtasks.json": None, "tests/mapping": None}, "subtasks.json", None, "missing file"),
        ({"subtasks.json": "{"}, "subtasks.json", 1, "broken JSON"),
    ],
)
def test_a_broken_file_is_named(
    tmp_path: Path, files: dict[str, str | None], where: str, row: int | None, words: str
) -> None:
    error = only_error(write(tmp_path, files, solutions={}), "hills")
    assert (error.where, error.row) == (f"hills/{where}", row)
    assert words in str(error)


def test_tests_that_were_not_generated(tmp_path: Path) -> None:
    absent = {name: None for name in FILES if name.startswith("tests/")}
    package = read(write(tmp_path, absent))
    assert {"no tests", "missing file"} <= {error.problem for error in package.errors}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from([*HEADER, "num_processes"]), JSON), JSON, JSON)
def test_any_documents_are_a_problem_or_faults(
    tmp_path_factory: pytest.TempPathFactory, header: Any, subtasks: Any, solutions: Any
) -> None:
    folder = write(
        tmp_path_factory.mktemp("package"), subtasks={"subtasks": subtasks}, solutions=solutions, **header
    )
    package = Tps().read_package(folder, "x")
    assert (package.problem is None) is bool(package.errors)
    assert all(error.where for error in package.errors)


EXPORTED = '{"task_type_parameters_Batch_compilation": "alone"}'


def test_parameters_under_the_contest_systems_key_are_read(tmp_path: Path) -> None:
    options = sound(write(tmp_path, task_type_params=EXPORTED, has_grader=False)).options
    assert not options.with_grader


def test_parameters_under_both_keys_are_refused_if_they_differ(tmp_path: Path) -> None:
    other = {"compilation": "grader"}
    error = only_error(write(tmp_path, task_type_params=EXPORTED, type_params=other, has_grader=False))
    assert (error.field, error.remedy) == ("task_type_params", "Remove type_params or task_type_params")


def test_equal_parameters_under_both_keys_are_read(tmp_path: Path) -> None:
    folder = write(tmp_path, task_type_params=EXPORTED, type_params=EXPORTED, has_grader=False)
    assert not sound(folder).options.with_grader
