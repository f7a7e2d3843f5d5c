"""Diagnose a problem: what the results of its right and wrong solutions show about its tests."""

from __future__ import annotations

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
from ioi_eval.models import Checker, Solution
from ioi_eval.plugins.audit.comparisons import is_compared, looser, loosest
from ioi_eval.plugins.audit.evidence import EvidenceCommands
from ioi_eval.plugins.audit.outputs import difference, is_reordered, normal
from ioi_eval.plugins.audit.probes import ProbeRunner
from ioi_eval.plugins.audit.records import Diagnosis, Flaw, MutantCounts, ProblemAudit, Rate, Rejection
from ioi_eval.plugins.audit.solutions import is_right, key_of, submission_of
from ioi_eval.scoring import with_time_factor

REACH = 8  # multiple of the time and memory limits that a probe has
_FACTORS = (2, 4, REACH)  # multiples of the limits that a sentence may name
_ROW_OUTPUT_BYTES = 400  # bytes of an output that the run of an audit keeps
_MAX_SHOWN = 200  # bytes of an input, an output and an expected answer
_MAX_NAMED = 5  # maximum number of tests or solutions that a sentence names
PASSED = (Verdict.AC, Verdict.SKIPPED)
_EXCEEDED = (Verdict.TLE, Verdict.MLE)
_WRONG_OUTPUT = (Verdict.WA, Verdict.PA)

Failures = dict[str, dict[str, TestResult]]  # by test, then by solution


@dataclass
class JudgedProblem:
    """A problem with the results of its solutions, by key.

    Right and wrong solutions that say nothing about the tests are `unusable`, with the reason.
    """

    label: str
    problem: Problem
    results: Mapping[str, SubmissionResult]
    unjudged: Mapping[str, str]
    commands: EvidenceCommands
    solutions: dict[str, Solution] = field(init=False)
    right: dict[str, SubmissionResult] = field(init=False)
    wrong: dict[str, SubmissionResult] = field(init=False)
    unusable: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.solutions = {key_of(self.label, each): each for each in self.problem.solutions}
        self.unusable = {key: self.unjudged[key] for key in self.solutions if key in self.unjudged}
        worth = {key: is_right(self.problem, each) for key, each in self.solutions.items()}
        compiled = dict[str, SubmissionResult]()
        for key in sorted(self.solutions.keys() & self.results.keys()):
            if worth[key] is None:
                continue
            if self.results[key].compiles:
                compiled[key] = self.results[key]
            else:
                self.unusable[key] = "it does not compile"
        self.wrong = {key: result for key, result in compiled.items() if not worth[key]}
        right = {key: result for key, result in compiled.items() if worth[key]}
        crashing = {key for key, result in right.items() if _crashes_always(result)}
        if crashing != right.keys():  # usually because of another interpreter version
            self.unusable |= dict.fromkeys(crashing, "it crashes on every test, and other right ones do not")
            right = {key: result for key, result in right.items() if key not in crashing}
        self.right = right

    def submission(self, key: str) -> Submission:
        """Return a solution as a submission."""
        return submission_of(self.label, self.solutions[key], self.problem.year)

    def names(self, keys: Iterable[str]) -> list[str]:
        """Return the names of solutions."""
        return [self.solutions[key].name for key in keys]

    def with_tests(self, names: Collection[str]) -> Problem:
        """Return the problem with only some of its tests, and without subtasks."""
        tests = tuple(test for test in self.problem.tests if test.name in names)
        return replace(self.problem, tests=tests, subtasks=(), grader=None)


def _crashes_always(result: SubmissionResult) -> bool:
    return bool(result.tests) and all(test.status is Verdict.RE for test in result.tests)


