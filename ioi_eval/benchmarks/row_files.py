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
from ioi_eval.model.nesting import NestedTooDeep, Nesting, shallow
from ioi_eval.model.text import format_count
from ioi_eval.store.files import MAY_READ, find_unreadable_folders, raise_read_errors

_CHUNK = 1 << 20  # number of bytes or characters that are read at once
# Maximum characters of a field in a .csv file; the csv module's default is 131072.
_MAX_FIELD_LENGTH = (1 << 31) - 1
INSPECT = "inspect_ai"  # column that only rows from inspect_ai's logs have
PLACE = "place_of_problem"  # column for the problem's index, such as `#0`, in rows from a list of lists
# Names of files without rows that the package `datasets` writes next to the rows.
_FILES_WITHOUT_ROWS = frozenset({"state.json", "dataset_info.json", "dataset_dict.json"})
_BATCH_ROWS = 64  # number of an Arrow file's rows that are in memory at the same time
_DUPLICATE_KEY_REMEDY = "Keep only the right one"
# A lock for csv's limit of a field's length, which holds for the whole process.
_field_limit_lock = threading.Lock()


class FileRow(NamedTuple):
    """A row of a file: its columns, and the line where it starts."""

    line: int  # number of the line, from 1; in formats without lines, number of the row
    columns: dict[str, Any]


def dump_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files of rows at the paths. Folders are searched, without hidden files."""
    return [file for path in paths for file in _list_dump_files(Path(path))]


def other_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files in the folders among the paths that `dump_files` ignores because of their names."""
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
            target = "a folder, and such links are not followed" if file.is_dir() else "nothing"
            raise InputError(
                f"the link leads to {target}",
                where=str(file),
                remedy="Remove the link, and name its target instead",
            )
        if file.is_file():
            yield file


def _list_dump_files(path: Path) -> list[Path]:
    """Return the files of rows at a path. A folder of programs counts as a file."""
    if path.is_dir():
        for error in find_unreadable_folders(path):
            where, problem = str(error.filename), f"cannot be read ({error.strerror})"
            raise InputError(problem, where=where, remedy=MAY_READ)
        if _file_format(path) == _PROGRAMS:
            return [path]
        files = [file for file in _list_files_below(path) if is_dump(file)]
        if not files:
            remedy = f"Expected files {_format_suffixes()} in it, or programs such as HumanEval_0/0.py"
            raise InputError("the folder contains no dump", where=str(path), remedy=remedy)
        return files
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), remedy="Name the dump's file or folder")
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
            remedy=f"Expected one of {_format_suffixes()}",
        )
    return [path]


def is_dump(path: Path) -> bool:
    """Return True if the name has the suffix of a file of rows, or if it is a folder of programs."""
    return _file_format(path) in _READERS


def is_csv(path: Path) -> bool:
    """Return True if the file is a .csv, in which every value is a string."""
    return _file_format(path) == ".csv"


def _file_format(path: Path) -> str:
    """Return the suffix of the format, without .gz or .zst, or `_PROGRAMS` for a folder of programs."""
    if path.suffix.lower() not in _COMPRESSIONS:
        kind = path.suffix.lower()
        return _PROGRAMS if kind not in _READERS and next(_find_program_files(path), None) else kind
    inner = Path(path.stem).suffix.lower()
    # Such formats compress tables themselves, so a name such as x.parquet.gz is not supported.
    return inner if inner not in _TABLES else path.suffix.lower()


def name_without_suffixes(path: Path) -> str:
    """Return a file's name without the suffixes of its format."""
    return Path(path.stem).stem if is_dump(path) and path.suffix.lower() in _COMPRESSIONS else path.stem


def _format_suffixes() -> str:
    """Return the suffixes of files of rows, for messages."""
    suffixes = ", ".join(name for name in _READERS if name != _PROGRAMS)
    return f"{suffixes} (text also as {' or '.join(_COMPRESSIONS)})"


# --- bytes -------------------------------------------------------------------------------------------


