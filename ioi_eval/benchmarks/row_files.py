"""Read rows from files (.jsonl, .json, .csv, .gz, .zst, .parquet, .arrow, .eval) and folders of programs.

Files are streamed. An error names the file and the line.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from ioi_eval.benchmarks import parquet
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import DuplicateKey, refuse_duplicate_keys
from ioi_eval.model.nesting import NestedTooDeep, NestingChecker, require_shallow
from ioi_eval.model.paths import missing_path_error
from ioi_eval.model.text import format_count, format_install_command
from ioi_eval.store.files import MAY_READ, convert_read_errors, find_unreadable_folders

_CHUNK = 1 << 20  # number of bytes or characters that are read at once
# Maximum characters of a field in a .csv file; the csv module's default is 131072.
_MAX_FIELD_LENGTH = (1 << 31) - 1
INSPECT = "inspect_ai"  # name of a column that only rows from logs of inspect_ai have
PLACE = "place_of_problem"  # column with the problem's index, such as `#0`, if a dump is a list of lists
# Names of files that the package `datasets` writes next to rows, and that contain no rows.
_FILES_WITHOUT_ROWS = frozenset({"state.json", "dataset_info.json", "dataset_dict.json"})
_BATCH_ROWS = 64  # number of rows of an Arrow file that are in memory at once
_DUPLICATE_KEY_REMEDY = "Keep only the right one"
# Lock for the maximum field length of the module csv, which is a setting of the whole process.
_field_limit_lock = threading.Lock()


class FileRow(NamedTuple):
    """A row of a file: its columns, and the line where it starts."""

    line: int  # line number, from 1; in formats without lines, the row number
    columns: dict[str, Any]


def list_dump_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files of rows at the paths. Folders are searched, without hidden files."""
    return [file for path in paths for file in _list_dump_files_at(Path(path))]


def list_non_dump_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files in folders that `list_dump_files` ignores because of their names."""
    folders = (path for path in map(Path, paths) if path.is_dir())
    return [file for folder in folders for file in _list_files_below(folder) if not is_dump(file)]


def _list_files_below(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, sorted by name, without hidden files and files without rows.

    Raises:
        InputError: A link leads to a folder or to nothing.
    """
    for file in sorted(folder.rglob("*")):
        is_hidden = any(component.startswith(".") for component in file.relative_to(folder).parts)
        if is_hidden or file.name in _FILES_WITHOUT_ROWS:
            continue
        if file.is_symlink() and (file.is_dir() or (is_dump(file) and not file.exists())):
            link_target = "a folder, and such links are not followed" if file.is_dir() else "nothing"
            raise InputError(
                f"the link leads to {link_target}",
                where=str(file),
                remedy="Remove the link, and name its target instead",
            )
        if file.is_file():
            yield file


def _list_dump_files_at(path: Path) -> list[Path]:
    """Return the files of rows at a path. A folder of programs counts as a file."""
    if path.is_dir():
        for error in find_unreadable_folders(path):
            where, problem = str(error.filename), f"cannot be read ({error.strerror})"
            raise InputError(problem, where=where, remedy=MAY_READ)
        if _detect_format(path) == _PROGRAMS:
            return [path]
        files = [file for file in _list_files_below(path) if is_dump(file)]
        if not files:
            remedy = f"Expected files {_list_format_suffixes()} in it, or programs such as HumanEval_0/0.py"
            raise InputError("the folder contains no dump", where=str(path), remedy=remedy)
        return files
    if not path.exists():
        raise missing_path_error(path, "Name the dump's file or folder")
    if not path.is_file():
        raise InputError(
            "a dump must be a file: a pipe or a device cannot be read twice",
            where=str(path),
            remedy="Name - in its place, and let the rows come on standard input",
        )
    if not is_dump(path):
        raise InputError(
            f"cannot determine the format from the suffix {path.suffix!r}",
            where=str(path),
            remedy=f"Expected one of {_list_format_suffixes()}",
        )
    return [path]


def is_dump(path: Path) -> bool:
    """Return True if the name has the suffix of a file of rows, or if it is a folder of programs."""
    return _detect_format(path) in _READERS


