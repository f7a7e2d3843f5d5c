"""Mutants of right solutions: which mutants are judged, and which accepted ones are really wrong."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from random import Random

from msgspec.structs import replace

from ioi_eval import JudgeFailure, Problem, Results, Submission, SubmissionResult, Test, Verdict
from ioi_eval.models import Blob, Checker, CheckerKind, Solution, TaskType
from ioi_eval.plugins.audit.diagnosis import PASSED, JudgedProblem
from ioi_eval.plugins.audit.mutation import mutants_of
from ioi_eval.plugins.audit.probes import ProbeRunner
from ioi_eval.plugins.audit.records import MutantCounts
from ioi_eval.plugins.audit.solutions import key_of, submission_of

_MUTANT = "mutant"  # prefix of the names of mutants
_INPUTS = 12  # maximum number of changed inputs
_MAX_INPUT_BYTES = 4096  # maximum size of an input that is changed
_NOWHERE = Blob.of("an answer that no program prints: 5c1f7e40")
_NUMBER = re.compile(r"-?\d+")


class MutantRun:
    """The mutants of an audit: the problems whose solutions are mutants, and the outcomes."""

    def __init__(
        self, known: Sequence[JudgedProblem], probes: ProbeRunner, *, wanted: int, seed: int
    ) -> None:
        """`wanted`: number of wrong programs per problem, including the source's own ones."""
        self._known = {each.label: each for each in known}
        self._probes, self._seed = probes, seed
        self._origins = dict[str, str]()  # by the key of a mutant, the key of its original
        self.problems = [made for each in known if (made := self._mutated(each, wanted)) is not None]
        self._counts = dict[str, tuple[MutantCounts, frozenset[str]]]()

    def _mutated(self, known: JudgedProblem, wanted: int) -> Problem | None:
        number, chosen = wanted - len(known.wrong), list[Solution]()
        if number <= 0 or known.problem.task_type is not TaskType.BATCH or known.problem.forks_by:
            return None
        accepted = [key for key, result in known.right.items() if result.solved]
        made = [(key, iter(self._of(known, key))) for key in accepted]
        while made and len(chosen) < number:  # of each original in turn
            key, rest = made.pop(0)
            if (mutant := next(rest, None)) is not None:
                chosen.append(mutant)
                self._origins[key_of(known.label, mutant)] = key
                made.append((key, rest))
        # The limits are those that its solutions had.
        return replace(known.problem, solutions=tuple(chosen)) if chosen else None

    def _of(self, known: JudgedProblem, key: str) -> Iterator[Solution]:
        original = known.solutions[key]
        for name, code in mutants_of(original.code, original.language, self._seed):
            named = f"{_MUTANT} of {original.name}: {name} ({hashlib.sha256(code.encode()).hexdigest()[:8]})"
            yield replace(original, name=named, code=code, expected="", score=None)

    def of(self, label: str) -> tuple[MutantCounts, frozenset[str]]:
        """Return the outcomes of a problem's mutants, and the tests that reject at least one of them."""
        return self._counts.get(label, (MutantCounts(), frozenset()))

    async def read(self, results: Results) -> None:
        """Read the results of the mutants, and try other inputs on the accepted ones."""
        by_key = {result.key: result for result in results}
        for problem in self.problems:
            known = self._known[self._label(problem)]
            keys = {key_of(known.label, each): each for each in problem.solutions}
            compiled = {key: by_key[key] for key in keys if key in by_key and by_key[key].compiles}
            rejected = {key: result for key, result in compiled.items() if not result.solved}
            passing = [key for key in compiled if key not in rejected]
            differing = await self._differing(known, {key: keys[key] for key in passing})
            counts = MutantCounts(
                judged=len(compiled),
                rejected=len(rejected),
                accepted=tuple(differing),
                same=len(passing) - len(differing),
            )
            tests = (test for result in rejected.values() for test in result.tests)
            killed_by = frozenset(test.test_name for test in tests if test.status not in PASSED)
            self._counts[known.label] = counts, killed_by

    def _label(self, problem: Problem) -> str:
        return next(
            label
            for label, known in self._known.items()
            if (known.problem.id, known.problem.year) == (problem.id, problem.year)
        )

    async def _differing(self, known: JudgedProblem, passing: dict[str, Solution]) -> list[str]:
        """Return the mutants that fail on a changed input on which all accepted right solutions agree."""
        accepted = [key for key, result in known.right.items() if result.solved]
        if not passing or len({known.solutions[key].code for key in accepted}) < 2 or known.problem.manager:
            return []
        inputs = list(changed_inputs(known.problem, self._seed))
        tests = await self._agreed(known, accepted, inputs)
        if not tests:
            return []
        problem, found = replace(known.problem, tests=tests, subtasks=(), grader=None), list[str]()
        for key, solution in passing.items():
            result = await self._judged(problem, submission_of(known.label, solution, known.problem.year))
            if result is not None and any(test.status in (Verdict.WA, Verdict.PA) for test in result.tests):
                found.append(key)
        return found

    async def _agreed(
        self, known: JudgedProblem, accepted: Sequence[str], inputs: Sequence[str]
    ) -> tuple[Test, ...]:
        """Return tests with changed inputs. The answers are outputs on which all right solutions agree."""
        first, *others = accepted
        asked = tuple(
            Test(name=str(n), input=Blob.of(text), answer=_NOWHERE) for n, text in enumerate(inputs)
        )
        plain = replace(
            known.problem,
            tests=asked,
            subtasks=(),
            grader=None,
            checker=Checker(kind=CheckerKind.EXACT),
        )
        result = await self._judged(plain, known.submission(first))
        outputs = {test.test_name: test.output for test in result.tests if test.output} if result else {}
        tests = tuple(
            replace(test, answer=Blob.of(outputs[test.name])) for test in asked if test.name in outputs
        )
        for key in others:
            if not tests:
                break
            problem = replace(known.problem, tests=tests, subtasks=(), grader=None)
            result = await self._judged(problem, known.submission(key))
            agreeing = (
                {test.test_name for test in result.tests if test.status is Verdict.AC} if result else set()
            )
            tests = tuple(test for test in tests if test.name in agreeing)
        return tests

    async def _judged(self, problem: Problem, submission: Submission) -> SubmissionResult | None:
        """Return the result of a probe, or None if it could not be judged."""
        try:
            return await self._probes.score(problem, submission)
        except JudgeFailure:
            return None


def changed_inputs(problem: Problem, seed: int) -> Iterator[str]:
    """Yield changed inputs of small tests: some numbers are replaced by others within their line's range."""
    small = [test.input for test in problem.tests if test.input.size <= _MAX_INPUT_BYTES]
    dice = Random(f"{seed} {problem.id}")
    seen = set[str]()
    for _ in range(_INPUTS * 4):
        if not small or len(seen) == _INPUTS:
            return
        lines = dice.choice(small).read().decode(errors="replace").splitlines()
        changed = "\n".join(_changed(line, dice) for line in lines) + "\n"
        if lines and changed not in seen:
            seen.add(changed)
            yield changed


def _changed(line: str, dice: Random) -> str:
    numbers = [int(number) for number in _NUMBER.findall(line)]
    if len(numbers) < 2:
        return line
    low, high = min(numbers), max(numbers)
    return _NUMBER.sub(lambda found: found[0] if dice.random() < 0.5 else str(dice.randint(low, high)), line)
