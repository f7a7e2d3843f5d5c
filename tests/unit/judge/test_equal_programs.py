"""Deduplication of equal programs: which programs are equal, and which results they share."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from judge_samples import problem, scored, submission
from support.engines import BuildSuccess, Program
from support.proctor_protocol import PlanChecker, PlanSubmission
from support.waiting import settle

from ioi_eval import Scorer, Store
from ioi_eval.engines.fake import FakeTest, Outcome
from ioi_eval.errors import JudgeFailure
from ioi_eval.judge.deduplication import Deduplication, compute_program_identity
from ioi_eval.model.digests import problem_digest
from ioi_eval.models import Blob, Limits, Problem, Submission, SubmissionResult, Test
from ioi_eval.testing import Broken, FakeEngine

CODE = "int main() {}"


async def results(
    engine: FakeEngine, submissions: list[Submission], of: Problem | list[Problem]
) -> list[SubmissionResult | BaseException]:
    problems = of if isinstance(of, list) else [of] * len(submissions)
    async with Scorer(engine) as scorer:
        judge = scorer.judge.with_options(deduplication=Deduplication())
        both = zip(problems, submissions, strict=True)
        return await asyncio.gather(*(judge.judge(*arguments) for arguments in both), return_exceptions=True)


async def test_equal_programs_run_once_and_rows_name_first_key() -> None:
    engine = FakeEngine({1: 0.5})
    several = [submission(CODE, key=key) for key in "abc"]
    result_fields = [msgspec.structs.asdict(result) for result in await results(engine, several, problem())]
    assert len(engine.runs) == 1
    assert [(result.pop("key"), result.pop("repeats")) for result in result_fields] == [
        ("a", ""),
        ("b", "a"),
        ("c", "a"),
    ]
    assert result_fields[0] == result_fields[1] == result_fields[2]
    assert re.fullmatch("2:[0-9a-f]{64}", result_fields[0]["program_sha256"]), (
        "version of the rule, and a hash"
    )


def test_equal_artifacts_of_different_compilers_are_judged_separately() -> None:
    """For example Java classes, which different versions run at different speeds."""
    program = Program(
        proctor=Blob.of("p"),
        submission=PlanSubmission(argv=("java",)),
        checker=PlanChecker(kind="white-diff"),
        files=(),
    )
    built = [BuildSuccess(artifact=Blob.of("classes"), compiler=f"java {number}") for number in (17, 17, 21)]
    digest = problem_digest(problem())
    first, same, other = (compute_program_identity(digest, program, artifact) for artifact in built)
    assert first == same != other


async def test_deduplicated_program_keeps_its_own_repairs() -> None:
    repairs = (), ("add_imports",), ("extract:first",)
    several = [submission(CODE, key=str(n), repairs=repair) for n, repair in enumerate(repairs)]
    outcomes = await results(FakeEngine(), several, problem())
    assert [outcome.repairs for outcome in outcomes if isinstance(outcome, SubmissionResult)] == list(repairs)


async def test_program_with_different_limits_or_tests_is_judged_separately() -> None:
    base = problem()
    variants = [
        msgspec.structs.replace(base, limits=Limits.contest(9.0, 1 << 30)),
        msgspec.structs.replace(base, tests=base.tests[:2], subtasks=()),
        msgspec.structs.replace(base, id="another"),
    ]
    engine = FakeEngine()
    outcomes = await results(engine, [submission(CODE, key=str(n)) for n in range(4)], [base, *variants])
    outcomes += await results(engine, [submission(CODE, language=name) for name in ("python", "pypy")], base)
    assert len({outcome.program_sha256 for outcome in outcomes if isinstance(outcome, SubmissionResult)}) == 6
    assert len(engine.runs) == 6


async def test_judge_failure_is_not_shared_with_equal_programs() -> None:
    """The second program is judged again, and the third program gets its result."""
    tried: Iterator[Outcome] = iter([Broken("the checker crashed")])

    def outcome(test: FakeTest) -> Outcome:
        return next(tried, 1.0)

    engine = FakeEngine(outcome)
    first, second, third = await results(engine, [submission(CODE, key=key) for key in "abc"], problem())
    assert isinstance(first, JudgeFailure)
    assert isinstance(second, SubmissionResult) and second.repeats == ""
    assert isinstance(third, SubmissionResult) and third.repeats == "b"


async def test_cancelled_judging_continues_with_the_next_equal_program() -> None:
    deduplication, started = Deduplication(), asyncio.Event()
    result = SubmissionResult(key="b", problem_id="p", compiles=True)

    async def never() -> SubmissionResult:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def at_once() -> SubmissionResult:
        return result

    async def in_turn(judge: Callable[[], Awaitable[SubmissionResult]]) -> SubmissionResult:
        with deduplication.pending_programs("p") as program:
            return await deduplication.judge_once(program, "same", judge)

    leaving = asyncio.create_task(in_turn(never))
    await started.wait()
    waiting = asyncio.create_task(in_turn(at_once))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await waiting == result


class Steps:
    """Tasks that continue step by step, in an order that a test chooses."""

    def __init__(self, order: list[int]) -> None:
        self._order, self._waiting = order, dict[int, asyncio.Event]()

    async def step(self, number: int) -> None:
        event = self._waiting[number] = asyncio.Event()
        await event.wait()

    async def go(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Repeatedly continue the first waiting task in the order, after all other tasks have stopped."""
        while not all(task.done() for task in tasks):
            await settle()
            ready = [number for number in self._order if number in self._waiting]
            if ready:
                self._waiting.pop(ready[0]).set()


