"""Where results go besides the run's folder: a file, a dataset on the hub."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.benchmarks.exports import Published, check_results_path, publish, write_results
from ioi_eval.cli.injecting import takes
from ioi_eval.model.errors import InputError
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value

TOKEN_VARIABLE = "HF_TOKEN"
_LINES = 12  # of a card that is only shown

_Results = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the rows here too: .parquet or .jsonl.")
]
_Push = Annotated[
    str, typer.Option(metavar="REPO", help=f"Push rows and report to this dataset, with {TOKEN_VARIABLE}.")
]
_Public = Annotated[bool, typer.Option("--public", help="A dataset that is made is for all to see.")]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Push nothing; show what would be pushed.")]


class Sharing(Value):
    results: str = ""
    repo: str = ""
    public: bool = False
    dry: bool = False


def choose_sharing(
    results: _Results = None, push_to_hub: _Push = "", public: _Public = False, dry_run: _Dry = False
) -> Sharing:
    """Raises InputError for what would fail at the end of a long run."""
    if results is not None:
        check_results_path(results)
    if push_to_hub and push_to_hub.count("/") != 1:
        raise InputError(f"{push_to_hub!r} is no dataset", field="--push-to-hub", remedy="Write OWNER/NAME")
    if push_to_hub and not dry_run and not os.environ.get(TOKEN_VARIABLE):
        remedy = f"Set {TOKEN_VARIABLE}, or look with --dry-run"
        raise InputError("no token to push with", field="--push-to-hub", remedy=remedy)
    return Sharing(
        results="" if results is None else str(results), repo=push_to_hub, public=public, dry=dry_run
    )


shares_results = takes("sharing", choose_sharing)


def share(sharing: Sharing, out: str) -> Iterator[str]:
    """Does what was asked for, and says what was done in a line each."""
    if sharing.results:
        write_results(Path(out), Path(sharing.results))
        yield f"Results: {sharing.results}"
    if sharing.repo:
        token = Secret(os.environ.get(TOKEN_VARIABLE, ""))
        done = publish(Path(out), sharing.repo, private=not sharing.public, token=token, dry=sharing.dry)
        yield from _said(done)


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
