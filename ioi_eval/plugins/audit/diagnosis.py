"""Find flaws of a problem's tests in the results of its right and wrong solutions."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ioi_eval import (
    InputError,
    JudgeFailure,
    Problem,
    Submission,
    SubmissionResult,
    TestResult,
    Verdict,
)
from ioi_eval.models import Blob, Checker, Solution, Subtask
from ioi_eval.plugins.audit.comparisons import (
    has_built_in_comparison,
    list_looser_checkers,
    make_loosest_checker,
)
from ioi_eval.plugins.audit.evidence import ReproductionCommands
from ioi_eval.plugins.audit.outputs import describe_difference, is_reordered, normalize_words
from ioi_eval.plugins.audit.probes import ProbeRunner
from ioi_eval.plugins.audit.records import Diagnosis, Flaw, MutantCounts, ProblemAudit, Rate, Rejection
from ioi_eval.plugins.audit.solutions import convert_to_submission, is_expected_right, make_solution_key
from ioi_eval.scoring import with_time_factor

MAX_LIMIT_FACTOR = 8  # factor for the time and memory limits in a probe
_LIMIT_FACTORS = (2, 4, MAX_LIMIT_FACTOR)  # factors for the limits that a sentence may name
_ROW_OUTPUT_BYTES = 400  # maximum bytes of an output that a row of an audit's run stores
_MAX_SHOWN = 200  # maximum bytes of an input, output or expected answer in a report
_MAX_NAMED = 5  # maximum number of tests or solutions that a sentence names
PASSED = (Verdict.AC, Verdict.SKIPPED)
_EXCEEDED = (Verdict.TLE, Verdict.MLE)
_WRONG_OUTPUT = (Verdict.WA, Verdict.PA)

# Results of tests that reject a solution, by test, then by solution.
Failures = dict[str, dict[str, TestResult]]


@dataclass
class JudgedProblem:
    """A problem with the results of its solutions, by key.

    `unusable`: right and wrong solutions without information about the tests, with the reasons.
    """

    label: str
    problem: Problem
    results: Mapping[str, SubmissionResult]
    unjudged: Mapping[str, str]
    commands: ReproductionCommands
    solutions: dict[str, Solution] = field(init=False)
    right: dict[str, SubmissionResult] = field(init=False)
    wrong: dict[str, SubmissionResult] = field(init=False)
    unusable: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.solutions = {
            make_solution_key(self.label, solution): solution for solution in self.problem.solutions
        }
        is_right_by_key = {
            key: is_expected_right(self.problem, solution) for key, solution in self.solutions.items()
        }
        self.unusable = {
            key: self.unjudged[key]
            for key, right_results in is_right_by_key.items()
            if right_results is not None and key in self.unjudged
        }
        compiled_results = dict[str, SubmissionResult]()
        for key in sorted(self.solutions.keys() & self.results.keys()):
            if is_right_by_key[key] is None:
                continue
            if self.results[key].compiles:
                compiled_results[key] = self.results[key]
            else:
                self.unusable[key] = "it does not compile"
        self.wrong = {key: result for key, result in compiled_results.items() if not is_right_by_key[key]}
        right_results = {key: result for key, result in compiled_results.items() if is_right_by_key[key]}
        crashing_keys = {key for key, result in right_results.items() if _crashes_on_every_test(result)}
        if (
            crashing_keys != right_results.keys()
        ):  # usually these solutions need another version of the interpreter
            self.unusable |= dict.fromkeys(
                crashing_keys, "it crashes on every test, and other right solutions do not"
            )
            right_results = {key: result for key, result in right_results.items() if key not in crashing_keys}
        self.right = right_results

    def make_submission(self, key: str) -> Submission:
        """Return a solution as a submission."""
        return convert_to_submission(self.label, self.solutions[key], self.problem.year)

    def list_solution_names(self, keys: Iterable[str]) -> list[str]:
        """Return the names of solutions."""
        return [self.solutions[key].name for key in keys]

    def list_skipped_tests(self, result: SubmissionResult) -> list[str]:
        """Return the names of the tests that count and on which a solution did not run."""
        subtasks = self.problem.subtasks
        counting_tests = {name for subtask in subtasks for name in subtask.tests}
        return [
            test.test_name
            for test in result.tests
            if test.status is Verdict.SKIPPED and (test.test_name in counting_tests or not subtasks)
        ]

    def select_tests(self, test_names: Collection[str]) -> Problem:
        """Return the problem with only some of its tests, and without subtasks."""
        tests = tuple(test for test in self.problem.tests if test.name in test_names)
        return replace(self.problem, tests=tests, subtasks=(), grader=None)


def add_subtask_of_all_tests(problem: Problem) -> Problem:
    """Return the problem with a subtask of all tests, so that a solution stops at its first failed test.

    A problem with subtasks is returned unchanged, and so is a problem whose limits are measured.
    """
    if problem.subtasks or problem.limits.cpu_time is None or problem.forks_by:
        return problem
    test_names = tuple(test.name for test in problem.tests)
    return replace(problem, subtasks=(Subtask(name="all tests", points=1.0, tests=test_names),))


async def judge_skipped_tests(judged_problem: JudgedProblem, probes: ProbeRunner) -> JudgedProblem:
    """Run the rejected right solutions on the tests that they skipped, and return the completed results.

    A solution stops if it exceeds a limit for the second time. After that, solutions whose first failure is
    an exceeded limit do not run again.
    """
    results, unjudged = dict(judged_problem.results), dict(judged_problem.unjudged)
    is_slow = False  # True if a solution has exceeded a limit on two tests
    for key in sorted(results.keys() & judged_problem.solutions.keys()):
        if results[key].solved or not is_expected_right(
            judged_problem.problem, judged_problem.solutions[key]
        ):
            continue
        while skipped_tests := judged_problem.list_skipped_tests(results[key]):
            failed_statuses = [test.status for test in results[key].tests if test.status not in PASSED]
            has_only_exceeded = set(failed_statuses) <= {*_EXCEEDED}
            is_slow = is_slow or (has_only_exceeded and len(failed_statuses) > 1)
            if is_slow and has_only_exceeded:
                break
            problem = judged_problem.select_tests(skipped_tests)
            try:
                probe_result = await probes.score(
                    add_subtask_of_all_tests(problem) if has_only_exceeded else problem,
                    judged_problem.make_submission(key),
                )
            except (JudgeFailure, InputError) as failure:
                del results[key]
                unjudged[key] = str(failure)
                break
            added_tests = {test.test_name: test for test in probe_result.tests}
            tests = tuple(added_tests.get(test.test_name, test) for test in results[key].tests)
            results[key] = replace(results[key], tests=tests)
    return dataclasses.replace(judged_problem, results=results, unjudged=unjudged)


def _crashes_on_every_test(result: SubmissionResult) -> bool:
    """Return True if a solution crashes on every test that it ran on."""
    executed_tests = [test for test in result.tests if test.status is not Verdict.SKIPPED]
    return bool(executed_tests) and all(test.status is Verdict.RE for test in executed_tests)


class Diagnoser:
    """Finds the reasons why a problem's tests reject right solutions or accept wrong solutions."""

    def __init__(self, judged_problem: JudgedProblem, probes: ProbeRunner) -> None:
        self._judged_problem, self._probes = judged_problem, probes
        self._diagnoses = list[Diagnosis]()
        self._failures: Failures = {}
        for key, result in judged_problem.right.items():
            if not result.solved:
                for test in result.tests:
                    if test.status not in PASSED:
                        self._failures.setdefault(test.test_name, {})[key] = test

    async def audit(self, mutants: MutantCounts, mutant_rejecting_tests: Collection[str]) -> ProblemAudit:
        """Return the audit of the problem. `mutant_rejecting_tests`: tests that reject mutants."""
        judged_problem = self._judged_problem
        rejections = tuple(self._list_rejections())
        if self._failures:
            try:
                await self._probe_limits()
                await self._try_looser_comparisons()
                self._explain_remaining_failures()
            except (JudgeFailure, InputError) as failure:  # then the reason for the rejection is unknown
                self._diagnoses.clear()
                rejected_keys = [item.row for item in rejections]
                reason = f"are rejected; the reason could not be judged ({failure})"
                self._add_diagnosis(
                    Flaw.UNCLEAR,
                    f"{_format_count(rejected_keys, judged_problem.right)} {reason}",
                    rejected_keys,
                )
        accepted_keys = (
            tuple(key for key, result in judged_problem.wrong.items() if result.solved) + mutants.accepted
        )
        if accepted_keys:
            solution_names = judged_problem.list_solution_names(
                key for key in accepted_keys if key in judged_problem.solutions
            )
            count_phrases = (
                [f"{len(solution_names)} of {len(judged_problem.wrong)} wrong solutions"]
                if solution_names
                else []
            )
            count_phrases += [f"{len(mutants.accepted)} wrong mutants"] if mutants.accepted else []
            self._add_diagnosis(
                Flaw.WEAK,
                f"The tests accept {' and '.join(count_phrases)}: {_format_names(accepted_keys)}",
                accepted_keys,
                command=judged_problem.commands.make_validate_command(solution_names),
            )
        rejecting_tests = {
            test.test_name
            for result in judged_problem.wrong.values()
            for test in result.tests
            if test.status not in PASSED
        } | set(mutant_rejecting_tests)
        test_names = [test.name for test in judged_problem.problem.tests]
        has_wrong = bool(judged_problem.wrong) or mutants.rejected > 0
        flaw_order = list(Flaw)
        return ProblemAudit(
            problem=judged_problem.label,
            tests=len(test_names),
            right=Rate.from_counts(
                sum(item.solved for item in judged_problem.right.values()), len(judged_problem.right)
            ),
            wrong=Rate.from_counts(
                sum(not item.solved for item in judged_problem.wrong.values()), len(judged_problem.wrong)
            ),
            unusable=dict(sorted(judged_problem.unusable.items())),
            unjudged=tuple(sorted(judged_problem.unjudged.keys() & judged_problem.unusable.keys())),
            undecided=tuple(name for name in test_names if name not in rejecting_tests) if has_wrong else (),
            rejections=rejections,
            diagnoses=tuple(sorted(self._diagnoses, key=lambda item: flaw_order.index(item.fault))),
            mutants=mutants,
        )

    def _list_rejections(self) -> Iterator[Rejection]:
        """Yield the right solutions that the tests reject."""
        tests_by_name = {test.name: test for test in self._judged_problem.problem.tests}
        for key, result in self._judged_problem.right.items():
            failed_tests = [test for test in result.tests if test.status not in PASSED]
            if result.solved or not failed_tests:
                continue
            example_failure = next((test for test in failed_tests if test.output), failed_tests[0])
            test = tests_by_name[example_failure.test_name]
            difference = (
                _describe_output(example_failure.output, test.answer)
                if example_failure.output and test.answer is not None
                else example_failure.feedback
            )
            # The judge's message contains times, which differ from run to run.
            if example_failure.status in _EXCEEDED:
                difference = "It exceeds the limit"
            yield Rejection(
                row=key,
                language=self._judged_problem.solutions[key].language,
                tests=tuple(test.test_name for test in failed_tests),
                test=test.name,
                status=example_failure.status.value,
                difference=difference,
                input=test.input.read_beginning(_MAX_SHOWN),
                output=example_failure.output[:_MAX_SHOWN],
                expected="" if test.answer is None else test.answer.read_beginning(_MAX_SHOWN),
            )

    def _add_diagnosis(
        self,
        flaw: Flaw,
        sentence: str,
        solution_keys: Iterable[str],
        tests: Iterable[str] = (),
        command: str = "",
    ) -> None:
        """Add a diagnosis. `command`: by default the command that judges the solutions in `solution_keys`."""
        keys = tuple(sorted(set(solution_keys)))
        shown_command = command or self._judged_problem.commands.make_validate_command(
            self._judged_problem.list_solution_names(keys)
        )
        test_order = {test.name: number for number, test in enumerate(self._judged_problem.problem.tests)}
        self._diagnoses.append(
            Diagnosis(
                fault=flaw,
                sentence=f"{sentence}.",
                rows=keys,
                tests=tuple(sorted(set(tests), key=test_order.__getitem__)),
                command=shown_command,
            )
        )

    # --- probes ---

    async def _judge_probe(self, problem: Problem, key: str) -> dict[str, TestResult]:
        """Return the results of a right or wrong solution on a problem's tests."""
        result = await self._probes.score(problem, self._judged_problem.make_submission(key))
        return {test.test_name: test for test in result.tests}

    def _group_failed_tests(self, statuses: Collection[Verdict]) -> dict[str, list[str]]:
        """Return the tests that right solutions fail with any of these statuses, by solution."""
        tests_by_key = dict[str, list[str]]()
        for test, results_by_key in self._failures.items():
            for key, result in results_by_key.items():
                if result.status in statuses:
                    tests_by_key.setdefault(key, []).append(test)
        return tests_by_key

    async def _probe_limits(self) -> None:
        """Explain the tests on which right solutions exceed a limit, with runs under raised limits."""
        exceeded_tests = self._group_failed_tests(_EXCEEDED)
        for key in sorted(exceeded_tests, key=lambda key: (len(exceeded_tests[key]), key)):
            if (result := await self._judge_with_raised_limits(key, exceeded_tests[key])) is not None:
                break
        else:
            return
        failed_tests = self._group_failed_tests(_EXCEEDED)
        for failing_key, tests in failed_tests.items():
            for test in tests:
                del self._failures[test][failing_key]
        ratios = self._compute_usage_by_limit(result)
        max_ratio = max(ratios.values()) if result.status in PASSED else float("inf")
        factor = next((factor for factor in _LIMIT_FACTORS if max_ratio <= factor), None)
        factor_phrase = f"up to {factor} times" if factor else f"more than {MAX_LIMIT_FACTOR} times"
        resources = (
            " and ".join(resource for resource, ratio in ratios.items() if ratio > 1) or "time or memory"
        )
        judged_problem, (solution_name,) = (
            self._judged_problem,
            self._judged_problem.list_solution_names([key]),
        )
        languages = sorted({judged_problem.solutions[solution_key].language for solution_key in failed_tests})
        self._add_diagnosis(
            Flaw.LIMITS,
            f"{_format_count(failed_tests, judged_problem.right)} exceed the limits ({', '.join(languages)});"
            f" {solution_name} needs {factor_phrase} the {resources}",
            failed_tests,
            (test for tests in failed_tests.values() for test in tests),
            judged_problem.commands.make_validate_command(
                [solution_name],
                factor=1 if ratios["memory"] > 1 > ratios["time"] else factor or MAX_LIMIT_FACTOR,
            ),
        )

    async def _judge_with_raised_limits(self, key: str, exceeded_tests: Sequence[str]) -> TestResult | None:
        """Return a solution's result under raised limits, on a test that needs more than the limits, or None.

        The solution runs on the largest test that it has not passed, then on each of `exceeded_tests`, on
        which it exceeded a limit. A wrong output is stored as the solution's failure on this test.
        """
        judged_problem, limits = self._judged_problem, self._judged_problem.problem.limits
        input_sizes = {test.name: test.input.size for test in judged_problem.problem.tests}
        tests_by_size = sorted(exceeded_tests, key=lambda name: -input_sizes[name])
        largest_test = max(
            (*tests_by_size, *judged_problem.list_skipped_tests(judged_problem.right[key])),
            key=input_sizes.__getitem__,
        )
        for test in dict.fromkeys((largest_test, *tests_by_size)):
            eased_problem = with_time_factor(judged_problem.select_tests([test]), MAX_LIMIT_FACTOR)
            if limits.memory:
                eased_problem = replace(
                    eased_problem,
                    limits=replace(eased_problem.limits, memory=limits.memory * MAX_LIMIT_FACTOR),
                )
            result = (await self._judge_probe(eased_problem, key))[test]
            if result.status not in (*_EXCEEDED, *PASSED):
                self._failures.setdefault(test, {})[key] = result
            elif test in exceeded_tests or max(self._compute_usage_by_limit(result).values()) > 1:
                return result
        return None

    def _compute_usage_by_limit(self, result: TestResult) -> dict[str, float]:
        """Return the time and the memory that a test used, as multiples of the limits."""
        limits = self._judged_problem.problem.limits
        return {
            "time": (result.cpu_time or 0.0) / limits.cpu_time if limits.cpu_time else 0.0,
            "memory": (result.memory or 0) / limits.memory if limits.memory else 0.0,
        }

    async def _try_looser_comparisons(self) -> None:
        """Judge rejected outputs by the loosest comparison and, if that accepts them, by all looser ones."""
        judged_problem, problem = self._judged_problem, self._judged_problem.problem
        wrong_outputs = self._group_failed_tests(_WRONG_OUTPUT)
        if not wrong_outputs or not has_built_in_comparison(problem):
            return
        accepted_tests = {test for tests in wrong_outputs.values() for test in tests}
        failures = self._failures
        accepted_tests -= {
            test
            for test, results_by_key in failures.items()
            if self._differ_in_word_count(results_by_key.values())
        }
        for key, tests in wrong_outputs.items():
            # The judge returns the outputs of all probed tests, but the row only contains the start of the
            # first output.
            probed_tests = [
                test
                for test in tests
                if test in accepted_tests or not _is_complete_output(failures[test][key].output)
            ]
            if not probed_tests:
                continue
            results = await self._judge_probe(
                self._make_probe_problem(probed_tests, make_loosest_checker(problem.checker)), key
            )
            for test in probed_tests:
                if results[test].status is not Verdict.AC:
                    accepted_tests.discard(test)
                if results[test].status in _WRONG_OUTPUT:
                    failures[test][key] = results[test]
        if not accepted_tests:
            return
        accepted_by_key = {
            key: key_tests for key, tests in wrong_outputs.items() if (key_tests := accepted_tests & {*tests})
        }
        accepted_keys = sorted(accepted_by_key)
        fitting_names = [
            name
            for name, checker in list_looser_checkers(problem.checker)
            if await self._accepts_only_right_solutions(checker, accepted_by_key)
        ]
        tests_phrase = f"on {_format_names(_sort_tests(problem, accepted_tests), 'test')}"
        if fitting_names:
            self._add_diagnosis(
                Flaw.STRICT,
                f"{_format_count(accepted_keys, judged_problem.right)} are rejected {tests_phrase}."
                f" Comparisons that accept them and no more wrong ones: {', '.join(fitting_names)}",
                accepted_keys,
                accepted_tests,
                judged_problem.commands.make_validate_command(
                    judged_problem.list_solution_names(accepted_keys), checker=fitting_names[0]
                ),
            )
        else:
            self._add_diagnosis(
                Flaw.CHECKER,
                f"{_format_count(accepted_keys, judged_problem.right)} are rejected {tests_phrase}. Looser"
                " comparisons accept them, and also"
                " more wrong ones",
                accepted_keys,
                accepted_tests,
            )
        for key, key_tests in accepted_by_key.items():
            for test in key_tests:
                del failures[test][key]

    def _differ_in_word_count(self, results: Iterable[TestResult]) -> bool:
        """Return True if an output and its answer differ in their number of words."""
        answers = {test.name: test.answer for test in self._judged_problem.problem.tests}
        return any(
            len(result.output.encode(errors="replace").split()) != len(answer.read().split())
            for result in results
            if result.status in _WRONG_OUTPUT and _is_complete_output(result.output)
            if (answer := answers[result.test_name]) is not None
        )

    def _make_probe_problem(self, tests: Collection[str], checker: Checker) -> Problem:
        return replace(self._judged_problem.select_tests(tests), checker=checker)

    async def _accepts_only_right_solutions(
        self, checker: Checker, tests_by_right_solution: Mapping[str, set[str]]
    ) -> bool:
        """Return True if a comparison accepts these right solutions and no further wrong solutions."""
        for key, tests in tests_by_right_solution.items():
            results = await self._judge_probe(self._make_probe_problem(tests, checker), key)
            if any(result.status is not Verdict.AC for result in results.values()):
                return False
        probe_problem = replace(add_subtask_of_all_tests(self._judged_problem.problem), checker=checker)
        for key, result in self._judged_problem.wrong.items():
            failed_statuses = {test.status for test in result.tests if test.status not in PASSED}
            if result.solved or not failed_statuses <= {*_WRONG_OUTPUT}:
                continue
            if (await self._probes.score(probe_problem, self._judged_problem.make_submission(key))).solved:
                return False
        return True

    # --- the rest ---

    def _explain_remaining_failures(self) -> None:
        """Explain the failures that neither limits nor comparisons explain, by their outputs."""
        judged_problem, differing_tests, alike_tests, unclear_tests = (
            self._judged_problem,
            set[str](),
            set[str](),
            set[str](),
        )
        for test in _sort_tests(judged_problem.problem, self._failures):
            results_by_key = self._failures[test]
            if not results_by_key:
                continue
            if self._has_several_right_outputs(test, results_by_key):
                differing_tests.add(test)
            elif (
                len(results_by_key) > 1
                and not self._has_passing_solution(test)
                and not all(map(_crashes_on_every_test, judged_problem.right.values()))
            ):
                alike_tests.add(test)
            else:
                unclear_tests.add(test)
        if differing_tests:
            differing_tests |= {test for test in alike_tests if self._fails_only_by_output(test)}
            alike_tests -= differing_tests
            reason = "print outputs that differ from each other, or the answer in another order"
            if (
                len({key for test in differing_tests for key in self._failures[test]})
                == 1
                < len(judged_problem.right)
            ):
                reason += ", or this solution is wrong"
            self._add_failure_diagnosis(Flaw.CHECKER, differing_tests, reason)
        if alike_tests:
            self._add_failure_diagnosis(
                Flaw.BROKEN, alike_tests, "fail the same test, with the same output or without any"
            )
        for test in unclear_tests:
            if self._failures[test].keys() <= {
                key for test_name in differing_tests for key in self._failures[test_name]
            }:
                unclear_tests = unclear_tests - {test}
        if unclear_tests:
            self._add_failure_diagnosis(
                Flaw.UNCLEAR, unclear_tests, "are rejected; the test, the checker or the solution is wrong"
            )

    def _fails_only_by_output(self, test: str) -> bool:
        """Return True if right solutions fail a test only because of their outputs."""
        return all(result.status in _WRONG_OUTPUT for result in self._failures[test].values())

    def _has_several_right_outputs(self, test: str, result_by_solution: Mapping[str, TestResult]) -> bool:
        """Return True if right solutions have different outputs on a test with a built-in comparison."""
        judged_problem = self._judged_problem
        if not has_built_in_comparison(judged_problem.problem) or not self._fails_only_by_output(test):
            return False
        answer = next(
            candidate.answer for candidate in judged_problem.problem.tests if candidate.name == test
        )
        expected_output = "" if answer is None else answer.read().decode(errors="replace")
        if any(is_reordered(result.output, expected_output) for result in result_by_solution.values()):
            return True
        outputs = {normalize_words(result.output) for result in result_by_solution.values()}
        return len(outputs) + self._has_passing_solution(test) > 1

    def _has_passing_solution(self, test: str) -> bool:
        """Return True if a right solution passes a test."""
        return any(
            result.solved
            or any(outcome.test_name == test and outcome.status is Verdict.AC for outcome in result.tests)
            for result in self._judged_problem.right.values()
        )

    def _add_failure_diagnosis(self, flaw: Flaw, tests: Collection[str], reason: str) -> None:
        """Add a diagnosis of the failures on some tests, with the differences between output and answer."""
        judged_problem = self._judged_problem
        solution_keys = {key for test in tests for key in self._failures[test]}
        tests_phrase = _format_names(_sort_tests(judged_problem.problem, tests), "test")
        differences = sorted(self._describe_differences(tests))
        evidence = f" ({'; '.join(differences[:2])})" if differences else ""
        self._add_diagnosis(
            flaw,
            f"{_format_count(solution_keys, judged_problem.right)} {reason}: {tests_phrase}{evidence}",
            solution_keys,
            tests,
        )

    def _describe_differences(self, tests: Collection[str]) -> set[str]:
        """Return the differences between outputs and the answer on the first of some tests."""
        first_test = _sort_tests(self._judged_problem.problem, tests)[0]
        answer = next(test.answer for test in self._judged_problem.problem.tests if test.name == first_test)
        return {
            _describe_output(result.output, answer)
            if result.output and answer is not None
            else result.status.value
            for result in self._failures[first_test].values()
        }


