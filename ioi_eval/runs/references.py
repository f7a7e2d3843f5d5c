"""Judge a dataset's solutions, to find problems whose tests or comparison reject right solutions.

Some datasets compare outputs exactly although many answers are right, or have tests that no program passes,
or solutions for old versions of Python. A problem is reliable if a solution passes and no right solution is
judged wrong. A crash or a timeout shows nothing: the solution may need an old interpreter.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Set
from enum import StrEnum
from importlib.metadata import version
from typing import Annotated, Any

import msgspec

from ioi_eval.benchmarks.loaded import LoadedProblems
from ioi_eval.engines.contract import Capabilities
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find_language
from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Problem, Solution, Submission, Value, Verdict
from ioi_eval.problems import Problems, compute_problem_hashes
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.rules.verdicts import mentions_missing_library
from ioi_eval.runs.events import Event, ReferencesStarted
from ioi_eval.runs.runner import SubmissionJudge, judge_all
from ioi_eval.runs.work import RunSetup, Timing, open_judge
from ioi_eval.store import Store
from ioi_eval.store.memory import read_cached, read_or_create_cached
from ioi_eval.store.rows import read_result, shorten

REFERENCES = "references.json"
LEFT_OUT = "its solutions do not pass"  # reason for excluding a problem from a run
MAX_SOLUTIONS = 3  # default maximum number of judged solutions for a problem
_RIGHT = "correct"  # expected result of right solutions from benchmarks
_WRONG = frozenset({Verdict.WA, Verdict.PA, Verdict.OLE})
_NONE, _OTHER_LANGUAGES = "the dataset has none", "no solution is in a supported language"
_VERSION = 1
_MAX_REASON = 300  # maximum characters of a reason


class ReferenceOptions(Value):
    """Options for judging a benchmark's own solutions before the submissions."""

    most: Annotated[
        Count,
        CliOption(
            name="references",
            metavar="N",
            help="Also judge N of the benchmark's own solutions per problem, and report which of them pass.",
            unset="no solution",
            key_only=True,
        ),
    ] = MAX_SOLUTIONS
    skip: Annotated[
        bool,
        CliOption(
            name="skip_unreliable",
            help="Exclude problems for which the benchmark's own solutions do not pass.",
            key_only=True,
        ),
    ] = False

    @property
    def result_settings(self) -> Mapping[str, Any]:
        """Return the settings that can change results."""
        return {"skip_unreliable": self.most} if self.skip else {}


class Reliability(StrEnum):
    """The result of judging a problem's own solutions: whether its tests are reliable."""

    RELIABLE = "reliable"
    UNRELIABLE = "unreliable"
    UNKNOWN = "unknown"  # the problem has no solutions, or none of them could be judged


class Reference(Value, kw_only=True):
    """The outcome of judging a reference solution."""

    solution: str
    language: str
    status: Verdict | None = None  # verdict on the solution; `None` means that it could not be judged
    passed: int = 0
    total: int = 0
    test: str = ""  # name of the first test that the solution does not pass
    reason: str = ""


class ProblemReferences(Value, kw_only=True):
    """The outcomes of judging a problem's reference solutions."""

    problem: str
    reliability: Reliability
    references: tuple[Reference, ...] = ()
    # Number of right solutions that were not judged, because they are too many or in an unknown language.
    others: int = 0
    note: str = ""  # reason why no solution was judged


class References(Value, kw_only=True):
    """The content of references.json in a run's folder."""

    version: int = _VERSION
    most: int  # maximum number of judged solutions for a problem
    problems: tuple[ProblemReferences, ...]

    def list_labels(self, reliability: Reliability) -> tuple[str, ...]:
        """Return the labels of the problems whose reliability is `reliability`."""
        return tuple(problem.problem for problem in self.problems if problem.reliability is reliability)


