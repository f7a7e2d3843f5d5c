"""How many tests a job may carry: by their number, by their bytes, by the time that they may take."""

from __future__ import annotations

import msgspec

from ioi_eval.engines.transport import limit_in
from ioi_eval.engines.transport.attempts import BODY_REMEDY
from ioi_eval.engines.transport.replies import BODY
from ioi_eval.engines.transport.run_jobs import least_memory, tests_in_time
from ioi_eval.engines.transport.shipping import Shipping
from ioi_eval.engines.values import Batch, Profile
from ioi_eval.model.errors import JobTooLarge, JudgeFailure
from ioi_eval.model.values import Job, Problem
from ioi_eval.rules.limits import least_time
from ioi_eval.rules.plan import PlannedTest

_REQUEST = 4096  # bytes of a request and its plan that belong to no file and no test
_PLANNED = 256  # bytes of a plan for each test
_MEMORY = "run_memory_limit"


class Learned:
    """What servers have refused, so that nobody asks them for it again."""

    def __init__(self) -> None:
        self.memory: int | None = None  # the most that a job may ask for
        self.tests: dict[str, int] = {}  # the most that fit into a request, by problem


class Fitting:
    """How much of a batch the next job takes. Where paths are taken, only the number of tests counts."""

    def __init__(self, batch: Batch, profile: Profile, shipping: Shipping, learned: Learned) -> None:
        self._batch, self._profile, self._shipping, self._learned = batch, profile, shipping, learned
        self._problem, self._program = batch.problem, batch.program
        self._most = self._most_tests()

    def _most_tests(self) -> int:
        """In one job. A test with a file that was handed in has three files open, not two."""
        most = min(self._batch.options.max_tests, self._profile.max_files)
        if not self._profile.takes_paths:
            _check_time(self._problem, self._profile)
            most = min(most, tests_in_time(self._problem, self._profile) or most)
        return max(1, most * 2 // 3) if self._program.outputs else most

    def fits(self, job: Job) -> Job:
        """The job with as much memory as servers are known to give, if that is enough."""
        known, wanted = self._learned.memory, job.run_memory_limit
        if known is None or known < least_memory(self._problem) or (wanted is not None and wanted <= known):
            return job
        return msgspec.structs.replace(job, run_memory_limit=known)

    def adapt(self, failure: JudgeFailure, job: Job, tests: int) -> bool:
        """Whether a job of that many tests that was refused as too large can be made to fit."""
        refusal = failure.__cause__
        if not isinstance(refusal, JobTooLarge):
            return False
        if refusal.limit == _MEMORY:
            known = limit_in(str(refusal))
            self._learned.memory = known[1] if known else None
            return self.fits(job).run_memory_limit != job.run_memory_limit
        self._learned.tests[self._problem.id] = max(1, tests // 2)
        return tests > 1 and refusal.limit in ("", BODY)

    async def first(self) -> tuple[PlannedTest, ...]:
        """As many of the tests, from the first, as the next job takes."""
        most = min(self._most, self._learned.tests.get(self._problem.id, self._most))
        candidates, room = self._batch.tests[:most], self._profile.max_body
        if self._profile.takes_paths or room is None:
            return candidates
        used = await self._weight_without_tests()
        for count, planned in enumerate(candidates):
            used += await self._weight(planned)
            if used > room:
                return candidates[:count] if count else self._fail(planned, used, room)
        return candidates

    async def _weight_without_tests(self) -> int:
        program = self._program
        contents = (program.proctor, *(file.content for file in program.files))
        return _REQUEST + sum([await self._shipping.weight(content) for content in contents])

    async def _weight(self, planned: PlannedTest) -> int:
        output = self._program.outputs.get(planned.test.name)
        contents = (planned.test.input, planned.test.answer, output)
        return _PLANNED + sum([await self._shipping.weight(each) for each in contents if each is not None])

    def _fail(self, planned: PlannedTest, used: int, room: int) -> tuple[PlannedTest, ...]:
        raise JudgeFailure(
            f"a job with nothing but this test takes a request of {used} bytes, the server accepts {room}",
            phase=f"judging problem {self._problem.id}",
            test=planned.test.name,
            remedy=BODY_REMEDY,
        )


def _check_time(problem: Problem, profile: Profile) -> None:
    wall, cpu = least_time(problem)
    for needed, most, variable in (
        (wall, profile.max_run_time, "PISTON_RUN_TIMEOUT"),
        (cpu, profile.max_run_cpu_time, "PISTON_RUN_CPU_TIME"),
    ):
        if most is not None and most < needed:
            raise JudgeFailure(
                f"a single test may take {needed / 1000:g} s, the server gives a job {most / 1000:g} s",
                phase=f"judging problem {problem.id}",
                remedy=f"Raise {variable} on the server to {needed} or more; 60000 suits most problems",
            )
