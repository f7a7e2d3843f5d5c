"""Problems, submissions and results for tests of rows, result logs, the runner and reports."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st
from support.runs import Fingerprint, ResultLog, score_submission

from ioi_eval.models import Blob, Problem, Submission, SubmissionResult, Subtask, Test, TestResult, Verdict

TESTS = ("1-a", "2-a", "2-b", "3-a")


def problem(name: str = "sum", *, subtasks: bool = True) -> Problem:
    groups = (
        Subtask(name="01-small", points=20, tests=TESTS[:1]),
        Subtask(name="02-middle", points=30.5, tests=TESTS[:3]),
        Subtask(name="03-all", points=49.5, tests=TESTS),
    )
    return Problem(
        id=name,
        tests=tuple(Test(name=test, input=Blob.of(test)) for test in TESTS),
        subtasks=groups if subtasks else (),
    )


def submission(key: str, code: str | None = None, **fields: Any) -> Submission:
    return Submission(
        **{"key": key, "problem_id": "sum", "code": code or f"// {key}", "language": "c++", **fields}
    )


def outcome(test: str, status: Verdict, feedback: str = "") -> TestResult:
    score = {Verdict.AC: 1.0, Verdict.PA: 1 / 3}.get(status, 0.0)
    return TestResult(
        test_name=test,
        score=score,
        status=status,
        feedback=feedback,
        cpu_time=0.1,
        wall_time=0.2,
        memory=1 << 20,
    )


def result(
    of: Submission,
    statuses: Mapping[str, Verdict] | None = None,
    *,
    problem: Problem | None = None,
    compiles: bool = True,
    feedback: str = "",
    **fields: Any,
) -> SubmissionResult:
    """Return a result in which all tests are AC, except for those in `statuses`."""
    tests = {test: outcome(test, (statuses or {}).get(test, Verdict.AC), feedback) for test in TESTS}
    the_problem = problem or SUM
    return score_submission(the_problem, of, tests, compiles=compiles, **fields)


def write_run(
    folder: Path,
    rows: Iterable[Mapping[str, Any]],
    failures: Iterable[Mapping[str, Any]] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    made_of: Fingerprint | None = None,
) -> Path:
    """Write a run's folder with these rows."""
    with ResultLog.open(folder, made_of or Fingerprint(dump="d" * 64), settings=settings) as journal:
        journal.start_run()
        for row in rows:
            journal.record_result(row)
        for row in failures:
            journal.record_failure(row)
    return folder


def in_any_order(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows by key, and check that each group of equal programs was judged once."""
    by_key = {row["key"]: row for row in rows}
    key_of_source = {
        row["submission_sha256"]: row["key"] for row in by_key.values() if row["repeats"] is None
    }
    for row in by_key.values():
        assert row["repeats"] in (None, key_of_source[row["submission_sha256"]])
    return [{**by_key[key], "repeats": None} for key in sorted(by_key)]


SUM = problem()
RAN = (Verdict.AC, Verdict.PA, Verdict.WA, Verdict.TLE, Verdict.MLE, Verdict.OLE, Verdict.RE)

texts = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(
    [
        "",
        "| `x` |",
        "</table><script>",
        "\x1b[31mred",
        "a\nb\r\n# c",
        "\ud800",
        "\u202ereversed",
        "https://example.org",
    ]
)
columns = st.dictionaries(
    st.sampled_from(["uuid", "prompt", "generation", "model", "seed", "score", "passed", "resolved", "key"])
    | st.text(string.ascii_letters, min_size=1, max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | texts | st.binary(max_size=5) | st.dates(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=6,
)


@st.composite
def judged(draw: st.DrawFn) -> tuple[Submission, Problem, SubmissionResult]:
    """Draw a submission, for any of three problems, with a result."""
    name, subtasks = draw(st.sampled_from([("sum", True), ("tree", True), ("plain", False)]))
    the_problem = problem(name, subtasks=subtasks)
    targets = st.none() | st.sampled_from([group.name for group in the_problem.subtasks] or [None])
    of = submission(
        draw(st.uuids()).hex,
        problem_id=name,
        row=draw(columns),
        target_subtask=draw(targets),
        repairs=tuple(draw(st.lists(texts, max_size=2))),
    )
    statuses = {test: draw(st.sampled_from(RAN)) for test in TESTS}
    judged_result = result(
        of,
        statuses,
        problem=the_problem,
        compiles=draw(st.booleans()),
        feedback=draw(texts),
        compile_output=draw(texts),
        compiler="g++ 12.2.0",
        checker="white-diff",
        confinement={
            "v": 1,
            "uid": 60007,
            "landlock": 4,
            "seccomp": True,
            "namespaces": ["user"],
            "missing": [],
        },
    )
    return (
        of,
        the_problem,
        msgspec.structs.replace(judged_result, repeats=draw(st.sampled_from(["", "another"]))),
    )
