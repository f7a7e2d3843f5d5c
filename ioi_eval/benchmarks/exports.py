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

from ioi_eval.benchmarks.hub import connect_to_hub, list_network_error_types
from ioi_eval.model.errors import InputError
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.store.folder import EARLIER, FAILURES, REJECTED, RESULTS, RUN, RUNS, TURNS, read_rows

SUFFIXES = (".parquet", ".jsonl")
_RUN_FILES = {  # names of files in a run folder, which an export must not overwrite
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
_BATCH_ROWS = 500  # number of rows in memory at once, and in a row group of the Parquet file


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


def write_results(run_folder: Path, path: Path) -> None:
    """Write the rows of a run's folder to a file. The file is complete, or it does not exist."""
    check_results_path(path)
    with _temporary_file(path) as temporary_path:
        if path.suffix.lower() == ".jsonl":
            with temporary_path.open("wb") as stream:
                stream.writelines(encode_terminal_safe_json(row) + b"\n" for row in read_rows(run_folder))
        else:
            _write_parquet(run_folder, temporary_path)
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


def _write_parquet(run_folder: Path, path: Path) -> None:
    """Write the rows as columns. The first pass finds the types, and the second pass writes.

    A column with values of several types becomes a column of JSON strings.
    """
    import pyarrow.parquet

    fields_by_name: dict[str, Any] = {}
    for batch in _split_into_batches(read_rows(run_folder)):
        for name in dict.fromkeys(name for row in batch for name in row):
            try:
                new_field = pyarrow.field(name, pyarrow.array([row.get(name) for row in batch]).type)
                schemas = [
                    pyarrow.schema([field])
                    for field in (fields_by_name.get(name), new_field)
                    if field is not None
                ]
                fields_by_name[name] = pyarrow.unify_schemas(schemas, promote_options="permissive")[0]
            except (pyarrow.ArrowException, OverflowError):
                fields_by_name[name] = pyarrow.field(name, pyarrow.string())
    schema = pyarrow.schema(
        [(name, _convert_to_parquet_type(field.type)) for name, field in fields_by_name.items()]
    )
    string_columns = {field.name for field in schema if pyarrow.types.is_string(field.type)}
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for batch in _split_into_batches(read_rows(run_folder)):
            converted_rows = [
                {
                    name: json.dumps(value)
                    if name in string_columns and not isinstance(value, str | None)
                    else value
                    for name, value in row.items()
                }
                for row in batch
            ]
            writer.write_table(pyarrow.Table.from_pylist(converted_rows, schema=schema))


def _convert_to_parquet_type(arrow_type: Any) -> Any:
    """Return the type of a column in a Parquet file for an Arrow type.

    Parquet cannot store objects without fields: columns that contain such objects become strings.
    """
    import pyarrow

    def has_empty_struct(kind: Any) -> bool:
        """Return True if the type contains an object without fields."""
        if pyarrow.types.is_struct(kind):
            return kind.num_fields == 0 or any(
                has_empty_struct(kind.field(index).type) for index in range(kind.num_fields)
            )
        return pyarrow.types.is_list(kind) and has_empty_struct(kind.value_type)

    return pyarrow.string() if has_empty_struct(arrow_type) else arrow_type


def _split_into_batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the rows in lists of up to `_BATCH_ROWS`."""
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH_ROWS)):
        yield batch


TABLE = "data/results.parquet"  # path in the dataset of the file with the run's rows
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
    url: str = ""  # URL of the dataset on the hub; empty in a dry run


def publish(
    run_folder: Path, repo: str, *, private: bool, token: Secret, is_dry_run: bool
) -> PublishedDataset:
    """Push a run's rows, report and summary to a dataset on the hub.

    Args:
        run_folder: The folder of the run.
        repo: The dataset's name. It is created if it does not exist.
        private: A new dataset is private.
        token: The hub's token.
        is_dry_run: Return the files without sending them.
    """
    with tempfile.TemporaryDirectory() as folder:
        results_path, readme_path = Path(folder) / "results.parquet", Path(folder) / "README.md"
        write_results(run_folder, results_path)
        card = _CARD_HEADER + (run_folder / "report.md").read_text()
        readme_path.write_text(card)
        other_files = {name: run_folder / name for name in _OTHER_FILES if (run_folder / name).exists()}
        paths_by_name = {"README.md": readme_path, TABLE: results_path, **other_files}
        file_sizes = {name: path.stat().st_size for name, path in paths_by_name.items()}
        url = "" if is_dry_run else _commit_files_to_hub(paths_by_name, repo, private=private, token=token)
    return PublishedDataset(repo=repo, private=private, files=file_sizes, card=card, url=url)


def _commit_files_to_hub(files: dict[str, Path], repo: str, *, private: bool, token: Secret) -> str:
    """Commit the files, by name, to a dataset. Return the commit's address."""
    from huggingface_hub import CommitOperationAdd, HfApi

    hub_api = HfApi(token=token or None)
    hub_errors: tuple[type[Exception], ...] = (*list_network_error_types(), ValueError)
    operations = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=path) for name, path in files.items()]
    try:
        with connect_to_hub(repo):
            hub_api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
            commit = hub_api.create_commit(repo, operations, commit_message="Results", repo_type="dataset")
    except hub_errors as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"the results cannot be pushed ({token.remove_from(reason).rstrip('.')})",
            where=repo,
            field="repo",
            remedy="Is there a network, and is the token allowed to write there?",
        ) from None  # the exception of the hub is hidden, because its message may contain the token
    return token.remove_from(str(commit.commit_url))
