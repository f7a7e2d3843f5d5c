"""`ioi-eval examples DIR`: the problems and the dump that the package brings, to try things on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.model.errors import InputError
from ioi_eval.store import resources


def examples(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder, new or empty.")],
) -> None:
    """Copy example problems and a dump of generations to DIR.

    \b
    Example:
      ioi-eval examples mine
      ioi-eval score mine/generations.jsonl --problems mine/problems
    """
    copy_examples(folder)
    console.show(f"Copied the examples to {folder}. Score them with")
    console.show(f"    ioi-eval score {folder}/generations.jsonl --problems {folder}/problems")


def copy_examples(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", where=str(folder), remedy="Name a new or an empty folder")
    try:
        shutil.copytree(
            resources.examples(), folder, dirs_exist_ok=True, copy_function=shutil.copyfile, ignore=_leftovers
        )
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(folder)) from error


def _leftovers(folder: str, names: list[str]) -> set[str]:
    return {"__pycache__"} & set(names)
