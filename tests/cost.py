"""What each test costs: seconds of CPU, with all that it starts. The dearest are shown."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from leftovers import descendants

_SHOWN = 15
_WORK = tuple(map(str, range(20_000)))
_USUAL = 0.0006  # seconds that hashing them takes on the machine for which bounds are set
_LOOKED = 200  # tests from one look at the machine's pace to the next
_TICKS = os.sysconf("SC_CLK_TCK")
_LOOKED_BELOW = 0.1  # seconds from one look at the processes below to the next
_SEEN = pytest.StashKey[float]()
_COST = "seconds of CPU"


def own() -> tuple[float, float]:
    """Return the CPU seconds of this process, and of those below it that ended and were waited for."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def below() -> float:
    """Return the CPU seconds of the processes below this one, and of the dead that those waited for."""
    return sum(map(_ticks, descendants())) / _TICKS


class Spending:
    """The CPU time of this process and of all below it."""

    def __init__(
        self,
        own: Callable[[], tuple[float, float]] = own,
        below: Callable[[], float] = below,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own, self._below, self._clock = own, below, clock
        self._looked, self._ended, self._living = -math.inf, 0.0, 0.0
        self._most = 0.0

    def so_far(self) -> float:
        """Return the seconds of CPU that were spent so far, which never become less.

        To look at the processes below takes longer than many a test: it is done when one has ended, and else
        ten times a second at most. Of processes that are about to end the kernel's list may leave out a
        neighbour. What that had spent is missed once, and would be charged to whichever test runs at the next
        look.
        """
        own, ended = self._own()
        now = self._clock()
        if ended != self._ended or now - self._looked >= _LOOKED_BELOW:
            self._living, self._looked, self._ended = self._below(), now, ended
        self._most = max(self._most, own + ended + self._living)
        return self._most


def _ticks(pid: int) -> int:
    try:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    except OSError:
        return 0  # it ended in between, and its time is its parent's


def _take() -> float:
    began = time.thread_time()
    sum(map(hash, _WORK))
    return time.thread_time() - began


class Pace:
    """How slow this machine is: the same work takes more CPU time on older processors, or on shared ones."""

    def __init__(self, take: Callable[[], float] = _take) -> None:
        self._take, self._best = take, _USUAL

    def slowness(self) -> float:
        """Return how much longer something takes now than usually, or than at the best moment so far."""
        took = [self._take() for _ in range(50)]
        self._best = min(self._best, *took)
        return math.fsum(took) / len(took) / self._best


class Costs:
    """A plugin of pytest: measures where tests run, and shows where they are reported."""

    def __init__(self, most: float | None, all_of_them: str | None = None, pace: Pace | None = None) -> None:
        """`most`: a test that takes more fails. What fixtures build is not among it: many tests have it.
        On a machine that is slow because others use it, it may take as much more.

        `all_of_them`: a file for each test's cost and seconds by the clock.
        """
        self._most, self._all = most, all_of_them
        self._found: list[tuple[float, str, float]] = []
        self._pace, self._looks, self._spending = pace or Pace(), itertools.count(), Spending()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool | None, bool | None]:
        if self._most is not None and next(self._looks) % _LOOKED == 0:
            self._pace.slowness()
        item.stash[_SEEN] = self._spending.so_far()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = self._spending.so_far()
        cost, item.stash[_SEEN] = now - item.stash[_SEEN], now
        report.user_properties = [*report.user_properties, (_COST, cost)]
        if (
            report.when == "call"
            and report.passed
            and self._most is not None
            and cost > self._most
            and cost > self._most * self._pace.slowness()
        ):
            report.outcome = "failed"
            report.longrepr = f"it took {cost:.1f} s of CPU; what takes more than {self._most:g} s is `long`"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, cost in report.user_properties:
            if name == _COST:
                self._found.append((float(str(cost)), f"{report.when:8} {report.nodeid}", report.duration))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("dearest, in seconds of CPU")
        found = sorted(self._found, reverse=True)
        for cost, name, _ in found[:_SHOWN]:
            terminalreporter.write_line(f"{cost:6.1f} {name}")
        if self._all:
            lines = [f"{cost:.2f} {clock:.2f} {name}\n" for cost, name, clock in found]
            Path(self._all).write_text("".join(lines))
