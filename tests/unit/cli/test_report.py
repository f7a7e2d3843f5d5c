"""`ioi-eval report` on runs that nobody judged anew: their rows are there already."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.command_line import CommandLine, contents
from support.runs import failure_row, result_row

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Verdict

WRONG = {"3-a": Verdict.WA}
HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]x[/bold] \u202e <script>"


def run(folder: Path, **models: int) -> Path:
    """A contest of 2024: models solve so many of its six problems, of the others not the last subtask."""
    rows = []
    for model, solved in models.items():
        for n, letter in enumerate("abcdef"):
            of, difficulty = problem(f"p{letter}"), "easy" if n < 3 else "hard"
            columns = {"model": model, "year": 2024, "difficulty": difficulty}
            sent = submission(f"{model}-{letter}", problem_id=of.id, row=columns)
            rows.append(result_row(sent, of, result(sent, {} if n < solved else WRONG, problem=of)))
    return write_run(folder, rows)


@pytest.mark.once
def test_one_run(cli: CommandLine) -> None:
    run(cli.folder / "run", m1=6, m2=0)
    done = cli("report", "run")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) <= 40
    place = lines.index("Points by the number of submissions")
    assert [line.split() for line in lines[place + 1 : place + 4]] == [
        ["model", "all", "50", "one", "of"],
        ["m1", "600", "600", "600", "600"],
        ["m2", "303", "303", "303", "600"],
    ]
    place = lines.index("Medals")
    assert lines[place + 2].split() == ["m1", "2024", *["600", "gold"] * 3]
    assert lines[place + 3].split() == ["m2", "2024", *["303", "silver"] * 3]
    place = lines.index("By difficulty")
    assert lines[place + 2].split()[:5] == ["easy", "m1", "3", "3", "300"]
    assert "pass@5: no problem has 5 scored submissions." in lines
    assert lines[-1] == "Report: run/report.md, for a browser run/report.html"
    assert {"summary.json", "report.md", "report.html"} <= contents(cli.folder / "run").keys()


@pytest.mark.skipif(os.geteuid() == 0, reason="may write everywhere")
def test_runs_that_may_only_be_read(cli: CommandLine) -> None:
    theirs, mine = run(cli.folder / "theirs", m1=6), run(cli.folder / "mine", m1=5)
    theirs.chmod(0o555)
    alone = cli("report", theirs)
    assert alone.returncode == 2 and "the folder cannot be written. A run's reports lie in" in alone.stderr
    together = cli("report", theirs, mine, "--out", "both")
    assert together.returncode == 0, together.stderr
    assert (mine / "report.md").exists() and not (theirs / "report.md").exists()
    nowhere = cli("report", theirs, mine, "--out", theirs / "both")
    assert nowhere.returncode == 2 and "both: cannot be written: Permission denied" in nowhere.stderr
    theirs.chmod(0o755)


@pytest.mark.once
def test_options(cli: CommandLine) -> None:
    run(cli.folder / "run", m1=6)
    (cli.folder / "mine.toml").write_text("[2024]\ngold = 600\nsilver = 599\n")
    options = ("--mode", "max", "--k", 1, "--k", 3, "--medals", "mine.toml", "--submissions", 7, "--json")
    done = cli("report", "run", *map(str, options))
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout).values()
    assert (found["mode"], found["submission_limit"]) == ("max", 7)
    (model,) = found["models"]
    assert [one["k"] for one in model["pass_at"]] == [1, 3]
    assert {given["award"]["medal"] for given in model["awards"]} == {"gold"}
    assert json.loads((cli.folder / "run" / "summary.json").read_text()) == found


@pytest.mark.once
@pytest.mark.sample("options[02]")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--medals", "bad.toml"), "error: bad.toml, field '2024': "),
        (("--medals", "none.toml"), "error: none.toml: cannot be read"),
        (("--k", "0"), "--k"),
        (("--mode", "best"), "max_subtask"),
        (("elsewhere",), "error: elsewhere: there is no run in this folder"),
    ],
)
def test_bad_options_are_one_error(cli: CommandLine, options: tuple[str, ...], said: str) -> None:
    run(cli.folder / "run", m1=1)
    (cli.folder / "bad.toml").write_text("[2024]\nplatinum = 3\n")
    done = cli("report", "run", *options)
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.once
def test_runs_side_by_side(cli: CommandLine) -> None:
    run(cli.folder / "a", m1=2), run(cli.folder / "b", m1=4, m2=1)
    done = cli("report", "a", "b", "a", "--out", "both")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:3] for line in lines if line.startswith(("a: ", "b: "))][:3] == [
        ["a:", "m1", "402"],
        ["b:", "m1", "501"],
        ["b:", "m2", "352.5"],
    ]
    assert lines[-1] == "Report: both/comparison.md, for a browser both/comparison.html"
    written = {f"comparison.{kind}" for kind in ("json", "md", "html")} | {"differences.json"}
    assert contents(cli.folder / "both").keys() == written
    assert "Difficulty by models" in (cli.folder / "both" / "comparison.md").read_text()
    assert (cli.folder / "b" / "report.html").exists()


@pytest.mark.once
def test_open_starts_a_browser(cli: CommandLine) -> None:
    run(cli.folder / "run", m1=1)
    browser = cli.folder / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" > '{cli.folder}/opened'\n")
    browser.chmod(0o755)
    with_browser = CommandLine(folder=cli.folder, cache=cli.cache, environment={"BROWSER": f"{browser} %s"})
    assert with_browser("report", "run", "--open").returncode == 0
    assert (cli.folder / "opened").read_text().strip() == (cli.folder / "run" / "report.html").as_uri()
    nobody = CommandLine(
        folder=cli.folder,
        cache=cli.cache,
        environment={"BROWSER": "/nonexistent %s", "PATH": "", "DISPLAY": ""},
    )
    done = nobody("report", "run", "--open")
    assert (done.returncode, "no browser could be started" in done.stderr) == (2, True)


@pytest.mark.once
def test_the_terminal_obeys_nothing_of_others(cli: CommandLine) -> None:
    columns: dict[str, Any] = {"model": HOSTILE, "difficulty": HOSTILE, "tags": [HOSTILE]}
    sent = submission("k", row=columns)
    for name in ("a", "b" + "\x1b[31m"):
        row = result_row(sent, SUM, result(sent, feedback=HOSTILE))
        write_run(
            cli.folder / name, [row], [failure_row(submission("f", row=columns), JudgeFailure(HOSTILE))]
        )
    for folders in (["a"], ["a", "b\x1b[31m"]):
        shown = cli("report", *folders).stdout
        assert all(char.isprintable() or char == "\n" for char in shown)
        assert "[bold]" in shown, "what looks like markup is text"
