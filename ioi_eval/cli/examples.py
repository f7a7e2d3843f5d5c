"""`ioi-eval examples DIR`, `ioi-eval new` and `ioi-eval init`: what there is to begin with."""

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
from ioi_eval.problems.package import is_plain
from ioi_eval.store import resources
from ioi_eval.store.files import why


@command("""
  ioi-eval examples mine
  ioi-eval score mine/generations.jsonl --problems mine/problems
""")
def examples(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder, new or empty.")],
) -> None:
    """Copy example problems and a dump of generations to DIR."""
    _check_empty(folder)
    try:
        shutil.copytree(
            resources.examples(),
            folder,
            dirs_exist_ok=True,
            copy_function=shutil.copyfile,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)  # or it would be there already the next time
        raise InputError(f"cannot be written: {why(error)}", where=str(folder)) from error
    console.show(f"Copied the examples to {folder}. Score them with")
    console.show(f"    ioi-eval score {folder}/generations.jsonl --problems {folder}/problems")


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", where=str(folder), remedy="Name a new or an empty folder")


class PackageType(StrEnum):
    """The task types of `ioi-eval new`."""

    BATCH = "batch"
    GRADER = "grader"
    FUNCTION = "function"
    COMMUNICATION = "communication"
    INTERACTIVE = "interactive"
    OUTPUT_ONLY = "output-only"


_SECTION = re.compile(r"^-- (\S+) --\n", re.MULTILINE)


@command("""
  ioi-eval new problems/lamps
  ioi-eval new problems/lamps --type interactive && ioi-eval validate problems/lamps
""")
def new(
    folder: Annotated[
        Path, typer.Argument(metavar="NAME", help="The package's folder; its last part is the id.")
    ],
    kind: Annotated[
        PackageType,
        typer.Option(
            "--type",
            help="batch reads and prints; grader: code of yours calls the submission; function: the same "
            "in Python, with arguments as JSON.",
        ),
    ] = PackageType.BATCH,
) -> None:
    """Write a starter package: tests, solutions and, if its type needs one, a grader.

    All of it is small and works: change it bit by bit, and let `ioi-eval validate` look at each step.
    docs/packages.md has every key.
    """
    _check_empty(folder)
    name = folder.absolute().name
    if not is_plain(name):
        raise InputError(f"{name!r} is no id", field="NAME", remedy="Use letters, digits, `_`, `-` and `.`")
    if kind is PackageType.GRADER and ("." in name or name in sys.stdlib_module_names):
        remedy = "Use a name without `.`, and none of a module that comes with Python"
        raise InputError(f"graders/grader.py could not import {name!r}", field="NAME", remedy=remedy)
    try:
        whole = (Path(__file__).parent / "packages" / f"{kind}.txt").read_text(encoding="utf-8")
        _, *parts = _SECTION.split(whole.replace("@NAME@", name))
        for path, text in zip(parts[::2], parts[1::2], strict=True):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {why(error)}", where=str(folder)) from error
    console.show(f"Wrote {folder}. What its solutions get: ioi-eval validate {folder}")


@command("""
  ioi-eval init
  ioi-eval init runs/apps.yaml && ioi-eval run -c runs/apps.yaml --print-prompt
""")
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path("config.yaml"),
) -> None:
    """Write a commented configuration for `ioi-eval run`. An existing file is left alone."""
    try:
        with file.open("x") as stream:
            stream.write(template())
    except OSError as error:
        remedy = "Name another one" if isinstance(error, FileExistsError) else ""
        raise InputError(f"cannot be written ({why(error)})", where=str(file), remedy=remedy) from error
    console.show(f"Wrote {file}. Name your model in it, then: ioi-eval run -c {file}")


def template() -> str:
    """Return the configuration that `ioi-eval init` writes."""
    return (Path(__file__).parent / "config.yaml").read_text(encoding="utf-8")
