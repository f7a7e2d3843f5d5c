"""Rewards as trainers call them, on an embedded engine in this process."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy
import pytest
from reward_answers import RIGHT, TESTS, WRONG, fenced
from support.cached_lookups import script_with_known_tools
from support.datasets import CasesError, Problems

from ioi_eval.errors import InputError, IoiEvalError
from ioi_eval.integrations.open_r1 import binary_code_reward, code_reward
from ioi_eval.integrations.rewards import RewardMode, RewardOptions, reply_text
from ioi_eval.integrations.runtime import Setup, close_all
from ioi_eval.integrations.trl import make_async_reward, make_reward, reward, reward_async
from ioi_eval.integrations.verl import compute_score, compute_score_async, compute_score_batch
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    NamedBlob,
    Problem,
    ScoreType,
    Submission,
    Subtask,
    Test,
)
from ioi_eval.testing import FakeEngine, FakeTest, Fatal


@pytest.fixture(autouse=True, scope="module")
def closing_reward_runtimes(shared_cache: Path) -> Iterator[None]:
    """One for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOI_EVAL_CACHE", str(shared_cache))
        yield
        close_all()


CALLS = json.dumps({"fn_name": "twice", "inputs": [[2], [5]], "outputs": [4, 10]})

PARTLY = fenced("print(min(10, 2 * int(input())))")
BROKEN = fenced("print(")
NO_CODE = "I do not know."
EVERYTHING = [RIGHT, PARTLY, WRONG, BROKEN, NO_CODE]


SHAPED: Any = {"no_code": -1.0, "no_compile": -0.1}


def rewards(mode: RewardMode, completions: list[Any] = EVERYTHING, **columns: Any) -> list[float | None]:
    give = make_reward(RewardOptions(mode=mode, **SHAPED))
    return give(prompts=["?"] * len(completions), completions=completions, **columns)


def test_each_mode_computes_its_rewards() -> None:
    column = {"input_output": [TESTS] * 5}
    third = pytest.approx(2 / 3)
    assert rewards(RewardMode.PARTIAL, **column) == [1, third, 0, -0.1, -1]
    assert rewards(RewardMode.PASS_FAIL, **column) == [1, 0, 0, -0.1, -1]
    assert rewards(RewardMode.WEIGHTED_SUM, **column) == [1.1, pytest.approx(0.2 / 3), 0, -0.1, -1]


def test_reward_without_shaping_is_the_share_of_passed_tests() -> None:
    scores = reward(completions=EVERYTHING, tests=[TESTS] * 5)
    assert scores == [1, pytest.approx(2 / 3), 0, 0, 0]
    assert [compute_score("apps", reply, TESTS) for reply in EVERYTHING] == scores


def test_reward_penalties_are_options() -> None:
    weighted = RewardOptions(mode=RewardMode.WEIGHTED_SUM, no_code=-7, no_compile=-8, partial_weight=0.5)
    give = make_reward(weighted)
    assert give(completions=EVERYTHING, tests=[TESTS] * 5) == [1.5, pytest.approx(1 / 3), 0, -8, -7]


@pytest.mark.parametrize("problems", [{"sum": None}, [], "packages"])
def test_reward_refuses_problems_that_cannot_be_found_by_id(problems: Any) -> None:
    with pytest.raises(
        InputError, match=r"cannot look up problems by their ids.*Problems\(\[problem, \.\.\.\]\)"
    ):
        make_reward(problems=problems)


def test_checker_option_of_rewards_changes_output_comparison() -> None:
    floats = fenced("print(2.0 * int(input()))")
    close = make_reward(RewardOptions(mode=RewardMode.PASS_FAIL, checker="float-lines"))
    assert close(completions=[floats], tests=[TESTS]) == [1]
    assert rewards(RewardMode.PASS_FAIL, [floats], tests=[TESTS]) == [0]
    with pytest.raises(InputError, match="unknown comparison 'cms'"):
        make_reward(RewardOptions(checker="cms"))


