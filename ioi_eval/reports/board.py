"""The board: models by problems, and what a browser needs to group, choose and compare them.

It holds aggregates, a number for each model and problem, so that its size does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.reports.addresses import FOLDER, model_anchor, problem_page
from ioi_eval.reports.document import NOTHING, visible
from ioi_eval.reports.figures import earned
from ioi_eval.reports.plots import apart
from ioi_eval.store.rows import bounded

if TYPE_CHECKING:
    from ioi_eval.reports.records import ProblemSummary
    from ioi_eval.reports.sections import Entry

_MAX_NAME = 200  # characters


class BoardRow(Value):
    """A model's shares of points by problem, in [0, 1]; None: nothing was scored."""

    name: str
    shares: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        there = [share for share in self.shares if share is not None]
        return sum(there) / len(there) if there else None

    @property
    def solved(self) -> int:
        return sum(share == 1.0 for share in self.shares if share is not None)


class Board(Value):
    """Models, with the best mean first, by problems."""

    problems: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    data: Mapping[str, Any]  # for board.js, of models and problems in this order
    linked: bool  # pages of problems lie beside it

    @classmethod
    def of(cls, entries: Sequence[Entry], *, linked: bool) -> Board:
        names = sorted({problem.problem_id for entry in entries for problem in entry.model.problems})
        there = {entry.name: {each.problem_id: each for each in entry.model.problems} for entry in entries}
        found = [
            (
                BoardRow(
                    name=entry.name, shares=tuple(_share(there[entry.name].get(name)) for name in names)
                ),
                entry,
            )
            for entry in entries
        ]
        found.sort(key=lambda pair: -(pair[0].mean or 0.0))
        cells = [[there[entry.name].get(name) for name in names] for _, entry in found]
        problems = {name: each for own in there.values() for name, each in own.items()}
        ks = sorted({pass_at.k for line in cells for each in line if each for pass_at in each.pass_at})
        scores: dict[str, list[list[float | None]]] = {
            "mean score": [
                [None if each is None else _rounded(each.mean_score) for each in line] for line in cells
            ],
            **{f"pass@{k}": [[_pass_at(each, k) for each in line] for line in cells] for k in ks},
        }
        data = {
            "problems": [_text(name) for name in names],
            "models": [_text(row.name) for row, _ in found],
            "pages": [f"{FOLDER}/{problem_page(name)}" for name in names] if linked else [],
            "anchors": [model_anchor(entry.model.model) for _, entry in found],
            "groups": {
                "difficulty": [[_text(problems[name].difficulty)] for name in names],
                "tag": [[*map(_text, problems[name].tags)] for name in names],
                "year": [["" if problems[name].year is None else str(problems[name].year)] for name in names],
            },
            "shares": [[_rounded(share) for share in row.shares] for row, _ in found],
            "scores": scores,
            "steps": [[(step.submissions, step.points) for step in entry.model.steps] for _, entry in found],
        }
        return cls(problems=tuple(names), rows=tuple(row for row, _ in found), data=data, linked=linked)

    def html(self) -> Any:
        """Return the table, which says everything without a script."""
        from markupsafe import Markup, escape

        return Markup("".join(self._pieces(escape)))

    def _pieces(self, escape: Any) -> Iterator[str]:
        data = escape(msgspec.json.encode(self.data).decode())
        yield f'<table class="cells" data-name="Board" data-board="{data}">\n<thead><tr>'
        yield '<th scope="col">Model</th><th scope="col" class="number">Mean</th>'
        yield '<th scope="col" class="number">Solved</th>'
        for name in self.problems:
            text = escape(_text(name))
            if self.linked:
                text = f'<a href="{FOLDER}/{problem_page(name)}">{text}</a>'
            yield f'<th scope="col" class="turned number" title="{escape(_text(name))}">{text}</th>'
        yield "</tr></thead>\n<tbody>\n"
        names = [_text(row.name) for row in self.rows]
        for row, whole, short in zip(self.rows, names, apart(names), strict=True):
            name, mean = escape(whole), NOTHING if row.mean is None else f"{100 * row.mean:.1f}"
            cut = f' data-short="{escape(short)}"' if short != whole else ""
            yield f'<tr data-of="{name}"><th scope="row" title="{name}"{cut}>{name}</th>'
            yield f"<td>{mean}</td><td>{row.solved}</td>"
            for share in row.shares:
                if share is None:
                    yield f"<td>{NOTHING}</td>"
                else:
                    yield f'<td class="g{round(10 * share)}">{int(100 * share + 1e-9)}</td>'
            yield "</tr>\n"
        yield "</tbody>\n</table>"


def _text(name: str) -> str:
    return bounded(visible(name), _MAX_NAME)


def _share(problem: ProblemSummary | None) -> float | None:
    return None if problem is None else earned(problem)


def _pass_at(problem: ProblemSummary | None, k: int) -> float | None:
    values = (
        (estimate.value for estimate in problem.pass_at if estimate.k == k) if problem is not None else ()
    )
    return _rounded(next(iter(values), None))


def _rounded(value: float | None) -> float | None:
    return None if value is None else int(10_000 * value + 1e-6) / 10_000
