"""A judge with only classic jobs, and the functions of open_r1, with real scripts and compilers."""

from __future__ import annotations

from pathlib import Path

import pytest
from borrowed_engine import judge_on
from support.servers import ServerOptions, serve

from ioi_eval import EmbeddedEngine, JudgeOptions, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.integrations.open_r1 import (
    EngineClient,
    get_piston_client_from_env,
    score_submission,
    score_subtasks,
)
from ioi_eval.models import Blob, Limits, NamedBlob, Problem, Submission, Subtask, TaskOptions, Test
from ioi_eval.models import Verdict as V

GRADER = """#include "sum.h"
#include <cstdio>
int main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", add(a, b)); }
"""
HEADER = "int add(int a, int b);\n"
CODE = '#include "sum.h"\nint add(int a, int b) { return a == 5 ? 0 : a + b; }\n'
CASES = {"1": ("1 2\n", "3\n"), "2": ("5 5\n", "10\n"), "3": ("7 1\n", "8\n")}
FILES = {"graders/grader.cpp": GRADER, "graders/sum.h": HEADER}


def problem() -> Problem:
    return Problem(
        id="sum",
        limits=Limits.contest(1.0, 256 << 20),
        options=TaskOptions(with_grader=True),
        grader_files=tuple(NamedBlob(name=name, content=Blob.of(content)) for name, content in FILES.items()),
        tests=tuple(
            Test(name=name, input=Blob.of(case_input), answer=Blob.of(answer))
            for name, (case_input, answer) in CASES.items()
        ),
        subtasks=(
            Subtask(name="small", points=30, tests=("1",)),
            Subtask(name="all", points=70, tests=("1", "2", "3")),
        ),
    )


async def test_judge_uses_classic_jobs(engine: EmbeddedEngine, tmp_path: Path) -> None:
    async with judge_on(engine, Store(tmp_path), JudgeOptions(job="classic")) as judge:
        result = await judge.judge(
            problem(), Submission(key="1", problem_id="sum", code=CODE, language="c++")
        )
        refused = await judge.judge(
            problem(), Submission(key="2", problem_id="sum", code="int x = ;", language="c++")
        )
    assert result.points == 30
    assert [test.status for test in result.tests][:2] == [V.AC, V.WA]
    assert not refused.compiles and "error" in refused.compile_output


ROW = {"id": "sum", "time_limit": 1.0, "memory_limit": 256 << 20, "score_precision": 2, "test_cases": CASES}
CONFIG = '{"task_type": "Batch", "code": "sum", "time_limit": 1.0, "memory_limit": 268435456}'


def rows(**files: str) -> list[dict[str, object]]:
    pairs = FILES | {"graders/grader_config.json": CONFIG} | files
    row = ROW | {"grader_files": [*pairs.items()]}
    return [
        row | {"subtask": "small", "score": 30, "test_names": ["1"]},
        row | {"subtask": "all", "score": 70, "test_names": ["1", "2", "3"]},
    ]


async def test_score_subtasks_of_pipeline_scores_on_embedded_engine(engine: EmbeddedEngine) -> None:
    results = await score_subtasks(EngineClient(engine), rows(), CODE)
    assert [(result.weighted_score, result.status) for result in results] == [(30.0, "AC"), (0.0, "WA")]
    assert [test.status for test in results[1].test_results] == ["AC", "WA", "SKIPPED"]


async def test_open_r1_functions_score_on_worker(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(store=store, options=ServerOptions(port=0), slots=2) as server:
        monkeypatch.setenv("PISTON_ENDPOINTS", f"{server.url}/api/v2")
        monkeypatch.setenv("PISTON_MAX_REQUESTS_PER_ENDPOINT", "2")
        async with get_piston_client_from_env() as client:
            results = await score_subtasks(client, rows()[:1], CODE)
    assert [(result.weighted_score, result.status) for result in results] == [(30.0, "AC")]


async def test_codeforces_reward_is_judged_on_embedded_engine(engine: EmbeddedEngine) -> None:
    row = {
        "time_limit": 1.0,
        "memory_limit": 256.0,
        "input_mode": "stdio",
        "generated_checker": "import sys\nprint(int(open(sys.argv[2]).read() == open(sys.argv[3]).read()))",
        "official_tests": [{"input": case_input, "output": answer} for case_input, answer in CASES.values()],
    }
    code = "a, b = map(int, input().split())\nprint(0 if a == 5 else a + b)\n"
    client = EngineClient(engine)
    for mode, reward in (("partial", 2 / 3), ("pass_fail", 0.0)):
        got = await score_submission(
            client, row, code, scoring_mode=mode, submission_language="python", test_batch_size=-1
        )
        assert got == pytest.approx(reward)
    assert await score_submission(client, row, "print(", submission_language="python") == -0.1


async def test_uncompilable_grader_is_judge_failure(engine: EmbeddedEngine) -> None:
    broken = rows(**{"graders/grader.cpp": "int main() { return nonsense; }"})
    with pytest.raises(JudgeFailure, match=r"(?s)nonsense.*graders/grader\.cpp does not compile"):
        await score_subtasks(EngineClient(engine), broken, CODE)
