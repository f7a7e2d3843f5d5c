"""Mutants of right solutions: choose the mutants to judge, and find accepted mutants that are wrong."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from random import Random

from msgspec.structs import replace

from ioi_eval import JudgeFailure, Problem, Results, Submission, SubmissionResult, Test, Verdict
from ioi_eval.models import Blob, Checker, CheckerKind, Solution, TaskType
from ioi_eval.plugins.audit.diagnosis import PASSED, JudgedProblem
from ioi_eval.plugins.audit.mutation import generate_mutants
from ioi_eval.plugins.audit.probes import ProbeRunner
from ioi_eval.plugins.audit.records import MutantCounts
from ioi_eval.plugins.audit.solutions import convert_to_submission, make_solution_key

_MUTANT = "mutant"  # prefix of the names of mutants
_MAX_INPUTS = 12  # maximum number of changed inputs on which mutants and their originals run
_MAX_INPUT_BYTES = 4096  # maximum bytes of an input that is changed
_IMPOSSIBLE_ANSWER = Blob.of("an answer that no program prints: 5c1f7e40")
_NUMBER = re.compile(r"-?\d+")


class AuditMutants:
    """The mutants of an audit: the problems whose solutions are mutants, and the outcomes."""

    def __init__(
        self,
        judged_problems: Sequence[JudgedProblem],
        probes: ProbeRunner,
        *,
        min_wrong_programs: int,
        seed: int,
    ) -> None:
        """`min_wrong_programs`: wrong programs per problem, including the source's wrong solutions."""
        self._judged_by_label = {judged_problem.label: judged_problem for judged_problem in judged_problems}
        self._probes, self._seed = probes, seed
        self.problems = {
            judged_problem.label: mutated_problem
            for judged_problem in judged_problems
            if (mutated_problem := self._make_problem_with_mutants(judged_problem, min_wrong_programs))
            is not None
        }
        self._outcomes = dict[str, tuple[MutantCounts, frozenset[str]]]()

    def _make_problem_with_mutants(
        self, judged_problem: JudgedProblem, min_wrong_programs: int
    ) -> Problem | None:
        missing_count, chosen_mutants = min_wrong_programs - len(judged_problem.wrong), list[Solution]()
        if (
            missing_count <= 0
            or judged_problem.problem.task_type is not TaskType.BATCH
            or judged_problem.problem.forks_by
        ):
            return None
        accepted_keys = [key for key, result in judged_problem.right.items() if result.solved]
        keys_and_mutants = [(key, iter(self._generate_mutants(judged_problem, key))) for key in accepted_keys]
        while (
            keys_and_mutants and len(chosen_mutants) < missing_count
        ):  # take one mutant of each original in turn
            key, mutants = keys_and_mutants.pop(0)
            if (mutant := next(mutants, None)) is not None:
                chosen_mutants.append(mutant)
                keys_and_mutants.append((key, mutants))
        # The mutants have the same limits as the problem's solutions.
        return replace(judged_problem.problem, solutions=tuple(chosen_mutants)) if chosen_mutants else None

    def _generate_mutants(self, judged_problem: JudgedProblem, key: str) -> Iterator[Solution]:
        original = judged_problem.solutions[key]
        for name, code in generate_mutants(original.code, original.language, self._seed):
            mutant_name = (
                f"{_MUTANT} of {original.name}: {name} ({hashlib.sha256(code.encode()).hexdigest()[:8]})"
            )
            yield replace(original, name=mutant_name, code=code, expected="", score=None)

    def find_mutant_outcomes(self, problem_label: str) -> tuple[MutantCounts, frozenset[str]]:
        """Return the outcomes of a problem's mutants, and the tests that reject any of them."""
        return self._outcomes.get(problem_label, (MutantCounts(), frozenset()))

    async def read_results(self, results: Results) -> None:
        """Read the results of the mutants, and try other inputs on the accepted mutants."""
        results_by_key = {result.key: result for result in results}
        for label, problem in self.problems.items():
            judged_problem = self._judged_by_label[label]
            solutions = {
                make_solution_key(judged_problem.label, solution): solution for solution in problem.solutions
            }
            compiled_results = {
                key: results_by_key[key]
                for key in solutions
                if key in results_by_key and results_by_key[key].compiles
            }
            rejected_results = {key: result for key, result in compiled_results.items() if not result.solved}
            passing_keys = [key for key in compiled_results if key not in rejected_results]
            wrong_keys = await self._find_wrong_mutants(
                judged_problem, {key: solutions[key] for key in passing_keys}
            )
            counts = MutantCounts(
                judged=len(compiled_results),
                rejected=len(rejected_results),
                accepted=tuple(wrong_keys),
                same=len(passing_keys) - len(wrong_keys),
            )
            tests = (test for result in rejected_results.values() for test in result.tests)
            rejecting_tests = frozenset(test.test_name for test in tests if test.status not in PASSED)
            self._outcomes[label] = counts, rejecting_tests

    async def _find_wrong_mutants(
        self, judged_problem: JudgedProblem, passing_mutants: dict[str, Solution]
    ) -> list[str]:
        """Return the mutants that fail on a changed input on which all accepted right solutions agree."""
        accepted_keys = [key for key, result in judged_problem.right.items() if result.solved]
        if (
            not passing_mutants
            or len({judged_problem.solutions[key].code for key in accepted_keys}) < 2
            or judged_problem.problem.manager
        ):
            return []
        inputs = list(generate_inputs(judged_problem.problem, self._seed))
        tests = await self._make_agreed_tests(judged_problem, accepted_keys, inputs)
        if not tests:
            return []
        problem, wrong_keys = (
            replace(judged_problem.problem, tests=tests, subtasks=(), grader=None),
            list[str](),
        )
        for key, solution in passing_mutants.items():
            result = await self._score_or_none(
                problem, convert_to_submission(judged_problem.label, solution, judged_problem.problem.year)
            )
            if result is not None and any(test.status in (Verdict.WA, Verdict.PA) for test in result.tests):
                wrong_keys.append(key)
        return wrong_keys

    async def _make_agreed_tests(
        self, judged_problem: JudgedProblem, accepted_keys: Sequence[str], inputs: Sequence[str]
    ) -> tuple[Test, ...]:
        """Return tests with changed inputs. The answers are outputs on which all right solutions agree."""
        first_key, *other_keys = accepted_keys
        output_tests = tuple(
            Test(name=str(number), input=Blob.of(content), answer=_IMPOSSIBLE_ANSWER)
            for number, content in enumerate(inputs)
        )
        output_problem = replace(
            judged_problem.problem,
            tests=output_tests,
            subtasks=(),
            grader=None,
            checker=Checker(kind=CheckerKind.EXACT),
        )
        result = await self._score_or_none(output_problem, judged_problem.make_submission(first_key))
        outputs = {test.test_name: test.output for test in result.tests if test.output} if result else {}
        tests = tuple(
            replace(test, answer=Blob.of(outputs[test.name])) for test in output_tests if test.name in outputs
        )
        for key in other_keys:
            if not tests:
                break
            problem = replace(judged_problem.problem, tests=tests, subtasks=(), grader=None)
            result = await self._score_or_none(problem, judged_problem.make_submission(key))
            agreeing_tests = (
                {test.test_name for test in result.tests if test.status is Verdict.AC} if result else set()
            )
            tests = tuple(test for test in tests if test.name in agreeing_tests)
        return tests

    async def _score_or_none(self, problem: Problem, submission: Submission) -> SubmissionResult | None:
        """Return the result of a probe, or None if it could not be judged."""
        try:
            return await self._probes.score(problem, submission)
        except JudgeFailure:
            return None


def generate_inputs(problem: Problem, seed: int) -> Iterator[str]:
    """Yield inputs of small tests in which random numbers replace some numbers.

    A random number is between the least and the greatest number of its line.
    """
    small_inputs = [test.input for test in problem.tests if test.input.size <= _MAX_INPUT_BYTES]
    random = Random(f"{seed} {problem.id}")
    earlier_inputs = set[str]()
    for _ in range(_MAX_INPUTS * 4):
        if not small_inputs or len(earlier_inputs) == _MAX_INPUTS:
            return
        lines = random.choice(small_inputs).read().decode(errors="replace").splitlines()
        changed_input = "\n".join(_change_numbers(line, random) for line in lines) + "\n"
        if lines and changed_input not in earlier_inputs:
            earlier_inputs.add(changed_input)
            yield changed_input


def _change_numbers(line: str, random: Random) -> str:
    numbers = [int(number) for number in _NUMBER.findall(line)]
    if len(numbers) < 2:
        return line
    low, high = min(numbers), max(numbers)
    return _NUMBER.sub(
        lambda match: match[0] if random.random() < 0.5 else str(random.randint(low, high)), line
    )
