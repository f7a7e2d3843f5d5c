"""All names of open-r1's pipelines exist, and the names that do not judge work."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from pyarrow import table
from pyarrow.parquet import write_table
from support.datasets import Problems
from support.engines import fake_capabilities
from support.stub_server import StubReply, StubRequest, StubServer, json_reply

from ioi_eval import Store
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.errors import InputError, JobRejected
from ioi_eval.integrations import open_r1
from ioi_eval.integrations.open_r1 import score_single_test_case
from ioi_eval.model.secret import Secret
from ioi_eval.models import Blob, Ending, Job, JobResult, Problem, Test
from ioi_eval.testing import FakeEngine

PROBLEM = {"id": "Sum", "grader_files": [], "time_limit": 1.5, "memory_limit": 1 << 28}


class Refusing:
    async def send_execute(self, data: dict[str, Any], language: str = "cms_ioi") -> dict[str, Any]:
        return {"message": "overloaded"}


# Names that the modules of `open_r1.utils.competitive_programming` export (huggingface/open-r1 at commit
# 83cb6e23a91c; names that read tests from a folder as in the fork alexmaraval/open-r1 at
# commit 05a63ca0172f), and all of `open_r1.rewards` that is about code. Tests use no other names.
THEIRS = {
    "batched",
    "execute_ioi",
    "fix_cpp_includes",
    "fix_python3_imports",
    "get_generated_contest_tests",
    "get_generated_tests",
    "is_patchable",
    "run_submission",
    "score_single_test_case",
    "TestResult",
    "PistonClient",
    "PistonError",
    "SubtaskResult",
    "add_includes",
    "binary_code_reward",
    "cf_code_reward",
    "code_reward",
    "extract_code",
    "get_code_format_reward",
    "get_piston_client_from_env",
    "get_slurm_piston_endpoints",
    "ioi_code_reward",
    "load_ioi_tests",
    "load_ioi_tests_for_year",
    "patch_code",
    "score_submission",
    "score_subtask",
    "score_subtasks",
}


def test_open_r1_names_are_all_provided() -> None:
    assert set(open_r1.__all__) >= THEIRS
    assert all(callable(getattr(open_r1, name)) for name in open_r1.__all__)


def test_open_r1_client_methods_are_all_provided() -> None:
    names = {"send_execute", "install_package", "get_supported_runtimes"}
    assert names <= set(dir(open_r1.PistonClient))


def test_piston_client_uses_all_named_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    opened_choices: list[EngineChoice] = []

    def engine(servers: EngineChoice) -> FakeEngine:
        opened_choices.append(servers)
        return FakeEngine(capabilities=fake_capabilities())

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("IOI_EVAL_TOKEN", "word")
    monkeypatch.setattr(open_r1, "create_piston_engine", engine)

    async def use() -> None:
        async with open_r1.PistonClient(["http://a:1/api/v2", "http://b:2"], None, 3):
            pass

    asyncio.run(use())
    token = Secret("word")
    assert opened_choices == [EngineChoice(text="http://a:1/api/v2,http://b:2", per_endpoint=3, token=token)]
    with pytest.raises(InputError, match="no address"):
        open_r1.PistonClient([])


async def test_piston_error_catches_own_errors() -> None:
    with pytest.raises(open_r1.PistonError):
        await score_single_test_case(Refusing(), PROBLEM, "a", "1", "x", "code")


def test_load_ioi_tests_for_year_returns_tests_of_problems(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from ioi_eval import sources

    def opened(source: str, options: Any, store: Store) -> Problems:
        assert (source, options.years, store.root) == ("ioi", {2024}, tmp_path)
        test = Test(name="1-01", input=Blob.of("1"), answer=Blob.of("x"))
        return Problems([Problem(id=name, year=2024, tests=(test,)) for name in ("nile", "tree")])

    monkeypatch.setenv("IOI_EVAL_CACHE", str(tmp_path))
    monkeypatch.setattr(sources, "open_problems", opened)
    expected = {"1-01": ("1", "x")}
    assert open_r1.load_ioi_tests_for_year(2024) == {"nile": expected, "tree": expected}


class Answering(FakeEngine):
    """Returns points by a substring of the submission, like the scripts of the classic contracts."""

    async def execute(self, job: Job, check: object = None) -> JobResult:
        self.jobs.append(job)
        code = next(file.content.read() for file in job.files if file.name in ("graders/sum.cpp", "main.cpp"))
        if b"judge" in code:
            raise JobRejected("no")
        return JobResult(
            compile=Ending(code=0), run=Ending(stdout="1\n" if b"right" in code else "0\n", code=0)
        )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Answering:
    engine = Answering(capabilities=fake_capabilities())
    monkeypatch.setenv("PISTON_ENDPOINTS", "http://a:1")
    monkeypatch.setattr(open_r1, "create_piston_engine", lambda servers: engine)
    return engine


def fenced(code: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": f"Not this:\n```cpp\n0\n```\nBut:\n```cpp\n{code}\n```"}]


def test_open_r1_contest_rewards_are_computed(cluster: Answering) -> None:
    """With the columns of their datasets and of TRL. A broken row has the reward None."""
    row = PROBLEM | {"subtask": "1", "score": 40, "score_precision": 2}
    row |= {"test_names": ["a"], "test_cases": {"a": ("1", "x")}}
    answers = [fenced(code) for code in ("right;", "wrong;", "judge;", "right;")]
    answers += [[{"role": "assistant", "content": "right"}]]
    columns: dict[str, Any] = {name: [value] * 3 + [None] + [value] for name, value in row.items()}
    arguments = {"completions": answers, "prompts": ["p"] * 5, "trainer_state": object(), **columns}
    assert open_r1.ioi_code_reward(**arguments) == [1, 0, None, None, 0]
    assert b"bits/stdc++.h" in next(f.content.read() for f in cluster.jobs[0].files if f.name.endswith("cpp"))

    tests = [{"input": "1", "output": "x"}, {"input": "2", "output": "y"}]
    row = {"time_limit": 1.0, "memory_limit": 256.0, "input_mode": "stdio", "official_tests": tests}
    columns = {name: [value] * 3 + [None] + [value] for name, value in row.items()}
    arguments = {"completions": answers, "language": ["cpp"] * 5, **columns}
    assert open_r1.cf_code_reward(**arguments) == [1.1, 0, None, None, -1]
    assert open_r1.cf_code_reward(patch_code=True, scoring_mode="partial", **arguments)[:2] == [1, 0]


@pytest.mark.parametrize(
    ("files", "expected_headers"),
    [([["graders/sum.h", "int add();"]], [b'"sum.h"']), ([["graders/other.h", "int f();"]], []), (None, [])],
)
def test_open_r1_includes_header_of_row(
    cluster: Answering, files: Any, expected_headers: list[bytes]
) -> None:
    row = PROBLEM | {"subtask": "1", "score": 40, "score_precision": 2, "grader_files": files}
    row |= {"test_names": ["a"], "test_cases": {"a": ("1", "x")}}
    assert open_r1.ioi_code_reward([fenced("right;")], **{name: [row[name]] for name in row}) == [1]
    source = next(file.content.read() for file in cluster.jobs[0].files if file.name == "graders/sum.cpp")
    assert re.findall(rb'#include ("[^"]+")', source) == expected_headers


def test_open_r1_unsupported_language_has_no_reward(cluster: Answering) -> None:
    languages = ["cpp", "c++17", "pypy3", "java", "klingon", "", None]
    row = {"time_limit": 1.0, "memory_limit": 256.0, "input_mode": "stdio"}
    row |= {"official_tests": [{"input": "1", "output": "x"}]}
    columns = {name: [row[name]] * len(languages) for name in row}
    fences = [f"```{language}\nright;\n```" for language in languages]
    for completions, expected in ((fences, 1.1), (["none"] * len(languages), -1)):
        rewards = open_r1.cf_code_reward(completions, language=languages, **columns)
        assert rewards == [expected, expected, *[None] * 5]


def test_interrupted_reward_cancels_its_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the jobs may wait for a server for minutes."""

    class Interrupting(FakeEngine):
        given_up = threading.Event()

        async def execute(self, job: Job, check: object = None) -> JobResult:
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # only for this thread
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.given_up.set()
                raise
            return JobResult(compile=Ending(code=0), run=Ending(stdout="1\n", code=0))

    engine = Interrupting(capabilities=fake_capabilities())
    monkeypatch.setenv("PISTON_ENDPOINTS", "http://a:1")
    monkeypatch.setattr(open_r1, "create_piston_engine", lambda servers: engine)
    row = PROBLEM | {"subtask": "1", "score": 40, "score_precision": 2}
    row |= {"test_names": ["a"], "test_cases": {"a": ("1", "x")}}
    with pytest.raises(KeyboardInterrupt):
        open_r1.ioi_code_reward([fenced("right;")], **{name: [row[name]] for name in row})
    assert engine.given_up.wait(30), "even if the thread had not reported its start yet"


