"""The functions of today's pipelines, with their names, arguments and results, over any client.

    from ioi_eval.integrations.open_r1 import get_piston_client_from_env, score_subtask

What cannot be judged raises JudgeFailure and is never a score of 0. docs/open_r1.md has the differences.
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
from ioi_eval.engines.registry import EngineChoice, piston_engine
from ioi_eval.errors import EngineError, InputError, IoiEvalError, JudgeFailure
from ioi_eval.integrations.classic_clients import (
    ClassicClient,
    ClusterClient,
    EngineClient,
    Sandbox,
    SandboxClient,
    SandboxJob,
    result_of,
)
from ioi_eval.integrations.misses import note, together
from ioi_eval.models import Blob, JobResult, NamedBlob, Problem, Verdict
from ioi_eval.runs import Repairs
from ioi_eval.scoring import find_language, repair, worst

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

PistonError = JudgeFailure  # who catches theirs catches what our clients raise

_ASKING = "asking a server"
_ANSWER, _INSTALLED = 30.0, 1800.0  # seconds: a package is fetched first
_MORE_TIME = 3  # seconds that the contract adds for the job


Row = Mapping[str, Any]
T = TypeVar("T")


@dataclass
class TestResult:
    """A test's outcome."""

    __test__ = False

    test_name: str
    score: float = 0.0
    status: str = "SKIPPED"
    feedback: str | None = None


