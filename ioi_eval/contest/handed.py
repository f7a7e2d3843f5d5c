"""The part of a problem that participants are handed, and problems that hold nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import PurePosixPath

import msgspec

from ioi_eval.contest.rules import Sample, Statement
from ioi_eval.model.values import (
    Blob,
    Checker,
    Manager,
    NamedBlob,
    Problem,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.reports.document import fence_for, visible
from ioi_eval.rules.expectations import max_points
from ioi_eval.rules.languages import admitted

OWN = "own input"
_HEADERS = frozenset({".h", ".hpp"})
_READ_ALONE = frozenset({TaskType.BATCH, TaskType.FUNCTION, TaskType.BATCH_AND_OUTPUT})
_GRADED = frozenset({TaskType.BATCH, TaskType.BATCH_AND_OUTPUT, TaskType.COMMUNICATION})
_SAMPLE_GRADERS = frozenset({"grader", "stub"})  # names of attachments, without their endings
_MOST_SHOWN = 1 << 16  # bytes of a sample's file
_LONGEST = 1 << 20  # bytes of an attachment
# A message of the compiler about the source itself; what a linker says names what is missing elsewhere.
_COMPILER_ERROR = re.compile(r":\d+(:\d+)?: (fatal )?error:")


def headers(problem: Problem) -> tuple[NamedBlob, ...]:
    return tuple(file for file in problem.grader_files if PurePosixPath(file.name).suffix in _HEADERS)


def has_secrets(problem: Problem) -> bool:
    """Return True if a submission is built or runs with sources that only the judge has."""
    handed = {file.content.sha256 for file in (*headers(problem), *problem.attachments)}
    others = any(file.content.sha256 not in handed for file in problem.grader_files) or problem.included
    return bool(others) or problem.manager is not None or problem.task_type not in _READ_ALONE


def in_hand(problem: Problem) -> Problem | None:
    """Return the problem as participants can build it: where it must be, with the sample grader handed out.

    A Communication task has the sample manager and stub, if both are handed out. None where the judge has
    secrets and the package hands out neither.
    """
    if not has_secrets(problem):
        return problem
    if problem.task_type not in _GRADED:
        return None
    return _managed(problem) or _graded(problem)


def _managed(problem: Problem) -> Problem | None:
    """Return a Communication task with the manager that is handed out: one of the kind of the judge's own."""
    if (own := problem.manager) is None or problem.task_type is not TaskType.COMMUNICATION:
        return None
    name = f"manager{PurePosixPath(own.sources[0].name).suffix}"
    handed = [file for file in problem.attachments if PurePosixPath(file.name).name == name]
    if not handed:
        return None
    files = _building_blocks(problem, frozenset({"stub"}), "stub")
    sources = [NamedBlob(name=f"graders/{name}", content=handed[0].content)]
    sources += [file for file in files if PurePosixPath(file.name).suffix in _HEADERS]
    manager = Manager(sources=tuple(sources), kind=own.kind, language=own.language, full=own.full)
    found = msgspec.structs.replace(problem, manager=manager, included=(), grader_files=files)
    return found if admitted(found) else None


def _graded(problem: Problem) -> Problem | None:
    found = msgspec.structs.replace(
        problem,
        task_type=TaskType.BATCH,
        manager=None,
        included=(),
        grader_files=_building_blocks(problem, _SAMPLE_GRADERS, "grader"),
        options=TaskOptions(with_grader=True, prelude=problem.options.prelude),
    )
    return found if admitted(found) else None


def _building_blocks(problem: Problem, stems: Collection[str], called: str) -> tuple[NamedBlob, ...]:
    """Return the headers, and what is handed out by the names `stems`, as the judge's own would be called."""
    files = dict[str, NamedBlob]()
    for file in (*headers(problem), *problem.attachments):
        path = PurePosixPath(file.name)
        if path.suffix in _HEADERS or path.stem in stems:
            name = path.name if path.suffix in _HEADERS else f"{called}{path.suffix}"
            files[name] = NamedBlob(name=f"graders/{name}", content=file.content)
    return tuple(files.values())


def answered_with_files(problem: Problem) -> tuple[str, ...]:
    """Return the names of the tests that are answered with files."""
    if problem.task_type is TaskType.OUTPUT_ONLY:
        return tuple(test.name for test in problem.tests)
    return problem.options.output_tests


def sample_names(problem: Problem) -> frozenset[str]:
    """Return the tests of the subtasks that are worth nothing, where others are worth points.

    A test that counts elsewhere, too, is a sample all the same: participants see it in the statement.
    """
    if not any(subtask.points for subtask in problem.subtasks):
        return frozenset()
    return frozenset(name for subtask in problem.subtasks if not subtask.points for name in subtask.tests)


