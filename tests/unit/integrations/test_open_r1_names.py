"""The names of today's pipelines: all of theirs are there, and what those do that judge nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.datasets import Problems
from support.engines import fake_profile

from ioi_eval import Store
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.errors import InputError, JobRejected
from ioi_eval.integrations import open_r1
from ioi_eval.integrations.open_r1 import score_single_test_case
from ioi_eval.model.secret import Secret
from ioi_eval.models import Blob, Job, JobResult, Problem, Stage, Test
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.once

PROBLEM = {"id": "Sum", "grader_files": [], "time_limit": 1.5, "memory_limit": 1 << 28}


class Refusing:
    async def send_execute(self, data: dict[str, Any], language: str = "cms_ioi") -> dict[str, Any]:
        return {"message": "overloaded"}


# What `open_r1.utils.competitive_programming` exports in huggingface/open-r1 at commit 83cb6e23a91c, what its
# modules piston_client and ioi_utils have besides, and all of `open_r1.rewards` that is about code.
THEIRS = {
    "PistonClient",
    "PistonError",
    "SubtaskResult",
    "add_includes",
    "binary_code_reward",
    "cf_code_reward",
    "code_reward",
    "extract_code",
    "get_code_format_reward",
    "get_morph_client_from_env",
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


def test_every_name_of_theirs_is_one_of_ours() -> None:
    assert set(open_r1.__all__) >= THEIRS
    assert all(callable(getattr(open_r1, name)) for name in open_r1.__all__)


def test_a_service_that_is_not_spoken_to_says_what_to_use() -> None:
    with pytest.raises(InputError, match=r"MorphCloud.*get_piston_client_from_env"):
        open_r1.get_morph_client_from_env()


def test_a_client_of_named_servers_takes_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[EngineChoice] = []

    def engine(servers: EngineChoice) -> FakeEngine:
        asked.append(servers)
        return FakeEngine(profile=fake_profile())

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("IOI_EVAL_TOKEN", "word")
    monkeypatch.setattr(open_r1, "piston_engine", engine)

    async def use() -> None:
        async with open_r1.PistonClient(["http://a:1/api/v2", "http://b:2"], None, 3):
            pass

    asyncio.run(use())
    token = Secret("word")
    assert asked == [EngineChoice(text="http://a:1/api/v2,http://b:2", per_endpoint=3, token=token)]
    with pytest.raises(InputError, match="no address"):
        open_r1.PistonClient([])


async def test_who_catches_their_error_catches_ours() -> None:
    with pytest.raises(open_r1.PistonError):
        await score_single_test_case(Refusing(), PROBLEM, "a", "1", "x", "code")


def test_the_tests_of_a_year_are_those_of_its_problems(
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
    """Gives points by a word in the submission, as the scripts of the classic contracts print them."""

    async def execute(self, job: Job) -> JobResult:
        self.jobs.append(job)
        code = next(file.content.read() for file in job.files if file.name in ("graders/sum.cpp", "main.cpp"))
        if b"judge" in code:
            raise JobRejected("no")
        return JobResult(
            compile=Stage(code=0), run=Stage(stdout="1\n" if b"right" in code else "0\n", code=0)
        )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Answering:
    engine = Answering(profile=fake_profile())
    monkeypatch.setenv("PISTON_ENDPOINTS", "http://a:1")
    monkeypatch.setattr(open_r1, "piston_engine", lambda servers: engine)
    return engine


def fenced(code: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": f"Not this:\n```cpp\n0\n```\nBut:\n```cpp\n{code}\n```"}]


def test_rewards_of_contests(cluster: Answering) -> None:
    """The columns of their datasets, and what TRL adds to them. A row that is broken is None."""
    row = PROBLEM | {"subtask": "1", "score": 40, "score_precision": 2}
    row |= {"test_names": ["a"], "test_cases": {"a": ("1", "x")}}
    answers = [fenced(code) for code in ("right;", "wrong;", "judge;", "right;")]
    answers += [[{"role": "assistant", "content": "right"}]]
    columns: dict[str, Any] = {name: [value] * 3 + [None] + [value] for name, value in row.items()}
    given = {"completions": answers, "prompts": ["p"] * 5, "trainer_state": object(), **columns}
    assert open_r1.ioi_code_reward(**given) == [1, 0, None, None, 0]
    assert b"bits/stdc++.h" in next(f.content.read() for f in cluster.jobs[0].files if f.name.endswith("cpp"))

    tests = [{"input": "1", "output": "x"}, {"input": "2", "output": "y"}]
    row = {"time_limit": 1.0, "memory_limit": 256.0, "input_mode": "stdio", "official_tests": tests}
    columns = {name: [value] * 3 + [None] + [value] for name, value in row.items()}
    given = {"completions": answers, "language": ["cpp"] * 5, **columns}
    assert open_r1.cf_code_reward(**given) == [1.1, 0, None, None, -1]
    assert open_r1.cf_code_reward(patch_code=True, scoring_mode="partial", **given)[:2] == [1, 0]


def test_what_is_wrong_for_every_row_of_a_contest(
    cluster: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"no such column.*language|language.*no such column"):
        open_r1.cf_code_reward([fenced("x")], time_limit=[1.0])
    with pytest.raises(InputError, match="MorphCloud"):
        open_r1.ioi_code_reward([fenced("x")], provider_type="morph", id=["sum"], test_names=[["a"]])
    monkeypatch.delenv("PISTON_ENDPOINTS")
    with pytest.raises(InputError, match="PISTON_ENDPOINTS is not set"):
        open_r1.ioi_code_reward([fenced("x")], id=["sum"], test_names=[["a"]])


def test_the_last_block_of_a_language() -> None:
    text = "```python\n1\n``` ```cpp\n2``` ```python\n3\n``` ```c++\n4\n```"
    codes = [open_r1.extract_code(text, language) for language in ("python", "cpp", "c++", "go", None)]
    assert codes == ["3\n", "2", "4\n", "", ""]


@pytest.mark.parametrize(
    ("text", "language", "reward"),
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
def test_the_format_of_an_answer(text: str, language: str, reward: float) -> None:
    completions = [[{"role": "assistant", "content": text}]]
    assert open_r1.get_code_format_reward(language)(completions) == [reward]
    assert open_r1.get_code_format_reward("none")(completions, language=[language]) == [reward]
