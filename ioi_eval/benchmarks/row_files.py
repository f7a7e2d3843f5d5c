"""Rows from files: .jsonl, .json, .csv (also as .gz or .zst), .parquet, .eval; and from folders of programs.

Reading streams; what is broken is named with its line.
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
from ioi_eval.model.fields import DuplicateKey, distinct
from ioi_eval.model.nesting import NestedTooDeep, Nesting, shallow
from ioi_eval.store.files import MAY_READ, closed_folders, readable

_CHUNK = 1 << 20  # bytes or characters
_LONGEST_FIELD = (1 << 31) - 1  # characters in a field of a .csv; the csv module stops at 131072 otherwise
INSPECT = "inspect_ai"  # the column that only rows of its logs have
PLACE = "place_of_problem"  # the column of rows made of lists, one for each problem: `#0`, `#1`
_NO_ROWS = frozenset({"state.json", "dataset_info.json", "dataset_dict.json"})
_BATCH = 64  # rows of an Arrow file in memory
_ONE_OF_THEM = "Keep the one that is meant"
_field_limit = threading.Lock()


class FileRow(NamedTuple):
    line: int  # from 1; of a .parquet, the row
    columns: dict[str, Any]


def dump_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files that paths name, those of folders by name, hidden ones left out."""
    return [file for path in paths for file in _files(Path(path))]


def other_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files in the folders among paths that are left out because their names say no format of rows."""
    folders = (path for path in map(Path, paths) if path.is_dir())
    return [file for folder in folders for file in _below(folder) if not is_dump(file)]


def _below(folder: Path) -> Iterator[Path]:
    """Files by name. Hidden ones are none, nor is what datasets writes beside the rows that it saves."""
    for file in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if hidden or file.name in _NO_ROWS:
            continue
        if file.is_symlink() and (file.is_dir() or (is_dump(file) and not file.exists())):
            leads = "a folder, and such links are not followed" if file.is_dir() else "nothing"
            raise InputError(
                f"a link to {leads}", where=str(file), remedy="Remove it, and name what it should lead to"
            )
        if file.is_file():
            yield file


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        for error in closed_folders(path):
            where, problem = str(error.filename), f"cannot be read ({error.strerror})"
            raise InputError(problem, where=where, remedy=MAY_READ)
        if _kind(path) == _PROGRAMS:
            return [path]
        found = [file for file in _below(path) if is_dump(file)]
        if not found:
            remedy = f"Expected files {_suffixes()} in it, or programs such as HumanEval_0/0.py"
            raise InputError("no dump in this folder", where=str(path), remedy=remedy)
        return found
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), remedy="Name the dump's file or folder")
    if not path.is_file():
        raise InputError(
            "it is a pipe or a device, and a dump is read more than once",
            where=str(path),
            remedy="Name - in its place, and let the rows come on standard input",
        )
    if not is_dump(path):
        raise InputError(
            f"cannot tell the format from the suffix {path.suffix!r}",
            where=str(path),
            remedy=f"Expected one of {_suffixes()}",
        )
    return [path]


def is_dump(path: Path) -> bool:
    """Return True if the name is that of a file of rows."""
    return _kind(path) in _READERS


def is_csv(path: Path) -> bool:
    """Return True if the name is that of a file in which every value is a text."""
    return _kind(path) == ".csv"


def _kind(path: Path) -> str:
    """Return the suffix of the format, without .gz or .zst; of a folder of programs `_PROGRAMS`."""
    if path.suffix.lower() not in _PACKED:
        kind = path.suffix.lower()
        return _PROGRAMS if kind not in _READERS and next(_program_files(path), None) else kind
    inner = Path(path.stem).suffix.lower()
    return inner if inner not in _TABLES else path.suffix.lower()  # tables are compressed inside


def bare_name(path: Path) -> str:
    """A file's name without the suffixes that say its format."""
    return Path(path.stem).stem if is_dump(path) and path.suffix.lower() in _PACKED else path.stem


def _suffixes() -> str:
    return (
        f"{', '.join(name for name in _READERS if name != _PROGRAMS)} (text also as {' or '.join(_PACKED)})"
    )


# --- bytes -------------------------------------------------------------------------------------------


