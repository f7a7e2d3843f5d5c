"""Memory of `ioi-eval score DUMP --problems ioi` over gigabytes of tests, in a first and a second run.

The datasets are written to parquet files as on the hub. Each run is a separate process, observed every 20 ms:
its private (anonymous) memory, and all memory that is mapped into it. Mapped files are the kernel's cache,
which is freed when memory is needed, but they are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TESTS = 100
# Number of tests in a row group of about a hundred megabytes, as in files that the package `datasets` writes.
ROW_GROUP = 5
YEAR = 2024
LIMIT = 500  # in MiB
CODE = """#include <cstdio>
int main() {
    static char part[1 << 16];
    unsigned long long bytes = 0;
    while (size_t got = fread(part, 1, sizeof part, stdin)) bytes += got;
    printf("%llu\\n", bytes);
}
"""


def make_contents(total: int) -> Iterator[str]:
    """Yield distinct strings of numbers."""
    line = " ".join(str(n * 7919 % 1_000_003) for n in range(4000)) + "\n"
    for test in range(TESTS):
        yield f"{test}\n" + line * (total // TESTS // len(line))


def write_datasets(folder: Path, total: int, row_group: int) -> int:
    names = [f"1-{test:03}" for test in range(TESTS)]
    config = {"task_type": "Batch", "code": "bytes", "task_type_parameters_Batch_compilation": "alone"}
    row = {
        "year": YEAR,
        "id": "bytes",
        "name": "Bytes",
        "subtask": "01-all",
        "score": 100,
        "score_precision": 2,
        "time_limit": 10.0,
        "memory_limit": 64 << 20,
        "task_type": "Batch",
        "test_names": names,
        "grader_files": [["graders/grader_config.json", json.dumps(config)]],
        "problem": "How many bytes?",
    }
    rows, tests = folder / "ioi" / "test.parquet", folder / "ioi-test-cases" / str(YEAR) / "train.parquet"
    for path in (rows, tests):
        path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([row]), rows)
    string_type = pa.string()
    columns = {
        "problem_id": string_type,
        "test_name": string_type,
        "test_input": string_type,
        "test_output": string_type,
    }
    written, group = 0, list[dict[str, str]]()
    with pq.ParquetWriter(tests, pa.schema(list(columns.items()))) as writer:
        for name, input_text in zip(names, make_contents(total), strict=True):
            written += len(input_text)
            group.append(
                {
                    "problem_id": "bytes",
                    "test_name": name,
                    "test_input": input_text,
                    "test_output": f"{len(input_text)}\n",
                }
            )
            if len(group) == row_group:
                writer.write_table(pa.Table.from_pylist(group, schema=writer.schema))
                group.clear()
    return written


def measure_memory(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Observe a process until it exits.

    Return the peaks in KiB of its private memory and of all mapped memory.
    """
    own_kib = mapped_kib = 0
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            break
        fields = {line.split(":")[0]: line.split() for line in lines}
        if "RssAnon" in fields:
            own_kib = max(own_kib, int(fields["RssAnon"][1]) + int(fields["RssShmem"][1]))
            mapped_kib = max(mapped_kib, int(fields["VmHWM"][1]))
        time.sleep(0.02)
    return own_kib, mapped_kib


def run_score(folder: Path, out: str) -> tuple[float, float]:
    """Run the command. Return the peaks in MiB of its private memory and of all mapped memory."""
    command = [sys.executable, "-m", "ioi_eval", "score", "dump.jsonl", "--problems", "ioi"]
    arguments = ["--data-dir", "copies", "--out", out, "--quiet", "--all-tests"]
    environment = {**os.environ, "IOI_EVAL_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen([*command, *arguments], cwd=folder, env=environment) as process:
        own_mib, mapped = measure_memory(process)
    if process.returncode:
        raise SystemExit(f"the run failed with exit code {process.returncode}")
    return own_mib / 1024, mapped / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument(
        "--row-group",
        type=int,
        default=ROW_GROUP,
        help=f"number of tests in a row group, a divisor of {TESTS}",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        total = write_datasets(folder / "copies", int(arguments.gigabytes * (1 << 30)), arguments.row_group)
        (folder / "dump.jsonl").write_text(json.dumps({"problem_id": "bytes", "code": CODE}) + "\n")
        print(f"{total / (1 << 30):.2f} GiB of tests", flush=True)
        peaks = []
        for out in ("first", "again"):
            begin = time.monotonic()
            own_mib, mapped = run_score(folder, out)
            peaks.append(mapped)
            seconds = time.monotonic() - begin
            print(
                f"{out}: {own_mib:.0f} MiB own, {mapped:.0f} MiB with mapped files, {seconds:.0f} s",
                flush=True,
            )
            points = json.loads((folder / out / "results.jsonl").read_text())["all_subtasks_points"]
            assert points == 100, points
    if max(peaks) > LIMIT:
        raise SystemExit(f"the run used more than {LIMIT} MiB of memory")


if __name__ == "__main__":
    main()
