"""A run to keep or to share: its rows in one file, or as a dataset on the hub with the report as its card.

A .jsonl has an object for each, with the tests written out, a .parquet the same as columns.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from ioi_eval.benchmarks.hub import asking, network_errors
from ioi_eval.model.errors import InputError
from ioi_eval.model.quoting import as_json
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.store.folder import EARLIER, FAILURES, REJECTED, RESULTS, RUN, RUNS, TURNS, read_rows

SUFFIXES = (".parquet", ".jsonl")
_OWN = {
    RESULTS,
    FAILURES,
    EARLIER,
    REJECTED,
    TURNS,
    RUNS,
    "tests.parquet",
    "generations.jsonl",
    "instances.jsonl",
}
_BATCH = 500  # rows in memory, and in a row group


def check_results_path(path: Path, dumps: Iterable[str] = ()) -> None:
    """Raises InputError where rows could not be written at the end of a run, or would replace its sources."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"cannot tell the format from the suffix {path.suffix!r}",
            where=str(path),
            field="results",
            remedy=f"Expected one of {', '.join(SUFFIXES)}",
        )
    is_own = path.name in _OWN and (path.parent / RUN).exists()
    if is_own or (path.exists() and any(Path(dump).exists() and path.samefile(dump) for dump in dumps)):
        raise InputError(
            f"is a file of {'a run' if is_own else 'the dump'}, and would be replaced",
            where=str(path),
            field="results",
            remedy="Name another one",
        )
    with _part(path):
        pass


def write_results(run: Path, path: Path) -> None:
    """The rows of a run's folder. The file at `path` is whole, or it is not there."""
    check_results_path(path)
    with _part(path) as part:
        if path.suffix.lower() == ".jsonl":
            with part.open("wb") as stream:
                stream.writelines(as_json(row) + b"\n" for row in read_rows(run))
        else:
            _write_parquet(run, part)
        part.replace(path)


@contextmanager
def _part(path: Path) -> Iterator[Path]:
    """A file beside it, of which nothing is left."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
            yield Path(folder) / path.name
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=str(path)) from error


def _write_parquet(run: Path, part: Path) -> None:
    """Write the rows as columns, in a second pass: the first finds the types. Mixed ones are JSON's text."""
    import pyarrow.parquet

    found: dict[str, Any] = {}
    for batch in _batches(read_rows(run)):
        for name in dict.fromkeys(name for row in batch for name in row):
            try:
                new = pyarrow.field(name, pyarrow.array([row.get(name) for row in batch]).type)
                pair = [pyarrow.schema([field]) for field in (found.get(name), new) if field is not None]
                found[name] = pyarrow.unify_schemas(pair, promote_options="permissive")[0]
            except (pyarrow.ArrowException, OverflowError):
                found[name] = pyarrow.field(name, pyarrow.string())
    schema = pyarrow.schema([(name, _writable(field.type)) for name, field in found.items()])
    texts = {field.name for field in schema if pyarrow.types.is_string(field.type)}
    with pyarrow.parquet.ParquetWriter(part, schema) as writer:
        for batch in _batches(read_rows(run)):
            rows = [
                {
                    name: json.dumps(value) if name in texts and not isinstance(value, str | None) else value
                    for name, value in row.items()
                }
                for row in batch
            ]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))


def _writable(type_: Any) -> Any:
    """Parquet has no objects without fields; what was always empty is written as text."""
    import pyarrow

    def has_empty(kind: Any) -> bool:
        if pyarrow.types.is_struct(kind):
            return kind.num_fields == 0 or any(has_empty(kind.field(n).type) for n in range(kind.num_fields))
        return pyarrow.types.is_list(kind) and has_empty(kind.value_type)

    return pyarrow.string() if has_empty(type_) else type_


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


TABLE = "data/results.parquet"
_HEAD = f"""---
tags:
- ioi-eval
configs:
- config_name: default
  data_files: {TABLE}
---

"""
_BESIDE = ("summary.json", "failures.jsonl")


class Published(Value):
    """A dataset that was pushed, or would be."""

    repo: str
    private: bool
    files: dict[str, int]  # sizes by name
    card: str
    url: str = ""  # empty: nothing was sent


def publish(run: Path, repo: str, *, private: bool, token: Secret, dry: bool) -> Published:
    """Push the run's folder to a dataset, which is made where there is none. `dry` sends nothing."""
    with tempfile.TemporaryDirectory() as folder:
        table, readme = Path(folder) / "results.parquet", Path(folder) / "README.md"
        write_results(run, table)
        card = _HEAD + (run / "report.md").read_text()
        readme.write_text(card)
        beside = {name: run / name for name in _BESIDE if (run / name).exists()}
        files = {"README.md": readme, TABLE: table, **beside}
        sizes = {name: path.stat().st_size for name, path in files.items()}
        url = "" if dry else _push(files, repo, private=private, token=token)
    return Published(repo=repo, private=private, files=sizes, card=card, url=url)


def _push(files: dict[str, Path], repo: str, *, private: bool, token: Secret) -> str:
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi(token=token or None)
    refusals: tuple[type[Exception], ...] = (*network_errors(), ValueError)
    added = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=path) for name, path in files.items()]
    try:
        with asking(repo):
            api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
            done = api.create_commit(repo, added, commit_message="Results", repo_type="dataset")
    except refusals as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"cannot be pushed ({token.out_of(reason).rstrip('.')})",
            where=repo,
            field="repo",
            remedy="Is there a network, and is the token allowed to write there?",
        ) from None  # the hub's own words may repeat the token
    return token.out_of(str(done.commit_url))
