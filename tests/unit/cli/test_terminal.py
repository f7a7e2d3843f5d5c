"""Golden files of score tables at several terminal widths. Lines break at blanks only; no digit is cut."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from ioi_eval.cli import console
from ioi_eval.cli.scores import _ScoresPrinter, _TextBlock, print_comparison, print_scores
from ioi_eval.models import Verdict
from ioi_eval.reports import ComparedRun, ModelSummary, ProblemSummary, Summary
from ioi_eval.reports.headline import make_headline
from ioi_eval.reports.records import Settings
from ioi_eval.rules.metrics import PassAtK
from ioi_eval.rules.scoring import ScoreMode

GOLDEN = Path(__file__).parent / "terminal"
WIDTHS = (60, 80, 120, 200)
NAMES = (
    "heron-7b",
    "laboratory/otter-72b-instruct-2026-01",
    "模型-三十二-十亿",
    "grebe",
    "a/b",
    "",
    "teal-1.5b-base-checkpoint-0004000",
    "wigeon",
)


def problem(number: int, solved: int, unscored: int) -> ProblemSummary:
    return ProblemSummary(
        problem_id=f"problem-{number:03}",
        points=100 if solved else 12.34,
        max_points=100,
        submissions=1050,
        scored=1050 - unscored,
        unscored=unscored,
        compiled=1000,
        solved=solved,
        mean_points=12.5,
        best_pass_rate=None,
        verdicts={Verdict.AC: solved, Verdict.WA: 900, Verdict.TLE: 41, Verdict.CE: 50 - unscored},
        subtasks=(),
    )


def model(name: str, problems: int, *, unscored: int = 0) -> ModelSummary:
    model_problems = tuple(problem(n, 59 * (n % 2), unscored) for n in range(problems))
    number = 1050 * problems
    return ModelSummary(
        model=name,
        points=sum(entry.points or 0 for entry in model_problems),
        max_points=100 * problems,
        share_low=0.4,
        share_high=0.7,
        problems_solved=problems // 2,
        submissions=number,
        scored=number - unscored * problems,
        unscored=unscored * problems,
        compiled=1000 * problems,
        solved=sum(entry.solved for entry in model_problems),
        verdicts={
            status: problems * model_problems[0].verdicts[status] or 1
            for status in model_problems[0].verdicts
        },
        problems=model_problems,
        pass_at=tuple(
            PassAtK(k=k, value=0.405 + k / 100, low=0.254, high=0.54, problems=problems, lacking=0)
            for k in (1, 5, 10)
        ),
    )


def summary(models: int, problems: int) -> Summary:
    models_shown = tuple(
        model(name, problems, unscored=3 * (n == 1)) for n, name in enumerate(NAMES[:models])
    )
    return Summary(
        submissions=1,
        scored=1,
        unscored=0,
        problems=problems,
        verdicts=models_shown[0].verdicts,
        models=models_shown,
        headline=make_headline(models_shown, ScoreMode.MAX_SUBTASK, 50),
        failures=(),
        settings=Settings(),
    )


RUNS = {"one": summary(1, 3), "two": summary(2, 4), "many": summary(8, 300)}


@pytest.fixture(params=[*WIDTHS, None], ids=[*map(str, WIDTHS), "piped"])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int | None:
    if request.param is not None:
        monkeypatch.setattr(console, "get_line_width", lambda: min(request.param, console.WIDTH))
    return request.param


def matches(printed: str, name: str) -> bool:
    """Compare with a golden file. IOI_EVAL_GOLDEN=write writes it; check the changes before you commit it."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("IOI_EVAL_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(printed)
    return printed == path.read_text()


def columns(line: str) -> int:
    return sum(2 if "\u2e80" < char < "\uffdc" else 1 for char in line)


def fits(lines: list[str], width: int | None) -> bool:
    return width is None or max(map(columns, lines)) <= min(width, 100)


def is_of(line: str, model: str) -> bool:
    """Return True if a row is of this model, whose name may be shortened in the middle."""
    name = line.split("  ")[0]
    begin, cut, end = name.partition("…")
    return name == (model or "(no name)") or (cut and model.startswith(begin) and model.endswith(end))


@pytest.mark.parametrize("run", RUNS)
def test_score_table_fits_the_terminal_width(
    capsys: pytest.CaptureFixture[str], width: int | None, run: str
) -> None:
    print_scores(RUNS[run])
    printed = capsys.readouterr().out
    assert matches(printed, f"{run}-{width or 'piped'}")
    lines = printed.splitlines()
    assert len(lines) <= 40 and fits(lines, width)
    assert "pass@1" in printed
    last = printed.rpartition("\n\n")[2].splitlines()
    assert last[0] == "Headline: points" and last[1].startswith("model")
    for printed_model in RUNS[run].models:
        (row,) = (
            line
            for line in lines
            if is_of(line, printed_model.model) and f" {printed_model.points:,g} " in line
        )
        assert width or row.startswith(printed_model.model)


def test_terminal_shows_large_points_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    many = msgspec.structs.replace(summary(1, 1).models[0], points=1_234_567.891, max_points=2_000_000)
    print_scores(msgspec.structs.replace(summary(1, 1), models=(many,)))
    lines = capsys.readouterr().out.splitlines()
    cells = lines[lines.index("Headline: points") + 2].split()
    assert cells[1:4] == ["1,234,567.89", "\N{EN DASH}", "2,000,000"]


def test_comparison_fits_terminal_width(capsys: pytest.CaptureFixture[str], width: int | None) -> None:
    print_comparison(
        [ComparedRun(name=name, summary=summary(2, 3)) for name in ("runs/before", "runs/after")]
    )
    printed = capsys.readouterr().out
    assert matches(printed, f"comparison-{width or 'piped'}")
    lines = printed.splitlines()
    assert fits(lines, width)
    assert (
        width
        or sum(line.startswith("runs/after: laboratory/otter-72b-instruct-2026-01") for line in lines) == 2
    )


@pytest.mark.parametrize("width", [30, 31, 40])
def test_wide_characters_are_cut_to_column_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "get_line_width", lambda: width)
    table = console.format_table(
        ["Model", "Points"], [["\u6a21\u578b" * 20, "12.5"]], right_aligned_heads={"Points"}
    )
    widths = [sum(1 + (char > "\u2fff") for char in line) for line in table]
    assert max(widths) <= width and len(widths) == 2


def test_list_of_omitted_tables_fits_terminal_width(
    capsys: pytest.CaptureFixture[str], width: int | None
) -> None:
    screen, tables = _ScoresPrinter(), [f"table {number} of many" for number in range(8)]
    for name in tables:
        screen.add(name, _TextBlock(before=["a sentence"] * 100))
    screen.print_footer()
    lines = capsys.readouterr().out.splitlines()[1:]
    assert " ".join(lines) == f"In the report: {', '.join(tables)}." and fits(lines, width)
    assert len(lines) == (1 if width is None else 3 if width < 80 else 2)
