"""Runs the proctor's commands like the embedded engine, and reads their results."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from support.proctor_protocol import (
    Plan,
    PlanChecker,
    PlanLimits,
    PlanSubmission,
    PlanTest,
    TestReport,
    decode_lines,
)

from ioi_eval.engines.contract import Capabilities, Program
from ioi_eval.engines.jobs.run import add_fork_server
from ioi_eval.model.job import JobFile
from ioi_eval.model.values import Blob

EVERYTHING = ("namespaces", "landlock", "seccomp")
LANDLOCK_ALONE = ("landlock", "seccomp")
NAMESPACES_ALONE = ("namespaces", "seccomp")

# A program gets little CPU time on a busy machine. So the wall limit is long enough that the CPU limit is
# reached first.
LIMITS = PlanLimits(cpu_ms=1000, wall_ms=60_000, hard_ms=600_000, memory=64 << 20, output=1 << 20)
SPINNER = PlanLimits(cpu_ms=80, wall_ms=60_000, hard_ms=600_000)
SLEEPER = PlanLimits(cpu_ms=1000, wall_ms=500, hard_ms=5000)
DIFF = PlanChecker(kind="white-diff")
BOX_UID = 61183  # servers of other users have uids below it
# A different interpreter must be below /usr, which is visible in sandboxes.
PYTHON = os.environ.get("IOI_EVAL_TEST_PYTHON", "/usr/bin/python3")
_numbers = itertools.count()


@dataclass(frozen=True)
class Boxed:
    stdout: str
    stderr: str
    report: Mapping[str, Any]
    raw: bytes = b""  # its standard output as bytes


class Heard:
    """A pipe that is read while a sandbox runs.

    If a process outlives the sandbox and has the pipe open for writing, the reader does not wait for it.
    """

    def __enter__(self) -> Heard:
        self._reading, self.end = os.pipe()
        self._pieces: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.end)
        self._reader.join(2)

    def _read(self) -> None:
        with os.fdopen(self._reading, "rb", buffering=0) as stream:
            while piece := stream.read(1 << 16):
                self._pieces.append(piece)

    def content(self) -> bytes:
        return b"".join(self._pieces)

    def text(self) -> str:
        return self.content().decode(errors="replace")


def _last(report: str) -> Mapping[str, Any]:
    """Return the report of a sandbox, or an empty dict if the sandbox was killed.

    Attacks may have written lines before the report.
    """
    lines = report.splitlines()
    return json.loads(lines[-1]) if lines else {}


def _kept(contents: dict[str, bytes], name: str, content: str | bytes) -> str:
    contents[name] = content if isinstance(content, bytes) else content.encode()
    return name


def _planned(
    contents: dict[str, bytes],
    tests: Sequence[tuple[str | bytes, str | bytes | None]],
    outputs: Mapping[int, bytes],
    arguments: Mapping[int, Sequence[str]],
    by_file: Collection[int] | None,
    members: Sequence[Sequence[int]],
) -> tuple[PlanTest, ...]:
    """Return tests for a plan, and add their files to `contents`."""
    contents |= {f"{index}.handed": content for index, content in outputs.items()}
    return tuple(
        PlanTest(
            index=index,
            input=_kept(contents, f"{index}.in", test_input),
            answer=None if answer is None else _kept(contents, f"{index}.out", answer),
            output=f"{index}.handed" if index in outputs else None,
            by_file=index in (outputs if by_file is None else by_file),
            arguments=tuple(arguments.get(index, ())),
            groups=tuple(members[index]) if members else (),
        )
        for index, (test_input, answer) in enumerate(tests)
    )


def _moved(contents: dict[str, bytes], folder: Path) -> dict[str, Path]:
    """Move the files of tests to a folder of the host. Return their paths by name."""
    names = [name for name in contents if name[0].isdigit()]
    for name in names:
        (folder / name).write_bytes(contents.pop(name))
    return {name: folder / name for name in names}


@dataclass(frozen=True)
class Bench:
    workshop: Path
    proctor: Path
    compiled: Callable[[str], Path]
    layers: Sequence[str]
    without: Sequence[str] = ()  # single layers that a test build of the proctor disables
    uid: int = BOX_UID
    environment: Mapping[str, str] | None = None  # of the proctor itself
    store: Path | None = None  # the cache of embedded engines
    jar: Path | None = None  # a program in Java
    waiting: bytes | None = None  # the fork server's library; if set, Python programs must be forked

    def box(
        self,
        script: str,
        *,
        files: Mapping[str, Path] | None = None,
        contents: Mapping[str, bytes] | None = None,
        profile: str = "tool",
        limits: Mapping[str, int] | None = None,
        **spec: Any,
    ) -> Boxed:
        """Run a shell script in a sandbox."""
        job_folder = self.workshop / f"box-{os.getpid()}-{next(_numbers)}"
        job_folder.mkdir(mode=0o711)
        folder = job_folder / "dir"
        folder.mkdir()
        for name, content in (contents or {}).items():
            (folder / name).write_bytes(content)
        if os.getuid() == 0:
            for path in (folder, *folder.iterdir()):
                os.chown(path, self.uid, self.uid)
        whole = {
            "version": 2,
            "argv": ["/bin/bash", "-c", script],
            "env": {"PATH": "/usr/bin:/bin"},
            "dir": str(folder),
            "files": [{"name": name, "path": str(path)} for name, path in (files or {}).items()],
            "profile": profile,
            "uid": self.uid,
            "limits": {"wall_ms": 120_000, **(limits or {})},
            "layers": list(self.layers),
            **({"without": list(self.without)} if self.without else {}),
        }
        boxed = self._boxed(job_folder / "spec.json", whole, spec)
        shutil.rmtree(job_folder)
        return boxed

    def _boxed(self, file: Path, whole: Mapping[str, Any], spec: Mapping[str, Any]) -> Boxed:
        """Run the proctor with the spec in `file`, and return its outputs."""
        with Heard() as stdout, Heard() as stderr, Heard() as report:
            file.write_text(json.dumps({**whole, "report_fd": report.end, **spec}))
            running = subprocess.Popen(
                [str(self.proctor), "box", str(file)],
                stdin=subprocess.DEVNULL,
                env=None if self.environment is None else dict(self.environment),
                stdout=stdout.end,
                stderr=stderr.end,
                pass_fds=(report.end, *([spec["leash_fd"]] if "leash_fd" in spec else [])),
                start_new_session=True,  # a signal to its process group must not reach the tests
            )
            running.wait()
        return Boxed(
            stdout.text(), stderr.text(), _last(report.text() or stderr.text()), raw=stdout.content()
        )

    def judge(
        self,
        source: str,
        tests: Sequence[tuple[str | bytes, str | bytes | None]],
        *,
        language: str = "c++",
        checker_source: str = "",
        members: Sequence[Sequence[int]] = (),
        manager_source: str = "",
        outputs: Mapping[int, bytes] | None = None,
        arguments: Mapping[int, Sequence[str]] | None = None,
        by_file: Collection[int] | None = None,
        extra: Mapping[str, bytes] | None = None,
        by_path: Path | None = None,
        spec: Mapping[str, Any] | None = None,
        script: str = "exec ./proctor run plan.json",
        **plan: Any,
    ) -> Judged:
        """Judge a submission on the tests, inside a sandbox like the engine's. `plan`: further fields of the
        plan.

        `by_path`: a folder of the host for the tests' files, which the sandbox then gets by descriptor.
        """
        files: dict[str, Path] = {"proctor": self.proctor}
        contents: dict[str, bytes] = dict(extra or {})
        submission = plan.pop("submission", self._program(source, language, files, contents))
        for name, source_code in (("checker", checker_source), ("manager", manager_source)):
            files |= {name: self.compiled(source_code)} if source_code else {}
        planned = _planned(contents, tests, outputs or {}, arguments or {}, by_file, members)
        if by_path is not None:
            files |= _moved(contents, by_path)
        submission = self._waited_for(submission, contents)
        defaults = {"submission": submission, "task_type": "Batch", "limits": LIMITS, "checker": DIFF}
        whole = Plan(nonce="n0nce", tests=planned, layers=tuple(self.layers), **{**defaults, **plan})
        return self._ran(whole, files, contents, script, **(spec or {}))

    def _ran(
        self, plan: Plan, files: Mapping[str, Path], contents: dict[str, bytes], script: str, **spec: Any
    ) -> Judged:
        contents["plan.json"] = self._taken_away(msgspec.json.encode(plan))
        boxed = self.box(script, files=files, contents=contents, profile="stage", **spec)
        result = Judged(boxed, list(decode_lines(boxed.stdout, "n0nce")))
        assert not self._forks(plan.submission) or result.interpreter == "forked", result
        return result

    def _forks(self, submission: PlanSubmission) -> bool:
        return self.waiting is not None and submission.argv[:1] == (PYTHON,)

    def _waited_for(self, submission: PlanSubmission, contents: dict[str, bytes]) -> PlanSubmission:
        if self.waiting is None or not self._forks(submission):
            return submission
        return waited_for(submission, contents, self.waiting)

    def _program(
        self, source: str, language: str, files: dict[str, Path], contents: dict[str, bytes]
    ) -> PlanSubmission:
        """Return how the submission is started, and add its file to `contents` or `files`."""
        if language == "python":
            contents["submission.py"] = source.encode()
            return PlanSubmission(argv=(PYTHON, "submission.py"), files=("submission.py",), threads=4)
        if source:
            files["submission"] = self.compiled(source)
        return PlanSubmission(argv=("submission",), address_space=True)

    def _taken_away(self, plan: bytes) -> bytes:
        """Return the plan, with a field that only a test build supports."""
        return (
            json.dumps(json.loads(plan) | {"without": list(self.without)}).encode() if self.without else plan
        )

    def one(
        self, source: str, given: str | bytes = "", answer: str | bytes | None = "", **more: Any
    ) -> TestReport:
        """Return the line of a single test."""
        result = self.judge(source, [(given, answer)], **more)
        assert result.lines[-1].done, result
        return result.tests[0]


def waited_for(submission: PlanSubmission, contents: dict[str, bytes], library: bytes) -> PlanSubmission:
    """Return the submission as the engine sends it for a fork server, and add its files to `contents`."""
    files = tuple(JobFile(name=name, content=Blob.of(contents[name])) for name in submission.files)
    forkable = msgspec.structs.replace(submission, argv=("python3", *submission.argv[1:]))
    program = Program(
        proctor=Blob.of(""), submission=forkable, checker=PlanChecker(kind="exact"), files=files
    )
    planned = add_fork_server(program, Capabilities(name="", architecture="", waiting=Blob.of(library)))
    contents |= {file.name: file.content.read() for file in planned.files if file.name not in contents}
    return msgspec.structs.replace(submission, warm=planned.submission.warm)


@dataclass(frozen=True)
class Judged:
    """The lines that the proctor wrote for a plan, and how the proctor ended."""

    boxed: Boxed
    lines: list[TestReport] = field(default_factory=list)

    @property
    def interpreter(self) -> str:
        """ "forked" if a fork server has run the programs, or the reason why they were started."""
        start = self.lines[0].start if self.lines else None
        return str(start.confinement.get("interpreter", "")) if start is not None else ""

    @property
    def tests(self) -> dict[int, TestReport]:
        """Return the lines about tests, by the number of the test."""
        return {line.test: line for line in self.lines if line.test is not None}
