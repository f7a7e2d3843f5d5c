"""Packages in the ICPC's format: a folder becomes a problem, and each thing that is wrong a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kattis_files import FILES, HEADER, VALIDATOR, without, write
from package_files import only_error, read, sound, zipped

from ioi_eval.errors import JudgeFailure
from ioi_eval.judge.recipes import linked_grader
from ioi_eval.model.languages import find
from ioi_eval.models import CheckerKind, Limits, TaskType
from ioi_eval.problems import load_problems
from ioi_eval.problems.kattis import Kattis
from ioi_eval.rules.languages import admitted

pytestmark = pytest.mark.once


def test_every_field_of_a_package_arrives(tmp_path: Path) -> None:
    folder = write(tmp_path / "doubling")
    package = read(folder, "doubling")
    assert (package.format, package.notes) == ("Kattis", ())
    problem = sound(folder)
    assert (problem.id, problem.name, problem.task_type) == ("doubling", "Doubling", TaskType.BATCH)
    limits = problem.limits
    assert (limits.cpu_time, limits.wall_time) == (2, 5)
    assert (limits.memory, limits.output) == (256 << 20, 8 << 20)
    assert problem.time_from_solutions is None
    assert [test.name for test in problem.tests] == ["sample/1", "secret/01-small", "secret/02-big"]
    assert problem.tests[2].input.read() == b"9\n"
    assert problem.tests[2].answer is not None
    assert problem.tests[2].answer.read() == b"18\n"
    assert (problem.subtasks, problem.manager) == ((), None)
    assert [(s.name, s.language, s.expected) for s in problem.solutions] == [
        ("best.cpp", "c++", "accepted"),
        ("off.py", "python", "wrong_answer"),
    ]


def test_an_empty_header_is_all_defaults(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", header=""))
    assert (problem.id, problem.name, problem.limits.memory) == ("p", "p", 2048 << 20)


@pytest.mark.parametrize(("name", "expected"), [("2048", "2048"), ("{sv: Ett, en: One}", "One"), ("", "p")])
def test_names_that_are_no_texts(tmp_path: Path, name: str, expected: str) -> None:
    assert sound(write(tmp_path / "p", header=f"name: {name}\n")).name == expected


@pytest.mark.parametrize(("top", "expected"), [("", "archive"), ("inner", "inner")])
def test_a_zip_is_called_by_its_folder_or_its_name(
    tmp_path: Path, cache: Path, top: str, expected: str
) -> None:
    archive = zipped(write(tmp_path / "p"), tmp_path / "archive.kpp", top=top)
    problems = load_problems(archive, cache=cache, only={expected})
    assert list(problems) == [expected]
    assert problems[expected].limits.cpu_time == 2


def test_a_folder_is_called_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path / "p"))
    assert sound(Path()).id == "p"


# --- limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "files", "expected"),
    [
        ("limits: {time_limit: 1.5}", {}, 1.5),
        ("", {".timelimit": "0.5\n"}, 0.5),
        ("", {".timelimit": None, "domjudge-problem.ini": "timelimit='3'\n"}, 3),
        ("", {".timelimit": None, "domjudge-problem.ini": "color = red\ntimelimit = 10\n"}, 10),
        ("", {".timelimit": None, "domjudge-problem.ini": "\ufefftimelimit = 10\n"}, 10),
        ("", {".timelimit": "\ufeff0.5\n"}, 0.5),
    ],
)
def test_where_the_time_limit_stands(
    tmp_path: Path, header: str, files: dict[str, str | None], expected: float
) -> None:
    problem = sound(write(tmp_path / "p", files, header=header))
    assert (problem.limits.cpu_time, problem.time_from_solutions) == (expected, None)


@pytest.mark.parametrize(
    ("limits", "own"),
    [
        ("{memory: 256}", None),
        ("{validation_time: 40}", Limits(cpu_time=40)),
        ("{validation_memory: 64}", Limits(memory=64 << 20)),
        ("{validation_time: 0.5, validation_memory: 8192}", Limits(cpu_time=0.5, memory=8 << 30)),
    ],
)
def test_what_a_validator_may_take(tmp_path: Path, limits: str, own: Limits | None) -> None:
    header = f"limits: {limits}\nvalidation: "
    ways = ("custom", "custom interactive", "default")
    found = [sound(write(tmp_path / way.split()[-1], VALIDATOR, header=header + way)) for way in ways]
    assert [(one.checker.limits, one.manager and one.manager.limits) for one in found] == [
        (own, None),
        (None, own),
        (None, None),
    ]


@pytest.mark.parametrize(("header", "factor"), [("", 5), ("limits: {time_multiplier: 3}", 3)])
@pytest.mark.parametrize("ini", [None, "color = red\n", "not an [ini"])
def test_a_time_limit_that_solutions_set(tmp_path: Path, header: str, factor: float, ini: str | None) -> None:
    folder = write(tmp_path / "p", {".timelimit": None, "domjudge-problem.ini": ini}, header=header)
    problem = sound(folder)
    assert (problem.limits.cpu_time, problem.limits.wall_time) == (None, None)
    assert problem.time_from_solutions == factor
    assert f"{factor} times what the slowest accepted solution takes" in read(folder).notes[0]


# --- comparing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", (False, False, None, None)),
        ("case_sensitive", (True, False, None, None)),
        ("space_change_sensitive", (False, True, None, None)),
        ("float_tolerance 1e-6", (False, False, 1e-6, 1e-6)),
        ("float_absolute_tolerance 0.5 case_sensitive", (True, False, 0.5, None)),
        ("float_relative_tolerance .25", (False, False, None, 0.25)),
        ("float_tolerance 1 float_absolute_tolerance 2", (False, False, 2, 1)),
    ],
)
def test_flags_of_the_default_validator(tmp_path: Path, flags: str, expected: tuple[Any, ...]) -> None:
    own = sound(write(tmp_path / "p", header=f"validator_flags: {flags}\n")).checker
    data = {"data/testdata.yaml": f"output_validator_flags: {flags}\n"}
    inherited = sound(write(tmp_path / "q", data)).checker
    for checker in (own, inherited):
        assert checker.kind is CheckerKind.TOKENS
        got = (checker.case_sensitive, checker.space_sensitive, checker.absolute, checker.relative)
        assert got == expected


CUSTOM = HEADER + "validation: custom\nvalidator_flags: 7 strict\n"


def test_a_validator(tmp_path: Path) -> None:
    files = {**VALIDATOR, "output_validators/validate.h": "// shared\n", "data/secret/02-big.ans": None}
    problem = sound(write(tmp_path / "p", files, header=CUSTOM))
    assert (problem.checker.kind, problem.checker.arguments) == (CheckerKind.ICPC, ("7", "strict"))
    names = [file.name for file in problem.checker.sources]
    assert names == ["output_validators/check.cpp", "output_validators/validate.h"]
    assert (problem.checker.language, problem.checker.full) == ("c++", 1)
    assert problem.tests[2].answer is None


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["a.h", "z.py"], "z.py"),
        (["a.cpp", "main.cpp"], "main.cpp"),
        (["a.cpp", "validate.cc", "main.cpp"], "validate.cc"),
        (["a.cpp", "judge.cpp"], "judge.cpp"),
    ],
)
def test_a_validator_of_several_files(tmp_path: Path, names: list[str], first: str) -> None:
    files = {f"output_validators/judge/{name}": "" for name in names}
    sources = sound(write(tmp_path / "p", files, header=CUSTOM)).checker.sources
    assert sources[0].name == f"output_validators/judge/{first}"
    assert len(sources) == len(names)


def test_an_interactor(tmp_path: Path) -> None:
    header = CUSTOM.replace("custom", "custom interactive")
    problem = sound(write(tmp_path / "p", VALIDATOR, header=header))
    assert problem.task_type is TaskType.INTERACTIVE
    assert problem.manager is not None
    assert (problem.manager.kind, problem.manager.language) == (CheckerKind.ICPC, "c++")
    assert problem.manager.sources[0].name == "output_validators/check.cpp"
    assert problem.options.manager_args == ("7", "strict")
    assert problem.checker.sources == ()


# --- submissions -------------------------------------------------------------------------------------


def expected(folder: Path) -> dict[str, str]:
    return {solution.name: solution.expected for solution in sound(folder).solutions}


def test_tags_say_more_than_folders(tmp_path: Path) -> None:
    files = {
        "submissions/mixed/a.cpp": "// @EXPECTED_RESULTS@: WRONG-ANSWER\nint main() {}\n",
        "submissions/mixed/b.py": "#!/bin/x\n# @EXPECTED_RESULTS@: ACCEPTED, TIME_LIMIT_EXCEEDED\n",
        "submissions/wrong_answer/c.cpp": "/*\n * @expected_results@: CORRECT\n */\n",
    }
    assert expected(write(tmp_path / "p", files)) == {
        "a.cpp": "WRONG-ANSWER",
        "b.py": "ACCEPTED, TIME_LIMIT_EXCEEDED",
        "best.cpp": "accepted",
        "c.cpp": "CORRECT",
        "off.py": "wrong_answer",
    }


def test_a_folder_that_says_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", {"submissions/other/x.cpp": "int main() {}\n"})
    assert expected(folder)["x.cpp"] == ""
    assert "submissions/other/x.cpp: nothing is known" in read(folder).notes[0]


def test_submissions_in_a_foreign_language_are_told(tmp_path: Path) -> None:
    files = {"submissions/accepted/best.d": "void main() {}", "submissions/accepted/README.md": "slow"}
    assert read(write(tmp_path / "p", files), "p").notes == (
        "p/submissions/accepted/best.d: left out: not in a known language",
    )


def test_submissions_of_several_files(tmp_path: Path) -> None:
    files = {
        "submissions/accepted/one/main.cpp": "int one;\n",
        "submissions/accepted/one/README": "",
        "submissions/accepted/two/a.cpp": "int a;\n",
        "submissions/accepted/two/b.cpp": "",
        "submissions/accepted/two/inner/b.h": "",
        "submissions/accepted/three.txt": "",
        "submissions/wrong_answer/four/__main__.py": "import four\n",
        "submissions/wrong_answer/four/four.py": "# @EXPECTED_RESULTS@: RUN_TIME_ERROR\n",
        "submissions/wrong_answer/four/data.txt": "",
    }
    problem = sound(write(tmp_path / "p", files))
    read_as = {one.name: (one.code, [file.name for file in one.files]) for one in problem.solutions}
    assert read_as["one"] == ("int one;\n", [])
    assert read_as["two"] == ("int a;\n", ["b.cpp", "inner/b.h"])
    assert read_as["four"] == ("import four\n", ["four.py"])
    (four,) = [one for one in problem.solutions if one.name == "four"]
    assert (four.language, four.expected) == ("python", "RUN_TIME_ERROR")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a.cpp", "b.py"], "sources in several languages"),
        (["a.cpp", "build", "run"], "the format gives no scripts (build, run) to submissions"),
        (["README"], "no source in a known language"),
        (["a.py", "b.py"], "which source is started is not clear; call it __main__"),
        (["inner/main.py", "a.py", "b.py"], "which source is started is not clear"),
        (["src/a.cpp", "include/a.h"], "a.cpp has sources in folders above it"),
    ],
)
def test_folders_that_are_no_program(tmp_path: Path, names: list[str], words: str) -> None:
    folder = write(tmp_path / "p", {f"submissions/accepted/it/{name}": "" for name in names})
    assert "it" not in expected(folder)
    (note,) = read(folder).notes
    assert note.startswith("sum/submissions/accepted/it: left out: ")
    assert words in note


# --- what is wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "field", "words"),
    [
        ("problem_format_version: 2031-07", "problem_format_version", "2031-07 is not read"),
        ("type: contest", "type", "neither pass-fail nor scoring"),
        ("type: [scoring]", "type", "not a text"),
        ("validation: magic", "validation", "'magic' is not understood"),
        (
            "validation: custom multi-pass\nlimits: {validation_passes: 1}",
            "limits.validation_passes",
            "from 2",
        ),
        ("validation: default score", "validation", "not understood"),
        ("validation: custom multipass", "validation", "not understood"),
        ("validation: custom score", "validation", "not understood"),
        ("validator_flags: float_tolerence 1", "validator_flags", "no flag of the default"),
        ("validator_flags: float_tolerance", "validator_flags", "'' is not a tolerance"),
        ("validator_flags: float_tolerance nan", "validator_flags", "'nan' is not a tolerance"),
        ("limits: 5", "limits", "not an object"),
        ("limits: {time_limit: 0}", "limits.time_limit", "above 0"),
        ("limits: {time_limit: 1000}", "limits.time_limit", "It counts seconds, not milliseconds"),
        ("limits: {memory: 268435456}", "limits.memory", "MiB, not bytes"),
        (
            "validation: custom\nlimits: {validation_time: 60000}",
            "limits.validation_time",
            "It counts seconds, not milliseconds",
        ),
        ("limits: {memory: lots}", "limits.memory", "whole number"),
        ("limits: {output: -1}", "limits.output", "above 0"),
        ("limits: {memory_limit: 64}", "limits.memory_limit", "or 'memory'"),
        ("limits: {time_limits: 1}", "limits.time_limits", "Did you mean 'time_limit'"),
        ("memory: 64", "memory", "Move it into limits"),
        ("validator: custom", "validator", "Did you mean 'validation'"),
        ("validator_flag: case_sensitive", "validator_flag", "Did you mean 'validator_flags'"),
        ("type: scoring\ngrading: {objective: min}", "grading.objective", "fewest points"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, header: str, field: str, words: str) -> None:
    files = VALIDATOR if "custom" in header else {}
    package = read(write(tmp_path / "p", files, header=header + "\n"), "p")
    (error,) = {(error.where, error.field): error for error in package.errors}.values()
    assert (error.where, error.field) == ("p/problem.yaml", field)
    assert words in str(error)
    assert error.remedy


def test_keys_that_decide_nothing_are_passed_over(tmp_path: Path) -> None:
    header = "name: x\ntranslations: [de]\nlimits: {time_limit: 1, colour: red}\n"
    package = read(write(tmp_path / "p", header=header), "p")
    assert package.errors == ()
    words = "limits.colour: the format knows no such key, and it is passed over"
    assert package.notes == (f"p/problem.yaml: {words}",)


@pytest.mark.parametrize(
    ("files", "header", "where", "words"),
    [
        ({"problem.yaml": "a: [1\n"}, None, "problem.yaml", "line 2: broken YAML"),
        ({"problem.yaml": "- a\n"}, None, "problem.yaml", "not a YAML mapping"),
        ({"problem.yaml": "a: &x 1\nb: *x\n"}, None, "problem.yaml", "line 2: broken YAML: aliases"),
        (
            {"problem.yaml": "a: 1\nb: {c: 1, c: 2}\n"},
            None,
            "problem.yaml",
            'line 2: broken YAML: the key "c" is',
        ),
        ({"problem.yaml": "a: 2024-99-99\n"}, None, "problem.yaml", "broken YAML"),
        ({"problem.yaml": "a: !!python/name:os.system\n"}, None, "problem.yaml", "broken YAML"),
        ({"problem.yaml": "[" * 500}, None, "problem.yaml", "broken YAML"),
        ({".timelimit": "soon"}, None, ".timelimit", "not a number of seconds"),
        ({".timelimit": "0"}, None, ".timelimit", "not a number of seconds"),
        (without("data/"), None, "data/secret", "no tests"),
        (without("data/secret/"), None, "data/secret", "no tests"),
        ({"data/secret/g/testdata.yaml": "range: 0 9\n"}, None, "data/secret/g/testdata.yaml", "no tests"),
        ({"data/secret/01-small.in": None}, None, "data/secret/01-small.in", "missing file"),
        ({"data/secret/01-small.ans": None}, None, "data/secret/01-small.ans", "missing file"),
        (
            {**VALIDATOR, "data/secret/1.in": "", "data/secret/1.out": ""},
            CUSTOM,
            "data/secret/1.out",
            "looks like an answer. Call it 1.ans",
        ),
        ({"data/secret/testdata.yaml": "{"}, None, "data/secret/testdata.yaml", "broken YAML"),
        (
            {"data/secret/testdata.yaml": "output_validator_flags: case_senstive\n"},
            None,
            "data/secret/testdata.yaml",
            "'case_senstive' is no flag of the default validator",
        ),
        (
            {"data/secret/testdata.yaml": "output_validators_flags: float_tolerance 1e-6\n"},
            None,
            "data/secret/testdata.yaml",
            "the format knows no such key. Did you mean 'output_validator_flags'",
        ),
        (
            {"include/default/main.py": ""},
            None,
            "include/default/main.py",
            "would be started in the place of",
        ),
        ({}, CUSTOM, "output_validators", "no program"),
        ({**VALIDATOR, "output_validators/b.py": ""}, CUSTOM, "output_validators", "2 programs"),
        (
            {"output_validators/v/a.cpp": "", "output_validators/v/b.cpp": ""},
            CUSTOM,
            "output_validators/v",
            "not clear",
        ),
    ],
)
def test_a_broken_file_is_named(
    tmp_path: Path, files: dict[str, str | None], header: str | None, where: str, words: str
) -> None:
    error = only_error(write(tmp_path / "p", files, header=header), "p")
    assert error.where == f"p/{where}"
    assert words in str(error)
    assert error.remedy


def test_a_name_that_is_no_id(tmp_path: Path) -> None:
    assert "'a b' is not an id" in str(only_error(write(tmp_path / "a b"), "a b"))


WORDS = ["scoring", "custom", "custom score", "min", "x", "0 20", "1e3", "-1", "3", ""]
ODD = ["[1, 2]", "{a: 1}", "2024-01-01", ".nan", "0x" + "f" * 5000, "~"]
YAML = st.sampled_from([*WORDS, *ODD])
SETTINGS = ["grading", "grader_flags", "accept_score", "reject_score", "range", "output_validator_flags"]
KEYS = ["name", "type", "validation", "validator_flags", "limits", "grading", "problem_format_version"]


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(KEYS), YAML), st.dictionaries(st.sampled_from(SETTINGS), YAML))
def test_any_header_is_a_problem_or_faults(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, str], data: dict[str, str]
) -> None:
    def text(values: dict[str, str]) -> str:
        return "".join(f"{key}: {value}\n" for key, value in values.items())

    folder = write(
        tmp_path_factory.mktemp("p"), {"data/secret/testdata.yaml": text(data)}, header=text(header)
    )
    package = Kattis().read_package(folder, "x")
    assert (package.problem is None) is bool(package.errors)
    assert all(error.where for error in package.errors)


def test_settings_of_a_group_that_the_format_does_not_know(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", {"data/secret/testdata.yaml": "author: me\ngrader_flags: min\n"})
    (note,) = read(folder, "p").notes
    assert note == "p/data/secret/testdata.yaml: author: the format knows no such key, and it is passed over"


def test_the_files_of_these_tests_are_a_package(tmp_path: Path) -> None:
    assert len(sound(write(tmp_path / "p")).solutions) == 2
    assert set(FILES) > {"problem.yaml"}


def test_files_beside_every_submission(tmp_path: Path) -> None:
    files = {
        "include/cpp/x/a.h": "",
        "include/python3/b.py": "",
        "include/default/c.txt": "",
        "include/klingon/d": "",
    }
    package = read(write(tmp_path / "p", files))
    assert package.problem is not None
    names = {file.name for file in package.problem.included}
    assert names == {"c++/x/a.h", "python/b.py", "default/c.txt"}
    assert "include/klingon: left out: no language that is known" in "".join(package.notes)


@pytest.mark.parametrize(
    ("header", "passes"),
    [
        ("validation: custom\n", 1),
        ("validation: custom multi-pass\n", 2),
        ("validation: custom multi-pass\nlimits: {validation_passes: 5}\n", 5),
        ("type: scoring\nvalidation: custom score multi-pass\n", 2),
    ],
)
def test_validators_that_ask_for_more_passes(tmp_path: Path, header: str, passes: int) -> None:
    ranges = {f"data/{place}testdata.yaml": "range: 0 5\n" for place in ("", "sample/", "secret/")}
    problem = sound(write(tmp_path / "p", {**VALIDATOR, **ranges}, header=header))
    assert (problem.checker.kind, problem.checker.passes) == (CheckerKind.ICPC, passes)


@pytest.mark.parametrize(
    ("file", "source", "call"),
    [
        ("include/cpp/runner.cpp", "int main() {\n  if (!vfork()) phase(1);\n}\n", "vfork"),
        ("include/c/runner.c", 'int main() { return ::system ("./again"); }\n', "system"),
        ("include/c/runner.c", 'int main() { return system ("./again"); }\n', "system"),
        ("include/python3/runner.py", "import os\nos.system('phase')\n", "os.system"),
        ("include/cpp/runner.cpp", "// no fork() here\n/* nor\n fork() */ int main() { road.fork(); }\n", ""),
        ("include/python3/runner.py", "# fork() is not called\nprint(1)\n", ""),
    ],
)
def test_runners_that_start_processes(tmp_path: Path, file: str, source: str, call: str) -> None:
    suffix = file.partition(".")[2]  # a runner's language is the only one with an accepted solution
    own = {"submissions/accepted/best.cpp": None, f"submissions/accepted/best.{suffix}": ""}
    folder = write(tmp_path / "p", {**own, file: source})
    if not call:
        assert [one.name for one in sound(folder).included]
        return
    error = only_error(folder, "p")
    assert error.where == f"p/{file}"
    assert f"it calls {call}. It may fork; submissions start no other programs" in str(error)


CASES_LEFT_OUT = {
    "program that is started": (
        {"include/python3/main.py": ""},
        ["pypy", "python"],
        "it would be started in",
    ),
    "call": ({"include/c/run.c": 'int main() { system("x"); }\n'}, ["c"], "it calls system. It may fork"),
    "forks": (
        {"include/java/Run.java": "// {}\nvoid f() { fork(); }\n"},
        ["java"],
        "solution in java is there",
    ),
}


@pytest.mark.parametrize("case", CASES_LEFT_OUT)
def test_language_whose_included_file_cannot_be_used_is_left_out(tmp_path: Path, case: str) -> None:
    files, languages, words = CASES_LEFT_OUT[case]
    package = read(write(tmp_path / "p", {**files, "include/cpp/own.h": "\n"}), "p")
    problem = package.problem
    assert problem is not None, package.errors
    assert sorted(problem.left_out) == languages
    assert [file.name for file in problem.included] == ["c++/own.h"]
    assert not {language.name for language in admitted(problem)} & {*languages}
    assert not {solution.language for solution in problem.solutions} & {*languages}
    (note,) = (note for note in package.notes if "is left out: " in note)
    assert words in note
    with pytest.raises(
        JudgeFailure, match=f"is not judged in {languages[0]}: {next(iter(files))}"
    ) as failure:
        linked_grader(problem, find(languages[0]))
    assert failure.value.final


FORKS = {"include/cpp/runner.cpp": "int main() {\n  if (!fork()) phase(1);\n}\n"}


def test_a_runner_that_forks_is_measured_on_accepted_solutions(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", FORKS))
    assert problem.forks_by == ("c++/runner.cpp",)
    assert problem.options.forks is None


def test_a_runner_that_forks_needs_an_accepted_solution_of_its_language(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", {**FORKS, "submissions/wrong_answer/one.cpp": ""})
    (folder / "submissions/accepted/best.cpp").unlink()
    error = only_error(folder, "p")
    assert error.where == "p/include/cpp/runner.cpp"
    assert "it forks; no accepted solution in c++ is there. Add an accepted solution in c++" in str(error)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("data/secret/testdata.yml", "no file of settings by its name. Call it testdata.yaml"),
        ("data/secret/test_group.yaml", "no file of settings by its name. Call it testdata.yaml"),
        ("data/Testdata.yaml", "no file of settings by its name. Call it testdata.yaml"),
        ("data/secret/03-more.IN", "no test by its name. Call it 03-more.in"),
    ],
)
def test_files_that_would_be_passed_over(tmp_path: Path, name: str, words: str) -> None:
    """Points, flags or tests would be missing without a word."""
    error = only_error(write(tmp_path / "p", {name: "output_validator_flags: case_sensitive\n"}))
    assert error.where.endswith(name)
    assert words in str(error)


@pytest.mark.parametrize("place", ["output_validators", "output_validator"])
def test_validators_that_are_not_asked_are_told(tmp_path: Path, place: str) -> None:
    """The format compares outputs with the answers then, which its author may not have meant."""
    package = read(write(tmp_path / "p", {f"{place}/check.cpp": "int main() {}\n"}), "p")
    words = "its validators are passed over, as `validation` does not say custom"
    assert f"p/{place}: {words}" in package.notes


@pytest.mark.parametrize("name", ["data/metadata.yaml", "data/sample/test1.yaml", "data/secret/data.yaml"])
def test_files_that_are_no_settings_by_any_name(tmp_path: Path, name: str) -> None:
    """The second describes a sample that is shown only as an interaction."""
    sound(write(tmp_path / "p", {name: "hint: small\n"}))


def test_solutions_in_a_folder_in_capitals(tmp_path: Path) -> None:
    """No score depends on them."""
    package = read(write(tmp_path / "p", {"Submissions/wrong_answer/a.py": "print()\n"}))
    assert package.problem is not None
    assert any("the format has submissions" in note for note in package.notes)
