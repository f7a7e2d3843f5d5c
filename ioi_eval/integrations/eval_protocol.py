"""APPS solutions for eval-protocol: messages and tests in, an EvaluateResult out.

    from ioi_eval.integrations.eval_protocol import apps_dataset_to_evaluation_row, evaluate_apps_solution

With the package eval-protocol installed these take and return its own types, otherwise equal ones.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ioi_eval.integrations.runtime import Runtime, Setup, runtime
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.languages import find
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import (
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
from ioi_eval.rules.extraction import behind_futures, extract
from ioi_eval.rules.json_tests import Cases, CasesError, read_cases, with_cases

__all__ = [
    "EvaluateResult",
    "EvaluationRow",
    "Message",
    "MetricResult",
    "apps_dataset_to_evaluation_row",
    "evaluate_apps_solution",
    "evaluate_apps_solution_async",
]

_ERROR, _NOT_COMPILED = -1, -2
_LONGEST_INPUT, _LONGEST_OUTPUT = 300, 200  # characters of what a failed test is shown with
_NAMES = {
    Verdict.WA: "Wrong Answer",
    Verdict.PA: "Wrong Answer",
    Verdict.TLE: "Time Limit Exceeded",
    Verdict.MLE: "Memory Limit Exceeded",
    Verdict.OLE: "Output Limit Exceeded",
    Verdict.RE: "Runtime Error",
}


class Execution(Value):
    """The keywords of `evaluate_apps_solution`."""

    execution_timeout: float = 10.0  # seconds for each test
    memory_limit: int = 512 << 20  # bytes
    call_functions: bool = True  # False: a problem with `fn_name` is read from standard input too
    engine: Setup = Setup()

    def runtime(self) -> Runtime:
        """One that says how wrong outputs begin."""
        options = msgspec.structs.replace(self.engine.options, echo=_LONGEST_OUTPUT + 1)
        return runtime(msgspec.structs.replace(self.engine, options=options))


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
    """The share of the tests that the last message's code passes, with the reasons for the others."""
    execution = _execution(options)
    task = _task(messages, ground_truth, execution)
    if isinstance(task, EvaluateResult):
        return task
    own = execution.runtime()
    return own.call(_evaluated(task, own))


async def evaluate_apps_solution_async(
    messages: Sequence[Any], ground_truth: str | Mapping[str, Any] | None = None, **options: Any
) -> EvaluateResult:
    """The same for callers with an event loop: many at once keep all cores busy."""
    execution = _execution(options)
    task = _task(messages, ground_truth, execution)
    if isinstance(task, EvaluateResult):
        return task
    own = await asyncio.to_thread(execution.runtime)
    return await own.wait(_evaluated(task, own))


# --- what is to be judged ----------------------------------------------------------------------------


class _Task(Value):
    problem: Problem
    submission: Submission
    cases: Cases


def _execution(options: Mapping[str, Any]) -> Execution:
    """Other keywords are for other evaluators: the package hands all of them to each."""
    known = {name: options[name] for name in Execution.__struct_fields__ if name in options}
    return msgspec.structs.replace(Execution(), **known)


def _task(
    messages: Sequence[Any], ground_truth: str | Mapping[str, Any] | None, execution: Execution
) -> _Task | EvaluateResult:
    """What to judge, or the result where there is nothing to judge."""
    if not messages:
        return _invalid("No messages provided.")
    try:
        cases = read_cases(_without_function(ground_truth, execution))
    except CasesError as error:
        return _invalid(f"Invalid ground_truth: {error}")
    code = code_of(_content(messages[-1]))
    if code is None:
        return _no_code()
    plain = Problem(
        id="apps",
        limits=Limits.contest(execution.execution_timeout, execution.memory_limit),
        checker=Checker(kind=CheckerKind.STRIPPED),
    )
    problem = with_cases(plain, cases, Blob.of)
    submission = Submission(key="apps", problem_id="apps", code=with_surroundings(code), language="python")
    return _Task(problem=problem, submission=submission, cases=cases)


def _without_function(ground_truth: str | Mapping[str, Any] | None, execution: Execution) -> Any:
    if execution.call_functions or not ground_truth:
        return ground_truth
    try:
        parsed = json.loads(shallow(ground_truth)) if isinstance(ground_truth, str) else ground_truth
    except ValueError as error:
        raise CasesError(f"Could not parse test cases: {error}") from error
    return (
        {name: value for name, value in parsed.items() if name != "fn_name"}
        if isinstance(parsed, Mapping)
        else parsed
    )


def _content(message: Any) -> str:
    """Of a message of the package's or ours, or a dict; of a list of parts all that is text."""
    content = message.get("content") if isinstance(message, Mapping) else message.content
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    texts = (part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None) for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


# --- what came of it ---------------------------------------------------------------------------------


async def _evaluated(task: _Task, own: Runtime) -> EvaluateResult:
    try:
        result = await own.score(task.problem, task.submission)
    except JudgeFailure as failure:
        return _invalid(f"The judge could not say: {failure}")
    return _not_compiled(task, result) if not result.compiles else _judged(task, result)


