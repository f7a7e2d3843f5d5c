"""Scores an output like DMOJ's judge: with a built-in checker, or with a problem's `check` function.

    dmoj_checker.py input answer output '{"check": "floats", "args": {"precision": 4}, "points": 5, ...}'

Prints the score, from 0 to 1. Any exception of a `check` function is a failure of the judge.
"""

import importlib
import json
import re
import sys
import types
from collections import Counter
from pathlib import Path


class InternalError(Exception):
    """The problem's data is wrong."""


class CheckerResult:
    """A result that a `check` function may return instead of a boolean."""

    def __init__(self, passed, points, feedback=None, extended_feedback=None):
        self.passed, self.points = passed, points
        self.feedback, self.extended_feedback = feedback, extended_feedback


def utf8bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def utf8text(data, errors="strict"):
    return data if isinstance(data, str) else data.decode("utf-8", errors)


# --- built-in checkers of DMOJ's judge ---------------------------------------------------------------


def lines_of(data):
    return [line for line in re.split(b"[\r\n]", utf8bytes(data)) if line]


def standard(process_output, judge_output, **_):
    """Return whether the lines that are not blank have the same words in both files."""
    ours, theirs = ([line.split() for line in lines_of(data)] for data in (process_output, judge_output))
    return [line_words for line_words in ours if line_words] == [
        line_words for line_words in theirs if line_words
    ]


def easy(process_output, judge_output, **_):
    """Return whether both files have the same letters with the same counts, ignoring case."""
    ours, theirs = (
        Counter(re.sub(rb"\s+", b"", utf8bytes(data)).lower()) for data in (process_output, judge_output)
    )
    return ours == theirs


def identical(process_output, judge_output, pe_allowed=True, **_):
    if process_output == judge_output:
        return True
    spaced = pe_allowed and standard(process_output, judge_output)
    return CheckerResult(False, 0, "Presentation Error, check your whitespace" if spaced else None)


def absolute(ours, theirs, epsilon):
    return abs(ours - theirs) <= epsilon


def relative(ours, theirs, epsilon):
    low, high = sorted((theirs * (1 - epsilon), theirs * (1 + epsilon)))
    return low <= ours <= high


def either(ours, theirs, epsilon):
    close = abs(theirs) >= epsilon and theirs != 0 and abs(1.0 - ours / theirs) <= epsilon
    return absolute(ours, theirs, epsilon) or close


MODES = {"default": either, "absolute": absolute, "relative": relative}


def floats(process_output, judge_output, precision=6, error_mode="default", **_):
    """Return whether all words are equal. Words that are numbers in the answer are compared as numbers."""
    if error_mode not in MODES:
        raise InternalError(f"error_mode {error_mode!r} is not one of {', '.join(MODES)}")
    is_close, epsilon = MODES[error_mode], 10 ** -int(precision)
    ours, theirs = ([line.split() for line in lines_of(data)] for data in (process_output, judge_output))
    if [len(line_words) for line_words in ours] != [len(line_words) for line_words in theirs]:
        return False
    pairs = [pair for rows in zip(ours, theirs, strict=True) for pair in zip(*rows, strict=True)]
    return all(same_word(mine, expected, is_close, epsilon) for mine, expected in pairs)


def same_word(ours, theirs, is_close, epsilon):
    try:
        number = float(theirs)
    except ValueError:
        return ours == theirs
    try:
        return is_close(float(ours), number, epsilon)
    except ValueError:
        return False


def floatsabs(process_output, judge_output, precision=6, **_):
    return floats(process_output, judge_output, precision, "absolute")


def floatsrel(process_output, judge_output, precision=6, **_):
    return floats(process_output, judge_output, precision, "relative")


def in_any_order(process_output, judge_output, split_on="lines", **_):
    """Return whether both files have the same lines, or the same words, in any order."""
    if split_on not in ("lines", "whitespace"):
        raise InternalError(f"split_on {split_on!r} is neither lines nor whitespace")
    if split_on == "whitespace":
        return sorted(utf8bytes(process_output).split()) == sorted(utf8bytes(judge_output).split())
    ours, theirs = ([line.split() for line in lines_of(data)] for data in (process_output, judge_output))
    return sorted(ours) == sorted(theirs)


