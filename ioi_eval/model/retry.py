"""The retry rules of the package: every loop that retries uses the numbers of a rule in this module.

docs/architecture.md shows them as a table, and a test compares the table with the rules.
"""

from __future__ import annotations

import random
from logging import Logger

from ioi_eval.model.doing import log_step
from ioi_eval.model.values import Value

_MAX_DOUBLINGS = 16


class RetryRule(Value):
    """A rule for trying again: the work, the errors, the number of attempts, the waits, and the final result.

    `attempts` includes the first attempt. After `seconds`, no further attempt starts. `None` means no limit.
    The wait doubles from `first_wait` to `longest_wait`, in seconds.
    """

    name: str
    what: str
    on: str
    gives_up: str
    attempts: int | None = None
    seconds: float | None = None
    first_wait: float = 0.0
    longest_wait: float = 0.0

    @property
    def max_attempts(self) -> int:
        """The maximum number of attempts. The rule must have such a limit."""
        assert self.attempts is not None, f"the rule {self.name} has no limit of attempts"
        return self.attempts

    @property
    def max_total_seconds(self) -> float:
        """The time after which no further attempt starts, in seconds. The rule must have such a limit."""
        assert self.seconds is not None, f"the rule {self.name} has no limit of time"
        return self.seconds

    def is_last(self, attempt: int) -> bool:
        """Return True if this attempt is the last. The first attempt has the number 1."""
        return self.attempts is not None and attempt >= self.attempts

    def delay_s_after(self, attempt: int) -> float:
        """Return a random wait in seconds, so that jobs that failed together do not return together."""
        doublings = min(attempt - 1, _MAX_DOUBLINGS)
        max_wait_s = min(self.longest_wait, self.first_wait * 2**doublings)
        return random.uniform(max_wait_s / 2, max_wait_s)

    def describe_exhaustion(self, attempts: int) -> str:
        """Return the last part of a message: that this rule allows no further attempt."""
        return f"after {attempts} attempt{'s' * (attempts != 1)} (retry rule `{self.name}`)"

    def log(self, logger: Logger, reason: object, attempt: int = 1) -> None:
        """Log that something is tried again after this attempt, and why."""
        if not self.is_last(attempt):
            log_step(logger, "tried again (retry rule `%s`) because: %s", self.name, reason)


# --- jobs on servers ---------------------------------------------------------------------------------

SERVER = RetryRule(
    name="server",
    what="a job, on another server where there is one",
    on="a server that does not answer, is full, was replaced, sends a broken reply, or executes jobs and"
    " fails them (no empty program compiles, a script breaks, all is killed before a test is reported), which"
    " then rests",
    attempts=8,
    seconds=300.0,
    first_wait=0.1,
    longest_wait=5.0,
    gives_up="`AttemptsUsedUp`, which no other rule tries again. The seconds are for refusals for lack of"
    " capacity, which are no attempts, and for a cluster without a usable server",
)
LATE_JOB = RetryRule(
    name="late job",
    what="a job that a server has not answered, also on a free slot of another server",
    on="no answer so many seconds after the limits of the job, or the server is down",
    seconds=30.0,
    gives_up="the rule `server` counts the failed attempts; the first good answer is used",
)
RECOVERY = RetryRule(
    name="recovery",
    what="the inspection of a server that failed or that is new",
    on="a server that does not answer",
    first_wait=0.5,
    longest_wait=30.0,
    gives_up="never, while the engine is open and the server is listed",
)
FIRST_LOOK = RetryRule(
    name="first look",
    what="the inspection of all servers when an engine opens, with the waits of `recovery`",
    on="no server answers, and one of them may still be starting",
    seconds=60.0,
    gives_up="`EngineUnavailable` with the reasons of the servers; on a Ray cluster after 300 s",
)
PROBE = RetryRule(
    name="probe",
    what="a script that inspects a server, with twice the time",
    on="the script did not end in its time",
    attempts=3,
    gives_up="`EngineUnavailable`: the server is too slow",
)
CONTENTS = RetryRule(
    name="contents",
    what="a job that names files by their hash, after these were sent",
    on="the server lacks some of these files",
    attempts=3,
    gives_up="the server gets the files in the job",
)
DECLINED_FILE = RetryRule(
    name="declined file",
    what="sending a server a file that it is to keep",
    on="the server has no space for the file",
    first_wait=60.0,
    longest_wait=60.0,
    gives_up="never; jobs bring the file themselves until then",
)
WORKER_HEADER = RetryRule(
    name="worker header",
    what="making a precompiled header on a worker, after as many builds as before the first attempt",
    on="the worker did not make the header, or has lost it",
    gives_up="never; builds do without it",
)
WORKER_PROGRAM = RetryRule(
    name="worker program",
    what="a build whose program should stay on the worker; the second one sends the program",
    on="the worker did not keep the program, or the program is too large for the jobs of its tests",
    attempts=2,
    gives_up="the second build counts",
)
RAY_ADDRESS = RetryRule(
    name="Ray address",
    what="a connection to the head of a Ray cluster",
    on="nothing answers as Ray",
    seconds=15.0,
    first_wait=0.5,
    longest_wait=0.5,
    gives_up="`EngineUnavailable`",
)
RAY_CLIENT = RetryRule(
    name="Ray client",
    what="joining a Ray cluster",
    on="the head could not start the process that serves this client, or Ray's own node started too slowly",
    attempts=3,
    first_wait=2.0,
    longest_wait=4.0,
    gives_up="`EngineUnavailable`",
)
RENTED_SERVER = RetryRule(
    name="rented server",
    what="the question whether a rented server is ready",
    on="the server does not answer yet",
    seconds=300.0,
    first_wait=1.0,
    longest_wait=1.0,
    gives_up="`EngineUnavailable`, and all rented servers are stopped",
)