def test_reward_accepts_columns_of_trl() -> None:
    """Conversations as completions, unknown columns, and values that are not columns."""
    reply_parts = [{"type": "reasoning", "text": RIGHT}, {"type": "text", "text": "See above."}]
    conversations = [[{"role": "assistant", "content": content}] for content in (RIGHT, reply_parts)]
    scores = reward(
        prompts=[[{"role": "user", "content": "?"}]] * 2,
        completions=conversations,
        completion_ids=[[1], [2]],
        difficulty=["easy", "hard"],
        ground_truth=[TESTS, json.loads(TESTS)],
        trainer_state=object(),
        log_extra=print,
        log_metric=print,
    )
    assert scores == [1, 0]
    assert reward.__name__ == "ioi_eval_reward"


def test_reward_logs_verdicts_and_means() -> None:
    """A line for each completion, and means over them, with the name of the reward."""
    lines, means = {}, {}
    logs: dict[str, Any] = {"log_extra": lines.__setitem__, "log_metric": means.__setitem__}
    give = make_reward(RewardOptions(mode=RewardMode.PASS_FAIL), name="code")
    tests = [*[TESTS] * 5, "{"]
    assert give(completions=[*EVERYTHING, RIGHT], tests=tests, **logs) == [1, 0, 0, 0, 0, None]
    assert lines == {"code/verdict": ["AC", "WA", "WA", "CE", "no code", "not judged"]}
    assert means.pop("code/seconds") > 0
    sixth = pytest.approx(1 / 6)
    assert means == {"code/solved": sixth, "code/no_code": sixth, "code/not_judged": sixth}


def test_async_reward_equals_sync_reward() -> None:
    """Trainers detect it as a coroutine function."""
    assert inspect.iscoroutinefunction(reward_async) and reward_async.__name__ == "ioi_eval_reward"
    lines: dict[str, Any] = {}
    pass_fail_reward = make_async_reward(RewardOptions(mode=RewardMode.PASS_FAIL), name="own")

    async def both() -> list[Any]:
        arguments: Any = {"prompts": None, "completions": EVERYTHING, "tests": [TESTS] * 5}
        return await asyncio.gather(
            reward_async(**arguments), pass_fail_reward(**arguments, log_extra=lines.__setitem__)
        )

    assert asyncio.run(both()) == [[1, pytest.approx(2 / 3), 0, 0, 0], [1, 0, 0, 0, 0]]
    assert lines == {"own/verdict": ["AC", "WA", "WA", "CE", "no code"]}


def test_tests_in_column_verification_info_are_judged() -> None:
    cases = [{"input": "2\n", "output": "4\n", "type": "stdin_stdout"}]
    cpp = '```cpp\n#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", 2 * n); }\n```'
    infos = [{"language": "python", "test_cases": cases}, {"language": "cpp", "test_cases": cases}, None]
    assert reward(completions=[RIGHT, cpp, RIGHT], verification_info=infos) == [1, 1, None]
    encoded_infos = [json.dumps(info) for info in infos]
    assert reward(completions=[RIGHT, cpp, RIGHT], verification_info=encoded_infos) == [1, 1, None]


def test_rewards_accept_tests_of_functions_and_lists_of_tests() -> None:
    twice = fenced("def twice(n):\n    return 2 * n")
    pairs = [{"input": "1\n", "output": "2\n"}]
    assert rewards(RewardMode.PARTIAL, [twice, RIGHT], ground_truth=[CALLS, pairs]) == [1, 1]
    assert rewards(RewardMode.PARTIAL, [RIGHT], test_cases=[json.dumps(pairs)]) == [1]


def test_rewards_accept_function_calls_in_lists_of_tests() -> None:
    twice = fenced("class Solution:\n    def plus(self, a, b):\n        return a + b")
    call = {"input": "[2]\n[3]", "output": "[2, 3]", "testtype": "functional"}
    named_calls = [{**call, "metadata": {"func_name": "plus"}}]
    assert rewards(RewardMode.PARTIAL, [twice], tests=[json.dumps(named_calls)]) == [1]
    assert rewards(RewardMode.PARTIAL, [twice], tests=[[call]]) == [None], "the function's name is missing"
    assert rewards(RewardMode.PARTIAL, [twice], tests=[[*named_calls, {"input": "1", "output": "2"}]]) == [
        None
    ]


