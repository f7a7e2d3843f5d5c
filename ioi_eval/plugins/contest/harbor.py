"""Problem packages as tasks of Harbor: an instruction, an environment, and tests that call `ioi-eval judge`.

    write_tasks("packages", "tasks", store=Store())

The tests run in a separate container, which has the whole package. The agent's container has only the files
that contestants get.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.generate import SOLUTIONS
from ioi_eval.model.digests import problem_digest
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem, Value
from ioi_eval.plugins.contest.rules import Statement, as_markdown, make_statement, select_samples
from ioi_eval.problems.collection import find_package_folders, load_problems
from ioi_eval.rules.expectations import must_be_right
from ioi_eval.runs.sources import benchmark_of, make_no_problem_error, open_problem_source
from ioi_eval.store import Store
from ioi_eval.store.files import format_error_reason, make_draft_path

_AGENT_SECONDS = 3600
# Seconds that the verifier has for building, and for a test without a time limit.
_BUILD_SECONDS, _TEST_SECONDS = 600, 60
_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_FILES = Path(__file__).with_name("harbor_files")
_CONFIG = """\
schema_version = "1.4"
artifacts = {artifacts}

[task]
name = {name}
description = {description}

[metadata]
problem = {problem}
points = {points}

[agent]
timeout_sec = {agent_seconds}

