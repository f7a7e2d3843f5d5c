"""The DEBUG log shows each step of a submission, and no secret."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from support.servers import FixedServers, ServerOptions, serve

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.engines.piston import PistonEngine
from ioi_eval.errors import EngineUnavailable, JudgeFailure
from ioi_eval.model.doing import add_work_to_log_lines, log_step, track_submission
from ioi_eval.model.secret import Secret
from ioi_eval.models import Blob, Limits, Problem, Submission, Test
from ioi_eval.testing import FakeEngine

TOKEN = "token-8c1f"
HIDDEN_INPUT, HIDDEN_ANSWER, CODE_MARK = "4711815", "9423630", "code_mark_5"
PROBLEM = Problem(
    id="double",
    limits=Limits.contest(10.0, 256 << 20),
    tests=(
        Test(name="01-small", input=Blob.of("1"), answer=Blob.of("2")),
        Test(name="02-large", input=Blob.of(HIDDEN_INPUT), answer=Blob.of(HIDDEN_ANSWER)),
    ),
)


@pytest.fixture
def submission() -> Submission:
    """Return a submission that no test has built before, because tests share a build cache."""
    code = f"{CODE_MARK} = int(input())\nprint(2 * {CODE_MARK})  # {uuid4()}"
    return Submission(key="row-7", problem_id="double", language="python", code=code)


@pytest.fixture
def story(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "ioi_eval")
    return caplog


@asynccontextmanager
async def on_a_worker(store: Store) -> AsyncIterator[tuple[PistonEngine, str]]:
    options = ServerOptions(port=0, token=Secret(TOKEN))
    async with serve(store=store, options=options, slots=1) as server:
        yield PistonEngine(FixedServers([server.url]), token=TOKEN), server.url


def check_order(lines: list[str], *fragments: str) -> None:
    """Check that each text is in a line after the line of the previous text."""
    remaining_lines = iter(lines)
    for fragment in fragments:
        assert any(fragment in line for line in remaining_lines), (
            f"{fragment!r} is not there, or not in this order: {lines}"
        )


def check_secrets(lines: list[str]) -> None:
    log_text = "\n".join(lines)
    assert [secret for secret in (TOKEN, HIDDEN_INPUT, HIDDEN_ANSWER, CODE_MARK) if secret in log_text] == []


async def test_submission_on_this_machine_logs_each_step_in_order(
    store: Store, story: pytest.LogCaptureFixture
) -> None:
    """C++, as a Python program that compiles leaves nothing in the cache."""
    code = f'#include <cstdio>\nint main() {{ int n; scanf("%d", &n); printf("%d", 2 * n); }} // {uuid4()}'
    submission = Submission(key="row-7", problem_id="double", language="c++", code=f"{code} {CODE_MARK}")
    async with Scorer(EmbeddedEngine(store=store, slots=1), store=store) as scorer:
        for is_known in (False, True):
            story.clear()
            result = await scorer.score(PROBLEM, submission)
            assert result.points == 1
            lines = [line for line in story.messages if line.startswith("row-7")]
            check_order(
                lines,
                "row-7: queued: problem double in c++",
                *(
                    ["row-7, submission build: in the cache"]
                    if is_known
                    else [
                        "row-7, submission build: sent to this machine, slot 1",
                        "row-7, submission build: answered by this machine, slot 1",
                    ]
                ),
                "row-7, submission build: built, g++",
                "row-7, tests 01-small, 02-large: queued",
                "row-7, tests 01-small, 02-large: sent to this machine, slot 1",
                "row-7, tests 01-small, 02-large: answered by this machine, slot 1",
                "row-7: test 01-small: AC",
                "row-7: test 02-large: AC",
                "row-7: result: AC, 1 points",
            )
            check_secrets(story.messages)


async def test_submission_on_a_worker_logs_the_server_and_the_number_of_each_request(
    store: Store, story: pytest.LogCaptureFixture, submission: Submission
) -> None:
    trusted = EmbeddedEngine(store=store, slots=1)
    async with on_a_worker(store) as (engine, url), Scorer(engine, store=store, trusted=trusted) as scorer:
        story.clear()
        assert (await scorer.score(PROBLEM, submission)).points == 1
        lines = [line for line in story.messages if line.startswith("row-7")]
    check_order(
        lines,
        "row-7: queued: problem double in python",
        f"row-7, submission build: sent to {url}",
        f"row-7, submission build: answered by {url}",
        "row-7, submission build: built, python3",
        "row-7, tests 01-small, 02-large: queued",
        f"row-7, tests 01-small, 02-large: sent to {url}",
        "row-7, tests 01-small, 02-large: answered with HTTP 200",
        f"row-7, tests 01-small, 02-large: answered by {url}",
        "row-7: test 01-small: AC",
        "row-7: test 02-large: AC",
        "row-7: result: AC, 1 points",
    )
    sent = next(line for line in lines if "tests" in line and "request" in line)
    number = re.findall(r"request ([0-9a-f]{16}) to", sent)[0]
    of_worker = [line for line in story.messages if line.startswith(f"request {number}: ")]
    check_order(of_worker, "received", "queued", "sent to this machine, slot 1", "answered by this machine")
    check_secrets(story.messages)


@pytest.mark.usefixtures("no_retry_waits")
async def test_log_of_a_retried_job_names_its_retry_rule(
    store: Store, story: pytest.LogCaptureFixture, submission: Submission
) -> None:
    engine = FakeEngine(faults=[EngineUnavailable("it went away")])
    async with Scorer(engine, store=store) as scorer:
        await scorer.score(PROBLEM, submission)
    retry_lines = [line for line in story.messages if "tried again" in line]
    assert len(retry_lines) == 1 and retry_lines[0].startswith("row-7, ")
    assert retry_lines[0].endswith("(retry rule `reply`) because: EngineUnavailable: it went away")


@pytest.mark.usefixtures("no_retry_waits")
async def test_judge_failure_names_retry_rule(store: Store, submission: Submission) -> None:
    engine = FakeEngine(faults=itertools.repeat(EngineUnavailable("it went away")))
    async with Scorer(engine, store=store) as scorer:
        with pytest.raises(JudgeFailure, match=r"it went away, after 4 attempts \(retry rule `reply`\)$"):
            await scorer.score(PROBLEM, submission)


async def test_log_without_debug_has_no_step(
    store: Store, caplog: pytest.LogCaptureFixture, submission: Submission
) -> None:
    caplog.set_level(logging.INFO, "ioi_eval")
    async with Scorer(FakeEngine(), store=store) as scorer:
        await scorer.score(PROBLEM, submission)
    assert [line for line in caplog.messages if "row-7" in line] == []


def test_disabled_debug_log_does_not_read_submission_names(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ioi_eval")
    names = iter(["01", "02"])
    with add_work_to_log_lines(logging.getLogger("ioi_eval.some"), "tests", names):
        assert [*names] == ["01", "02"]


def test_log_escapes_line_breaks_in_key(story: pytest.LogCaptureFixture) -> None:
    with track_submission("a\nresult: AC", "double"):
        log_step(logging.getLogger("ioi_eval.some"), "queued")
    assert story.messages == [r"'a\nresult: AC': queued"]
