"""Tests in processes that are forked from one which has loaded all: nothing is loaded twice."""

from __future__ import annotations

import os
import signal
import struct
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import BinaryIO
from warnings import WarningMessage

import pytest
from _pytest.capture import FDCapture

_SHARE = struct.Struct("II")
_SHARES = 24  # a process takes this part of its own part of the tests that are left


def shares(files: Sequence[object], processes: int) -> Iterator[range]:
    """Cut tests of these files into runs of one file each, which one process takes in one go.

    So tests of a file share its fixtures. The fewer tests are left, the shorter runs are, and all processes
    end at about the same time.
    """
    begin = 0
    while begin < len(files):
        most = max(1, (len(files) - begin) // (_SHARES * processes))
        end = begin + 1
        while end < len(files) and end - begin < most and files[end] == files[begin]:
            end += 1
        yield range(begin, end)
        begin = end


@contextmanager
def queue_of(runs: Iterable[range]) -> Iterator[BinaryIO]:
    """Make a file from which processes that share it take these runs.

    It has a place on a disk. Of a file in memory alone (`memfd_create`) Linux does not guard the position,
    and two processes that read at the same moment would take the same run.
    """
    with tempfile.TemporaryFile(buffering=0) as queue:
        queue.write(b"".join(_SHARE.pack(one.start, one.stop) for one in runs))
        queue.seek(0)
        yield queue


def take(queue: BinaryIO) -> range | None:
    """Take a run that no other process gets; None when none is left."""
    packed = os.read(queue.fileno(), _SHARE.size)
    return range(*_SHARE.unpack(packed)) if packed else None


@dataclass(frozen=True)
class Took:
    """A process has taken this share."""

    share: range


@dataclass(frozen=True)
class Began:
    """A process runs this test now; without one it has no more to run."""

    index: int | None = None


@dataclass
class _Process:
    pid: int
    ended: int  # a descriptor that can be read when it has
    words: Connection
    runs: int | None = None
    waits: list[int] = field(default_factory=list)  # what it has taken and not begun
    closed: bool = False


class Forks:
    """A plugin of pytest."""

    def __init__(self, processes: int) -> None:
        self._number = processes
        self._processes = list[_Process]()
        self._begun = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Leave it to pytest where nothing is to be run."""
        if session.testsfailed or session.config.option.collectonly or not session.items:
            return None
        session.config._tmp_path_factory.getbasetemp()  # it is one for all
        files = [item.path for item in session.items]
        with queue_of(shares(files, self._number)) as queue:
            try:
                for _ in range(min(self._number, len(session.items))):
                    self._fork(session, queue)
                self._listen(session, queue)
            finally:
                self._end()
        if not (session.shouldfail or session.shouldstop) and self._begun != len(session.items):
            session.shouldfail = f"{self._begun} of {len(session.items)} tests have run"
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    def _fork(self, session: pytest.Session, queue: BinaryIO) -> None:
        words, says = Pipe(duplex=False)
        session.config.get_terminal_writer().flush()  # else it is said by both
        pid = os.fork()
        if not pid:
            words.close()
            _Fork(session, says).run(queue)
        says.close()
        self._processes.append(_Process(pid, os.pidfd_open(pid), words))

    def _listen(self, session: pytest.Session, queue: BinaryIO) -> None:
        while self._processes:
            wait(
                [one.ended for one in self._processes]
                + [one.words for one in self._processes if not one.closed]
            )
            for process in list(self._processes):
                # Looked at first: what it said before its end is in the pipe then.
                has_ended = bool(wait([process.ended], 0))
                self._hear(session, process)
                if session.shouldfail or session.shouldstop:
                    queue.truncate(0)
                if has_ended:
                    self._has_ended(session, queue, process)

    def _hear(self, session: pytest.Session, process: _Process) -> None:
        try:
            while process.words.poll():
                for word in process.words.recv():
                    self._heed(session, process, word)
        except EOFError:
            process.closed = True

    def _heed(self, session: pytest.Session, process: _Process, word: object) -> None:
        hook = session.config.hook
        if isinstance(word, Took):
            process.waits += word.share
        elif isinstance(word, Began):
            if process.runs is not None:
                last = session.items[process.runs]
                hook.pytest_runtest_logfinish(nodeid=last.nodeid, location=last.location)
            process.runs = word.index
            self._begun += word.index is not None
            process.waits = [index for index in process.waits if index != word.index]
        elif isinstance(word, WarningMessage):
            about = {
                "warning_message": word,
                "when": "runtest",
                "nodeid": word.source,
                "location": None,
            }
            hook.pytest_warning_recorded.call_historic(kwargs=about)
        else:
            report = hook.pytest_report_from_serializable(config=session.config, data=word)
            hook.pytest_runtest_logreport(report=report)

    def _has_ended(self, session: pytest.Session, queue: BinaryIO, process: _Process) -> None:
        """A process that ends in the middle of a test has failed it, and another runs the rest."""
        _, status = os.waitpid(process.pid, 0)
        self._forget(process)
        if status == 0 and process.runs is None:
            return
        about = f"the process that ran it ended: {os.waitstatus_to_exitcode(status)}"
        if process.runs is None:
            session.shouldstop = about.replace("ran it", "runs tests")
            return
        item = session.items[process.runs]
        lost = pytest.TestReport(item.nodeid, item.location, {}, "failed", about, "call")
        session.config.hook.pytest_runtest_logreport(report=lost)
        if not (session.shouldfail or session.shouldstop):
            left = b"".join(_SHARE.pack(index, index + 1) for index in process.waits)
            os.pwrite(queue.fileno(), left, os.fstat(queue.fileno()).st_size)
            self._fork(session, queue)

    def _forget(self, process: _Process) -> None:
        os.close(process.ended)
        process.words.close()
        self._processes.remove(process)

    def _end(self) -> None:
        """Interrupt those that still run, as a terminal does, and wait until they have put things away.

        Nobody hears what they still say: who waits to say it goes on, and who took no notice ends by it.
        """
        for process in self._processes:
            process.words.close()
            signal.pidfd_send_signal(process.ended, signal.SIGINT)
        for process in list(self._processes):
            os.waitpid(process.pid, 0)
            self._forget(process)


class _Fork:
    """One of the processes: it runs tests and reports, and never returns from there.

    It reports a test in one message, when the next one begins.
    """

    def __init__(self, session: pytest.Session, says: Connection) -> None:
        self._session, self._says = session, says
        self._words = list[object]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._session.config
        self._words.append(config.hook.pytest_report_to_serializable(config=config, report=report))

    def pytest_warning_recorded(self, warning_message: WarningMessage, nodeid: str) -> None:
        text = f"{warning_message.category.__name__}: {warning_message.message}"
        where = warning_message.filename, warning_message.lineno
        self._words.append(WarningMessage(text, Warning, *where, source=nodeid))

    def run(self, queue: BinaryIO) -> None:
        status = 1
        try:
            self._settle()
            self._run_all(queue)
            status = 0
        except (KeyboardInterrupt, BrokenPipeError):
            pass
        except BaseException:  # noqa: BLE001 - it is told, and the test that was running has failed
            traceback.print_exc()
        finally:
            os._exit(status)

    def _settle(self) -> None:
        """Report to nobody else, and have what tests print in files of its own.

        The streams stay the same: modules that were loaded before may hold them.
        """
        plugins = self._session.config.pluginmanager
        plugins.unregister(name="terminalreporter")
        plugins.register(self)
        capturing = plugins.get_plugin("capturemanager")._global_capturing
        for stream in (capturing.out, capturing.err):
            if isinstance(stream, FDCapture):
                with tempfile.TemporaryFile() as own:
                    os.dup2(own.fileno(), stream.tmpfile.fileno(), inheritable=False)

    def _run_all(self, queue: BinaryIO) -> None:
        items, hook = self._session.items, self._session.config.hook
        mine = self._taken(queue)
        try:
            runs = next(mine, None)
            while runs is not None:
                follows = next(mine, None)
                self._say(Began(runs))
                following = None if follows is None else items[follows]
                hook.pytest_runtest_protocol(item=items[runs], nextitem=following)
                runs = follows
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # one is enough
            self._session._setupstate.teardown_exact(None)
        self._say(Began())

    def _say(self, word: Began) -> None:
        self._says.send([*self._words, word])
        self._words.clear()

    def _taken(self, queue: BinaryIO) -> Iterator[int]:
        """Take shares, of which each goes to one process, until none is left or all shall stop."""
        while (share := take(queue)) is not None:
            self._words.append(Took(share))
            for index in share:
                if not os.fstat(queue.fileno()).st_size:
                    return
                yield index