def scan(path: Path) -> str:
    """Return the SHA-256 of a file's decompressed content. Raise an InputError if text is not UTF-8."""
    digest = hashlib.sha256()
    if _file_format(path) == _PROGRAMS:
        for file in _find_program_files(path):
            digest.update(f"{file.relative_to(path)}\n{scan(file)}\n".encode())
        return digest.hexdigest()
    check = None if _file_format(path) in _TABLES else _TextCheck(str(path))
    with _open_bytes(path) as stream:
        for piece in _read_pieces(stream, path, check):
            digest.update(piece)
    return digest.hexdigest()


class FileGrowth(NamedTuple):
    """A file to which lines were appended."""

    sha256: str  # hash of the whole file
    lines: int  # number of lines before the appended lines


def scan_growth(path: Path, size: int, sha256: str) -> FileGrowth | None:
    """Return the new hash of a .jsonl file, or None if it is not an earlier file with appended lines.

    `size` and `sha256`: size and hash of the earlier file.
    """
    if path.suffix.lower() != ".jsonl" or path.stat().st_size < size:
        return None
    digest, remaining, lines = hashlib.sha256(), size, 0
    with _open_bytes(path) as stream:
        while remaining and (piece := stream.read(min(_CHUNK, remaining))):
            digest.update(piece)
            lines += piece.count(b"\n")
            remaining -= len(piece)
        if remaining or digest.hexdigest() != sha256:
            return None
        for piece in _read_pieces(stream, path, _TextCheck(str(path), lines + 1)):
            digest.update(piece)
    return FileGrowth(digest.hexdigest(), lines)


def find_line_start(path: Path, line_number: int) -> int:
    """Return the offset in bytes after the first `line_number` lines."""
    offset = 0
    with _open_bytes(path) as stream:
        for piece in _read_pieces(stream, path):
            if line_number <= (lines := piece.count(b"\n")):
                end = -1
                for _ in range(line_number):
                    end = piece.index(b"\n", end + 1)
                return offset + end + 1
            line_number -= lines
            offset += len(piece)
    raise InputError(
        "the file has fewer lines than before", where=str(path), remedy="Run the same command again"
    )


def _read_pieces(stream: BinaryIO, path: Path, check: _TextCheck | None = None) -> Iterator[bytes]:
    """Yield the content of a stream in pieces. `check` checks that it is text."""
    with raise_read_errors(path, "Was the file cut off? Fetch or write it again"):
        while piece := stream.read(_CHUNK):
            if check is not None:
                check.check_piece(piece)
            yield piece
        if check is not None:
            check.check_piece(b"", last=True)


def _open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading bytes. A compressed file is decompressed as it is read."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    with raise_read_errors(path):
        if compression is None:
            return path.open("rb")
        import pyarrow

        return io.BufferedReader(cast(io.RawIOBase, pyarrow.input_stream(str(path), compression=compression)))


def _open_text(path: Path) -> TextIO:
    """Open a file for reading text."""
    return io.TextIOWrapper(_open_bytes(path), encoding="utf-8-sig", newline="")


class _TextCheck:
    """Checks that text, which arrives in pieces, is UTF-8 without NUL bytes."""

    def __init__(self, where: str, line: int = 1) -> None:
        self._where, self._line = where, line
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def check_piece(self, piece: bytes, *, last: bool = False) -> None:
        """Check the next piece. Raise an InputError with the line of the first wrong byte."""
        try:
            self._decoder.decode(piece, last)
        except UnicodeDecodeError as error:
            raise self._encoding_error("not UTF-8", error.object, error.start) from error
        if (position := piece.find(b"\0")) >= 0:
            raise self._encoding_error("a NUL byte", piece, position)
        self._line += piece.count(b"\n")

    def _encoding_error(self, problem: str, piece: bytes, position: int) -> InputError:
        """Return the error for a byte of the current piece."""
        row = self._line + piece.count(b"\n", 0, position)
        return InputError(
            problem, where=self._where, row=row, remedy="The file is damaged, or is not text in UTF-8"
        )


# --- rows --------------------------------------------------------------------------------------------


def read_rows(path: Path) -> Iterator[FileRow]:
    """Yield the rows of a file that `scan` has checked. Raise an InputError for the first broken row."""
    for row in read_rows_or_errors(path):
        if isinstance(row, InputError):
            raise row
        yield row


