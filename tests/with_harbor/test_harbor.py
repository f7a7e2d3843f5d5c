"""Exported tasks are read by Harbor's own models (Python 3.12 or newer)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("harbor", reason="Harbor is not installed")

from harbor.models.task.config import VerifierEnvironmentMode
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

from ioi_eval.plugins.contest.harbor import ExportResult, write_tasks
from ioi_eval.store import Store

PACKAGES = Path(__file__).resolve().parents[2] / "examples" / "problems"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> ExportResult:
    temporary = tmp_path_factory.mktemp("harbor")
    return write_tasks(str(PACKAGES), temporary / "tasks", store=Store(temporary / "cache"))


def test_exported_tasks_are_valid_harbor_tasks(exported: ExportResult) -> None:
    # The excluded problems require output files.
    assert len(exported.tasks) >= 20 and set(exported.left_out) == {"postman", "scales"}
    for folder in exported.tasks:
        task = Task(folder)
        assert Task.is_valid_dir(folder)
        assert task.name == f"ioi-eval/{folder.name}"
        assert task.config.verifier.environment_mode is VerifierEnvironmentMode.SEPARATE
        assert task.instruction.startswith("# ")


def test_tests_of_harbor_task_are_in_a_separate_verifier_image(exported: ExportResult) -> None:
    """The agent's image is built from `environment`, which contains no tests of the package."""
    for folder in exported.tasks:
        task = Task(folder)
        definition = resolve_verifier_environment_definition(task.config, task.paths)
        assert definition is not None and definition.bundled_tests
        assert definition.directory == task.paths.tests_dir
        assert task.paths.test_path.stat().st_mode & 0o111


def test_harbor_task_lists_its_solution_file_as_artifact(exported: ExportResult) -> None:
    with_solutions = [entry for entry in map(Task, exported.tasks) if entry.paths.discovered_solve_path]
    assert len(with_solutions) >= 20
    for task in with_solutions:
        (solution,) = (file for file in task.paths.solution_dir.iterdir() if file.name != "solve.sh")
        assert f"/app/{solution.name}" in [str(entry) for entry in task.config.artifacts]
