"""The right and wrong solutions of an audit, from the source and from a dump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ioi_eval.models import Problem, Solution, Submission
from ioi_eval.scoring import must_be_right, must_be_wrong
from ioi_eval.sources import Problems


def add_dump_solutions(problems: Problems, dump_solutions: Iterable[tuple[str, Solution]]) -> Problems:
    """Return the problems with the solutions of a dump added, and with unique names of solutions.

    Solutions that may be right or wrong are dropped, unless they are needed to measure a limit.
    """
    added_by_label = dict[str, list[Solution]]()
    for label, solution in dump_solutions:
        added_by_label.setdefault(label, []).append(solution)
    extended_problems = list[Problem]()
    for label, problem in problems.items():
        is_measured = problem.limits.cpu_time is None or bool(problem.forks_by)
        solutions = [
            solution
            for solution in (*problem.solutions, *added_by_label.get(label, ()))
            if is_measured or is_expected_right(problem, solution) is not None
        ]
        extended_problems.append(replace(problem, solutions=tuple(_make_names_unique(solutions))))
    return Problems(extended_problems, packages=problems.packages)


def _make_names_unique(solutions: Sequence[Solution]) -> Iterator[Solution]:
    name_counts = Counter[tuple[str, str]]()
    for solution in solutions:
        name_counts[solution.expected, solution.name] += 1
        number = name_counts[solution.expected, solution.name]
        yield solution if number == 1 else replace(solution, name=f"{solution.name} #{number}")


def make_solution_key(problem_label: str, solution: Solution) -> str:
    """Return the key of a solution in the results of `validate`."""
    return "/".join(component for component in (problem_label, solution.expected, solution.name) if component)


def is_expected_right(problem: Problem, solution: Solution) -> bool | None:
    """Return True if a solution must get full points, False if it must not, and None if it is unknown."""
    if solution.exceptions or solution.test_keywords:
        return None
    if solution.score is not None:
        full_points = sum(subtask.points for subtask in problem.subtasks) if problem.subtasks else 1.0
        min_points, max_points = solution.score
        return True if min_points >= full_points else False if max_points < full_points else None
    if must_be_right(solution.expected):
        return True
    return False if must_be_wrong(solution.expected) else None


def convert_to_submission(problem_label: str, solution: Solution, year: int | None) -> Submission:
    return Submission(
        key=make_solution_key(problem_label, solution),
        problem_id=problem_label,
        code=solution.program,
        language=solution.language,
        outputs=solution.outputs,
        files=solution.files,
        year=year,
    )
