"""Base of the tasks of evaluation libraries: problems, prompts, submissions, and results as metadata.

Importing this module is cheap: modules that read problems and judge are imported when they are needed.
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
from ioi_eval.model.text import format_count
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

# Errors of the judge, for which a submission never gets a score.
JUDGE_ERRORS = (JudgeFailure, EngineError, ProgramBroken)
_MAX_LOG = 2000  # maximum characters of a compiler's or checker's message
# Names of fields that are copied from results, from their subtasks and from their tests into a score's
# metadata.
_RESULT_FIELDS = ("compiles", "points", "checker", "compiler", "repairs")
_SUBTASK_FIELDS = tuple(
    name for name in SubtaskResult.__struct_fields__ if name not in ("problem", "test_results")
)
_TEST_FIELDS = ("test_name", "status", "score", "feedback", "cpu_time", "memory")


class JudgingOptions(Value):
    """Options for judging replies."""

    language: Annotated[
        str,
        CliOption(
            "The language that the prompt asks for, and of the programs in replies.",
            unset="the problem's, if it admits one only; the benchmark's own; C++",
        ),
    ] = ""
    unscored: Annotated[
        Literal["keep", "error"],
        CliOption(
            "What a sample that cannot be judged becomes: unscored, or with `error` an error of the sample."
        ),
    ] = "keep"
    slots: Annotated[Slots, CliOption(unset="all slots of the machine or the servers")] = None
    python: Annotated[Interpreter, CliOption(unset="see [integrations](integrations.md#which-python)")] = ""
    all_tests: AllTests = False


class EvaluationSource(Value):
    """The selected problems of a benchmark or of packages, and the options for judging replies."""

    source: str
    problems: Problems
    judging: JudgingOptions
    default_language: str
    benchmark: Benchmark | None  # benchmark of the problems; None if the problems are packages

    @property
    def name(self) -> str:
        """Return the benchmark's name, or an empty string for packages."""
        return "" if self.benchmark is None else self.benchmark.name

    def runtime(self) -> Runtime:
        """Return the runtime that judges replies."""
        from ioi_eval.integrations.runtime import Setup, runtime

        return runtime(
            Setup(
                slots=self.judging.slots,
                options=JudgeOptions(all_tests=self.judging.all_tests),
                python=self.judging.python,
                packages=self.problems.packages,
            )
        )

    def choose_language(self, problem: Problem) -> Language:
        """Return the language that the prompt asks for. A fence in the reply does not change it."""
        language = choose_language(problem, option=self.judging.language, default=self.default_language)
        return find_language(language.language)

    def make_submission(self, key: str, problem: Problem, reply: str) -> Submission:
        """Return the submission with the program in a reply, or without a program if the reply has none."""
        language = self.choose_language(problem)
        code = extract(reply, language)
        return Submission(key=key, problem_id=problem.id, code=code, language=language.name)

    def make_prompts(self, template: str = "") -> Iterator[tuple[str, Problem, str]]:
        """Yield label, problem and prompt of each usable problem."""
        # Imported here, because the import loads jinja2, which a scorer does not need.
        from ioi_eval.sources import Prompts

        usable_problems = {label: problem for label, problem in self.problems.items() if not problem.unusable}
        if not usable_problems:
            raise InputError("no problem matches the filters", where=self.source, remedy="Give fewer filters")
        languages_by_label = {
            label: self.choose_language(problem).name for label, problem in usable_problems.items()
        }
        prompt_makers = {
            name: Prompts(template, benchmark=self.name, language=name)
            for name in dict.fromkeys(languages_by_label.values())
        }
        return (
            (label, problem, prompt_makers[languages_by_label[label]](problem))
            for label, problem in usable_problems.items()
        )

    @property
    def left_out(self) -> dict[str, int]:
        """Return the number of excluded problems, by reason."""
        reasons = (problem.unusable for problem in self.problems.values())
        return {**self.problems.left_out, **Counter(filter(None, reasons))}