# --- jobs and builds on any engine -------------------------------------------------------------------

REPLY = RetryRule(
    name="reply",
    what="a job",
    on="a broken reply, a failed sandbox, or an engine that is full or does not answer",
    attempts=4,
    first_wait=0.5,
    longest_wait=5.0,
    gives_up="judge failure",
)
NO_LINE = RetryRule(
    name="no line",
    what="a job of tests",
    on="the job reports nothing about any test",
    attempts=2,
    gives_up="judge failure",
)
TOOLCHAIN = RetryRule(
    name="toolchain",
    what="a build, or a whole submission, with the compilers and interpreters that there are now",
    on="no server has the toolchain any more for which the job was made",
    attempts=8,
    gives_up="judge failure",
)
LOST_PROGRAM = RetryRule(
    name="lost program",
    what="the build of a program that stayed on a server, then the tests",
    on="the program was lost with its server",
    attempts=8,
    gives_up="judge failure",
)
BUILD = RetryRule(
    name="build",
    what="a build, without prebuilt files and next to other jobs",
    on="the compiler crashed, idled, was stopped or was killed, or exceeded a limit with prebuilt files",
    attempts=2,
    gives_up="CE, or a judge failure when the source cannot be the reason",
)
PREBUILT = RetryRule(
    name="prebuilt",
    what="a compiler's command without prebuilt files, by the script of the same build job",
    on="the compiler fails or prints anything with prebuilt files",
    attempts=2,
    gives_up="the second command counts",
)
ALONE = RetryRule(
    name="alone",
    what="a test alone, when all others are done",
    on="the test came to the hard stop, looked like waiting for a disk, or was killed from outside",
    attempts=2,
    gives_up="the second run counts. After a second hard stop: TLE, also for all tests to come",
)
BORDERLINE = RetryRule(
    name="borderline",
    what="a test with points, alone; once if it took more than the band",
    on="the test took a little more than its time limit, within the band of borderline times, or up to"
    " 1.6 times the limit on a crowded machine",
    attempts=4,
    gives_up="the least time counts",
)
BLAME = RetryRule(
    name="blame",
    what="a test alone, then a right solution of the package on the same test",
    on="the manager broke, or the checker failed and accepts no reference answer",
    attempts=2,
    gives_up="WA if the right solution passes, else a judge failure",
)

# --- this machine ------------------------------------------------------------------------------------

PERSISTENT_PROCTOR = RetryRule(
    name="persistent proctor",
    what="the start of the persistent proctor of a slot; the job itself runs without it",
    on="the proctor cannot be started, breaks or ends",
    attempts=3,
    gives_up="1000 jobs run without it, then it is started again",
)
LEFT_FOLDER = RetryRule(
    name="left folder",
    what="removing the folder of a sandbox, when the engine closes",
    on="the folder could not be removed after its job",
    attempts=2,
    gives_up="`EngineError`; the next engine removes it",
)
DISK_SHARE = RetryRule(
    name="disk share",
    what="taking the lock under which engines divide the disk",
    on="another engine has the lock",
    seconds=5.0,
    first_wait=0.01,
    longest_wait=0.01,
    gives_up="the engine goes on without the lock",
)
CACHE_ENTRY = RetryRule(
    name="cache entry",
    what="taking the lock of an entry of the cache before it is made",
    on="another process has the lock",
    seconds=60.0,
    first_wait=0.1,
    longest_wait=0.1,
    gives_up="both processes make the entry",
)
CACHE_PIN = RetryRule(
    name="cache pin",
    what="opening and locking the file that keeps an entry in the cache",
    on="another process removed the file in between",
    gives_up="never",
)
DISCOVERY = RetryRule(
    name="discovery",
    what="the search for servers, at its next turn",
    on="Slurm, the name server or the file does not answer",
    gives_up="never; the servers that were found before stay",
)

# --- third-party servers -----------------------------------------------------------------------------

MODEL = RetryRule(
    name="model",
    what="a request to a model's server, or after the pause that it names; ten pauses count as one attempt",
    on="no reply, a broken one, or a status such as 429 or 503",
    attempts=6,
    first_wait=1.0,
    longest_wait=120.0,
    gives_up="the program is missing; the next call asks for it",
)
MODEL_ADDRESS = RetryRule(
    name="model address",
    what="the first request to a model's server, with the waits of `model`",
    on="no connection, or a reply that no model's server sends",
    attempts=2,
    gives_up="one message, and exit code 2",
)
HUB = RetryRule(
    name="hub",
    what="a connection to the hub of datasets",
    on="no connection",
    seconds=2.0,
    first_wait=1.0,
    longest_wait=1.0,
    gives_up="files that were fetched before are used, else one message and exit code 2",
)
