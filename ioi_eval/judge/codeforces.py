"""The classic job of clusters with the package `codeforces`: one test per job, programs that stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioi_eval.engines.contract import Capabilities
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.job import Job, JobFile, JobResult
from ioi_eval.model.languages import Language, find
from ioi_eval.model.values import Blob, CheckerKind, Problem, Submission, TaskType, Test, TestResult, Verdict
from ioi_eval.rules.verdicts import COMPILATION_ERROR, not_compiled

CONFIG = "grader_config"
PYTHON = "cf_python3"
_CPP = re.compile(r"(?:cf_)?c\+\+(\d\d)")
_MORE_TIME = 10.0  # seconds that the contract adds for the job
_DEFAULT_TIME = 10.0  # seconds, where the problem has no limit
_DEFAULT_MEMORY = 256 << 20
_MEBIBYTE = 1 << 20
# Without a checker the package compares texts. How exactly is the cluster's own affair.
_COMPARED = frozenset(
    {
        CheckerKind.WHITE_DIFF,
        CheckerKind.STRIPPED,
        CheckerKind.STRIPPED_LINES,
        CheckerKind.PRIME_CODE,
        CheckerKind.TOKENS,
    }
)
_WORDS = (
    ("memory limit", Verdict.MLE),
    ("memoryerror", Verdict.MLE),
    ("time limit", Verdict.TLE),
    ("output limit", Verdict.OLE),
    ("runtime error", Verdict.RE),
)
_FILES = (("", ""), ("input.txt", "output.txt"))  # standard input and output, or both as files


def is_there(profile: Capabilities) -> bool:
    return PYTHON in profile.runtimes or any(_CPP.fullmatch(name) for name in profile.runtimes)


def objection(problem: Problem, submission: Submission) -> str:
    """Why this contract cannot judge; empty where it can."""
    language = find(submission.language, where=problem.source or problem.id)
    checker = problem.checker
    if problem.task_type is not TaskType.BATCH or problem.options.with_grader:
        return f"a {problem.task_type.value} task, or one with a grader, has no classic Codeforces job"
    if (problem.options.input_file, problem.options.output_file) not in _FILES:
        return "the classic Codeforces job knows no other files than input.txt and output.txt"
    if language.command not in ("g++", "python3"):
        return f"the classic Codeforces job is for C++ and Python, not for {language.name}"
    if checker.kind is CheckerKind.CODEFORCES:
        return "" if checker.language == "python" else "the classic Codeforces job takes checkers in Python"
    tolerant = checker.absolute is not None or checker.relative is not None
    if checker.kind not in _COMPARED or tolerant:
        return f"the classic Codeforces job cannot compare by {checker.kind.value}"
    return ""


def codeforces_job(problem: Problem, test: Test, submission: Submission, profile: Capabilities) -> Job:
    """The job of one test, for a problem and a submission without an objection."""
    language = find(submission.language, where=problem.source or problem.id)
    return Job(
        files=tuple(_files(problem, test, submission, language)),
        runtime=PYTHON if language.syntax == "python" else _dialect(problem, language, profile),
        run_timeout=round((_time_limit(problem) + _MORE_TIME) * 1000),
    )


def _dialect(problem: Problem, language: Language, profile: Capabilities) -> str:
    """The standard that is asked for, or the next newer one."""
    found = {
        int(match[1]): name
        for name in sorted(profile.runtimes, reverse=True)
        if (match := _CPP.fullmatch(name))
    }
    # `gnu++17` is 17; the first two standards come before all that servers have.
    digits = (
        (language.standard or problem.cpp_standard)[-2:]
        .replace("2a", "20")
        .replace("2b", "23")
        .replace("2c", "26")
    )
    wanted = int(digits) if digits not in ("98", "03") else 3
    fitting = sorted(year for year in found if year >= wanted)
    if not fitting:
        there = ", ".join(sorted(found.values())) or "none"
        raise JudgeFailure(
            f"the server has no language for C++{wanted} or newer (there are: {there})",
            phase="preparing",
            remedy="Install the package `codeforces` with it, or ask for an older standard",
        )
    return found[fitting[0]]


def _files(problem: Problem, test: Test, submission: Submission, language: Language) -> Iterator[JobFile]:
    suffix = "python" if language.syntax == "python" else "cpp"
    code = (submission.code or "").encode(errors="surrogatepass")
    yield JobFile(name=f"main.{suffix}", content=Blob.of(code))
    if problem.checker.sources:
        yield JobFile(name="checker.py", content=problem.checker.sources[0].content)
    yield JobFile(name="input.txt", content=test.input, is_reused=True)
    yield JobFile(name="correct_output.txt", content=test.answer or Blob.of(""), is_reused=True)
    memory = (problem.limits.memory or _DEFAULT_MEMORY) / _MEBIBYTE
    mode = "file" if problem.options.input_file else "stdio"
    yield JobFile(
        name=CONFIG,
        content=Blob.of(f"TIME_LIMIT={_time_limit(problem):g}\nMEMORY_LIMIT={memory:g}\nINPUT_MODE={mode}"),
    )


def _time_limit(problem: Problem) -> float:
    return problem.limits.cpu_time or _DEFAULT_TIME


# --- the reply ---------------------------------------------------------------------------------------


def codeforces_result(test_name: str, result: JobResult) -> TestResult:
    """Passed is exit code 0 and an output of `1`. Why a test is not passed is read from the words."""
    compiled, run = result.compile, result.run
    if compiled is not None and compiled.code != 0:
        words = compiled.stderr or compiled.stdout
        return not_compiled(test_name, f"{COMPILATION_ERROR} exit code {compiled.code}\n{words}")
    if run.code == 0 and run.stdout.strip() == "1":
        return TestResult(test_name=test_name, score=1.0, status=Verdict.AC, feedback=run.stderr)
    text = f"{run.stdout}\n{run.stderr}".casefold()
    status = next((verdict for words, verdict in _WORDS if words in text), None)
    if status is None and run.signal == "SIGKILL":
        status = Verdict.TLE
    if status is None:
        status = Verdict.WA if run.code == 0 else Verdict.RE
    return TestResult(test_name=test_name, score=0.0, status=status, feedback=run.stderr or run.stdout)
