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


def split_lines(data):
    return [line for line in re.split(b"[\r\n]", utf8bytes(data)) if line]


def matches_words_per_line(process_output, judge_output, **_):
    """Return whether the lines that are not blank have the same words in both files."""
    actual_lines, expected_lines = (
        [line.split() for line in split_lines(data)] for data in (process_output, judge_output)
    )
    return [line_words for line_words in actual_lines if line_words] == [
        line_words for line_words in expected_lines if line_words
    ]


def matches_letter_counts(process_output, judge_output, **_):
    """Return whether both files have the same letters with the same counts, ignoring case."""
    actual_counts, expected_counts = (
        Counter(re.sub(rb"\s+", b"", utf8bytes(data)).lower()) for data in (process_output, judge_output)
    )
    return actual_counts == expected_counts


def compare_exact_output(process_output, judge_output, pe_allowed=True, **_):
    if process_output == judge_output:
        return True
    differs_in_spaces_only = pe_allowed and matches_words_per_line(process_output, judge_output)
    return CheckerResult(
        False, 0, "Presentation Error, check your whitespace" if differs_in_spaces_only else None
    )


def is_within_absolute_error(actual, expected, epsilon):
    return abs(actual - expected) <= epsilon


def is_within_relative_error(actual, expected, epsilon):
    lowest, highest = sorted((expected * (1 - epsilon), expected * (1 + epsilon)))
    return lowest <= actual <= highest


def is_within_either_error(actual, expected, epsilon):
    is_relatively_close = (
        abs(expected) >= epsilon and expected != 0 and abs(1.0 - actual / expected) <= epsilon
    )
    return is_within_absolute_error(actual, expected, epsilon) or is_relatively_close


CLOSENESS_TESTS = {
    "default": is_within_either_error,
    "absolute": is_within_absolute_error,
    "relative": is_within_relative_error,
}


def matches_numbers(process_output, judge_output, precision=6, error_mode="default", **_):
    """Return whether all words are equal. Words that are numbers in the answer are compared as numbers."""
    if error_mode not in CLOSENESS_TESTS:
        raise InternalError(f"error_mode {error_mode!r} is not one of {', '.join(CLOSENESS_TESTS)}")
    is_close, epsilon = CLOSENESS_TESTS[error_mode], 10 ** -int(precision)
    actual_lines, expected_lines = (
        [line.split() for line in split_lines(data)] for data in (process_output, judge_output)
    )
    if [len(line_words) for line_words in actual_lines] != [len(line_words) for line_words in expected_lines]:
        return False
    word_pairs = [
        word_pair
        for line_pair in zip(actual_lines, expected_lines, strict=True)
        for word_pair in zip(*line_pair, strict=True)
    ]
    return all(
        is_same_word(actual_word, expected_word, is_close, epsilon)
        for actual_word, expected_word in word_pairs
    )


def is_same_word(actual_word, expected_word, is_close, epsilon):
    try:
        expected_number = float(expected_word)
    except ValueError:
        return actual_word == expected_word
    try:
        return is_close(float(actual_word), expected_number, epsilon)
    except ValueError:
        return False


def matches_numbers_by_absolute_error(process_output, judge_output, precision=6, **_):
    """Return whether all numbers are close by absolute error."""
    return matches_numbers(process_output, judge_output, precision, "absolute")


def matches_numbers_by_relative_error(process_output, judge_output, precision=6, **_):
    """Return whether all numbers are close by relative error."""
    return matches_numbers(process_output, judge_output, precision, "relative")


def matches_in_any_order(process_output, judge_output, split_on="lines", **_):
    """Return whether both files have the same lines, or the same words, in any order."""
    if split_on not in ("lines", "whitespace"):
        raise InternalError(f"split_on {split_on!r} is neither lines nor whitespace")
    if split_on == "whitespace":
        return sorted(utf8bytes(process_output).split()) == sorted(utf8bytes(judge_output).split())
    actual_lines, expected_lines = (
        [line.split() for line in split_lines(data)] for data in (process_output, judge_output)
    )
    return sorted(actual_lines) == sorted(expected_lines)


