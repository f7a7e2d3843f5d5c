"""`ioi-eval examples DIR` and `ioi-eval init`: problems, a dump and a configuration to begin with."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.options import command
from ioi_eval.model.errors import InputError
from ioi_eval.store import resources


@command("""
  ioi-eval examples mine
  ioi-eval score mine/generations.jsonl --problems mine/problems
""")
def examples(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder, new or empty.")],
) -> None:
    """Copy example problems and a dump of generations to DIR."""
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
        raise InputError(
            f"cannot be written ({error.strerror or error})", where=str(file), remedy=remedy
        ) from error
    console.show(f"Wrote {file}. Name your model in it, then: ioi-eval run -c {file}")


def template() -> str:
    """What `ioi-eval init` writes."""
    return (Path(__file__).parent / "config.yaml").read_text(encoding="utf-8")