def read_rows_or_errors(path: Path, start: tuple[int, int] = (0, 0)) -> Iterator[FileRow | InputError]:
    """Yield the rows of a file that `scan` has checked, and an error for each broken row.

    `start`: the number of bytes and of lines to skip in a .jsonl file.
    """
    return _read_jsonl_rows(path, start) if start[0] else _READERS[_file_format(path)](path)


def read_columns(path: Path, names: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of each usable row, for a file that `scan` has not checked.

    For a .parquet file these are only the columns in `names`.
    """
    kind = _file_format(path)
    rows: Iterator[FileRow | InputError]
    if kind == ".parquet":
        rows = _read_parquet_rows(path, list(names))
    else:
        if kind not in _TABLES:
            scan(path)
        rows = read_rows_or_errors(path)
    return (row.columns for row in rows if not isinstance(row, InputError))


def column_names(path: Path) -> tuple[str, ...]:
    """Return the columns of a .parquet file, or of the first row of another file."""
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet

        try:
            return tuple(pyarrow.parquet.read_schema(path).names)
        except (pyarrow.ArrowException, OSError) as error:
            raise _parquet_error(path, error) from error
    scan(path)
    first = next(read_rows(path), None)
    return tuple(first.columns) if first else ()


def _read_jsonl_rows(path: Path, start: tuple[int, int] = (0, 0)) -> Iterator[FileRow | InputError]:
    """Yield the rows of a .jsonl file. `start`: the number of bytes and of lines to skip."""
    offset, skipped_lines = start
    with _open_bytes(path) as stream:
        if offset:
            stream.seek(offset)
        for number, line in enumerate(stream, skipped_lines + 1):
            line_text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if line_text.strip():
                yield _parse_row(line_text, path, number)


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
    return json.loads(shallow(text), object_pairs_hook=refuse_duplicate_keys)


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
                value = _parse_json(first_line + stream.read())
            except DuplicateKey as error:
                raise InputError(str(error), where=str(path), remedy=_DUPLICATE_KEY_REMEDY) from error
            except ValueError:
                return None
            return value if isinstance(value, dict) else None
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
            header = _check_duplicate_columns(
                [name.strip() for name in _read_next_fields(reader) or []], path
            )
            line = reader.line_num + 1
            while (values := _read_next_fields(reader)) is not None:
                if len(values) not in (0, len(header)):
                    problem = f"{format_count(len(values), 'field')} where the header has {len(header)}"
                    remedy = "Is a quote or a comma missing?"
                    yield InputError(problem, where=str(path), row=line, remedy=remedy)
                elif values:  # a blank line has no values
                    yield FileRow(line, dict(zip(header, values, strict=True)))
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"the line is not valid CSV ({error})",
                where=str(path),
                row=reader.line_num,
                remedy="Is a quote not closed?",
            ) from error


def _read_next_fields(reader: Iterator[list[str]]) -> list[str] | None:
    """Return the fields of the next line, or None after the last line. Fields may have any length.

    csv's limit holds for the whole process, so it is raised only during a line.
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


def _parquet_error(path: Path, error: Exception) -> InputError:
    """Return the error for a broken .parquet file."""
    return InputError(
        f"not a parquet file that can be read ({error})",
        where=str(path),
        remedy="Fetch or write it again",
    )


def _read_parquet_rows(path: Path, columns: list[str] | None = None) -> Iterator[FileRow]:
    """Yield the rows of a .parquet file. `columns`: the columns to read (default: all)."""
    import pyarrow.parquet

    number = 0
    try:
        _check_duplicate_columns(pyarrow.parquet.read_schema(path).names, path)
        for batch in parquet.batches(path, columns):
            for values in parquet.with_decoded_bytes(batch).to_pylist():
                number += 1
                yield FileRow(number, values)
            del batch
    except UnicodeDecodeError as error:
        raise InputError(
            "the file contains text that is not UTF-8",
            where=str(path),
            remedy=f"It is in or shortly after row {number + 1}",
        ) from error
    except (pyarrow.ArrowException, OSError) as error:
        raise _parquet_error(path, error) from error


def _read_arrow_rows(path: Path) -> Iterator[FileRow]:
    """Yield the rows of a memory-mapped stream of Arrow batches, which the package datasets writes."""
    import pyarrow.ipc

    number = 0
    try:
        with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as stream:
            for batch in stream:
                for start in range(0, batch.num_rows, _BATCH_ROWS):
                    for values in parquet.with_decoded_bytes(batch.slice(start, _BATCH_ROWS)).to_pylist():
                        number += 1
                        yield FileRow(number, values)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"the file is not a valid Arrow stream ({error})", where=str(path), remedy="Fetch it again"
        ) from error