@dataclass
class SubtaskResult:
    """The outcomes of a subtask's tests, and their worth."""

    problem: str | None = None
    subtask: str | None = None
    points: float = 0.0
    score_precision: int = 2
    test_results: list[TestResult] = field(default_factory=list)

    @property
    def status(self) -> str:
        return worst(Verdict(result.status) for result in self.test_results).value

    @property
    def score(self) -> float:
        return round(self._lowest(), self.score_precision)

    @property
    def weighted_score(self) -> float:
        return round(self._lowest() * self.points, self.score_precision)

    def _lowest(self) -> float:
        return min((result.score for result in self.test_results), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        names = ("problem", "subtask", "score", "weighted_score", "points", "score_precision", "status")
        return {
            **{name: getattr(self, name) for name in names},
            "test_results": [asdict(result) for result in self.test_results],
        }


# --- one test ----------------------------------------------------------------------------------------


async def run_submission(
    client: ClassicClient, problem: Row, test_input: str, submission: str, test_output: str | None = None
) -> tuple[str, str]:
    """Score and feedback of one test, both as text."""
    data = {
        "files": list(_files(problem, test_input, submission, test_output)),
        "run_timeout": round((problem["time_limit"] + _MORE_TIME) * 1000),
        "run_memory_limit": problem["memory_limit"],
    }
    result = result_of(await client.send_execute(data))
    if may_be_judges_fault(result.compile, f"graders/{problem['id'].lower()}.cpp"):
        alone = data | {"files": list(_files(problem, test_input, "", test_output))}
        check_graders(result_of(await client.send_execute(alone)).compile)
    return classic_outcome(result)


async def execute_ioi(client: ClassicClient, data: dict[str, Any]) -> tuple[str, str]:
    """Return score and feedback of a job as the contract has it: files, `run_timeout`, `run_memory_limit`."""
    return classic_outcome(result_of(await client.send_execute(data)))


def _files(
    problem: Row, test_input: str, submission: str, test_output: str | None
) -> Iterator[dict[str, str]]:
    yield _text_file(f"graders/{problem['id'].lower()}.cpp", submission)
    yield _text_file("input.txt", test_input)
    if test_output:
        yield _text_file("correct_output.txt", test_output)
    for name, content in _grader_files(problem):
        yield _text_file(name, content)


def _grader_files(problem: Row) -> Iterator[tuple[str, str]]:
    for entry in problem["grader_files"] or ():
        name, content = (entry["name"], entry["content"]) if isinstance(entry, Mapping) else entry
        if content:
            yield name, content


def _text_file(name: str, content: str) -> dict[str, str]:
    return {"name": name, "content": content}


async def score_single_test_case(
    client: ClassicClient, subtask: Row, test_name: str, test_input: str, test_output: str, submission: str
) -> TestResult:
    """The result of one test. A score that is no number in [0, 1] is a JudgeFailure."""
    score, feedback = await run_submission(client, subtask, test_input, submission, test_output)
    result = classic_result(test_name, score, feedback)
    return TestResult(test_name, result.score, result.status.value, feedback)


# --- subtasks ----------------------------------------------------------------------------------------


def batched(iterable: Iterable[T], n: int) -> Iterator[list[T]]:
    """Yield lists of `n` items, the last maybe shorter; one list of all where `n` is not at least one."""
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
    """All tests of a row of `open-r1/ioi`, so many at the same time, until one has a score of 0.

    `test_batch_size`: -1 runs all at once. `test_case_run_cache` is read and added to. Tests come from
    `subtask["test_cases"]`, pairs of input and output by name or in the order of `test_names`, or from the
    published set.
    """
    cache = test_case_run_cache if test_case_run_cache is not None else {}
    names: Sequence[str] = subtask["test_names"]
    if submission and not _is_lost(cache, names):
        cases = await _cases(subtask)
        for batch in batched([name for name in names if name not in cache], test_batch_size):
            scoring = (
                score_single_test_case(client, subtask, name, *cases[name], submission) for name in batch
            )
            cache.update(zip(batch, await together(scoring), strict=True))
            if _is_lost(cache, batch):
                break
    return SubtaskResult(
        problem=subtask["id"],
        subtask=subtask["subtask"],
        points=subtask["score"],
        score_precision=subtask["score_precision"],
        test_results=[cache.get(name) or TestResult(name) for name in names],
    )


def _is_lost(cache: Mapping[str, TestResult], names: Sequence[str]) -> bool:
    return any(cache[name].score == 0 for name in names if name in cache and cache[name].status != "SKIPPED")


async def _cases(subtask: Row) -> Mapping[str, tuple[str, str]]:
    cases = subtask.get("test_cases")
    if cases is None:
        return await asyncio.to_thread(load_ioi_tests, subtask["year"], subtask["id"])
    named = cases if isinstance(cases, Mapping) else dict(zip(subtask["test_names"], cases, strict=True))
    missing = [name for name in subtask["test_names"] if name not in named]
    if missing:
        raise InputError(f"there is no test {missing[0]!r}", where=subtask["id"], field="test_cases")
    return {name: (named[name][0], named[name][1]) for name in subtask["test_names"]}


async def score_subtasks(
    client: ClassicClient,
    subtasks: Sequence[Row],
    submission: str,
    skip_mode: bool | int = True,
    test_batch_size: int | None = None,
) -> list[SubtaskResult]:
    """Score each subtask; shared tests run once.

    `skip_mode`: True runs test by test until one has a score of 0, False all tests of a subtask at once.
    `test_batch_size`: so many at the same time instead, -1 all; callers of some versions give it in the place
    of `skip_mode`.
    """
    cache: dict[str, TestResult] = {}
    if test_batch_size is None and not isinstance(skip_mode, bool):
        test_batch_size = skip_mode
    size = (1 if skip_mode else -1) if test_batch_size is None else test_batch_size
    return [await score_subtask(client, subtask, submission, cache, size) for subtask in subtasks]


# --- repairs -----------------------------------------------------------------------------------------


_ALL = Repairs(add_includes=True, add_header=True, add_namespace=True)

# Names that newer Pythons have no more, put back where code of older ones looks for them; and long integers
# may be printed.
_OLDER_PYTHONS = """\
import collections, collections.abc, fractions, math, sys, time
fractions.gcd = math.gcd
time.clock = time.perf_counter
for name in collections.abc.__all__: setattr(collections, name, getattr(collections.abc, name))
if hasattr(sys, "set_int_max_str_digits"): sys.set_int_max_str_digits(0)
del collections, fractions, math, sys, time, name
"""


def add_includes(code: str, problem_id: str) -> str:
    """The big header, the problem's own and `using namespace std;`, each where it is missing."""
    return _with_includes(code, _of_files(problem_id, [f"graders/{problem_id}.h"]))


def _of_files(problem_id: str, names: Iterable[str]) -> Problem:
    files = (NamedBlob(name=name, content=Blob.of("")) for name in names)
    return Problem(id=problem_id, grader_files=tuple(files))


def patch_code(text: str, lang: str) -> str:
    """Add what `text` lacks for today's compilers and interpreters; other languages stay as they are."""
    patch = _patch(lang)
    return patch(text) if text and patch is not None else text


_patched = patch_code  # where a parameter has its name


def is_patchable(lang: str) -> bool:
    """Tell whether `patch_code` looks at programs in a language."""
    return _patch(lang) is not None


def _patch(lang: str) -> Callable[[str], str] | None:
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
    """Add the big header and `using namespace std;`, each where it is missing."""
    return _with_includes(source_code, Problem(id="patched"))


def _with_includes(code: str, problem: Problem) -> str:
    return repair(code, problem, find_language("c++"), _ALL)[0] if code else code


def fix_python3_imports(source_code: str) -> str:
    """Put back the names that newer Pythons lack.

    The additions go where a program's first statement may: behind its docstring and __future__ imports.
    """
    text = source_code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    ahead = 0
    for statement in body:
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (is_future or is_text):
            break
        ahead = statement.end_lineno or ahead
    lines = text.splitlines(keepends=True)
    head = "".join(lines[:ahead])
    return head + ("\n" if head and not head.endswith("\n") else "") + _OLDER_PYTHONS + "".join(lines[ahead:])


# --- clusters and published tests --------------------------------------------------------------------


class PistonClient(ClusterClient):
    """A client for these servers. `session` is not needed and passed over."""

    def __init__(
        self,
        base_endpoint: str | Sequence[str],
        session: object = None,
        max_requests_per_endpoint: int = 1,
    ) -> None:
        urls = [base_endpoint] if isinstance(base_endpoint, str) else base_endpoint
        if not urls:
            raise InputError("it holds no address of a server", where="base_endpoint")
        self._use(EngineChoice.meant(",".join(urls), os.environ, per_endpoint=max_requests_per_endpoint))

    @classmethod
    def of(cls, choice: EngineChoice) -> Self:
        """Return a client for the servers of a choice."""
        client = cls.__new__(cls)
        client._use(choice)
        return client

    def _use(self, choice: EngineChoice) -> None:
        self._choice = choice
        super().__init__(partial(piston_engine, choice))

    async def get_supported_runtimes(self) -> list[Any]:
        """Return what each server says of its runtimes. JudgeFailure where one says nothing."""
        from ioi_eval.engines.piston.sending import API

        return await self._ask_all(lambda wire, url: wire.ask("GET", url, f"{API}/runtimes", _ANSWER))

    async def install_package(self, language: str, version: str) -> list[Any]:
        """Let each server install a package of Piston. JudgeFailure where one refuses."""
        from ioi_eval.engines.piston.sending import API, Request

        request = Request(body=msgspec.json.encode({"language": language, "version": version}))
        path = f"{API}/packages"
        return await self._ask_all(lambda wire, url: wire.ask("POST", url, path, _INSTALLED, request))

    async def _ask_all(self, ask: Callable[[HttpClient, str], Coroutine[Any, Any, Answer]]) -> list[Any]:
        from ioi_eval import discovery
        from ioi_eval.engines.piston.sending import HttpClient

        async def one(wire: HttpClient, url: str) -> Any:
            try:
                answer = await ask(wire, url)
                reply = msgspec.json.decode(answer.body)
            except EngineError as error:
                raise JudgeFailure(str(error), phase=_ASKING) from error
            except ValueError as error:
                raise JudgeFailure(f"{url} does not answer as Piston does", phase=_ASKING) from error
            if answer.status != HTTPStatus.OK:
                words = reply.get("message", reply) if isinstance(reply, Mapping) else reply
                raise JudgeFailure(f"{url} refuses: {words!s:.500}", phase=_ASKING)
            return reply

        servers = self._choice.launch.servers(discovery(self._choice.text))
        async with HttpClient(token=self._choice.token) as wire:
            return await together([one(wire, url) for url in sorted(await servers.find())])


def get_piston_client_from_env(session: object = None) -> PistonClient:
    """A client for the servers of PISTON_ENDPOINTS (a list, `slurm`, `k8s:SERVICE`, `@FILE`).

    PISTON_MAX_REQUESTS_PER_ENDPOINT bounds the jobs on each, one where it is not set. Under a launcher that
    sets WORLD_SIZE, each process takes its share of the servers. `session` is not needed and passed over.
    """
    choice = EngineChoice.meant(None, os.environ)
    if not choice.remote:
        remedy = "Set it to the addresses of servers, commas between them, or to `slurm`"
        raise InputError("PISTON_ENDPOINTS is not set", remedy=remedy)
    return PistonClient.of(msgspec.structs.replace(choice, per_endpoint=choice.per_endpoint or 1))


def get_slurm_piston_endpoints() -> list[str]:
    """The addresses of the running jobs named piston-worker-PORT, as `http://HOST:PORT/api/v2`."""
    from ioi_eval import discovery

    return [f"{url}/api/v2" for url in sorted(_aside(discovery("slurm").find()))]


def _aside(work: Coroutine[Any, Any, T]) -> T:
    """Wait for work in a thread: whoever calls may have an event loop running. Interrupted, cancel it."""
    from ioi_eval.integrations.runtime import outcome

    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    async def done() -> T:
        return await task

    def run() -> T:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(done())

    with ThreadPoolExecutor(1) as thread:
        try:
            return outcome(thread.submit(run))
        except BaseException:
            with suppress(RuntimeError):  # the loop is closed: it has ended by itself
                loop.call_soon_threadsafe(task.cancel)
            raise


def load_ioi_tests(year: int, problem_id: str) -> Mapping[str, tuple[str, str]]:
    """Input and output of every test of a problem, by name, from the published set."""
    return _texts(_published(year, frozenset({problem_id})).find(problem_id, int(year)))


def load_ioi_tests_for_year(year: int) -> dict[str, Mapping[str, tuple[str, str]]]:
    """The same of every problem of a year, by its id. They are all read at once."""
    return {problem.id: _texts(problem) for problem in _published(year).values()}


def _published(year: int, problems: frozenset[str] = frozenset()) -> Problems:
    from ioi_eval.integrations.runtime import own_store
    from ioi_eval.runs import BenchmarkOptions
    from ioi_eval.sources import open_problems

    options = BenchmarkOptions(years=frozenset({int(year)}), problems=problems)
    return open_problems("ioi", options, own_store())


def _texts(problem: Problem) -> Mapping[str, tuple[str, str]]:
    return {
        test.name: (test.input.read().decode(), test.answer.read().decode() if test.answer else "")
        for test in problem.tests
    }


# --- rewards -----------------------------------------------------------------------------------------


Completion = str | Sequence[Mapping[str, Any]]
FormatReward = Callable[..., list[float]]

_ALL_BUT_NOISE = 0.99  # of the tests: what counts as all of them
_BROKEN_ROW = (KeyError, TypeError, ValueError, AttributeError)


def code_reward(
    completions: Sequence[Completion], *, verification_info: Sequence[Mapping[str, Any]], **others: Any
) -> list[float | None]:
    """The share of the tests that each passes; None where the judge cannot say.

    A row of `verification_info` has `test_cases` and `language`; rows may differ in it. Options that choose
    another service (`provider_type`, `num_parallel` and the like) are passed over: it is judged by ours.
    """
    # It loads the judge, which those who bring a client of their own do not need.
    from ioi_eval.integrations.trl import make_reward

    infos = None if verification_info is None else list(verification_info)  # None: no row has any
    return make_reward()(completions=completions, verification_info=infos)


def binary_code_reward(completions: Sequence[Completion], **columns: Any) -> list[float | None]:
    """Return 1 where all tests are passed, else 0; None where the judge cannot say."""
    shares = code_reward(completions, **columns)
    return [None if share is None else float(share > _ALL_BUT_NOISE) for share in shares]


def get_code_format_reward(language: str = "python") -> FormatReward:
    """A reward of 1 for thoughts and an answer in their tags, with a fenced block of the language in it."""

    def code_format_reward(completions: Sequence[Completion], **columns: Any) -> list[float]:
        """A column `language` says another language for each row."""
        from ioi_eval.integrations.rewards import text_of

        languages = columns.get("language") or [language] * len(completions)
        pairs = zip(completions, languages, strict=True)
        return [float(_has_format(text_of(completion), wanted)) for completion, wanted in pairs]

    return code_format_reward


def _has_format(text: str, language: str) -> bool:
    """Return True if each mark stands behind the one before. As a pattern, this takes hours on long texts."""
    if not text.startswith("<think>\n"):
        return False
    at = 0
    for mark in ("<think>\n", "\n</think>\n<answer>\n", f"```{language}", "```"):
        found = text.find(mark, at)
        if found < 0:
            return False
        at = found + len(mark)
    return "\n</answer>\n" in text[at:] + "\n"


# --- over the servers of PISTON_ENDPOINTS ------------------------------------------------------------


def extract_code(completion: str, language: str | None = "python") -> str:
    """The last block that is fenced as exactly that language; empty where there is none."""
    found = re.findall(rf"```{re.escape(language)}\n(.*?)```", completion, re.DOTALL) if language else []
    return found[-1] if found else ""


def ioi_code_reward(
    completions: Sequence[Completion],
    test_batch_size: int = 1,
    provider_type: str = "piston",
    **columns: Any,
) -> list[float | None]:
    """The lowest score of the tests of each row of `open-r1/ioi`; None where the judge cannot say.

    `provider_type`: InputError for another one than piston.
    """
    if provider_type != "piston":
        problem = f"there is no client for {provider_type!r}"
        remedy = "Give piston, or give score_subtask a SandboxClient with a function that asks it"
        raise InputError(problem, field="provider_type", remedy=remedy)
    client = get_piston_client_from_env()

    async def worth(text: str, row: Row) -> float:
        named = _of_files(row["id"], (name for name, _ in _grader_files(row)))
        code = _with_includes(extract_code(text, "cpp"), named)
        return (await score_subtask(client, row, code, test_batch_size=test_batch_size)).score

    return _each(client, worth, completions, columns, needed=("id", "test_names"))


def cf_code_reward(
    completions: Sequence[Completion],
    test_batch_size: int = 1,
    patch_code: bool = False,
    scoring_mode: ScoringMode = "weighted_sum",
    **columns: Any,
) -> list[float | None]:
    """Return `score_submission` of each row of `open-r1/codeforces`; None where the judge cannot say."""
    client = get_piston_client_from_env()

    async def worth(text: str, row: Row) -> float | None:
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

    return _each(client, worth, completions, columns, needed=("language", "time_limit"))


def _each(
    client: ClusterClient,
    worth: Callable[[str, Row], Coroutine[Any, Any, float | None]],
    completions: Sequence[Completion],
    columns: Mapping[str, Any],
    needed: Sequence[str],
) -> list[float | None]:
    """All rows at once. A row that cannot be read or judged stops no training."""
    from ioi_eval.integrations.rewards import rows, text_of

    for missing in (name for name in needed if name not in columns):
        raise InputError("the dataset has no such column", field=missing)

    async def one(completion: Completion, row: Row) -> float | None:
        try:
            return await worth(text_of(completion), row)
        except IoiEvalError as error:
            note(error)
        except _BROKEN_ROW as error:
            note(InputError(f"the row cannot be read: {error!r:.200}"))
        return None

    async def all_of_them() -> list[float | None]:
        async with client:
            given = zip(completions, rows(columns, len(completions)), strict=True)
            return await together(one(completion, row.values) for completion, row in given)

    return _aside(all_of_them())


# --- rows of open-r1/codeforces ----------------------------------------------------------------------


ScoringMode = Literal["pass_fail", "partial", "weighted_sum"]

_MODES = ("pass_fail", "partial", "weighted_sum")
_MORE_TIME_CODEFORCES = 10  # seconds that the contract adds for the job
_PARTIAL_WEIGHT = 0.1
# By a language's name: how the source's name ends, and the package that it runs in.
_SPOKEN = {"c++": ("cpp", "c++17"), "python": ("python", "cf_python3")}


async def get_generated_contest_tests(contest_id: str) -> dict[str, list[dict[str, str]]]:
    """Return the generated tests of a contest of `open-r1/codeforces`, by problem: `input` and `output`.

    Read from `test_cases_NNNN.parquet` in the folder of CF_TESTS_FOLDER; none where that has no such file.
    """
    return await asyncio.to_thread(_tests_of, str(contest_id))


def _tests_of(contest: str) -> dict[str, list[dict[str, str]]]:
    from ioi_eval.benchmarks.parquet import batches

    folder = os.environ.get("CF_TESTS_FOLDER", "").strip()
    remedy = "Download the generated tests of open-r1/codeforces, and let it name their folder"
    if not folder:
        raise InputError("it is not set", where="CF_TESTS_FOLDER", remedy=remedy)
    if not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder}", where="CF_TESTS_FOLDER", remedy=remedy)
    if not contest.isdecimal():
        raise InputError(f"{contest!r} is no number of a contest", field="contest_id")
    path = Path(folder, f"test_cases_{contest:0>4}.parquet")
    found: dict[str, list[dict[str, str]]] = {}
    if not path.exists():
        return found
    try:
        for batch in batches(path, ["problem_id", "input", "output"]):
            for row in batch.to_pylist():
                test = {"input": row["input"], "output": row["output"]}
                found.setdefault(row["problem_id"], []).append(test)
    except InputError:
        raise
    except KeyError as error:
        raise InputError("there is no such column", where=str(path), field=error.args[0]) from error
    except (OSError, ValueError) as error:
        raise InputError(f"it cannot be read: {error}", where=str(path), remedy=remedy) from error
    return found


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
    """The reward of a submission. None for a problem without tests.

    `test_batch_size`: so many tests run at the same time, -1: all. `submission_language`: cpp or python;
    InputError for another one.
    """
    if scoring_mode not in _MODES:
        raise ValueError(f"Invalid scoring mode: {scoring_mode}")
    if find_language(submission_language).name not in _SPOKEN:
        problem = f"these jobs judge no {submission_language!r}"
        raise InputError(problem, field="language", remedy="Give cpp or python")
    tests = [*(problem_data.get("official_tests") or ()), *await _generated(problem_data)]
    if not tests:
        return None
    if not submission:
        return no_submission_reward
    passed = 0
    for batch in batched(tests, test_batch_size):
        results = await together(
            _run(client, problem_data, test, submission, submission_language) for test in batch
        )
        if any(result.compile is not None and result.compile.code != 0 for result in results):
            return no_compile_reward
        good = sum(result.run.code == 0 and result.run.stdout.strip() == "1" for result in results)
        passed += good
        if scoring_mode == "pass_fail" and good < len(batch):
            break
    share, whole = passed / len(tests), float(passed == len(tests))
    if scoring_mode == "weighted_sum":
        return whole + _PARTIAL_WEIGHT * share
    return whole if scoring_mode == "pass_fail" else share


