"""Tasks for evaluators: problems by words, their prompts, judges of replies, and results as they keep them.

What reads problems and what judges is loaded when the first is asked for: importing this is cheap.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import ValidationError, convert
from msgspec.structs import fields

from ioi_eval import JudgeOptions
from ioi_eval.errors import EngineError, InputError, JudgeFailure, ProgramBroken
from ioi_eval.model.options import AllTests, CliOption, Interpreter, Slots
from ioi_eval.models import Problem, Submission, SubmissionResult, SubtaskResult, TestResult, Value, Verdict
from ioi_eval.scoring import (
    STATUS_ORDER,
    Attempt,
    Language,
    choose_language,
    extract,
    find_language,
    json_value,
)

if TYPE_CHECKING:
    from ioi_eval.integrations.runtime import Runtime
    from ioi_eval.runs import BenchmarkOptions
    from ioi_eval.scoring import ModelSummary
    from ioi_eval.sources import Benchmark, Problems

NO_ANSWER = (JudgeFailure, EngineError, ProgramBroken)  # the judge's fault, never a score
_LOG = 2000  # characters of what a compiler or a checker said
_OF_THE_RESULT = ("compiles", "points", "checker", "compiler", "repairs")
_OF_A_SUBTASK = tuple(
    name for name in SubtaskResult.__struct_fields__ if name not in ("problem", "test_results")
)
_OF_A_TEST = ("test_name", "status", "score", "feedback", "cpu_time", "memory")


class JudgingOptions(Value):
    """The options that decide how a reply is judged."""

    language: Annotated[
        str,
        CliOption(
            "The language of the programs: the prompt asks for it, and replies are read as that.",
            unset="the problem's, if it admits one only; the benchmark's own; C++",
        ),
    ] = ""
    unscored: Annotated[
        Literal["keep", "error"],
        CliOption(
            "What becomes of a sample that cannot be judged; `error`: an error of the sample, see below."
        ),
    ] = "keep"
    slots: Annotated[Slots, CliOption(unset="all slots of the machine or the servers")] = None
    python: Annotated[Interpreter, CliOption(unset="see [integrations](integrations.md#which-python)")] = ""
    all_tests: AllTests = False


class Asked(Value):
    """The problems of a source, as options choose them, and how replies to them are judged."""

    source: str
    problems: Problems
    judging: JudgingOptions
    default_language: str
    benchmark: Benchmark | None  # None: these are packages

    @property
    def name(self) -> str:
        return "" if self.benchmark is None else self.benchmark.name

    def runtime(self) -> Runtime:
        from ioi_eval.integrations.runtime import Setup, runtime

        return runtime(
            Setup(
                slots=self.judging.slots,
                options=JudgeOptions(all_tests=self.judging.all_tests),
                python=self.judging.python,
                packages=self.problems.packages,
            )
        )

    def language(self, problem: Problem) -> Language:
        """The language that a model is asked for; its reply is read as that, whatever its fences say."""
        language = choose_language(problem, option=self.judging.language, default=self.default_language)
        return find_language(language.language)

    def submission(self, key: str, problem: Problem, reply: str) -> Submission:
        """Return what a reply hands in: its program, or none."""
        language = self.language(problem)
        code = extract(reply, language)
        return Submission(key=key, problem_id=problem.id, code=code, language=language.name)

    def prompts(self, template: str = "") -> Iterator[tuple[str, Problem, str]]:
        """Label, problem and prompt of each that can be judged."""
        from ioi_eval.sources import Prompts  # loads jinja2, which a scorer alone does not need

        usable = {label: problem for label, problem in self.problems.items() if not problem.unusable}
        if not usable:
            raise InputError("the filters leave no problem", where=self.source, remedy="Give fewer filters")
        spoken = {label: self.language(problem).name for label, problem in usable.items()}
        ask = {
            name: Prompts(template, benchmark=self.name, language=name)
            for name in dict.fromkeys(spoken.values())
        }
        return ((label, problem, ask[spoken[label]](problem)) for label, problem in usable.items())

    @property
    def left_out(self) -> dict[str, int]:
        """The number of problems that no model is asked to solve, by reason."""
        unusable = (problem.unusable for problem in self.problems.values())
        return {**self.problems.left_out, **Counter(filter(None, unusable))}


def asked_for(source: str, options: Mapping[str, Any]) -> Asked:
    """`source` names a benchmark or packages; `options` are fields of Judging and of BenchmarkOptions.

    They are as a command line or a log has them: one word may stand for a list, a number for a name.
    Raises InputError where the engine lacks what programs may count on: before a model is asked.
    """
    from ioi_eval.runs import BenchmarkOptions
    from ioi_eval.sources import benchmark_of, language_of

    names = tuple(field.name for kind in (JudgingOptions, BenchmarkOptions) for field in fields(kind))
    for name in options:
        if name not in names:
            close = get_close_matches(name, names, cutoff=0.5)
            meant = f"Did you mean {' or '.join(map(repr, close))}?"
            remedy = meant if close else f"The options are {', '.join(names)}"
            raise InputError(f"no such option: {name!r}", remedy=remedy)
    try:
        judging = convert(fitting(options, JudgingOptions), JudgingOptions, strict=False)
        choice = convert(fitting(options, BenchmarkOptions), BenchmarkOptions, strict=False)
    except ValidationError as error:
        raise InputError(f"an option that cannot be used: {error}") from error
    if judging.language:
        find_language(judging.language)
    asked = Asked(
        source=source,
        problems=_open(source, choice),
        judging=judging,
        default_language=language_of(source),
        benchmark=benchmark_of(source),
    )
    if asked.problems.packages:
        asked.runtime()
    return asked


@cache
def _open(source: str, choice: BenchmarkOptions) -> Problems:
    """Open for as long as the process lives: samples are judged one by one."""
    from ioi_eval.integrations.runtime import own_store
    from ioi_eval.sources import open_problems

    return open_problems(source, choice, own_store())


def fitting(options: Mapping[str, Any], kind: type[Value]) -> dict[str, Any]:
    """Return the options that are fields of `kind`: one word may stand for a list, a number for a name."""
    types = {
        field.name: get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type
        for field in fields(kind)
    }
    return {name: _fitting(types[name], options[name]) for name in options if name in types}


def _fitting(kind: Any, value: Any) -> Any:
    if kind is str:
        return str(value)
    if kind == tuple[str, ...] | None:
        from ioi_eval.sources import read_packages

        return read_packages(value if isinstance(value, str) else ",".join(value))
    if kind not in (frozenset[str], frozenset[int], tuple[str, ...]):
        return value
    values = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return list(values) if kind == frozenset[int] else [str(value) for value in values]


# --- results as evaluators keep them ------------------------------------------------------------------


def most_points(result: SubmissionResult) -> float:
    """Without subtasks 1: the points are then the share of the tests."""
    return math.fsum(part.points for part in result.subtasks) if result.subtasks else 1.0


def share(result: SubmissionResult) -> float:
    """In [0, 1]; exactly 1 for full marks, whatever adding up leaves, and less for anything else."""
    if result.verdict is Verdict.AC:
        return 1.0
    most = most_points(result)
    return min(result.points / most, math.nextafter(1.0, 0.0)) if most else 0.0


# --- metadata ----------------------------------------------------------------------------------------


def metadata_of(problem: Problem, result: SubmissionResult, **more: Any) -> dict[str, Any]:
    """Points, subtasks and verdicts, as JSON has them; `more` says what the result does not know."""
    status = result.verdict
    columns = {
        **of_problem(problem),
        "verdict": status,
        "solved": status is Verdict.AC,
        "max_points": most_points(result),
        **{name: getattr(result, name) for name in _OF_THE_RESULT},
        "subtasks": [{name: getattr(part, name) for name in _OF_A_SUBTASK} for part in result.subtasks],
        "tests": [{name: getattr(test, name) for name in _OF_A_TEST} for test in result.tests],
        **more,
    }
    return {name: json_value(value) for name, value in columns.items()}


def of_problem(problem: Problem) -> dict[str, Any]:
    """The labels of a problem, in a sample and in its score."""
    return {"problem_id": problem.id, "year": problem.year}


def summary_of(scores: Iterable[Mapping[str, Any] | None], **choice: Any) -> ModelSummary:
    """Report on the submissions behind these metadata; `choice` are fields of ReportOptions."""
    from ioi_eval.runs import ReportOptions  # a scorer alone needs no reports
    from ioi_eval.scoring import summarise

    return summarise(map(_labelled, scores), ReportOptions(**choice))


def _labelled(metadata: Mapping[str, Any] | None) -> tuple[str, Attempt]:
    if metadata is None or "subtasks" not in metadata:
        problem = "a score without what the judge said of it"
        raise InputError(problem, field="metadata", remedy="Score it with ioi_eval/judged")
    problem_id, year, epoch = metadata["problem_id"], metadata["year"], metadata["epoch"]
    parts = [{**part, "problem": problem_id, "test_results": ()} for part in metadata["subtasks"]]
    own = {name: metadata[name] for name in (*_OF_THE_RESULT, "problem_id", "tests")}
    result = msgspec.convert({**own, "key": str(epoch), "subtasks": parts}, SubmissionResult)
    label = problem_id if year is None else f"{problem_id}@{year}"
    return label, Attempt(result=result, number=epoch, length=metadata["length"])


# --- for readers -------------------------------------------------------------------------------------


def explanation_of(result: SubmissionResult) -> str:
    """Markdown: the verdict and the points, each subtask, the first test that was not passed."""
    status, most = result.verdict, most_points(result)
    if result.subtasks:
        rows = (
            f"| {part.subtask} | {part.weighted_score:.6g} | {part.points:.6g} | {part.status} |"
            for part in result.subtasks
        )
        table = "\n".join(["| subtask | points | of | verdict |", "|---|--:|--:|---|", *rows])
        pieces = [f"**{status}**: {result.points:.6g} of {most:.6g} points", table]
    else:
        passed = sum(test.status is Verdict.AC for test in result.tests)
        pieces = [f"**{status}**: {passed} of {len(result.tests)} tests passed"]
    if result.compiles and result.tests:
        counts = Counter(test.status for test in result.tests)
        verdicts = ", ".join(f"{counts[status]} {status}" for status in STATUS_ORDER if counts[status])
        wrong = (test for test in result.tests if test.status not in (Verdict.AC, Verdict.SKIPPED))
        first = next(wrong, None)
        example = "" if first is None else f". The first that is not right: {_shown(first)}"
        pieces.append(f"Tests: {verdicts}{example}")
    if not result.compiles and result.compile_output:
        pieces.append(f"The compiler:\n\n{_fenced(result.compile_output)}")
    return "\n\n".join(pieces)


def _shown(test: TestResult) -> str:
    used = f", {test.cpu_time:.3f} s" if test.cpu_time is not None else ""
    used += f", {test.memory / (1 << 20):.1f} MiB" if test.memory is not None else ""
    feedback = f"\n\n{_fenced(test.feedback)}" if test.feedback else ""
    return f"`{test.test_name}` ({test.status}{used}){feedback}"


def _fenced(text: str) -> str:
    """A block that no run of backticks in the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    shortened = text.strip()
    shortened = shortened if len(shortened) <= _LOG else f"{shortened[: _LOG - 1]}…"
    return f"{fence}\n{json_value(shortened)}\n{fence}"
