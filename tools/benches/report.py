"""Writes the report of a synthetic run, and measures time and memory: 10,000 rows, 8 models, 300 problems.

If Chromium and selenium are installed, it measures the time until two pages, and changes of their filters,
are drawn.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ioi_eval.models import Blob, Problem, Submission, Subtask, Test, TestResult, Verdict
from ioi_eval.reports import write_reports
from ioi_eval.reports.document import ALL, FOLDER
from ioi_eval.rules.scoring import score_submission
from ioi_eval.rules.verdicts import convert_score_to_verdict
from ioi_eval.store.folder import RESULTS, Fingerprint
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import result_row

LANGUAGES = ("introductory", "interview", "competition")
TAGS = ("graphs", "dp", "strings", "geometry", "greedy", "trees")
WRONG = (Verdict.WA, Verdict.TLE, Verdict.RE, Verdict.MLE)


def make_problem(number: int, tests: int) -> Problem:
    test_names = [f"{test:02}" for test in range(tests)]
    third_of_tests = tests // 3
    groups = (
        test_names[:third_of_tests],
        test_names[third_of_tests : 2 * third_of_tests],
        test_names[2 * third_of_tests :],
    )
    return Problem(
        id=f"problem-{number:03}",
        difficulty=LANGUAGES[number % 3],
        tags=(TAGS[number % 6],),
        year=2013 + number % 12,
        tests=tuple(Test(name=name, input=Blob.of(f"{number} {name}")) for name in test_names),
        subtasks=tuple(
            Subtask(name=f"{index}", points=points, tests=tuple(group))
            for index, (points, group) in enumerate(zip((20, 30, 50), groups, strict=True))
        ),
    )


def make_result(test_name: str, random_numbers: random.Random, skill: float) -> TestResult:
    is_right = random_numbers.random() < skill
    status = convert_score_to_verdict(1.0) if is_right else random_numbers.choice(WRONG)
    return TestResult(
        test_name=test_name,
        score=float(is_right),
        status=status,
        feedback="Output is correct"
        if is_right
        else f"line {random_numbers.randrange(999)}: read {random_numbers.random():.9f}",
        cpu_time=round(random_numbers.random(), 6),
        wall_time=round(random_numbers.random(), 6),
        waited_time=0.0,
        memory=random_numbers.randrange(1 << 28),
    )


def make_rows(
    row_count: int, model_count: int, problem_count: int, test_count: int
) -> Iterator[dict[str, Any]]:
    random_numbers = random.Random(7)
    all_problems = [make_problem(index, test_count) for index in range(problem_count)]
    for index in range(row_count):
        problem, model_number = all_problems[index % problem_count], index // problem_count % model_count
        source = "".join(f"    sum += {random_numbers.randrange(10**6)} * read();\n" for _ in range(60))
        submission = Submission(
            key=f"row-{index}",
            problem_id=problem.id,
            code=f"#include <cstdio>\nint main() {{\n{source}}}\n",
            language="c++",
            row={"model": f"model-{model_number}", "generation": f"```cpp\nint main() {{\n{source}}}\n```"},
        )
        skill = random_numbers.random() ** (1 / (2 + model_number))
        results_by_test = {test.name: make_result(test.name, random_numbers, skill) for test in problem.tests}
        yield result_row(
            submission, problem, score_submission(problem, submission, results_by_test, compiler="g++ 12.2.0")
        )


# Script that waits until the layout is drawn, which happens two frames later.
DRAWN = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"


# Script that measures the milliseconds from a click or a choice until the browser has drawn the result. A
# message that is posted before a frame is drawn is received after the frame.
DRAWING_TIME_SCRIPT = """
    const [selector, place, entry, done] = arguments;
    const one = document.querySelectorAll(selector)[place];
    const channel = new MessageChannel();
    let begun;
    channel.port1.onmessage = () => done(performance.now() - begun);
    requestAnimationFrame(() => {
      begun = performance.now();
      channel.port2.postMessage(0);
      if (entry === null) return one.click();
      one.selectedIndex = entry;
      one.dispatchEvent(new Event("change"));
    });
