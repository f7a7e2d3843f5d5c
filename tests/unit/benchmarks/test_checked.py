"""AetherCode, CodeContests+ and LiveCodeBench Pro: checkers and interactors with testlib judge."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from benchmark_tables import write_table
from hub_rows import ADD, contents, listed, loaded
from judged import statuses
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, Loaded, find_benchmark, load
from testlib_files import ABOVE, HALVES, HEADER, HIDDEN, write_header

from ioi_eval import Scorer
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, TaskType
from ioi_eval.models import Verdict as V
from ioi_eval.problems import package as testlib

pytestmark = pytest.mark.once

TESTS = [{"input": "1 2\n", "output": "3\n"}, {"input": "30 4\n", "output": "34\n"}]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where testlib.h lies beside the data, and nowhere else."""
    monkeypatch.setattr(testlib, "_SYSTEM", ())
    write_header(tmp_path / "copies")
    return tmp_path


def aethercode(number: int = 60173, **columns: Any) -> dict[str, Any]:
    return {
        "id": number,
        "description": "Add two numbers.",
        "time_limit": 2000,
        "memory_limit": 256,
        "checker": ABOVE,
        "test_cases": TESTS,
        "year": 2024,
        "date": "2024/11/17",
        "difficulty": "Easy",
        "contest_category": "ICPC East Asia Regionals",
        "contest_name": "The 2024 Regional Contest",
        **columns,
    }


def contests_plus(name: str = "1575_A", **columns: Any) -> dict[str, Any]:
    return {
        "source": "Codeforces",
        "id": name,
        "title": "Add",
        "description": "Add two numbers.",
        "time_limit": 2000,
        "memory_limit": 256,
        "validator": "",
        "generator": "",
        "generator_cmd": "",
        "checker": ABOVE,
        "correct_submissions": [{"code": "print(9999)", "language": "py3"}],
        "incorrect_submissions": [{"code": "print(0)", "language": "py2"}],
        "test_cases": TESTS,
        "true_positive_rate": 1.0,
        "true_negative_rate": 0.9,
        **columns,
    }


async def test_a_row_of_aethercode(scorer: Scorer, home: Path) -> None:
    problem = loaded(home, "aethercode", [aethercode()], schema=False)["60173"]
    assert (problem.limits.cpu_time, problem.limits.memory) == (2, 256 << 20)
    assert (problem.year, problem.difficulty) == (2024, "Easy")
    assert problem.tags == ("ICPC East Asia Regionals", "The 2024 Regional Contest")
    assert contents(problem) == [("1 2\n", "3\n"), ("30 4\n", "34\n")]
    assert await statuses(scorer, problem, "print(20)") == [V.AC, V.WA]
    assert await statuses(scorer, problem, "print('many')") == [V.WA, V.WA]


async def test_words_are_compared_without_a_checker(scorer: Scorer, home: Path) -> None:
    problem = loaded(home, "aethercode", [aethercode(checker="")], schema=False)["60173"]
    assert problem.checker.kind is CheckerKind.TOKENS
    assert await statuses(scorer, problem, ADD) == [V.AC, V.AC]
    assert await statuses(scorer, problem, "print(3)") == [V.AC, V.WA]


def test_contests_by_day_and_difficulty(home: Path) -> None:
    rows = [aethercode(), aethercode(60174, date="2025/05/11", year=2025, difficulty="Hard")]
    assert list(loaded(home, "aethercode", rows, schema=False, date_from="2025-01-01")) == ["60174"]
    assert list(loaded(home, "aethercode", rows, schema=False, difficulty=frozenset({"easy"}))) == ["60173"]


