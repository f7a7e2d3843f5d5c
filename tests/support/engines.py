"""Internal names that tests of engines import, and a compiler that is a shell script."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ioi_eval.engines.contract import Batch, BuildSpec, BuildSuccess, CompileError, Program
from ioi_eval.engines.embedded.toolchains import find_toolchains
from ioi_eval.engines.fake import Fault, Outcome, fake_capabilities
from ioi_eval.engines.jobs.build import make_compile_script
from ioi_eval.judge.recipes import SubmissionSources
from ioi_eval.model.job import CPU_LIMIT, HARD_STOP, IDLED, Toolchain
from ioi_eval.model.languages import LANGUAGES, Language, find_language
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import NamedBlob, Problem, Submission
from ioi_eval.rules.verdicts import BuildEnding

__all__ = [
    "CPU_LIMIT",
    "HARD_STOP",
    "IDLED",
    "LANGUAGES",
    "Batch",
    "BuildEnding",
    "BuildSpec",
    "BuildSuccess",
    "CompileError",
    "Fault",
    "Language",
    "Outcome",
    "Program",
    "compiler_in_shell",
    "fake_capabilities",
    "find_language",
    "find_toolchains",
    "make_compile_script",
    "submission_recipe",
]


def compiler_in_shell(folder: Path, script: str, **fields: Any) -> Toolchain:
    """Write a script under the name g++, and return it as a compiler."""
    path = folder / "g++"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    return Toolchain(command="g++", path=str(path), **{"version": "1", "identity": "g++ 1", **fields})


def submission_recipe(
    problem: Problem, submission: Submission, limits: BuildLimits, helpers: Iterable[NamedBlob] = ()
) -> BuildSpec:
    language = find_language(submission.language, where=problem.source or problem.id)
    return SubmissionSources(problem, language, limits, helpers).create_build_spec(submission)