def matches_words_in_any_order(process_output, judge_output, **_):
    return matches_in_any_order(process_output, judge_output, "whitespace")


def score_matching_line_count(process_output, judge_output, point_value, feedback=True, **_):
    """Return points in proportion to the number of correct lines."""
    actual_lines, expected_lines = split_lines(process_output), split_lines(judge_output)
    if len(actual_lines) > len(expected_lines):
        return False
    if not expected_lines:
        return True
    correct_line_count = sum(
        actual_line.strip() == expected_line.strip()
        for actual_line, expected_line in zip(actual_lines, expected_lines, strict=False)
    )
    return CheckerResult(
        correct_line_count == len(expected_lines), point_value * correct_line_count / len(expected_lines)
    )


def score_lines_by_points(
    process_output,
    judge_output,
    point_value=1,
    point_distribution=(1,),
    filler_lines_required=True,
    **_,
):
    """Return the points of the correct lines. Each line has separate points."""
    actual_lines, expected_lines = split_lines(process_output), split_lines(judge_output)
    if len(expected_lines) != len(point_distribution) or sum(point_distribution) == 0:
        raise InternalError("point_distribution must have a number for each line of the answer")
    if filler_lines_required and len(actual_lines) != len(expected_lines):
        return False
    lines_with_points = zip(actual_lines, expected_lines, point_distribution, strict=False)
    earned_points = sum(
        points for actual_line, expected_line, points in lines_with_points if actual_line == expected_line
    )
    return CheckerResult(earned_points > 0, point_value * earned_points / sum(point_distribution))


def matches_right_stripped_lines(process_output, judge_output, filter_new_line=False, **_):
    """Return whether all lines are equal without trailing white space."""
    actual_lines, expected_lines = (
        re.split(b"[\r\n]", utf8bytes(data)) for data in (process_output, judge_output)
    )
    if filter_new_line:
        actual_lines, expected_lines = list(filter(None, actual_lines)), list(filter(None, expected_lines))
    return [line.rstrip() for line in actual_lines] == [line.rstrip() for line in expected_lines]


CHECKERS = {
    "standard": matches_words_per_line,
    "easy": matches_letter_counts,
    "identical": compare_exact_output,
    "floats": matches_numbers,
    "floatsabs": matches_numbers_by_absolute_error,
    "floatsrel": matches_numbers_by_relative_error,
    "sorted": matches_in_any_order,
    "unordered": matches_words_in_any_order,
    "linecount": score_matching_line_count,
    "linematches": score_lines_by_points,
    "rstripped": matches_right_stripped_lines,
}


# --- a test ------------------------------------------------------------------------------------------


def add_module(name, **attributes):
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(attributes)
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


def find_check_function(checker_name):
    if checker_name in CHECKERS:
        return CHECKERS[checker_name]
    provide_dmoj_modules()
    return importlib.import_module(checker_name).check


def compute_score(result, max_points, *, stops_batch):
    """Return the score, from 0 to 1.

    A case that fails stops its batch, so its points are lost unless it is the last of the batch (then
    `stops_batch` is False).
    """
    if not isinstance(result, CheckerResult):
        return float(bool(result))
    if (stops_batch or not max_points) and not result.passed:
        return 0.0
    return result.points / max_points if max_points else 1.0


def main():
    judge_input, judge_output, process_output = (Path(path).read_bytes() for path in sys.argv[1:4])
    options = json.loads(sys.argv[4])
    try:
        result = find_check_function(options["check"])(
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
    print(compute_score(result, options["points"], stops_batch=options["stops"]))
    print(getattr(result, "feedback", None) or "", file=sys.stderr)


if __name__ == "__main__":
    main()