@pytest.mark.nightly(unless="^def.*inputs0|^class.*inputs3")
@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ([[2, 3], [5, 5]], [5, 10]),
        ([[2, 3], [5, 5]], [[5], [10]]),
        (["2\n3", "5\n5"], ["5", "10"]),
        (["2\n3", "5\n5"], ["[5]", "[10]"]),
        (["2\n3", "5\n5"], [5, 10]),
    ],
)
@pytest.mark.parametrize(
    "code", ["def add(a, b): return a + b", "class Solution:\n def add(s, a, b): return a + b"]
)
def test_rewards_accept_all_forms_of_function_tests(inputs: list[Any], outputs: list[Any], code: str) -> None:
    table = {"inputs": inputs, "outputs": outputs, "fn_name": "add"}
    pairs = [
        {"type": "function_call", "fn_name": "add", "input": call_input, "output": call_output}
        for call_input, call_output in zip(inputs, outputs, strict=True)
    ]
    wrong = code.replace("+", "-")
    forms: list[Any] = [json.dumps(table), table, json.dumps(pairs), pairs, numpy.array(pairs)]
    call_input = [fenced(code), fenced(wrong)] * len(forms)
    truths = [form for form in forms for _ in range(2)]
    assert rewards(RewardMode.PARTIAL, call_input, ground_truth=truths) == [1, 0] * len(forms)
    assert [
        compute_score("apps", fenced(code), form, mode="partial") for form in (json.dumps(table), pairs)
    ] == [1, 1]
    infos = [{"language": "python", "test_cases": pairs}]
    assert code_reward([fenced(code)], verification_info=infos) == [1]


def test_single_function_argument_needs_no_list() -> None:
    table = {"inputs": [2, 5, None], "outputs": [4, 10, 0], "fn_name": "twice"}
    assert rewards(RewardMode.PARTIAL, [fenced("def twice(n): return 2 * (n or 0)")], tests=[table]) == [1]


def test_reward_distinguishes_long_numpy_test_arrays() -> None:
    """numpy shortens the text of long arrays."""
    right, other = ({"inputs": numpy.array(["1"] * 2000), "outputs": numpy.array(["1"] * 2000)} for _ in "ab")
    other["outputs"][1000] = "2"
    echo = fenced("print(input())")
    assert rewards(RewardMode.PASS_FAIL, [echo, echo], tests=[right, other]) == [1, 0]


def test_empty_conversation_gets_no_code_reward() -> None:
    nothing: list[Any] = [[], [{"role": "assistant"}], [{"role": "assistant", "content": None}], ""]
    assert rewards(RewardMode.PARTIAL, nothing, tests=[TESTS] * 4) == [-1] * 4


def test_code_reward_matches_open_r1() -> None:
    tests = [{"input": f"{n}\n", "output": str(2 * n), "type": "stdin_stdout"} for n in (2, 9)]
    infos = [{"language": "python", "test_cases": tests}] * 5 + [{"language": "python", "test_cases": []}]
    conversations = [[{"role": "assistant", "content": reply}] for reply in (*EVERYTHING, RIGHT)]
    options = {"num_parallel": 2, "provider_type": "e2b"}
    assert code_reward(conversations, verification_info=infos, **options) == [1, 0.5, 0, 0, 0, None]
    assert binary_code_reward(conversations, verification_info=infos) == [1, 0, 0, 0, 0, None]


# Rows that cannot be judged, for different reasons. No such row may stop a training.
UNREADABLE: list[Any] = [
    None,
    "",
    "{",
    "[1]",
    7,
    b"{}",
    object(),
    {"inputs": ["1"], "outputs": []},
    {"inputs": [object()], "outputs": ["1"]},
    {"inputs": ["x"], "outputs": ["1"], "fn_name": "f"},
    [{"input": 1}],
    [{"input": "1", "output": "1", "testtype": "functional"}],
    {"inputs": [[1]], "outputs": [1], "fn_name": "two words"},
    [{"input": "\ud800", "output": "1"}],
    [{"input": "1", "output": "1", "testtype": "functional", "metadata": {"func_name": "\ud800"}}],
]


