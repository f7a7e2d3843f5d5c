"""A dataset's own solutions, judged: whether its tests and its comparison take what it calls right.

Datasets compare outputs word by word or byte by byte where many answers are right, have tests that nothing
passes, and solutions for a Python of long ago. A problem is reliable where a solution passes and none is
called wrong. One that crashes or is too slow here says nothing: it may miss its own time's interpreter.
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
from ioi_eval.model.languages import find as find_language
from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.values import Problem, Solution, Submission, Value, Verdict
from ioi_eval.problems import Problems, fingerprint
from ioi_eval.reports.document import counted
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.rules.verdicts import lacks_library
from ioi_eval.runs.events import Event, ReferencesStarted
from ioi_eval.runs.runner import SubmissionJudge, judge_all
from ioi_eval.runs.work import RunSetup, Timing, judging
from ioi_eval.store import Store
from ioi_eval.store.memory import recalled, remembered
from ioi_eval.store.rows import bounded, result_of

REFERENCES = "references.json"
LEFT_OUT = "its own solutions do not pass"
MOST = 3  # solutions of a problem, where the user does not say
_RIGHT = "correct"  # as the benchmarks call what their datasets call right
_WRONG = frozenset({Verdict.WA, Verdict.PA, Verdict.OLE})
_NONE, _OTHER_LANGUAGES = "the dataset has none", "none is in a language that is known here"
_VERSION = 1
_MAX_REASON = 300  # characters


class ReferenceOptions(Value):
    """The options for judging a benchmark's own solutions, ahead of all others."""

    most: Annotated[
        Count,
        CliOption(name="references", metavar="N", help="Reference solutions per problem.", unset=str(MOST)),
    ] = MOST
    skip: Annotated[
        bool,
        CliOption(
            name="skip_unreliable",
            help="Leave out problems whose own solutions do not pass.",
            file_only=True,
        ),
    ] = False

    @property
    def result_settings(self) -> Mapping[str, Any]:
        """Return the settings that can change results."""
        return {"skip_unreliable": self.most} if self.skip else {}


class Reliability(StrEnum):
    RELIABLE = "reliable"
    UNRELIABLE = "unreliable"
    UNKNOWN = "unknown"  # the dataset has no solution of it, or none could be judged


class Reference(Value, kw_only=True):
    """The outcome of one solution."""

    solution: str
    language: str
    status: Verdict | None = None  # None: it could not be judged
    passed: int = 0
    total: int = 0
    test: str = ""  # the first that it did not pass
    reason: str = ""


class ProblemReferences(Value, kw_only=True):
    problem: str
    reliability: Reliability
    references: tuple[Reference, ...] = ()
    others: int = 0  # solutions that are called right and were not judged: too many, or in no known language
    note: str = ""  # why there are none


class References(Value, kw_only=True):
    """references.json of a run's folder."""

    version: int = _VERSION
    most: int  # solutions of a problem that were to be judged
    problems: tuple[ProblemReferences, ...]

    def labels(self, reliability: Reliability) -> tuple[str, ...]:
        return tuple(problem.problem for problem in self.problems if problem.reliability is reliability)


