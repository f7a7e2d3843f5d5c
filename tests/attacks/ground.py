"""Where attacks are made from end to end: a problem with secrets around it, an engine, and what comes of it."""

from __future__ import annotations

import secrets
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from attack import CHECKER, SECRET, Attack, cpp_program, python_program
from catalogue import PROGRAMS

from ioi_eval.judge import Scorer
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    NamedBlob,
    Problem,
    Submission,
    SubmissionResult,
    Test,
)

LIMITS = Limits(cpu_time=0.4, wall_time=2.5, memory=96 << 20, output=4 << 20)


@dataclass(frozen=True)
class Ground:
    """Secrets that lie about, and somebody who listens."""

    place: Path
    home: Path
    neighbour: Path
    mark: str
    port: int

    def order(self, attack: str, *, wild: bool) -> str:
        """A program's input: what it shall do, and where."""
        return f"{attack} {int(wild)} {self.home} {self.neighbour} {self.place / 'answer'} {self.mark} {self.port}\n"


@contextmanager
def prepared(workshop: Path) -> Iterator[Ground]:
    with ExitStack() as held:
        mark = f"stay-{secrets.token_hex(4)}"
        place, neighbour, home = (workshop / f"{name}-{mark}" for name in ("tests", "neighbour", "home"))
        for folder, mode in ((place, 0o755), (neighbour, 0o700), (home, 0o755)):
            folder.mkdir()
            folder.chmod(mode)
            held.callback(shutil.rmtree, folder)
            (folder / "answer").write_text(SECRET)
        server = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        named = held.enter_context(socket.socket(socket.AF_UNIX))
        named.bind(f"\0{mark}")
        named.listen()
        yield Ground(place, home / "answer", neighbour / "answer", mark, server.getsockname()[1])


def called(mark: str) -> Iterator[int]:
    """Processes that have given themselves that name."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == mark:
                yield int(folder.name)
        except OSError:
            continue  # it ended in between


def problem_of(ground: Ground, attacks: Sequence[Attack]) -> Problem:
    """An attack and a behaving test in turn. The files lie on the host, where the engine takes them from."""
    tests = []
    for index, attack in enumerate(attacks):
        for number, order in ((2 * index, attack.name), (2 * index + 1, "behave")):
            given, answer = ground.place / f"{number}.in", ground.place / f"{number}.out"
            given.write_text(ground.order(order, wild=True))
            answer.write_text(SECRET)
            name = attack.name if order == attack.name else f"after {attack.name}"
            tests.append(Test(name=name, input=Blob.of_file(given), answer=Blob.of_file(answer)))
    checker = NamedBlob(name="checker.cpp", content=Blob.of(CHECKER))
    return Problem(
        id="attacked",
        tests=tuple(tests),
        limits=LIMITS,
        checker=Checker(kind=CheckerKind.CMS, sources=(checker,)),
    )


async def attacked(scorer: Scorer, ground: Ground, attacks: Sequence[Attack]) -> SubmissionResult:
    """What becomes of attacks in one language: they are one submission."""
    language = attacks[0].language
    program: Callable[..., str] = cpp_program if language == "c++" else python_program
    submission = Submission(key="1", problem_id="attacked", code=program(PROGRAMS), language=language)
    return await scorer.score(problem_of(ground, attacks), submission)


def faults(ground: Ground, attacks: Sequence[Attack], result: SubmissionResult) -> list[str]:
    """What is not as it must be, in words; empty where no attack got anywhere."""
    found = {test.test_name: test for test in result.tests}
    wrong = []
    for attack in attacks:
        hostile, behaving = found[attack.name], found[f"after {attack.name}"]
        if hostile.score != 0 or hostile.status not in attack.verdicts:
            wrong.append(f"{attack.name} got {hostile}")
        if behaving.status != "AC":
            wrong.append(f"what came after {attack.name} got {behaving}")
    if SECRET.encode() in msgspec.json.encode(result):
        wrong.append("the secret is in the result")
    return wrong + [f"process {pid} is still there" for pid in called(ground.mark)]
