"""AetherCode and CodeContests+, whose checkers use testlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmark_tables import write_table
from hub_rows import ADD, aethercode, contents, listed, loaded
from judged import statuses
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, find_benchmark, load
from testlib_files import ABOVE, HEADER, without_system_testlib, write_header

from ioi_eval import Scorer
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind
from ioi_eval.models import Verdict as V

TESTS = [{"input": "1 2\n", "output": "3\n"}, {"input": "30 4\n", "output": "34\n"}]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with testlib.h next to the data."""
    write_header(tmp_path / "copies")
    return tmp_path


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


async def test_aethercode_row_becomes_problem_with_checker(scorer: Scorer, home: Path) -> None:
    problem = loaded(home, "aethercode", [aethercode(checker=ABOVE)], schema=False)["60173"]
    assert (problem.limits.cpu_time, problem.limits.memory) == (2, 256 << 20)
    assert (problem.year, problem.difficulty) == (2024, "Easy")
    assert problem.tags == ("ICPC East Asia Regionals", "The 2024 Regional Contest")
    assert contents(problem) == [("1 2\n", "3\n"), ("30 4\n", "34\n")]
    assert await statuses(scorer, problem, "print(20)") == [V.AC, V.WA]
    assert await statuses(scorer, problem, "print('many')") == [V.WA, V.WA]


async def test_aethercode_without_checker_compares_tokens(scorer: Scorer, home: Path) -> None:
    problem = loaded(home, "aethercode", [aethercode()], schema=False)["60173"]
    assert problem.checker.kind is CheckerKind.TOKENS
    assert await statuses(scorer, problem, ADD) == [V.AC, V.AC]
    assert await statuses(scorer, problem, "print(3)") == [V.AC, V.WA]


async def test_code_contests_plus_row_becomes_problem_with_checker(scorer: Scorer, home: Path) -> None:
    name = "Code-Contests-Plus/ccplus_1x/part-00000.parquet"
    write_table(home / "copies" / name, [contests_plus(), contests_plus("1575_B", time_limit=2.5)])
    options = BenchmarkOptions(data_dir=str(home / "copies"))
    problems = load(find_benchmark("code_contests_plus"), options, cache=home / "cache")
    problem = problems.find("1575/A")
    assert (problem.id, problem.name, problem.tags) == ("1575_A", "Add", ("Codeforces",))
    assert [problems[name].limits.cpu_time for name in problems] == [2, 2.5], (
        "limits in milliseconds and in seconds"
    )
    assert await statuses(scorer, problem, "print(20)") == [V.AC, V.WA]
    references = [
        (reference.language, reference.expected) for reference in problems.read_references("1575_A")
    ]
    assert references == [("python", "correct"), ("py2", "rejected")]


@without_system_testlib
def test_missing_testlib_is_an_input_error_with_a_remedy(home: Path) -> None:
    (home / "copies" / "testlib.h").unlink()
    with pytest.raises(InputError, match=r"checker.cpp includes testlib.h.*next to the data"):
        loaded(home, "aethercode", [aethercode(checker=ABOVE)], schema=False)


def test_testlib_with_constant_exit_code_0_is_refused(home: Path) -> None:
    """CMS's testlib.h prints scores and exits with 0, so every program would be right."""
    changed = "int resultExitCode(TResult) {\n  if (testlibMode == _checker)\n    return 0;  // CMS\n}\n"
    (home / "copies" / "testlib.h").write_text(HEADER + changed)
    with pytest.raises(
        InputError, match=r"checker.cpp reports its result by the exit code.* always 0.*MikeMirzayanov"
    ):
        loaded(home, "aethercode", [aethercode(checker=ABOVE)], schema=False)


def test_problems_command_lists_aethercode(cli: CommandLine, home: Path) -> None:
    assert "60173" in listed(
        cli, home, "aethercode", [aethercode(checker=ABOVE)], "--tag", "icpc east asia regionals"
    )


@pytest.mark.nightly
def test_problems_command_lists_code_contests_plus(cli: CommandLine, home: Path) -> None:
    (cli.folder / "ioi-eval.toml").write_text('split = "test"')
    assert "1575_A" in listed(cli, home, "code_contests_plus", [contests_plus()])
