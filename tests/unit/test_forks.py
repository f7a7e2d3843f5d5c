"""Tests run in forked processes as they do in one, and whatever becomes of a process, no test is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forks import queue_of, shares, take
from support.waits import until

pytestmark = pytest.mark.once

TESTS = """
import os, signal, sys, time, warnings
from pathlib import Path
import pytest

PARENT = os.getpid()
HELD = sys.stderr  # as defaults of parameters hold it

@pytest.fixture(scope="module")
def place():
    yield Path({place!r})
    (Path({place!r}) / f"put-away-{os.getpid()}").touch()

@pytest.mark.parametrize("n", range(40))
def test_passes(n, place):
    assert os.getpid() != PARENT
    print("said by", n)
"""
FAILS = """
def test_fails(place):
    print("printed " + "by it")
    print("by a stream " + "of before", file=HELD)
    assert HELD.fileno() > 2
    assert [1, 2] == [1, 3]
"""
LEAVES = """
def test_leaves(place):
    os._exit(7)

def test_leaves_as_if_all_were_well():
    os._exit(0)

def test_is_killed():
    os.kill(os.getpid(), signal.SIGKILL)
"""
SKIPS = """
def test_skips():
    pytest.skip("no reason")

def test_warns():
    warnings.warn("look out")

@pytest.fixture
def broken():
    yield
    assert not "put away"

def test_is_not_put_away(broken): pass
"""
WAITS = """
def test_waits(place):
    (place / "waits").touch()
    time.sleep(60)
"""

TAKES_NO_NOTICE = """
def test_takes_no_notice(place):
    (place / "waits").touch()
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("much" * 100_000)
"""


class Suite:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *tests: str, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        text = TESTS.replace("{place!r}", repr(str(self.folder))) + "".join(tests)
        (self.folder / "test_all.py").write_text(text)
        (self.folder / "conftest.py").write_text(
            f"import sys\nsys.path.append({str(Path(__file__).parents[1])!r})\nfrom forks import Forks\n"
            "def pytest_configure(config): config.pluginmanager.register(Forks(3))\n"
        )
        asked = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *options]
        alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.Popen(
            [*asked, "--rootdir", self.folder, self.folder],
            cwd=self.folder,
            env=alone,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *tests: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
        running = self.start(*tests, options=options)
        said, _ = running.communicate()
        return running.returncode, said


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def summary(said: str) -> str:
    return said.splitlines()[-1].rpartition(" in ")[0]


def test_all_pass(suite: Suite) -> None:
    status, said = suite.run()
    assert (status, summary(said)) == (0, "40 passed")
    assert len(list(suite.folder.glob("put-away-*"))) > 1
    assert said.count("said by 39") == 1


def test_each_end_is_told_once(suite: Suite) -> None:
    status, said = suite.run(FAILS, SKIPS)
    assert (status, summary(said)) == (1, "1 failed, 42 passed, 1 skipped, 1 warning, 1 error")
    assert "At index 1 diff: 2 != 3" in said and said.count("printed by it") == 1
    assert said.count("by a stream of before") == 1
    assert "UserWarning: look out" in said and "put away" in said


def test_a_process_that_ends_fails_the_test_that_it_ran(suite: Suite) -> None:
    status, said = suite.run(LEAVES, FAILS)
    assert (status, summary(said)) == (1, "4 failed, 40 passed")
    assert all(f"the process that ran it ended: {status}" in said for status in (7, 0, -9))


def test_the_first_failure_ends_the_rest(suite: Suite) -> None:
    slow = "@pytest.mark.parametrize('n', range(400))\ndef test_slow(n): time.sleep(0.1)\n"
    status, said = suite.run(FAILS, slow, options=("-x",))
    assert status == 1 and "stopping after 1 failures" in said
    ran = re.search(r"(\d+) passed", said)
    assert ran is not None and int(ran[1]) < 100


@pytest.mark.parametrize("waits", [WAITS, TAKES_NO_NOTICE], ids=["is interrupted", "takes no notice"])
async def test_an_interrupt_puts_everything_away(suite: Suite, waits: str) -> None:
    running = suite.start(waits)
    await until((suite.folder / "waits").exists)
    os.kill(running.pid, signal.SIGINT)
    said, _ = running.communicate()
    assert running.returncode == 2 and "KeyboardInterrupt" in said
    assert list(suite.folder.glob("put-away-*"))


def test_processes_that_take_at_the_same_moment_take_different_shares(tmp_path: Path) -> None:
    with queue_of(range(number, number + 1) for number in range(20_000)) as queue:
        processes = list[int]()
        for process in range(4):
            processes.append(os.fork())
            if not processes[-1]:
                try:
                    taken = [str(share.start) for share in iter(lambda: take(queue), None)]
                    (tmp_path / str(process)).write_text("\n".join(taken))
                finally:
                    os._exit(0)  # whatever went wrong, it is no second process that runs tests
        for pid in processes:
            os.waitpid(pid, 0)
    taken = "\n".join((tmp_path / str(process)).read_text() for process in range(4)).split()
    assert sorted(map(int, taken)) == list(range(20_000))


def test_that_not_all_have_run_is_told(suite: Suite) -> None:
    loses = "import forks\ntake = forks.take\nforks.take = lambda queue: take(queue) and take(queue)\n"
    status, said = suite.run(loses)
    assert status == 1 and re.search(r"!! [1-3]?\d of 40 tests have run !!", said)


@pytest.mark.parametrize("processes", [1, 2, 7])
def test_every_test_is_in_one_share(processes: int) -> None:
    files = [str(number // 30) for number in range(1000)]
    cut = list(shares(files, processes))
    assert [index for share in cut for index in share] == list(range(1000))
    assert all(len({files[index] for index in share}) == 1 for share in cut)
    assert len(cut[0]) == min(30, 1000 // (24 * processes))
    assert [len(share) for share in cut[-processes:]] == [1] * processes