"""
BOXES, LISTS = ".models input", ".filters select"


def measure_filter_drawing_times(browser: Any) -> None:
    """Measure how fast changes of filters are drawn, with 30 models and 300 problems."""

    def measure_choice(selector: str, place: int, entry: int | None = None) -> float:
        time.sleep(0.6)
        return float(browser.execute_async_script(DRAWING_TIME_SCRIPT, selector, place, entry))

    browser.execute_script(
        "for (const one of document.querySelectorAll('.filters, .choice')) one.open = true"
    )
    print_times("switches a model", [measure_choice(BOXES, index) for index in (0, 1, 2, 0, 1, 2)])
    print_times("chooses a tag", [measure_choice(LISTS, 0, entry) for entry in (1, 2, 3, 0, 1, 0)])


def print_times(action: str, times_ms: list[float]) -> None:
    print(
        f"time after a click that {action}: median"
        f" {statistics.median(times_ms):.0f} ms, maximum {max(times_ms):.0f} ms"
    )


def open_pages(folder: Path) -> None:
    """Measure the time to open each page, three times. The first time, the browser's caches are empty."""
    try:
        from selenium import webdriver
    except ImportError:
        print("selenium is not installed, so no page was opened in a browser")
        return
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    for page in (folder / "report.html", folder / FOLDER / ALL):
        with webdriver.Chrome(options, service) as browser:
            opening_times_s = list[float]()
            for _ in range(3):
                start_time = time.perf_counter()
                browser.get(page.as_uri())
                browser.execute_async_script(DRAWN)
                opening_times_s.append(time.perf_counter() - start_time)
            if page.name == "report.html":
                measure_filter_drawing_times(browser)
        times_text = ", ".join(f"{seconds:.2f}" for seconds in opening_times_s)
        print(f"{page.name}, {page.stat().st_size / 1e6:.2f} MB, is drawn {times_text} s after opening")


def repeat_rows(path: Path, old_count: int, new_count: int, first_number: int) -> None:
    """Append copies of the first rows with new keys.

    Creating different rows would be slower than a report.
    """
    with path.open("rb") as rows, path.open("ab") as stream:
        for number in range(new_count):
            if number % old_count == 0:
                rows.seek(0)
            old_key, new_key = (
                b'"row-%d"' % row_key for row_key in (number % old_count, first_number + number)
            )
            stream.write(next(rows).replace(old_key, new_key))


def measure_report(folder: Path, row_count: int) -> None:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    write_reports(folder)
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"report of {row_count:,} rows: {cpu_s:.1f} s of CPU time, {wall_s:.1f} s"
        f" of wall time, {peak_mib:.0f} MiB of peak memory",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument(
        "--copies", type=int, default=1, help="number of copies of each row, with different keys"
    )
    parser.add_argument(
        "--more", type=int, default=0, help="number of rows that are added for a second report"
    )
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--tests", type=int, default=20, help="number of tests of each problem")
    parser.add_argument("--keep", type=Path, help="folder for the run (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ioi-eval-report-") as temporary_folder:
        folder = arguments.keep or Path(temporary_folder)
        with ResultLog.open(folder, Fingerprint(dump="d" * 64)) as journal:
            journal.start_run()
            for row in make_rows(arguments.rows, arguments.models, arguments.problems, arguments.tests):
                journal.record_result(row)
        row_count = arguments.rows * arguments.copies
        repeat_rows(folder / RESULTS, arguments.rows, row_count - arguments.rows, arguments.rows)
        measure_report(folder, row_count)
        if arguments.more:
            repeat_rows(folder / RESULTS, arguments.rows, arguments.more, row_count)
            measure_report(folder, row_count + arguments.more)
        open_pages(folder)


if __name__ == "__main__":
    main()
