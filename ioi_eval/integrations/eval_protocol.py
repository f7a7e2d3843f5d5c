"""Evaluators of APPS solutions for eval-protocol. They return an EvaluateResult for messages and tests.

    from ioi_eval.integrations.eval_protocol import apps_dataset_to_evaluation_row, evaluate_apps_solution

This module replaces `eval_protocol.rewards.apps_coding_reward`. It has the same names, scores, reasons and
metrics, but judges in a sandbox. It uses the package's types if the package is installed, and otherwise equal
types.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ioi_eval.errors import CasesError, IoiEvalError
from ioi_eval.integrations import require_extra
from ioi_eval.integrations.rewards import with_single_subtask
from ioi_eval.integrations.runtime import Runtime, Setup, runtime
from ioi_eval.integrations.unjudged import count_unjudged
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Problem,
    Submission,
    SubmissionResult,
    TestResult,
    Value,
    Verdict,
)
from ioi_eval.scoring import Asserted, Case, Cases, read_tests, require_shallow, with_cases
from ioi_eval.store.resources import graders_folder

__all__ = [
    "EvaluateResult",
    "EvaluationRow",
    "Message",
    "MetricResult",
    "apps_dataset_to_evaluation_row",
    "check_correctness",
    "evaluate_apps_solution",
    "evaluate_apps_solution_async",
]

# Import the types of the package eval_protocol if it is installed, and otherwise define equal types.
if TYPE_CHECKING:
    _INSTALLED = False
else:
    try:
        from eval_protocol.models import EvaluateResult, EvaluationRow, Message, MetricResult

        _INSTALLED = True
    except ImportError:
        _INSTALLED = False

if not _INSTALLED:

    class _DictLikeStruct(msgspec.Struct, kw_only=True):
        """Base class of values with the methods of eval-protocol's models that callers use."""

        def __getitem__(self, name: str) -> Any:
            if name not in self.__struct_fields__:
                raise KeyError(name)
            return getattr(self, name)

        def __contains__(self, name: str) -> bool:
            return name in self.__struct_fields__

        def get(self, name: str, default: Any = None) -> Any:
            return getattr(self, name, default)

        def model_dump(self) -> dict[str, Any]:
            plain_fields: dict[str, Any] = msgspec.to_builtins(self)
            return plain_fields

    class Message(_DictLikeStruct):
        role: str
        content: Any = ""
        reasoning_content: str | None = None

    class MetricResult(_DictLikeStruct):
        score: float
        reason: str
        is_score_valid: bool = True
        data: dict[str, Any] = {}

    class EvaluateResult(_DictLikeStruct):
        score: float
        is_score_valid: bool = True
        reason: str | None = None
        metrics: dict[str, MetricResult] = {}
        error: str | None = None

    class EvaluationRow(_DictLikeStruct):
        messages: list[Message] = []
        ground_truth: Any = None
        evaluation_result: EvaluateResult | None = None


_ECHO_BYTES = 1 << 16  # maximum bytes of a wrong output, or of the harness's error report
_NO_INPUTS = {"error": "Invalid or missing in_outs structure"}


class Execution(Value):
    """The options of `evaluate_apps_solution`."""

    execution_timeout: float = 10.0  # time limit for each test, in seconds
    memory_limit: int = 512 << 20  # memory limit for each test, in bytes
    # If True, the tests call the function `fn_name`, and may have any form that benchmarks have.
    call_functions: bool = False
    checker: str = CheckerKind.FLOAT_LINES  # name of the comparison of outputs
    engine: Setup = Setup()

    def make_judging_setup(self) -> Setup:
        """Return the settings of a judge that stops at the first failed test and returns its output."""
        judge_options = msgspec.structs.replace(self.engine.options, echo=_ECHO_BYTES, in_order=True)
        return msgspec.structs.replace(self.engine, options=judge_options)


