"""Audit a source: judge its right and wrong solutions, diagnose each problem, and write the results."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from ioi_eval import InputError, Limits, Problem, Results, Scorer, Store, validate
from ioi_eval.models import Value
from ioi_eval.plugins.audit.diagnosis import (
    Diagnoser,
    JudgedProblem,
    add_subtask_of_all_tests,
    judge_skipped_tests,
)
from ioi_eval.plugins.audit.evidence import AuditOrigin, ReproductionCommands
from ioi_eval.plugins.audit.mutants import AuditMutants
from ioi_eval.plugins.audit.page import render_page
from ioi_eval.plugins.audit.probes import ProbeRunner
from ioi_eval.plugins.audit.records import Audit, Flaw, ProblemAudit, Rate
from ioi_eval.plugins.audit.solutions import add_dump_solutions, make_solution_key
from ioi_eval.runs import BenchmarkOptions, RunOptions, Timing, ValidatedSolutions
from ioi_eval.scoring import with_time_factor
from ioi_eval.sources import Problems, benchmark_of, open_problems, read_solutions, with_references

REFERENCES = 5  # default maximum number of solutions of each kind for a problem of a benchmark
AUDIT, PAGE, PROBES = "audit.json", "audit.html", "probes.jsonl"
RUN, MUTANTS = "run", "mutants"
OnEvent = Callable[[object], None]
_T = TypeVar("_T")
_R = TypeVar("_R")


class AuditOptions(Value):
    """Options of an audit."""

    references: int = REFERENCES  # maximum number of solutions of each kind for a problem of a benchmark
    solutions: str = ""  # name of a dump with further solutions
    column: str | None = None  # column of the dump with expected scores or verdicts
    mutants: int = 0  # minimum number of wrong programs per problem; missing programs are replaced by mutants
    seed: int = 0  # seed of the random choice of solutions and mutants
    timing: Timing = Timing()
    fresh: bool = False


async def audit(
    source: str,
    scorer: Scorer,
    *,
    out: str | Path,
    store: Store,
    choice: BenchmarkOptions | None = None,
    options: AuditOptions | None = None,
    on_event: OnEvent = lambda event: None,
) -> Audit:
    """Judge the right and wrong solutions of a source, and return how far its tests can be trusted.

    A repeated call with the same `out` continues where the last call stopped.

    Args:
        source: A benchmark's name, packages, or a file of rows.
        scorer: An open scorer with the option `echo`, because outputs are compared.
        out: The folder of audit.json, audit.html, the runs and the probes.
        store: The cache.
        choice: The selection of problems.
        options: Options of the audit.
        on_event: Receives events.

    Raises:
        InputError: The source has no solutions.
    """
    options, choice, out = options or AuditOptions(), choice or BenchmarkOptions(), Path(out)
    if options.column is not None and not options.solutions:
        remedy = "Name the dump with solutions=FILE"
        raise InputError("`column` needs a dump of solutions", field="column", remedy=remedy)
    with contextlib.closing(open_problems(source, choice, store)) as source_problems:
        problems, excluded = with_references(source_problems, options.references)
        dump_solutions = (
            read_solutions(options.solutions, problems, column=options.column) if options.solutions else []
        )
        problems = add_dump_solutions(problems, dump_solutions)
        if not any(problem.solutions for problem in problems.values()):
            remedy = "Name a dump of programs with expected results: solutions=FILE"
            raise InputError("the source has no solutions with known verdicts", where=source, remedy=remedy)
        judging = RunOptions(timing=options.timing, fresh=options.fresh, keep_outputs=True)

        async def judge(
            judged_problems: Iterable[Problem], folder: Path, run_options: RunOptions
        ) -> ValidatedSolutions:
            stopping_problems = Problems(
                map(add_subtask_of_all_tests, judged_problems), packages=problems.packages
            )
            return await validate(
                stopping_problems,
                out=folder,
                all_tests=False,
                engine=scorer,
                options=run_options,
                store=store,
                on_event=on_event,
            )

        validated_solutions = await judge(problems.values(), out / RUN, judging)
        origin = _make_audit_origin(
            source, choice, options, frozenset(solution.name for _, solution in dump_solutions)
        )
        probes = ProbeRunner(scorer, out / PROBES, discard_earlier_results=options.fresh)
        audited_problems = await _collect_judged_problems(
            problems, validated_solutions, out / RUN, origin, probes
        )
        audit_mutants = AuditMutants(
            audited_problems, probes, min_wrong_programs=options.mutants, seed=options.seed
        )
        if audit_mutants.problems:
            # The mutants' limits already include the factor.
            unscaled_timing = replace(options.timing, factor=1.0)
            await judge(
                audit_mutants.problems.values(), out / MUTANTS, replace(judging, timing=unscaled_timing)
            )
            await audit_mutants.read_results(Results.open(out / MUTANTS))

        async def diagnose(problem: JudgedProblem) -> ProblemAudit:
            return await Diagnoser(problem, probes).audit(*audit_mutants.find_mutant_outcomes(problem.label))

        audits = await _map_concurrently(diagnose, audited_problems, 2 * probes.slots)
    source_audit = _make_summary(source, audits, excluded, choice, options)
    (out / AUDIT).write_bytes(msgspec.json.format(msgspec.json.encode(source_audit)) + b"\n")
    (out / PAGE).write_text(render_page(source_audit), "utf-8")
    return source_audit


def _make_audit_origin(
    source: str, choice: BenchmarkOptions, options: AuditOptions, dump_names: frozenset[str]
) -> AuditOrigin:
    """Return the origin of the audited problems and solutions.

    `dump_names`: names of the solutions that come from the dump `options.solutions`.
    """
    benchmark = benchmark_of(source)
    return AuditOrigin(
        source=source,
        benchmark="" if benchmark is None else benchmark.name,
        references=options.references,
        data_dir=choice.data_dir,
        checker=choice.checker,
        time_factor=options.timing.factor,
        dump=options.solutions,
        column=options.column,
        dump_names=dump_names,
    )


async def _collect_judged_problems(
    problems: Problems,
    validated: ValidatedSolutions,
    run_folder: Path,
    origin: AuditOrigin,
    probes: ProbeRunner,
) -> list[JudgedProblem]:
    """Return the problems with the limits that were used, and the results of their solutions."""
    results = {result.key: result for result in Results.open(run_folder)}
    unjudged_reasons = {
        unjudged_submission.key: unjudged_submission.reason
        for unjudged_submission in validated.validation.unjudged
        # Solutions with results are excluded here: they were judged, but not compared, because some of their
        # tests were skipped.
        if unjudged_submission.key not in results
    }

    async def make_judged_problem(label: str) -> JudgedProblem:
        problem = _apply_measured_limits(problems[label], label, validated, origin.time_factor)
        keys = [make_solution_key(label, solution) for solution in problem.solutions]
        judged_problem = JudgedProblem(
            label=label,
            problem=problem,
            results={key: results[key] for key in keys if key in results},
            unjudged=unjudged_reasons,
            commands=ReproductionCommands(origin, label),
        )
        return await judge_skipped_tests(judged_problem, probes)

    return await _map_concurrently(make_judged_problem, problems, 2 * probes.slots)


def _apply_measured_limits(
    problem: Problem, label: str, validated: ValidatedSolutions, time_factor: float
) -> Problem:
    """Return the problem with the limits that its solutions had, multiplied by the factor on time limits."""
    measured_limits = validated.validation.limits.get(label)
    if measured_limits is not None and problem.forks_by:
        problem = replace(problem, options=replace(problem.options, forks=measured_limits.processes - 1))
    if measured_limits is None or problem.time_from_solutions is None or problem.limits.cpu_time is not None:
        return with_time_factor(problem, time_factor)
    time_limits = Limits.contest(measured_limits.cpu_time, None)
    wall_time = problem.limits.wall_time or time_limits.wall_time
    return replace(
        problem, limits=replace(problem.limits, cpu_time=time_limits.cpu_time, wall_time=wall_time)
    )


async def _map_concurrently(
    function: Callable[[_T], Coroutine[Any, Any, _R]], arguments: Iterable[_T], max_running: int
) -> list[_R]:
    """Return the results of an async function for each argument. Up to `max_running` calls run at once."""
    slots = asyncio.Semaphore(max_running)

    async def call(item: _T) -> _R:
        async with slots:
            return await function(item)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call(argument)) for argument in arguments]
    return [task.result() for task in tasks]


def _make_summary(
    source: str,
    audits: Sequence[ProblemAudit],
    excluded: Mapping[str, int],
    choice: BenchmarkOptions,
    options: AuditOptions,
) -> Audit:
    """Return the audit of a source from the audits of its problems. `excluded`: numbers by reason."""
    settings: dict[str, str | int | float] = {
        "references": options.references,
        "mutants": options.mutants,
        "seed": options.seed,
        **({"sample": choice.sample} if choice.sample is not None else {}),
        **({"checker": choice.checker} if choice.checker else {}),
        **({"solutions": options.solutions} if options.solutions else {}),
        **({"time_factor": options.timing.factor} if options.timing.factor != 1 else {}),
    }
    return Audit(
        source=source,
        settings=settings,
        sentences=tuple(_make_page_sentences(audits)),
        right=_sum_rates(audit.right for audit in audits),
        wrong=_sum_rates(audit.wrong for audit in audits),
        left_out=dict(sorted(excluded.items())),
        problems=tuple(audits),
        untrusted={
            audit.problem: ", ".join(dict.fromkeys(diagnosis.fault.value for diagnosis in audit.diagnoses))
            for audit in audits
            if audit.diagnoses
        },
    )


def _sum_rates(rates: Iterable[Rate]) -> Rate:
    """Return the rate over all problems."""
    all_rates = list(rates)
    return Rate.from_counts(sum(rate.number for rate in all_rates), sum(rate.of for rate in all_rates))


def _make_page_sentences(audits: Sequence[ProblemAudit]) -> Iterator[str]:
    """Yield the sentences at the top of the page."""
    audits_with_right = [audit for audit in audits if audit.right.of]
    audits_with_wrong = [audit for audit in audits if audit.wrong.of or audit.mutants.accepted]
    if audits_with_right:
        percentage = (
            100 * sum(audit.rejects_right_solution for audit in audits_with_right) / len(audits_with_right)
        )
        yield (
            f"{percentage:.1f} % of this dataset's problems reject a right solution;"
            " on them pass@1 is a lower bound."
        )
    if audits_with_wrong:
        weak_count = sum(
            any(diagnosis.fault is Flaw.WEAK for diagnosis in audit.diagnoses) for audit in audits_with_wrong
        )
        percentage = 100 * weak_count / len(audits_with_wrong)
        yield f"{percentage:.1f} % accept a wrong solution; on them pass@1 is an upper bound."
    if unknown_count := sum(not audit.right.of and not audit.wrong.of for audit in audits):
        count_text = "1 problem" if unknown_count == 1 else f"{unknown_count} problems"
        yield f"Nothing is known of {count_text}: no right or wrong solution could be used."