def test_open_r1_invalid_columns_are_input_error(cluster: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="the dataset has no column 'language'"):
        open_r1.cf_code_reward([fenced("x")], time_limit=[1.0])
    with pytest.raises(InputError, match="no client for 'morph'"):
        open_r1.ioi_code_reward([fenced("x")], provider_type="morph", id=["sum"], test_names=[["a"]])
    monkeypatch.delenv("PISTON_ENDPOINTS")
    with pytest.raises(InputError, match="PISTON_ENDPOINTS is not set"):
        open_r1.ioi_code_reward([fenced("x")], id=["sum"], test_names=[["a"]])


def test_extract_code_returns_last_block_of_language() -> None:
    reply = "```python\n1\n``` ```cpp\n2``` ```python\n3\n``` ```c++\n4\n```"
    codes = [open_r1.extract_code(reply, language) for language in ("python", "cpp", "c++", "go", None)]
    assert codes == ["3\n", "2", "4\n", "", ""]


@pytest.mark.parametrize(
    ("reply", "language", "reward"),
    [
        ("<think>\na\n</think>\n<answer>\n```python\nx\n```\n</answer>", "python", 1),
        ("<think>\na\n</think>\n<answer>\n```c++\nx\n``` so\n</answer>\nmore", "c++", 1),
        ("<think>\na\n</think>\n<answer>\n```cpp\nx\n```\n</answer>", "python", 0),
        ("<think>\na\n</think>\n<answer>\n```python\nx\n</answer>", "python", 0),
        ("<think>\na\n</think>\n<answer>\n```python\nx\n```\n</answer> more", "python", 0),
        (" <think>\na\n</think>\n<answer>\n```python\nx\n```\n</answer>", "python", 0),
        ("```python\nx\n```", "python", 0),
    ],
)
def test_code_format_reward_depends_on_the_format_of_the_reply(
    reply: str, language: str, reward: float
) -> None:
    completions = [[{"role": "assistant", "content": reply}]]
    assert open_r1.get_code_format_reward(language)(completions) == [reward]
    assert open_r1.get_code_format_reward("none")(completions, language=[language]) == [reward]


