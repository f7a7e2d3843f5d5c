"""The judge: a submission is built, run on the tests that matter, scored."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from ioi_eval.engines.contract import Answers, Batch, Built, Engine, Profile, Program, Rejected, Stall
from ioi_eval.judge.blame import Partner
from ioi_eval.judge.classic import has_packages, judge_one_by_one, takes
from ioi_eval.judge.grading import grades
from ioi_eval.judge.needs import lacks, refuse_language, refuse_promises
from ioi_eval.judge.programs import (
    Artifacts,
    ProblemPrograms,
    checker_name,
    is_empty,
    made,
    program,
    runs_code,
)
from ioi_eval.judge.sharing import Sharing, program_identity
from ioi_eval.model.digests import Same
from ioi_eval.model.doing import TESTS, step
from ioi_eval.model.errors import InputError, JudgeFailure, ToolchainGone
from ioi_eval.model.languages import Language, find
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import Line
from ioi_eval.model.values import (
    RAW_POINTS,
    Checker,
    CheckerKind,
    LanguageFrom,
    Problem,
    Submission,
    SubmissionResult,
    TaskType,
    Test,
    TestResult,
    Verdict,
)
from ioi_eval.rules.grading import NOTHING_GRADED, Graded
from ioi_eval.rules.limits import RUNS, is_open, processes_of, settled, stretched
from ioi_eval.rules.plan import is_by_file, live, share
from ioi_eval.rules.scoring import submission_result
from ioi_eval.rules.verdicts import (
    Company,
    counted,
    not_submitted,
    not_tried,
    rescaled,
    test_result,
)

_BUILD = "build"
_TRIES = 8  # of a submission whose interpreter no server has any more


class Judge:
    """Judges submissions on an engine, with what `artifacts` builds.

    Safe to be called many times at once: the engine's slots bound what really runs.
    """

    def __init__(
        self,
        engine: Engine,
        artifacts: Artifacts,
        options: JudgeOptions | None = None,
        sharing: Sharing | None = None,
        *,
        trusts: bool = False,
    ) -> None:
        self._engine, self._artifacts, self._sharing = engine, artifacts, sharing
        self._options, self._trusts = options or JudgeOptions(), trusts

    @property
    def slots(self) -> int:
        """The number of builds and batches that run at the same time."""
        return self._engine.slots

    def but(self, **changes: Any) -> Judge:
        """Return a judge at the same engine, with the same artifacts, that differs in these options.

        `sharing`: judge equal programs once, or with None each. `trusts`: of solutions that are trusted, for
        which a package that one imports is the judge's to have.
        """
        sharing, trusts = changes.pop("sharing", self._sharing), changes.pop("trusts", self._trusts)
        options = replace(self._options, **changes)
        return Judge(self._engine, self._artifacts, options, sharing, trusts=trusts)

    async def keep_promises(self, packages: Collection[str], languages: Collection[str]) -> None:
        """Raise InputError where submissions in these languages may count on packages that are missing."""
        profile = await self._engine.profile()
        refuse_promises(packages, {find(language).command for language in languages}, profile)

    async def profile(self) -> Profile:
        """Return what the engine has and can do."""
        return await self._engine.profile()

    async def prepare(self, problem: Problem) -> None:
        """Build what all submissions need. Raises for a problem that cannot be judged."""
        if not await self._is_classic():
            await self._artifacts.of_problem(problem)

    async def lacks(
        self, problem: Problem, language: Language | None, code: str = ""
    ) -> tuple[JudgeFailure | InputError, ...]:
        """Return why no program in a language, or this one, can be judged on a problem here.

        Nothing is built for that. `language` is None for submissions of files alone. Only a final
        JudgeFailure cannot be mended.
        """
        if await self._is_classic():  # its servers say themselves what they can build
            return ()
        here, builder = await self._engine.profile(), await (await self._artifacts.builder()).profile()
        return tuple(lacks(problem, language, here, builder, code))

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """Return what the submission is worth. JudgeFailure where that cannot be said."""
        if problem.unusable:
            raise JudgeFailure(problem.unusable, phase=f"problem {problem.id}", final=True)
        of_reply = submission.language_from is LanguageFrom.REPLY and submission.code is not None
        if of_reply and (unspoken := await self._not_spoken(problem, submission)):
            without = replace(submission, code=None)
            result = submission_result(problem, without, {}, compiles=False, checker=checker_name(problem))
            return replace(result, compile_output=unspoken)
        if runs_code(problem, submission):
            language = find(submission.language, where=problem.source or problem.id)
            refuse_language(problem, language)
            if self._trusts and not submission.files:
                for error in await self.lacks(problem, language, submission.code or ""):
                    raise error
        elif is_empty(problem, submission):
            return submission_result(problem, submission, {}, compiles=False, checker=checker_name(problem))
        if await self._is_classic():
            with step(TESTS):
                return await judge_one_by_one(self._engine, problem, submission, self._options)
        for _ in range(_TRIES):
            with suppress(ToolchainGone):  # begun anew with what is there now: no mixed results
                return await self._built_and_judged(problem, submission)
        raise JudgeFailure("servers changed their interpreter again and again", phase="judging")

    async def _is_classic(self) -> bool:
        """Return True if classic jobs are to judge: they were asked for, or nothing else is possible."""
        if self._options.job != "auto":
            return self._options.job == "classic"
        profile = await self._engine.profile()
        return not profile.has_shell and has_packages(profile)

    async def _built_and_judged(self, problem: Problem, submission: Submission) -> SubmissionResult:
        if not runs_code(problem, submission):
            ours = await self._artifacts.of_problem(problem)
            taking_part = program(problem, submission, None, ours, options=self._options)
            # The tests that ask for a program, for a submission that has only files.
            named = (test.name for test in problem.tests if not is_by_file(problem, test.name))
            missing = {name: not_submitted(name) for name in named if name not in taking_part.outputs}
            return await self._judged(problem, submission, taking_part, ours, missing)
        with ExitStack() as held:
            turn = None if self._sharing is None else held.enter_context(self._sharing.turn(problem.id))
            programs, built = await asyncio.gather(
                self._artifacts.of_problem(problem),
                self._artifacts.submission(problem, submission),
                return_exceptions=True,
            )
            ours = made(programs)  # a broken checker is told before anything else
            if isinstance(built, BaseException):
                raise built
            if isinstance(built, Rejected):
                name = checker_name(problem)
                result = submission_result(problem, submission, {}, compiles=False, checker=name)
                return _with_build(result, submission, built)
            limited = _limited(Same(problem), find(submission.language))
            taking_part = program(limited, submission, built, ours, options=self._options)
            managed = ours.manager is not None
            partner = Partner(self._artifacts, problem, ours, self._options) if managed else None
            judging = partial(self._judged, limited, submission, taking_part, ours, {}, partner)
            if turn is None or self._sharing is None:
                return _with_build(await judging(), submission, built)
            identity = program_identity(limited, taking_part, built)
            result = await self._sharing.once(turn, identity, judging)
            return _with_build(replace(result, program_sha256=identity), submission, built)

    async def _not_spoken(self, problem: Problem, submission: Submission) -> str:
        """Why a language that only a fence told does not count here: nothing else asked for it."""
        profile, language = await self._engine.profile(), find(submission.language)
        if await self._is_classic():
            there = takes(problem, submission, profile)
        else:
            there = profile.toolchains.keys() >= {*language.tools}
        return "" if there else f"the reply holds a program in {language.name}, which the engine cannot run"

    async def _judged(
        self,
        problem: Problem,
        submission: Submission,
        taking_part: Program,
        ours: ProblemPrograms,
        known: Mapping[str, TestResult],
        partner: Partner | None = None,
    ) -> SubmissionResult:
        """Ask for what can still change a score, until nothing can. Every answer is final.

        A program that stalled once goes on alone, where each test ends in time. One that stalled again has
        failed all tests to come.
        """
        results: dict[str, TestResult] = dict(known)
        options = self._options
        confinement: Mapping[str, Any] = {}
        as_run = stretched(problem, options.borderline)
        stall, at = Stall.NONE, ""
        with step(TESTS):
            while todo := live(problem, results, all_tests=options.all_tests, in_order=options.in_order):
                programs = [each for each in todo if each.test.name not in taking_part.outputs]
                if stall is Stall.AGAIN and programs:
                    for planned in programs:
                        results |= share(planned, not_tried(planned.test.name, at))
                    continue
                alone = stall is not Stall.NONE
                batch = Batch(problem=as_run, program=taking_part, tests=todo, options=options, alone=alone)
                answers, found = await self._answers(batch, partner)
                if as_run is not problem:
                    found = await self._measured_again(batch, problem, found, partner)
                results |= found
                if answers.stall is not Stall.NONE:
                    stall, at = answers.stall, [*answers.lines][-1]
                confinement = answers.confinement or confinement
        graded: Graded = NOTHING_GRADED
        if ours.grader is not None:
            graded = await grades(self._engine, problem, results, ours, options)
        return submission_result(
            problem,
            submission,
            results,
            checker=checker_name(problem),
            confinement=confinement,
            graded=graded,
        )

    async def _measured_again(
        self, batch: Batch, problem: Problem, found: Mapping[str, TestResult], partner: Partner | None
    ) -> dict[str, TestResult]:
        """Run tests again, alone, that were over the limit by a little."""
        results: dict[str, TestResult] = {}
        for planned in (planned for planned in batch.tests if planned.test.name in found):
            name, runs = planned.test.name, [found[planned.test.name]]
            while is_open(min(runs, key=lambda run: run.cpu_time or 0.0), problem) and len(runs) <= RUNS:
                again = replace(batch, tests=(planned,), alone=True)
                _, measured = await self._answers(again, partner)
                runs.append(measured[name])
            results |= share(planned, settled(runs, problem))
        return results

    async def _answers(self, batch: Batch, partner: Partner | None) -> tuple[Answers, dict[str, TestResult]]:
        """Return what the engine says of a batch, and the results by the tests' names, twins' too.

        JudgeFailure where an answer says that we failed.
        """
        answers = await self._engine.judge(batch)
        if partner is not None:
            answers = await partner.tried(self._engine, batch, answers)
        results: dict[str, TestResult] = {}
        for planned in batch.tests:
            if (line := answers.lines.get(planned.test.name)) is not None:
                results |= share(planned, _result(batch.problem, planned.test, line))
        return answers, results


@lru_cache(256)  # one and the same for all submissions, as its digest is made once
def _limited(problem: Same[Problem], language: Language) -> Problem:
    return replace(problem.value, limits=language.limits(problem.value.limits))


def _with_build(
    result: SubmissionResult, submission: Submission, built: Built | Rejected
) -> SubmissionResult:
    """The result, perhaps of an equal program, as that of a submission with a build of its own.

    Its confinement is what confined the tests; and the build, where that differs from the engine's own way.
    """
    confinement = {name: value for name, value in result.confinement.items() if name != _BUILD}
    return replace(
        result,
        key=submission.key,
        repairs=submission.repairs,
        compile_output=built.log,
        compiler=built.compiler,
        linker=built.linker if isinstance(built, Built) else "",
        confinement={**confinement, _BUILD: built.confinement} if built.confinement else confinement,
    )


# --- what an engine's answers mean for the problem ---------------------------------------------------


def _result(problem: Problem, test: Test, line: Line) -> TestResult:
    if line.failure is not None:
        phase = f"judging with {checker_name(problem)}"
        raise JudgeFailure(line.failure, phase=phase, test=test.name, remedy=_remedy(problem.checker))
    two_steps = problem.task_type is TaskType.TWO_STEPS
    company = Company(processes=processes_of(problem), each=two_steps)
    result = test_result(test.name, line, limits=problem.limits, company=company)
    judge = problem.manager if problem.manager and not problem.checker.sources else problem.checker
    if judge.full == RAW_POINTS and test.full is None:
        return counted(result)
    if test.full is None or (judge.kind is CheckerKind.TESTLIB and result.status is Verdict.AC):
        return result  # testlib has an exit code for what is right, which is worth all, however much that is
    return rescaled(result, judge.full, test.full)


def _remedy(checker: Checker) -> str:
    """testlib's header is also there in a form that speaks as the contest system asks: nobody can tell."""
    is_testlib = any(PurePosixPath(file.name).name == "testlib.h" for file in checker.sources)
    if checker.kind is not CheckerKind.CMS or not is_testlib:
        return ""
    return 'Where its checker speaks by testlib\'s exit codes, set "checker": "testlib" in problem.json'
