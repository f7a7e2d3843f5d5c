"""lm-evaluation-harness: its tasks and code, with rows from the test, judged by ioi_eval."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval", reason="lm_eval is not installed")

import lm_eval
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from ioi_eval.errors import JudgeFailure
from ioi_eval.integrations.lm_eval import CodeEval, code_eval, install
from ioi_eval.integrations.runtime import Runtime

HUMANEVAL = [
    {
        "task_id": f"HumanEval/{number}",
        "prompt": f'def {name}(a, b):\n    """{about}"""\n',
        "entry_point": name,
        "test": f"def check(f):\n    assert f(2, 3) == {first}\n    assert f(0, 4) == {second}\n",
    }
    for number, (name, about, first, second) in enumerate(
        [("add", "The sum.", 5, 4), ("times", "The product.", 6, 0), ("less", "The difference.", -1, -4)]
    )
]
MBPP = [
    {
        "task_id": 11,
        "text": "Write a function `twice` that doubles.",
        "code": "def twice(n): return 2 * n",
        "test_list": ["assert twice(2) == 4", "assert twice(0) == 0", "assert twice(-1) == -2"],
    }
]


class Writer(LM):
    """A model that selects its reply by a keyword in the prompt."""

    def __init__(self, replies: dict[str, str]) -> None:
        super().__init__()
        self._replies = replies

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        return [
            next(reply for key, reply in self._replies.items() if key in request.args[0])
            for request in requests
        ]

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> Any:
        raise NotImplementedError


def task_of(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """Write lm-eval's own task of this name with rows from a file."""
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    theirs = files("lm_eval") / "tasks" / name / f"{name}.yaml"
    (folder / f"{name}_here.yaml").write_text(
        f"include: {theirs}\ntask: {name}_here\ndataset_path: json\ndataset_name: null\n"
        f"dataset_kwargs:\n  data_files:\n    test: {data}\n"
    )


def evaluated(folder: Path, task: str, model: LM) -> dict[str, Any]:
    install()
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    evaluation = lm_eval.simple_evaluate(
        model=model, tasks=[task], task_manager=manager, confirm_run_unsafe_code=True, bootstrap_iters=0
    )
    return dict(evaluation["results"][task])


def test_lm_eval_humaneval_task_is_judged_by_ioi_eval(tmp_path: Path) -> None:
    task_of(tmp_path, "humaneval", HUMANEVAL)
    replies = {"sum": "    return a + b\n", "product": "    return a\n", "difference": "    return a - b\n"}
    scores = evaluated(tmp_path, "humaneval_here", Writer(replies))
    assert scores["pass@1,create_test"] == pytest.approx(2 / 3)


def test_lm_eval_mbpp_task_is_judged_by_ioi_eval(tmp_path: Path) -> None:
    task_of(tmp_path, "mbpp", MBPP)
    scores = evaluated(tmp_path, "mbpp_here", Writer({"twice": "def twice(n):\n    return n + n\n"}))
    assert scores["pass_at_1,none"] == 1


def test_lm_eval_command_uses_ioi_eval_metric(tmp_path: Path) -> None:
    """The dummy model writes no right program. The test checks which modules are loaded."""
    task_of(tmp_path, "humaneval", HUMANEVAL)
    arguments = ["--model", "dummy", "--tasks", "humaneval_here", "--include_path", str(tmp_path)]
    completed = subprocess.run(
        [sys.executable, "-m", "ioi_eval.integrations.lm_eval", *arguments, "--confirm_run_unsafe_code"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "|humaneval_here|" in completed.stdout.replace(" ", "") and "pass@1" in completed.stdout


# --- candidates --------------------------------------------------------------------------------------

TEST = "assert add(2, 3) == 5"
RIGHT, WRONG = "def add(a, b):\n    return a + b", "def add(a, b):\n    return a * b"
PASSING = {
    "right": RIGHT,
    "prints": f"print('x' * 100)\n{RIGHT}",
    "from the future": f"from __future__ import annotations\n{RIGHT}",
    "guarded": f"{RIGHT}\nif __name__ == '__main__':\n    add(input())",
    "letters": f"# żółw \U0001f422\n{RIGHT}",
}
FAILING = {
    "wrong": (WRONG, "failed: "),
    "raises": ("def add(a, b):\n    raise ValueError('no such sum')", "failed: no such sum"),
    "no Python": ("def add(a, b) return", "failed: "),
    "ends early": ("import sys\nsys.exit(0)", "failed: 0"),
    "ends hard": ("import os\nos._exit(0)", "failed: "),
    "reads": ("word = input()\nprint(word)", "failed: "),
    "endless": ("while True:\n    pass", "timed out"),
    "nothing": ("", "failed: name 'add' is not defined"),
}


@pytest.fixture(scope="module")
def judged() -> tuple[dict[str, float], dict[int, Any]]:
    sources = [*PASSING.values(), *(source for source, _ in FAILING.values())]
    return code_eval.compute(
        predictions=[[source] for source in sources], references=[TEST] * len(sources), k=[1]
    )


@pytest.mark.parametrize("name", [*PASSING, *FAILING])
def test_code_eval_candidate_passes_if_it_ends_normally(
    name: str, judged: tuple[Any, dict[int, Any]]
) -> None:
    [(number, outcome)] = judged[1][[*PASSING, *FAILING].index(name)]
    expected = "passed" if name in PASSING else FAILING[name][1]
    assert number == 0 and outcome["passed"] is (name in PASSING)
    assert outcome["result"].startswith(expected)


def test_code_eval_pass_at_k_equals_the_estimate_of_the_original_metric(
    judged: tuple[dict[str, float], Any],
) -> None:
    """It uses the example of the metric's page, and its rule that every task needs k candidates."""
    assert judged[0] == {"pass@1": len(PASSING) / (len(PASSING) + len(FAILING))}
    estimates, results = code_eval.compute(references=[TEST], predictions=[[WRONG, RIGHT]], k=[1, 2, 5])
    assert estimates == {"pass@1": 0.5, "pass@2": 1.0}
    assert [outcome["passed"] for _, outcome in results[0]] == [False, True]
    assert code_eval.compute(references=[TEST, TEST], predictions=[[WRONG, RIGHT], [RIGHT]], k=[2])[0] == {}


def test_unjudged_candidate_makes_pass_at_k_undefined(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Runtime.score

    async def score(self: Runtime, problem: Any, submission: Any) -> Any:
        if submission.key == "0/0":
            raise JudgeFailure("out of disks")
        return await judge(self, problem, submission)

    monkeypatch.setattr(Runtime, "score", score)
    estimates, results = CodeEval().compute(references=[TEST], predictions=[[WRONG, RIGHT]], k=[1, 2])
    assert estimates["pass@1"] == 1 and math.isnan(estimates["pass@2"])
    assert results[0][0][1] == {
        "task_id": 0,
        "completion_id": 0,
        "passed": None,
        "result": "not judged: out of disks",
    }


def test_lm_eval_integration_import_loads_no_heavy_packages() -> None:
    code = "import sys, ioi_eval.integrations.lm_eval; print(*sys.modules)"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "datasets", "evaluate", "lm_eval", "numpy", "pyarrow", "torch"} & set(
        completed.stdout.split()
    )