def _read_eval_rows(path: Path) -> Iterator[FileRow]:
    """Yield the samples of all epochs in a log of inspect_ai. The package inspect_ai reads it."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError as error:
        remedy = "Install it with: pip install 'ioi-eval[inspect-ai]'"
        raise InputError(
            "reading this log needs the package inspect_ai", where=str(path), remedy=remedy
        ) from error
    unused = {"events", "store", "attachments", "messages"}
    # Read in another thread: in a thread with an event loop, inspect_ai would patch asyncio permanently.
    with ThreadPoolExecutor(1) as thread:
        try:
            header = thread.submit(read_eval_log, str(path), header_only=True).result().eval
            samples = read_eval_log_samples(str(path), all_samples_required=False, exclude_fields=unused)
            number = 0
            while (sample := thread.submit(next, samples, None).result()) is not None:
                number += 1
                yield FileRow(number, _convert_sample(header, sample))
        except (OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
            remedy = "Is it whole, and written by this version of inspect_ai or an older one?"
            raise InputError(f"the log cannot be read ({error})", where=str(path), remedy=remedy) from error


def _convert_sample(header: Any, sample: Any) -> dict[str, Any]:
    """Return the columns of a sample. `header`: the header of its log."""
    usage = sample.output.usage
    usage_column = {"usage": {"output_tokens": usage.output_tokens}} if usage is not None else {}
    return {
        "uuid": sample.uuid or f"{header.eval_id}/{sample.id}#{sample.epoch}",
        "id": sample.id,
        "epoch": sample.epoch,
        "model": header.model,
        "generation": sample.output.completion,
        "reasoning": read_reasoning(sample.output),
        "stop_reason": sample.output.stop_reason if sample.output.choices else None,
        "error": sample.error.message if sample.error else None,
        "limit": sample.limit.type if sample.limit else None,
        "metadata": {**sample.metadata, **usage_column, "timestamp": header.created},
        "scores": {name: score.value for name, score in (sample.scores or {}).items()},
        INSPECT: {"task": header.task, "run_id": header.run_id, "created": header.created},
    }


def read_reasoning(output: Any) -> str:
    """Return the model's reasoning in an output of inspect_ai, or an empty string."""
    content = output.message.content if output.choices else ""
    items = [] if isinstance(content, str) else content
    return "\n".join(item.reasoning for item in items if item.type == "reasoning")


# --- folders of programs ---------------------------------------------------------------------------------

_PROGRAMS = "a folder of programs"  # description of a folder in the format that EvalPlus writes
_TASK_FOLDER = re.compile(r"(HumanEval|Mbpp)_(\d+)")


def stamp(path: Path) -> tuple[int, int]:
    """Return the size and the modification time of a file, or of all files of a folder of programs."""
    with raise_read_errors(path):
        files = list(_find_program_files(path)) or [path]
        stats = [file.stat() for file in files]
    return sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)


def _find_program_files(folder: Path) -> Iterator[Path]:
    """Yield the programs in a folder that EvalPlus writes, such as `HumanEval_0/1.py`, by task and number.

    A folder with any other files that are not hidden has none.
    """
    if not folder.is_dir():
        return
    tasks = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    files = [(task, file) for task in tasks if task.is_dir() for file in task.iterdir()]
    if all(map(Path.is_dir, tasks)) and all(
        file.suffix == ".py" and file.stem.isdecimal() for _, file in files
    ):
        numbers = sorted((*_task_sort_key(task.name), int(file.stem), str(file)) for task, file in files)
        yield from (Path(file) for *_, file in numbers)


