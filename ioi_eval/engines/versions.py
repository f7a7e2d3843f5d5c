"""Which versions a request's range takes, as servers read it: npm's ranges. Pure."""

from __future__ import annotations

import re

from ioi_eval.model.values import Value

# Not semantic_version: no release since 2022, and it cannot read npm's blank behind a sign (">= 1.2").
Version = tuple[int, int, int]

_PART = r"(0|[1-9]\d*|[xX*])"
_PARTIAL = re.compile(rf"^[v=]?{_PART}(?:\.{_PART})?(?:\.{_PART})?(?:[-+][0-9A-Za-z.+-]*)?$")
_COMPARISON = re.compile(r"^(\^|~>?|>=|<=|>|<|=)?(.*)$")
_HYPHEN = re.compile(r"\s-\s")
_SPACE_AFTER = re.compile(r"(\^|~>?|>=|<=|>|<|=)\s+")
_NO_END: Version = (2**63, 0, 0)


class _Span(Value):
    """Versions from `first` on, below `end`."""

    first: Version = (0, 0, 0)
    end: Version = _NO_END


def parse_version(text: str) -> Version | None:
    """None for what is not a whole version. What stands behind a `-` or `+` is passed over."""
    given = _parts(text.strip())
    return (given[0], given[1], given[2]) if given is not None and len(given) == 3 else None


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version is in a range; a range that cannot be read takes none."""
    number = parse_version(version)
    return number is not None and any(_takes(choice, number) for choice in wanted.split("||"))


def _takes(choice: str, number: Version) -> bool:
    spans = _spans(choice.strip())
    return spans is not None and all(span.first <= number < span.end for span in spans)


def _spans(choice: str) -> list[_Span] | None:
    ends = _HYPHEN.split(choice)
    if len(ends) == 2:
        spans = [_compared(">=", ends[0].strip()), _compared("<=", ends[1].strip())]
    else:
        words = _SPACE_AFTER.sub(r"\1", choice).split() or ["*"]
        spans = [_word(word) for word in words]
    return None if None in spans else [span for span in spans if span is not None]


def _word(word: str) -> _Span | None:
    match = _COMPARISON.match(word)
    return _compared(match[1] or "", match[2]) if match else None


def _compared(sign: str, text: str) -> _Span | None:
    given = _parts(text)
    if given is None:
        return None
    first = _filled(given)
    after = _raised(given, len(given)) if given else _NO_END  # the first version that the text does not name
    if sign in (">=", ">"):
        return _Span(first=first if sign == ">=" else after)
    if sign in ("<", "<=") and (given or sign == "<"):
        return _Span(end=first if sign == "<" else after)
    if not given or sign in ("", "="):
        return _Span(first=first, end=after)
    return _Span(first=first, end=_raised(given, _fixed(sign, given)))


def _fixed(sign: str, given: list[int]) -> int:
    """How many parts may not change: of `~` major and minor, of `^` all up to the first that is not zero."""
    if sign.startswith("~"):
        return min(2, len(given))
    return next((place for place, part in enumerate(given, 1) if part), len(given))


def _parts(text: str) -> list[int] | None:
    """The numbers before the first x; None where it is no version at all."""
    match = _PARTIAL.match(text or "*")
    if match is None:
        return None
    parts: list[int] = []
    for part in match.groups():
        if part is None or not part.isdigit():
            break
        parts.append(int(part))
    return parts


def _filled(parts: list[int]) -> Version:
    major, minor, patch = (*parts, 0, 0, 0)[:3]
    return major, minor, patch


def _raised(parts: list[int], length: int) -> Version:
    """The first version whose first `length` parts are above these."""
    return _filled([*parts[: length - 1], parts[length - 1] + 1])
