"""OJBench: DMOJ packages in two folders, and a file of prompts."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hub_rows import ADD, contents
from judged import statuses
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load
from testlib_files import ABOVE as WITH_TESTLIB
from testlib_files import HALVES, without_system_testlib, write_header

from ioi_eval import Scorer
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, TaskType
from ioi_eval.models import Verdict as V

CASES = "test_cases:\n- {in: 1.in, out: 1.out, points: 10}\n- {in: 2.in, out: 2.out, points: 10}\n"
SUMS = {"1.in": "1 2\n", "1.out": "3\n", "2.in": "30 4\n", "2.out": "34\n"}
ABOVE = """#include <cstdio>
int main(int, char** file) {
  FILE *input = fopen(file[1], "r"), *output = fopen(file[2], "r");
  long long a, b, printed;
  if (fscanf(input, "%lld%lld", &a, &b) != 2) return 1;
  return fscanf(output, "%lld", &printed) == 1 && printed > a + b ? 0 : 1;
}
"""
# Prints how many of its questions are above the hidden number.
ASKS = """#include <cstdio>
int main(int, char** file) {
  long long hidden, guess;
  if (fscanf(fopen(file[1], "r"), "%lld", &hidden) != 1) return 1;
  for (int asked = 0; asked < 8 && scanf("%lld", &guess) == 1; ++asked) {
    puts(guess < hidden ? "<" : guess > hidden ? ">" : "=");
    fflush(stdout);
    if (guess == hidden) return 0;
  }
  return 1;
}
"""


def program(key: str, name: str) -> str:
    files = f"{{files: [validators/{name}], lang: CPP17, type: default}}"
    return f"checker: {{name: bridged, args: {files}}}\n" if key == "checker" else f"{key}: {files}\n"


def prompt(number: Any, dataset: str, language: str = "cpp", difficulty: str = "easy") -> dict[str, Any]:
    prompt_text = f"### Problem Description\nAdd two numbers.\n\n### Format: Write it in {language}.\n"
    return {
        "id": number,
        "prompt": prompt_text,
        "dataset": dataset,
        "language": language,
        "difficulty": difficulty,
    }


def package(folder: Path, subfolder: str, name: str, config: str = "", **programs: str) -> None:
    package_folder = folder / subfolder / name
    (package_folder / "validators").mkdir(parents=True)
    (package_folder / "init.yml").write_text(f"archive: data.zip\n{config}{CASES}")
    with zipfile.ZipFile(package_folder / "data.zip", "w") as archive:
        for file, content in SUMS.items():
            archive.writestr(file, content)
    for file, content in programs.items():
        (package_folder / "validators" / f"{file}.cpp").write_text(content)


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    (folder / "prompts" / "full.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def loaded(folder: Path, **options: Any) -> LoadedProblems:
    benchmark_options = BenchmarkOptions(data_dir=str(folder / "copy"), **options)
    return load(find_benchmark("ojbench"), benchmark_options, cache=folder / "cache")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    package(folder, "NOI", "loj-2083")
    package(folder, "ICPC", "nwerc2022_E", program("checker", "check.cpp"), check=ABOVE)
    package(folder, "ICPC", "swerc2022_E", program("interactive", "ask.cpp"), ask=ASKS)
    rows = [prompt(2083, "NOI", "python", "hard"), prompt(2083, "NOI", "cpp", "hard")]
    return write(folder, *rows, prompt("nwerc2022_E", "ICPC"), prompt("swerc2022_E", "ICPC"))


async def test_ojbench_problems_with_each_kind_of_checker_are_judged(
    scorer: Scorer, copy: Path, tmp_path: Path
) -> None:
    problems = loaded(tmp_path)
    plain, checked, interactive = (problems[name] for name in ("loj-2083", "nwerc2022_E", "swerc2022_E"))
    assert (plain.difficulty, plain.tags, plain.checker.kind) == ("hard", ("NOI",), CheckerKind.WORD_LINES)
    assert (plain.limits.cpu_time, plain.limits.wall_time, plain.limits.memory) == (10, 30, 1 << 30)
    assert (plain.subtasks, plain.cpp_standard) == ((), "c++17")
    assert contents(plain) == [("1 2\n", "3\n"), ("30 4\n", "34\n")]
    assert plain.statement and plain.statement.read() == b"### Problem Description\nAdd two numbers.\n\n"
    assert (checked.checker.kind, interactive.task_type) == (CheckerKind.EXIT_CODE, TaskType.INTERACTIVE)
    assert await statuses(scorer, plain, ADD) == [V.AC, V.AC]
    assert await statuses(scorer, plain, ADD.replace("+", "-")) == [V.WA, V.WA]
    assert await statuses(scorer, checked, ADD.replace("a + b", "9 * b")) == [V.AC, V.AC]
    assert await statuses(scorer, checked, ADD) == [V.WA, V.WA]
    assert await statuses(scorer, interactive, HALVES) == [V.AC, V.AC]
    assert await statuses(scorer, interactive, "print(99)\n") == [V.WA, V.WA]
    assert problems.find("2083") is plain, "dumps contain numbers"


async def test_converted_ojbench_problem_needs_no_dataset_files(
    scorer: Scorer, copy: Path, tmp_path: Path
) -> None:
    loaded(tmp_path)
    problem = loaded(tmp_path)["nwerc2022_E"]
    assert not [blob for file in problem.checker.sources if (blob := file.content).path]
    (copy / "ICPC" / "nwerc2022_E" / "data.zip").unlink()
    problems = loaded(tmp_path)
    assert problems.left_out == {
        "the problem's package is invalid: there is no file 'data.zip' in the package": 1
    }


async def test_ojbench_checker_with_bundled_testlib_header_compiles(scorer: Scorer, tmp_path: Path) -> None:
    """SWERC packages list testlib.h before the checker, in the checker's folder."""
    folder = tmp_path / "copy"
    config = program("checker", "check.cpp").replace("[", "[validators/testlib.h, ")
    package(folder, "ICPC", "swerc2022_C", config, check=WITH_TESTLIB)
    write_header(folder / "ICPC" / "swerc2022_C" / "validators")
    write(folder, prompt("swerc2022_C", "ICPC"))
    problem = loaded(tmp_path)["swerc2022_C"]
    assert await statuses(scorer, problem, ADD.replace("a + b", "9 * b")) == [V.AC, V.AC]
    assert await statuses(scorer, problem, ADD) == [V.WA, V.WA]


