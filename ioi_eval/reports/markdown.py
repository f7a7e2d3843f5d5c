"""A summary as a page for people."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.journal.files import replace
from ioi_eval.models import Verdict
from ioi_eval.reports.summary import summary, write_summary
from ioi_eval.reports.text import NOTHING, Markdown, bar, block, counted, inline, number, share, table
from ioi_eval.reports.validation import section
from ioi_eval.reports.values import ModelSummary, ProblemSummary, Settings, Summary
from ioi_eval.validation import Validation, read_validation

REPORT = "report.md"
_COMMAND = "command"  # the setting that says how the run was started


def write_reports(folder: Path) -> Summary:
    """Writes summary.json and report.md of a run's folder, each as a whole."""
    run = summary(folder)
    write_summary(folder, run)
    replace(folder / REPORT, [markdown(run, read_validation(folder)).encode()])
    return run


def markdown(run: Summary, validation: Validation | None = None) -> str:
    """Everything that is put into the page is escaped unless it was made by our own tables."""
    import jinja2

    environment = jinja2.Environment(
        finalize=inline,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # that is for HTML: `finalize` escapes for Markdown
    )
    source = importlib.resources.files("ioi_eval.reports").joinpath("report.md.j2").read_text("utf-8")
    template = environment.from_string(source, globals={"counted": counted, "block": block})
    command = run.settings.given.get(_COMMAND)
    return template.render(
        run=run,
        page=_Page(run),
        command=command if isinstance(command, str) else "",
        validation=section(validation) if validation is not None else "",
    )


class _Page:
    """The tables of the page."""

    def __init__(self, run: Summary) -> None:
        self._run = run
        self._several = len(run.models) > 1

    def models(self) -> Markdown:
        heads = ["Model", "Points", "of", "Share", "Solved", "Submissions", "Compiled", "Unscored"]
        rows = [
            [
                _name(model.model),
                number(model.points) if model.max_points else NOTHING,
                number(model.max_points) if model.max_points else NOTHING,
                _share(model),
                f"{model.problems_solved} of {counted(len(model.problems), 'problem')}",
                f"{model.submissions:,}",
                share(model.compiled, model.scored),
                f"{model.unscored:,}",
            ]
            for model in self._run.models
        ]
        return table(heads, rows, "lrrllrrr")

    def by_problem(self) -> Markdown:
        heads = ["Problem", "of", *(_name(model.model) for model in self._run.models)]
        columns = [model.problems for model in self._run.models]
        rows = [[row[0].problem_id, _whole(row), *map(_points, row)] for row in zip(*columns, strict=True)]
        return table(heads, rows, "l" + "r" * (len(heads) - 1))

    def verdicts(self) -> Markdown:
        statuses = list(self._run.verdicts)[::-1]
        rows = [[_name(m.model), *_counts(m.verdicts, statuses), f"{m.unscored:,}"] for m in self._run.models]
        if self._several:
            rows.append(["All", *_counts(self._run.verdicts, statuses), f"{self._run.unscored:,}"])
        return table(["Model", *statuses, "Unscored"], rows, "l" + "r" * (len(statuses) + 1))

    def problems(self, model: ModelSummary) -> Markdown:
        statuses = list(model.verdicts)[::-1]
        heads = ["Problem", "Points", "of", "Mean", "Solved by", "Submissions", *statuses, "Unscored"]
        rows = [
            [
                problem.problem_id,
                _points(problem),
                _whole([problem]),
                _mean(problem),
                f"{problem.solved:,}",
                f"{problem.submissions:,}",
                *_counts(problem.verdicts, statuses),
                f"{problem.unscored:,}",
            ]
            for problem in model.problems
        ]
        return table(heads, rows, "l" + "r" * (len(heads) - 1))

    def has_subtasks(self, *models: ModelSummary) -> bool:
        return any(problem.subtasks for model in models for problem in model.problems)

    def subtasks(self, model: ModelSummary) -> Markdown:
        rows = [
            [
                problem.problem_id if first else "",
                best.subtask,
                number(best.weighted_score),
                number(best.points),
                best.status,
                best.key if best.weighted_score else NOTHING,
            ]
            for problem in model.problems
            for first, best in zip([True, *[False] * len(problem.subtasks)], problem.subtasks, strict=False)
        ]
        return table(["Problem", "Subtask", "Best", "of", "Verdict", "Earned by"], rows, "llrrll")

    def failures(self) -> Markdown:
        rows = [
            [
                f"{why.submissions:,}",
                ", ".join(why.problems),
                why.phase or NOTHING,
                why.reason,
                why.remedy or NOTHING,
                ", ".join(why.examples),
            ]
            for why in self._run.failures
        ]
        heads = ["Submissions", "Problems", "While", "Reason", "What to do", "For example"]
        return table(heads, rows, "rlllll")

    def settings(self) -> Markdown:
        return table(["What", "Value"], list(_settings(self._run.settings)), "ll")

    def missing(self) -> list[str]:
        """What a kernel refused. Said outside the table: it bears on trust."""
        found = [
            str(reason) for one in self._run.settings.confinements for reason in one.get("missing") or ()
        ]
        return list(dict.fromkeys(found))


def _name(model: str) -> str:
    return model or "(no name)"


def _share(model: ModelSummary) -> str:
    if not model.max_points:
        return NOTHING
    return f"{bar(model.points, model.max_points)} {share(model.points, model.max_points)}"


def _points(problem: ProblemSummary) -> str:
    """Without subtasks, the best share of tests that a submission passed."""
    if not problem.scored:
        return NOTHING
    return share(problem.best_pass_rate, 1) if problem.points is None else number(problem.points)


def _whole(problems: Any) -> str:
    whole = next((problem.max_points for problem in problems if problem.max_points is not None), None)
    if whole is not None:
        return number(whole)
    return "tests" if any(problem.scored for problem in problems) else NOTHING


def _mean(problem: ProblemSummary) -> str:
    return share(problem.mean_points, 1) if problem.points is None else number(problem.mean_points)


def _counts(verdicts: Mapping[Verdict, int], statuses: list[Verdict]) -> list[str]:
    return [f"{verdicts.get(status, 0):,}" for status in statuses]


def _settings(settings: Settings) -> Iterator[tuple[str, str]]:
    yield from ((_title(name), _text(value)) for name, value in settings.given.items() if name != _COMMAND)
    if settings.dump:
        yield "Dump", f"sha256 {settings.dump[:16]}… (whole in run.json)"
    yield from ((f"Option {name}", _text(value)) for name, value in sorted(settings.options.items()))
    yield from ((f"Version of {name}", value) for name, value in sorted(settings.versions.items()))
    yield from (("Compiled with", f"{name} ({_times(times)})") for name, times in settings.compilers.items())
    yield from (
        (f"Checker of {problem}", ", ".join(found)) for problem, found in settings.checkers.items() if found
    )
    yield from (("Repaired", f"{name} ({_times(times)})") for name, times in settings.repairs.items())
    yield from (("Confinement", _confinement(one)) for one in settings.confinements)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _times(number: int) -> str:
    return counted(number, "submission")


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value) or NOTHING
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _confinement(report: Mapping[str, Any]) -> str:
    """The confinement report of docs/protocol.md in one line."""
    spaces = " ".join(map(str, report.get("namespaces") or ()))
    layers = [
        f"Landlock ABI {report['landlock']}" if report.get("landlock") else "no Landlock",
        "seccomp" if report.get("seccomp") else "no seccomp",
        f"namespaces {spaces}" if spaces else "no namespaces",
    ]
    return ", ".join(layers)
