"""The rules of a contest, the replies to participants, and the part of a problem that participants get."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self, get_type_hints

import msgspec

from ioi_eval.generate.turns import Feedback, FeedbackChoice
from ioi_eval.model.errors import InputError, IoiEvalError
from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.text import visible
from ioi_eval.model.values import (
    Blob,
    Checker,
    Manager,
    NamedBlob,
    Problem,
    SubmissionResult,
    TaskOptions,
    TaskType,
    Test,
    Value,
    Verdict,
)
from ioi_eval.plugins.contest.medals import MedalRule
from ioi_eval.reports.document import choose_code_fence
from ioi_eval.rules.expectations import compute_max_points
from ioi_eval.rules.languages import list_allowed_languages
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.rules.selection import SUBMISSIONS, remove_test_results

OWN = "own input"
_HEADERS = frozenset({".h", ".hpp"})
_READ_ALONE = frozenset({TaskType.BATCH, TaskType.FUNCTION, TaskType.BATCH_AND_OUTPUT})
_GRADED = frozenset({TaskType.BATCH, TaskType.BATCH_AND_OUTPUT, TaskType.COMMUNICATION})
# Names of attachments that are sample graders, without suffixes.
_SAMPLE_GRADERS = frozenset({"grader", "stub"})
_MAX_SAMPLE_BYTES = 1 << 16  # maximum bytes of a sample's input or output
_MAX_ATTACHMENT_BYTES = 1 << 20
# Names of two texts of a problem that are not attachments.
_STATEMENT, _STARTER = "statement.md", "starter-code"
_FENCED = re.compile(
    r"\s*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<code>(?:.*\n)?)[ \t]*(?P=fence)[`~]*\s*", re.DOTALL
)
# Pattern for a compiler's message about the source itself, which messages of a linker do not match.
_COMPILER_ERROR = re.compile(r":\d+(:\d+)?: (fatal )?error:")
_FINE = frozenset({Verdict.AC, Verdict.SKIPPED})


_LIMITED = CliOption(typed=int, read=lambda number: number or None, minimum=0, metavar="N")


class Rules(Value):
    """The rules of a contest. None means no limit."""

    submissions: Annotated[
        Count | None,
        _LIMITED,
        CliOption(
            help="Maximum number of submissions by a participant to a problem. 0 means no limit.",
            unset=str(SUBMISSIONS),
        ),
    ] = SUBMISSIONS
    pause: Annotated[
        Annotated[float, msgspec.Meta(ge=0)],
        CliOption(
            metavar="S",
            help="Minimum seconds between two submissions by a participant to a problem.",
            key_only=True,
        ),
    ] = 0.0
    feedback: FeedbackChoice = Feedback.FULL
    seconds: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None,
        CliOption(
            name="contest_time",
            metavar="S",
            minimum=1,
            help="Duration of the contest, in seconds.",
            unset="no end",
        ),
    ] = None
    runs: Annotated[
        Count | None,
        _LIMITED,
        CliOption(
            name="own_runs",
            help="Maximum number of runs on a participant's own inputs, per problem. 0 means no limit.",
            unset="200",
            key_only=True,
        ),
    ] = 200
    mode: Annotated[
        ScoreMode,
        CliOption(help="Rule that computes a problem's points from several submissions."),
    ] = ScoreMode.MAX_SUBTASK
    times: Annotated[
        bool,
        CliOption(
            name="show_times",
            help="Show participants the longest run time of the hidden tests.",
            key_only=True,
        ),
    ] = False
    scoreboard: Annotated[bool, CliOption(help="Show every participant the points of all participants.")] = (
        False
    )
    freeze: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None,
        CliOption(
            metavar="S",
            help="Hide new results on the scoreboard in the last S seconds of the contest.",
            unset="never",
        ),
    ] = None
    medals: Annotated[MedalRule, CliOption(help="Rule that determines the medals on the scoreboard.")] = (
        MedalRule.NONE
    )
    languages: Annotated[
        tuple[str, ...],  # names of the allowed languages; empty means all languages of the engine
        CliOption(
            name="allow_language",
            metavar="NAME",
            help="Programming language that participants may use. May be repeated.",
            unset="all",
            key_only=True,
        ),
    ] = ()
    at_once: Count = 2  # maximum number of a participant's calls in progress; further calls must wait
    waiting: Count = 16  # maximum number of a participant's waiting calls; further calls are refused
    code_bytes: Count = 100_000
    input_bytes: Count = 1 << 20
    # Maximum bytes of an output in a reply.
    output_bytes: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)] = 16 << 10

    def check(self) -> None:
        """Raise InputError if a value is invalid."""
        rule_values = msgspec.to_builtins(self)
        for name, field_type in get_type_hints(Rules, include_extras=True).items():
            try:
                msgspec.convert(rule_values[name], field_type)
            except msgspec.ValidationError as error:
                message = f"{error}"
                raise InputError(
                    f"{rule_values[name]!r}: {message[:1].lower()}{message[1:]}",
                    field=name,
                    remedy="Choose another value",
                ) from error
        if self.freeze is not None and (self.seconds is None or self.freeze > self.seconds):
            raise InputError(
                f"a freeze of {self.freeze:g} seconds needs a contest of at least that length",
                field="freeze",
                remedy="Make the contest longer, or the freeze shorter",
            )

    def frozen_from(self, elapsed_s: float) -> float | None:
        """Return when the scoreboard freezes, in seconds from the start, or None without a freeze.

        `elapsed_s`: seconds since the start. When the contest is over, there is no freeze.
        """
        if self.freeze is None or self.seconds is None or elapsed_s >= self.seconds:
            return None
        return self.seconds - self.freeze

    def make_rules_text(self) -> str:
        """Return the rules as text for a participant."""
        repeated_code_phrase = "The last code" if self.mode == ScoreMode.MAX_TOKENED_LAST else "The same code"
        return "\n".join(
            [
                "Take part in a programming contest: read statements, try programs, submit them for points.",
                f"The points of a problem: {self.mode} over your submissions.",
                f"Feedback on submissions: {self.feedback}.",
                f"Submissions for each problem: {self.submissions or 'no limit'}.",
                f"Runs on inputs of your own for each problem: {self.runs or 'no limit'}.",
                *(
                    [f"The scoreboard hides results of the last {self.freeze:g} seconds until the end."]
                    if self.freeze is not None and self.scoreboard
                    else []
                ),
                f"{repeated_code_phrase} again, and failures of the judge, cost nothing.",
                "A call that is being judged continues and counts if you stop waiting for its answer.",
            ]
        )


class RefusedCall(IoiEvalError):
    """Raised for a call that the rules do not allow, or that is invalid. The call costs nothing."""


class UnjudgedCall(IoiEvalError):
    """Raised if the judge failed. The call costs nothing and may be repeated."""


# --- replies to participants -------------------------------------------------------------------------


class Sample(Value):
    name: str
    input: str
    output: str


class CutText(Value):
    """A text of which a reply has only the beginning."""

    name: str
    characters: int  # number of characters of the whole text
    shown: int  # number of characters in this reply
    read_rest: str  # the tool call that returns the rest, or the next part of it


class Statement(Value):
    """A problem as participants see it."""

    id: str
    title: str
    text: str
    kind: str  # name of the task type
    seconds: float | None  # limit of CPU time for a test, in seconds
    megabytes: int | None
    points_max: float
    # Names of the allowed languages; empty if the problem does not accept programs.
    languages: tuple[str, ...]
    language: str = ""  # language of programs for which the participant names no language
    input_file: str = ""  # name of the input file; empty means standard input
    output_file: str = ""  # name of the output file; empty means standard output
    function: str = ""  # name of the function that the judge calls; empty if it runs a program
    with_grader: bool = False  # True if programs are compiled with a grader, which calls their functions
    starter_code: str = ""
    # False if participants cannot run their own inputs, because that needs a program that only the judge has.
    own_inputs: bool = True
    files: tuple[str, ...] = ()  # names of the tests that are answered with files
    # Contents of attachments by name: headers, attachments of the package, inputs to answer with files.
    attachments: Mapping[str, str] = {}
    samples: tuple[Sample, ...] = ()
    cut: tuple[CutText, ...] = ()  # texts of which this reply contains only the start


class TextPart(Value):
    """A part of a text of a problem."""

    name: str
    characters: int  # number of characters of the whole text
    offset: int  # position of the part in the text, in characters
    text: str
    next_offset: int | None = None  # position of the next part; None after the last part


class ProblemList(Value):
    """The problems of a contest, with a participant's state in each."""

    problems: tuple[ProblemState, ...]


