"""The ICPC's format once more, in its own words: verdicts and scores as lines that go through a grader each.

An independent formulation of what `ioi_eval.rules.grading` and the subtasks of packages must come to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Result = tuple[str, float]  # AC, WA, RTE, TLE, ... and a score
_ORDER = ["RTE", "MLE", "TLE", "OLE", "WA", "AC"]
_USUAL = {"on_reject": "break", "grader_flags": "", "accept_score": 1, "reject_score": 0}


def default_grader(lines: list[Result], flags: list[str]) -> Result:
    """What the default grader prints for what it is given."""
    verdicts, scores = [verdict for verdict, _ in lines], [score for _, score in lines]
    mode, aggregate = "worst_error", "sum"
    for flag in flags:
        mode = flag if flag in ("worst_error", "first_error", "always_accept") else mode
        aggregate = flag if flag in ("sum", "avg", "min", "max") else aggregate
    if "ignore_sample" in flags:
        verdicts, scores = [verdicts[-1]], [scores[-1]]
    wrong = [verdict for verdict in verdicts if verdict != "AC"]
    if not wrong or mode == "always_accept" or ("accept_if_any_accepted" in flags and "AC" in verdicts):
        verdict = "AC"
    else:
        verdict = wrong[0] if mode == "first_error" else sorted(wrong, key=_ORDER.index)[0]
    total = sum(scores)
    return verdict, {"sum": total, "avg": total / len(scores), "min": min(scores), "max": max(scores)}[
        aggregate
    ]


def judge(
    folder: Mapping[str, Any], verdicts: Mapping[str, str], above: Mapping[str, Any], place: str = ""
) -> Result:
    """`folder`: a mapping of names to folders, to None (a test), or under `settings` to what its file says.

    Settings that a folder does not say are those above it; `ignore_sample` is for the root alone.
    """
    settings = {**above, **folder["settings"]}
    flags = str(settings["grader_flags"]).split()
    results: list[Result] = []
    for name in sorted(set(folder) - {"settings"}):
        path = f"{place}/{name}" if place else name
        if folder[name] is None:
            accepted = verdicts[path] == "AC"
            result = verdicts[path], float(settings["accept_score" if accepted else "reject_score"])
        else:
            result = judge(folder[name], verdicts, settings, path)
        results.append(result)
        if result[0] != "AC" and settings["on_reject"] == "break":
            break
    return default_grader(results, [flag for flag in flags if flag != "ignore_sample" or not place])


def official_points(data: Mapping[str, Any], verdicts: Mapping[str, str]) -> float:
    """What a submission gets: nothing unless it is accepted."""
    verdict, score = judge(data, verdicts, _USUAL)
    return score if verdict == "AC" else 0.0
