"""A contest in a run's folder: rows, rules, reports, and recovery after a kill."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.clocks import FastForwardClock
from support.engines import fake_capabilities
from support.waiting import until
from support.warm_command import warm_command

from ioi_eval import InputError, Results, load_problems
from ioi_eval.plugins.contest import Feedback, RefusedCall, Rules, UnjudgedCall, open_contest
from ioi_eval.runs import RunOptions
from ioi_eval.store.folder import read_progress, read_rows
from ioi_eval.store.resources import examples_folder
from ioi_eval.store.tasks import read_tasks
from ioi_eval.testing import Broken, FakeEngine, FakeTest

SOURCE = str(examples_folder() / "problems" / "lanterns")


def outcome(test: FakeTest) -> float | Broken:
    return Broken("no") if "break" in test.source else 0.0 if str(test.index) in test.source else 1.0


async def test_contest_submissions_are_recorded_as_result_rows(tmp_path: Path) -> None:
    times = iter(range(1000, 2000))
    rules = Rules(submissions=3, runs=4)
    async with open_contest(
        SOURCE, rules, out=tmp_path / "cup", engine=FakeEngine(outcome), clock=lambda: next(times)
    ) as contest:
        session = contest.session("otter")
        await session.submit("lanterns", "3", cost=0.25)
        await session.submit("lanterns", "right")
        with pytest.raises(UnjudgedCall):
            await session.submit("lanterns", "break")
    rows = list(read_rows(tmp_path / "cup"))
    assert [row["key"] for row in rows] == ["otter/lanterns#1", "otter/lanterns#2"]
    first_row: dict[str, Any] = rows[0]
    assert (first_row["model"], first_row["participant"], first_row["attempt"], first_row["cost"]) == (
        "otter",
        "otter",
        1,
        0.25,
    )
    assert first_row["code"] == "3" and 0 < first_row["contest_seconds"] < rows[1]["contest_seconds"]
    (failure,) = [json.loads(line) for line in (tmp_path / "cup" / "failures.jsonl").open()]
    assert failure["key"] == "otter/lanterns#3"
    (model,) = Results.open(tmp_path / "cup").summary().models
    assert (model.model, model.points) == ("otter", 100)
    report = (tmp_path / "cup" / "report.md").read_text()
    assert "otter" in report and re.match(r"# Scores of \d participants?\n", report), report[:200]


async def test_points_of_untried_problems_count_in_the_maximum(tmp_path: Path) -> None:
    """The description of a problem is updated at its first submission."""
    two = tmp_path / "two"
    for name in ("lanterns", "tide"):
        shutil.copytree(examples_folder() / "problems" / name, two / name)
    for tried, points in (("lanterns", 100), ("tide", 200)):
        async with open_contest(str(two), out=tmp_path / "cup", engine=FakeEngine(outcome)) as contest:
            session = contest.session("otter")
            await session.submit(tried, "right")
            assert session.standing().points_max == 200
            (model,) = Results.open(tmp_path / "cup").summary().models
            assert (model.max_points, len(model.problems)) == (200, 2), (
                "the maximum counts all problems while the contest is open"
            )
        results = Results.open(tmp_path / "cup")
        summary = results.summary()
        (model,) = summary.models
        assert (model.points, model.max_points, model.problems_solved) == (points, 200, points / 100)
        assert summary.problems == len(model.problems) == 2
        tasks = read_tasks(tmp_path / "cup")
        assert [bool(tasks[name].sha256) for name in ("lanterns", "tide")] == [True, tried == "tide"]
        report = (tmp_path / "cup" / "report.md").read_text()
        assert f"\notter: {points} of 200 points" in report, report
        assert [problem.year for problem in model.problems] == [2025, 2025]
        linked = re.findall(r'href="(report/[^"#]+)', (tmp_path / "cup" / "report.html").read_text())
        assert linked and all((tmp_path / "cup" / page).exists() for page in linked), linked


async def test_reopened_contest_continues_with_counts_and_clock(tmp_path: Path) -> None:
    rules = Rules(submissions=2, seconds=100)
    clock = [1000.0]
    for number in (1, 2):
        async with open_contest(
            SOURCE, rules, out=tmp_path, engine=FakeEngine(outcome), clock=lambda: clock[0]
        ) as contest:
            session = contest.session("otter")
            reply = await session.submit("lanterns", f"right // {number}")
            assert (reply.number, reply.submissions_left) == (number, 2 - number)
        clock[0] += 40
    async with open_contest(
        SOURCE, rules, out=tmp_path, engine=FakeEngine(outcome), clock=lambda: clock[0]
    ) as contest:
        session = contest.session("otter")
        assert session.standing().seconds_left == 20
        assert (await session.submit("lanterns", "right // 1")).repeats
        with pytest.raises(RefusedCall, match="all 2 submissions"):
            await session.submit("lanterns", "right // 3")


async def test_partial_last_line_of_runs_file_is_removed_on_reopening(tmp_path: Path) -> None:
    tide = str(examples_folder() / "problems" / "tide")
    for number in range(3):
        async with open_contest(tide, Rules(runs=9), out=tmp_path, engine=FakeEngine(outcome)) as contest:
            assert (await contest.session("otter").run("tide", f"right // {number}")).runs_left == 8 - number
        with (tmp_path / "runs.jsonl").open("ab") as runs:
            runs.write(b'{"participant":"ot')


async def test_changed_rules_of_a_started_contest_are_refused_unless_fresh(tmp_path: Path) -> None:
    async with open_contest(SOURCE, Rules(), out=tmp_path, engine=FakeEngine()) as contest:
        await contest.session("otter").submit("lanterns", "right")
    other = Rules(feedback=Feedback.NONE)
    with pytest.raises(InputError, match="contest-feedback: full -> none"):
        async with open_contest(SOURCE, other, out=tmp_path, engine=FakeEngine()):
            pass
    fresh = RunOptions(fresh=True)
    async with open_contest(SOURCE, other, out=tmp_path, engine=FakeEngine(), options=fresh) as contest:
        assert contest.session("otter").problems()[0].attempts == 0


async def test_changed_rules_are_refused_even_before_first_submission(tmp_path: Path) -> None:
    """The clock already runs and runs on own inputs were counted, which a restart would lose."""
    tide, clock = str(examples_folder() / "problems" / "tide"), iter(range(1000, 2000))
    async with open_contest(
        tide, Rules(runs=9), out=tmp_path, engine=FakeEngine(outcome), clock=lambda: next(clock)
    ) as contest:
        await contest.session("otter").run("tide", "right")
    files_before = {
        name: (tmp_path / name).read_bytes() for name in ("contest.json", "runs.jsonl", "run.json")
    }
    with pytest.raises(InputError, match="contest-runs: 9 -> 10"):
        async with open_contest(tide, Rules(runs=10), out=tmp_path, engine=FakeEngine(outcome)):
            pass
    assert {name: (tmp_path / name).read_bytes() for name in files_before} == files_before


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (
            ("haskell",),
            r"no compiler or interpreter is available for haskell. Allow only available languages: .*c\+\+",
        ),
        (("haskell", "c++", "pascal"), "no compiler or interpreter is available for haskell, pascal"),
        (("welsh",), "field 'languages': unknown language 'welsh'"),
    ],
)
async def test_contest_in_uninstalled_language_is_not_opened(
    tmp_path: Path, languages: tuple[str, ...], message: str
) -> None:
    profile = fake_capabilities()
    toolchains = {name: tool for name, tool in profile.toolchains.items() if name not in ("ghc", "fpc")}
    engine = FakeEngine(capabilities=msgspec.structs.replace(profile, toolchains=toolchains))
    with pytest.raises(InputError, match=message):
        async with open_contest(SOURCE, Rules(languages=languages), out=tmp_path / "cup", engine=engine):
            pass
    assert not (tmp_path / "cup" / "contest.json").exists()


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("reuse", RunOptions(reuse=("runs/other",))),
        ("share", RunOptions(share=False)),
    ],
)
async def test_unsupported_run_option_opens_no_contest(
    tmp_path: Path, field: str, options: RunOptions
) -> None:
    with pytest.raises(InputError, match=f"field '{field}': a contest cannot use this option"):
        async with open_contest(SOURCE, out=tmp_path / "cup", engine=FakeEngine(), options=options):
            pass
    assert not (tmp_path / "cup").exists()


async def test_changed_problem_is_refused_and_keeps_submissions(tmp_path: Path) -> None:
    source, cup = tmp_path / "lanterns", tmp_path / "cup"
    shutil.copytree(SOURCE, source)
    async with open_contest(source, out=cup, engine=FakeEngine()) as contest:
        await contest.session("otter").submit("lanterns", "right")
    answer = next(source.glob("tests/*.out"))
    answer_before, rows = answer.read_text(), (cup / "results.jsonl").read_bytes()
    answer.write_text("other\n")
    for _ in range(2):
        with pytest.raises(InputError, match=r"lanterns: changed.* so that 1 submission would be lost"):
            async with open_contest(source, out=cup, engine=FakeEngine()):
                pass
    assert (cup / "results.jsonl").read_bytes() == rows
    answer.write_text(answer_before)
    async with open_contest(source, out=cup, engine=FakeEngine()) as contest:
        assert contest.session("otter").problems()[0].attempts == 1
    answer.write_text("other\n")
    async with open_contest(source, out=cup, engine=FakeEngine(), options=RunOptions(fresh=True)) as contest:
        assert contest.session("otter").problems()[0].attempts == 0


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Rules(seconds=-5.0), "field 'seconds': -5.0: expected `float` > 0.0"),
        (Rules(seconds=0.0), "field 'seconds': 0.0: expected `float` > 0.0"),
        (Rules(seconds=float("nan")), "field 'seconds': nan: expected `float` > 0.0"),
        (Rules(pause=float("nan")), "field 'pause': nan: expected `float` >= 0.0"),
        (Rules(submissions=-3), "field 'submissions': -3: expected `int` >= 1"),
        (Rules(feedback="some"), "field 'feedback': 'some': invalid enum value 'some'"),  # type: ignore[arg-type]
    ],
)
async def test_contradictory_rules_open_no_contest(tmp_path: Path, rules: Rules, message: str) -> None:
    with pytest.raises(InputError) as refused:
        async with open_contest(SOURCE, rules, out=tmp_path / "cup", engine=FakeEngine()):
            pass
    assert message in str(refused.value) and not (tmp_path / "cup").exists()


async def test_report_lists_the_participants_of_the_scoreboard(tmp_path: Path) -> None:
    """Participants without submissions are listed until they are removed."""
    for names in (("owl", "otter", "heron"), ("otter", "heron")):
        async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine(), participants=names) as contest:
            await contest.session("heron").submit("lanterns", "right")
            shown = [(entry.participant, entry.points) for entry in contest.scoreboard()]
        board = Results.open(tmp_path).summary().more["contest"]
        reported_entrants = [(entrant["participant"], entrant["points"]) for entrant in board["entrants"]]
        assert reported_entrants == shown and {name for name, _ in reported_entrants} == {*names}
        board = (tmp_path / "report.md").read_text().split("\n## Scoreboard\n")[1].split("\n## ")[0]
        assert all(name in board for name in names) and ("owl" in board) == ("owl" in names)


async def test_contest_file_without_start_time_is_input_error(tmp_path: Path) -> None:
    async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine()):
        pass
    (tmp_path / "contest.json").write_text("{}")
    with pytest.raises(InputError, match=r"contest\.json: does not contain the contest's start"):
        async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine()):
            pass


async def test_contest_is_opened_with_loaded_problems(tmp_path: Path) -> None:
    problems = load_problems(SOURCE, cache=tmp_path / "cache", only={"lanterns"})
    async with open_contest(problems, out=tmp_path / "cup", engine=FakeEngine()) as contest:
        assert [problem.id for problem in contest.session("x").problems()] == ["lanterns"]


async def test_contest_continues_with_an_upgraded_compiler(tmp_path: Path) -> None:
    older = fake_capabilities()
    newer = msgspec.structs.replace(older.toolchains["g++"], version="2.0", identity="g++ 2.0 (fake)")
    profile = msgspec.structs.replace(older, toolchains={**older.toolchains, "g++": newer})
    for number, engine in enumerate((FakeEngine(), FakeEngine(capabilities=profile)), 1):
        async with open_contest(SOURCE, out=tmp_path, engine=engine) as contest:
            reply = await contest.session("otter").submit("lanterns", f"right // {number}")
            assert reply.number == number
    first, second = (row["compiler"] for row in read_rows(tmp_path))
    assert first != second


async def test_submission_in_progress_at_closing_is_judged_on_reopening(tmp_path: Path) -> None:
    engine = FakeEngine(outcome, delay=3600)
    async with open_contest(SOURCE, Rules(submissions=1), out=tmp_path, engine=engine) as contest:
        session = contest.session("otter")
        call = asyncio.create_task(session.submit("lanterns", "right"))
        await engine.started.wait()
    (late,) = await asyncio.gather(call, return_exceptions=True)
    assert isinstance(late, UnjudgedCall) and list(read_rows(tmp_path)) == []
    with pytest.raises(RefusedCall, match="the contest is over"):
        await session.submit("lanterns", "right")
    async with open_contest(
        SOURCE, Rules(submissions=1), out=tmp_path, engine=FakeEngine(outcome)
    ) as contest:
        session = contest.session("otter")
        with pytest.raises(RefusedCall, match="all 1 submissions"):
            await session.submit("lanterns", "other")
    (row,) = read_rows(tmp_path)
    assert (row["key"], row["code"], row["points"]) == ("otter/lanterns#1", "right", 100)
    assert not any((tmp_path / "in-progress").iterdir())


async def test_judged_submission_is_not_judged_again_on_reopening(tmp_path: Path) -> None:
    """The contest was killed after it wrote the row and before it removed the pending submission."""
    async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine(delay=3600)) as contest:
        asyncio.create_task(contest.session("otter").submit("lanterns", "right"))  # noqa: RUF006
        await until(lambda: any((tmp_path / "in-progress").glob("[!.]*.json")))
    (path,) = (tmp_path / "in-progress").iterdir()
    rows_before = path.read_bytes()
    async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine()) as contest:
        await contest.session("otter").settle()
    path.write_bytes(rows_before)
    async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine()) as contest:
        await contest.session("otter").settle()
        assert contest.session("otter").problems()[0].attempts == 1 and not path.exists()
    path.write_bytes(b"{")
    with pytest.raises(InputError, match=r"otter-\w+\.json: is not a submission"):
        async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine()):
            pass
    fresh = RunOptions(fresh=True)
    async with open_contest(SOURCE, out=tmp_path, engine=FakeEngine(), options=fresh) as contest:
        assert contest.session("otter").problems()[0].attempts == 0


async def test_contest_is_not_reopened_without_the_problem_of_a_pending_submission(tmp_path: Path) -> None:
    two, cup = tmp_path / "two", tmp_path / "cup"
    for name in ("lanterns", "tide"):
        shutil.copytree(examples_folder() / "problems" / name, two / name)
    async with open_contest(str(two), out=cup, engine=FakeEngine(delay=3600)) as contest:
        asyncio.create_task(contest.session("otter").submit("tide", "right"))  # noqa: RUF006
        await until(lambda: any((cup / "in-progress").glob("[!.]*.json")))
    shutil.rmtree(two / "tide")
    with pytest.raises(InputError, match="the problem tide is not in the contest any more"):
        async with open_contest(str(two), out=cup, engine=FakeEngine()):
            pass


async def test_progress_file_shows_running_submissions_and_the_end(tmp_path: Path) -> None:
    engine, clock = FakeEngine(delay=3600), FastForwardClock()
    async with open_contest(SOURCE, out=tmp_path, engine=engine) as contest:
        call = asyncio.create_task(contest.session("otter").submit("lanterns", "right"))

        def shown() -> bool:
            progress = read_progress(tmp_path)
            return progress is not None and progress.under_way == 1

        await until(lambda: contest.under_way)
        await clock.advance(1.1)
        await until(shown)
        progress = read_progress(tmp_path)
        assert progress is not None and [submission.key for submission in progress.submissions] == [
            "otter/lanterns#1"
        ]
        assert progress.at is not None and not progress.ended
        call.cancel()
    ended = read_progress(tmp_path)
    assert ended is not None and ended.ended and ended.under_way == 0
    await asyncio.gather(call, return_exceptions=True)


SERVER = """
import asyncio, sys
from ioi_eval.plugins.contest import Rules, open_contest
from ioi_eval.testing import FakeEngine