async def judge_references(
    judge: SubmissionJudge,
    problems: Mapping[str, Problem],
    find_solutions: Callable[[str], tuple[Solution, ...]],
    *,
    store: Store,
    max_solutions: int,
    workers: int | Callable[[], int],
    ignores_cache: bool = False,
    timing: Timing | None = None,
    capabilities: Capabilities | None = None,
    prepare_problem: Callable[[Problem], Awaitable[object]] | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> References:
    """Judge the right solutions of some problems, and return their outcomes.

    Args:
        judge: Judges the solutions.
        problems: The problems by label.
        find_solutions: Returns the solutions of a problem by its label.
        store: Cache of outcomes, which are valid for the same problem, timing, and compiler or interpreter.
        max_solutions: Maximum number of solutions of each problem.
        workers: Number of solutions at a time, or a function that returns it.
        ignores_cache: Judge all solutions again.
        timing: Factor on time limits, and borderline times.
        capabilities: The engine's compilers and interpreters.
        prepare_problem: Builds the programs of a problem.
        on_event: Receives events.
    """
    timing = timing or Timing()

    async def with_factor(problem: Problem) -> Problem:
        return with_time_factor(problem, timing.factor)

    selections = [
        _SelectedSolutions.select(label, problem, find_solutions, max_solutions)
        for label, problem in problems.items()
    ]
    submissions = {
        submission.key: submission for selection in selections for submission in selection.make_submissions()
    }
    cache_keys = _make_cache_keys(
        submissions.values(), compute_problem_hashes(problems), timing, capabilities
    )
    outcomes = _ReferenceOutcomeCache(store, cache_keys, ignores_cache=ignores_cache)
    if submissions.keys() - outcomes.done:
        await judge_all(
            judge,
            problems,
            list(submissions.values()),
            outcomes,
            workers=workers,
            prepare_problem=prepare_problem,
            add_limits=with_factor,
            on_event=on_event,
        )
    return References(
        most=max_solutions,
        problems=tuple(selection.read_problem_references(outcomes) for selection in selections),
    )


def with_references(problems: Problems, max_solutions: int) -> tuple[Problems, dict[str, int]]:
    """Return the problems with up to `max_solutions` reference solutions of each kind, and exclusions.

    The exclusions are numbers of excluded solutions and problems, by reason. Problems of packages are
    unchanged.
    """
    excluded_counts = Counter[str]()
    if not isinstance(problems, LoadedProblems):
        return problems, {}
    limited_problems = [
        msgspec.structs.replace(
            problem,
            solutions=tuple(
                _select_solutions(problems.read_references(label), max_solutions, excluded_counts)
            ),
        )
        for label, problem in problems.items()
        if not problem.unusable
    ]
    excluded_counts.update(
        f"problems ({problem.unusable})" for problem in problems.values() if problem.unusable
    )
    return Problems(limited_problems, packages=problems.packages), dict(excluded_counts)


def _select_solutions(
    solutions: Iterable[Solution], max_solutions: int, excluded_counts: Counter[str]
) -> Iterator[Solution]:
    counts_by_kind = Counter[str]()
    for solution in solutions:
        if not _is_known_language(solution.language):
            excluded_counts["solutions in an unsupported language"] += 1
        elif counts_by_kind[solution.expected] == max_solutions:
            excluded_counts[f"solutions beyond the first {max_solutions}"] += 1
        else:
            counts_by_kind[solution.expected] += 1
            yield solution


async def check_references(
    problems: Problems, options: ReferenceOptions | None, setup: RunSetup
) -> tuple[Problems, References | None]:
    """Judge a benchmark's own solutions, and return the problems to use with the outcomes.

    Without `options`, nothing is judged. If the call is cancelled, outcomes so far are in the store.
    """
    if options is None:
        return problems, None
    if not isinstance(problems, LoadedProblems):
        raise InputError(
            "the solutions of packages cannot be judged before a run, only those of a benchmark",
            field="references",
            remedy="Check the solutions of packages with `ioi-eval validate`",
        )
    setup.on_event(ReferencesStarted(most=options.most, problems=len(problems)))
    async with open_judge(setup, problems.packages) as (judge, workers):
        outcomes = await judge_references(
            judge.with_options(trusts_submissions=True),
            problems,
            problems.read_references,
            store=setup.store,
            max_solutions=options.most,
            workers=workers,
            ignores_cache=setup.options.fresh,
            timing=setup.options.timing,
            capabilities=await judge.capabilities(),
            prepare_problem=judge.prepare,
            on_event=setup.on_event,
        )
    unreliable_labels = outcomes.list_labels(Reliability.UNRELIABLE)
    return problems.exclude(unreliable_labels, LEFT_OUT) if options.skip else problems, outcomes


def summarize_references(references: References, options: ReferenceOptions) -> str:
    """Return a sentence with the numbers of reliable, unreliable and unknown problems."""
    problem_counts = {reliability: len(references.list_labels(reliability)) for reliability in Reliability}
    exclusion_note = " (left out)" if options.skip and problem_counts[Reliability.UNRELIABLE] else ""
    return (
        f"up to {references.most} of each of {format_count(len(references.problems), 'problem')} judged: "
        f"{problem_counts[Reliability.RELIABLE]} reliable, {problem_counts[Reliability.UNRELIABLE]}"
        f" unreliable{exclusion_note}, "
        f"{problem_counts[Reliability.UNKNOWN]} unknown"
    )


# --- solutions ---------------------------------------------------------------------------------------


class _SelectedSolutions(Value):
    """The selected solutions of a problem."""

    label: str
    solutions: tuple[Solution, ...] = ()
    others: int = 0
    note: str = ""

    @classmethod
    def select(
        cls,
        label: str,
        problem: Problem,
        find_solutions: Callable[[str], tuple[Solution, ...]],
        max_solutions: int,
    ) -> _SelectedSolutions:
        if problem.unusable:
            return cls(label=label, note=problem.unusable)
        try:
            right_solutions = [solution for solution in find_solutions(label) if solution.expected == _RIGHT]
        except InputError as error:  # only this row of the benchmark is unusable
            return cls(label=label, note=str(error))
        chosen_solutions = tuple(
            solution for solution in right_solutions if _is_known_language(solution.language)
        )[:max_solutions]
        missing_note = _OTHER_LANGUAGES if right_solutions else _NONE
        return cls(
            label=label,
            solutions=chosen_solutions,
            others=len(right_solutions) - len(chosen_solutions),
            note="" if chosen_solutions else missing_note,
        )

    def make_submissions(self) -> Iterator[Submission]:
        for solution in self.solutions:
            yield Submission(
                key=_solution_key(self.label, solution),
                problem_id=self.label,
                code=solution.code,
                language=solution.language,
            )

    def read_problem_references(self, outcomes: _ReferenceOutcomeCache) -> ProblemReferences:
        references = tuple(
            outcomes.read_reference_outcome(_solution_key(self.label, solution), solution)
            for solution in self.solutions
        )
        return ProblemReferences(
            problem=self.label,
            reliability=compute_reliability(references),
            references=references,
            others=self.others,
            note=self.note,
        )


def _solution_key(label: str, solution: Solution) -> str:
    return f"{label}/{solution.expected}/{solution.name}"


def _is_known_language(language: str) -> bool:
    try:
        find_language(language)
    except InputError:
        return False
    return True


def compute_reliability(references: Iterable[Reference]) -> Reliability:
    """Return the reliability of a problem. It is reliable if a solution passes and none is wrong."""
    statuses = {reference.status for reference in references if reference.status is not None}
    if not statuses:
        return Reliability.UNKNOWN
    has_passed = Verdict.AC in statuses and not statuses & _WRONG
    return Reliability.RELIABLE if has_passed else Reliability.UNRELIABLE


# --- cached outcomes ---------------------------------------------------------------------------------


def _make_cache_keys(
    submissions: Iterable[Submission],
    fingerprints: Mapping[str, str],
    timing: Timing,
    capabilities: Capabilities | None,
) -> dict[str, str]:
    """Return the key in the store of each submission's outcome."""
    cache_keys, key_prefix = dict[str, str](), ["reference", _VERSION, version("ioi-eval")]
    for submission in submissions:
        program_content = [fingerprints[submission.problem_id], submission.language, submission.code]
        toolchain_names = find_language(submission.language).tools if capabilities is not None else ()
        toolchain_identities = sorted(
            toolchain.identity
            for name in toolchain_names
            if capabilities is not None
            for toolchain in capabilities.list_toolchains(name)
        )
        key_content = [
            *key_prefix,
            *program_content,
            *sorted(timing.result_settings.items()),
            *toolchain_identities,
        ]
        cache_keys[submission.key] = hashlib.sha256(msgspec.json.encode(key_content)).hexdigest()
    return cache_keys


class _ReferenceOutcomeCache:
    """A `ResultStore` for the runner that caches the outcomes of solutions in the store."""

    def __init__(self, store: Store, cache_keys: Mapping[str, str], *, ignores_cache: bool) -> None:
        """`cache_keys`: the key in the store, by submission. `ignores_cache`: ignore cached outcomes."""
        self._store, self._cache_keys, self._failures = store, cache_keys, dict[str, str]()
        cached_outcomes = (
            (key, read_cached(store, cache_key, Reference))
            for key, cache_key in (() if ignores_cache else cache_keys.items())
        )
        self._outcomes = {key: entry[0] for key, entry in cached_outcomes if entry is not None}

    @property
    def done(self) -> Set[str]:
        return self._outcomes.keys()

    def find_result(self, identity: str, problem: str) -> dict[str, Any] | None:
        return None

    def has_same_program(self, key: str, identity: str, program: str) -> bool:
        return False

    def start_run(self) -> None:
        pass

    def record_result(self, row: Mapping[str, Any], *, is_earlier: bool = False) -> None:
        result = read_result(row)
        failed_test = next((test for test in result.tests if test.status is not Verdict.AC), None)
        reason = (failed_test.feedback if failed_test else "") if result.compiles else result.compile_output
        outcome = self._outcomes[row["key"]] = Reference(
            solution="",  # name and language are empty here, because equal solutions have a common outcome
            language="",
            status=result.verdict,
            passed=sum(test.status is Verdict.AC for test in result.tests),
            total=len(result.tests),
            test=failed_test.test_name if failed_test and result.compiles else "",
            reason=shorten(reason, _MAX_REASON),
        )
        cache_key = self._cache_keys[row["key"]]
        self._store.remove(cache_key)
        if not result.compiles and mentions_missing_library(result.compile_output):
            return
        read_or_create_cached(self._store, cache_key, Reference, lambda _: outcome)

    def record_failure(self, row: Mapping[str, Any]) -> None:
        self._failures[row["key"]] = row["reason"]

    def read_reference_outcome(self, key: str, solution: Solution) -> Reference:
        unjudged_reference = Reference(
            solution="", language="", reason=self._failures.get(key, "it has no result")
        )
        outcome = self._outcomes.get(key, unjudged_reference)
        return msgspec.structs.replace(outcome, solution=solution.name, language=solution.language)