def apps_dataset_to_evaluation_row(data: Iterable[Mapping[str, Any]]) -> list[EvaluationRow]:
    """Return rows of APPS as evaluation rows: the question as a message, the tests as ground truth."""
    return [
        EvaluationRow(
            messages=[Message(role="user", content=row["question"])], ground_truth=row["input_output"]
        )
        for row in data
    ]


def evaluate_apps_solution(
    messages: Sequence[Any], ground_truth: str | Mapping[str, Any] | None = None, **options: Any
) -> EvaluateResult:
    """Return the share of the tests that the code in the last message passes before the first failure.

    Args:
        messages: The conversation.
        ground_truth: The tests, as in APPS.
        options: Fields of Execution. Other options are ignored.
    """
    execution = _read_options(options)
    task = _make_task(messages, ground_truth, execution)
    if isinstance(task, EvaluateResult):
        return task
    judge_runtime = runtime(execution.make_judging_setup())
    return judge_runtime.call(_evaluate_task(task, judge_runtime))


async def evaluate_apps_solution_async(
    messages: Sequence[Any], ground_truth: str | Mapping[str, Any] | None = None, **options: Any
) -> EvaluateResult:
    """Evaluate a solution, for callers with an event loop. See `evaluate_apps_solution`."""
    execution = _read_options(options)
    task = _make_task(messages, ground_truth, execution)
    if isinstance(task, EvaluateResult):
        return task
    judge_runtime = await asyncio.to_thread(runtime, execution.make_judging_setup())
    return await judge_runtime.wait(_evaluate_task(task, judge_runtime))