async def compete(session, first):
    for number in range(first, first + 1000):
        told = await session.submit("lanterns", f"right // {number}")
        assert not told.repeats
        print(session.participant, told.number, number, flush=True)
        await asyncio.sleep(0)

async def main(source, out, first):
    engine = FakeEngine(slots=4, delay=0.002)
    async with open_contest(source, Rules(submissions=None), out=out, engine=engine) as contest:
        sessions = [contest.session(f"p{number}") for number in range(20)]
        await asyncio.gather(*(compete(session, int(first)) for session in sessions))

asyncio.run(main(*sys.argv[1:]))
"""


def killed_after(lines: int, folder: Path, first: int) -> list[tuple[str, int, int]]:
    """Run a contest server, kill it after some replies, and return the replies."""
    script = folder.with_name("server.py")
    script.write_text(SERVER)
    server = warm_command().start([SOURCE, str(folder), str(first)], folder.parent, os.environ, str(script))
    try:
        output_lines = [server.stdout.readline() for _ in range(lines)]
    finally:
        server.kill()
    output_lines += server.communicate()[0].splitlines(keepends=True)
    assert all(output_lines)
    return [
        (name, int(number), int(code))
        for name, number, code in (line.split() for line in output_lines if line.endswith("\n"))
    ]


async def test_killed_contest_process_loses_and_duplicates_no_submission(tmp_path: Path) -> None:
    folder = tmp_path / "cup"
    answered = killed_after(30, folder, 0)
    answered += killed_after(30, folder, 10_000)
    async with open_contest(SOURCE, Rules(submissions=None), out=folder, engine=FakeEngine()) as contest:
        rows = list(read_rows(folder))
        recorded_codes = {(row["participant"], row["attempt"]): row["code"] for row in rows}
        assert len(recorded_codes) == len(rows) and all(
            recorded_codes[name, number] == f"right // {code}" for name, number, code in answered
        )
        assert len({(row["participant"], row["code"]) for row in rows}) == len(rows)
        numbers = Counter(name for name, _ in recorded_codes)
        for name, last_number in numbers.items():
            assert {number for who, number in recorded_codes if who == name} == {*range(1, last_number + 1)}
            assert contest.session(name).problems()[0].attempts == last_number