ANY_ORDER = st.integers(1, 7).flatmap(
    lambda size: st.tuples(
        st.lists(st.sampled_from(["one", "two", "refused"]), min_size=size, max_size=size),
        st.permutations(range(size)),
        st.sets(st.integers(0, size - 1)),
    )
)


@given(ANY_ORDER)
def test_first_equal_program_in_order_is_judged_regardless_of_build_order(
    case: tuple[list[str], list[int], set[int]],
) -> None:
    """If it cannot be judged, the next program in order is judged."""
    programs, order, failing = case

    async def all_of_them() -> tuple[list[int], list[str | None]]:
        deduplication, steps, judged_numbers = Deduplication(), Steps(order), list[int]()

        async def one(number: int) -> str | None:
            async def judge() -> SubmissionResult:
                judged_numbers.append(number)
                await steps.step(number)
                if number in failing:
                    raise JudgeFailure("no")
                return SubmissionResult(key=str(number), problem_id="p", compiles=True)

            with deduplication.pending_programs("p") as program:
                await steps.step(number)
                if programs[number] == "refused":
                    return None
                try:
                    return (await deduplication.judge_once(program, programs[number], judge)).repeats
                except JudgeFailure:
                    return "failed"

        tasks = [asyncio.create_task(one(number)) for number in range(len(programs))]
        await asyncio.wait_for(steps.go(tasks), 60)
        assert deduplication.waiting == 0
        return judged_numbers, [task.result() for task in tasks]

    judged_numbers, outcomes = asyncio.run(all_of_them())
    expected: list[str | None] = [None] * len(programs)
    tried = list[int]()
    for program in ("one", "two"):
        equal = [number for number, candidate in enumerate(programs) if candidate == program]
        first = next((number for number in equal if number not in failing), None)
        for number in equal:
            if first is None or number < first:
                expected[number] = "failed"
            else:
                expected[number] = "" if number == first else str(first)
        tried += [number for number in equal if first is None or number <= first]
    assert outcomes == expected
    assert sorted(judged_numbers) == sorted(tried)


# --- with a compiler ---------------------------------------------------------------------------------

SUM = """
#include <cstdio>
// {comment}
static long long add(long long {a}, long long {b}) {{ return {a} + {b}; }}
int main() {{
  long long {a}, {b};  /* {comment} */
  if (scanf("%lld %lld", &{a}, &{b}) != 2) return 1;
  printf("%lld\\n", add({a}, {b}){wrong});
}}
"""
NAMES = [("a", "b"), ("first", "second")]
ADDING = Problem(
    id="add",
    limits=Limits.contest(5.0, 256 << 20),
    tests=tuple(
        Test(name=f"t{n}", input=Blob.of(f"{n} {n + 1}\n"), answer=Blob.of(f"{2 * n + 1}\n"))
        for n in range(3)
    ),
)


def renamed(*wrongs: str) -> dict[str, str]:
    """Return programs by number. Each is wrong in another way, with all names renamed."""
    codes = (
        SUM.format(a=a, b=b, comment=f"number {n}" * (n + 1), wrong=wrong)
        for wrong in wrongs
        for n, (a, b) in enumerate(NAMES)
    )
    return {str(number): code for number, code in enumerate(codes)}


def verdicts(rows: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    return {key: [test["status"] for test in row["test_results"]] for key, row in rows.items()}


async def test_programs_differing_in_names_and_comments_are_equal(tmp_path: Path, store: Store) -> None:
    codes = renamed("", " + 1")
    once, shared, _ = await scored(tmp_path / "shared", store, ADDING, "c++", codes)
    every, unshared, _ = await scored(tmp_path / "each", store, ADDING, "c++", codes, share=False)
    assert verdicts(shared) == verdicts(unshared) == {str(n): ["WA" if n > 1 else "AC"] * 3 for n in range(4)}
    assert (once.judged, once.repeated, once.tests) == (4, 2, 6)
    assert (every.judged, every.repeated, every.tests) == (4, 0, 12)
    assert [shared[str(n)]["repeats"] for n in range(4)] == [None, "0", None, "2"]
    assert {(row["repeats"], row["program_sha256"]) for row in unshared.values()} == {(None, None)}


async def test_resumed_run_reuses_results_of_equal_programs(tmp_path: Path, store: Store) -> None:
    codes = renamed("")
    await scored(tmp_path, store, ADDING, "c++", codes)
    lines = (tmp_path / "run" / "results.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "results.jsonl").write_text(lines[0])
    call, rows, _ = await scored(tmp_path, store, ADDING, "c++", codes)
    assert (call.judged, call.repeated, call.tests) == (1, 1, 0)
    first = json.loads(lines[0])["key"]
    assert {row["repeats"] for key, row in rows.items() if key != first} == {first}
