"""How many tests a job may carry: by their number, by their bytes, by the time that they may take."""

from __future__ import annotations

from collections.abc import Sequence

from ioi_eval.artifacts.attempts import BODY_REMEDY
from ioi_eval.artifacts.shipping import Shipping
from ioi_eval.errors import JobTooLarge, JudgeFailure
from ioi_eval.judge.jobs import Program, expected_tests, least_memory, least_time
from ioi_eval.judge.options import JudgeOptions
from ioi_eval.models import Problem, Profile
from ioi_eval.plan import PlannedTest, batches
from ioi_eval.protocol.piston import limit_in
from ioi_eval.protocol.piston.replies import BODY

_REQUEST = 4096  # bytes of a request and its plan that belong to no file and no test
_PLANNED = 256  # bytes of a plan for each test
_MEMORY = "run_memory_limit"


class Fitting:
    """For the jobs of one submission. Where the engine takes paths, only the number of tests counts."""

    def __init__(
        self, problem: Problem, program: Program, profile: Profile, options: JudgeOptions, shipping: Shipping
    ) -> None:
        self._problem, self._program, self._profile = problem, program, profile
        self._shipping = shipping
        self.memory: int | None = None  # the most that a server lets a job ask for, once that is known
        self._most = self._most_tests(options)

    def _most_tests(self, options: JudgeOptions) -> int:
        """In one job. A test with a file that was handed in has three files open, not two."""
        most = min(options.max_tests, self._profile.max_files)
        if not self._profile.takes_paths:
            _check_time(self._problem, self._profile)
            most = min(most, expected_tests(self._problem, self._profile) or most)
        return max(1, most * 2 // 3) if self._program.outputs else most

    def adapt(self, failure: JudgeFailure, tests: int) -> bool:
        """Whether a job of that many tests that was refused as too large can be made to fit."""
        refusal = failure.__cause__
        if not isinstance(refusal, JobTooLarge):
            return False
        if refusal.limit == _MEMORY:
            return self._ask_for_less(refusal)
        self._most = max(1, tests // 2)
        return tests > 1 and refusal.limit in ("", BODY)

    def _ask_for_less(self, refusal: JobTooLarge) -> bool:
        """A job asks for more memory than it surely needs, and takes what a server has if that is enough."""
        known = limit_in(str(refusal))
        before, self.memory = self.memory, known[1] if known else None
        return (
            self.memory is not None and self.memory != before and self.memory >= least_memory(self._problem)
        )

    async def first(self, tests: Sequence[PlannedTest]) -> tuple[PlannedTest, ...]:
        """As many of the tests, from the first, as the next job takes."""
        candidates = batches(tests, self._most)[0]
        room = self._profile.max_body
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