[verifier]
timeout_sec = {verifier_seconds}
environment_mode = "separate"
"""
_ASKED = """
Write the whole program to {files}. It is judged on hidden tests when you are done; your score
is the share of the points that it gets. The problem's attachments are in `/app`.
"""


class ExportResult(Value):
    tasks: tuple[Path, ...]  # folders of the exported tasks
    left_out: Mapping[str, str]  # reasons why problems are not exported, by problem


def write_tasks(
    source: str, out: str | Path, *, choice: BenchmarkOptions | None = None, store: Store
) -> ExportResult:
    """Write a task for each package of a source.

    Args:
        source: Path of a folder or zip of problem packages.
        out: Folder in which each task gets its own folder.
        choice: Selection of the packages, and their limits. None means all packages.
        store: Cache for extracted packages.

    Raises:
        InputError: A task's folder exists or cannot be written, or no package can be exported.
    """
    if benchmark_of(source) is not None:
        remedy = "Name a folder or a zip of problem packages"
        raise InputError("only problem packages can be exported as tasks", where=source, remedy=remedy)
    excluded, tasks_to_write = dict[str, str](), list[tuple[Path, Path, Problem, Statement]]()
    with ExitStack() as resources:
        problems = resources.enter_context(open_problem_source(source, choice, store))
        package_folders_by_source = {
            where: folder
            for folder, where in find_package_folders(source, store.root / "packages", resources)
        }
        for label, problem in problems.items():
            statement = make_statement(problem, label, SOLUTIONS)
            if problem.unusable:
                excluded[label] = problem.unusable
            elif statement.files:
                excluded[label] = "it asks for files"
            elif not statement.languages:
                excluded[label] = f"it does not accept programs in {' or '.join(SOLUTIONS)}"
            elif not statement.text.strip():
                excluded[label] = "its statement is not text"
            else:
                task_name = _ODD.sub("-", label).strip("-_") or "problem"
                tasks_to_write.append(
                    (Path(out) / task_name, package_folders_by_source[problem.source], problem, statement)
                )
        if not tasks_to_write and not excluded:
            raise make_no_problem_error(source)
        if not tasks_to_write:
            reasons = "; ".join(f"{label}: {reason}" for label, reason in excluded.items())
            raise InputError("no package can be exported as a task", where=source, remedy=reasons)
        task_folders = [task_folder for task_folder, *_ in tasks_to_write]
        for task_folder in task_folders:
            if task_folder.exists() or task_folders.count(task_folder) > 1:
                reason = "exists already" if task_folder.exists() else "two problems have this name"
                raise InputError(
                    reason,
                    where=str(task_folder),
                    remedy="Remove the existing folder, or name another output folder",
                )
        for task_folder, folder, problem, statement in tasks_to_write:
            draft_folder = make_draft_path(task_folder)
            try:
                _write_task(draft_folder, folder, task_folder.name, problem, statement)
                draft_folder.rename(task_folder)
            except OSError as error:
                reason = f"cannot be written: {format_error_reason(error)}"
                raise InputError(
                    reason, where=str(task_folder), remedy="Name another output folder"
                ) from error
            finally:
                shutil.rmtree(draft_folder, ignore_errors=True)
    return ExportResult(tasks=tuple(task_folders), left_out=excluded)


def _write_task(
    task_folder: Path, package_folder: Path, task_name: str, problem: Problem, statement: Statement
) -> None:
    """Write a task's files. Raises InputError if the package's copy in the task is read differently."""
    # Some package formats use the name of the folder as the problem's id.
    package_copy = task_folder / "tests" / "package" / problem.id
    shutil.copytree(package_folder, package_copy)
    if [problem_digest(loaded) for loaded in load_problems(package_copy).values()] != [
        problem_digest(problem)
    ]:
        raise InputError(
            "the package's copy in the task is read as a different problem",
            where=problem.source,
            remedy="Make the package independent of its folder's location and name",
        )
    solution_files = [file for language, file in SOLUTIONS.items() if language in statement.languages]
    file_names = " or ".join(f"`/app/{file}`" for file in solution_files)
    if len(solution_files) > 1:
        file_names += f" (of both, `{solution_files[0]}` counts)"
    markdown = as_markdown(statement)
    test_seconds = problem.limits.wall_time or _TEST_SECONDS
    config_values = {
        "artifacts": [f"/app/{file}" for file in solution_files],
        "name": f"ioi-eval/{task_name}",
        "description": statement.title.replace("\x7f", ""),
        "problem": problem.id,
        "points": statement.points_max,
        "agent_seconds": float(_AGENT_SECONDS),
        "verifier_seconds": _BUILD_SECONDS + test_seconds * len(problem.tests),
    }
    config = _CONFIG.format_map(
        {key: json.dumps(value, ensure_ascii=False) for key, value in config_values.items()}
    )
    content_by_name: dict[str, str | bytes] = {
        "task.toml": config,
        "instruction.md": markdown + _ASKED.format(files=file_names),
        "environment/files/problem.md": markdown,
        "tests/judged.json": json.dumps({"problem": problem.id, "files": solution_files}),
    }
    content_by_name |= {
        f"environment/files/{file}": content for file, content in statement.attachments.items()
    }
    content_by_name |= {f"environment/files/{file.name}": file.content.read() for file in problem.attachments}
    # These samples are complete, while the statement may contain only the start of a sample.
    for test in select_samples(problem):
        content_by_name |= {f"environment/files/samples/{test.name}.in": test.input.read()}
        content_by_name |= {
            f"environment/files/samples/{test.name}.out": test.answer.read() if test.answer else b""
        }
    template_files = {
        "environment/Dockerfile": "agent.Dockerfile",
        "tests/Dockerfile": "tests.Dockerfile",
        "tests/test.sh": "test.sh",
        "tests/reward.py": "reward",
    }
    right_solutions = (
        solution for solution in problem.solutions if must_be_right(solution.expected) and not solution.files
    )
    if (
        example_solution := next(
            (answer for answer in right_solutions if answer.language in statement.languages), None
        )
    ) is not None:
        content_by_name |= {f"solution/{SOLUTIONS[example_solution.language]}": example_solution.code}
        template_files |= {"solution/solve.sh": "solve.sh"}
    content_by_name |= {path: (_FILES / name).read_bytes() for path, name in template_files.items()}
    for path, content in content_by_name.items():
        (task_folder / path).parent.mkdir(parents=True, exist_ok=True)
        (task_folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
        if path.endswith(".sh"):
            (task_folder / path).chmod(0o755)