async def test_a_row_of_code_contests_plus(scorer: Scorer, home: Path) -> None:
    name = "Code-Contests-Plus/ccplus_1x/part-00000.parquet"
    write_table(home / "copies" / name, [contests_plus(), contests_plus("1575_B", time_limit=2.5)])
    options = BenchmarkOptions(data_dir=str(home / "copies"))
    problems = load(find_benchmark("code_contests_plus"), options, cache=home / "cache")
    problem = problems.find("1575/A")
    assert (problem.id, problem.name, problem.tags) == ("1575_A", "Add", ("Codeforces",))
    assert [problems[name].limits.cpu_time for name in problems] == [2, 2.5], "of milliseconds, of seconds"
    assert await statuses(scorer, problem, "print(20)") == [V.AC, V.WA]
    own = [(one.language, one.expected) for one in problems.references("1575_A")]
    assert own == [("python3", "correct"), ("python2", "rejected")]


def test_testlib_is_asked_for_once_and_clearly(home: Path) -> None:
    (home / "copies" / "testlib.h").unlink()
    with pytest.raises(InputError, match=r"checker.cpp includes testlib.h.*beside the data"):
        loaded(home, "aethercode", [aethercode()], schema=False)


def test_a_testlib_whose_checkers_always_exit_with_0_is_refused(home: Path) -> None:
    """That of the contest system writes scores: every program would be right."""
    changed = "int resultExitCode(TResult) {\n  if (testlibMode == _checker)\n    return 0;  // CMS\n}\n"
    (home / "copies" / "testlib.h").write_text(HEADER + changed)
    with pytest.raises(InputError, match=r"checker.cpp tells by its exit code.* always 0.*MikeMirzayanov"):
        loaded(home, "aethercode", [aethercode()], schema=False)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"test_cases": [{"input": "1", "output": None}]}, "item 1 lacks a text"),
        ({"test_cases": [{"input": "1"}]}, "is not a list of objects with input, output"),
        ({"time_limit": 0}, "0 is not a number above 0"),
    ],
)
def test_broken_rows_are_named(home: Path, columns: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        loaded(home, "aethercode", [aethercode(**columns)], schema=False)
    assert caught.value.row == 1


def test_a_row_without_tests(home: Path) -> None:
    problems = loaded(home, "aethercode", [aethercode(test_cases=[]), aethercode(2)], schema=False)
    assert problems["60173"].unusable == "No test cases provided"


def test_all_three_are_listed(cli: CommandLine, home: Path) -> None:
    assert "60173" in listed(cli, home, "aethercode", [aethercode()], "--tag", "icpc east asia regionals")
    assert "1575_A" in listed(cli, home, "code_contests_plus", [contests_plus()], "--split", "test")
    done = cli("problems", "livecodebench_pro", "--data-dir", write_pro(home, n2000b=HIDING))
    assert done.returncode == 0 and "testlib" in done.stdout, done.stderr
    assert "1 problem left out: the dataset has no tests of it" in done.stdout


# --- LiveCodeBench Pro -------------------------------------------------------------------------------

CONFIG = "type: default\ntime: 2s\nmemory: 256m\nchecker: chk.cc\nsubtasks:\n- score: 100\n  n_cases: 2\n"
ASKS = CONFIG.replace("default", "interactive").replace("checker: chk.cc\n", "interactor: interactor.cc\n")
DATA = {
    "testdata/1.in": "1 2\n",
    "testdata/1.ans": "4\n",
    "testdata/2.in": "30 4\n",
    "testdata/2.ans": "35\n",
}
PLAIN = {"config.yaml": CONFIG, "chk.cc": ABOVE, **DATA}
HIDING = {
    "config.yaml": ASKS,
    "interactor.cc": HIDDEN,
    **DATA,
    "testdata/1.in": "77\n",
    "testdata/2.in": "3\n",
}


def write_pro(folder: Path, **packages: dict[str, str]) -> Path:
    rows = [
        {
            "problem_id": name,
            "problem_title": name.upper(),
            "difficulty": "easy",
            "platform": "Codeforces",
            "problem_statement": "Add two numbers.",
        }
        for name in (*packages, "unpacked")
    ]
    copies = folder / "copies"
    for quarter in ("quater_2024_10_12", "quater_2025_1_3"):
        write_table(copies / "LiveCodeBench-Pro" / "data" / f"{quarter}-00000-of-00001.parquet", rows)
    for name, files in packages.items():
        archive = copies / "LiveCodeBench-Pro-Testcase" / f"{name}.zip"
        archive.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(archive, "w") as opened:
            for path, content in files.items():
                opened.writestr(path, content)
    return copies


def pro(folder: Path, **packages: dict[str, str]) -> Loaded:
    options = BenchmarkOptions(data_dir=str(write_pro(folder, **packages)))
    return load(find_benchmark("livecodebench-pro"), options, cache=folder / "cache")


async def test_a_zip_with_a_checker(scorer: Scorer, home: Path) -> None:
    problems = pro(home, n2000a=PLAIN)
    assert problems.left_out == {"the dataset has no tests of it": 1}
    problem = problems["n2000a"]
    assert (problem.name, problem.tags, problem.difficulty) == ("N2000A", ("Codeforces",), "easy")
    assert (problem.limits.cpu_time, problem.limits.memory) == (2, 256 << 20)
    assert contents(problem) == [("1 2\n", "4\n"), ("30 4\n", "35\n")]
    assert await statuses(scorer, problem, "print(20)") == [V.AC, V.WA]


async def test_a_zip_with_an_interactor(scorer: Scorer, home: Path) -> None:
    problem = pro(home, n2000b=HIDING)["n2000b"]
    assert problem.task_type is TaskType.INTERACTIVE
    assert await statuses(scorer, problem, HALVES) == [V.AC, V.AC]
    assert (await statuses(scorer, problem, "for n in range(8): print(n, flush=True), input()"))[0] is V.WA


def test_a_zip_that_changes_is_read_anew(home: Path) -> None:
    assert len(pro(home, a=PLAIN)["a"].tests) == 2
    assert (
        len(pro(home, a={**PLAIN, "config.yaml": CONFIG.replace("n_cases: 2", "n_cases: 1")})["a"].tests) == 1
    )


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({**PLAIN, "config.yaml": CONFIG.replace("n_cases: 2", "n_cases: 3")}, "missing file"),
        ({**PLAIN, "config.yaml": CONFIG.replace("2s", "soon")}, '"soon" is not a time such as 2s or 500ms'),
        (
            {**PLAIN, "config.yaml": CONFIG.replace("default", "leetcode")},
            "'leetcode' is not judged",
        ),
        (
            {**PLAIN, "config.yaml": CONFIG.replace("chk.cc", "../chk.cc")},
            "there is no file '../chk.cc' in the package",
        ),
        ({**PLAIN, "config.yaml": "type: default\n"}, "not a list of subtasks"),
    ],
)
def test_broken_zips_are_left_out(home: Path, files: dict[str, str], words: str) -> None:
    problems = pro(home, a=files, sound=PLAIN)
    assert list(problems) == ["sound"]
    assert f"its package is flawed: {words}" in problems.left_out


def test_a_zip_that_leads_elsewhere_is_refused(home: Path) -> None:
    with pytest.raises(InputError, match="leads out of the archive"):
        pro(home, a={**PLAIN, "../out": ""})


def test_such_packages_are_judged_alone_too(cli: CommandLine, home: Path) -> None:
    archives = write_pro(home, n2000a=PLAIN) / "LiveCodeBench-Pro-Testcase"
    write_header(archives)
    done = cli("problems", archives, "--json")
    assert done.returncode == 2 and "testlib.h" in done.stderr, "a zip's folder is elsewhere"
    with zipfile.ZipFile(archives / "n2000a.zip") as opened:
        opened.extractall(archives / "n2000a")
    (archives / "n2000a.zip").unlink()
    done = cli("problems", archives)
    assert done.returncode == 0 and "LightCPVerifier" in done.stdout, done.stderr
