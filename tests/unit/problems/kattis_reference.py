"""A second implementation of grading in the ICPC's format.

Verdicts and scores are lines that pass through a grader for each group. Tests compare
`ioi_eval.rules.grading` and the subtasks of packages with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Result = tuple[str, float]  # AC, WA, RTE, TLE, ... and a score
_ORDER = ["RTE", "MLE", "TLE", "OLE", "WA", "AC"]
_USUAL = {"on_reject": "break", "grader_flags": "", "accept_score": 1, "reject_score": 0}


def default_grader(lines: list[Result], flags: list[str]) -> Result:
    """Return the output of the default grader for its input."""
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
    folder: Mapping[str, Any], verdicts: Mapping[str, str], above: Mapping[str, Any], folder_path: str = ""
) -> Result:
    """Return the grader's output for a folder.

    `folder` maps names to folders, to None for a test, and `settings` to the contents of its file. Missing
    settings are inherited; `ignore_sample` is only for the root.
    """
    settings = {**above, **folder["settings"]}
    flags = str(settings["grader_flags"]).split()
    results: list[Result] = []
    for name in sorted(set(folder) - {"settings"}):
        path = f"{folder_path}/{name}" if folder_path else name
        if folder[name] is None:
            accepted = verdicts[path] == "AC"
            result = verdicts[path], float(settings["accept_score" if accepted else "reject_score"])
        else:
            result = judge(folder[name], verdicts, settings, path)
        results.append(result)
        if result[0] != "AC" and settings["on_reject"] == "break":
            break
    return default_grader(results, [flag for flag in flags if flag != "ignore_sample" or not folder_path])


def official_points(data: Mapping[str, Any], verdicts: Mapping[str, str]) -> float:
    """Return the points of a submission, which are 0 unless it is accepted."""
    verdict, score = judge(data, verdicts, _USUAL)
    return score if verdict == "AC" else 0.0
