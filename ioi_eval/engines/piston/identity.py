"""The identity of a server: each reply tells it, and the probe finds it by the same script.

Another server may take the place of one between two requests, and nobody sees it down. So each script of ours
first tells which compilers and interpreters it finds, and within which limits: a reply that tells something
else than the probe found counts for nothing. A worker of ours also names its configuration in a header.
"""

from __future__ import annotations

import hashlib

import msgspec

from ioi_eval.engines.contract import BASH, OWN
from ioi_eval.model.errors import BrokenReply, ServerReplaced
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.values import Blob, Value

HEADER = "IOI-Eval-Identity"
"""A worker's header in every reply: a digest of its toolchains, packages, proctor, limits and version."""

_BEGUN, _TOLD = "ioi-eval tells", "ioi-eval told"
# One process, `stat`: the builtin `hash` looks commands up without any. What is not there tells nothing.
TELL = rf"""echo "{_BEGUN} $HOSTTYPE"; ulimit -f; ulimit -u; ulimit -n
hash g++ gcc ld.gold python3 pypy3 rustc go java javac fpc ghc node kotlinc mcs mono 2> /dev/null
stat -L -c '%n %i %s %Y' -- "${{BASH_CMDS[@]}}" /usr/lib*/gcc/*/*/{{cc1plus,libstdc++.a}} \
  /usr/lib*/libc.a "/usr/lib/$HOSTTYPE-linux-gnu/libc.a" 2> /dev/null
echo "{_TOLD}"
"""


class Identity(Value):
    """The identity that a server's replies must tell. An empty field is not known and not checked."""

    tools: str = ""  # a digest of what a script of ours finds there
    worker: str = ""  # what a worker says of itself

    def asking(self, job: Job) -> Job:
        """Return the job with a script that first tells where it runs, if it has one of ours."""
        name = _script_of(job) if self.tools else ""
        if not name:
            return job
        files = (
            msgspec.structs.replace(file, content=Blob.of(TELL.encode() + file.content.read()))
            if file.name == name
            else file
            for file in job.files
        )
        return msgspec.structs.replace(job, files=tuple(files))

    def checked(self, job: Job, result: JobResult) -> JobResult:
        """Return the result without what was told. Raise ServerReplaced where another server did the job.

        `job`: as it was before it asked.
        """
        name = _script_of(job) if self.tools else ""
        if not name:
            return result
        # A package's own `compile` runs, and tells nothing, where a job brings none.
        built = result.compile if name == "compile" else None
        first = built or result.run
        tools, rest = told(first.stdout)
        if not tools:
            raise BrokenReply(f"{result.endpoint} does not tell with which compilers it did a job")
        if tools != self.tools:
            raise ServerReplaced(result.endpoint)
        first = msgspec.structs.replace(first, stdout=rest)
        if built is None:
            return msgspec.structs.replace(result, run=first)
        return msgspec.structs.replace(result, compile=first)


def told(stdout: str) -> tuple[str, str]:
    """Return the digest of what a script told first, and the rest of its output. Empty: it told nothing."""
    words, end, rest = stdout.partition(f"\n{_TOLD}\n")
    if not end or not words.startswith(_BEGUN):
        return "", stdout
    return hashlib.sha256(words.encode()).hexdigest()[:16], rest


def _script_of(job: Job) -> str:
    """Return the name of the script that a job starts with; empty where that is the server's own."""
    if job.runtime == OWN:
        names = {file.name for file in job.files}
        return "compile" if "compile" in names else "run"
    return job.files[0].name if job.runtime == BASH else ""
