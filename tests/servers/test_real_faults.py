"""Real servers that are killed or suspended: their faults change no score."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from support.command_line import BROKEN, RIGHT, WRONG, results

from ioi_eval.server.packaging import SERVER_FOLDER, install_package

_LONGEST = 900.0  # maximum seconds of a run on a busy machine
NUMBER = 12


@pytest.fixture
def programs() -> Mapping[str, str]:
    return distinct_sources(NUMBER)


def distinct_sources(number: int) -> Mapping[str, str]:
    """Return sources whose programs differ.

    If several programs are equal, only the first program is judged. The others wait for its result, which a
    suspended server delays until the job's timeout.
    """
    mark = f"long long built_at = {time.time_ns()};\n"
    sources = {f"{n}": mark + f"int one = {n + 1};\n" + (WRONG if n % 3 else RIGHT) for n in range(number)}
    return {**sources, "broken": mark + BROKEN}


def finish(run: Popen[str]) -> tuple[int, str]:
    try:
        _, log = run.communicate(timeout=_LONGEST)
    finally:
        run.kill()
    return run.returncode, log


def has_rows(folder: Path, min_rows: int) -> bool:
    journal = folder / "there" / "results.jsonl"
    return journal.exists() and journal.read_bytes().count(b"\n") >= min_rows


def until(holds: Callable[[], bool], run: Popen[str]) -> None:
    ends = time.monotonic() + _LONGEST
    while not holds():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < ends
        time.sleep(0.05)


def check_points(run: Path, programs: Mapping[str, str]) -> None:
    """Check that each row occurs once, with the expected points."""
    rows: dict[str, Any] = results(run)
    assert rows.keys() == programs.keys()
    lines = (run / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(rows)
    for key, row in rows.items():
        worth = 0 if key == "broken" or int(key) % 3 else 100
        assert (row["all_subtasks_points"], row["code_compiles"]) == (worth, key != "broken")


def test_restart_of_a_piston_server_loses_no_submission(
    desk: Any, programs: Mapping[str, str], real: dict[str, str], spare: Any
) -> None:
    """The restarted server finds old sandboxes and answers HTTP 500 once for each."""
    spare.start()
    run = desk.cli.start(*desk.words(programs, spare.url, real["raised"]))
    until(lambda: has_rows(desk.folder, 1), run)
    spare.kill()
    spare.start()
    assert finish(run)[0] == 0
    check_points(desk.folder / "there", programs)


def test_suspended_piston_server_loses_no_submission(
    desk: Any, programs: Mapping[str, str], real: dict[str, str], spare: Any
) -> None:
    spare.start()
    run = desk.cli.start(*desk.words(programs, spare.url, real["raised"]))
    until(lambda: has_rows(desk.folder, 1), run)
    spare.signal(signal.SIGSTOP)
    until(lambda: has_rows(desk.folder, NUMBER - 2), run)  # the real server continues
    spare.signal(signal.SIGCONT)
    assert finish(run)[0] == 0
    check_points(desk.folder / "there", programs)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("disk_size", ["1m", "2500k", "2600k"], ids=["unpacked", "compiled", "delivered"])
def test_full_disk_on_server_gives_no_score(
    desk: Any, programs: Mapping[str, str], spare: Any, disk_size: str
) -> None:
    spare.start(disk_size)
    programs = {key: programs[key] for key in ("0", "1", "broken")}
    arguments = desk.words(programs, spare.url)
    code, log = finish(desk.cli.start(*arguments))
    assert code in (2, 3), log
    assert not has_rows(desk.folder, 1), log
    spare.enlarge("1g")
    code, log = finish(desk.cli.start(*arguments))
    assert code == 0, log
    check_points(desk.folder / "there", programs)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("free_bytes", [0, 1 << 20, 2_500_000], ids=["boxes", "unpacked", "compiled"])
def test_server_with_full_disk_gets_few_jobs_and_every_row_is_judged(
    desk: Any, real: dict[str, str], spare: Any, free_bytes: int
) -> None:
    programs = distinct_sources(4 * NUMBER)
    spare.start("48m")
    arguments = [
        argument for argument in desk.words(programs, spare.url, real["raised"]) if argument != "--quiet"
    ]
    run = desk.cli.start(*arguments)
    until(lambda: has_rows(desk.folder, 1), run)
    spare.fill(free_bytes)
    code, log = finish(run)
    assert code == 0, log
    check_points(desk.folder / "there", programs)
    standings = json.loads((desk.folder / "there" / "progress.json").read_text())["standings"]
    (full,) = (standing for standing in standings if standing["url"] == spare.url)
    assert "No space left on device" in full["why"] or "HTTP 500" in full["why"], (standings, log)
    assert full["errors"] <= 2 * NUMBER, "the full server rests, so it does not fail every job"


_OTHER = """#!/bin/sh
case "$*" in *-dumpfullversion*) echo 99.1.0; exit ;; esac
exec /usr/bin/g++ "$@"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can replace a server's programs")
@pytest.mark.parametrize("dies", [True, False], ids=["killed", "goes on"])
def test_server_with_other_compiler_is_recorded_in_rows(
    desk: Any, spare: Any, tmp_path: Path, dies: bool
) -> None:
    programs = distinct_sources(3 * NUMBER)  # on a busy machine a few are built before the first is judged
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o755)
    spare.start(tools=str(tools))
    run = desk.cli.start(*desk.words(programs, spare.url))
    until(lambda: has_rows(desk.folder, 2), run)
    if dies:
        spare.kill()
    (tools / "new").write_text(_OTHER)
    (tools / "new").chmod(0o755)
    (tools / "new").rename(tools / "g++")
    if dies:
        spare.start(tools=str(tools))
    assert finish(run)[0] == 0
    check_points(desk.folder / "there", programs)
    compilers = [row["compiler"] for row in results(desk.folder / "there").values()]
    assert set(compilers) == {compilers[0], "g++ 99.1.0"} and compilers[0] != "g++ 99.1.0"


