"""The judging functions of open-r1's pipelines, with their names, arguments and results, for any client.

    from ioi_eval.integrations.open_r1 import get_piston_client_from_env, score_subtask

If a submission cannot be judged, they raise JudgeFailure. docs/open_r1.md lists the differences.
"""

from __future__ import annotations

import ast
import asyncio
import os
import re
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import msgspec

from ioi_eval.classic import check_graders, classic_outcome, classic_result, may_be_judges_fault
from ioi_eval.engines.registry import EngineChoice, create_piston_engine
from ioi_eval.errors import EngineError, InputError, IoiEvalError, JudgeFailure
from ioi_eval.integrations.classic_clients import (
    ClassicClient,
    ClusterClient,
    EngineClient,
    Sandbox,
    SandboxClient,
    SandboxJob,
    decode_client_reply,
)
from ioi_eval.integrations.unjudged import count_unjudged, gather_results
from ioi_eval.models import Blob, JobResult, NamedBlob, Problem, Verdict
from ioi_eval.runs import CodeRepairs
from ioi_eval.scoring import find_language, repair, worst_verdict

if TYPE_CHECKING:
    from ioi_eval.engines.piston.sending import Answer, HttpClient
    from ioi_eval.sources import Problems

__all__ = [
    "ClassicClient",
    "ClusterClient",
    "EngineClient",
    "PistonClient",
    "PistonError",
    "Sandbox",
    "SandboxClient",
    "SandboxJob",
    "SubtaskResult",
    "TestResult",
    "add_includes",
    "batched",
    "binary_code_reward",
    "cf_code_reward",
    "code_reward",
    "execute_ioi",
    "extract_code",
    "fix_cpp_includes",
    "fix_python3_imports",
    "get_code_format_reward",
    "get_generated_contest_tests",
    "get_generated_tests",
    "get_piston_client_from_env",
    "get_slurm_piston_endpoints",
    "ioi_code_reward",
    "is_patchable",
    "load_ioi_tests",
    "load_ioi_tests_for_year",
    "patch_code",
    "run_submission",
    "score_single_test_case",
    "score_submission",
    "score_subtask",
    "score_subtasks",
]

PistonError = JudgeFailure  # open-r1's name for this error

_PHASE = "asking a server"
_REPLY_TIMEOUT_S = 30.0
# Maximum seconds for installing a package, which the server downloads before it replies.
_INSTALL_TIMEOUT_S = 1800.0
_SPARE_S = 3  # seconds that open-r1 adds to the time limit in jobs for problems of the IOI


Row = Mapping[str, Any]
T = TypeVar("T")


@dataclass
class TestResult:
    """The result of a test."""

    __test__ = False

    test_name: str
    score: float = 0.0
    status: str = "SKIPPED"
    feedback: str | None = None