def test_open_r1_batched_splits_a_list_into_batches() -> None:
    """With a size below 1 there is a single batch; the original would run no test."""
    batches = [list(open_r1.batched("abcde", size)) for size in (2, 9, -1, 0)]
    assert batches == [[["a", "b"], ["c", "d"], ["e"]], *[[list("abcde")]] * 3]
    assert list(open_r1.batched([], -1)) == []


def test_is_patchable_recognizes_python_and_cpp() -> None:
    theirs = ("python", "python3", "Python 3", "PyPy 3", "PyPy 3-64", "cpp", "C++17 (GCC 7-32)", "GNU C++17")
    assert [lang for lang in theirs if not open_r1.is_patchable(lang)] == []
    assert [lang for lang in ("java", "Rust", "", None, "none") if open_r1.is_patchable(lang)] == []
    assert "bits/stdc++.h" in open_r1.fix_cpp_includes("int main() {}")
    assert "math.gcd" in open_r1.fix_python3_imports("from fractions import gcd")


async def test_execute_ioi_returns_score_and_feedback() -> None:
    class Client:
        async def send_execute(self, data: dict[str, Any], language: str = "cms_ioi") -> dict[str, Any]:
            return {"run": {"stdout": str(data["run_timeout"]), "stderr": "well", "code": 0, "signal": None}}

    assert await open_r1.execute_ioi(Client(), {"files": [], "run_timeout": 1}) == ("1", "well")
    with pytest.raises(open_r1.PistonError):
        await open_r1.execute_ioi(Refusing(), {"files": [], "run_timeout": 1})


def written_tests(folder: Path) -> None:
    columns = {"problem_id": ["7/A", "7/B", "7/A"], "input": ["1", "2", "3"], "output": ["x", "y", "z"]}
    write_table(table(columns), folder / "test_cases_0007.parquet")


