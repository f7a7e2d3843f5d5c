"""Rewards per second of a training step, compared with harnesses without a judge.

The harnesses are `exec` in this process (no limits, no confinement, no start of an interpreter), and an
interpreter that is started for each test. A step is a batch of prompts with several completions each. All of
them are distinct programs, and a quarter of them are wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from used import read_cpu_seconds
from workload import PROGRAMS, make_similar_completions

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.integrations.rewards import RewardMode, RewardOptions
from ioi_eval.integrations.runtime import close_all
from ioi_eval.integrations.trl import make_reward
from ioi_eval.models import Blob, BuildOptions, Limits, Problem, Submission, Test


def make_completions(
    prompt_count: int, completions_per_prompt: int, test_count: int
) -> tuple[list[str], list[str]]:
    """Return completions and their tests: sums of lines of numbers. Every fourth completion is wrong."""
    lines = [
        " ".join(str((prompt * 7 + index) % 1000) for index in range(50)) for prompt in range(test_count)
    ]
    sums = [str(sum(map(int, line.split()))) for line in lines]
    column = json.dumps({"inputs": lines, "outputs": sums})
    programs = [
        f"own = {number}\nprint(sum(map(int, input().split())){' + 1' if number % 4 == 3 else ''})"
        for number in range(prompt_count * completions_per_prompt)
    ]
    return [f"```python\n{program}\n```" for program in programs], [column] * len(programs)


def extract_code(completion: str) -> str:
    return completion.removeprefix("```python\n").removesuffix("\n```")


def reward_by_exec(completions: Sequence[str], columns: Sequence[str]) -> list[float]:
    """Return the rewards of a harness that calls `exec`."""
    return [
        _run_by_exec(completion, json.loads(column))
        for completion, column in zip(completions, columns, strict=True)
    ]


def _run_by_exec(completion: str, tests: dict[str, list[str]]) -> float:
    code = compile(extract_code(completion), "solution", "exec")
    passed_tests = 0
    for input_text, expected_output in zip(tests["inputs"], tests["outputs"], strict=True):
        output, old_stdin = io.StringIO(), sys.stdin
        sys.stdin = io.StringIO(input_text)
        try:
            with contextlib.redirect_stdout(output):
                exec(code, {"__name__": "__main__"})
        finally:
            sys.stdin = old_stdin
        passed_tests += output.getvalue().strip() == expected_output.strip()
    return passed_tests / len(tests["inputs"])


def reward_by_subprocess(completions: Sequence[str], columns: Sequence[str]) -> list[float]:
    rewards = []
    for completion, column in zip(completions, columns, strict=True):
        tests, code = json.loads(column), extract_code(completion)
        outputs = [_run_program(code, input_text) for input_text in tests["inputs"]]
        rewards.append(
            sum(
                output.strip() == expected_output.strip()
                for output, expected_output in zip(outputs, tests["outputs"], strict=True)
            )
            / len(outputs)
        )
    return rewards


def _run_program(code: str, input_text: str) -> str:
    argv = [sys.executable, "-c", code]
    return subprocess.run(argv, input=input_text, capture_output=True, text=True, timeout=10).stdout


class Measurement(NamedTuple):
    rewards: Sequence[float | None]
    per_second: float
    cpu: float  # CPU seconds of all processes for each reward


def measure(work: Callable[[], Sequence[float | None]], rounds: int) -> Measurement:
    rewards: Sequence[float | None] = []
    durations_s, cpu_before_s = [], read_cpu_seconds()
    for _ in range(rounds):
        start_time = time.perf_counter()
        rewards = work()
        durations_s.append(time.perf_counter() - start_time)
    cpu_per_reward = (read_cpu_seconds() - cpu_before_s) / rounds / len(rewards)
    return Measurement(rewards, len(rewards) / statistics.median(durations_s), cpu_per_reward)


# --- equal programs ----------------------------------------------------------------------------------

_GROUP_SIZE = 16


def print_times_of_similar_programs(
    reward: Callable[..., Sequence[float | None]], column: str, rounds: int
) -> None:
    """Print the CPU time of groups of similar programs. Every program is new, so no build of it is cached."""
    salt = itertools.count(random.randrange(1, 1 << 20) * 1000)
    for language in PROGRAMS:
        completions_by_group: dict[str, Callable[[], list[str]]] = {
            "one": lambda language=language: make_similar_completions(language, [next(salt)]),
            "equal": lambda language=language: make_similar_completions(language, [next(salt)] * _GROUP_SIZE),
            "other comments": lambda language=language: make_similar_completions(
                language, [next(salt)] * _GROUP_SIZE, with_different_comments=True
            ),
            "other names": lambda language=language: make_similar_completions(
                language, [next(salt)] * _GROUP_SIZE, with_different_names=True, with_different_comments=True
            ),
            "distinct": lambda language=language: make_similar_completions(
                language, [next(salt) for _ in range(_GROUP_SIZE)]
            ),
        }
        for name, completions in completions_by_group.items():
            cpu_times_s = [measure_cpu(reward, completions(), column, language) for _ in range(rounds)]
            print(f"  {language:7} {name:15} {1000 * statistics.median(cpu_times_s):8.0f} ms of CPU time")


def measure_cpu(
    reward: Callable[..., Sequence[float | None]], completions: list[str], column: str, language: str
) -> float:
    completion_count, cpu_before_s = len(completions), read_cpu_seconds()
    rewards = reward(
        completions=completions, tests=[column] * completion_count, language=[language] * completion_count
    )
    if set(rewards) != {1}:
        raise SystemExit(f"{language}: {rewards}")
    return read_cpu_seconds() - cpu_before_s


def print_new_completions(
    reward: Callable[..., Sequence[float | None]],
    column: str,
    language: str,
    completion_count: int,
    rounds: int,
) -> None:
    """Print the time of a reward call whose completions are all new programs, so that no build is cached."""
    salt = itertools.count(random.randrange(1, 1 << 20) * 1000)
    durations_s, cpu_before_s = [], read_cpu_seconds()
    for _ in range(rounds):
        completions = make_similar_completions(language, [next(salt) for _ in range(completion_count)])
        start_time = time.perf_counter()
        reward(
            completions=completions, tests=[column] * completion_count, language=[language] * completion_count
        )
        durations_s.append(time.perf_counter() - start_time)
    cpu_ms = 1000 * (read_cpu_seconds() - cpu_before_s) / rounds / completion_count
    call_s = statistics.median(durations_s)
    print(
        f"  {language:7} {completion_count:3} new programs: {call_s:6.3f} s per"
        f" call, {cpu_ms:5.1f} ms of CPU time per program"
    )


# --- C++ programs with different options of builds ---------------------------------------------------

_WAYS = {
    "default": BuildOptions(),
    "no precompiled header": BuildOptions(precompile=False),
}


async def print_build_options(column: str, count: int, rounds: int) -> None:
    """Print the CPU time per completion in C++, for each option and for g++ with a process for each test."""
    salt = itertools.count(random.randrange(1, 1 << 20) * 1000)
    tests = json.loads(column)
    inputs_and_outputs = list(zip(tests["inputs"], tests["outputs"], strict=True))
    problem = Problem(
        id="sums",
        tests=tuple(
            Test(name=f"{index}", input=Blob.of(input_text), answer=Blob.of(expected_output))
            for index, (input_text, expected_output) in enumerate(inputs_and_outputs)
        ),
        limits=Limits.contest(10, 256 << 20),
    )

    def make_new_codes() -> list[str]:
        completions = make_similar_completions("c++", [next(salt) for _ in range(count)])
        return [completion.removeprefix("```c++").removesuffix("```") for completion in completions]

    async def judge_new_codes(scorer: Scorer) -> None:
        work = (
            scorer.score(
                problem, Submission(key=str(index), problem_id=problem.id, code=code, language="c++")
            )
            for index, code in enumerate(make_new_codes())
        )
        if any(result.points != 1 for result in await asyncio.gather(*work)):
            raise SystemExit("a submission did not get full points")

    with tempfile.TemporaryDirectory(prefix="ioi-eval-bench-") as temporary_folder:
        async with contextlib.AsyncExitStack() as stack:
            scorers = dict[str, Scorer]()
            for index, (way, builds) in enumerate(_WAYS.items()):
                store = Store(Path(temporary_folder) / f"{index}")
                scorer = Scorer(EmbeddedEngine(store=store), store=store, builds=builds)
                scorers[way] = await stack.enter_async_context(scorer)
                for _ in range(2):  # the first calls build the precompiled header
                    await judge_new_codes(scorers[way])
            cpu_times_by_way: dict[str, list[float]] = {
                way: [] for way in (*scorers, "g++ and a process per test")
            }
            for _ in range(rounds):
                for way, cpu_times_s in cpu_times_by_way.items():
                    cpu_before = read_cpu_seconds()
                    if way in scorers:
                        await judge_new_codes(scorers[way])
                    else:
                        for code in make_new_codes():
                            await asyncio.to_thread(
                                _compile_and_run, Path(temporary_folder), code, inputs_and_outputs
                            )
                    cpu_times_s.append(read_cpu_seconds() - cpu_before)
    for way, cpu_times_s in cpu_times_by_way.items():
        print(
            f"  {way:27} {1000 * statistics.median(cpu_times_s) / count:6.1f} ms of CPU time per completion"
        )


def _compile_and_run(folder: Path, code: str, inputs_and_outputs: Sequence[tuple[str, str]]) -> None:
    (folder / "one.cpp").write_text(code)
    flags = ("-std=gnu++20", "-O2", "-static", "-s")
    subprocess.run(["g++", *flags, "-o", "one", "one.cpp"], cwd=folder, check=True)
    for input_text, expected_output in inputs_and_outputs:
        process = subprocess.run(
            [folder / "one"], input=input_text, capture_output=True, text=True, timeout=10
        )
        if process.stdout.strip() != expected_output.strip():
            raise SystemExit("the program printed a wrong output")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--each", type=int, default=8, help="number of completions of each prompt")
    parser.add_argument("--tests", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    completions, columns = make_completions(options.prompts, options.each, options.tests)
    reward = make_reward(RewardOptions(mode=RewardMode.PARTIAL))
    reward(completions=completions[:2], tests=columns[:2])  # the first call opens the engine
    sandbox_rewards = measure(lambda: reward(completions=completions, tests=columns), options.rounds)
    exec_rewards = measure(lambda: reward_by_exec(completions, columns), options.rounds)
    subprocess_rewards = measure(lambda: reward_by_subprocess(completions, columns), 1)
    if not list(sandbox_rewards.rewards) == list(exec_rewards.rewards) == list(subprocess_rewards.rewards):
        raise SystemExit("the three ways to judge do not agree")
    print(f"{len(completions)} completions with {options.tests} tests each, median of {options.rounds}")
    for name, result in (
        ("judged in sandboxes", sandbox_rewards),
        ("interpreter per test", subprocess_rewards),
        ("exec in this process", exec_rewards),
    ):
        cpu_ms_per_test = 1000 * result.cpu / options.tests
        print(
            f"  {name:22} {result.per_second:8.1f} rewards/s  {cpu_ms_per_test:8.3f} ms of CPU time per test"
        )
    for language, number in itertools.product(PROGRAMS, (1, len(completions))):
        print_new_completions(reward, columns[0], language, number, options.rounds)
    print(f"{len(completions)} completions in C++ with new programs, {options.tests} tests each")
    asyncio.run(print_build_options(columns[0], len(completions), options.rounds))
    print(
        f"CPU time of a call with a single completion (one), and with {_GROUP_SIZE} completions of a prompt"
    )
    print_times_of_similar_programs(reward, columns[0], options.rounds)
    close_all()


if __name__ == "__main__":
    main()
