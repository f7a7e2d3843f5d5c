"""An episode of a contest for a trainer: its score, its last step, and judge failures."""

from __future__ import annotations

import asyncio
import inspect
import re
import shutil
import threading
from pathlib import Path

import pytest
from support.command_line import write_package

from ioi_eval import InputError
from ioi_eval.integrations.runtime import Setup, runtime
from ioi_eval.model.job import Job, JobResult
from ioi_eval.plugins.contest import RefusedCall, UnjudgedCall, tools
from ioi_eval.plugins.contest.episodes import Episode, EpisodeSource
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import Broken, FakeEngine, FakeTest

pytestmark = pytest.mark.usefixtures("closing_reward_runtimes")

SOURCE = str(examples_folder() / "problems" / "lanterns")


def outcome(test: FakeTest) -> float | Broken:
    right = "right" in test.source or f"part_{test.index}" in test.source
    return Broken("out of disks") if "break" in test.source else float(right)


@pytest.fixture(autouse=True)
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Setup(engine=lambda _: FakeEngine(outcome))
    monkeypatch.setattr("ioi_eval.integrations.tasks.EvaluationSource.runtime", lambda source: runtime(setup))


class HeldEngine(FakeEngine):
    """A fake engine that holds jobs that run tests until another thread sets `go`."""

    def __init__(self) -> None:
        super().__init__(outcome)
        self.reached, self.go = threading.Event(), threading.Event()

    async def execute(self, job: Job, check: object = None) -> JobResult:
        if not job.keep:
            self.reached.set()
            await asyncio.to_thread(self.go.wait)
        return await super().execute(job, check)


@pytest.fixture
def held_engine(monkeypatch: pytest.MonkeyPatch) -> HeldEngine:
    engine = HeldEngine()
    setup = Setup(engine=lambda _: engine)
    monkeypatch.setattr("ioi_eval.integrations.tasks.EvaluationSource.runtime", lambda source: runtime(setup))
    return engine


def start_episode(**rules: object) -> Episode:
    return EpisodeSource(SOURCE, rules).start("lanterns")


async def test_episode_ends_with_full_marks() -> None:
    episode = start_episode(submissions=3)
    assert (episode.points_share, episode.is_done, episode.make_summary()["submissions"]) == (0, False, 0)
    assert (await episode.submit("int wrong;"))["points"] == 0 and not episode.is_done
    await episode.submit("int right;")
    assert (episode.points_share, episode.is_done, episode.make_summary()["submissions"]) == (1, True, 2)


def test_long_episode_prompt_is_read_in_parts(tmp_path: Path) -> None:
    folder = tmp_path / "packages" / "lanterns"
    shutil.copytree(examples_folder() / "problems" / "lanterns", folder)
    (statement,) = folder.rglob("*.md")
    statement.write_text("long " * 20_000)
    episode = EpisodeSource(str(folder.parent), {}).start("lanterns")
    pieces, offset = [""], 0
    while notice := re.search(
        r"\n\nCharacters .* `statement\(offset=(\d+)\)` reads on\.\n$", episode.read_statement(offset)
    ):
        pieces.append(episode.read_statement(offset)[: notice.start()])
        offset = int(notice[1])
    pieces.append(episode.read_statement(offset))
    assert "".join(pieces) == episode.prompt and max(map(len, pieces)) == 32_768
    assert start_episode().read_statement() == start_episode().prompt


# Rounded points are below full marks, and floating-point sums may be above full marks.
@pytest.mark.parametrize("points", [(33.333, 33.333, 33.333), (34.6, 55.2, 10.2)])
@pytest.mark.parametrize("programs", [("right",), ("part_0", "part_1", "part_2")])
async def test_episode_ends_with_full_marks_despite_rounded_points(
    tmp_path: Path, points: tuple[float, ...], programs: tuple[str, ...]
) -> None:
    tests = ("1-1", "1-2", "2-1")
    subtasks = {test: (worth, [test]) for test, worth in zip(tests, points, strict=True)}
    episode = EpisodeSource(str(write_package(tmp_path / "add", subtasks=subtasks)), {}).start("add")
    for program in programs:
        assert episode.points_share < 1 and not episode.is_done
        await episode.submit(f"int {program};")
    assert (episode.points_share, episode.is_done) == (1, True)


@pytest.mark.parametrize("languages", ["cpp", ["cpp"], ("cpp",)])
def test_languages_option_accepts_a_single_string(languages: object) -> None:
    """A command line option cannot contain a list of a single string."""
    assert start_episode(languages=languages).statement.languages == ("c++",)


async def test_episode_ends_when_all_submissions_are_used() -> None:
    episode = start_episode(submissions=1)
    await episode.submit("int wrong;")
    assert (episode.points_share, episode.is_done) == (0, True)
    with pytest.raises(RefusedCall, match="all 1 submissions"):
        await episode.submit("int right;")


async def test_judge_failure_is_reported_until_a_submission_is_judged() -> None:
    """It must not become a score, and later results must not be lost."""
    episode = start_episode()
    with pytest.raises(UnjudgedCall):
        await episode.submit("int break_it;")
    assert "out of disks" in episode.make_summary()["unjudged"] and episode.submission_count == 0
    await episode.submit("int right;")
    assert "unjudged" not in episode.make_summary() and episode.points_share == 1


@pytest.mark.parametrize(("code", "share"), [("int right;", 1), ("int break_it;", 0)])
async def test_cancelled_submit_call_still_counts(code: str, share: float, held_engine: HeldEngine) -> None:
    """A judge failure counts too, and must not become a score."""
    episode = start_episode()
    call = asyncio.create_task(episode.submit(code))
    await asyncio.to_thread(held_engine.reached.wait)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert episode.make_summary()["submissions"] == 0
    held_engine.go.set()
    await episode.wait_for_calls()
    assert (episode.points_share, bool(episode.unjudged_reason)) == (share, not share)


def test_unknown_problem_or_invalid_rule_is_input_error() -> None:
    with pytest.raises(InputError, match="no problem 'tide'"):
        EpisodeSource(SOURCE, {}).start("tide")
    with pytest.raises(InputError, match="a rule of the contest is invalid"):
        EpisodeSource(SOURCE, {"submissions": "many"})


@pytest.mark.parametrize("name", ["run", "test", "submit"])
def test_episode_tool_has_the_documented_contest_signature(name: str) -> None:
    """Trainers read the tools of a model from the signatures and from `Args:` in the docstrings."""
    own_signature, shared = (inspect.signature(getattr(owner, name)) for owner in (Episode, tools))
    assert [*own_signature.parameters] == ["self", *[*shared.parameters][2:]]
    described = inspect.getdoc(getattr(Episode, name)) or ""
    assert all(f"    {parameter}: " in described for parameter in [*own_signature.parameters][1:])