def statement_of(problem: Problem, label: str, languages: Collection[str]) -> Statement:
    """`languages`: names of the languages that the contest takes."""
    limits, options = problem.limits, problem.options
    return Statement(
        id=label,
        title=visible(problem.name) or label,
        text="" if problem.statement is None else problem.statement.read().decode(errors="replace"),
        kind=problem.task_type.value,
        seconds=limits.cpu_time,
        megabytes=None if limits.memory is None else limits.memory >> 20,
        points=max_points(problem),
        languages=tuple(language.name for language in admitted(problem) if language.name in languages),
        input_file=options.input_file,
        output_file=options.output_file,
        function=options.function if problem.task_type is TaskType.FUNCTION else "",
        starter_code=problem.starter_code,
        own_inputs=in_hand(problem) is not None,
        files=answered_with_files(problem),
        attachments=dict(_attachments(problem)),
        samples=tuple(
            Sample(
                name=test.name,
                input=test.input.beginning(_MOST_SHOWN),
                output="" if test.answer is None else test.answer.beginning(_MOST_SHOWN),
            )
            for test in samples(problem)
        ),
    )


def _attachments(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield what can be shown as text: of the package's own attachments neither documents nor archives."""
    for file in headers(problem):
        yield PurePosixPath(file.name).name, file.content.read().decode(errors="replace")
    for file in problem.attachments:
        text = file.content.read() if file.content.size <= _LONGEST else b"\0"
        with suppress(UnicodeDecodeError):
            if b"\0" not in text:
                yield visible(file.name), text.decode()
    for test in problem.tests:  # what is to be answered with files is in every participant's hands
        if test.name in answered_with_files(problem):
            yield f"{test.name}.in", test.input.read().decode(errors="replace")


def samples(problem: Problem) -> tuple[Test, ...]:
    return tuple(test for test in problem.tests if test.name in sample_names(problem))


def with_samples_alone(problem: Problem) -> Problem:
    return msgspec.structs.replace(problem, tests=samples(problem), subtasks=(), grader=None)


def with_own_input(problem: Problem, given: bytes) -> Problem:
    """Return a problem of one test without an answer, which nothing of the problem judges."""
    own = Test(name=OWN, input=Blob.of(given))
    return msgspec.structs.replace(
        problem, tests=(own,), subtasks=(), checker=Checker(), grader=None, solutions=()
    )


def compiled_alone(problem: Problem) -> Problem:
    """Return a problem that a submission is built for with nothing but what participants have."""
    bare = msgspec.structs.replace(
        with_own_input(problem, b""), task_type=TaskType.BATCH, manager=None, included=()
    )
    options = TaskOptions(prelude=problem.options.prelude)
    return msgspec.structs.replace(bare, grader_files=headers(problem), options=options)


def own_fault(log: str) -> str:
    """Return a compiler's words about a source that was built alone; empty where only a linker complains."""
    return log if _COMPILER_ERROR.search(log) or "undefined reference" not in log else ""


def as_markdown(statement: Statement) -> str:
    """Return a statement as one text: what a participant may know of a problem."""
    lines = [f"# {statement.title}", "", f"Problem `{statement.id}`, {statement.points:g} points."]
    if statement.seconds is not None:
        lines.append(f"Time limit: {statement.seconds:g} s of CPU time for a test.")
    if statement.megabytes is not None:
        lines.append(f"Memory limit: {statement.megabytes} MiB.")
    lines.append(f"Languages: {', '.join(statement.languages)}.")
    if statement.files:
        lines.append(
            f"Answered with files, which `outputs` has by these names: {', '.join(statement.files)}."
        )
    if statement.function:
        lines.append(f"The function `{statement.function}` is called.")
    else:
        lines.append(
            f"Input: {statement.input_file or 'standard input'}. "
            f"Output: {statement.output_file or 'standard output'}."
        )
    texts = [statement.text.strip()]
    texts += [f"## {name}\n\n{_fenced(text)}" for name, text in sorted(statement.attachments.items())]
    texts += [
        f"## Sample {sample.name}\n\n{_fenced(sample.input)}\n\n{_fenced(sample.output)}"
        for sample in statement.samples
    ]
    return "\n".join(lines) + "\n\n" + "\n\n".join(text for text in texts if text) + "\n"


def _fenced(text: str) -> str:
    fence = fence_for(text)
    return f"{fence}\n{text.rstrip()}\n{fence}"
