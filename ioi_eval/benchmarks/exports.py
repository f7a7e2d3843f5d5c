"""Export a run: its rows in a file, or as a dataset on the hub with the report as the dataset's card.

A .jsonl file has a JSON object for each row, including the tests. A .parquet file has the same data as
columns.
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

from ioi_eval.benchmarks.hub import hub_connection, network_errors
from ioi_eval.model.errors import InputError
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.store.folder import EARLIER, FAILURES, REJECTED, RESULTS, RUN, RUNS, TURNS, read_rows

SUFFIXES = (".parquet", ".jsonl")
_RUN_FILES = {  # names of files in a run's folder
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
_BATCH_ROWS = 500  # number of rows in memory, and in a row group of the Parquet file


def check_results_path(path: Path, dumps: Iterable[str] = ()) -> None:
    """Raise an InputError if rows cannot be written to a file, or if they would overwrite their source."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"cannot determine the format from the suffix {path.suffix!r}",
            where=str(path),
            field="results",
            remedy=f"Expected one of {', '.join(SUFFIXES)}",
        )
    is_run_file = path.name in _RUN_FILES and (path.parent / RUN).exists()
    if is_run_file or (path.exists() and any(Path(dump).exists() and path.samefile(dump) for dump in dumps)):
        raise InputError(
            f"the export would replace a file of {'a run' if is_run_file else 'the dump'}",
            where=str(path),
            field="results",
            remedy="Name another one",
        )
    with _temporary_file(path):
        pass


def write_results(run: Path, path: Path) -> None:
    """Write the rows of a run's folder to a file. The file is complete, or it does not exist."""
    check_results_path(path)
    with _temporary_file(path) as temporary_path:
        if path.suffix.lower() == ".jsonl":
            with temporary_path.open("wb") as stream:
                stream.writelines(encode_terminal_safe_json(row) + b"\n" for row in read_rows(run))
        else:
            _write_parquet(run, temporary_path)
        temporary_path.replace(path)


@contextmanager
def _temporary_file(path: Path) -> Iterator[Path]:
    """Yield a path in a temporary folder next to `path`.

    Raises:
        InputError: Nothing can be written there.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
            yield Path(folder) / path.name
    except OSError as error:
        raise InputError(
            f"the file cannot be written ({error.strerror or error})", where=str(path)
        ) from error


def _write_parquet(run: Path, path: Path) -> None:
    """Write the rows as columns. The first pass finds the types, and the second pass writes.

    A column with values of several types becomes a column of JSON strings.
    """
    import pyarrow.parquet

    fields: dict[str, Any] = {}
    for batch in _split_into_batches(read_rows(run)):
        for name in dict.fromkeys(name for row in batch for name in row):
            try:
                new_field = pyarrow.field(name, pyarrow.array([row.get(name) for row in batch]).type)
                schemas = [
                    pyarrow.schema([field]) for field in (fields.get(name), new_field) if field is not None
                ]
                fields[name] = pyarrow.unify_schemas(schemas, promote_options="permissive")[0]
            except (pyarrow.ArrowException, OverflowError):
                fields[name] = pyarrow.field(name, pyarrow.string())
    schema = pyarrow.schema([(name, _parquet_type(field.type)) for name, field in fields.items()])
    string_columns = {field.name for field in schema if pyarrow.types.is_string(field.type)}
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for batch in _split_into_batches(read_rows(run)):
            rows = [
                {
                    name: json.dumps(value)
                    if name in string_columns and not isinstance(value, str | None)
                    else value
                    for name, value in row.items()
                }
                for row in batch
            ]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))


def _parquet_type(arrow_type: Any) -> Any:
    """Return the type, or the type of strings if it has objects without fields, which Parquet lacks."""
    import pyarrow

    def has_empty_struct(kind: Any) -> bool:
        """Return True if the type contains an object without fields."""
        if pyarrow.types.is_struct(kind):
            return kind.num_fields == 0 or any(
                has_empty_struct(kind.field(n).type) for n in range(kind.num_fields)
            )
        return pyarrow.types.is_list(kind) and has_empty_struct(kind.value_type)

    return pyarrow.string() if has_empty_struct(arrow_type) else arrow_type


def _split_into_batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the rows in lists of up to `_BATCH_ROWS`."""
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH_ROWS)):
        yield batch


TABLE = "data/results.parquet"  # path of the file with the run's rows in the dataset
_CARD_HEADER = f"""---
tags:
- ioi-eval
configs:
- config_name: default
  data_files: {TABLE}
---

"""
# Further files of the run that are pushed together with its rows.
_OTHER_FILES = ("summary.json", "failures.jsonl")


class PublishedDataset(Value):
    """A dataset that was pushed, or that a dry run would push."""

    repo: str
    private: bool
    files: dict[str, int]  # sizes of the files in bytes, by name
    card: str
    url: str = ""  # URL of the dataset on the hub; empty if nothing was sent


def publish(run: Path, repo: str, *, private: bool, token: Secret, dry: bool) -> PublishedDataset:
    """Push a run's rows, report and summary to a dataset on the hub.

    Args:
        run: The run's folder.
        repo: The dataset's name. It is created if it does not exist.
        private: A new dataset is private.
        token: The hub's token.
        dry: Return the files without sending them.
    """
    with tempfile.TemporaryDirectory() as folder:
        table, readme = Path(folder) / "results.parquet", Path(folder) / "README.md"
        write_results(run, table)
        card = _CARD_HEADER + (run / "report.md").read_text()
        readme.write_text(card)
        other_files = {name: run / name for name in _OTHER_FILES if (run / name).exists()}
        files = {"README.md": readme, TABLE: table, **other_files}
        sizes = {name: path.stat().st_size for name, path in files.items()}
        url = "" if dry else _push(files, repo, private=private, token=token)
    return PublishedDataset(repo=repo, private=private, files=sizes, card=card, url=url)


def _push(files: dict[str, Path], repo: str, *, private: bool, token: Secret) -> str:
    """Commit the files, by name, to a dataset. Return the commit's address."""
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi(token=token or None)
    hub_errors: tuple[type[Exception], ...] = (*network_errors(), ValueError)
    operations = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=path) for name, path in files.items()]
    try:
        with hub_connection(repo):
            api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
            commit = api.create_commit(repo, operations, commit_message="Results", repo_type="dataset")
    except hub_errors as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"the results cannot be pushed ({token.remove_from(reason).rstrip('.')})",
            where=repo,
            field="repo",
            remedy="Is there a network, and is the token allowed to write there?",
        ) from None  # the exception of the hub is hidden, because its message may contain the token
    return token.remove_from(str(commit.commit_url))