class Diagnoser:
    """Finds the reasons why a problem's tests reject right solutions or accept wrong ones."""

    def __init__(self, known: JudgedProblem, probes: ProbeRunner) -> None:
        self._known, self._probes = known, probes
        self._found = list[Diagnosis]()
        self._failures: Failures = {}
        for key, result in known.right.items():
            if not result.solved:
                for test in result.tests:
                    if test.status not in PASSED:
                        self._failures.setdefault(test.test_name, {})[key] = test

    async def audit(self, mutants: MutantCounts, killed_by: Collection[str]) -> ProblemAudit:
        """Return the audit of the problem. `killed_by`: tests that reject mutants."""
        known = self._known
        rejections = tuple(self._rejections())
        if self._failures:
            try:
                await self._probe_limits()
                await self._probe_comparisons()
                self._explain_rest()
            except (JudgeFailure, InputError) as failure:  # the reason is unknown
                self._found.clear()
                rows = [each.row for each in rejections]
                reason = f"are rejected; the reason could not be judged ({failure})"
                self._add(Flaw.UNCLEAR, f"{_of(rows, known.right)} {reason}", rows)
        accepted = tuple(key for key, result in known.wrong.items() if result.solved) + mutants.accepted
        if accepted:
            total = f"The source has {len(known.wrong)} wrong solutions"
            by_mutants = f" ({len(mutants.accepted)} mutants)" if mutants.accepted else ""
            own = known.names(key for key in accepted if key in known.solutions)
            self._add(
                Flaw.WEAK,
                f"The tests accept {_listed(accepted)}{by_mutants}, which must be rejected. {total}",
                accepted,
                command=known.commands.shows(own),
            )
        rejecting = {
            test.test_name
            for result in known.wrong.values()
            for test in result.tests
            if test.status not in PASSED
        } | set(killed_by)
        names = [test.name for test in known.problem.tests]
        has_wrong = bool(known.wrong) or mutants.rejected > 0
        order = list(Flaw)
        return ProblemAudit(
            problem=known.label,
            tests=len(names),
            right=Rate.make(sum(each.solved for each in known.right.values()), len(known.right)),
            wrong=Rate.make(sum(not each.solved for each in known.wrong.values()), len(known.wrong)),
            unusable=dict(sorted(known.unusable.items())),
            unjudged=tuple(sorted(known.unjudged.keys() & known.unusable.keys())),
            undecided=tuple(name for name in names if name not in rejecting) if has_wrong else (),
            rejections=rejections,
            diagnoses=tuple(sorted(self._found, key=lambda each: order.index(each.fault))),
            mutants=mutants,
        )

    def _rejections(self) -> Iterator[Rejection]:
        """Yield the right solutions that the tests reject."""
        tests = {test.name: test for test in self._known.problem.tests}
        for key, result in self._known.right.items():
            failed = [test for test in result.tests if test.status not in PASSED]
            if result.solved or not failed:
                continue
            first = next((test for test in failed if test.output), failed[0])
            test = tests[first.test_name]
            expected = "" if test.answer is None else test.answer.beginning(_MAX_SHOWN)
            shown = difference(first.output, expected) if first.output and expected else first.feedback
            if first.status in _EXCEEDED:  # the judge's text has times, which differ from run to run
                shown = "It exceeds the limit"
            yield Rejection(
                row=key,
                language=self._known.solutions[key].language,
                tests=tuple(test.test_name for test in failed),
                status=first.status.value,
                difference=shown,
                input=test.input.beginning(_MAX_SHOWN),
                output=first.output[:_MAX_SHOWN],
                expected=expected,
            )

    def _add(
        self,
        fault: Flaw,
        sentence: str,
        rows: Iterable[str],
        tests: Iterable[str] = (),
        command: str = "",
    ) -> None:
        """Add a diagnosis. `command`: by default the command that judges the solutions in `rows`."""
        keys = tuple(sorted(set(rows)))
        shows = command or self._known.commands.shows(self._known.names(keys))
        order = {test.name: number for number, test in enumerate(self._known.problem.tests)}
        self._found.append(
            Diagnosis(
                fault=fault,
                sentence=f"{sentence}.",
                rows=keys,
                tests=tuple(sorted(set(tests), key=order.__getitem__)),
                command=shows,
            )
        )

    # --- probes ---

    async def _probe(self, problem: Problem, key: str) -> dict[str, TestResult]:
        """Return the results of a right or wrong solution on a problem's tests."""
        result = await self._probes.score(problem, self._known.submission(key))
        return {test.test_name: test for test in result.tests}

    def _keys(self, statuses: Collection[Verdict]) -> dict[str, list[str]]:
        """Return the tests that right solutions fail with one of these statuses, by solution."""
        tests_by_key = dict[str, list[str]]()
        for test, failed in self._failures.items():
            for key, result in failed.items():
                if result.status in statuses:
                    tests_by_key.setdefault(key, []).append(test)
        return tests_by_key

    async def _probe_limits(self) -> None:
        """Explain the tests on which right solutions exceed a limit, by one of them under raised limits."""
        exceeded = self._keys(_EXCEEDED)
        for key in sorted(exceeded, key=lambda key: (len(exceeded[key]), key)):
            if (result := await self._confirmed(key, exceeded[key])) is not None:
                break
        else:
            return
        rows = self._keys(_EXCEEDED)
        for name, tests in rows.items():
            for test in tests:
                del self._failures[test][name]
        ratios = self._ratios(result)
        most = max(ratios.values()) if result.status in PASSED else float("inf")
        factor = next((factor for factor in _FACTORS if most <= factor), None)
        times = f"up to {factor} times" if factor else f"more than {REACH} times"
        resources = " and ".join(name for name, ratio in ratios.items() if ratio > 1) or "time or memory"
        known, (name,) = self._known, self._known.names([key])
        languages = sorted({known.solutions[row].language for row in rows})
        self._add(
            Flaw.LIMITS,
            f"{_of(rows, known.right)} exceed the limits ({', '.join(languages)});"
            f" {name} needs {times} the {resources}",
            rows,
            (test for tests in rows.values() for test in tests),
            known.commands.shows([name], factor=factor or REACH),
        )

    async def _confirmed(self, key: str, tests: Sequence[str]) -> TestResult | None:
        """Return a solution's result under raised limits, on the largest test on which it is not wrong, too.

        The results of tests on which it is wrong replace the exceeded limits. `None` means all tests.
        """
        known, limits = self._known, self._known.problem.limits
        sizes = {test.name: test.input.size for test in known.problem.tests}
        for test in sorted(tests, key=lambda name: -sizes[name]):
            raised = with_time_factor(known.with_tests([test]), REACH)
            if limits.memory:
                raised = replace(raised, limits=replace(raised.limits, memory=limits.memory * REACH))
            result = (await self._probe(raised, key))[test]
            if result.status in (*_EXCEEDED, *PASSED):
                return result
            self._failures[test][key] = result
        return None

    def _ratios(self, result: TestResult) -> dict[str, float]:
        """Return the time and the memory that a test took, as multiples of the limits."""
        limits = self._known.problem.limits
        return {
            "time": (result.cpu_time or 0.0) / limits.cpu_time if limits.cpu_time else 0.0,
            "memory": (result.memory or 0) / limits.memory if limits.memory else 0.0,
        }

    async def _probe_comparisons(self) -> None:
        """Judge rejected outputs by the loosest comparison and, if that accepts them, by each looser one."""
        known, problem = self._known, self._known.problem
        wrong_outputs = self._keys(_WRONG_OUTPUT)
        if not wrong_outputs or not is_compared(problem):
            return
        accepted = {test for tests in wrong_outputs.values() for test in tests}
        failures = self._failures
        accepted -= {test for test, failed in failures.items() if self._differ_in_words(failed.values())}
        for key, tests in wrong_outputs.items():
            # A probe also shows outputs, of which the row has at most the beginning of the first one.
            probed = [test for test in tests if test in accepted or not _is_whole(failures[test][key].output)]
            if not probed:
                continue
            results = await self._probe(self._compared(probed, loosest(problem.checker)), key)
            for test in probed:
                if results[test].status is not Verdict.AC:
                    accepted.discard(test)
                if results[test].status in _WRONG_OUTPUT:
                    failures[test][key] = results[test]
        if not accepted:
            return
        rows = {key for test in accepted for key in self._failures[test]}
        fitting = [name for name, checker in looser(problem.checker) if await self._fits(checker, accepted)]
        where = f"on {_listed(_in_order(problem, accepted), 'test')}"
        if fitting:
            self._add(
                Flaw.STRICT,
                f"{_of(rows, known.right)} are rejected {where}. Comparisons that accept all right ones"
                f" and no more wrong ones: {', '.join(fitting)}",
                rows,
                accepted,
                known.commands.shows(known.names(sorted(rows)), checker=fitting[0]),
            )
        else:
            self._add(
                Flaw.CHECKER,
                f"{_of(rows, known.right)} are rejected {where}. Looser comparisons accept them, and also"
                " more wrong ones",
                rows,
                accepted,
            )
        for test in accepted:
            del self._failures[test]

    def _differ_in_words(self, results: Iterable[TestResult]) -> bool:
        """Return True if an output has more or fewer words than the answer: no comparison accepts that."""
        answers = {test.name: test.answer for test in self._known.problem.tests}
        return any(
            len(result.output.encode(errors="replace").split()) != len(answer.read().split())
            for result in results
            if result.status in _WRONG_OUTPUT and _is_whole(result.output)
            if (answer := answers[result.test_name]) is not None
        )

    def _compared(self, tests: Collection[str], checker: Checker) -> Problem:
        return replace(self._known.with_tests(tests), checker=checker)

    async def _fits(self, checker: Checker, tests: Collection[str]) -> bool:
        """Return True if a comparison accepts all right solutions on some tests, and no more wrong ones."""
        for key in sorted({key for test in tests for key in self._failures[test]}):
            failed = {test for test in tests if key in self._failures[test]}
            results = await self._probe(self._compared(failed, checker), key)
            if any(result.status is not Verdict.AC for result in results.values()):
                return False
        for key, result in self._known.wrong.items():
            missed = {test.test_name: test.status for test in result.tests if test.status not in PASSED}
            if result.solved or not set(missed.values()) <= set(_WRONG_OUTPUT):
                continue
            results = await self._probe(self._compared(missed, checker), key)
            if all(test.status is Verdict.AC for test in results.values()):
                return False
        return True

    # --- the rest ---

    def _explain_rest(self) -> None:
        """Explain the failures that neither limits nor comparisons explain, by their outputs."""
        known, differing, alike, unclear = self._known, set[str](), set[str](), set[str]()
        for test in _in_order(known.problem, self._failures):
            failed = self._failures[test]
            if not failed:
                continue
            if self._needs_checker(test, failed):
                differing.add(test)
            elif len(failed) == len(known.right) > 1 and not all(map(_crashes_always, known.right.values())):
                alike.add(test)
            else:
                unclear.add(test)
        if differing:
            differing |= {test for test in alike if self._is_compared_output(test)}
            alike -= differing
            several = "give outputs that differ from each other or have another order than the answer"
            if len({key for test in differing for key in self._failures[test]}) == 1 < len(known.right):
                several += ", or this solution is wrong"
            self._explain(Flaw.CHECKER, differing, several)
        if alike:
            self._explain(Flaw.BROKEN, alike, "fail the same test, with the same output or without any")
        for test in unclear:
            if self._failures[test].keys() <= {key for other in differing for key in self._failures[other]}:
                unclear = unclear - {test}
        if unclear:
            self._explain(
                Flaw.UNCLEAR, unclear, "are rejected; the test, the checker or the solution is wrong"
            )

    def _is_compared_output(self, test: str) -> bool:
        """Return True if right solutions fail a test only because of their outputs."""
        return all(result.status in _WRONG_OUTPUT for result in self._failures[test].values())

    def _needs_checker(self, test: str, failed: Mapping[str, TestResult]) -> bool:
        """Return True if right solutions have different outputs on a test with a built-in comparison."""
        known = self._known
        if not is_compared(known.problem) or not self._is_compared_output(test):
            return False
        answer = next(each.answer for each in known.problem.tests if each.name == test)
        expected = "" if answer is None else answer.read().decode(errors="replace")
        if any(is_reordered(result.output, expected) for result in failed.values()):
            return True
        outputs = {normal(result.output) for result in failed.values()}
        return len(outputs) + (len(failed) < len(known.right)) > 1

    def _explain(self, fault: Flaw, tests: Collection[str], reason: str) -> None:
        """Add a diagnosis of the failures on some tests, with the differences between output and answer."""
        known = self._known
        rows = {key for test in tests for key in self._failures[test]}
        named = _listed(_in_order(known.problem, tests), "test")
        shown = sorted(self._differences(tests))
        evidence = f" ({'; '.join(shown[:2])})" if shown else ""
        self._add(fault, f"{_of(rows, known.right)} {reason}: {named}{evidence}", rows, tests)

    def _differences(self, tests: Collection[str]) -> set[str]:
        """Return the differences between outputs and the answer on the first of some tests."""
        first = _in_order(self._known.problem, tests)[0]
        answer = next(each.answer for each in self._known.problem.tests if each.name == first)
        expected = "" if answer is None else answer.read().decode(errors="replace")
        return {
            difference(result.output, expected) if result.output else result.status.value
            for result in self._failures[first].values()
        }


def _is_whole(output: str) -> bool:
    """Return True if a row has all of an output. Without an output, it is unknown."""
    return 0 < len(output.encode(errors="replace")) < _ROW_OUTPUT_BYTES


def _in_order(problem: Problem, tests: Iterable[str]) -> list[str]:
    """Return the names of some tests in the problem's order."""
    names = set(tests)
    return [test.name for test in problem.tests if test.name in names]


def _of(some: Collection[str], every: Collection[str]) -> str:
    """Return the start of a sentence, such as `2 of 3 right solutions`."""
    return f"{len(some)} of {len(every)} right solutions"


def _listed(names: Sequence[str], noun: str = "") -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    head = f"{noun}{'' if len(names) == 1 else 's'} " if noun else ""
    return f"{head}{', '.join(names[:_MAX_NAMED])}{more}"
