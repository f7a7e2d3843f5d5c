"""LiveCodeBench Pro: zips of packages with testlib checkers and interactors."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from benchmark_tables import write_table
from hub_rows import contents
from judged import statuses
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load
from testlib_files import ABOVE, HALVES, HIDDEN, write_header

from ioi_eval import Scorer
from ioi_eval.errors import InputError
from ioi_eval.models import TaskType
from ioi_eval.models import Verdict as V

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


def pro(folder: Path, **packages: dict[str, str]) -> LoadedProblems:
    options = BenchmarkOptions(data_dir=str(write_pro(folder, **packages)))
    return load(find_benchmark("livecodebench-pro"), options, cache=folder / "cache")


async def test_livecodebench_pro_zip_with_checker_is_judged(scorer: Scorer, home: Path) -> None:
    problems = pro(home, n2000a=PLAIN)
    assert problems.left_out == {"the dataset has no tests for it": 1}
    problem = problems["n2000a"]
    assert (problem.name, problem.tags, problem.difficulty) == ("N2000A", ("Codeforces",), "easy")
    assert (problem.limits.cpu_time, problem.limits.memory) == (2, 256 << 20)
    assert contents(problem) == [("1 2\n", "4\n"), ("30 4\n", "35\n")]
    assert await statuses(scorer, problem, "print(20)") == [V.AC, V.WA]


async def test_livecodebench_pro_zip_with_interactor_is_judged(scorer: Scorer, home: Path) -> None:
    problem = pro(home, n2000b=HIDING)["n2000b"]
    assert problem.task_type is TaskType.INTERACTIVE
    assert await statuses(scorer, problem, HALVES) == [V.AC, V.AC]
    assert (await statuses(scorer, problem, "for n in range(8): print(n, flush=True), input()"))[0] is V.WA


def test_changed_livecodebench_pro_zip_is_read_again(home: Path) -> None:
    assert len(pro(home, a=PLAIN)["a"].tests) == 2
    assert (
        len(pro(home, a={**PLAIN, "config.yaml": CONFIG.replace("n_cases: 2", "n_cases: 1")})["a"].tests) == 1
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({**PLAIN, "config.yaml": CONFIG.replace("n_cases: 2", "n_cases: 3")}, "missing file"),
        ({**PLAIN, "config.yaml": CONFIG.replace("2s", "soon")}, '"soon" is not a time such as 2s or 500ms'),
        (
            {**PLAIN, "config.yaml": CONFIG.replace("default", "leetcode")},
            "'leetcode' is not supported",
        ),
        (
            {**PLAIN, "config.yaml": CONFIG.replace("chk.cc", "../chk.cc")},
            "there is no file '../chk.cc' in the package",
        ),
        ({**PLAIN, "config.yaml": "type: default\n"}, "not a list of subtasks"),
    ],
)
def test_broken_livecodebench_pro_zip_is_excluded_with_reason(
    home: Path, files: dict[str, str], message: str
) -> None:
    problems = pro(home, a=files, sound=PLAIN)
    assert list(problems) == ["sound"]
    assert f"the problem's package is invalid: {message}" in problems.left_out


def test_zip_member_outside_of_the_archive_is_input_error(home: Path) -> None:
    with pytest.raises(InputError, match="is outside of the archive"):
        pro(home, a={**PLAIN, "../out": ""})


def test_extracted_livecodebench_pro_package_is_listed(cli: CommandLine, home: Path) -> None:
    archives = write_pro(home, n2000a=PLAIN) / "LiveCodeBench-Pro-Testcase"
    write_header(archives)
    completed = cli("problems", archives, "--json")
    assert completed.returncode == 2 and "testlib.h" in completed.stderr, (
        "a zip is extracted to another folder, without testlib.h"
    )
    with zipfile.ZipFile(archives / "n2000a.zip") as opened:
        opened.extractall(archives / "n2000a")
    (archives / "n2000a.zip").unlink()
    completed = cli("problems", archives)
    assert completed.returncode == 0 and "LightCPVerifier" in completed.stdout, completed.stderr


@pytest.mark.nightly  # test_evalplus lists benchmarks of a plugin by the same command
def test_problems_command_lists_livecodebench_pro_with_exclusions(cli: CommandLine, home: Path) -> None:
    completed = cli("problems", "livecodebench_pro", "--data-dir", write_pro(home, n2000b=HIDING))
    assert completed.returncode == 0 and "testlib" in completed.stdout, completed.stderr
    assert "1 problem left out: the dataset has no tests for it" in completed.stdout