def is_csv(path: Path) -> bool:
    """Return True if the file is a .csv, in which every value is a string."""
    return _detect_format(path) == ".csv"


def _detect_format(path: Path) -> str:
    """Return the suffix of the format, without .gz or .zst, or `_PROGRAMS` for a folder of programs."""
    if path.suffix.lower() not in _COMPRESSIONS:
        suffix = path.suffix.lower()
        return _PROGRAMS if suffix not in _READERS and next(_find_program_files(path), None) else suffix
    inner_suffix = Path(path.stem).suffix.lower()
    # Tables are compressed inside their files, so a name such as x.parquet.gz is not supported.
    return inner_suffix if inner_suffix not in _TABLES else path.suffix.lower()


def remove_format_suffixes(path: Path) -> str:
    """Return a file's name without the suffixes of its format."""
    return Path(path.stem).stem if is_dump(path) and path.suffix.lower() in _COMPRESSIONS else path.stem


def _list_format_suffixes() -> str:
    """Return the suffixes of files of rows, for messages."""
    suffixes = ", ".join(suffix for suffix in _READERS if suffix != _PROGRAMS)
    return f"{suffixes} (text also as {' or '.join(_COMPRESSIONS)})"


# --- bytes -------------------------------------------------------------------------------------------


def hash_file_and_check_utf8(path: Path) -> str:
    """Return the SHA-256 of a file's decompressed content. Raise an InputError if text is not UTF-8."""
    digest = hashlib.sha256()
    if _detect_format(path) == _PROGRAMS:
        for file in _find_program_files(path):
            digest.update(f"{file.relative_to(path)}\n{hash_file_and_check_utf8(file)}\n".encode())
        return digest.hexdigest()
    text_check = None if _detect_format(path) in _TABLES else _Utf8Checker(str(path))
    with _open_bytes(path) as stream:
        for piece in _read_pieces(stream, path, text_check):
            digest.update(piece)
    return digest.hexdigest()


class FileGrowth(NamedTuple):
    """A file to which lines were appended."""

    sha256: str  # hash of the whole file
    lines: int  # number of lines before the appended lines


def hash_if_grown(path: Path, size: int, sha256: str) -> FileGrowth | None:
    """Return the new hash of a .jsonl file, or None if it is not an earlier file with appended lines.

    `size` and `sha256`: size and hash of the earlier file.
    """
    if path.suffix.lower() != ".jsonl" or path.stat().st_size < size:
        return None
    digest, remaining_bytes, line_count = hashlib.sha256(), size, 0
    with _open_bytes(path) as stream:
        while remaining_bytes and (piece := stream.read(min(_CHUNK, remaining_bytes))):
            digest.update(piece)
            line_count += piece.count(b"\n")
            remaining_bytes -= len(piece)
        if remaining_bytes or digest.hexdigest() != sha256:
            return None
        for piece in _read_pieces(stream, path, _Utf8Checker(str(path), line_count + 1)):
            digest.update(piece)
    return FileGrowth(digest.hexdigest(), line_count)


def find_line_start(path: Path, line_number: int) -> int:
    """Return the offset in bytes after the first `line_number` lines."""
    piece_start = 0
    with _open_bytes(path) as stream:
        for piece in _read_pieces(stream, path):
            if line_number <= (piece_lines := piece.count(b"\n")):
                line_end = -1
                for _ in range(line_number):
                    line_end = piece.index(b"\n", line_end + 1)
                return piece_start + line_end + 1
            line_number -= piece_lines
            piece_start += len(piece)
    raise InputError(
        "the file has fewer lines than before", where=str(path), remedy="Run the same command again"
    )


def _read_pieces(stream: BinaryIO, path: Path, text_check: _Utf8Checker | None = None) -> Iterator[bytes]:
    """Yield the content of a stream in pieces. `text_check` checks that the content is text."""
    with convert_read_errors(path, "Was the file cut off? Fetch or write it again"):
        while piece := stream.read(_CHUNK):
            if text_check is not None:
                text_check.check_piece(piece)
            yield piece
        if text_check is not None:
            text_check.check_piece(b"", last=True)