@pytest.mark.parametrize("tests", UNREADABLE, ids=map(str, range(len(UNREADABLE))))
def test_reward_of_broken_rows_does_not_raise(tests: Any) -> None:
    sound = [{"input": "2", "output": "4"}]
    assert rewards(RewardMode.PARTIAL, [RIGHT, RIGHT], ground_truth=[tests, sound]) == [None, 1]
    assert compute_score("apps", RIGHT, tests) == 0
    assert compute_score_batch(["apps"] * 2, [RIGHT] * 2, [tests, sound], on_failure=-3) == [-3, 1]
    with pytest.raises(IoiEvalError):
        compute_score("apps", RIGHT, tests, on_failure=None)
    infos: list[Any] = [None, {"test_cases": tests}]
    assert code_reward([RIGHT, RIGHT], verification_info=infos) == [None, None]


def test_invalid_column_values_of_row_give_none() -> None:
    assert rewards(RewardMode.PARTIAL, [RIGHT] * 2, tests=[TESTS] * 2, language=["klingon", None]) == [
        None,
        1,
    ]
    assert compute_score("apps", RIGHT, TESTS, {"language": "klingon"}) == 0
    assert rewards(RewardMode.PARTIAL, [RIGHT] * 2, tests=[TESTS] * 2, problem_id=["\ud800", None]) == [1, 1]
    give = make_reward(problems=Problems([]))
    assert give(completions=[RIGHT] * 2, problem_id=["gone", "p"], year=[2020, "never"]) == [None, None]


@pytest.mark.parametrize("gap", [numpy.array([]), [], math.nan, ""], ids=["array", "list", "nan", "text"])
def test_missing_values_in_reward_columns_are_ignored(gap: Any) -> None:
    columns = {name: [gap] for name in ("language", "subtask", "target_subtask")}
    assert rewards(RewardMode.PARTIAL, [RIGHT], tests=[TESTS], **columns) == [1]
    info = {"language": gap, "test_cases": [{"input": "1", "output": "2", "type": "stdin_stdout"}]}
    assert code_reward([RIGHT], verification_info=[info]) == [1]