class ProblemState(Value):
    """A participant's state in a problem. Values that the feedback does not include are None."""

    id: str
    title: str
    points_max: float
    points: float | None
    attempts: int
    # Number of submissions that the participant may still send; None means no limit.
    submissions_left: int | None
    gained: float | None = None  # seconds from the start of the contest to the last gain of points


class ScoreboardRow(Value):
    """A participant's row of the scoreboard."""

    participant: str
    points: float
    gained: float | None


class CallInProgress(Value):
    """A participant's call that is being judged. It counts even if its caller is cancelled."""

    problem: str
    call: Literal["submit", "run", "test"]
    number: int | None = None  # number of the submission; None for other calls


class Standing(Value):
    """A participant's points and calls, and the scoreboard if the rules show it."""

    participant: str
    points: float | None
    points_max: float
    seconds_left: float | None
    problems: tuple[ProblemState, ...]
    scoreboard: tuple[ScoreboardRow, ...] = ()
    in_progress: tuple[CallInProgress, ...] = ()


class RunReply(Value):
    """The result of a program on the participant's own input."""

    compiles: bool
    compiler: str = ""  # messages of the compiler
    ended: str = ""  # `completed`, or the verdict of a failed run
    words: str = ""
    output: str = ""
    error: str = ""
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    memory_bytes: int | None = None
    runs_left: int | None = None  # number of runs that the participant may still start; None means no limit


