"""Deliberate judge failures. A program that can cause them would be unscored instead of wrong."""

from __future__ import annotations

from attack import TLE, WA, Attack, Win


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
    _output("a-string-for-a-checker-of-numbers", "x"),
    _output("a-number-that-no-checker-can-hold", "99999999999999999999"),
    _output("a-number-that-hangs-a-checker", "-1"),
    _output("a-number-that-fills-a-checker", "1000000000"),
    _output("a-number-that-makes-a-checker-exit", "1"),
    _output("a-number-that-silences-a-checker", "2"),
    _output("a-score-that-is-not-a-number", "3"),
    _output("a-number-that-kills-a-checker", "4"),
    _output("a-checker-that-writes-without-end", "5"),
    _output("a-checker-that-falls-asleep", "6"),
    # RLIMIT_CPU counts the ticks at which a program is on a processor. One that is there at each of them, and rests
    # between, is killed by the kernel before it has used its time.
    Attack(
        name="awake-at-every-tick",
        heading="stopping",
        body="""auto at = [](clockid_t c) { timespec t; clock_gettime(c, &t); return t.tv_sec * 1000000000l + t.tv_nsec; };
const clockid_t ticks = (clockid_t)(~0u << 3);
timespec coarse; clock_getres(CLOCK_MONOTONIC_COARSE, &coarse); const long tick = coarse.tv_nsec, margin = 300000;
for (;;) { long next = (at(CLOCK_MONOTONIC) + margin) / tick * tick + tick, begin = next - margin; timespec t = {begin / 1000000000, begin % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0); for (long seen = at(ticks); at(ticks) == seen && at(CLOCK_MONOTONIC) < next + margin;); }""",
        verdicts=(TLE,),
        layers=("accounting",),
        win=Win.JUDGE,
    ),
)
