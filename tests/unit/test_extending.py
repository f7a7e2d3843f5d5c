"""The extensions of docs/extending.md work as shown. test_registry.py has the engine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_samples import SUM, result, submission, write_run
from support.command_line import CommandLine
from support.runs import result_row

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.server import Server, ServerOptions

ROOT = Path(__file__).parents[2]
TITLES = (
    *("## A benchmark", "## A package format", "## A command"),
    *("## A route of the worker", "## A section of the report"),
)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Write a folder with a distribution: the page's modules and entry points."""
    page, folder, entries = (ROOT / "docs" / "extending.md").read_text(), tmp_path / "installed", ""
    metadata_folder = folder / "extras-1.0.dist-info"
    metadata_folder.mkdir(parents=True)
    for title in TITLES:
        section = page.partition(title)[2]
        code, entry = (re.findall(rf"```{kind}\n(.*?)```", section, re.S)[0] for kind in ("python", "toml"))
        module = re.findall(r'= "(\w+)', entry)[0]
        (folder / f"{module}.py").write_text(code)
        entries += re.sub(r'\[project\.entry-points\."(.*)"\]', r"[\1]", entry)
    (metadata_folder / "METADATA").write_text("Metadata-Version: 2.1\nName: extras\nVersion: 1.0\n")
    (metadata_folder / "entry_points.txt").write_text(entries.replace('"', ""))
    return folder


def table(path: Path, **columns: list[str]) -> Path:
    """Write a problem as JSON as on the page, or as parquet, which is read without the package `datasets`."""
    row_columns = {"id": "two", **columns}
    if path.suffix == ".jsonl":
        path.write_text(json.dumps(row_columns) + "\n")
    else:
        pq.write_table(pa.Table.from_pylist([row_columns]), path)
    return path