async def _generated(problem: Row) -> Sequence[Row]:
    """Return a row's generated tests: its own; for a number of them, those of CF_TESTS_FOLDER."""
    tests = problem.get("generated_tests")
    if isinstance(tests, int) and tests > 0:
        return await get_generated_tests(problem["id"])
    if tests is None and problem.get("id") and os.environ.get("CF_TESTS_FOLDER", "").strip():
        return await get_generated_tests(problem["id"])
    return tests or ()


async def _run(client: ClassicClient, problem: Row, test: Row, submission: str, language: str) -> JobResult:
    ending, package = _SPOKEN[find_language(language).name]
    data = {
        "files": list(_codeforces_files(problem, test, f"main.{ending}", submission)),
        "run_timeout": round((problem["time_limit"] + _MORE_TIME_CODEFORCES) * 1000),
    }
    return result_of(await client.send_execute(data, language=package))


def _codeforces_files(problem: Row, test: Row, name: str, submission: str) -> Iterator[dict[str, str]]:
    yield _text_file(name, submission)
    if problem.get("generated_checker"):
        yield _text_file("checker.py", problem["generated_checker"])
    yield _text_file("input.txt", test["input"])
    yield _text_file("correct_output.txt", test["output"])
    names = {"TIME_LIMIT": "time_limit", "MEMORY_LIMIT": "memory_limit", "INPUT_MODE": "input_mode"}
    yield _text_file("grader_config", "\n".join(f"{key}={problem[name]}" for key, name in names.items()))
