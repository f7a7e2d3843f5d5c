"""Judging in a container that covers parts of /proc, so that sandboxes cannot mount a new /proc.

Programs are then judged without namespaces.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.command_line import PYTHON, CommandLine, results, row, write_dump, write_package

# In a new user namespace, a covered part cannot be uncovered.
_COVER = 'mount --bind /dev/null /proc/version && exec "$@"'
_COVERED = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _COVER, "sh")
_CHECKER = """#include <cstdio>
int main(int, char** argv) {
  long long expected = 0, actual = -1;
  fscanf(fopen(argv[2], "r"), "%lld", &expected);
  fscanf(fopen(argv[3], "r"), "%lld", &actual);
  puts(expected == actual ? "1" : "0");
  fputs("checked\\n", stderr);
}
"""


@pytest.fixture(autouse=True)
def namespaces() -> None:
    if subprocess.run([*_COVERED, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not create namespaces")


def test_covered_proc_is_detected_before_namespaces_are_entered(proctor: Path) -> None:
    probe = subprocess.run([*_COVERED, str(proctor), "probe"], capture_output=True, check=True)
    report = json.loads(probe.stdout)
    assert report["missing"] == ["namespaces: own /proc: Operation not permitted"]
    assert (report["namespaces"], report["proc"]) == ([], "self")
    assert report["landlock"] > 0 and report["seccomp"]


def test_programs_are_judged_if_mounts_hide_parts_of_proc(shared_cache: Path, tmp_path: Path) -> None:
    write_package(tmp_path / "problems" / "add", checker=_CHECKER, subtasks={"01-all": (100, ["1-1"])})
    rows = [row("right", PYTHON, language="python"), row("wrong", "print(0)", language="python")]
    cli = CommandLine(folder=tmp_path, cache=shared_cache, alone=True, launcher=_COVERED)
    completed = cli(
        "score", write_dump(tmp_path / "dump.jsonl", rows), "--problems", "problems", "--out", "run"
    )
    assert completed.returncode == 0, completed.stderr
    points = {key: record["all_subtasks_points"] for key, record in results(tmp_path / "run").items()}
    assert points == {"right": 100, "wrong": 0}