def _invalid(reason: str) -> EvaluateResult:
    """No score at all. The type wants a number; it is marked as none."""
    error = MetricResult(score=0.0, reason=reason, is_score_valid=False)
    return EvaluateResult(
        score=0.0, is_score_valid=False, reason=reason, error=reason, metrics={"error": error}
    )


def _no_code() -> EvaluateResult:
    reason = "No valid Python code found: the provided code solution was empty after extraction."
    return EvaluateResult(
        score=0.0, reason=reason, metrics={"parsability": MetricResult(score=0.0, reason=reason)}
    )


def _not_compiled(task: _Task, result: SubmissionResult) -> EvaluateResult:
    lines = result.compile_output.strip().splitlines()
    error = lines[-1].strip() if lines else "it does not compile"
    details = {"error": error, "error_code": _NOT_COMPILED, "error_message": "Compilation Error"}
    total = len(task.cases.cases)
    metrics = {
        **_metrics(0, [_NOT_COMPILED] * total, [details]),
        "execution_error_details": _unscored(json.dumps(details)),
    }
    return EvaluateResult(
        score=0.0, reason=f"Passed 0/{total} test cases. Execution Error: {error}", metrics=metrics
    )


def _judged(task: _Task, result: SubmissionResult) -> EvaluateResult:
    outcomes = [_outcome(test) for test in result.tests]
    failures = [
        _failure(task, number, test)
        for number, test in enumerate(result.tests)
        if test.status is not Verdict.AC
    ]
    passed, total = len(outcomes) - len(failures), len(outcomes)
    reason = f"Passed {passed}/{total} test cases" + ("" if passed else _first(failures[0]))
    return EvaluateResult(score=passed / total, reason=reason, metrics=_metrics(passed, outcomes, failures))


def _first(failure: Mapping[str, Any]) -> str:
    """Where nothing passes, why the first test does not."""
    if "error" in failure:
        return f". Execution Error: {failure['error']}"
    inputs, expected, got = (failure[name] for name in ("inputs", "expected", "output"))
    return f". First fail details: Inputs: {inputs}, Expected: {expected}, Got: {got}"


def _metrics(
    passed: int, outcomes: list[bool | int], failures: list[dict[str, Any]]
) -> dict[str, MetricResult]:
    total = len(outcomes)
    return {
        "pass_rate": MetricResult(score=passed / total, reason=f"{passed}/{total}"),
        "raw_results": _unscored(json.dumps(outcomes)),
        "execution_metadata": _unscored(json.dumps(failures)),
    }


def _unscored(text: str) -> MetricResult:
    return MetricResult(score=0.0, reason=text, is_score_valid=False)


def _outcome(test: TestResult) -> bool | int:
    """True, False, or -1 for a program that did not end well."""
    if test.status is Verdict.AC:
        return True
    return False if test.status in (Verdict.WA, Verdict.PA) else _ERROR


def _failure(task: _Task, number: int, test: TestResult) -> dict[str, Any]:
    case = task.cases.cases[number]
    shown = {
        "test": number,
        "inputs": _short(case.input, _LONGEST_INPUT),
        "expected": _short(case.output, _LONGEST_OUTPUT),
        "error_message": _NAMES[test.status],
    }
    if _outcome(test) is False:
        return {**shown, "output": _short(test.output or "N/A", _LONGEST_OUTPUT)}
    return {**shown, "error_code": _ERROR, "error": test.feedback}


def _short(text: str, most: int) -> str:
    """The beginning and the end of what is too long."""
    return text if len(text) <= most else f"{text[: most // 2]}...(truncated)...{text[-most // 2 :]}"


# --- the types of eval-protocol, or equal ones of ours -----------------------------------------------


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
        """What programs that were written for the package do with its models."""

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


__all__ = ["EvaluateResult", "EvaluationRow", "Message", "MetricResult"]


# --- Python code in what a model said about an APPS problem -------------------------------------------


# What solutions of APPS take for granted.
SURROUNDINGS = (
    "import traceback, sys, json, ast, collections, copy, datetime, functools, heapq, io, itertools, math, "
    "operator, random, re, string, statistics, typing\n"
    "sys.setrecursionlimit(6 * 10**5)\n"
)
_STATEMENT = re.compile(
    r"^(?:(?:import|from|def|class|async|for|while|if|try|with|print)\b|[A-Za-z_][\w, ]*=)", re.M
)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MOST = 50  # places at which code may begin, that are tried


def code_of(said: str) -> str | None:
    """The last fenced block; else all, or what follows the explanation or stands in it, if that parses."""
    language = find("python")
    found = extract(said, language)
    if found is not None:
        return found
    return next((code for code in _guesses(said) if _parses(code)), None)


def _guesses(said: str) -> Iterator[str]:
    for number, place in enumerate(_STATEMENT.finditer(said)):
        if number == _MOST:
            break
        yield said[place.start() :]
    yield from (code for code in reversed(_INLINE.findall(said)) if "(" in code)


def _parses(code: str) -> bool:
    return _tree(code) is not None


def _tree(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def with_surroundings(code: str) -> str:
    """The code behind the usual imports."""
    return behind_futures(code, SURROUNDINGS)
