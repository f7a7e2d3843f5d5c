"""APPS solutions for eval-protocol: messages and tests in, an EvaluateResult out.

    from ioi_eval.integrations.eval_protocol import apps_dataset_to_evaluation_row, evaluate_apps_solution

In place of `eval_protocol.rewards.apps_coding_reward`, all of whose names are here: equal scores, reasons and
metrics, from a box. With the package installed these take and return its own types, otherwise equal ones.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ioi_eval.errors import CasesError, IoiEvalError
from ioi_eval.integrations import needs
from ioi_eval.integrations.misses import note
from ioi_eval.integrations.rewards import all_or_nothing
from ioi_eval.integrations.runtime import Runtime, Setup, runtime
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
from ioi_eval.scoring import Asserted, Case, Cases, read_tests, shallow, with_cases
from ioi_eval.store.resources import graders

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

# The types of the package where it is installed, otherwise equal ones.
if TYPE_CHECKING:
    _INSTALLED = False
else:
    try:
        from eval_protocol.models import EvaluateResult, EvaluationRow, Message, MetricResult

        _INSTALLED = True
    except ImportError:
        _INSTALLED = False

if not _INSTALLED:

    class _Fields(msgspec.Struct, kw_only=True):
        """The operations that programs written for the package use on its models."""

        def __getitem__(self, name: str) -> Any:
            if name not in self.__struct_fields__:
                raise KeyError(name)
            return getattr(self, name)

        def __contains__(self, name: str) -> bool:
            return name in self.__struct_fields__

        def get(self, name: str, default: Any = None) -> Any:
            return getattr(self, name, default)

        def model_dump(self) -> dict[str, Any]:
            plain: dict[str, Any] = msgspec.to_builtins(self)
            return plain

    class Message(_Fields):
        role: str
        content: Any = ""
        reasoning_content: str | None = None

    class MetricResult(_Fields):
        score: float
        reason: str
        is_score_valid: bool = True
        data: dict[str, Any] = {}

    class EvaluateResult(_Fields):
        score: float
        is_score_valid: bool = True
        reason: str | None = None
        metrics: dict[str, MetricResult] = {}
        error: str | None = None

    class EvaluationRow(_Fields):
        messages: list[Message] = []
        ground_truth: Any = None
        evaluation_result: EvaluateResult | None = None


_ECHO = 1 << 16  # bytes of a wrong output, or of an error in its place
_NO_INPUTS = {"error": "Invalid or missing in_outs structure"}


class Execution(Value):
    """The keywords of `evaluate_apps_solution`."""

    execution_timeout: float = 10.0  # seconds for each test
    memory_limit: int = 512 << 20  # bytes
    # True: a problem with `fn_name` is one whose function is called, and tests may have any form in use.
    call_functions: bool = False
    checker: str = CheckerKind.FLOAT_LINES  # how outputs are compared
    engine: Setup = Setup()

    def setup(self) -> Setup:
        """Return the setup of a judge that ends at the first failing test, and quotes its output."""
        options = msgspec.structs.replace(self.engine.options, echo=_ECHO, in_order=True)
        return msgspec.structs.replace(self.engine, options=options)


def apps_dataset_to_evaluation_row(data: Iterable[Mapping[str, Any]]) -> list[EvaluationRow]:
    """Rows of APPS: the question as the user's message, the tests as ground truth."""
    return [
        EvaluationRow(
            messages=[Message(role="user", content=row["question"])], ground_truth=row["input_output"]
        )
        for row in data
    ]


def evaluate_apps_solution(
    messages: Sequence[Any], ground_truth: str | Mapping[str, Any] | None = None, **options: Any
) -> EvaluateResult:
    """The share of the tests that the last message's code passes, up to the first that it fails."""
    execution = _execution(options)
    task = _task(messages, ground_truth, execution)
    if isinstance(task, EvaluateResult):
        return task
    own = runtime(execution.setup())
    return own.call(_evaluated(task, own))