class SampleResult(Value):
    name: str
    verdict: Verdict
    words: str = ""
    output: str = ""
    cpu_seconds: float | None = None
    memory_bytes: int | None = None


class SamplesReply(Value):
    compiles: bool
    compiler: str = ""
    samples: tuple[SampleResult, ...] = ()


class SubtaskFeedback(Value):
    subtask: str
    points: float
    points_max: float
    verdict: Verdict  # verdict on the first failed test, or AC if no test failed


class SubmissionReply(Value):
    """The result of a submission. Values that the feedback does not include are None."""

    number: int  # number of this submission, from 1
    words: str
    repeats: bool = False  # True if the same code was submitted before, so that this submission costs nothing
    compiles: bool | None = None
    compiler: str = ""
    verdict: Verdict | None = None
    points: float | None = None
    points_max: float = 0.0
    subtasks: tuple[SubtaskFeedback, ...] = ()
    slowest_seconds: float | None = None
    best: float | None = None  # points for the problem, considering all submissions so far
    # Number of submissions that the participant may still send; None means no limit.
    submissions_left: int | None = None


class VisibleResult(Value):
    """The part of a result that a participant may see: no tests, and times only if the rules show them."""

    result: SubmissionResult  # the result without its tests
    verdict: Verdict
    parts: tuple[SubtaskFeedback, ...]
    compiler: str
    slowest: float | None

    @classmethod
    def from_result(cls, result: SubmissionResult, compiler: str) -> Self:
        subtasks = list[SubtaskFeedback]()
        for subtask in result.subtasks:
            failing_verdicts = (test.status for test in subtask.test_results if test.status not in _FINE)
            first_verdict = Verdict.AC if subtask.exact_score >= 1 else next(failing_verdicts, subtask.status)
            points, max_points = subtask.weighted_score, subtask.points
            subtasks.append(
                SubtaskFeedback(
                    subtask=subtask.subtask, points=points, points_max=max_points, verdict=first_verdict
                )
            )
        return cls(
            result=remove_test_results(result),
            verdict=result.verdict,
            parts=tuple(subtasks),
            compiler=compiler,
            slowest=max((test.cpu_time or 0.0 for test in result.tests), default=None),
        )


