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
from ioi_eval.rules.verdicts import verdict_of_score
from ioi_eval.store.folder import RESULTS, Fingerprint
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import result_row

LANGUAGES = ("introductory", "interview", "competition")
TAGS = ("graphs", "dp", "strings", "geometry", "greedy", "trees")
WRONG = (Verdict.WA, Verdict.TLE, Verdict.RE, Verdict.MLE)


def make_problem(number: int, tests: int) -> Problem:
    names = [f"{test:02}" for test in range(tests)]
    third = tests // 3
    groups = (names[:third], names[third : 2 * third], names[2 * third :])
    return Problem(
        id=f"problem-{number:03}",
        difficulty=LANGUAGES[number % 3],
        tags=(TAGS[number % 6],),
        year=2013 + number % 12,
        tests=tuple(Test(name=name, input=Blob.of(f"{number} {name}")) for name in names),
        subtasks=tuple(
            Subtask(name=f"{index}", points=points, tests=tuple(group))
            for index, (points, group) in enumerate(zip((20, 30, 50), groups, strict=True))
        ),
    )


def make_result(name: str, dice: random.Random, skill: float) -> TestResult:
    right = dice.random() < skill
    status = verdict_of_score(1.0) if right else dice.choice(WRONG)
    return TestResult(
        test_name=name,
        score=float(right),
        status=status,
        feedback="Output is correct" if right else f"line {dice.randrange(999)}: read {dice.random():.9f}",
        cpu_time=round(dice.random(), 6),
        wall_time=round(dice.random(), 6),
        waited_time=0.0,
        memory=dice.randrange(1 << 28),
    )


def make_rows(number: int, models: int, problems: int, tests: int) -> Iterator[dict[str, Any]]:
    dice = random.Random(7)
    all_problems = [make_problem(index, tests) for index in range(problems)]
    for index in range(number):
        problem, model = all_problems[index % problems], index // problems % models
        source = "".join(f"    sum += {dice.randrange(10**6)} * read();\n" for _ in range(60))
        submission = Submission(
            key=f"row-{index}",
            problem_id=problem.id,
            code=f"#include <cstdio>\nint main() {{\n{source}}}\n",
            language="c++",
            row={"model": f"model-{model}", "generation": f"```cpp\nint main() {{\n{source}}}\n```"},
        )
        skill = dice.random() ** (1 / (2 + model))
        results_by_test = {test.name: make_result(test.name, dice, skill) for test in problem.tests}
        yield result_row(
            submission, problem, score_submission(problem, submission, results_by_test, compiler="g++ 12.2.0")
        )


# Script that waits until the layout is drawn, which happens two frames later.
DRAWN = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"


# Script that measures the milliseconds until a choice is drawn. A message that is sent in a frame is received
# after the frame.
FIRST = """
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


def measure_filters(browser: Any) -> None:
    """Measure how fast changes of filters are drawn, with 30 models and 300 problems."""

    def drawn(selector: str, place: int, entry: int | None = None) -> float:
        time.sleep(0.6)
        return float(browser.execute_async_script(FIRST, selector, place, entry))

    browser.execute_script(
        "for (const one of document.querySelectorAll('.filters, .choice')) one.open = true"
    )
    print_times("switches a model", [drawn(BOXES, index) for index in (0, 1, 2, 0, 1, 2)])
    print_times("chooses a tag", [drawn(LISTS, 0, entry) for entry in (1, 2, 3, 0, 1, 0)])


def print_times(name: str, times: list[float]) -> None:
    print(
        f"time after a click that {name}: median"
        f" {statistics.median(times):.0f} ms, maximum {max(times):.0f} ms"
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
            times = list[float]()
            for _ in range(3):
                start = time.perf_counter()
                browser.get(page.as_uri())
                browser.execute_async_script(DRAWN)
                times.append(time.perf_counter() - start)
            if page.name == "report.html":
                measure_filters(browser)
        times_text = ", ".join(f"{seconds:.2f}" for seconds in times)
        print(f"{page.name}, {page.stat().st_size / 1e6:.2f} MB, is drawn {times_text} s after opening")


def repeat_rows(path: Path, of: int, more: int, begin: int) -> None:
    """Append copies of the first rows with new keys.

    Creating different rows would be slower than a report.
    """
    with path.open("rb") as rows, path.open("ab") as stream:
        for number in range(more):
            if number % of == 0:
                rows.seek(0)
            old_key, new_key = (b'"row-%d"' % row_key for row_key in (number % of, begin + number))
            stream.write(next(rows).replace(old_key, new_key))


def measure_report(folder: Path, rows: int) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    write_reports(folder)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"report of {rows:,} rows: {cpu:.1f} s of CPU time, {wall:.1f} s"
        f" of wall time, {peak:.0f} MiB of peak memory",
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
    with tempfile.TemporaryDirectory(prefix="ioi-eval-report-") as temporary:
        folder = arguments.keep or Path(temporary)
        with ResultLog.open(folder, Fingerprint(dump="d" * 64)) as journal:
            journal.start_run()
            for row in make_rows(arguments.rows, arguments.models, arguments.problems, arguments.tests):
                journal.record_result(row)
        number = arguments.rows * arguments.copies
        repeat_rows(folder / RESULTS, arguments.rows, number - arguments.rows, arguments.rows)
        measure_report(folder, number)
        if arguments.more:
            repeat_rows(folder / RESULTS, arguments.rows, arguments.more, number)
            measure_report(folder, number + arguments.more)
        open_pages(folder)


if __name__ == "__main__":
    main()