@without_system_testlib
def test_ojbench_excludes_listed_and_flawed_problems_with_reason(copy: Path, tmp_path: Path) -> None:
    rows = [prompt("nwerc2023_H", "ICPC"), prompt("nwerc2024_A", "ICPC"), prompt("swerc2023_A", "ICPC")]
    package(
        copy, "ICPC", "swerc2023_A", program("checker", "check.cpp"), check=f'#include "testlib.h"\n{ABOVE}'
    )
    write(copy, *rows)
    with pytest.raises(InputError, match=r"testlib\.h.*Put testlib\.h"):
        loaded(tmp_path)
    write_header(copy / "ICPC")
    assert dict(loaded(tmp_path).left_out) == {
        "OJBench's own judge excludes it": 1,
        "the problem's package is invalid: missing file": 1,
    }


def test_invalid_ojbench_folder_is_input_error(copy: Path, tmp_path: Path) -> None:
    for folder in ("", str(tmp_path / "nothing")):
        with pytest.raises(InputError, match=r"no file prompts/full\.jsonl.*Git LFS"):
            load(find_benchmark("ojbench"), BenchmarkOptions(data_dir=folder), cache=tmp_path / "c")
    write(copy, prompt("../..", "NOI"))
    with pytest.raises(InputError, match="are not names of folders"):
        loaded(tmp_path)


@pytest.mark.nightly  # test_evalplus lists benchmarks of a plugin by the same command
def test_problems_command_lists_ojbench(cli: CommandLine, copy: Path) -> None:
    completed = cli("problems", "ojbench", "--data-dir", copy, "--difficulty", "hard", "--tag", "NOI")
    assert completed.returncode == 0 and "loj-2083" in completed.stdout, completed.stderr
    assert "nwerc2022_E" not in completed.stdout