def unordered(process_output, judge_output, **_):
    return in_any_order(process_output, judge_output, "whitespace")


def linecount(process_output, judge_output, point_value, feedback=True, **_):
    """Return points in proportion to the number of correct lines."""
    ours, theirs = lines_of(process_output), lines_of(judge_output)
    if len(ours) > len(theirs):
        return False
    if not theirs:
        return True
    right = sum(mine.strip() == expected.strip() for mine, expected in zip(ours, theirs, strict=False))
    return CheckerResult(right == len(theirs), point_value * right / len(theirs))


def linematches(
    process_output,
    judge_output,
    point_value=1,
    point_distribution=(1,),
    filler_lines_required=True,
    **_,
):
    """Return the points of the correct lines. Each line has separate points."""
    ours, theirs = lines_of(process_output), lines_of(judge_output)
    if len(theirs) != len(point_distribution) or sum(point_distribution) == 0:
        raise InternalError("point_distribution must have a number for each line of the answer")
    if filler_lines_required and len(ours) != len(theirs):
        return False
    rows = zip(ours, theirs, point_distribution, strict=False)
    earned = sum(points for mine, expected, points in rows if mine == expected)
    return CheckerResult(earned > 0, point_value * earned / sum(point_distribution))


def rstripped(process_output, judge_output, filter_new_line=False, **_):
    """Return whether all lines are equal without trailing white space."""
    ours, theirs = (re.split(b"[\r\n]", utf8bytes(data)) for data in (process_output, judge_output))
    if filter_new_line:
        ours, theirs = list(filter(None, ours)), list(filter(None, theirs))
    return [line.rstrip() for line in ours] == [line.rstrip() for line in theirs]


CHECKERS = {
    "standard": standard,
    "easy": easy,
    "identical": identical,
    "floats": floats,
    "floatsabs": floatsabs,
    "floatsrel": floatsrel,
    "sorted": in_any_order,
    "unordered": unordered,
    "linecount": linecount,
    "linematches": linematches,
    "rstripped": rstripped,
}


# --- a test ------------------------------------------------------------------------------------------


def add_module(name, **members):
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(members)
    return module


def provide_dmoj_modules():
    """Add the modules that the `check` functions of problems import."""
    checkers = {name: types.SimpleNamespace(check=check) for name, check in CHECKERS.items()}
    dmoj = add_module("dmoj", __path__=[])
    dmoj.result = add_module("dmoj.result", CheckerResult=CheckerResult)
    dmoj.error = add_module("dmoj.error", InternalError=InternalError)
    dmoj.checkers = add_module("dmoj.checkers", **checkers)
    dmoj.utils = add_module("dmoj.utils", __path__=[])
    dmoj.utils.unicode = add_module("dmoj.utils.unicode", utf8bytes=utf8bytes, utf8text=utf8text)


def check_of(name):
    if name in CHECKERS:
        return CHECKERS[name]
    provide_dmoj_modules()
    return importlib.import_module(name).check


def score_of(result, points, *, stops):
    """Return the score, from 0 to 1.

    A case that fails stops its batch, so its points are lost unless it is the last of the batch (`stops`).
    """
    if not isinstance(result, CheckerResult):
        return float(bool(result))
    if (stops or not points) and not result.passed:
        return 0.0
    return result.points / points if points else 1.0


def main():
    judge_input, judge_output, process_output = (Path(path).read_bytes() for path in sys.argv[1:4])
    options = json.loads(sys.argv[4])
    try:
        result = check_of(options["check"])(
            process_output,
            judge_output,
            **{
                "judge_input": judge_input,
                "point_value": options["points"],
                "case_position": options["position"],
                "batch": options["batch"],
                "binary_data": options["binary"],
                "problem_id": options["problem"],
                **options["args"],
            },
        )
    except UnicodeDecodeError:
        result = CheckerResult(False, 0, "invalid unicode")
    print(score_of(result, options["points"], stops=options["stops"]))
    print(getattr(result, "feedback", None) or "", file=sys.stderr)


if __name__ == "__main__":
    main()