def listed_problems(installed: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Return the output of `ioi-eval problems` with the distribution installed."""
    return ran(installed, "problems", *arguments, "--json")


def ran(
    installed: Path, *arguments: str | Path, cache: Path | None = None
) -> subprocess.CompletedProcess[str]:
    variables = {"PYTHONPATH": str(installed)}
    return CommandLine(ROOT, cache or installed.parent / "cache", variables)(*arguments)


@pytest.mark.nightly(unless="parquet")
@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl"])
def test_installed_benchmark_entry_point_is_listed(installed: Path, tmp_path: Path, name: str) -> None:
    rows = table(tmp_path / name, inputs=["1 2", "3 4"], outputs=["3", "7"])
    completed = listed_problems(installed, "sums", "--set", f"dataset={rows}")
    assert completed.returncode == 0, completed.stderr
    [problem] = json.loads(completed.stdout)
    assert "two" in json.dumps(problem) and "sums" in json.dumps(problem)
    [guessed] = json.loads(listed_problems(installed, rows).stdout)
    assert guessed["format"] == "sums", "its columns identify it"


def test_benchmark_file_works_without_installation(
    installed: Path, tmp_path: Path, shared_cache: Path
) -> None:
    """It has up to 60 lines, and judges rows of a dump."""
    benchmark_file, dump = installed / "sums_benchmark.py", tmp_path / "dump.jsonl"
    assert len(benchmark_file.read_text().splitlines()) <= 60
    rows = table(tmp_path / "rows.parquet", inputs=["1 2", "3 4"], outputs=["3", "7"])
    codes = {"right": "print(sum(map(int, input().split())))", "wrong": "print(3)"}
    told_of = ({"problem_id": "two", "uuid": key, "code": code} for key, code in codes.items())
    dump.write_text("".join(json.dumps({**row, "language": "python"}) + "\n" for row in told_of))
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    out = tmp_path / "run"
    completed = ran(
        alone,
        "score",
        dump,
        "--problems",
        benchmark_file,
        "--set",
        f"dataset={rows}",
        "--out",
        out,
        cache=shared_cache,
    )
    assert completed.returncode == 0, completed.stderr
    result_rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {row["key"]: row["solved"] for row in result_rows} == {"right": True, "wrong": False}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nothing_of_that_name\n", "line 1: cannot be loaded (ModuleNotFoundError"),
        ("x = 1\ndef\n", "line 2: cannot be loaded (SyntaxError"),
        ("from ioi_eval.benchmarks import Benchmark\n", "the file must define one benchmark, not 0"),
    ],
)
def test_python_file_without_benchmark_is_input_error(tmp_path: Path, code: str, message: str) -> None:
    benchmark_file = tmp_path / "mine.py"
    benchmark_file.write_text(code)
    completed = listed_problems(tmp_path, benchmark_file)
    assert (
        completed.returncode == 2 and f"{benchmark_file}" in completed.stderr and message in completed.stderr
    ), completed.stderr
    assert "Traceback" not in completed.stderr


def test_edited_benchmark_file_is_not_served_from_cache(installed: Path, tmp_path: Path) -> None:
    benchmark_file = installed / "sums_benchmark.py"
    rows = table(tmp_path / "rows.parquet", inputs=["1 2"], outputs=["3"])
    [first] = json.loads(listed_problems(tmp_path, benchmark_file, "--set", f"dataset={rows}").stdout)
    benchmark_file.write_text(benchmark_file.read_text().replace("1.0, 256 << 20", "2.5, 256 << 20"))
    # Python does not detect a change within the same second.
    shutil.rmtree(installed / "__pycache__", ignore_errors=True)
    [second] = json.loads(listed_problems(tmp_path, benchmark_file, "--set", f"dataset={rows}").stdout)
    assert [listed["limits"]["cpu_time"] for listed in (first, second)] == [1.0, 2.5]
    assert first["format"] == "sums"


def test_installed_package_format_is_read(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "packages" / "pair"
    folder.mkdir(parents=True)
    (folder / "tests.tsv").write_text("1 2\t3\n3 4\t7\n")
    completed = listed_problems(installed, tmp_path / "packages")
    assert completed.returncode == 0, completed.stderr
    [problem] = json.loads(completed.stdout)
    assert "pair" in json.dumps(problem) and "TSV" in json.dumps(problem)
    (folder / "tests.tsv").write_text("1 2\t3\n3 4\n")
    broken = listed_problems(installed, folder)
    assert broken.returncode == 2 and "pair/tests.tsv, line 2: not an input and an output" in broken.stderr


def test_installed_command_is_called_and_listed(installed: Path, tmp_path: Path) -> None:
    rows = tmp_path / "results.jsonl"
    rows.write_text("".join(json.dumps({"problem_id": name}) + "\n" for name in "aba"))
    completed = ran(installed, "tally", rows)
    assert (completed.returncode, completed.stdout) == (0, "a: 2\nb: 1\n"), completed.stderr
    listed = ran(installed, "--help").stdout
    assert re.search(r"tally +Count the rows of a run by problem", listed), listed
    assert "RESULTS" in ran(installed, "tally", "--help").stdout
    assert ran(installed, "tallies", rows).returncode == 2


async def test_installed_route_answers_on_worker(
    installed: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(installed))
    options = ServerOptions(port=0)
    async with (
        EmbeddedEngine(store=store, slots=1) as engine,
        Server(engine, options) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        async with session.post("/slots", json=[7]) as reply:
            assert (reply.status, await reply.json()) == (200, {"slots": 1, "asked": [7]})
        async with session.get("/slots") as reply:
            assert reply.status == 404


def test_installed_report_section_is_in_report(installed: Path, tmp_path: Path) -> None:
    sent = submission("1", row={"model": "otter"})
    run = write_run(tmp_path / "run", [result_row(sent, SUM, result(sent))])
    completed = ran(installed, "report", run)
    assert completed.returncode == 0, completed.stderr
    for name in ("report.md", "report.html"):
        report_text = (run / name).read_text()
        assert "Judged share" in report_text and "100% was judged." in report_text, name
    models = json.loads((run / "summary.json").read_text())["models"]
    assert {model["more"]["judged_share"] for model in models} == {1.0}


def test_broken_installed_plugin_is_input_error(installed: Path) -> None:
    (installed / "sums_benchmark.py").write_text("import nothing_of_that_name\n")
    completed = listed_problems(installed, "sums")
    assert completed.returncode == 2 and "'sums' (ioi_eval.benchmarks) cannot be loaded" in completed.stderr
    assert "Traceback" not in completed.stderr


async def test_documented_integration_uses_public_names_only(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows: a right reply, the same again, a wrong reply, no code, and no tests."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    section = (ROOT / "docs" / "extending.md").read_text().partition("## An integration")[2]
    names: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", section, re.S)), names)
    right, wrong = "```python\nprint(int(input()) * 2)\n```", "```python\nprint(2)\n```"
    tests = {"input_output": json.dumps({"inputs": ["1", "2"], "outputs": ["2", "4"]})}
    async with Scorer(store=store) as scorer:
        replies, rows = [right, right, wrong, "No.", right], [tests] * 4 + [{"input_output": ""}]
        assert await names["rewards"](scorer, replies, rows) == [1.0, 1.0, 0.5, 0.0, None]
    prompts = names["prompts"]()
    assert len(prompts) == 2 and all(prompts.values())