def _open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading bytes. A compressed file is decompressed as it is read."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    with convert_read_errors(path):
        if compression is None:
            return path.open("rb")
        import pyarrow

        return io.BufferedReader(cast(io.RawIOBase, pyarrow.input_stream(str(path), compression=compression)))


def _open_text(path: Path) -> TextIO:
    """Open a file for reading text."""
    return io.TextIOWrapper(_open_bytes(path), encoding="utf-8-sig", newline="")


class _Utf8Checker:
    """Checks that text, which arrives in pieces, is UTF-8 without NUL bytes."""

    def __init__(self, where: str, line: int = 1) -> None:
        self._where, self._line_number = where, line
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def check_piece(self, piece: bytes, *, last: bool = False) -> None:
        """Check the next piece. Raise an InputError with the line of the first wrong byte."""
        try:
            self._decoder.decode(piece, last)
        except UnicodeDecodeError as error:
            raise self._make_encoding_error("not UTF-8", error.object, error.start) from error
        if (position := piece.find(b"\0")) >= 0:
            raise self._make_encoding_error("a NUL byte", piece, position)
        self._line_number += piece.count(b"\n")

    def _make_encoding_error(self, problem: str, piece: bytes, position: int) -> InputError:
        """Return the error for a byte of the current piece."""
        line_number = self._line_number + piece.count(b"\n", 0, position)
        return InputError(
            problem, where=self._where, row=line_number, remedy="The file is damaged, or is not text in UTF-8"
        )


# --- rows --------------------------------------------------------------------------------------------


def read_rows(path: Path) -> Iterator[FileRow]:
    """Yield the rows of a file that `hash_file_and_check_utf8` has checked.

    The first broken row is an InputError.
    """
    for row in read_rows_or_errors(path):
        if isinstance(row, InputError):
            raise row
        yield row


def read_rows_or_errors(
    path: Path, skipped_bytes_and_lines: tuple[int, int] = (0, 0)
) -> Iterator[FileRow | InputError]:
    """Yield the rows of a file that `hash_file_and_check_utf8` has checked, and an error for each broken row.

    `skipped_bytes_and_lines`: the number of bytes and of lines to skip in a .jsonl file.
    """
    return (
        _read_jsonl_rows(path, skipped_bytes_and_lines)
        if skipped_bytes_and_lines[0]
        else _READERS[_detect_format(path)](path)
    )


