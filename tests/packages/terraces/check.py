from dmoj.result import CheckerResult
from dmoj.utils.unicode import utf8text


def check(process_output, judge_output, judge_input, point_value, most, **kwargs):
    """A sum of terms below `most`; half of the points for larger terms."""
    terms = [int(word) for word in utf8text(process_output).split()]
    if sum(terms) != int(utf8text(judge_input)):
        return False
    if max(terms) < most:
        return True
    return CheckerResult(False, point_value / 2, feedback="a term is too large")