@dataclass
class SubtaskResult:
    """The results of a subtask's tests, and the subtask's points."""

    problem: str | None = None
    subtask: str | None = None
    points: float = 0.0
    score_precision: int = 2
    test_results: list[TestResult] = field(default_factory=list)

    @property
    def status(self) -> str:
        """Return the worst verdict of the tests."""
        return worst_verdict(Verdict(result.status) for result in self.test_results).value

    @property
    def score(self) -> float:
        """Return the lowest score of the tests, rounded."""
        return round(self._lowest_score(), self.score_precision)

    @property
    def weighted_score(self) -> float:
        """Return the points of the submission, rounded."""
        return round(self._lowest_score() * self.points, self.score_precision)

    def _lowest_score(self) -> float:
        return min((result.score for result in self.test_results), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary."""
        property_names = (
            "problem",
            "subtask",
            "score",
            "weighted_score",
            "points",
            "score_precision",
            "status",
        )
        return {
            **{name: getattr(self, name) for name in property_names},
            "test_results": [asdict(result) for result in self.test_results],
        }


# --- one test ----------------------------------------------------------------------------------------


async def run_submission(
    client: ClassicClient, problem: Row, test_input: str, submission: str, test_output: str | None = None
) -> tuple[str, str]:
    """Run one test. Return its score and its feedback, both as strings.

    Args:
        client: The client that executes jobs.
        problem: A row of `open-r1/ioi`.
        test_input: The input.
        submission: The program.
        test_output: The expected output, if there is one.

    Raises:
        JudgeFailure: The test cannot be judged.
    """
    data = {
        "files": list(_list_job_files(problem, test_input, submission, test_output)),
        "run_timeout": round((problem["time_limit"] + _SPARE_S) * 1000),
        "run_memory_limit": problem["memory_limit"],
    }
    result = decode_client_reply(await client.send_execute(data))
    if may_be_judges_fault(result.compile, f"graders/{problem['id'].lower()}.cpp"):
        data_without_submission = data | {
            "files": list(_list_job_files(problem, test_input, "", test_output))
        }
        check_graders(decode_client_reply(await client.send_execute(data_without_submission)).compile)
    return classic_outcome(result)


async def execute_ioi(client: ClassicClient, data: dict[str, Any]) -> tuple[str, str]:
    """Execute a job for a problem of the IOI. Return score and feedback, both as strings.

    `data` has the keys `files`, `run_timeout` and `run_memory_limit`.
    """
    return classic_outcome(decode_client_reply(await client.send_execute(data)))


def _list_job_files(
    problem: Row, test_input: str, submission: str, test_output: str | None
) -> Iterator[dict[str, str]]:
    """Yield the files of a job: submission, input, expected output and graders."""
    yield _make_text_file(f"graders/{problem['id'].lower()}.cpp", submission)
    yield _make_text_file("input.txt", test_input)
    if test_output:
        yield _make_text_file("correct_output.txt", test_output)
    for name, content in _list_grader_files(problem):
        yield _make_text_file(name, content)


def _list_grader_files(problem: Row) -> Iterator[tuple[str, str]]:
    """Yield names and contents of a row's graders. Files without content are ignored."""
    for grader_file in problem["grader_files"] or ():
        name, content = (
            (grader_file["name"], grader_file["content"]) if isinstance(grader_file, Mapping) else grader_file
        )
        if content:
            yield name, content


def _make_text_file(name: str, content: str) -> dict[str, str]:
    return {"name": name, "content": content}


async def score_single_test_case(
    client: ClassicClient, subtask: Row, test_name: str, test_input: str, test_output: str, submission: str
) -> TestResult:
    """Return the result of one test.

    Args:
        client: The client that executes jobs.
        subtask: A row of `open-r1/ioi`.
        test_name: The test's name, for the result and for messages.
        test_input: The content of the input.
        test_output: The content of the expected output; empty if there is none.
        submission: The program.

    Raises:
        JudgeFailure: The test cannot be judged, or its score is not a number in [0, 1].
    """
    score, feedback = await run_submission(client, subtask, test_input, submission, test_output)
    result = classic_result(test_name, score, feedback)
    return TestResult(test_name, result.score, result.status.value, feedback)


# --- subtasks ----------------------------------------------------------------------------------------


def batched(iterable: Iterable[T], n: int) -> Iterator[list[T]]:
    """Yield lists of `n` items, the last one maybe shorter. If `n` is below 1, yield one list of all."""
    items = iter(iterable)
    while batch := list(islice(items, n) if n >= 1 else items):
        yield batch


async def score_subtask(
    client: ClassicClient,
    subtask: Row,
    submission: str,
    test_case_run_cache: dict[str, TestResult] | None = None,
    test_batch_size: int = 1,
) -> SubtaskResult:
    """Return the result of a subtask. Its tests run until one has a score of 0.

    Tests are in `subtask["test_cases"]`, pairs of input and output by name or in the order of `test_names`.
    If it is missing, they come from the published dataset.

    Args:
        client: The client that executes jobs.
        subtask: A row of `open-r1/ioi`.
        submission: The program.
        test_case_run_cache: Results by the tests' names. It is read and extended.
        test_batch_size: The number of tests that run at the same time; -1 for all.

    Raises:
        JudgeFailure: A test cannot be judged.
    """
    cache = test_case_run_cache if test_case_run_cache is not None else {}
    test_names: Sequence[str] = subtask["test_names"]
    if submission and not _has_failed_test(cache, test_names):
        cases = await _load_cases(subtask)
        for batch_names in batched([name for name in test_names if name not in cache], test_batch_size):
            test_runs = (
                score_single_test_case(client, subtask, name, *cases[name], submission)
                for name in batch_names
            )
            cache.update(zip(batch_names, await gather_results(test_runs), strict=True))
            if _has_failed_test(cache, batch_names):
                break
    return SubtaskResult(
        problem=subtask["id"],
        subtask=subtask["subtask"],
        points=subtask["score"],
        score_precision=subtask["score_precision"],
        test_results=[cache.get(name) or TestResult(name) for name in test_names],
    )


def _has_failed_test(cache: Mapping[str, TestResult], names: Sequence[str]) -> bool:
    """Return True if a test has run with a score of 0."""
    return any(cache[name].score == 0 for name in names if name in cache and cache[name].status != "SKIPPED")


async def _load_cases(subtask: Row) -> Mapping[str, tuple[str, str]]:
    """Return input and output of the subtask's tests, by name."""
    cases = subtask.get("test_cases")
    if cases is None:
        return await asyncio.to_thread(load_ioi_tests, subtask["year"], subtask["id"])
    cases_by_name = (
        cases if isinstance(cases, Mapping) else dict(zip(subtask["test_names"], cases, strict=True))
    )
    missing_tests = [name for name in subtask["test_names"] if name not in cases_by_name]
    if missing_tests:
        raise InputError(
            f"the problem has no test {missing_tests[0]!r}", where=subtask["id"], field="test_cases"
        )
    return {name: (cases_by_name[name][0], cases_by_name[name][1]) for name in subtask["test_names"]}


async def score_subtasks(
    client: ClassicClient,
    subtasks: Sequence[Row],
    submission: str,
    skip_mode: bool | int = True,
    test_batch_size: int | None = None,
) -> list[SubtaskResult]:
    """Return the result of each subtask. A test of several subtasks runs once.

    Args:
        client: The client that executes jobs.
        subtasks: Rows of `open-r1/ioi`.
        submission: The program.
        skip_mode: True runs one test at a time until one has a score of 0; False runs all tests of a subtask
            at once. Some callers pass `test_batch_size` here.
        test_batch_size: The number of tests that run at the same time; -1 for all. None for `skip_mode`.
    """
    cache: dict[str, TestResult] = {}
    if test_batch_size is None and not isinstance(skip_mode, bool):
        test_batch_size = skip_mode
    batch_size = (1 if skip_mode else -1) if test_batch_size is None else test_batch_size
    return [await score_subtask(client, subtask, submission, cache, batch_size) for subtask in subtasks]


# --- repairs -----------------------------------------------------------------------------------------


_ALL_REPAIRS = CodeRepairs(add_includes=True, add_header=True, add_namespace=True)

# Python code for the start of programs: it restores names that newer Python versions have removed, and allows
# converting long integers to strings.
_OLDER_PYTHONS = """\
import collections, collections.abc, fractions, math, sys, time
fractions.gcd = math.gcd
time.clock = time.perf_counter
for name in collections.abc.__all__: setattr(collections, name, getattr(collections.abc, name))
if hasattr(sys, "set_int_max_str_digits"): sys.set_int_max_str_digits(0)
del collections, fractions, math, sys, time, name
"""


def add_includes(code: str, problem_id: str) -> str:
    """Return the code with bits/stdc++.h, the problem's header and `using namespace std;`, if missing."""
    return _add_missing_includes(code, _make_problem_with_files(problem_id, [f"graders/{problem_id}.h"]))


def _make_problem_with_files(problem_id: str, file_names: Iterable[str]) -> Problem:
    """Return a problem with empty grader files of these names."""
    files = (NamedBlob(name=name, content=Blob.of("")) for name in file_names)
    return Problem(id=problem_id, grader_files=tuple(files))


def patch_code(text: str, lang: str) -> str:
    """Return the program with additions for current compilers and interpreters of C++ and Python.

    Programs in other languages are returned unchanged.
    """
    patch_program = _find_patch_function(lang)
    return patch_program(text) if text and patch_program is not None else text


_patched = patch_code  # second name of the function, for functions that have a parameter `patch_code`


def is_patchable(lang: str) -> bool:
    """Return True if `patch_code` may change programs in this language."""
    return _find_patch_function(lang) is not None


def _find_patch_function(lang: str) -> Callable[[str], str] | None:
    """Return the function that changes programs in a language, or None."""
    try:
        language = find_language(lang) if lang else None
    except InputError:
        return None
    if language is None:
        return None
    if language.header:
        return fix_cpp_includes
    return fix_python3_imports if language.syntax == "python" else None


def fix_cpp_includes(source_code: str) -> str:
    """Return the program with bits/stdc++.h and `using namespace std;`, if they are missing."""
    return _add_missing_includes(source_code, Problem(id="patched"))


def _add_missing_includes(code: str, problem: Problem) -> str:
    return repair(code, problem, find_language("c++"), _ALL_REPAIRS)[0] if code else code


def fix_python3_imports(source_code: str) -> str:
    """Return the program with code that restores names which newer Pythons have removed.

    The code is added after the docstring and `__future__` imports. Programs with syntax errors are unchanged.
    """
    code = source_code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    header_line_count = 0
    for statement in statements:
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (is_future or is_docstring):
            break
        header_line_count = statement.end_lineno or header_line_count
    source_lines = code.splitlines(keepends=True)
    header, body_code = "".join(source_lines[:header_line_count]), "".join(source_lines[header_line_count:])
    return header + ("\n" if header and not header.endswith("\n") else "") + _OLDER_PYTHONS + body_code


# --- clients of clusters, and tests that open-r1 published -------------------------------------------


class PistonClient(ClusterClient):
    """A client for Piston servers. The argument `session` is not used."""

    def __init__(
        self,
        base_endpoint: str | Sequence[str],
        session: object = None,
        max_requests_per_endpoint: int = 1,
    ) -> None:
        urls = [base_endpoint] if isinstance(base_endpoint, str) else base_endpoint
        if not urls:
            raise InputError("base_endpoint contains no address of a server", field="base_endpoint")
        self._initialize_for_servers(
            EngineChoice.from_variables(",".join(urls), os.environ, per_endpoint=max_requests_per_endpoint)
        )

    @classmethod
    def from_engine_choice(cls, engine_choice: EngineChoice) -> Self:
        """Return a client for the servers in `engine_choice`, the settings of an engine."""
        client = cls.__new__(cls)
        client._initialize_for_servers(engine_choice)
        return client

    def _initialize_for_servers(self, engine_choice: EngineChoice) -> None:
        """Initialize this client with the servers in `engine_choice`."""
        self._choice = engine_choice
        super().__init__(partial(create_piston_engine, engine_choice))

    async def get_supported_runtimes(self) -> list[Any]:
        """Return the runtimes of each server. Raise JudgeFailure if a server does not reply."""
        from ioi_eval.engines.piston.sending import API

        return await self._ask_all_servers(
            lambda wire, url: wire.ask("GET", url, f"{API}/runtimes", _REPLY_TIMEOUT_S)
        )

    async def install_package(self, language: str, version: str) -> list[Any]:
        """Install a package of Piston on each server. Raise JudgeFailure if a server refuses."""
        from ioi_eval.engines.piston.sending import API, Request

        request = Request(body=msgspec.json.encode({"language": language, "version": version}))
        path = f"{API}/packages"
        return await self._ask_all_servers(
            lambda wire, url: wire.ask("POST", url, path, _INSTALL_TIMEOUT_S, request)
        )

    async def _ask_all_servers(
        self, send_request: Callable[[HttpClient, str], Coroutine[Any, Any, Answer]]
    ) -> list[Any]:
        """Return the replies of all servers to the request that `send_request` sends."""
        from ioi_eval import discovery
        from ioi_eval.engines.piston.sending import HttpClient

        async def ask_server(wire: HttpClient, url: str) -> Any:
            try:
                response = await send_request(wire, url)
                reply = msgspec.json.decode(response.body)
            except EngineError as error:
                raise JudgeFailure(str(error), phase=_PHASE) from error
            except ValueError as error:
                raise JudgeFailure(f"{url} does not reply like a Piston server", phase=_PHASE) from error
            if response.status != HTTPStatus.OK:
                message = reply.get("message", reply) if isinstance(reply, Mapping) else reply
                raise JudgeFailure(f"{url} refused the job: {message!s:.500}", phase=_PHASE)
            return reply

        servers = self._choice.launch.select_process_servers(discovery(self._choice.text))
        async with HttpClient(token=self._choice.token) as http_client:
            return await gather_results(
                [ask_server(http_client, url) for url in sorted(await servers.find())]
            )


def get_piston_client_from_env(session: object = None) -> PistonClient:
    """Return a client for the servers in PISTON_ENDPOINTS (a list, `slurm`, `k8s:SERVICE`, `@FILE`).

    PISTON_MAX_REQUESTS_PER_ENDPOINT is the maximum number of jobs at a time on a server, by default 1. Under
    a launcher that sets WORLD_SIZE, each process uses its share of the servers. `session` is not used.
    """
    choice = EngineChoice.from_variables(None, os.environ)
    if not choice.is_remote:
        remedy = "Set the variable to addresses of servers, separated by commas, or to `slurm`"
        raise InputError("the environment variable PISTON_ENDPOINTS is not set", remedy=remedy)
    return PistonClient.from_engine_choice(
        msgspec.structs.replace(choice, per_endpoint=choice.per_endpoint or 1)
    )


def get_slurm_piston_endpoints() -> list[str]:
    """Return the addresses, `http://HOST:PORT/api/v2`, of running Slurm jobs named piston-worker-PORT."""
    from ioi_eval import discovery

    return [f"{url}/api/v2" for url in sorted(_run_in_thread(discovery("slurm").find()))]


def _run_in_thread(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in another thread, because the caller may have a running event loop.

    An interruption cancels the coroutine.
    """
    from ioi_eval.integrations.runtime import wait_for_result

    loop = asyncio.new_event_loop()
    task = loop.create_task(coroutine)

    async def wait_for_task() -> T:
        return await task

    def run() -> T:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(wait_for_task())

    with ThreadPoolExecutor(1) as executor:
        try:
            return wait_for_result(executor.submit(run))
        except BaseException:
            with suppress(RuntimeError):  # the event loop is closed because its work is done
                loop.call_soon_threadsafe(task.cancel)
            raise


def load_ioi_tests(year: int, problem_id: str) -> Mapping[str, tuple[str, str]]:
    """Return input and output of all tests of a problem in the published dataset, by name."""
    return _read_inputs_and_outputs(
        _load_published_problems(year, frozenset({problem_id})).find(problem_id, int(year))
    )


def load_ioi_tests_for_year(year: int) -> dict[str, Mapping[str, tuple[str, str]]]:
    """Return input and output of all tests of all problems of a year, by the problems' ids."""
    return {
        problem.id: _read_inputs_and_outputs(problem) for problem in _load_published_problems(year).values()
    }


def _load_published_problems(year: int, problem_ids: frozenset[str] = frozenset()) -> Problems:
    """Return the problems of a year in the published dataset, or only the problems with these ids."""
    from ioi_eval.integrations.runtime import open_environment_store
    from ioi_eval.runs import BenchmarkOptions
    from ioi_eval.sources import open_problems

    options = BenchmarkOptions(years=frozenset({int(year)}), problems=problem_ids)
    return open_problems("ioi", options, open_environment_store())


def _read_inputs_and_outputs(problem: Problem) -> Mapping[str, tuple[str, str]]:
    """Return input and output of a problem's tests, by name."""
    return {
        test.name: (test.input.read().decode(), test.answer.read().decode() if test.answer else "")
        for test in problem.tests
    }


# --- rewards -----------------------------------------------------------------------------------------


Completion = str | Sequence[Mapping[str, Any]]
FormatReward = Callable[..., list[float]]

_MIN_PASSED = 0.99  # minimum share of passed tests that counts as all tests
# Types of errors that a row with wrong values may raise.
_ROW_ERRORS = (KeyError, TypeError, ValueError, AttributeError)


def code_reward(
    completions: Sequence[Completion], *, verification_info: Sequence[Mapping[str, Any]], **others: Any
) -> list[float | None]:
    """Return the share of the tests that each completion passes, or None if it cannot be judged.

    Args:
        completions: The completions.
        verification_info: Objects with `test_cases` and `language`, one for each completion.
        others: Options for other services, such as `provider_type` and `num_parallel`. They are ignored.
    """
    # Imported here, because the import loads the judge, which callers with their own client do not need.
    from ioi_eval.integrations.trl import make_reward

    # None if no row has verification info.
    verification_infos = None if verification_info is None else list(verification_info)
    return make_reward()(completions=completions, verification_info=verification_infos)


def binary_code_reward(completions: Sequence[Completion], **columns: Any) -> list[float | None]:
    """Return 1 for completions that pass all tests, else 0, or None if a completion cannot be judged."""
    shares = code_reward(completions, **columns)
    return [None if share is None else float(share > _MIN_PASSED) for share in shares]


def get_code_format_reward(language: str = "python") -> FormatReward:
    """Return a reward function for the format of replies.

    The reward is 1 for a reply with `<think>` and `<answer>`, and a block in the language in the answer.
    """

    def code_format_reward(completions: Sequence[Completion], **columns: Any) -> list[float]:
        """Return the rewards. A column `language` replaces the language."""
        from ioi_eval.integrations.rewards import reply_text

        languages = columns.get("language") or [language] * len(completions)
        completions_and_languages = zip(completions, languages, strict=True)
        return [
            float(_follows_reply_format(reply_text(completion), reply_language))
            for completion, reply_language in completions_and_languages
        ]

    return code_format_reward


def _follows_reply_format(text: str, language: str) -> bool:
    """Return True if a reply has the required parts in their order.

    A regular expression would take hours for long replies.
    """
    if not text.startswith("<think>\n"):
        return False
    position = 0
    for required_text in ("<think>\n", "\n</think>\n<answer>\n", f"```{language}", "```"):
        mark_start = text.find(required_text, position)
        if mark_start < 0:
            return False
        position = mark_start + len(required_text)
    return "\n</answer>\n" in text[position:] + "\n"


# --- rewards from the servers in PISTON_ENDPOINTS ----------------------------------------------------


def extract_code(completion: str, language: str | None = "python") -> str:
    """Return the last block that is fenced with exactly this language, or an empty string."""
    fenced_blocks = (
        re.findall(rf"```{re.escape(language)}\n(.*?)```", completion, re.DOTALL) if language else []
    )
    return fenced_blocks[-1] if fenced_blocks else ""


def ioi_code_reward(
    completions: Sequence[Completion],
    test_batch_size: int = 1,
    provider_type: str = "piston",
    **columns: Any,
) -> list[float | None]:
    """Return the lowest score of the tests of each row, or None if it cannot be judged.

    Args:
        completions: The completions.
        test_batch_size: The number of tests that run at the same time; -1 for all.
        provider_type: Must be `piston`.
        columns: The columns of `open-r1/ioi`.
    """
    if provider_type != "piston":
        message = f"there is no client for {provider_type!r}"
        remedy = "Set provider_type to piston, or call score_subtask with a SandboxClient"
        raise InputError(message, field="provider_type", remedy=remedy)
    client = get_piston_client_from_env()

    async def compute_reward(text: str, row: Row) -> float:
        problem = _make_problem_with_files(row["id"], (name for name, _ in _list_grader_files(row)))
        code = _add_missing_includes(extract_code(text, "cpp"), problem)
        return (await score_subtask(client, row, code, test_batch_size=test_batch_size)).score

    return _compute_rewards(
        client, compute_reward, completions, columns, required_columns=("id", "test_names")
    )


def cf_code_reward(
    completions: Sequence[Completion],
    test_batch_size: int = 1,
    patch_code: bool = False,
    scoring_mode: ScoringMode = "weighted_sum",
    **columns: Any,
) -> list[float | None]:
    """Return the result of `score_submission` for each row, or None if it cannot be judged.

    Args:
        completions: The completions.
        test_batch_size: The number of tests that run at the same time; -1 for all.
        patch_code: Change programs with the function `patch_code` first.
        scoring_mode: How passed tests become a score.
        columns: The columns of `open-r1/codeforces`.
    """
    client = get_piston_client_from_env()

    async def compute_reward(text: str, row: Row) -> float | None:
        language = row["language"]
        code = extract_code(text, language)
        return await score_submission(
            client,
            row,
            _patched(code, language) if patch_code else code,
            test_batch_size=test_batch_size,
            scoring_mode=scoring_mode,
            submission_language=language,
        )

    return _compute_rewards(
        client, compute_reward, completions, columns, required_columns=("language", "time_limit")
    )


def _compute_rewards(
    client: ClusterClient,
    compute_reward: Callable[[str, Row], Coroutine[Any, Any, float | None]],
    completions: Sequence[Completion],
    columns: Mapping[str, Any],
    required_columns: Sequence[str],
) -> list[float | None]:
    """Return the rewards of all rows, which are judged at the same time.

    A row that cannot be read or judged has the reward None, so that the training continues.
    """
    from ioi_eval.integrations.rewards import make_rows, reply_text

    for missing_column in (name for name in required_columns if name not in columns):
        raise InputError(f"the dataset has no column {missing_column!r}", field=missing_column)

    async def compute_reward_or_none(completion: Completion, row: Row) -> float | None:
        try:
            return await compute_reward(reply_text(completion), row)
        except IoiEvalError as error:
            count_unjudged(error)
        except _ROW_ERRORS as error:
            count_unjudged(InputError(f"the row cannot be read: {error!r:.200}"))
        return None

    async def compute_all_rewards() -> list[float | None]:
        async with client:
            completions_and_rows = zip(completions, make_rows(columns, len(completions)), strict=True)
            return await gather_results(
                compute_reward_or_none(completion, row.values) for completion, row in completions_and_rows
            )

    return _run_in_thread(compute_all_rewards())


# --- rows of open-r1/codeforces ----------------------------------------------------------------------


ScoringMode = Literal["pass_fail", "partial", "weighted_sum"]

_MODES = ("pass_fail", "partial", "weighted_sum")
_SPARE_CODEFORCES_S = 10  # seconds that the contract of Codeforces jobs adds to the time limit
_PARTIAL_WEIGHT = 0.1
# Suffix of the source file's name, and name of Piston's package, by language.
_LANGUAGES = {"c++": ("cpp", "c++17"), "python": ("python", "cf_python3")}


async def get_generated_contest_tests(contest_id: str) -> dict[str, list[dict[str, str]]]:
    """Return the generated tests of a contest of `open-r1/codeforces`, by problem.

    Each test has `input` and `output`. They are read from `test_cases_NNNN.parquet` in the folder that the
    environment variable CF_TESTS_FOLDER names. Without such a file there are none.
    """
    return await asyncio.to_thread(_load_contest_tests_by_problem, str(contest_id))


def _load_contest_tests_by_problem(contest_id: str) -> dict[str, list[dict[str, str]]]:
    """Read the generated tests of a contest, by problem."""
    from ioi_eval.benchmarks.parquet import read_batches

    folder = os.environ.get("CF_TESTS_FOLDER", "").strip()
    remedy = "Download the generated tests of open-r1/codeforces, and set the variable to their folder"
    if not folder:
        raise InputError("the environment variable is not set", where="CF_TESTS_FOLDER", remedy=remedy)
    if not Path(folder).is_dir():
        raise InputError(f"the folder {folder} does not exist", where="CF_TESTS_FOLDER", remedy=remedy)
    if not contest_id.isdecimal():
        raise InputError(f"{contest_id!r} is not a contest number", field="contest_id")
    path = Path(folder, f"test_cases_{contest_id:0>4}.parquet")
    tests: dict[str, list[dict[str, str]]] = {}
    if not path.exists():
        return tests
    try:
        for batch in read_batches(path, ["problem_id", "input", "output"]):
            for row in batch.to_pylist():
                test = {"input": row["input"], "output": row["output"]}
                tests.setdefault(row["problem_id"], []).append(test)
    except InputError:
        raise
    except KeyError as error:
        column = error.args[0]
        raise InputError(f"the file has no column {column!r}", where=str(path), field=column) from error
    except (OSError, ValueError) as error:
        raise InputError(f"the file cannot be read: {error}", where=str(path), remedy=remedy) from error
    return tests


async def get_generated_tests(problem_id: str) -> list[dict[str, str]]:
    """Return the generated tests of a problem such as `1234/A`; see `get_generated_contest_tests`."""
    return (await get_generated_contest_tests(problem_id.partition("/")[0])).get(problem_id, [])


async def score_submission(
    client: ClassicClient,
    problem_data: Row,
    submission: str | None,
    test_batch_size: int = 1,
    scoring_mode: ScoringMode = "weighted_sum",
    no_compile_reward: float = -0.1,
    no_submission_reward: float = -1.0,
    submission_language: str = "cpp",
) -> float | None:
    """Return the reward of a submission, or None for a problem without tests.

    Args:
        client: The client that executes jobs.
        problem_data: A row of `open-r1/codeforces`.
        submission: The program.
        test_batch_size: The number of tests that run at the same time; -1 for all.
        scoring_mode: How passed tests become a reward.
        no_compile_reward: The reward of a program that does not compile.
        no_submission_reward: The reward of a missing program.
        submission_language: `cpp` or `python`.

    Raises:
        InputError: The language is neither C++ nor Python.
        JudgeFailure: A test cannot be judged.
    """
    if scoring_mode not in _MODES:
        raise ValueError(f"Invalid scoring mode: {scoring_mode}")
    if find_language(submission_language).name not in _LANGUAGES:
        message = f"programs in {submission_language!r} cannot be judged"
        raise InputError(message, field="language", remedy="Set the language to cpp or python")
    tests = [*(problem_data.get("official_tests") or ()), *await _load_generated_tests(problem_data)]
    if not tests:
        return None
    if not submission:
        return no_submission_reward
    passed_tests = 0
    for batch in batched(tests, test_batch_size):
        results = await gather_results(
            _run_test(client, problem_data, test, submission, submission_language) for test in batch
        )
        if any(result.compile is not None and result.compile.code != 0 for result in results):
            return no_compile_reward
        batch_passed = sum(result.run.code == 0 and result.run.stdout.strip() == "1" for result in results)
        passed_tests += batch_passed
        if scoring_mode == "pass_fail" and batch_passed < len(batch):
            break
    passed_share, full_score = passed_tests / len(tests), float(passed_tests == len(tests))
    if scoring_mode == "weighted_sum":
        return full_score + _PARTIAL_WEIGHT * passed_share
    return full_score if scoring_mode == "pass_fail" else passed_share


async def _load_generated_tests(problem: Row) -> Sequence[Row]:
    """Return the generated tests in the row or, if it has none, the tests in CF_TESTS_FOLDER."""
    tests = problem.get("generated_tests")
    if isinstance(tests, int) and tests > 0:
        return await get_generated_tests(problem["id"])
    if tests is None and problem.get("id") and os.environ.get("CF_TESTS_FOLDER", "").strip():
        return await get_generated_tests(problem["id"])
    return tests or ()


async def _run_test(
    client: ClassicClient, problem: Row, test: Row, submission: str, language: str
) -> JobResult:
    """Run one test and return the result of its job."""
    suffix, package = _LANGUAGES[find_language(language).name]
    data = {
        "files": list(_list_codeforces_files(problem, test, f"main.{suffix}", submission)),
        "run_timeout": round((problem["time_limit"] + _SPARE_CODEFORCES_S) * 1000),
    }
    return decode_client_reply(await client.send_execute(data, language=package))


def _list_codeforces_files(
    problem: Row, test: Row, source_name: str, submission: str
) -> Iterator[dict[str, str]]:
    """Yield the files of a job: submission, checker, input, expected output and limits."""
    yield _make_text_file(source_name, submission)
    if problem.get("generated_checker"):
        yield _make_text_file("checker.py", problem["generated_checker"])
    yield _make_text_file("input.txt", test["input"])
    yield _make_text_file("correct_output.txt", test["output"])
    column_names = {"TIME_LIMIT": "time_limit", "MEMORY_LIMIT": "memory_limit", "INPUT_MODE": "input_mode"}
    yield _make_text_file(
        "grader_config",
        "\n".join(f"{key}={problem[column]}" for key, column in column_names.items()),
    )