_SHOWS_ITS_HEADER = """#include <bits/stdc++.h>
int main() {
    long long a, b;
    if (scanf("%lld %lld", &a, &b) != 2) return 1;
#ifdef FROM_THE_PACKAGE
    printf("%lld\\n", a + b);
#endif
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can replace a server's package")
def test_packaged_headers_are_used_by_server(desk: Any, spare: Any) -> None:
    """The packaged header defines an extra name."""
    spare.start()
    variables = Path(f"/proc/{spare.pid}/environ").read_text().split("\0")
    data = Path(dict(variable.split("=", 1) for variable in variables if variable)["PISTON_DATA_DIRECTORY"])
    spare.kill()
    package_folder = install_package(data / "packages", headers=("gnu++20",))
    try:
        env_text = (package_folder / ".env").read_text()
        (package_folder / ".env").write_text(env_text.replace(SERVER_FOLDER, str(data / "packages")))
        spare.start()
        completed = desk.cli("doctor", "--engine", spare.url)
        assert "bits/stdc++.h, precompiled for gnu++20 by its package" in " ".join(completed.stdout.split())
        (package_folder / "w.hpp").write_text("#include <bits/stdc++.h>\n#define FROM_THE_PACKAGE\n")
        flags = ("-DEVAL", "-std=gnu++20", "-O2", "-static", "-s", "-x", "c++-header")
        target = package_folder / "headers/gnu++20/bits/stdc++.h.gch"
        for name in ("usual", "marked"):
            programs = {name: _SHOWS_ITS_HEADER.replace("main() {", f"main() {{\n    int {name};")}
            scored = desk.cli(*desk.words(programs, spare.url, out=name))
            assert scored.returncode == 0, scored.stdout + scored.stderr
            subprocess.run(["/usr/bin/g++", *flags, "-o", target, package_folder / "w.hpp"], check=True)
    finally:
        shutil.rmtree(package_folder)
    unmarked, marked = (results(desk.folder / name)[name] for name in ("usual", "marked"))
    assert unmarked["all_subtasks_points"] == 0 and unmarked["code_compiles"]
    assert marked["all_subtasks_points"] > 0


_LONG = """#include <cstdio>
int main() {
    long long a, b;
    FILE* out = std::fopen("sum.out", "w");
    std::fscanf(std::fopen("sum.in", "r"), "%lld %lld", &a, &b);
    for (int i = 0; i < 20000000; i++) std::fputc(' ', out);
    std::fprintf(out, "%lld", a + b);
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_full_disk_for_output_gives_no_score(desk: Any, spare: Any) -> None:
    spare.start("16m")
    header = desk.folder / "problems" / "add" / "problem.json"
    files = {"task_type_parameters_Batch_input_filename": "sum.in"}
    files |= {"task_type_parameters_Batch_output_filename": "sum.out"}
    package_settings = json.loads(header.read_text())
    task_parameters = json.loads(package_settings["task_type_params"]) | files
    header.write_text(json.dumps(package_settings | {"task_type_params": json.dumps(task_parameters)}))
    arguments = desk.words({"0": _LONG + f"long long built_at = {time.time_ns()};\n"}, spare.url)
    code, log = finish(desk.cli.start(*arguments))
    assert code == 3 and not has_rows(desk.folder, 1), log
    assert "the disk is full" in (desk.folder / "there" / "failures.jsonl").read_text()
    spare.enlarge("1g")
    code, log = finish(desk.cli.start(*arguments))
    assert code == 0, log
    (row,) = results(desk.folder / "there").values()
    assert row["all_subtasks_points"] == 100