def open_evaluation_source(source: str, options: Mapping[str, Any]) -> EvaluationSource:
    """Return the problems of a source with these options.

    Args:
        source: The name of a benchmark, or a path of packages.
        options: Fields of JudgingOptions and BenchmarkOptions, as on a command line or in a log: a string may
            stand for a list, and a number for a string.

    Raises:
        InputError: An option is wrong, or the engine lacks the packages that programs may import.
    """
    from ioi_eval.runs import BenchmarkOptions
    from ioi_eval.sources import benchmark_of, language_of

    option_names = tuple(field.name for kind in (JudgingOptions, BenchmarkOptions) for field in fields(kind))
    for name in options:
        if name not in option_names:
            similar_names = get_close_matches(name, option_names, cutoff=0.5)
            suggestion = f"Did you mean {' or '.join(map(repr, similar_names))}?"
            remedy = suggestion if similar_names else f"The options are {', '.join(option_names)}"
            raise InputError(f"unknown option {name!r}", remedy=remedy)
    try:
        judging_options = convert(convert_options(options, JudgingOptions), JudgingOptions, strict=False)
        benchmark_options = convert(
            convert_options(options, BenchmarkOptions), BenchmarkOptions, strict=False
        )
    except ValidationError as error:
        raise InputError(f"an option has an invalid value: {error}") from error
    if judging_options.language:
        find_language(judging_options.language)
    evaluation_source = EvaluationSource(
        source=source,
        problems=_load_problems(source, benchmark_options),
        judging=judging_options,
        default_language=language_of(source),
        benchmark=benchmark_of(source),
    )
    if evaluation_source.problems.packages:
        evaluation_source.runtime()
    return evaluation_source


@cache
def _load_problems(source: str, choice: BenchmarkOptions) -> Problems:
    """Return the problems. They stay in memory, because evaluators score samples one by one."""
    from ioi_eval.integrations.runtime import open_environment_store
    from ioi_eval.sources import open_problems

    return open_problems(source, choice, open_environment_store())


def convert_options(options: Mapping[str, Any], options_type: type[Value]) -> dict[str, Any]:
    """Return the options that are fields of `options_type`, converted to the fields' types.

    A string may stand for a list, and a number for a string.
    """
    field_types = {
        field.name: get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type
        for field in fields(options_type)
    }
    return {
        name: _convert_option(field_types[name], options[name]) for name in options if name in field_types
    }


def _convert_option(field_type: Any, value: Any) -> Any:
    """Return an option's value converted to a field's type."""
    if field_type is str:
        return str(value)
    if field_type == tuple[str, ...] | None:
        from ioi_eval.sources import read_packages

        return read_packages(value if isinstance(value, str) else ",".join(value))
    if field_type not in (frozenset[str], frozenset[int], tuple[str, ...]):
        return value
    values = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return list(values) if field_type == frozenset[int] else [str(value) for value in values]


# --- scores ------------------------------------------------------------------------------------------


def sum_max_points(result: SubmissionResult) -> float:
    """Return the maximum points: 1 without subtasks, because the points are a share of the tests."""
    return math.fsum(subtask.points for subtask in result.subtasks) if result.subtasks else 1.0


def compute_score_fraction(result: SubmissionResult) -> float:
    """Return the score in [0, 1]: exactly 1.0 for full marks and below 1.0 otherwise, despite rounding."""
    if result.verdict is Verdict.AC:
        return 1.0
    max_points = sum_max_points(result)
    return min(result.points / max_points, math.nextafter(1.0, 0.0)) if max_points else 0.0


# --- metadata ----------------------------------------------------------------------------------------


def make_result_metadata(problem: Problem, result: SubmissionResult, **more_fields: Any) -> dict[str, Any]:
    """Return points, subtasks and verdicts as JSON values. `more_fields` are further entries."""
    verdict = result.verdict
    metadata = {
        **make_problem_metadata(problem),
        "verdict": verdict,
        "solved": verdict is Verdict.AC,
        "max_points": sum_max_points(result),
        **{name: getattr(result, name) for name in _RESULT_FIELDS},
        "subtasks": [
            {name: getattr(subtask, name) for name in _SUBTASK_FIELDS} for subtask in result.subtasks
        ],
        "tests": [{name: getattr(test, name) for name in _TEST_FIELDS} for test in result.tests],
        **more_fields,
    }
    return {name: json_value(value) for name, value in metadata.items()}