def read_columns(path: Path, names: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of each row that can be read: of a .parquet file, only the columns in `names`.

    The caller need not call `hash_file_and_check_utf8` first.
    """
    file_format = _detect_format(path)
    rows: Iterator[FileRow | InputError]
    if file_format == ".parquet":
        rows = _read_parquet_rows(path, list(names))
    else:
        if file_format not in _TABLES:
            hash_file_and_check_utf8(path)
        rows = read_rows_or_errors(path)
    return (row.columns for row in rows if not isinstance(row, InputError))


def read_column_names(path: Path) -> tuple[str, ...]:
    """Return the columns of a .parquet file, or of the first row of another file."""
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet

        try:
            return tuple(pyarrow.parquet.read_schema(path).names)
        except (pyarrow.ArrowException, OSError) as error:
            raise _make_parquet_error(path, error) from error
    hash_file_and_check_utf8(path)
    first_row = next(read_rows(path), None)
    return tuple(first_row.columns) if first_row else ()


def _read_jsonl_rows(
    path: Path, skipped_bytes_and_lines: tuple[int, int] = (0, 0)
) -> Iterator[FileRow | InputError]:
    """Yield the rows of a .jsonl file after the skipped bytes and lines."""
    skipped_bytes, skipped_lines = skipped_bytes_and_lines
    with _open_bytes(path) as stream:
        if skipped_bytes:
            stream.seek(skipped_bytes)
        for line_number, line in enumerate(stream, skipped_lines + 1):
            line_text = line.decode("utf-8-sig" if line_number == 1 else "utf-8")
            if line_text.strip():
                yield _parse_row(line_text, path, line_number)


def _parse_row(text: str, path: Path, line: int) -> FileRow | InputError:
    """Return the row in a line of JSON, or the error if there is none."""
    try:
        return _make_row(_parse_json(text), path, line)
    except json.JSONDecodeError as error:
        reason = f"{error.msg}, character {error.pos + 1}"
    except DuplicateKey as error:
        return InputError(str(error), where=str(path), row=line, remedy=_DUPLICATE_KEY_REMEDY)
    except ValueError as error:
        reason = str(error)
    return InputError(
        f"the file is not valid JSON ({reason})",
        where=str(path),
        row=line,
        remedy="Each line is one object; was the file cut off?",
    )


def _parse_json(text: str) -> Any:
    """Return the value in a JSON string. Raise ValueError for nesting that is too deep, or duplicate keys."""
    return json.loads(require_shallow(text), object_pairs_hook=refuse_duplicate_keys)


def _make_row(value: Any, path: Path, line: int) -> FileRow | InputError:
    """Return the row with an object's columns, or the error if the value is not an object."""
    if isinstance(value, dict):
        return FileRow(line, value)
    return InputError(
        f"a row is an object of columns, not {type(value).__name__}",
        where=str(path),
        row=line,
        remedy='Expected {"problem_id": ..., ...}',
    )


def _read_json_rows(path: Path) -> Iterator[FileRow | InputError]:
    """Yield the rows of a .json file: a list of objects or of lists of strings, an object, or JSON lines."""
    if _read_first_character(path) == "{":
        columns = _read_single_object(path)
        yield from _read_jsonl_rows(path) if columns is None else (FileRow(1, columns),)
        return
    with _open_text(path) as stream:
        for index, (line, value) in enumerate(read_json_elements(stream, str(path))):
            if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
                yield FileRow(line, {PLACE: f"#{index}", "generations": value})
            else:
                yield _make_row(value, path, line)


def _read_single_object(path: Path) -> dict[str, Any] | None:
    """Return the single object in a file, or None if its first line is already an object."""
    with _open_text(path) as stream:
        first_line = next((line for line in stream if line.strip()), "")
        try:
            _parse_json(first_line)
        except DuplicateKey:
            return None
        except ValueError:
            try:
                parsed_value = _parse_json(first_line + stream.read())
            except DuplicateKey as error:
                raise InputError(str(error), where=str(path), remedy=_DUPLICATE_KEY_REMEDY) from error
            except ValueError:
                return None
            return parsed_value if isinstance(parsed_value, dict) else None
    return None


def _read_first_character(path: Path) -> str:
    """Return the first character of a file that is not white space, or an empty string."""
    with _open_text(path) as stream:
        while piece := stream.read(_CHUNK):
            if stripped_piece := piece.lstrip():
                return stripped_piece[0]
    return ""


def _read_csv_rows(path: Path) -> Iterator[FileRow | InputError]:
    """Yield the rows of a .csv file. Raise an InputError for a wrong separator or an open quote."""
    with _open_text(path) as stream:
        first_line = stream.readline()
        separator = next((character for character in ";\t|" if character in first_line), "")
        if separator and "," not in first_line:
            problem, remedy = (
                f"its fields are separated by {separator!r}",
                "Write it with commas between them",
            )
            raise InputError(problem, where=str(path), row=1, remedy=remedy)
        reader = csv.reader(chain([first_line], stream), strict=True)
        try:
            column_names = _check_duplicate_columns(
                [name.strip() for name in _read_next_fields(reader) or []], path
            )
            line_number = reader.line_num + 1
            while (field_values := _read_next_fields(reader)) is not None:
                if len(field_values) not in (0, len(column_names)):
                    problem = (
                        f"{format_count(len(field_values), 'field')} where the header has {len(column_names)}"
                    )
                    remedy = "Is a quote or a comma missing?"
                    yield InputError(problem, where=str(path), row=line_number, remedy=remedy)
                elif field_values:  # a blank line has no values
                    yield FileRow(line_number, dict(zip(column_names, field_values, strict=True)))
                line_number = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"the line is not valid CSV ({error})",
                where=str(path),
                row=reader.line_num,
                remedy="Is a quote not closed?",
            ) from error