def check_correctness(
    in_outs: Mapping[str, Any] | None, generation: str, timeout: float = 10, debug: bool = True
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return a result for each test up to the first failure, and the details of the failed test.

    Args:
        in_outs: The tests, as in APPS.
        generation: The program.
        timeout: The time limit of a test in seconds.
        debug: Not used.

    Raises:
        CasesError: The tests of a function cannot be read.
        JudgeFailure: The program cannot be judged.
    """
    execution = _read_options({"execution_timeout": timeout})
    if not in_outs or not isinstance(in_outs.get("inputs"), list):
        return [-1], [dict(_NO_INPUTS)]
    make_task = _make_function_task if in_outs.get("fn_name") else _make_program_task
    task = make_task(generation, in_outs, execution)
    judge_runtime = runtime(execution.make_judging_setup())
    results, details = make_outcome(
        task, judge_runtime.call(judge_runtime.score(task.problem, task.submission))
    )
    return list(results), [dict(detail) for detail in details]


def __getattr__(name: str) -> Any:
    """Return the decorator `reward_function` of the package eval_protocol.

    The module that this module replaces exports it, too.
    """
    if name != "reward_function":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with require_extra("eval-protocol"):
        from eval_protocol.reward_function import reward_function
    return reward_function


# --- tasks -------------------------------------------------------------------------------------------


class AppsTask(Value):
    """A program to judge, with its tests."""

    problem: Problem
    submission: Submission
    cases: tuple[Case, ...]  # tests that are judged
    total: int  # number of all tests, including tests that cannot be read


def _read_options(options: Mapping[str, Any]) -> Execution:
    """Return the known options. The package passes all options to all evaluators."""
    known_options = {name: options[name] for name in Execution.__struct_fields__ if name in options}
    execution = msgspec.structs.replace(Execution(), **known_options)
    CheckerKind.built_in(execution.checker)
    return execution


def _make_task(messages: Sequence[Any], ground_truth: Any, execution: Execution) -> AppsTask | EvaluateResult:
    """Return the task to judge, or the result if there is nothing to judge."""
    if not messages:
        return _make_zero_result("No messages provided.", "No messages provided for evaluation.")
    # The last message has the package's type or this module's type, or is a dict. A list of parts is ignored.
    last_message = messages[-1]
    content = last_message.get("content") if isinstance(last_message, Mapping) else last_message.content
    code = _extract_python_code(content if isinstance(content, str) else "")
    if not code:
        reason = "Empty code solution after extraction."
        metrics = {
            "parsability": MetricResult(score=0.0, reason=reason),
            "error": _make_unscored_metric(reason),
        }
        message = "The provided code solution was empty after extraction."
        return EvaluateResult(score=0.0, reason=message, metrics=metrics)
    tests = _parse_tests(ground_truth)
    if execution.call_functions and (isinstance(tests, EvaluateResult) or tests.get("fn_name")):
        try:
            return _make_function_task(code, ground_truth, execution)
        except CasesError as error:
            return _make_invalid_result(f"Invalid ground_truth: {error}")
    if isinstance(tests, EvaluateResult):
        return tests
    if not isinstance(tests["inputs"], list):
        return _make_outcome_result([-1], [_NO_INPUTS])
    return _make_program_task(code, tests, execution)


def _parse_tests(ground_truth: Any) -> Mapping[str, Any] | EvaluateResult:
    """Return the tests, or the result if the ground truth has no tests."""
    tests = ground_truth
    if isinstance(ground_truth, str):
        try:
            tests = json.loads(require_shallow(ground_truth))
        except ValueError as error:
            return _make_zero_result(f"Ground_truth JSONDecodeError: {error}")
    elif not isinstance(ground_truth, dict):
        return _make_zero_result(
            "Invalid ground_truth type.", f"Invalid ground_truth type: {type(ground_truth)}"
        )
    if not isinstance(tests, dict) or "inputs" not in tests or "outputs" not in tests:
        return _make_zero_result("Invalid ground_truth structure after parsing.")
    return tests


def _make_program_task(code: str, tests: Mapping[str, Any], execution: Execution) -> AppsTask:
    """Return the task of a program that reads standard input.

    The task has the tests before the first unreadable test. Without tests, the program is only loaded.
    """
    cases = []
    for test_index, input_text in enumerate(tests["inputs"]):
        try:
            expected_output = tests["outputs"][test_index]
        except (IndexError, KeyError, TypeError):
            break
        if not (isinstance(input_text, str) and isinstance(expected_output, str)):
            break
        cases.append(Case(input_text, expected_output))
    judged_cases = Cases(cases=tuple(cases) or (Case("", ""),))
    harness = (graders_folder() / "python" / "apps.py").read_text()
    source = f"{harness}\n\nmain({code!a}, {not cases})\n"
    return _build_task(source, judged_cases, execution, cases=tuple(cases), total_tests=len(tests["inputs"]))


def _make_function_task(code: str, ground_truth: Any, execution: Execution) -> AppsTask:
    """Return the task of a function. Raise CasesError if its tests cannot be read."""
    tests = read_tests(ground_truth)
    return _build_task(code, tests, execution, cases=tests.cases, total_tests=len(tests.cases))


def _build_task(
    program_source: str,
    tests: Cases | Asserted,
    execution: Execution,
    *,
    cases: tuple[Case, ...],
    total_tests: int,
) -> AppsTask:
    """Return the task of a program.

    Args:
        program_source: The submission's source.
        tests: The tests to run.
        execution: The options.
        cases: The tests that are judged.
        total_tests: The number of all tests.
    """
    problem = Problem(
        id="apps",
        limits=Limits.contest(execution.execution_timeout, execution.memory_limit),
        checker=Checker(kind=CheckerKind(execution.checker)),
    )

    def blob(text: str) -> Blob:
        return Blob.of(text.encode("utf-8", "surrogatepass"))

    problem = tests.add_to(problem, blob) if isinstance(tests, Asserted) else with_cases(problem, tests, blob)
    submission = Submission(key="apps", problem_id="apps", code=program_source, language="python")
    return AppsTask(
        problem=with_single_subtask(problem), submission=submission, cases=cases, total=total_tests
    )


# --- finding the code in a model's message -----------------------------------------------------------


_OPEN, _CLOSE = re.compile("<think>", re.I), re.compile("</think>", re.I)


def _extract_python_code(reply: str) -> str | None:
    """Return the first block of Python, or else the first block, the text from `def ` on, or the whole text.

    Reasoning is removed first. Return None if the reply contains only reasoning.
    """
    text_parts, search_start = [], 0
    while (start_tag := _OPEN.search(reply, search_start)) and (
        end_tag := _CLOSE.search(reply, start_tag.end())
    ):
        text_parts.append(reply[search_start : start_tag.start()])
        search_start = end_tag.end()
    answer = "".join([*text_parts, reply[search_start:]]).strip()
    if not answer and reply.strip():
        return None
    for fence in ("```python", "```"):
        fence_start = answer.find(fence)
        fence_end = answer.find("```", fence_start + len(fence)) if fence_start >= 0 else -1
        if fence_end >= 0:
            return answer[fence_start + len(fence) : fence_end].strip()
    return answer[max(answer.find("def "), 0) :].strip()


# --- outcomes ----------------------------------------------------------------------------------------


# Numbers with which the package's evaluator reports a run-time error and a compile error.
_ERROR, _NOT_COMPILED = -1, -2
_MAX_INPUT, _MAX_OUTPUT = 300, 200  # maximum characters of a failed test's input and output in the details
_MARK = "ioi_eval apps: "  # prefix of an error that graders/python/apps.py reports
_KILLED = "Global timeout or process killed prematurely"
# A result for each test up to the first failure, and details of the failed test.
AppsOutcome = tuple[Sequence[int], Sequence[Mapping[str, Any]]]


async def _evaluate_task(task: AppsTask, judge_runtime: Runtime) -> EvaluateResult:
    """Return the result of a task."""
    try:
        result = await judge_runtime.score(task.problem, task.submission)
    except IoiEvalError as error:
        count_unjudged(error)
        return _make_invalid_result(f"Not judged: {error}")
    return _make_outcome_result(*make_outcome(task, result))


def make_outcome(task: AppsTask, result: SubmissionResult) -> AppsOutcome:
    """Return the results and details of eval-protocol's evaluator.

    A result is True, False, -1 if the program failed, or -2 if it could not be loaded. The list ends with the
    first result other than True. If the program exited or exceeded a limit, all results are -1.
    """
    if not result.compiles:
        compiler_lines = result.compile_output.strip().splitlines() or ["it does not compile"]
        return _make_error_outcome(_NOT_COMPILED, 0, compiler_lines[-1].strip(), result.compile_output)
    tests_by_name = {test.test_name: test for test in result.tests}
    for test_number, test in enumerate(tests_by_name[test.name] for test in task.problem.tests):
        if test.status is not Verdict.AC:
            return _make_failure_outcome(task, test_number, test)
    if len(task.cases) < task.total:
        return _make_unreadable_test_outcome(task)
    return [True] * task.total, [{}]


def _make_failure_outcome(task: AppsTask, test_number: int, test: TestResult) -> AppsOutcome:
    """Return the outcome of a program whose first failed test is this one."""
    if test.status is Verdict.RE and task.problem.options.function:
        return _make_error_outcome(_ERROR, test_number, test.feedback, "")
    if test.status not in (Verdict.WA, Verdict.PA):
        return _make_killed_outcome(task, test)
    report = _parse_report(test.output)
    if report is None:
        failed_case = task.cases[test_number]
        details = {
            "output": _shorten(test.output.rstrip(), _MAX_OUTPUT),
            "expected": _shorten(failed_case.output, _MAX_OUTPUT),
            "inputs": _shorten(failed_case.input, _MAX_INPUT),
            "error_message": "Wrong Answer",
        }
        return [True] * test_number + [False], [details]
    if report.code is None:
        return _make_unreadable_test_outcome(task)
    return _make_error_outcome(report.code, test_number, report.error, report.traceback)


class _HarnessReport(Value):
    """The harness's report of a program that failed."""

    code: Literal[-1, -2] | None  # number for an error that ended the run; None if a test could not be run
    error: str = ""
    traceback: str = ""


def _parse_report(output: str) -> _HarnessReport | None:
    """Return the harness's report in an output, or None if the output is the program's."""
    if not output.startswith(_MARK):
        return None
    try:  # the message of an error may contain half of a surrogate pair, which msgspec's decoder refuses
        return msgspec.convert(json.loads(require_shallow(output.removeprefix(_MARK))), _HarnessReport)
    except (msgspec.MsgspecError, ValueError):
        return None


def _make_error_outcome(code: int, passed_tests: int, error: str, traceback: str) -> AppsOutcome:
    """Return the outcome of a program that failed after `passed_tests` tests."""
    return [True] * passed_tests + [code], [{"error": error, "traceback": traceback}]


def _make_unreadable_test_outcome(task: AppsTask) -> AppsOutcome:
    """Return the outcome of a task with an unreadable test, after the tests before it passed."""
    details = {
        "error": "Exception in _temp_run/run_test",
        "traceback": "an input or output is missing or not a text",
    }
    return [_ERROR] * max(task.total, 1), [details]


def _make_killed_outcome(task: AppsTask, test: TestResult) -> AppsOutcome:
    """Return the outcome of a killed program. All results are -1."""
    if not task.total:
        return [_ERROR], [{"error": "Global timeout"}]
    is_over_limit = test.status in (Verdict.MLE, Verdict.OLE)
    details = test.feedback if is_over_limit else "No results returned from subprocess."
    return [_ERROR] * task.total, [{"error": _KILLED, "details": details}] * task.total


def _shorten(text: str, max_length: int) -> str:
    """Return the text, or the start and the end of a longer text."""
    if len(text) <= max_length:
        return text
    return f"{text[: max_length // 2]}...(truncated) ...{text[-max_length // 2 :]}"


# --- results in the types of the package eval_protocol -----------------------------------------------


def _make_unscored_metric(reason: str) -> MetricResult:
    """Return a metric without a score."""
    return MetricResult(score=0.0, reason=reason, is_score_valid=False)


def _make_zero_result(reason: str, detail: str = "") -> EvaluateResult:
    """Return a valid score of 0 for missing messages or tests, as the package eval_protocol does.

    `detail`: the reason in the metric `error`, if it differs from `reason`.
    """
    return EvaluateResult(
        score=0.0, reason=reason, metrics={"error": _make_unscored_metric(detail or reason)}
    )


def _make_invalid_result(reason: str) -> EvaluateResult:
    """Return a result without a score: the type requires a number, so the score 0 is marked as invalid."""
    metrics = {"error": _make_unscored_metric(reason)}
    return EvaluateResult(score=0.0, is_score_valid=False, reason=reason, error=reason, metrics=metrics)


def _make_outcome_result(results: Sequence[int], details: Sequence[Mapping[str, Any]]) -> EvaluateResult:
    """Return the result for an outcome, with the package's reasons and metrics."""
    metrics = {}
    passed_tests, score = sum(result is True for result in results), 0.0
    if results:
        score = passed_tests / len(results)
        reason = f"Passed {passed_tests}/{len(results)} test cases."
        metrics["pass_rate"] = MetricResult(score=score, reason=f"{passed_tests}/{len(results)}")
        metrics["raw_results"] = _make_unscored_metric(json.dumps(results))
    else:
        reason = "Execution utility returned no results."
        metrics["execution_error"] = _make_unscored_metric(reason)
    first_details = details[0]
    if len(details) == 1 and first_details.get("error"):
        reason += f" Execution Error: {first_details['error']}"
        metrics["execution_error_details"] = _make_unscored_metric(json.dumps(first_details))
    else:
        metrics["execution_metadata"] = _make_unscored_metric(json.dumps(details))
        if score == 0 and "error_message" in first_details:
            detail_values = (first_details[name] for name in ("inputs", "expected", "output"))
            reason += ". First fail details: Inputs: {}, Expected: {}, Got: {}".format(*detail_values)
    return EvaluateResult(score=score, reason=reason, metrics=metrics)