def scan(path: Path) -> str:
    """The SHA-256 of what a file holds, unpacked. What should be text is made sure to be."""
    digest = hashlib.sha256()
    if _kind(path) == _PROGRAMS:
        for file in _program_files(path):
            digest.update(f"{file.relative_to(path)}\n{scan(file)}\n".encode())
        return digest.hexdigest()
    text = None if _kind(path) in _TABLES else _TextCheck(str(path))
    with _opened(path) as stream:
        for piece in _pieces(stream, path, text):
            digest.update(piece)
    return digest.hexdigest()


class Grown(NamedTuple):
    """A file that begins as it did when it was shorter."""

    sha256: str  # of all of it
    lines: int  # in the part that was there before


def scan_growth(path: Path, size: int, sha256: str) -> Grown | None:
    """Read a .jsonl file as `scan` does; None where it does not begin with the bytes of such a hash."""
    if path.suffix.lower() != ".jsonl" or path.stat().st_size < size:
        return None
    digest, left, lines = hashlib.sha256(), size, 0
    with _opened(path) as stream:
        while left and (piece := stream.read(min(_CHUNK, left))):
            digest.update(piece)
            lines += piece.count(b"\n")
            left -= len(piece)
        if left or digest.hexdigest() != sha256:
            return None
        for piece in _pieces(stream, path, _TextCheck(str(path), lines + 1)):
            digest.update(piece)
    return Grown(digest.hexdigest(), lines)


def line_start(path: Path, number: int) -> int:
    """Return the offset behind so many lines of a file that has them."""
    offset = 0
    with _opened(path) as stream:
        for piece in _pieces(stream, path):
            if number <= (found := piece.count(b"\n")):
                place = -1
                for _ in range(number):
                    place = piece.index(b"\n", place + 1)
                return offset + place + 1
            number -= found
            offset += len(piece)
    raise InputError("has fewer lines than before", where=str(path), remedy="Run the same command again")


def _pieces(stream: BinaryIO, path: Path, text: _TextCheck | None = None) -> Iterator[bytes]:
    """Yield what a stream holds. InputError where that should be `text` and is not."""
    with readable(path, "Was the file cut off? Fetch or write it again"):
        while piece := stream.read(_CHUNK):
            if text is not None:
                text.feed(piece)
            yield piece
        if text is not None:
            text.feed(b"", last=True)


def _opened(path: Path) -> BinaryIO:
    """The bytes that a file holds, unpacked as they are read."""
    packed = _PACKED.get(path.suffix.lower())
    with readable(path):
        if packed is None:
            return path.open("rb")
        import pyarrow

        return io.BufferedReader(cast(io.RawIOBase, pyarrow.input_stream(str(path), compression=packed)))


def _opened_text(path: Path) -> TextIO:
    return io.TextIOWrapper(_opened(path), encoding="utf-8-sig", newline="")


class _TextCheck:
    """Finds the first byte that is not UTF-8 text, in pieces."""

    def __init__(self, where: str, line: int = 1) -> None:
        self._where, self._line = where, line
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        try:
            self._decoder.decode(piece, last)
        except UnicodeDecodeError as error:
            raise self._broken("not UTF-8", error.object, error.start) from error
        if (place := piece.find(b"\0")) >= 0:
            raise self._broken("a NUL byte", piece, place)
        self._line += piece.count(b"\n")

    def _broken(self, what: str, piece: bytes, place: int) -> InputError:
        row = self._line + piece.count(b"\n", 0, place)
        return InputError(
            what, where=self._where, row=row, remedy="The file is damaged, or is not text in UTF-8"
        )


# --- rows --------------------------------------------------------------------------------------------


def read_rows(path: Path) -> Iterator[FileRow]:
    """The rows of a file that `scan` was content with. Raises InputError at the first that is none."""
    for row in rows_or_faults(path):
        if isinstance(row, InputError):
            raise row
        yield row


def rows_or_faults(path: Path, start: tuple[int, int] = (0, 0)) -> Iterator[FileRow | InputError]:
    """The rows of such a file, and in the place of one that cannot be read what is wrong with it.

    `start`: of a .jsonl the bytes and the lines to pass over.
    """
    return _jsonl_rows(path, start) if start[0] else _READERS[_kind(path)](path)


def read_columns(path: Path, names: Collection[str]) -> Iterator[dict[str, Any]]:
    """Rows of a file that was not looked through yet: of a table only these columns, where it has them."""
    kind = _kind(path)
    rows: Iterator[FileRow | InputError]
    if kind == ".parquet":
        rows = _parquet_rows(path, list(names))
    else:
        if kind not in _TABLES:
            scan(path)
        rows = rows_or_faults(path)
    return (row.columns for row in rows if not isinstance(row, InputError))


