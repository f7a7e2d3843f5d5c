"""Exports of results: a file, a dataset on the hub."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from ioi_eval.benchmarks.exports import Published, check_results_path, publish, write_results
from ioi_eval.cli import console
from ioi_eval.cli.options import OutputOptions
from ioi_eval.model.errors import InputError
from ioi_eval.model.secret import Secret

TOKEN_VARIABLE = "HF_TOKEN"
_LINES = 12  # of a card that is only shown


@dataclass(frozen=True)
class ExportOptions:
    """Outputs besides the run's folder."""

    title: ClassVar = "Output"
    results: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rows here too: .parquet or .jsonl.")
    ] = None
    push_to_hub: Annotated[
        str,
        typer.Option(metavar="REPO", help=f"Push rows and report to this dataset, with {TOKEN_VARIABLE}."),
    ] = ""
    public: Annotated[bool, typer.Option("--public", help="Create the dataset as public.")] = False
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Judge nothing, and say what would be judged; with --push-to-hub, push nothing."
        ),
    ] = False

    def __post_init__(self) -> None:
        """Raise InputError for what would fail at the end of a long run."""
        repo = self.push_to_hub
        if self.results is not None:
            check_results_path(self.results)
        if repo and repo.count("/") != 1:
            raise InputError(f"{repo!r} is no dataset", field="--push-to-hub", remedy="Write OWNER/NAME")
        if repo and not self.dry_run and not os.environ.get(TOKEN_VARIABLE):
            remedy = f"Set {TOKEN_VARIABLE}, or look with --dry-run"
            raise InputError("no token to push with", field="--push-to-hub", remedy=remedy)

    def __call__(self, out: str, output: OutputOptions) -> None:
        """Do what was asked for, and say what was done. `-q` does not hide a dry run."""
        lines = list(self._done(Path(out)))
        if not output.as_json and (self.dry_run or not output.quiet):
            for line in lines:
                console.show(line)

    def _done(self, out: Path) -> Iterator[str]:
        if self.results is not None:
            write_results(out, self.results)
            yield f"Results: {self.results}"
        if self.push_to_hub:
            token = Secret(os.environ.get(TOKEN_VARIABLE, ""))
            dry, private = self.dry_run, not self.public
            yield from _said(publish(out, self.push_to_hub, private=private, token=token, dry=dry))


def _said(done: Published) -> Iterator[str]:
    kind = "private" if done.private else "public"
    sent = "Pushed" if done.url else "Would push"
    yield f"{sent} to {done.repo} ({kind}, if it is new):"
    yield from (f"  {name}  {size:,} bytes" for name, size in done.files.items())
    if done.url:
        yield f"  {done.url}"
        return
    lines = done.card.splitlines()
    yield from ("Card:", *(f"  {line}" for line in lines[:_LINES]))
    yield f"  ... ({len(lines) - _LINES} more lines)" if len(lines) > _LINES else ""