async def evaluate_apps_solution_async(
    messages: Sequence[Any], ground_truth: str | Mapping[str, Any] | None = None, **options: Any
) -> EvaluateResult:
    """The same for callers with an event loop: many at once keep all cores busy."""
    execution = _execution(options)
    task = _task(messages, ground_truth, execution)
    if isinstance(task, EvaluateResult):
        return task
    own = await asyncio.to_thread(runtime, execution.setup())
    return await own.wait(_evaluated(task, own))


def check_correctness(
    in_outs: Mapping[str, Any] | None, generation: str, timeout: float = 10, debug: bool = True
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return a result for each test up to the first that fails, and the details of that one.

    `debug` has no effect. Raises CasesError for tests of a function that cannot be read, JudgeFailure where
    the judge cannot say.
    """
    execution = _execution({"execution_timeout": timeout})
    if not in_outs or not isinstance(in_outs.get("inputs"), list):
        return [-1], [dict(_NO_INPUTS)]
    task = (_calling if in_outs.get("fn_name") else _reading)(generation, in_outs, execution)
    own = runtime(execution.setup())
    results, details = outcome(task, own.call(own.score(task.problem, task.submission)))
    return list(results), [dict(each) for each in details]


def __getattr__(name: str) -> Any:
    """Return the package's decorator, which its module has too, where the package is installed."""
    if name != "reward_function":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs("eval-protocol"):
        from eval_protocol.reward_function import reward_function
    return reward_function


# --- what is to be judged ----------------------------------------------------------------------------


class AppsTask(Value):
    problem: Problem
    submission: Submission
    cases: tuple[Case, ...]  # those that are judged
    total: int  # of all tests, readable or not


def _execution(options: Mapping[str, Any]) -> Execution:
    """Other keywords are for other evaluators: the package hands all of them to each."""
    own = {name: options[name] for name in Execution.__struct_fields__ if name in options}
    execution = msgspec.structs.replace(Execution(), **own)
    CheckerKind.built_in(execution.checker)
    return execution


def _task(messages: Sequence[Any], ground_truth: Any, execution: Execution) -> AppsTask | EvaluateResult:
    """Return the task to judge, or the result where there is nothing to judge."""
    if not messages:
        return _without_score("No messages provided.", "No messages provided for evaluation.")
    # Of the package's type, ours, or a dict. A list of parts counts as nothing.
    last = messages[-1]
    content = last.get("content") if isinstance(last, Mapping) else last.content
    code = _extract_python_code(content if isinstance(content, str) else "")
    if not code:
        reason = "Empty code solution after extraction."
        metrics = {"parsability": MetricResult(score=0.0, reason=reason), "error": _unscored(reason)}
        words = "The provided code solution was empty after extraction."
        return EvaluateResult(score=0.0, reason=words, metrics=metrics)
    tests = _tests(ground_truth)
    if execution.call_functions and (isinstance(tests, EvaluateResult) or tests.get("fn_name")):
        try:
            return _calling(code, ground_truth, execution)
        except CasesError as error:
            return _unsaid(f"Invalid ground_truth: {error}")
    if isinstance(tests, EvaluateResult):
        return tests
    if not isinstance(tests["inputs"], list):
        return _result([-1], [_NO_INPUTS])
    return _reading(code, tests, execution)


def _tests(ground_truth: Any) -> Mapping[str, Any] | EvaluateResult:
    """Return the tests, or the result of ground truth that holds none."""
    found = ground_truth
    if isinstance(ground_truth, str):
        try:
            found = json.loads(shallow(ground_truth))
        except ValueError as error:
            return _without_score(f"Ground_truth JSONDecodeError: {error}")
    elif not isinstance(ground_truth, dict):
        return _without_score(
            "Invalid ground_truth type.", f"Invalid ground_truth type: {type(ground_truth)}"
        )
    if not isinstance(found, dict) or "inputs" not in found or "outputs" not in found:
        return _without_score("Invalid ground_truth structure after parsing.")
    return found


def _reading(code: str, tests: Mapping[str, Any], execution: Execution) -> AppsTask:
    """A program, and the tests up to the first that is none; without any it is only loaded."""
    cases = []
    for number, given in enumerate(tests["inputs"]):
        try:
            expected = tests["outputs"][number]
        except (IndexError, KeyError, TypeError):
            break
        if not (isinstance(given, str) and isinstance(expected, str)):
            break
        cases.append(Case(given, expected))
    judged = Cases(cases=tuple(cases) or (Case("", ""),))
    harness = (graders() / "python" / "apps.py").read_text()
    source = f"{harness}\n\nmain({code!a}, {not cases})\n"
    return _of(source, judged, execution, cases=tuple(cases), total=len(tests["inputs"]))


def _calling(code: str, ground_truth: Any, execution: Execution) -> AppsTask:
    found = read_tests(ground_truth)
    return _of(code, found, execution, cases=found.cases, total=len(found.cases))


def _of(
    source: str, judged: Cases | Asserted, execution: Execution, *, cases: tuple[Case, ...], total: int
) -> AppsTask:
    plain = Problem(
        id="apps",
        limits=Limits.contest(execution.execution_timeout, execution.memory_limit),
        checker=Checker(kind=CheckerKind(execution.checker)),
    )

    def blob(text: str) -> Blob:
        return Blob.of(text.encode("utf-8", "surrogatepass"))

    problem = judged.of(plain, blob) if isinstance(judged, Asserted) else with_cases(plain, judged, blob)
    submission = Submission(key="apps", problem_id="apps", code=source, language="python")
    return AppsTask(problem=all_or_nothing(problem), submission=submission, cases=cases, total=total)


# --- the code in a message ---------------------------------------------------------------------------


_OPEN, _CLOSE = re.compile("<think>", re.I), re.compile("</think>", re.I)


def _extract_python_code(reply: str) -> str | None:
    """Return the first block of Python, else of anything, else all from the first `def ` on, else all.

    Reasoning is cut out before; None where nothing else was said. The name is the package's.
    """
    kept, at = [], 0
    while (opened := _OPEN.search(reply, at)) and (closed := _CLOSE.search(reply, opened.end())):
        kept.append(reply[at : opened.start()])
        at = closed.end()
    text = "".join([*kept, reply[at:]]).strip()
    if not text and reply.strip():
        return None
    for fence in ("```python", "```"):
        start = text.find(fence)
        end = text.find("```", start + len(fence)) if start >= 0 else -1
        if end >= 0:
            return text[start + len(fence) : end].strip()
    return text[max(text.find("def "), 0) :].strip()


# --- what came of it ---------------------------------------------------------------------------------


_ERROR, _NOT_COMPILED = -1, -2
_LONGEST_INPUT, _LONGEST_OUTPUT = 300, 200  # characters of what a failed test is shown with
_MARK = "ioi_eval apps: "  # as graders/python/apps.py has it
_KILLED = "Global timeout or process killed prematurely"
# A result for each test up to the first that failed, and what is told of that one.
AppsOutcome = tuple[Sequence[int], Sequence[Mapping[str, Any]]]


async def _evaluated(task: AppsTask, own: Runtime) -> EvaluateResult:
    try:
        result = await own.score(task.problem, task.submission)
    except IoiEvalError as error:
        note(error)
        return _unsaid(f"The judge could not say: {error}")
    return _result(*outcome(task, result))


def outcome(task: AppsTask, result: SubmissionResult) -> AppsOutcome:
    """Return the results and details of eval-protocol's evaluator.

    A result is true, false, -1 for a program that did not end well or -2 for one that could not be loaded;
    the first that is not true is the last. Where a program ended its own process or exceeded a limit, all
    are -1.
    """
    if not result.compiles:
        lines = result.compile_output.strip().splitlines() or ["it does not compile"]
        return _ended(_NOT_COMPILED, 0, lines[-1].strip(), result.compile_output)
    found = {test.test_name: test for test in result.tests}
    for number, test in enumerate(found[test.name] for test in task.problem.tests):
        if test.status is not Verdict.AC:
            return _failed(task, number, test)
    if len(task.cases) < task.total:
        return _broken(task)
    return [True] * task.total, [{}]


def _failed(task: AppsTask, number: int, test: TestResult) -> AppsOutcome:
    if test.status is Verdict.RE and task.problem.options.function:
        return _ended(_ERROR, number, test.feedback, "")
    if test.status not in (Verdict.WA, Verdict.PA):
        return _killed(task, test)
    report = _report(test.output)
    if report is None:
        case = task.cases[number]
        shown = {
            "output": _short(test.output.rstrip(), _LONGEST_OUTPUT),
            "expected": _short(case.output, _LONGEST_OUTPUT),
            "inputs": _short(case.input, _LONGEST_INPUT),
            "error_message": "Wrong Answer",
        }
        return [True] * number + [False], [shown]
    if report.code is None:
        return _broken(task)
    return _ended(report.code, number, report.error, report.traceback)


class _Report(Value):
    """The harness' words for a program that it could not run to its end."""

    code: Literal[-1, -2] | None  # None: not even that
    error: str = ""
    traceback: str = ""


def _report(output: str) -> _Report | None:
    """Return what the harness wrote in the place of a program's output; None where it ran the program."""
    if not output.startswith(_MARK):
        return None
    try:  # an error may hold halves of characters, which msgspec's reader refuses
        return msgspec.convert(json.loads(shallow(output.removeprefix(_MARK))), _Report)
    except (msgspec.MsgspecError, ValueError):
        return None


def _ended(code: int, passed: int, error: str, traceback: str) -> AppsOutcome:
    return [True] * passed + [code], [{"error": error, "traceback": traceback}]


def _broken(task: AppsTask) -> AppsOutcome:
    """A test that is no test, met after those before it passed."""
    answer = {
        "error": "Exception in _temp_run/run_test",
        "traceback": "an input or output is missing or no text",
    }
    return [_ERROR] * max(task.total, 1), [answer]


def _killed(task: AppsTask, test: TestResult) -> AppsOutcome:
    """Return the outcome of a killed program: nothing is known of any test."""
    if not task.total:
        return [_ERROR], [{"error": "Global timeout"}]
    limit = test.status in (Verdict.MLE, Verdict.OLE)
    details = test.feedback if limit else "No results returned from subprocess."
    return [_ERROR] * task.total, [{"error": _KILLED, "details": details}] * task.total


def _short(text: str, most: int) -> str:
    """The beginning and the end of what is too long."""
    return text if len(text) <= most else f"{text[: most // 2]}...(truncated) ...{text[-most // 2 :]}"


# --- in the package's words --------------------------------------------------------------------------


def _unscored(text: str) -> MetricResult:
    return MetricResult(score=0.0, reason=text, is_score_valid=False)


def _without_score(reason: str, detail: str = "") -> EvaluateResult:
    """A valid 0 for want of messages or tests: only the metric says that something is wrong."""
    return EvaluateResult(score=0.0, reason=reason, metrics={"error": _unscored(detail or reason)})


def _unsaid(reason: str) -> EvaluateResult:
    """Return an evaluation without a score. The type wants a number; it is marked as none."""
    metrics = {"error": _unscored(reason)}
    return EvaluateResult(score=0.0, is_score_valid=False, reason=reason, error=reason, metrics=metrics)


def _result(results: Sequence[int], details: Sequence[Mapping[str, Any]]) -> EvaluateResult:
    metrics = {}
    passed, score = sum(result is True for result in results), 0.0
    if results:
        score = passed / len(results)
        reason = f"Passed {passed}/{len(results)} test cases."
        metrics["pass_rate"] = MetricResult(score=score, reason=f"{passed}/{len(results)}")
        metrics["raw_results"] = _unscored(json.dumps(results))
    else:
        reason = "Execution utility returned no results."
        metrics["execution_error"] = _unscored(reason)
    first = details[0]
    if len(details) == 1 and first.get("error"):
        reason += f" Execution Error: {first['error']}"
        metrics["execution_error_details"] = _unscored(json.dumps(first))
    else:
        metrics["execution_metadata"] = _unscored(json.dumps(details))
        if score == 0 and "error_message" in first:
            shown = (first[name] for name in ("inputs", "expected", "output"))
            reason += ". First fail details: Inputs: {}, Expected: {}, Got: {}".format(*shown)
    return EvaluateResult(score=score, reason=reason, metrics=metrics)