def column_names(path: Path) -> tuple[str, ...]:
    """The columns of a table, or of the first row of a file of rows."""
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet

        try:
            return tuple(pyarrow.parquet.read_schema(path).names)
        except (pyarrow.ArrowException, OSError) as error:
            raise _not_parquet(path, error) from error
    scan(path)
    first = next(read_rows(path), None)
    return tuple(first.columns) if first else ()


def _jsonl_rows(path: Path, start: tuple[int, int] = (0, 0)) -> Iterator[FileRow | InputError]:
    offset, before = start
    with _opened(path) as stream:
        if offset:
            stream.seek(offset)
        for number, line in enumerate(stream, before + 1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if text.strip():
                yield _row(text, path, number)


def _row(text: str, path: Path, line: int) -> FileRow | InputError:
    try:
        return _object(_parsed(text), path, line)
    except json.JSONDecodeError as error:
        reason = f"{error.msg}, character {error.pos + 1}"
    except DuplicateKey as error:
        return InputError(str(error), where=str(path), row=line, remedy=_ONE_OF_THEM)
    except ValueError as error:
        reason = str(error)
    return InputError(
        f"broken JSON ({reason})",
        where=str(path),
        row=line,
        remedy="Each line is one object; was the file cut off?",
    )


def _parsed(text: str) -> Any:
    return json.loads(shallow(text), object_pairs_hook=distinct)


def _object(value: Any, path: Path, line: int) -> FileRow | InputError:
    if isinstance(value, dict):
        return FileRow(line, value)
    return InputError(
        f"a row is an object of columns, not {type(value).__name__}",
        where=str(path),
        row=line,
        remedy='Expected {"problem_id": ..., ...}',
    )


def _json_rows(path: Path) -> Iterator[FileRow | InputError]:
    """Yield the rows of a list of objects, or of lists of texts. Some tools write other forms."""
    if _first_character(path) == "{":
        whole = _one_object(path)
        yield from _jsonl_rows(path) if whole is None else (FileRow(1, whole),)
        return
    with _opened_text(path) as stream:
        for place, (line, value) in enumerate(elements(stream, str(path))):
            if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
                yield FileRow(line, {PLACE: f"#{place}", "generations": value})
            else:
                yield _object(value, path, line)


def _one_object(path: Path) -> dict[str, Any] | None:
    """The object that a file consists of, on several lines; None if its first line is an object already."""
    with _opened_text(path) as stream:
        first = next((line for line in stream if line.strip()), "")
        try:
            _parsed(first)
        except DuplicateKey:
            return None
        except ValueError:
            try:
                found = _parsed(first + stream.read())
            except DuplicateKey as error:
                raise InputError(str(error), where=str(path), remedy=_ONE_OF_THEM) from error
            except ValueError:
                return None
            return found if isinstance(found, dict) else None
    return None


def _first_character(path: Path) -> str:
    with _opened_text(path) as stream:
        while piece := stream.read(_CHUNK):
            if text := piece.lstrip():
                return text[0]
    return ""


def _csv_rows(path: Path) -> Iterator[FileRow | InputError]:
    with _opened_text(path) as stream:
        first = stream.readline()
        other = next((each for each in ";\t|" if each in first), "")
        if other and "," not in first:
            problem, remedy = f"its fields are separated by {other!r}", "Write it with commas between them"
            raise InputError(problem, where=str(path), row=1, remedy=remedy)
        reader = csv.reader(chain([first], stream), strict=True)
        try:
            header = _distinct([name.strip() for name in _next_fields(reader) or []], path)
            line = reader.line_num + 1
            while (values := _next_fields(reader)) is not None:
                if len(values) not in (0, len(header)):
                    what = f"{len(values)} fields where the header has {len(header)}"
                    remedy = "Is a quote or a comma missing?"
                    yield InputError(what, where=str(path), row=line, remedy=remedy)
                elif values:  # not a blank line
                    yield FileRow(line, dict(zip(header, values, strict=True)))
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"broken CSV ({error})", where=str(path), row=reader.line_num, remedy="Is a quote not closed?"
            ) from error


def _next_fields(reader: Iterator[list[str]]) -> list[str] | None:
    """Read fields of any length. The limit holds for the whole process, so it is lifted for one line only."""
    with _field_limit:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)


def _distinct(header: list[str], path: Path) -> list[str]:
    for name in header:
        if header.count(name) > 1:
            raise InputError(
                f"two columns are called {name!r}", where=str(path), row=1, remedy="Rename one of them"
            )
    return header