def test_invalid_reward_options_are_input_error() -> None:
    with pytest.raises(InputError, match="klingon"):
        make_reward(RewardOptions(language="klingon"))
    with pytest.raises(InputError, match="klingon"):
        compute_score("apps", RIGHT, TESTS, language="klingon")
    for seconds in (0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="time_limit"):
            RewardOptions(time_limit=seconds)
        with pytest.raises(InputError, match="time_limit"):
            compute_score("apps", RIGHT, TESTS, time_limit=seconds)
    with pytest.raises(InputError, match=r"^the dataset has no column with tests"):
        code_reward([RIGHT], verification_info=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown mode 'best'"):
        RewardOptions(mode="best")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "column",
    [
        {"language": "cpp"},
        {"language": ["cpp"]},
        {"language": numpy.array(["cpp", "cpp"])},
        {"tests": [TESTS]},
    ],
    ids=["text", "short", "array", "tests"],
)
def test_column_of_wrong_length_is_input_error(column: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be a list of 2 values, one for each completion"):
        reward(completions=[RIGHT] * 2, **{"ground_truth": [TESTS] * 2, **column})


def test_pass_fail_reward_stops_at_first_failed_test() -> None:
    ran = list[int]()

    def wrong(test: FakeTest) -> float:
        ran.append(test.index)
        return 0.0

    setup = Setup(engine=lambda store: FakeEngine(wrong))
    many = json.dumps({"inputs": [f"{n}" for n in range(20)], "outputs": ["?"] * 20})
    for mode in (RewardMode.PASS_FAIL, "pass_fail"):
        ran.clear()
        give = make_reward(RewardOptions(mode=mode), setup=setup)  # type: ignore[arg-type]
        assert give(completions=[RIGHT], tests=[many]) == [0] and ran == [0]


MISSES = f"""
from ioi_eval.integrations.runtime import Setup
from ioi_eval.integrations.trl import make_reward
from ioi_eval.integrations.verl import compute_score
from ioi_eval.models import Blob, Problem, Subtask, Test
from ioi_eval.problems import Problems
from ioi_eval.testing import FakeEngine

setup = Setup(engine=lambda store: FakeEngine())
reward = make_reward(setup=setup)
for _ in range(3):
    assert reward(completions=[{RIGHT!r}] * 3, tests=["{{", {TESTS!r}, "no"]) == [None, 1, None]
assert compute_score("apps", {RIGHT!r}, {TESTS!r}, {{"language": "klingon"}}) == 0
test = Test(name="1", input=Blob.of("1"), answer=Blob.of("2"))
problem = Problem(id="twice", tests=(test,), subtasks=(Subtask(name="all", points=1, tests=("1",)),))
reward = make_reward(problems=Problems([problem]), setup=setup)
names = {{"problem_id": ["nowhere", "twice"], "subtask": ["all", "9"]}}
assert reward(completions=[{RIGHT!r}] * 2, **names) == [None, None]
"""


def test_unjudged_rows_are_logged_once_per_kind_and_counted(tmp_path: Path) -> None:
    script = script_with_known_tools(tmp_path / "tools.json") + MISSES
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert completed.returncode == 0, completed.stderr
    reasons = re.findall(r"^a submission was not judged because of ([^:]+):", completed.stderr, re.M)
    assert reasons == [
        "tests that cannot be read",
        "a row that cannot be judged",
        "a row that names an unknown problem or subtask",
    ]
    assert completed.stderr.splitlines()[-1] == (
        "number of submissions that were not judged: 9 (6 because of tests that cannot be read, 1 because of"
        " a row that cannot be judged, 2 because of a row that names an unknown problem or subtask)"
    )


def test_row_with_broken_tests_has_no_reward() -> None:
    assert rewards(RewardMode.PARTIAL, [RIGHT, RIGHT], ground_truth=["{", TESTS]) == [None, 1]
    assert rewards(RewardMode.PARTIAL, [RIGHT], ground_truth=[[{"in": "1"}]]) == [None]
    assert rewards(RewardMode.PARTIAL, [RIGHT], ground_truth=[[]]) == [None], (
        "without tests the reward is not 0"
    )
    with pytest.raises(CasesError):
        compute_score("apps", RIGHT, "", on_failure=None)


def test_missing_tests_column_is_input_error() -> None:
    with pytest.raises(InputError, match="no column with tests"):
        rewards(RewardMode.PARTIAL, [RIGHT], answer=["42"])


@pytest.mark.usefixtures("no_retry_waits")
def test_judge_failure_reward_is_none() -> None:
    broken = Setup(engine=lambda _: FakeEngine(faults=itertools.repeat(Fatal("no machine"))))
    give = make_reward(setup=broken)
    assert give(completions=[RIGHT, NO_CODE], tests=[TESTS] * 2) == [None, 0]


def test_rewards_judge_equal_programs_once() -> None:
    """Even if the prose around them differs, but not for another problem, language or subtask."""
    engine = FakeEngine()
    give = make_reward(RewardOptions(mode=RewardMode.PARTIAL), setup=Setup(engine=lambda _: engine))
    other = json.dumps({"inputs": ["7"], "outputs": ["14"]})
    replies = [RIGHT, f"Surely this:\n{RIGHT}", RIGHT, WRONG, RIGHT, RIGHT]
    languages = ["python"] * 5 + ["pypy"]
    columns = [TESTS] * 4 + [other, TESTS]
    assert give(completions=replies, tests=columns, language=languages) == [1] * 6
    assert len(engine.runs) == 4  # RIGHT, WRONG, RIGHT for the other problem, RIGHT by another interpreter
    other_engine = FakeEngine()
    unshared = RewardOptions(mode=RewardMode.PARTIAL, share=False)
    own_reward = make_reward(unshared, setup=Setup(engine=lambda _: other_engine))
    assert own_reward(completions=replies, tests=columns, language=languages) == [1] * 6
    assert len(other_engine.runs) == 6


def problem_with_subtasks() -> Problem:
    tests = tuple(
        Test(name=str(n), input=Blob.of(f"{n}\n"), answer=Blob.of(f"{2 * n}\n")) for n in (1, 2, 50)
    )
    halves = (
        Subtask(name="small", points=30, tests=("1", "2"), score_type=ScoreType.GROUP_MIN),
        Subtask(name="large", points=70, tests=("50",), score_type=ScoreType.GROUP_MIN),
    )
    return Problem(id="twice", tests=tests, subtasks=halves)


def test_reward_uses_problem_id_and_target_subtask_columns() -> None:
    give = make_reward(RewardOptions(mode=RewardMode.PARTIAL), problems=Problems([problem_with_subtasks()]))
    scores = give(completions=[PARTLY] * 3, problem_id=["twice"] * 3, target_subtask=["small", "large", None])
    assert scores == [1, 0, pytest.approx(0.3)]
    # The whole problem's points are not the reward for a missing subtask.
    assert give(completions=[RIGHT] * 2, problem_id=["twice"] * 2, subtask=["larger", 0]) == [None, None]


def test_subtask_reward_is_not_rounded() -> None:
    whole = Subtask(name="all", points=1, tests=("1", "2", "50"), score_type=ScoreType.SUM)
    problem = msgspec.structs.replace(problem_with_subtasks(), subtasks=(whole,), score_precision=0)
    give = make_reward(RewardOptions(mode=RewardMode.PARTIAL), problems=Problems([problem]))
    assert give(completions=[PARTLY], problem_id=["twice"], subtask=["all"]) == [pytest.approx(2 / 3)]


def test_reward_for_problem_without_points_is_1_or_0() -> None:
    subtasks = tuple(
        msgspec.structs.replace(subtask, points=0) for subtask in problem_with_subtasks().subtasks
    )
    problem = msgspec.structs.replace(problem_with_subtasks(), subtasks=subtasks)
    give = make_reward(RewardOptions(mode=RewardMode.PARTIAL), problems=Problems([problem]))
    assert give(completions=[RIGHT, PARTLY], problem_id=["twice"] * 2) == [1, 0]


def test_rewards_distinguish_problems_by_year() -> None:
    older, newer = (msgspec.structs.replace(problem_with_subtasks(), year=year) for year in (2023, 2024))
    newer = msgspec.structs.replace(newer, tests=newer.tests[:2], subtasks=newer.subtasks[:1])
    give = make_reward(RewardOptions(mode=RewardMode.PARTIAL), problems=Problems([older, newer]))
    scores = give(completions=[PARTLY] * 2, problem_id=["twice"] * 2, year=[2023, 2024])
    assert scores == [pytest.approx(0.3), 1]


# Like many generated checkers, it fails on output that is not a number.
FRAGILE = """import sys
right, printed = (int(open(name).read()) for name in (sys.argv[2], sys.argv[3]))
print(int(right == printed))
"""


def test_submission_that_breaks_the_checker_has_reward_0() -> None:
    """With None it would not count in the mean, which a model could exploit."""
    sources = (NamedBlob(name="checker.py", content=Blob.of(FRAGILE)),)
    checker = Checker(kind=CheckerKind.CODEFORCES, sources=sources, language="python")
    tests = problem_with_subtasks().tests[:1]
    problem = Problem(id="twice", tests=tests, checker=checker)
    give = make_reward(RewardOptions(mode=RewardMode.PARTIAL), problems=Problems([problem]))
    assert give(completions=[RIGHT, WRONG, fenced("pass")], problem_id=["twice"] * 3) == [1, 0, 0]


def test_compute_score_judges_single_solution() -> None:
    assert compute_score("apps", PARTLY, TESTS, mode="partial") == pytest.approx(2 / 3)
    assert compute_score("apps", "print(2 * int(input()))", TESTS, {"split": "train"}) == 1

    async def many() -> list[float]:
        pending = (
            compute_score_async("apps", reply, TESTS, mode="pass_fail", **SHAPED) for reply in EVERYTHING
        )
        return list(await asyncio.gather(*pending))

    assert asyncio.run(many()) == [1, 0, 0, -0.1, -1]


def test_compute_score_batch_judges_batch_with_extra_arguments() -> None:
    sources, truths, extra_arguments = ["apps"] * 2, [TESTS, TESTS], {"reward_router_address": "a:1"}
    scores = compute_score_batch(
        sources, [RIGHT, WRONG], truths, [None, {"tests": "{"}], mode="partial", **extra_arguments
    )
    assert scores == [1, 0]
    with pytest.raises(CasesError):
        compute_score_batch(sources, [RIGHT, WRONG], [TESTS, "{"], on_failure=None)
    assert compute_score_batch(sources, [RIGHT, WRONG], [TESTS, "{"], on_failure=-3.0) == [1, -3]


@pytest.mark.parametrize("options", [{"mod": "partial"}, {"mode": "parts"}, {"no_code": "much"}])
def test_invalid_compute_score_option_is_input_error(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        compute_score("apps", RIGHT, TESTS, **options)


def test_compute_score_accepts_chat_messages() -> None:
    assert compute_score("apps", [ANSWER], TESTS) == 1
    assert compute_score("apps", None, TESTS) == 0
    with pytest.raises(InputError, match="is not a valid completion"):
        compute_score("apps", 5, TESTS)


def test_on_failure_option_sets_score_or_raises() -> None:
    assert compute_score("apps", RIGHT, "{", on_failure=-3.0) == -3
    with pytest.raises(CasesError):
        compute_score("apps", RIGHT, "{", on_failure=None)


ANSWER = {"role": "assistant", "content": RIGHT}
PART = {"type": "text", "text": RIGHT}


@pytest.mark.parametrize(
    "completion",
    [
        ANSWER,
        (ANSWER,),
        {**ANSWER, "role": None},
        {**ANSWER, "content": PART},
        [{**ANSWER, "content": [RIGHT]}],
        [PART],
        PART,
        [RIGHT],
    ],
)
def test_completion_text_is_read_from_message_or_parts(completion: Any) -> None:
    assert reply_text(completion) == RIGHT


@pytest.mark.parametrize("completion", [None, "", [], [{"role": "assistant", "tool_calls": [{}]}]])
def test_empty_completion_has_empty_text(completion: Any) -> None:
    assert reply_text(completion) == ""


@pytest.mark.parametrize("completion", [[RIGHT, RIGHT], 5, [None], {"choices": []}, [{"content": 5}]])
def test_value_that_is_not_a_completion_is_an_input_error(completion: Any) -> None:
    with pytest.raises(InputError, match=r"completions.*is not a valid completion"):
        reply_text(completion)


@pytest.mark.parametrize("role", ["tool", "user"])
def test_completion_text_ignores_messages_of_other_roles(role: str) -> None:
    """For example a tool's message that no call is left."""
    other = {"role": role, "content": RIGHT}
    assert reply_text([{"role": "assistant", "content": "Hm."}, other]) == "Hm."
    assert reply_text([{"role": "assistant", "content": None, "tool_calls": [{}]}, other]) == ""
    assert reply_text([{"role": "assistant", "content": RIGHT}, {"role": role, "content": "?"}]) == RIGHT
    assert reply_text([{"content": RIGHT}]) == RIGHT


@pytest.mark.parametrize(
    ("arguments", "columns", "message"),
    [
        (
            ([RIGHT], ["tests"]),
            {},
            "no column with tests: its first two arguments are prompts and completions",
        ),
        ((), {"completion": [RIGHT], "ground_truth": ["t"]}, "no completions. Did you mean 'completions'?"),
        ((), {"completions": [RIGHT], "ground_truths": ["t"]}, "with tests. Did you mean 'ground_truth'?"),
        ((), {}, "the call has no completions"),
    ],
)
def test_wrong_arguments_of_reward_are_refused_with_remedy(
    arguments: tuple[list[str], ...], columns: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make_reward()(*arguments, **columns)


def test_unknown_argument_of_a_value_is_named_with_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"^RewardOptions has no argument 'modes'. Did you mean 'mode'"):
        RewardOptions(modes="pass_fail")  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"^Submission has no argument 'problem'. Did you mean 'problem_id'"):
        Submission(key="1", problem="sum", code="")  # type: ignore[call-arg]