# --- the part of a problem that participants see ------------------------------------------------------


def select_public_headers(problem: Problem) -> tuple[NamedBlob, ...]:
    """Return the headers among the grader's files, which participants get."""
    return tuple(file for file in problem.grader_files if PurePosixPath(file.name).suffix in _HEADERS)


def has_secret_sources(problem: Problem) -> bool:
    """Return True if building or running a submission requires sources that participants do not get."""
    public_hashes = {file.content.sha256 for file in (*select_public_headers(problem), *problem.attachments)}
    has_secret_grader = (
        any(file.content.sha256 not in public_hashes for file in problem.grader_files) or problem.included
    )
    return bool(has_secret_grader) or problem.manager is not None or problem.task_type not in _READ_ALONE


def make_problem_for_participants(problem: Problem) -> Problem | None:
    """Return the problem as participants can build it, with the package's sample grader if it needs one.

    A Communication task gets the sample manager and the sample stub. None means that the judge has secret
    sources and the package lacks samples of them.
    """
    if not has_secret_sources(problem):
        return problem
    if problem.task_type not in _GRADED:
        return None
    problem_with_grader = msgspec.structs.replace(
        problem,
        task_type=TaskType.BATCH,
        manager=None,
        included=(),
        grader_files=_select_grader_files(problem, _SAMPLE_GRADERS, "grader"),
        options=TaskOptions(with_grader=True, prelude=problem.options.prelude),
    )
    return _replace_manager_by_sample(problem) or (
        problem_with_grader if list_allowed_languages(problem_with_grader) else None
    )


def _replace_manager_by_sample(problem: Problem) -> Problem | None:
    """Return a Communication task with the sample manager of its attachments, or None without one.

    The sample manager is built and run like the judge's manager.
    """
    if (judge_manager := problem.manager) is None or problem.task_type is not TaskType.COMMUNICATION:
        return None
    manager_name = f"manager{PurePosixPath(judge_manager.sources[0].name).suffix}"
    sample_managers = [file for file in problem.attachments if PurePosixPath(file.name).name == manager_name]
    if not sample_managers:
        return None
    files = _select_grader_files(problem, frozenset({"stub"}), "stub")
    sources = [NamedBlob(name=f"graders/{manager_name}", content=sample_managers[0].content)]
    sources += [file for file in files if PurePosixPath(file.name).suffix in _HEADERS]
    manager = Manager(
        sources=tuple(sources),
        kind=judge_manager.kind,
        language=judge_manager.language,
        full=judge_manager.full,
    )
    problem_with_manager = msgspec.structs.replace(problem, manager=manager, included=(), grader_files=files)
    return problem_with_manager if list_allowed_languages(problem_with_manager) else None


def _select_grader_files(problem: Problem, stems: Collection[str], judge_name: str) -> tuple[NamedBlob, ...]:
    """Return the headers and the attachments named in `stems`, under the names of the judge's files."""
    files = dict[str, NamedBlob]()
    for file in (*select_public_headers(problem), *problem.attachments):
        path = PurePosixPath(file.name)
        if path.suffix in _HEADERS or path.stem in stems:
            grader_name = path.name if path.suffix in _HEADERS else f"{judge_name}{path.suffix}"
            files[grader_name] = NamedBlob(name=f"graders/{grader_name}", content=file.content)
    return tuple(files.values())


def list_file_tests(problem: Problem) -> tuple[str, ...]:
    """Return the names of the tests that are answered with files."""
    if problem.task_type is TaskType.OUTPUT_ONLY:
        return tuple(test.name for test in problem.tests)
    return problem.options.output_tests


def list_sample_test_names(problem: Problem) -> frozenset[str]:
    """Return the tests of the subtasks without points, if other subtasks have points.

    Such a test is a sample even if further subtasks contain it: participants see it in the statement.
    """
    if not any(subtask.points for subtask in problem.subtasks):
        return frozenset()
    return frozenset(name for subtask in problem.subtasks if not subtask.points for name in subtask.tests)


