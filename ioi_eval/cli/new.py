"""The command `new`: write the examples, a starter package, or a configuration for `ioi-eval run`."""

from __future__ import annotations

import re
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.groups import command
from ioi_eval.model.errors import InputError
from ioi_eval.problems.names import is_portable_file_name
from ioi_eval.store import resources
from ioi_eval.store.files import format_error_reason


class StarterType(StrEnum):
    """The values of `ioi-eval new --type`: a package's task type, `examples_folder` or `config`."""

    BATCH = "batch"
    GRADER = "grader"
    FUNCTION = "function"
    COMMUNICATION = "communication"
    INTERACTIVE = "interactive"
    OUTPUT_ONLY = "output-only"
    EXAMPLES = "examples"
    CONFIG = "config"


_SECTION = re.compile(r"^-- (\S+) --\n", re.MULTILINE)


@command("""
  ioi-eval new mine --type examples
  ioi-eval new problems/lamps
  ioi-eval new problems/lamps --type interactive && ioi-eval validate problems/lamps
  ioi-eval new config.yaml --type config && ioi-eval run -c config.yaml --dry-run
""")
def new(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Folder or file to write. A package's folder name becomes the problem's id.",
        ),
    ],
    kind: Annotated[
        StarterType,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Template: batch, grader, function, communication,"
            " interactive, output-only, examples or config."
            " examples: problems and a dump of generations. config: the commented YAML file of"
            " `ioi-eval run`. The others are packages. In batch, a submission reads and prints; in grader,"
            " your code calls it; in function, it is called in Python with arguments as JSON.",
        ),
    ] = StarterType.BATCH,
) -> None:
    """Write a starting point: a package, the examples, or a configuration for `ioi-eval run`.

    A package has tests, solutions and, if its type needs one, a grader. It is small and works: change it step
    by step, and check each step with `ioi-eval validate`. docs/packages.md describes every key.
    """
    if kind is StarterType.EXAMPLES:
        _copy_examples(path)
    elif kind is StarterType.CONFIG:
        _write_config(path)
    else:
        _write_package(path, kind)


def _copy_examples(target: Path) -> None:
    _check_empty(target)
    try:
        shutil.copytree(
            resources.examples_folder(),
            target,
            dirs_exist_ok=True,
            copy_function=shutil.copyfile,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    except OSError as error:
        # Remove the incomplete target, so that the next call can create it.
        shutil.rmtree(target, ignore_errors=True)
        raise InputError(
            f"the path cannot be written: {format_error_reason(error)}", where=str(target)
        ) from error
    console.print_line(f"Copied the examples to {target}. Score them with")
    console.print_line(f"    ioi-eval score {target}/generations.jsonl --problems {target}/problems")


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("exists already", where=str(folder), remedy="Name a new or empty folder")


def _write_package(folder: Path, kind: StarterType) -> None:
    _check_empty(folder)
    name = folder.absolute().name
    if not is_portable_file_name(name):
        remedy = "Use letters, digits, `_`, `-` and `.`"
        raise InputError(f"{name!r} is not a valid problem id", field="PATH", remedy=remedy)
    if kind is StarterType.GRADER and ("." in name or name in sys.stdlib_module_names):
        remedy = "Use a name without `.` that is not a module of Python"
        raise InputError(f"graders/grader.py could not import {name!r}", field="PATH", remedy=remedy)
    try:
        starter_text = (Path(__file__).parent / "packages" / f"{kind}.txt").read_text(encoding="utf-8")
        _, *sections = _SECTION.split(starter_text.replace("@NAME@", name))
        for path, content in zip(sections[::2], sections[1::2], strict=True):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the path cannot be written: {format_error_reason(error)}", where=str(folder)
        ) from error
    console.print_line(f"Wrote {folder}. Check its solutions: ioi-eval validate {folder}")


def _write_config(file: Path) -> None:
    try:
        with file.open("x") as stream:
            stream.write(read_config_template())
    except OSError as error:
        remedy = "Name another file" if isinstance(error, FileExistsError) else ""
        raise InputError(
            f"the file cannot be written ({format_error_reason(error)})", where=str(file), remedy=remedy
        ) from error
    console.print_line(f"Wrote {file}. Name your model in it, then: ioi-eval run -c {file}")


def read_config_template() -> str:
    """Return the configuration that `ioi-eval new --type config` writes."""
    return (Path(__file__).parent / "config.yaml").read_text(encoding="utf-8")