def _is_complete_output(output: str) -> bool:
    """Return True if a row contains a whole output. An empty output may be incomplete."""
    return 0 < len(output.encode(errors="replace")) < _ROW_OUTPUT_BYTES


def _describe_output(output: str, answer: Blob) -> str:
    """Return how an output differs from the answer, or from its beginning if the output may be truncated."""
    if _is_complete_output(output):
        return describe_difference(output, answer.read().decode(errors="replace"))
    return describe_difference(output, answer.read_beginning(len(output.encode(errors="replace"))))


def _sort_tests(problem: Problem, tests: Iterable[str]) -> list[str]:
    """Return the names of some tests in the problem's order."""
    test_names = set(tests)
    return [test.name for test in problem.tests if test.name in test_names]


def _format_count(counted_keys: Collection[str], all_keys: Collection[str]) -> str:
    """Return the start of a sentence, such as `2 of 3 right solutions`."""
    return f"{len(counted_keys)} of {len(all_keys)} right solutions"


def _format_names(names: Sequence[str], noun: str = "") -> str:
    """Return the first of some names, and how many more there are."""
    more_names = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    noun_phrase = f"{noun}{'' if len(names) == 1 else 's'} " if noun else ""
    return f"{noun_phrase}{', '.join(names[:_MAX_NAMED])}{more_names}"
