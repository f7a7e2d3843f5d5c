"""The classic job for the cluster package `codeforces`: a single test per job, without graders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioi_eval.engines.contract import Capabilities
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.job import Job, JobFile, JobResult
from ioi_eval.model.languages import Language, find_language
from ioi_eval.model.values import Blob, CheckerKind, Problem, Submission, TaskType, Test, TestResult, Verdict
from ioi_eval.rules.verdicts import COMPILATION_ERROR, make_uncompiled_result

CONFIG = "grader_config"
PYTHON = "cf_python3"
_CPP = re.compile(r"(?:cf_)?c\+\+(\d\d)")
_MORE_TIME_S = 10.0  # seconds that the contract of Codeforces jobs adds to the time limit for the whole job
_DEFAULT_TIME_S = 10.0  # time limit in seconds if the problem has no time limit
_DEFAULT_MEMORY = 256 << 20
_MEBIBYTE = 1 << 20
# For a problem without a checker program, the Piston package's own comparison of outputs replaces these
# comparisons.
_COMPARISONS = frozenset(
    {
        CheckerKind.WHITE_DIFF,
        CheckerKind.STRIPPED,
        CheckerKind.STRIPPED_LINES,
        CheckerKind.PRIME_CODE,
        CheckerKind.TOKENS,
    }
)
_MESSAGES = (  # parts of messages of the Piston package
    ("memory limit", Verdict.MLE),
    ("memoryerror", Verdict.MLE),
    ("time limit", Verdict.TLE),
    ("output limit", Verdict.OLE),
    ("runtime error", Verdict.RE),
)
# Names of the input and output file; empty names mean standard input and output.
_FILE_NAMES = (("", ""), ("input.txt", "output.txt"))


def has_codeforces_package(capabilities: Capabilities) -> bool:
    return PYTHON in capabilities.runtimes or any(_CPP.fullmatch(name) for name in capabilities.runtimes)


def explain_codeforces_refusal(problem: Problem, submission: Submission) -> str:
    """Return why a classic Codeforces job cannot judge the submission, or an empty string if it can."""
    language = find_language(submission.language, where=problem.source or problem.id)
    checker = problem.checker
    if problem.task_type is not TaskType.BATCH or problem.options.with_grader:
        return f"a {problem.task_type.value} task, or one with a grader, has no classic Codeforces job"
    if (problem.options.input_file, problem.options.output_file) not in _FILE_NAMES:
        return "the classic Codeforces job knows no other files than input.txt and output.txt"
    if language.command not in ("g++", "python3"):
        return f"the classic Codeforces job is for C++ and Python, not for {language.name}"
    if checker.kind is CheckerKind.CODEFORCES:
        return "" if checker.language == "python" else "the classic Codeforces job takes checkers in Python"
    has_tolerance = checker.absolute is not None or checker.relative is not None
    if checker.kind not in _COMPARISONS or has_tolerance:
        return f"the classic Codeforces job cannot compare by {checker.kind.value}"
    return ""


def make_codeforces_job(
    problem: Problem, test: Test, submission: Submission, capabilities: Capabilities
) -> Job:
    """Return the job for a test of a submission that `explain_codeforces_refusal` accepts.

    Args:
        problem: The problem, with its limits and its checker.
        test: The test whose input and answer the job contains.
        submission: The submission. A missing program becomes an empty file.
        capabilities: What the server offers. For C++, the job uses one of its runtimes.

    Raises:
        JudgeFailure: The server has no runtime for the C++ standard or a newer one.
    """
    language = find_language(submission.language, where=problem.source or problem.id)
    return Job(
        files=tuple(_list_job_files(problem, test, submission, language)),
        runtime=PYTHON
        if language.syntax == "python"
        else _find_server_language(problem, language, capabilities),
        run_timeout=round((_get_time_limit_s(problem) + _MORE_TIME_S) * 1000),
    )


def _find_server_language(problem: Problem, language: Language, capabilities: Capabilities) -> str:
    """Return the server's language for the C++ standard, or for the next newer standard."""
    names_by_standard = {
        int(language_match[1]): name
        for name in sorted(capabilities.runtimes, reverse=True)
        if (language_match := _CPP.fullmatch(name))
    }
    # Take 17 from `gnu++17`. The standards 98 and 03 are older than the standard of any server.
    standard_digits = (
        (language.standard or problem.cpp_standard)[-2:]
        .replace("2a", "20")
        .replace("2b", "23")
        .replace("2c", "26")
    )
    min_standard = int(standard_digits) if standard_digits not in ("98", "03") else 3
    usable_standards = sorted(standard for standard in names_by_standard if standard >= min_standard)
    if not usable_standards:
        standard_names = ", ".join(sorted(names_by_standard.values())) or "none"
        raise JudgeFailure(
            f"the server has no language for C++{min_standard} or newer (its languages: {standard_names})",
            phase="preparing",
            remedy="Install the package `codeforces` with it, or ask for an older standard",
        )
    return names_by_standard[usable_standards[0]]


def _list_job_files(
    problem: Problem, test: Test, submission: Submission, language: Language
) -> Iterator[JobFile]:
    suffix = "python" if language.syntax == "python" else "cpp"
    source_code = (submission.code or "").encode(errors="surrogatepass")
    yield JobFile(name=f"main.{suffix}", content=Blob.of(source_code))
    if problem.checker.sources:
        yield JobFile(name="checker.py", content=problem.checker.sources[0].content)
    yield JobFile(name="input.txt", content=test.input)
    yield JobFile(name="correct_output.txt", content=test.answer or Blob.of(""))
    memory_mib = (problem.limits.memory or _DEFAULT_MEMORY) / _MEBIBYTE
    input_mode = "file" if problem.options.input_file else "stdio"
    yield JobFile(
        name=CONFIG,
        content=Blob.of(
            f"TIME_LIMIT={_get_time_limit_s(problem):g}\nMEMORY_LIMIT={memory_mib:g}\nINPUT_MODE={input_mode}"
        ),
    )


def _get_time_limit_s(problem: Problem) -> float:
    return problem.limits.cpu_time or _DEFAULT_TIME_S


# --- the reply ---------------------------------------------------------------------------------------


def read_codeforces_result(test_name: str, result: JobResult) -> TestResult:
    """Return the result of a test. The test is passed if the exit code is 0 and the output is `1`.

    Otherwise the verdict depends on the messages of the server's scripts in the output.
    """
    compile_ending, run_ending = result.compile, result.run
    if compile_ending is not None and compile_ending.code != 0:
        program_output = compile_ending.stderr or compile_ending.stdout
        return make_uncompiled_result(
            test_name, f"{COMPILATION_ERROR} exit code {compile_ending.code}\n{program_output}"
        )
    if run_ending.code == 0 and run_ending.stdout.strip() == "1":
        return TestResult(test_name=test_name, score=1.0, status=Verdict.AC, feedback=run_ending.stderr)
    program_output = f"{run_ending.stdout}\n{run_ending.stderr}".casefold()
    status = next((verdict for message, verdict in _MESSAGES if message in program_output), None)
    if status is None and run_ending.signal == "SIGKILL":
        status = Verdict.TLE
    if status is None:
        status = Verdict.WA if run_ending.code == 0 else Verdict.RE
    return TestResult(
        test_name=test_name, score=0.0, status=status, feedback=run_ending.stderr or run_ending.stdout
    )