def _read_next_fields(reader: Iterator[list[str]]) -> list[str] | None:
    """Return the fields of the next line, or None after the last line. Fields may have any length.

    The module csv limits a field's length for the whole process, so the limit is increased only while a line
    is read.
    """
    with _field_limit_lock:
        previous_limit = csv.field_size_limit(_MAX_FIELD_LENGTH)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(previous_limit)


def _check_duplicate_columns(header: list[str], path: Path) -> list[str]:
    """Return the columns' names unchanged. Raise an InputError if a name occurs twice."""
    for name in header:
        if header.count(name) > 1:
            raise InputError(
                f"two columns are called {name!r}", where=str(path), row=1, remedy="Rename one of them"
            )
    return header


def _make_parquet_error(path: Path, error: Exception) -> InputError:
    """Return the error for a broken .parquet file."""
    return InputError(
        f"not a parquet file that can be read ({error})",
        where=str(path),
        remedy="Fetch or write it again",
    )


def _read_parquet_rows(path: Path, columns: list[str] | None = None) -> Iterator[FileRow]:
    """Yield the rows of a .parquet file. `columns`: the columns to read (default: all)."""
    import pyarrow.parquet

    row_number = 0
    try:
        _check_duplicate_columns(pyarrow.parquet.read_schema(path).names, path)
        for batch in parquet.read_batches(path, columns):
            for row_values in parquet.decode_byte_columns(batch).to_pylist():
                row_number += 1
                yield FileRow(row_number, row_values)
            del batch
    except UnicodeDecodeError as error:
        raise InputError(
            "the file contains text that is not UTF-8",
            where=str(path),
            remedy=f"It is in or shortly after row {row_number + 1}",
        ) from error
    except (pyarrow.ArrowException, OSError) as error:
        raise _make_parquet_error(path, error) from error


def _read_arrow_rows(path: Path) -> Iterator[FileRow]:
    """Yield the rows of a memory-mapped stream of Arrow batches, which the package datasets writes."""
    import pyarrow.ipc

    row_number = 0
    try:
        with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as stream:
            for batch in stream:
                for slice_start in range(0, batch.num_rows, _BATCH_ROWS):
                    for row_values in parquet.decode_byte_columns(
                        batch.slice(slice_start, _BATCH_ROWS)
                    ).to_pylist():
                        row_number += 1
                        yield FileRow(row_number, row_values)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"the file is not a valid Arrow stream ({error})", where=str(path), remedy="Fetch it again"
        ) from error


def _read_eval_rows(path: Path) -> Iterator[FileRow]:
    """Yield the samples of all epochs in a log of inspect_ai. The package inspect_ai reads it."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError as error:
        raise InputError(
            "reading this log needs the package inspect_ai",
            where=str(path),
            remedy=format_install_command("inspect-ai"),
        ) from error
    unused_fields = {"events", "store", "attachments", "messages"}
    # The log is read in another thread, because inspect_ai permanently patches the asyncio of an event loop.
    with ThreadPoolExecutor(1) as reader_thread:
        try:
            log_header = reader_thread.submit(read_eval_log, str(path), header_only=True).result().eval
            samples = read_eval_log_samples(
                str(path), all_samples_required=False, exclude_fields=unused_fields
            )
            row_number = 0
            while (sample := reader_thread.submit(next, samples, None).result()) is not None:
                row_number += 1
                yield FileRow(row_number, _convert_inspect_sample(log_header, sample))
        except (OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
            remedy = "Is it whole, and written by this version of inspect_ai or an older one?"
            raise InputError(f"the log cannot be read ({error})", where=str(path), remedy=remedy) from error


def _convert_inspect_sample(log_header: Any, inspect_sample: Any) -> dict[str, Any]:
    """Return the columns of a sample in a log of inspect_ai. `log_header`: the log's header."""
    token_usage = inspect_sample.output.usage
    usage_column = {"usage": {"output_tokens": token_usage.output_tokens}} if token_usage is not None else {}
    return {
        "uuid": inspect_sample.uuid or f"{log_header.eval_id}/{inspect_sample.id}#{inspect_sample.epoch}",
        "id": inspect_sample.id,
        "epoch": inspect_sample.epoch,
        "model": log_header.model,
        "generation": inspect_sample.output.completion,
        "reasoning": read_reasoning(inspect_sample.output),
        "stop_reason": inspect_sample.output.stop_reason if inspect_sample.output.choices else None,
        "error": inspect_sample.error.message if inspect_sample.error else None,
        "limit": inspect_sample.limit.type if inspect_sample.limit else None,
        "metadata": {**inspect_sample.metadata, **usage_column, "timestamp": log_header.created},
        "scores": {name: score.value for name, score in (inspect_sample.scores or {}).items()},
        INSPECT: {"task": log_header.task, "run_id": log_header.run_id, "created": log_header.created},
    }


