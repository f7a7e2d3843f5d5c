"""Fault at will: who can make the judge fail is unscored whenever it is not sure, and no mean has it."""

from __future__ import annotations

from attack import WA, Attack, Win


def _output(name: str, text: str) -> Attack:
    return Attack(
        name=name,
        heading="stopping",
        body=f'puts("{text}");',
        verdicts=(WA,),
        layers=("blame",),
        win=Win.JUDGE,
        fragile=True,
    )


FAULTS = (
    _output("words-for-a-checker-of-numbers", "x"),
    _output("a-number-that-no-checker-can-hold", "99999999999999999999"),
    _output("a-number-that-hangs-a-checker", "-1"),
    _output("a-number-that-fills-a-checker", "1000000000"),
    _output("a-number-that-ends-a-checker", "1"),
    _output("a-number-that-silences-a-checker", "2"),
    _output("a-score-that-is-no-number", "3"),
    _output("a-number-that-kills-a-checker", "4"),
    _output("a-checker-that-writes-without-end", "5"),
    _output("a-checker-that-falls-asleep", "6"),
)