def _not_parquet(path: Path, error: Exception) -> InputError:
    return InputError(
        f"not a parquet file that can be read ({error})",
        where=str(path),
        remedy="Fetch or write it again",
    )


def _parquet_rows(path: Path, columns: list[str] | None = None) -> Iterator[FileRow]:
    import pyarrow.parquet

    number = 0
    try:
        _distinct(pyarrow.parquet.read_schema(path).names, path)
        for batch in parquet.batches(path, columns):
            for values in parquet.texts(batch).to_pylist():
                number += 1
                yield FileRow(number, values)
            del batch
    except UnicodeDecodeError as error:
        raise InputError(
            "text that is not UTF-8", where=str(path), remedy=f"It is in or shortly after row {number + 1}"
        ) from error
    except (pyarrow.ArrowException, OSError) as error:
        raise _not_parquet(path, error) from error


def _arrow_rows(path: Path) -> Iterator[FileRow]:
    """A stream of Arrow batches, as datasets keeps what it fetched: mapped, not read."""
    import pyarrow.ipc

    number = 0
    try:
        with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as stream:
            for batch in stream:
                for start in range(0, batch.num_rows, _BATCH):
                    for values in parquet.texts(batch.slice(start, _BATCH)).to_pylist():
                        number += 1
                        yield FileRow(number, values)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"not an Arrow stream that can be read ({error})", where=str(path), remedy="Fetch it again"
        ) from error


def _eval_rows(path: Path) -> Iterator[FileRow]:
    """The samples of each epoch in a log of inspect_ai, read by its own package."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError as error:
        remedy = "Install it with: pip install 'ioi-eval[inspect-ai]'"
        raise InputError("its reader is the package inspect_ai", where=str(path), remedy=remedy) from error
    unused = {"events", "store", "attachments", "messages"}
    # In a thread of its own: where an event loop runs, its functions would patch asyncio for good.
    with ThreadPoolExecutor(1) as thread:
        try:
            header = thread.submit(read_eval_log, str(path), header_only=True).result().eval
            found = read_eval_log_samples(str(path), all_samples_required=False, exclude_fields=unused)
            number = 0
            while (sample := thread.submit(next, found, None).result()) is not None:
                number += 1
                yield FileRow(number, _columns_of_sample(header, sample))
        except (OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
            remedy = "Is it whole, and written by this version of inspect_ai or an older one?"
            raise InputError(f"no log that can be read ({error})", where=str(path), remedy=remedy) from error


def _columns_of_sample(header: Any, sample: Any) -> dict[str, Any]:
    usage = sample.output.usage
    counted = {"usage": {"output_tokens": usage.output_tokens}} if usage is not None else {}
    return {
        "uuid": sample.uuid or f"{header.eval_id}/{sample.id}#{sample.epoch}",
        "id": sample.id,
        "epoch": sample.epoch,
        "model": header.model,
        "generation": sample.output.completion,
        "reasoning": reasoning_of(sample.output),
        "stop_reason": sample.output.stop_reason if sample.output.choices else None,
        "error": sample.error.message if sample.error else None,
        "limit": sample.limit.type if sample.limit else None,
        "metadata": {**sample.metadata, **counted, "timestamp": header.created},
        "scores": {name: score.value for name, score in (sample.scores or {}).items()},
        INSPECT: {"task": header.task, "run_id": header.run_id, "created": header.created},
    }


def reasoning_of(output: Any) -> str:
    """The thoughts in a model's output, as inspect_ai has it, where it has any."""
    content = output.message.content if output.choices else ""
    parts = [] if isinstance(content, str) else content
    return "\n".join(part.reasoning for part in parts if part.type == "reasoning")


# --- folders of programs ---------------------------------------------------------------------------------

_PROGRAMS = "a folder of programs"
_TASK = re.compile(r"(HumanEval|Mbpp)_(\d+)")


def stamp(path: Path) -> tuple[int, int]:
    """Return size and time of change of a file, or of all files of a folder of programs."""
    with readable(path):
        files = list(_program_files(path)) or [path]
        found = [file.stat() for file in files]
    return sum(each.st_size for each in found), max(each.st_mtime_ns for each in found)