def make_statement(
    problem: Problem,
    label: str,
    languages: Collection[str],
    language: str = "",
    sample_bytes: int = _MAX_SAMPLE_BYTES,
) -> Statement:
    """Return a problem as participants see it.

    Args:
        problem: The problem.
        label: The problem's name in the contest.
        languages: Names of the languages that the contest allows.
        language: Language of programs without a named language.
        sample_bytes: Maximum length of a sample's input, and of its output.
    """
    limits, options = problem.limits, problem.options
    admitted_languages = () if problem.task_type is TaskType.OUTPUT_ONLY else list_allowed_languages(problem)
    return Statement(
        id=label,
        title=visible(problem.name) or label,
        text="" if problem.statement is None else problem.statement.read().decode(errors="replace"),
        kind=problem.task_type.value,
        seconds=limits.cpu_time,
        megabytes=None if limits.memory is None else limits.memory >> 20,
        points_max=compute_max_points(problem),
        languages=tuple(
            language_entry.name for language_entry in admitted_languages if language_entry.name in languages
        ),
        language=language if admitted_languages else "",
        input_file=options.input_file,
        output_file=options.output_file,
        function=options.function if problem.task_type is TaskType.FUNCTION else "",
        with_grader=options.with_grader,
        starter_code=problem.starter_code,
        own_inputs=make_problem_for_participants(problem) is not None,
        files=list_file_tests(problem),
        attachments=dict(_list_public_texts(problem)),
        samples=tuple(
            Sample(
                name=test.name,
                input=test.input.read_beginning(sample_bytes),
                output="" if test.answer is None else test.answer.read_beginning(sample_bytes),
            )
            for test in select_samples(problem)
        ),
    )


def list_statement_texts(statement: Statement) -> dict[str, str]:
    """Return the texts of a statement, by the names that the tool `attachment` accepts."""
    shown_texts = {_STATEMENT: statement.text, _STARTER: statement.starter_code}
    for sample in statement.samples:
        shown_texts |= {
            f"samples/{sample.name}.in": sample.input,
            f"samples/{sample.name}.out": sample.output,
        }
    return {_make_unused_name(name, statement): content for name, content in shown_texts.items()} | {
        **statement.attachments
    }


def _make_unused_name(base_name: str, statement: Statement) -> str:
    """Return a name that no attachment has."""
    while base_name in statement.attachments:
        base_name = f"_{base_name}"
    return base_name


def shorten_statement(statement: Statement, max_characters: int) -> Statement:
    """Return a statement whose texts have up to `max_characters` in total. `cut` lists the rest."""
    shown_texts, cut_texts = dict[str, str](), list[CutText]()
    for name, content in list_statement_texts(statement).items():
        shown_texts[name] = content[:max_characters]
        max_characters -= (shown_length := len(shown_texts[name]))
        if shown_length < len(content):
            next_call = f"attachment(problem={statement.id!r}, name={name!r}, offset={shown_length})"
            cut_texts.append(
                CutText(name=name, characters=len(content), shown=shown_length, read_rest=next_call)
            )
    samples = (
        Sample(
            name=sample.name,
            input=shown_texts[_make_unused_name(f"samples/{sample.name}.in", statement)],
            output=shown_texts[_make_unused_name(f"samples/{sample.name}.out", statement)],
        )
        for sample in statement.samples
    )
    return msgspec.structs.replace(
        statement,
        text=shown_texts[_make_unused_name(_STATEMENT, statement)],
        starter_code=shown_texts[_make_unused_name(_STARTER, statement)],
        attachments={name: shown_texts[name] for name in statement.attachments if shown_texts[name]},
        samples=tuple(samples),
        cut=tuple(cut_texts),
    )


def strip_fence(code: str) -> str:
    """Return a program without the Markdown fence around it, if any."""
    return code if (match := _FENCED.fullmatch(code)) is None else textwrap.dedent(match["code"])