async def test_open_r1_generated_tests_are_read_from_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="CF_TESTS_FOLDER: the environment variable is not set"):
        await open_r1.get_generated_tests("7/A")
    monkeypatch.setenv("CF_TESTS_FOLDER", str(tmp_path / "no"))
    with pytest.raises(InputError, match=r"the folder .* does not exist"):
        await open_r1.get_generated_tests("7/A")
    monkeypatch.setenv("CF_TESTS_FOLDER", str(tmp_path))
    written_tests(tmp_path)
    both = [{"input": "1", "output": "x"}, {"input": "3", "output": "z"}]
    assert await open_r1.get_generated_tests("7/A") == both
    assert await open_r1.get_generated_tests("8/A") == []
    assert set(await open_r1.get_generated_contest_tests("7")) == {"7/A", "7/B"}
    write_table(table({"problem_id": ["8/A"], "input": ["1"]}), tmp_path / "test_cases_0008.parquet")
    with pytest.raises(InputError, match=r"test_cases_0008.*'output': the file has no column 'output'"):
        await open_r1.get_generated_tests("8/A")
    (tmp_path / "test_cases_0009.parquet").write_text("no table")
    with pytest.raises(InputError, match="test_cases_0009"):
        await open_r1.get_generated_tests("9/A")


class Counting:
    """Passes every test, and counts them."""

    def __init__(self) -> None:
        self.runs = self.now = self.most = 0

    async def send_execute(self, data: dict[str, Any], language: str = "cms_ioi") -> dict[str, Any]:
        self.runs, self.now = self.runs + 1, self.now + 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return {"compile": {"code": 0}, "run": {"stdout": "1\n", "stderr": "", "code": 0, "signal": None}}


@pytest.mark.parametrize(
    ("generated", "runs"), [(2, 3), (None, 3), (0, 1), ([{"input": "", "output": ""}], 2)]
)
async def test_number_of_generated_tests_requires_tests_folder(
    generated: Any, runs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written_tests(tmp_path)
    row: dict[str, Any] = {"id": "7/A", "time_limit": 1.0, "memory_limit": 256.0, "input_mode": "stdio"}
    row |= {"official_tests": [{"input": "1", "output": "x"}], "generated_tests": generated}
    if generated == 2:
        with pytest.raises(InputError, match="CF_TESTS_FOLDER"):
            await open_r1.score_submission(Counting(), row, "code")
    monkeypatch.setenv("CF_TESTS_FOLDER", str(tmp_path))
    client = Counting()
    assert await open_r1.score_submission(client, row, "code") == pytest.approx(1.1)
    assert client.runs == runs


@pytest.mark.parametrize(
    ("options", "max_running"),
    [({"test_batch_size": 3}, 3), ({"skip_mode": 2}, 2), ({"test_batch_size": -1}, 5), ({}, 1)],
)
async def test_open_r1_subtask_tests_run_concurrently(options: dict[str, int], max_running: int) -> None:
    names = list("abcde")
    row = PROBLEM | {"subtask": "1", "score": 40, "score_precision": 2, "test_names": names}
    row |= {"test_cases": [("1", "x")] * 5}
    client = Counting()
    (result,) = await open_r1.score_subtasks(client, [row], "code", **options)
    assert (result.score, client.runs, client.most) == (1, 5, max_running)


def package_server(request: StubRequest) -> StubReply:
    """Answer requests for runtimes and packages like Piston."""
    if request.method == "GET":
        return json_reply([{"language": "cms_ioi", "version": "1.0.0"}] if "runtimes" in request.path else {})
    if request.path == "/api/v2/packages" and request.body["language"] == "cms_ioi":
        return json_reply(request.body)
    return json_reply({"message": "no such package"}, 500)


async def test_piston_client_lists_runtimes_and_installs_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer(package_server).running() as server:
        url = server.url
        client = open_r1.PistonClient(f"{url}/api/v2")
        assert await client.get_supported_runtimes() == [[{"language": "cms_ioi", "version": "1.0.0"}]]
        package = {"language": "cms_ioi", "version": "1.0.0"}
        assert await client.install_package(**package) == [package]
        with pytest.raises(open_r1.PistonError, match="no such package"):
            await client.install_package("none", "1")
        monkeypatch.setenv("PISTON_ENDPOINTS", url)
        assert len(await open_r1.get_piston_client_from_env().get_supported_runtimes()) == 1
    with pytest.raises(open_r1.PistonError):
        await client.get_supported_runtimes()