def make_problem_metadata(problem: Problem) -> dict[str, Any]:
    """Return the metadata that identify a problem, in a sample and in its score."""
    return {"problem_id": problem.id, "year": problem.year}


def summarize_scores(scores: Iterable[Mapping[str, Any] | None], **report_options: Any) -> ModelSummary:
    """Return a summary of submissions with these metadata. `report_options` are fields of ReportOptions."""
    from ioi_eval.runs import ReportOptions  # imported here, because a scorer does not need reports
    from ioi_eval.scoring import summarise

    return summarise(map(_read_problem_label_and_attempt, scores), ReportOptions(**report_options))


def _read_problem_label_and_attempt(metadata: Mapping[str, Any] | None) -> tuple[str, Attempt]:
    """Return the problem's label and the attempt with these metadata."""
    if metadata is None or "subtasks" not in metadata:
        message = "the score has no metadata from the judge"
        raise InputError(message, field="metadata", remedy="Score the sample with the scorer ioi_eval/judged")
    problem_id, year, epoch = metadata["problem_id"], metadata["year"], metadata["epoch"]
    subtasks = [{**subtask, "problem": problem_id, "test_results": ()} for subtask in metadata["subtasks"]]
    result_fields = {name: metadata[name] for name in (*_RESULT_FIELDS, "problem_id", "tests")}
    result = msgspec.convert({**result_fields, "key": str(epoch), "subtasks": subtasks}, SubmissionResult)
    label = problem_id if year is None else f"{problem_id}@{year}"
    return label, Attempt(result=result, number=epoch, length=metadata["length"])


# --- explanations ------------------------------------------------------------------------------------


def explain_result(result: SubmissionResult) -> str:
    """Return Markdown with verdict, points, subtasks and the first failed test."""
    verdict, max_points = result.verdict, sum_max_points(result)
    if result.subtasks:
        table_rows = (
            f"| {subtask.subtask} | {subtask.weighted_score:.6g} | {subtask.points:.6g} | {subtask.status} |"
            for subtask in result.subtasks
        )
        table = "\n".join(["| subtask | points | of | verdict |", "|---|--:|--:|---|", *table_rows])
        paragraphs = [f"**{verdict}**: {result.points:.6g} of {max_points:.6g} points", table]
    else:
        passed_tests = sum(test.status is Verdict.AC for test in result.tests)
        paragraphs = [f"**{verdict}**: {passed_tests} of {format_count(len(result.tests), 'test')} passed"]
    if result.compiles and result.tests:
        verdict_counts = Counter(test.status for test in result.tests)
        verdicts = ", ".join(
            f"{verdict_counts[verdict]} {verdict}" for verdict in STATUS_ORDER if verdict_counts[verdict]
        )
        failed_tests = (test for test in result.tests if test.status not in (Verdict.AC, Verdict.SKIPPED))
        first_failed_test = next(failed_tests, None)
        failed_test_note = (
            ""
            if first_failed_test is None
            else f". The first failed test: {_describe_test(first_failed_test)}"
        )
        paragraphs.append(f"Tests: {verdicts}{failed_test_note}")
    if not result.compiles and result.compile_output:
        paragraphs.append(f"The compiler:\n\n{_fence_text(result.compile_output)}")
    return "\n\n".join(paragraphs)


def _describe_test(test: TestResult) -> str:
    """Return Markdown with a test's name, verdict, usage and feedback."""
    usage = f", {test.cpu_time:.3f} s" if test.cpu_time is not None else ""
    usage += f", {test.memory / (1 << 20):.1f} MiB" if test.memory is not None else ""
    feedback = f"\n\n{_fence_text(test.feedback)}" if test.feedback else ""
    return f"`{test.test_name}` ({test.status}{usage}){feedback}"


def _fence_text(text: str) -> str:
    """Return the text as a fenced block, with a fence longer than any backticks in the text."""
    longest_run = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    shortened_text = text.strip()
    shortened_text = (
        shortened_text if len(shortened_text) <= _MAX_LOG else f"{shortened_text[: _MAX_LOG - 1]}…"
    )
    return f"{fence}\n{json_value(shortened_text)}\n{fence}"
