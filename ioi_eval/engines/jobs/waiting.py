"""Python without its start: an interpreter that waits, and forks a process for each test.

What it imports beforehand are modules that the program names, and those of the harness that calls functions.
Others would be there although the program did not ask for them, and an import that it forgot would not fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from ioi_eval.engines.contract import Profile, Program
from ioi_eval.model.job import JobFile
from ioi_eval.model.protocol import PlanSubmission, PlanWarm
from ioi_eval.model.values import Blob
from ioi_eval.store.compiling import WAITING
from ioi_eval.store.resources import graders

COMMAND, _SCRIPT, _HARNESS = "python3", "waiting.py", "harness.py"
_ARCHIVE = b"PK\x03\x04"  # of several sources: one of them may be called like a module
_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+(\w+)[\w.]*[ \t]+import\b)", re.MULTILINE
)

# Modules that do nothing but define something when they are imported, and start no thread.
_HARMLESS = frozenset(
    re.findall(
        r"\w+",
        """__future__ abc array ast asyncio base64 bisect builtins calendar cmath codecs collections
        concurrent contextlib copy csv dataclasses datetime decimal difflib enum errno fractions
        functools gc hashlib heapq inspect io itertools json keyword logging math numbers numpy
        operator os pickle platform pprint queue random re resource secrets select shutil signal
        sortedcontainers statistics string struct subprocess sys tempfile textwrap threading time
        timeit traceback types typing unicodedata uuid warnings weakref zlib""",
    )
)
_OF_HARNESS = re.findall(
    r"\w+",
    """string re datetime collections heapq bisect copy math random statistics itertools functools operator io
    sys time json typing importlib os traceback types""",
)


def waiting(program: Program, profile: Profile) -> Program:
    """The program with an interpreter that waits for it, where the engine has one."""
    submission = program.submission
    if profile.waiting is None or not submission.argv or submission.argv[0] != COMMAND:
        return program
    own = {*submission.files} - {_HARNESS}  # which imports some only when it needs them
    named = _named(file.content for file in program.files if file.name in own)
    modules = _OF_HARNESS + named if _HARNESS in submission.files else named
    submission, files = wait_for(submission, modules, profile.waiting)
    return msgspec.structs.replace(program, submission=submission, files=(*program.files, *files))


def wait_for(
    submission: PlanSubmission, modules: Iterable[str], library: Blob
) -> tuple[PlanSubmission, tuple[JobFile, ...]]:
    """A program with an interpreter that waits for it, and what that waits with: first the library."""
    warm = PlanWarm(library=WAITING, script=_SCRIPT, modules=tuple(dict.fromkeys(modules)))
    script = Blob.of_file(graders() / "python" / _SCRIPT)
    files = (JobFile(name=WAITING, content=library), JobFile(name=_SCRIPT, content=script))
    return msgspec.structs.replace(submission, warm=warm), files


def _named(sources: Iterable[Blob]) -> list[str]:
    """The harmless modules that the sources import, in their order."""
    names = list[str]()
    for source in sources:
        text = source.read()
        if text.startswith(_ARCHIVE):
            return []
        for several, one in _IMPORT.findall(text):
            words = [part.split(b".")[0].split() for part in several.split(b",")] if several else [[one]]
            names += [word[0].decode(errors="replace") for word in words if word]
    return [name for name in names if name in _HARMLESS]
