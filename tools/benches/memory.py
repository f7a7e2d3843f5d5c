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
LIMIT = 500  # maximum memory of a run, in MiB
CODE = """#include <cstdio>
int main() {
    static char part[1 << 16];
    unsigned long long bytes = 0;
    while (size_t got = fread(part, 1, sizeof part, stdin)) bytes += got;
    printf("%llu\\n", bytes);
}
"""


def make_contents(total_bytes: int) -> Iterator[str]:
    """Yield distinct strings of numbers."""
    line = " ".join(str(number * 7919 % 1_000_003) for number in range(4000)) + "\n"
    for test in range(TESTS):
        yield f"{test}\n" + line * (total_bytes // TESTS // len(line))


def write_test_datasets(folder: Path, total_bytes: int, row_group: int) -> int:
    test_names = [f"1-{test:03}" for test in range(TESTS)]
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
        "test_names": test_names,
        "grader_files": [["graders/grader_config.json", json.dumps(config)]],
        "problem": "How many bytes?",
    }
    rows_path, tests_path = (
        folder / "ioi" / "test.parquet",
        folder / "ioi-test-cases" / str(YEAR) / "train.parquet",
    )
    for path in (rows_path, tests_path):
        path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([row]), rows_path)
    string_type = pa.string()
    columns = {
        "problem_id": string_type,
        "test_name": string_type,
        "test_input": string_type,
        "test_output": string_type,
    }
    written_bytes, row_buffer = 0, list[dict[str, str]]()
    with pq.ParquetWriter(tests_path, pa.schema(list(columns.items()))) as writer:
        for name, input_text in zip(test_names, make_contents(total_bytes), strict=True):
            written_bytes += len(input_text)
            row_buffer.append(
                {
                    "problem_id": "bytes",
                    "test_name": name,
                    "test_input": input_text,
                    "test_output": f"{len(input_text)}\n",
                }
            )
            if len(row_buffer) == row_group:
                writer.write_table(pa.Table.from_pylist(row_buffer, schema=writer.schema))
                row_buffer.clear()
    return written_bytes


def measure_peak_memory_kib(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Observe a process until it exits.

    Return the peaks in KiB of its private memory and of all mapped memory.
    """
    own_kib = mapped_kib = 0
    while process.poll() is None:
        try:
            status_lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            break
        fields = {line.split(":")[0]: line.split() for line in status_lines}
        if "RssAnon" in fields:
            own_kib = max(own_kib, int(fields["RssAnon"][1]) + int(fields["RssShmem"][1]))
            mapped_kib = max(mapped_kib, int(fields["VmHWM"][1]))
        time.sleep(0.02)
    return own_kib, mapped_kib


def measure_score_peaks_mib(folder: Path, run_name: str) -> tuple[float, float]:
    """Run the command. Return the peaks in MiB of its private memory and of all mapped memory."""
    command = [sys.executable, "-m", "ioi_eval", "score", "dump.jsonl", "--problems", "ioi"]
    arguments = ["--data-dir", "copies", "--out", run_name, "--quiet", "--all-tests"]
    environment = {**os.environ, "IOI_EVAL_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen([*command, *arguments], cwd=folder, env=environment) as process:
        own_kib, mapped_kib = measure_peak_memory_kib(process)
    if process.returncode:
        raise SystemExit(f"the run failed with exit code {process.returncode}")
    return own_kib / 1024, mapped_kib / 1024


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
    with tempfile.TemporaryDirectory() as temporary_folder:
        folder = Path(temporary_folder)
        total_bytes = write_test_datasets(
            folder / "copies", int(arguments.gigabytes * (1 << 30)), arguments.row_group
        )
        (folder / "dump.jsonl").write_text(json.dumps({"problem_id": "bytes", "code": CODE}) + "\n")
        print(f"{total_bytes / (1 << 30):.2f} GiB of tests", flush=True)
        peaks_mib = []
        for run_name in ("first", "again"):
            start_time = time.monotonic()
            own_mib, mapped_mib = measure_score_peaks_mib(folder, run_name)
            peaks_mib.append(mapped_mib)
            seconds = time.monotonic() - start_time
            print(
                f"{run_name}: {own_mib:.0f} MiB own, {mapped_mib:.0f} MiB with mapped files, {seconds:.0f} s",
                flush=True,
            )
            points = json.loads((folder / run_name / "results.jsonl").read_text())["all_subtasks_points"]
            assert points == 100, points
    if max(peaks_mib) > LIMIT:
        raise SystemExit(f"the run used more than {LIMIT} MiB of memory")


if __name__ == "__main__":
    main()