def _task_sort_key(name: str) -> tuple[str, int, str]:
    """Return the key by which folders of tasks are sorted."""
    match = _TASK_FOLDER.fullmatch(name)
    return (match[1], int(match[2]), name) if match else ("", 0, name)


def _read_program_rows(folder: Path) -> Iterator[FileRow]:
    """Yield a row for each program in a folder."""
    for number, file in enumerate(_find_program_files(folder), 1):
        name, task = f"{file.parent.name}/{file.name}", _TASK_FOLDER.fullmatch(file.parent.name)
        problem = f"{task[1]}/{task[2]}" if task else file.parent.name
        with raise_read_errors(file):
            code = file.read_text()
        yield FileRow(number, {"task_id": problem, "code": code, "language": "python", "file": name})


# --- reading large lists of JSON in pieces -----------------------------------------------------------


# ijson is not used here, although it is five times as fast: it does not report lines, which messages name,
# and it does not accept NaN.

# Maximum characters of a number, a keyword or an escape sequence, which may be split between two pieces.
_MAX_TOKEN_LENGTH = 16
_SPACE = " \t\r\n"


def read_json_elements(stream: TextIO, where: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of a JSON list and the lines where they start, without reading the whole list.

    The elements must be objects or lists: the last digits of a number could be missing.

    Raises:
        InputError: The stream is not a JSON list.
    """
    window = _Window(stream, where)
    window.expect_character("[")
    while window.next_character() != "]":
        line = window.line
        yield line, window.parse_value()
        if window.next_character() != "]":
            window.expect_character(",")
            if window.next_character() == "]":
                raise window.json_error("the list has a comma without a following element")
    window.expect_character("]")
    if window.next_character():
        raise window.json_error("the file has content after the end of the list")


class _Window:
    """The part of a JSON stream that was read but not parsed yet."""

    def __init__(self, stream: TextIO, where: str) -> None:
        self._stream, self._where = stream, where
        self._buffer, self._position = "", 0
        self._decoder, self._nesting = json.JSONDecoder(object_pairs_hook=refuse_duplicate_keys), Nesting()
        self.line = 1

    def next_character(self) -> str:
        """Return the next character that is not white space, without consuming it, or "" after the last."""
        while True:
            start = self._position
            while self._position < len(self._buffer) and self._buffer[self._position] in _SPACE:
                self._position += 1
            self.line += self._buffer.count("\n", start, self._position)
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._read_more():
                return ""

    def expect_character(self, character: str) -> None:
        """Consume this character. Raise an InputError if another character is next."""
        actual = self.next_character()
        if actual != character:
            raise self.json_error(
                f"expected {character!r}, found {actual!r}" if actual else "it ends too early"
            )
        self._position += 1

    def parse_value(self) -> Any:
        """Parse and return the next value."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                # If the value is cut off at the end of the piece, more must be read. The error of a cut-off
                # string is at its start.
                is_cut_off = error.msg.startswith("Unterminated string")
                is_cut_off = is_cut_off or error.pos >= len(self._buffer) - _MAX_TOKEN_LENGTH
                if not (is_cut_off and self._read_more()):
                    raise self.json_error(error.msg, error.pos) from error
            except DuplicateKey as error:
                raise InputError(
                    str(error), where=self._where, row=self.line, remedy=_DUPLICATE_KEY_REMEDY
                ) from error
            except ValueError as error:
                raise self.json_error(str(error)) from error
            else:
                self.line += self._buffer.count("\n", self._position, end)
                self._position = end
                return value

    def json_error(self, reason: str, position: int = 0) -> InputError:
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
                raise self.json_error(str(error)) from error
            self._buffer, self._position = self._buffer[self._position :] + piece, 0
        return bool(piece)


# --- formats -----------------------------------------------------------------------------------------


_TABLES = frozenset({".parquet", ".arrow", ".eval"})  # suffixes of binary formats for tables
# pyarrow's names of compressions, by suffix
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