def _list_public_texts(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield names and texts of headers, attachments and inputs. Binary attachments are ignored."""
    for file in select_public_headers(problem):
        yield PurePosixPath(file.name).name, file.content.read().decode(errors="replace")
    for file in problem.attachments:
        content = file.content.read() if file.content.size <= _MAX_ATTACHMENT_BYTES else b"\0"
        with suppress(UnicodeDecodeError):
            if b"\0" not in content:
                yield visible(file.name), content.decode()
    for test in problem.tests:  # such a test is answered with a file, so participants get its input
        if test.name in list_file_tests(problem):
            yield f"{test.name}.in", test.input.read().decode(errors="replace")


def select_samples(problem: Problem) -> tuple[Test, ...]:
    """Return the problem's samples."""
    return tuple(test for test in problem.tests if test.name in list_sample_test_names(problem))


def keep_only_samples(problem: Problem) -> Problem:
    """Return the problem with its samples as its only tests."""
    return msgspec.structs.replace(problem, tests=select_samples(problem), subtasks=(), grader=None)


def set_single_input(problem: Problem, input_data: bytes) -> Problem:
    """Return the problem with a single test, whose input is `input_data`. The output is not judged."""
    test = Test(name=OWN, input=Blob.of(input_data), answer=Blob.of(b""))
    return msgspec.structs.replace(
        problem, tests=(test,), subtasks=(), checker=Checker(), grader=None, solutions=()
    )


def keep_only_public_sources(problem: Problem) -> Problem:
    """Return a problem for which a submission is built only with files that participants have."""
    bare_problem = msgspec.structs.replace(
        set_single_input(problem, b""), task_type=TaskType.BATCH, manager=None, included=()
    )
    options = TaskOptions(prelude=problem.options.prelude)
    return msgspec.structs.replace(bare_problem, grader_files=select_public_headers(problem), options=options)


def find_source_error_messages(log: str) -> str:
    """Return a compiler's messages about a source, or "" if only the linker reports errors."""
    return log if _COMPILER_ERROR.search(log) or "undefined reference" not in log else ""


def as_markdown(statement: Statement) -> str:
    """Return a statement as Markdown."""
    header_lines = [f"# {statement.title}", "", f"Problem `{statement.id}`, {statement.points_max:g} points."]
    if statement.seconds is not None:
        header_lines.append(f"Time limit: {statement.seconds:g} s of CPU time for a test.")
    if statement.megabytes is not None:
        header_lines.append(f"Memory limit: {statement.megabytes} MiB.")
    if statement.languages:
        default_note = f" Default: {statement.language}." if statement.language else ""
        header_lines.append(f"Languages: {', '.join(statement.languages)}.{default_note}")
    if statement.files:
        header_lines.append(
            f"Answered with files, which `outputs` has by these names: {', '.join(statement.files)}."
        )
    if statement.function:
        header_lines.append(
            f"The function `{statement.function}` is called and its result compared. "
            "An input is a JSON list of its arguments, such as `[[3, 1], 2]`."
        )
    elif statement.with_grader:
        header_lines.append(
            "A grader is compiled with your program and calls its functions: write no `main`."
        )
    elif statement.languages:
        header_lines.append(
            f"Input: {statement.input_file or 'standard input'}. "
            f"Output: {statement.output_file or 'standard output'}."
        )
    sections = [statement.text.strip()]
    sections += [
        f"## {name}\n\n{_fence_text(content)}" for name, content in sorted(statement.attachments.items())
    ]
    sections += [
        f"## Sample {sample.name}\n\n{_fence_text(sample.input)}\n\n{_fence_text(sample.output)}"
        for sample in statement.samples
    ]
    sections += [
        f"`{cut.name}` has {cut.characters} characters, {cut.shown} of them here: `{cut.read_rest}`"
        for cut in statement.cut
    ]
    return "\n".join(header_lines) + "\n\n" + "\n\n".join(content for content in sections if content) + "\n"


def _fence_text(text: str) -> str:
    fence = choose_code_fence(text)
    return f"{fence}\n{text.rstrip()}\n{fence}"