async def judge_references(
    judge: SubmissionJudge,
    problems: Mapping[str, Problem],
    solutions: Callable[[str], tuple[Solution, ...]],
    *,
    store: Store,
    most: int,
    workers: int | Callable[[], int],
    fresh: bool = False,
    timing: Timing | None = None,
    here: Capabilities | None = None,
    prepare: Callable[[Problem], Awaitable[object]] | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> References:
    """Judges at most `most` solutions of each problem, given by label, that are called right.

    `store` keeps each outcome for its problem, the timing, and the compiler or interpreter `here`: where one
    of them differs the solution is judged again. `fresh` judges all again.
    """
    timing = timing or Timing()

    async def limited(problem: Problem) -> Problem:
        return with_time_factor(problem, timing.factor)

    asked = [_Solutions.of(label, problem, solutions, most) for label, problem in problems.items()]
    submissions = {submission.key: submission for ask in asked for submission in ask.submissions()}
    places = _places(submissions.values(), fingerprint(problems), timing, here)
    memory = _Memory(store, places, fresh=fresh)
    if submissions.keys() - memory.done:
        wanted = list(submissions.values())
        await judge_all(
            judge,
            problems,
            wanted,
            memory,
            workers=workers,
            prepare=prepare,
            limited=limited,
            on_event=on_event,
        )
    return References(most=most, problems=tuple(ask.outcome(memory) for ask in asked))


def with_references(problems: Problems, most: int) -> tuple[Problems, dict[str, int]]:
    """Return the problems with solutions of their dataset, at most `most` of each kind.

    Next to them, how many solutions and problems are left out, by reason. Packages have all their solutions.
    """
    left_out = Counter[str]()
    if not isinstance(problems, LoadedProblems):
        return problems, {}
    taken = [
        msgspec.structs.replace(problem, solutions=tuple(_taken(problems.references(label), most, left_out)))
        for label, problem in problems.items()
        if not problem.unusable
    ]
    left_out.update(f"problems ({problem.unusable})" for problem in problems.values() if problem.unusable)
    return Problems(taken, packages=problems.packages), dict(left_out)


def _taken(solutions: Iterable[Solution], most: int, left_out: Counter[str]) -> Iterator[Solution]:
    kinds = Counter[str]()
    for solution in solutions:
        if not _is_known(solution.language):
            left_out["solutions in a language that is not known here"] += 1
        elif kinds[solution.expected] == most:
            left_out[f"solutions beyond the first {most}"] += 1
        else:
            kinds[solution.expected] += 1
            yield solution


async def check_references(
    problems: Problems, options: ReferenceOptions | None, setup: RunSetup
) -> tuple[Problems, References | None]:
    """The problems that are to be judged, and what became of their own solutions where that is asked for.

    Cancelled, it leaves what was judged in the store.
    """
    if options is None:
        return problems, None
    if not isinstance(problems, LoadedProblems):
        raise InputError(
            "only a benchmark has solutions of its own to check first",
            field="references",
            remedy="Packages are checked with `ioi-eval validate`",
        )
    setup.on_event(ReferencesStarted(most=options.most, problems=len(problems)))
    async with judging(setup, problems.packages) as (judge, workers):
        found = await judge_references(
            judge.but(trusts=True),
            problems,
            problems.references,
            store=setup.store,
            most=options.most,
            workers=workers,
            fresh=setup.options.fresh,
            timing=setup.options.timing,
            here=await judge.capabilities(),
            prepare=judge.prepare,
            on_event=setup.on_event,
        )
    unreliable = found.labels(Reliability.UNRELIABLE)
    return problems.without(unreliable, LEFT_OUT) if options.skip else problems, found


def conclusion(found: References, options: ReferenceOptions) -> str:
    numbers = {reliability: len(found.labels(reliability)) for reliability in Reliability}
    left_out = " (left out)" if options.skip and numbers[Reliability.UNRELIABLE] else ""
    return (
        f"up to {found.most} of each of {counted(len(found.problems), 'problem')} judged: "
        f"{numbers[Reliability.RELIABLE]} reliable, {numbers[Reliability.UNRELIABLE]} unreliable{left_out}, "
        f"{numbers[Reliability.UNKNOWN]} unknown"
    )


# --- what is asked -----------------------------------------------------------------------------------


class _Solutions(Value):
    """The solutions of one problem that are to be judged."""

    label: str
    solutions: tuple[Solution, ...] = ()
    others: int = 0
    note: str = ""

    @classmethod
    def of(
        cls, label: str, problem: Problem, solutions: Callable[[str], tuple[Solution, ...]], most: int
    ) -> _Solutions:
        if problem.unusable:
            return cls(label=label, note=problem.unusable)
        try:
            right = [solution for solution in solutions(label) if solution.expected == _RIGHT]
        except InputError as error:  # of this row alone
            return cls(label=label, note=str(error))
        chosen = tuple(solution for solution in right if _is_known(solution.language))[:most]
        why = _OTHER_LANGUAGES if right else _NONE
        return cls(label=label, solutions=chosen, others=len(right) - len(chosen), note="" if chosen else why)

    def submissions(self) -> Iterator[Submission]:
        for solution in self.solutions:
            yield Submission(
                key=_key(self.label, solution),
                problem_id=self.label,
                code=solution.code,
                language=solution.language,
            )

    def outcome(self, memory: _Memory) -> ProblemReferences:
        found = tuple(memory.reference(_key(self.label, solution), solution) for solution in self.solutions)
        return ProblemReferences(
            problem=self.label,
            reliability=reliability(found),
            references=found,
            others=self.others,
            note=self.note,
        )


def _key(label: str, solution: Solution) -> str:
    return f"{label}/{solution.expected}/{solution.name}"


def _is_known(language: str) -> bool:
    try:
        find_language(language)
    except InputError:
        return False
    return True


def reliability(references: Iterable[Reference]) -> Reliability:
    statuses = {reference.status for reference in references if reference.status is not None}
    if not statuses:
        return Reliability.UNKNOWN
    passes = Verdict.AC in statuses and not statuses & _WRONG
    return Reliability.RELIABLE if passes else Reliability.UNRELIABLE


# --- what is known -----------------------------------------------------------------------------------


def _places(
    submissions: Iterable[Submission],
    fingerprints: Mapping[str, str],
    timing: Timing,
    here: Capabilities | None,
) -> dict[str, str]:
    """Return the key in the store of each submission's outcome."""
    found, begin = dict[str, str](), ["reference", _VERSION, version("ioi-eval")]
    for submission in submissions:
        own = [fingerprints[submission.problem_id], submission.language, submission.code]
        tools = find_language(submission.language).tools if here is not None else ()
        by = sorted(tool.identity for name in tools if here is not None for tool in here.offered(name))
        made_of = [*begin, *own, *sorted(timing.result_settings.items()), *by]
        found[submission.key] = hashlib.sha256(msgspec.json.encode(made_of)).hexdigest()
    return found


class _Memory:
    """Takes the rows of a run, and keeps in the store what they say. A runner's journal."""

    def __init__(self, store: Store, places: Mapping[str, str], *, fresh: bool) -> None:
        """`places`: the key in the store of each submission's outcome."""
        self._store, self._places, self._failures = store, places, dict[str, str]()
        asked = () if fresh else places.items()
        read = ((key, recalled(store, place, Reference)) for key, place in asked)
        self._known = {key: found[0] for key, found in read if found is not None}

    @property
    def done(self) -> Set[str]:
        return self._known.keys()

    def find(self, identity: str, problem: str) -> dict[str, Any] | None:
        return None

    def is_equal(self, key: str, identity: str, program: str) -> bool:
        return False

    def begin(self) -> None:
        pass

    def record(self, row: Mapping[str, Any], *, known: bool = False) -> None:
        result = result_of(row)
        missed = next((test for test in result.tests if test.status is not Verdict.AC), None)
        reason = (missed.feedback if missed else "") if result.compiles else result.compile_output
        found = self._known[row["key"]] = Reference(
            solution="",  # nameless: equal solutions share it
            language="",
            status=result.verdict,
            passed=sum(test.status is Verdict.AC for test in result.tests),
            total=len(result.tests),
            test=missed.test_name if missed and result.compiles else "",
            reason=bounded(reason, _MAX_REASON),
        )
        place = self._places[row["key"]]
        self._store.remove(place)
        if not result.compiles and lacks_library(result.compile_output):
            return
        remembered(self._store, place, Reference, lambda _: found)

    def fail(self, row: Mapping[str, Any]) -> None:
        self._failures[row["key"]] = row["reason"]

    def reference(self, key: str, solution: Solution) -> Reference:
        unjudged = Reference(solution="", language="", reason=self._failures.get(key, "it has no result"))
        found = self._known.get(key, unjudged)
        return msgspec.structs.replace(found, solution=solution.name, language=solution.language)
