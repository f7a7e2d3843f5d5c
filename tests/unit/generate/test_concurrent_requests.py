"""Concurrent model requests, with replies whose times a test controls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from generate_helpers import ask
from support.model_requests import GeneratedReply, GenerationFailed, Generations, ModelRequest, OutOfBudget
from support.runs import Fingerprint, ResultLog, judge_all
from support.waiting import settle

from ioi_eval.errors import InputError
from ioi_eval.generate import FailedRequestEvent, RequestRunner, StoredReplyEvent
from ioi_eval.models import Problem, Submission, SubmissionResult


class Scripted:
    """An author that holds every request until it is released."""

    name = "m"

    def __init__(self, free: bool = False) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.most = 0
        self.faults: dict[str, Callable[[], Exception]] = {}
        self._free = free
        self._held: dict[str, asyncio.Event] = {}

    def let_go(self, key: str) -> None:
        self._held[key].set()

    async def write(self, request: ModelRequest) -> GeneratedReply:
        self.begun.append(request.key)
        self.most = max(self.most, len(self.begun) - len(self.ended))
        release = self._held[request.key] = asyncio.Event()
        try:
            if not self._free:
                await release.wait()
            await asyncio.sleep(0)
            if request.key in self.faults:
                raise self.faults[request.key]()
            return GeneratedReply(generation=request.key)
        finally:
            self.ended.append(request.key)


async def test_all_requests_run_within_concurrency(tmp_path: Path) -> None:
    author, keys = Scripted(free=True), [f"p#{n}" for n in range(20)]
    with Generations(tmp_path, "x", "m") as generations:
        async with RequestRunner([ask(key) for key in keys], author, generations, max_concurrent=3) as news:
            events = [request async for request in news]
        assert {request.key for request in events if isinstance(request, StoredReplyEvent)} == set(keys)
        assert {row["uuid"] for row in generations} == set(keys)
    assert author.most == 3


async def test_stored_generations_come_first_without_request(tmp_path: Path) -> None:
    with Generations(tmp_path, "x", "m") as generations:
        generations.add(ask("b"), GeneratedReply(generation="old"))
        author = Scripted(free=True)
        async with RequestRunner([ask("a"), ask("b")], author, generations, max_concurrent=2) as news:
            events = [request async for request in news]
        assert events == [StoredReplyEvent(key="b", is_old=True), StoredReplyEvent(key="a")]
        assert author.begun == ["a"] and generations.read_row("b")["generation"] == "old"


async def test_generations_are_yielded_in_order_of_completion(tmp_path: Path) -> None:
    author = Scripted()
    with Generations(tmp_path, "x", "m") as generations:
        async with RequestRunner([ask(key) for key in "abc"], author, generations, max_concurrent=3) as news:
            await settle()
            for key in "cab":
                author.let_go(key)
                assert await anext(news) == StoredReplyEvent(key=key)
            assert [request async for request in news] == []


async def test_slow_consumer_does_not_stop_generation(tmp_path: Path) -> None:
    author = Scripted(free=True)
    asks = [ask(f"p#{n}") for n in range(50)]
    with Generations(tmp_path, "x", "m") as generations:
        async with RequestRunner(asks, author, generations, max_concurrent=2) as news:
            await anext(news)
            await settle(500)
            assert len(author.ended) == 50


async def test_failed_generation_is_reported_and_other_requests_continue(tmp_path: Path) -> None:
    author = Scripted(free=True)
    author.faults = {"a": lambda: GenerationFailed("lost"), "b": lambda: OutOfBudget("spent")}
    with Generations(tmp_path, "x", "m") as generations:
        async with RequestRunner([ask(key) for key in "abc"], author, generations, max_concurrent=1) as news:
            events = [request async for request in news]
        assert events == [
            FailedRequestEvent(key="a", reason="lost"),
            FailedRequestEvent(key="b", reason="spent"),
            StoredReplyEvent(key="c"),
        ]
        assert "a" not in generations


@pytest.mark.parametrize("error", [InputError("no use"), RuntimeError("a bug")])
async def test_unrecoverable_error_ends_all_generations(tmp_path: Path, error: Exception) -> None:
    author = Scripted()
    author.faults = {"b": lambda: error}
    with Generations(tmp_path, "x", "m") as generations:
        with pytest.raises(type(error)):
            async with RequestRunner(
                [ask(key) for key in "abcd"], author, generations, max_concurrent=3
            ) as news:
                await settle()
                author.let_go("b")
                async for _ in news:
                    pass
        assert sorted(author.ended) == ["a", "b", "c"], "no request is running, and none was added"


async def test_leaving_context_cancels_running_generations(tmp_path: Path) -> None:
    author = Scripted()
    with Generations(tmp_path, "x", "m") as generations:
        async with RequestRunner([ask(key) for key in "abc"], author, generations, max_concurrent=2):
            await settle()
        assert sorted(author.ended) == ["a", "b"]
    assert not (tmp_path / "generations.jsonl").exists()


class Unusable:
    """A judge that finds the problem unusable, for example because of its checker."""

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        raise InputError("the checker does not compile")


async def test_input_error_of_judge_stops_generation(tmp_path: Path) -> None:
    author = Scripted()

    async def submissions(generations: Generations) -> AsyncIterator[Submission]:
        asks = [ask(key) for key in "abcdef"]
        async with RequestRunner(asks, author, generations, max_concurrent=3) as news:
            await settle()
            author.let_go("b")
            async for request in news:
                yield Submission(key=request.key, problem_id="p", code="", language="python")

    made_of = Fingerprint(dump="", problems={}, options={}, versions={})
    with Generations(tmp_path, "x", "m") as generations, ResultLog.open(tmp_path, made_of) as journal:
        async with contextlib.aclosing(submissions(generations)) as stream:
            with pytest.raises(InputError, match="does not compile"):
                await judge_all(Unusable(), {"p": Problem(id="p")}, stream, journal, workers=2)
        assert sorted(author.begun) == sorted(author.ended), "no request is running"
        assert len(author.begun) < 6 and [row["uuid"] for row in generations] == ["b"]
