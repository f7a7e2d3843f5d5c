"""The page audit.html: sentences, a plot of accepted and rejected solutions, and a table of problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from ioi_eval.plugins.audit.records import Audit, ProblemAudit, Rate, format_count

_SIDE, _EDGE = 320, 40  # side and margin of the picture, in pixels
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { margin: .2rem 0; white-space: pre-wrap; }
circle { fill: #2a6fdb; fill-opacity: .45; } circle.found { fill: #d1442e; }
path { fill: none; stroke: #999; }
"""


def render_page(audit: Audit) -> str:
    """Return the page. All text of the dataset is escaped."""
    rows = "\n".join(
        _make_table_row(problem)
        for problem in sorted(
            audit.problems,
            key=lambda problem: (not problem.diagnoses, _describe_faults(problem), problem.problem),
        )
    )
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in audit.sentences)
    title = escape(f"Audit of {audit.source}")
    header_cells = "".join(
        f"<th>{head}</th>" for head in ("Problem", "Verdict", "Right accepted", "Wrong rejected", "Evidence")
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n{sentences}\n"
        f"<p>All problems: right solutions accepted {_format_rate(audit.right)}, wrong ones rejected"
        f" {_format_rate(audit.wrong)}. In parentheses the 95 %"
        f" interval.</p>\n{_draw_scatter_plot(audit)}\n"
        f"<table><thead><tr>{header_cells}</tr></thead><tbody>\n{rows}\n</tbody></table>\n</body></html>\n"
    )


def _make_table_row(problem: ProblemAudit) -> str:
    evidence = "".join(_render_evidence(problem))
    cells = (
        escape(problem.problem),
        _describe_faults(problem),
        _format_rate(problem.right),
        _format_rate(problem.wrong),
        evidence,
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _describe_faults(problem: ProblemAudit) -> str:
    faults = ", ".join(dict.fromkeys(diagnosis.fault.value for diagnosis in problem.diagnoses))
    return faults or ("nothing found" if problem.right.of or problem.wrong.of else "unknown")


def _render_evidence(problem: ProblemAudit) -> Iterator[str]:
    for diagnosis in problem.diagnoses:
        yield f"{escape(diagnosis.sentence)}<pre>{escape(diagnosis.command)}</pre>"
    for rejection in problem.rejections:
        summary = f"{rejection.row}: {rejection.status} on {rejection.test}. {rejection.difference}"
        excerpts = "\n".join(
            f"{name}: {excerpt}"
            for name, excerpt in (
                ("input", rejection.input),
                ("output", rejection.output),
                ("expected", rejection.expected),
            )
            if excerpt
        )
        yield f"<details><summary>{escape(summary)}</summary><pre>{escape(excerpts)}</pre></details>"
    for reason, number in Counter(problem.unusable.values()).most_common():
        yield f"<p>Does not count: {format_count(number, 'solution')}. {escape(reason)}</p>"
    if problem.undecided:
        yield (
            f"Without {len(problem.undecided)} of"
            f" {format_count(problem.tests, 'test')}, the same wrong ones are rejected."
        )
    if problem.mutants.judged:
        mutant_counts = problem.mutants
        yield (
            f" Mutants: {mutant_counts.judged}, rejected {mutant_counts.rejected}, accepted and wrong"
            f" {len(mutant_counts.accepted)}, not told apart {mutant_counts.same}."
        )


def _format_rate(rate: Rate) -> str:
    if rate.share is None or rate.low is None or rate.high is None:
        return "none"
    return f"{rate.number} of {rate.of} ({100 * rate.low:.0f} to {100 * rate.high:.0f} %)"


def _draw_scatter_plot(audit: Audit) -> str:
    """Return a plot in SVG: rates of accepted right solutions against rates of rejected wrong solutions."""
    svg_size = _SIDE + 2 * _EDGE
    problem_counts = dict[tuple[float, float, bool], int]()
    for problem in audit.problems:
        if problem.right.share is not None and problem.wrong.share is not None:
            point = problem.wrong.share, problem.right.share, bool(problem.diagnoses)
            problem_counts[point] = problem_counts.get(point, 0) + 1
    class_attributes = {True: ' class="found"', False: ""}
    dots = "".join(
        f'<circle cx="{_EDGE + _SIDE * true_negative_rate:.1f}"'
        f' cy="{_EDGE + _SIDE * (1 - true_positive_rate):.1f}"'
        f' r="{3 + 2 * number**0.5:.1f}"{class_attributes[has_diagnoses]}>'
        f"<title>{format_count(number, 'problem')}: {100 * true_positive_rate:.0f} % of right accepted,"
        f" {100 * true_negative_rate:.0f} % of wrong"
        " rejected</title></circle>"
        for (true_negative_rate, true_positive_rate, has_diagnoses), number in sorted(problem_counts.items())
    )
    axis_min, axis_max = _EDGE, _EDGE + _SIDE
    return (
        f'<svg width="{svg_size}" height="{svg_size}" role="img"'
        ' aria-label="Right accepted against wrong rejected">'
        f'<path d="M{axis_min} {axis_min}V{axis_max}H{axis_max}"/>'
        f'<text x="{axis_min}" y="{axis_max + 20}">wrong solutions rejected: 0 to 100 %</text>'
        f'<text x="{axis_min}" y="{axis_min - 14}">right solutions accepted: 0 to 100 %</text>{dots}</svg>'
    )