def _program_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder as EvalPlus writes it, `HumanEval_0/1.py`, by task and number.

    A folder with anything else that is not hidden is none.
    """
    if not folder.is_dir():
        return
    tasks = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    files = [(task, file) for task in tasks if task.is_dir() for file in task.iterdir()]
    if all(map(Path.is_dir, tasks)) and all(
        file.suffix == ".py" and file.stem.isdecimal() for _, file in files
    ):
        numbers = sorted((*_task_order(task.name), int(file.stem), str(file)) for task, file in files)
        yield from (Path(file) for *_, file in numbers)


def _task_order(name: str) -> tuple[str, int, str]:
    found = _TASK.fullmatch(name)
    return (found[1], int(found[2]), name) if found else ("", 0, name)


def _program_rows(folder: Path) -> Iterator[FileRow]:
    for number, file in enumerate(_program_files(folder), 1):
        name, task = f"{file.parent.name}/{file.name}", _TASK.fullmatch(file.parent.name)
        problem = f"{task[1]}/{task[2]}" if task else file.parent.name
        with readable(file):
            code = file.read_text()
        yield FileRow(number, {"task_id": problem, "code": code, "language": "python", "file": name})


# --- large lists of JSON -----------------------------------------------------------------------------


# Not ijson: five times as fast, but our messages name lines, which it does not know, and it takes no NaN.
_LONGEST_TOKEN = 16  # characters; what a cut-off number, word or escape may have at the end of what was read
_SPACE = " \t\r\n"


def elements(stream: TextIO, where: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of the list in a stream and the lines where they start; the list is not held.

    InputError where it is no list. Made for objects: of a number, the last digits may still be unread.
    """
    window = _Window(stream, where)
    window.expect("[")
    while window.next() != "]":
        line = window.line
        yield line, window.value()
        if window.next() != "]":
            window.expect(",")
            if window.next() == "]":
                raise window.broken("a comma with nothing behind it")
    window.expect("]")
    if window.next():
        raise window.broken("something behind the end of the list")


class _Window:
    """The part of the stream that was read and not used yet."""

    def __init__(self, stream: TextIO, where: str) -> None:
        self._stream, self._where = stream, where
        self._text, self._at = "", 0
        self._decoder, self._nesting = json.JSONDecoder(object_pairs_hook=distinct), Nesting()
        self.line = 1

    def next(self) -> str:
        """The next character that is not white space, not used up; empty at the end."""
        while True:
            start = self._at
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            self.line += self._text.count("\n", start, self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        found = self.next()
        if found != character:
            raise self.broken(f"expected {character!r}, found {found!r}" if found else "it ends too early")
        self._at += 1

    def value(self) -> Any:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # More text can mend what is cut off: the error points at a string's start.
                cut_off = error.msg.startswith("Unterminated string")
                cut_off = cut_off or error.pos >= len(self._text) - _LONGEST_TOKEN
                if not (cut_off and self._more()):
                    raise self.broken(error.msg, error.pos) from error
            except DuplicateKey as error:
                raise InputError(str(error), where=self._where, row=self.line, remedy=_ONE_OF_THEM) from error
            except ValueError as error:
                raise self.broken(str(error)) from error
            else:
                self.line += self._text.count("\n", self._at, end)
                self._at = end
                return value

    def broken(self, reason: str, position: int = 0) -> InputError:
        """Return the fault at the next character, or at a position behind it."""
        return InputError(
            f"broken JSON: {reason}",
            where=self._where,
            row=self.line + self._text.count("\n", self._at, max(self._at, position)),
            remedy="Expected a list of objects, or one object per line",
        )

    def _more(self) -> bool:
        """Reads as much again as is unused, so that a long element costs no more than twice its length."""
        piece = self._stream.read(max(_CHUNK, len(self._text) - self._at))
        if piece:
            try:
                self._nesting.feed(piece)
            except NestedTooDeep as error:
                raise self.broken(str(error)) from error
            self._text, self._at = self._text[self._at :] + piece, 0
        return bool(piece)


# --- formats -----------------------------------------------------------------------------------------


_TABLES = frozenset({".parquet", ".arrow", ".eval"})  # their bytes are no text
_PACKED: Mapping[str, str] = {".gz": "gzip", ".zst": "zstd"}  # pyarrow's names of them

_READERS: Mapping[str, Callable[[Path], Iterator[FileRow | InputError]]] = {
    ".jsonl": _jsonl_rows,
    ".ndjson": _jsonl_rows,
    ".json": _json_rows,
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
    ".arrow": _arrow_rows,
    ".eval": _eval_rows,
    _PROGRAMS: _program_rows,
}