def read_reasoning(output: Any) -> str:
    """Return the model's reasoning in an output of inspect_ai, or an empty string."""
    content = output.message.content if output.choices else ""
    content_items = [] if isinstance(content, str) else content
    return "\n".join(
        content_item.reasoning for content_item in content_items if content_item.type == "reasoning"
    )


# --- folders of programs ---------------------------------------------------------------------------------

_PROGRAMS = "a folder of programs"  # name of the format of folders that EvalPlus writes
_TASK_FOLDER = re.compile(r"(HumanEval|Mbpp)_(\d+)")


def read_size_and_mtime(path: Path) -> tuple[int, int]:
    """Return the size and the modification time of a file, or of all files of a folder of programs."""
    with convert_read_errors(path):
        files = list(_find_program_files(path)) or [path]
        stats = [file.stat() for file in files]
    return sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)


def _find_program_files(folder: Path) -> Iterator[Path]:
    """Yield the programs in a folder that EvalPlus writes, such as `HumanEval_0/1.py`, by task and number.

    Nothing is yielded if the folder contains any other file that is not hidden.
    """
    if not folder.is_dir():
        return
    task_folders = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    folders_and_files = [
        (task_folder, file)
        for task_folder in task_folders
        if task_folder.is_dir()
        for file in task_folder.iterdir()
    ]
    if all(map(Path.is_dir, task_folders)) and all(
        file.suffix == ".py" and file.stem.isdecimal() for _, file in folders_and_files
    ):
        sorted_keys = sorted(
            (*_task_sort_key(task_folder.name), int(file.stem), str(file))
            for task_folder, file in folders_and_files
        )
        yield from (Path(file) for *_, file in sorted_keys)


def _task_sort_key(name: str) -> tuple[str, int, str]:
    """Return the key by which folders of tasks are sorted."""
    folder_match = _TASK_FOLDER.fullmatch(name)
    return (folder_match[1], int(folder_match[2]), name) if folder_match else ("", 0, name)


def _read_program_rows(folder: Path) -> Iterator[FileRow]:
    """Yield a row for each program in a folder."""
    for row_number, file in enumerate(_find_program_files(folder), 1):
        program_name, task_match = f"{file.parent.name}/{file.name}", _TASK_FOLDER.fullmatch(file.parent.name)
        problem_id = f"{task_match[1]}/{task_match[2]}" if task_match else file.parent.name
        with convert_read_errors(file):
            code = file.read_text()
        yield FileRow(
            row_number, {"task_id": problem_id, "code": code, "language": "python", "file": program_name}
        )


# --- reading large lists of JSON in pieces -----------------------------------------------------------


# The package ijson is five times as fast, but it does not report line numbers and does not accept NaN.

# Maximum characters of a number, a keyword or an escape sequence, which two pieces may split.
_MAX_TOKEN_LENGTH = 16
_SPACE = " \t\r\n"


def read_json_elements(stream: TextIO, where: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of a JSON list and the lines where they start, without reading the whole list.

    The elements must be objects or lists: the last digits of a number could be missing.

    Raises:
        InputError: The stream is not a JSON list.
    """
    text_buffer = _JsonTextBuffer(stream, where)
    text_buffer.expect_character("[")
    while text_buffer.next_character() != "]":
        line = text_buffer.line
        yield line, text_buffer.parse_value()
        if text_buffer.next_character() != "]":
            text_buffer.expect_character(",")
            if text_buffer.next_character() == "]":
                raise text_buffer.make_json_error("the list has a comma without a following element")
    text_buffer.expect_character("]")
    if text_buffer.next_character():
        raise text_buffer.make_json_error("the file has content after the end of the list")


class _JsonTextBuffer:
    """The part of a JSON stream that was read but not parsed yet."""

    def __init__(self, stream: TextIO, where: str) -> None:
        self._stream, self._where = stream, where
        self._buffer, self._position = "", 0
        self._decoder, self._nesting = (
            json.JSONDecoder(object_pairs_hook=refuse_duplicate_keys),
            NestingChecker(),
        )
        self.line = 1

    def next_character(self) -> str:
        """Return the next character that is not white space, without consuming it, or "" after the last."""
        while True:
            start_position = self._position
            while self._position < len(self._buffer) and self._buffer[self._position] in _SPACE:
                self._position += 1
            self.line += self._buffer.count("\n", start_position, self._position)
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._read_more():
                return ""

    def expect_character(self, character: str) -> None:
        """Consume this character. Raise an InputError if another character is next."""
        next_character = self.next_character()
        if next_character != character:
            raise self.make_json_error(
                f"expected {character!r}, found {next_character!r}" if next_character else "it ends too early"
            )
        self._position += 1

    def parse_value(self) -> Any:
        """Parse and return the next value."""
        while True:
            try:
                value, end_position = self._decoder.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                # If the value is cut off at the end of the piece, more text must be read. A cut-off string is
                # reported at the start of the string.
                is_cut_off = error.msg.startswith("Unterminated string")
                is_cut_off = is_cut_off or error.pos >= len(self._buffer) - _MAX_TOKEN_LENGTH
                if not (is_cut_off and self._read_more()):
                    raise self.make_json_error(error.msg, error.pos) from error
            except DuplicateKey as error:
                raise InputError(
                    str(error), where=self._where, row=self.line, remedy=_DUPLICATE_KEY_REMEDY
                ) from error
            except ValueError as error:
                raise self.make_json_error(str(error)) from error
            else:
                self.line += self._buffer.count("\n", self._position, end_position)
                self._position = end_position
                return value

    def make_json_error(self, reason: str, position: int = 0) -> InputError:
        """Return the error for broken JSON at the next character, or at a later position."""
        return InputError(
            f"the file is not valid JSON: {reason}",
            where=self._where,
            row=self.line + self._buffer.count("\n", self._position, max(self._position, position)),
            remedy="Expected a list of objects, or one object per line",
        )

    def _read_more(self) -> bool:
        """Read another piece and return True, or return False after the last piece.

        The piece is as long as the unparsed part, so that a long element is parsed in linear time.
        """
        piece = self._stream.read(max(_CHUNK, len(self._buffer) - self._position))
        if piece:
            try:
                self._nesting.check_piece(piece)
            except NestedTooDeep as error:
                raise self.make_json_error(str(error)) from error
            self._buffer, self._position = self._buffer[self._position :] + piece, 0
        return bool(piece)


# --- formats -----------------------------------------------------------------------------------------


_TABLES = frozenset({".parquet", ".arrow", ".eval"})  # suffixes of binary files with tables
# Names of compression formats in pyarrow, by file suffix.
_COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".zst": "zstd"}

_READERS: Mapping[str, Callable[[Path], Iterator[FileRow | InputError]]] = {
    ".jsonl": _read_jsonl_rows,
    ".ndjson": _read_jsonl_rows,
    ".json": _read_json_rows,
    ".csv": _read_csv_rows,
    ".parquet": _read_parquet_rows,
    ".arrow": _read_arrow_rows,
    ".eval": _read_eval_rows,
    _PROGRAMS: _read_program_rows,
}
