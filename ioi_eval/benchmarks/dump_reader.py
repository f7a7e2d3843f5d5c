"""Rows of a dump: columns read with types, found usable, selected, or left out with the reason."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from ioi_eval.benchmarks.hub import Place
from ioi_eval.benchmarks.loaded import LeftOut
from ioi_eval.benchmarks.row_files import Row, rows_or_faults
from ioi_eval.benchmarks.shapes import PROBLEM_COLUMNS, shaped
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import near
from ioi_eval.model.languages import find as find_language
from ioi_eval.model.options import Said
from ioi_eval.model.values import Problem, Value
from ioi_eval.rules.extraction import Extraction
from ioi_eval.rules.repairs import Repairs
from ioi_eval.store.rows import MODEL_COLUMNS, model_of, plain

ABSENT = object()  # nothing there, not even null
_ANSWERS = "assistant"  # the role of messages that hold code


class Columns:
    """A row. Accessors raise InputErrors; `wrong` makes one for faults that callers find."""

    def __init__(self, row: Row, where: str, named: Mapping[str, str]) -> None:
        """`named`: which column, or path into one, holds what is else in the column of that name."""
        self.line, self.values, self.where, self._named = row.line, row.columns, where, named
        for path in named.values():
            if value_at(self.values, path) is ABSENT:
                raise self.missing(f"`{path}`")

    def wrong(self, problem: str, column: str, remedy: str) -> InputError:
        field = self._named.get(column, column)
        return InputError(problem, where=self.where, row=self.line, field=field, remedy=remedy)

    def missing(self, column: str) -> InputError:
        there = ", ".join(map(str, self.values)) or "none"
        return self.wrong(f"missing column {column}", "", f"The columns are: {there}")

    def has(self, column: str) -> bool:
        return column in self._named or column in self.values

    def value(self, column: str) -> Any:
        """Return a column's values; None where there are none."""
        found = value_at(self.values, self._named.get(column, column))
        return None if found is ABSENT else plain(found)

    def text(self, column: str) -> str | None:
        """A text with anything in it but white space; None where there is none."""
        value = self.value(column)
        if value is None or isinstance(value, str):
            return value if value and value.strip() else None
        raise self.wrong(f"{_shown(value)} is not a text", column, "Expected a text or null")

    def generation(self, column: str) -> str | None:
        """Return the model's reply: a text, or the last answer in a list of chat messages."""
        value = self.value(column)
        if not isinstance(value, list):
            return self.text(column)
        answers = [self._content(message, column) for message in value]
        return next((answer for answer in reversed(answers) if answer is not None), None)

    def _content(self, message: Any, column: str) -> str | None:
        """The text of an assistant's message; None of others'. A text may be in parts."""
        role, content = (
            (message.get(name) for name in ("role", "content")) if _is_row(message) else (None, None)
        )
        if isinstance(content, list) and all(_is_row(part) for part in content):
            content = "".join(str(part.get("text") or "") for part in content)
        if not isinstance(role, str) or not isinstance(content, str | None):
            raise self.wrong(f"{_shown(message)} is not a message", column, "Expected {role, content}")
        return (content or "") if role == _ANSWERS else None

    def name(self, column: str) -> str:
        """A name or a number that must be there."""
        if not self.has(column):
            raise self.missing(f"`{column}`")
        value = self.value(column)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
        raise self.wrong(f"{_shown(value)} is not a name", column, "Expected a text or a whole number")

    def year(self) -> int | None:
        value = self.value("year")
        if value is None or value == "":
            return None
        digits = re.fullmatch(r"([0-9]{4})(\.0)?", str(value))  # tables with gaps make floats of years
        if digits is None:
            raise self.wrong(
                f"{_shown(value)} is not a year", "year", "Expected a number such as 2024, or null"
            )
        return int(digits[1])

    def subtask(self, problem: Problem) -> str | None:
        """The problem's own name of the subtask aimed at. Dumps may leave out the number before it."""
        wanted = self.text("subtask")
        if wanted is None:
            return None
        names = [subtask.name for subtask in problem.subtasks]
        fitting = [name for name in names if wanted in (name, name.partition("-")[2])]
        if wanted not in names and len(fitting) != 1:
            there = ", ".join(names) or "none"
            raise self.wrong(
                f"problem {problem.id!r} has no subtask {wanted!r}", "subtask", f"There are: {there}"
            )
        return wanted if wanted in names else fitting[0]


def value_at(columns: Mapping[str, Any], path: str) -> Any:
    """The value of a column, or of a path into one such as `meta.task.id`; else ABSENT."""
    if path in columns:
        return columns[path]
    head, dot, rest = path.partition(".")
    within = columns.get(head) if dot else None
    if isinstance(within, list):  # `choices.0.text`
        within = {str(index): each for index, each in enumerate(within)}
    return value_at(within, rest) if isinstance(within, dict) else ABSENT


def unrolled(row: Row, where: str) -> Iterator[tuple[str, Row]]:
    """A row of several answers as a row for each, and what is added to its key; others as they are."""
    lists = {
        what: (column, value)
        for what, columns in _LISTS.items()
        for column in columns
        if isinstance(value := plain(row.columns.get(column)), list)
    }
    if not lists or "code" in row.columns:
        yield "", row
        return
    lengths = {len(value) for _, value in lists.values()}
    if len(lengths) > 1 or lengths == {0}:
        problem = "an empty list" if lengths == {0} else "lists of different lengths"
        names = ", ".join(column for column, _ in lists.values())
        raise InputError(
            problem, where=where, row=row.line, field=names, remedy="Expected one or more answers"
        )
    others = {name: value for name, value in row.columns.items() if name not in _IN_LISTS}
    for place in range(lengths.pop()):
        own = {what: value[place] for what, (_, value) in lists.items()}
        yield f"/{place}", Row(row.line, {**others, **own})


def _is_row(value: Any) -> bool:
    return isinstance(value, dict)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_ID_COLUMNS = ("uuid", "id")
# Columns with a list of answers, each a submission.
_LISTS = {"code": ("code_list",), "generation": ("generations", "completions", "output_list")}
_IN_LISTS = frozenset(column for columns in _LISTS.values() for column in columns)
_GENERATIONS = ("generation", "messages", "completion", "solution", "response", "output")
_NO_COLUMN = ""  # as id_column: rows are known by what is in them
_OTHER_PROBLEM, _OTHER_ROW = "of another problem", "not asked for"
ASKED_FOR = frozenset({_OTHER_PROBLEM, _OTHER_ROW})  # reasons that are the user's own
_TWICE = "the same row is there already"
_EMPTY = "with neither a program nor a reply (null or blank): each counts as `no program`"
_NO_YEAR = "without a year: each id matches one problem only"


class Finder(Protocol):
    """A dump's view of the problems. `find` raises InputError; `label` is the id that submissions have."""

    def find(self, problem_id: str, year: int | None = None) -> Problem: ...

    def label(self, problem: Problem) -> str: ...


def known_language(name: str) -> str:
    """Return the name of a language that the judge has, as it was written; InputError for others."""
    find_language(name)
    return name


class DumpOptions(Value):
    """Options for reading rows. Each can change results."""

    language: Annotated[
        str,  # empty: see rules.languages
        Said(
            metavar="NAME",
            help="The language of rows that name none, whatever else tells it.",
            unset="told by the dump's format, the problem, the reply's fence; the benchmark's; c++",
            read=known_language,
        ),
    ] = ""
    default_language: str = ""  # where nothing tells it; empty: the benchmark's, else C++
    id_column: Annotated[
        str | None,
        Said(metavar="NAME", help="The column with each row's id; empty: none.", unset="uuid or id"),
    ] = None
    keys_of_content: bool = True  # of rows without an id; False, as in older runs: of their file and place
    # Columns, or paths into them. None, as in runs that do not know of them: the usual ones.
    code_column: Annotated[
        str | None,
        Said(
            metavar="PATH",
            help="The column with the program; with always_extract=True, the reply it is in;"
            " `a.b` is b in a.",
        ),
    ] = None
    always_extract: Annotated[
        bool, Said(help="Read code from `generation`, even where there is a `code`.")
    ] = False
    problem_column: Annotated[str | None, Said(metavar="PATH", help="The column with the problem.")] = None
    language_column: Annotated[str | None, Said(metavar="PATH", help="The column with the language.")] = None
    model_column: Annotated[str | None, Said(metavar="PATH", help="The column with the model.")] = None
    year_column: Annotated[str | None, Said(metavar="PATH", help="The column with the year.")] = None
    subtask_column: Annotated[
        str | None, Said(metavar="PATH", help="The column with the subtask aimed at.")
    ] = None
    skip_bad_rows: Annotated[bool, Said(help="Leave out rows that cannot be used, and list them.")] = False
    extract: Annotated[
        Extraction, Said(help="Which part of a `generation` is the program: see docs/benchmarks.md.")
    ] = Extraction.LAST
    repairs: Repairs = Repairs()

    @property
    def named(self) -> dict[str, str]:
        """The columns that were named, by what they hold."""
        every = {
            "code": self.code_column,
            "problem_id": self.problem_column,
            "language": self.language_column,
            MODEL_COLUMNS[0]: self.model_column,
            "year": self.year_column,
            "subtask": self.subtask_column,
        }
        return {what: path for what, path in every.items() if path is not None}


class Selection(Value):
    """The choice of rows that become submissions. The other rows may name unknown problems."""

    problems: frozenset[str] = frozenset()  # ids; empty: all
    keys: frozenset[str] = frozenset()  # empty: all
    limit: int | None = None  # the first ones only


class Entry(NamedTuple):
    """A row that was found usable."""

    line: int
    key: str
    problem: Problem | None  # None: of a problem that is left out
    left_out: str  # why
    year: int | None
    subtask: str | None
    language: str | None  # what the row names
    format: str  # what the row was recognised as
    code: str | None
    generation: str | None
    columns: dict[str, Any]


class Reader:
    """Turns rows into entries, or into an InputError that says where; and keeps count of what is selected."""

    def __init__(self, problems: Finder, options: DumpOptions, selection: Selection) -> None:
        self._problems, self._options, self._selection = problems, options, selection
        self._wanted = {name for wanted in selection.problems for name in (wanted, *_id(problems, wanted))}
        self.taken: dict[str, None] = {}
        self.passed_over: set[str] = set()
        self.left_out, self.noted = Counter[str](), Counter[str]()
        self._equal = Counter[str]()  # rows without an id so far, by their content

    @property
    def code_column(self) -> str:
        return self._options.code_column or "code"

    def id_column(self, path: Path) -> str:
        """The column that the rows of a file are known by, judged by the first row; empty: none."""
        if self._options.id_column is not None:
            return self._options.id_column
        rows = (row for row in rows_or_faults(path) if not isinstance(row, InputError))
        first = next(rows, None)
        columns = first.columns if first else {}
        if "ioi_id" in columns:  # NeMo-Skills' `id` is that of the subtask, in the file of every sample
            return _NO_COLUMN
        return next((name for name in _ID_COLUMNS if name in columns), _NO_COLUMN)

    def entries(self, place: Place, content: str, id_column: str) -> Iterator[Entry | InputError]:
        """In the place of a row that cannot be used, what is wrong with it."""
        for index, row in enumerate(rows_or_faults(place.path)):
            if isinstance(row, InputError):
                yield row.but(where=place.label)
                continue
            place_key = "" if self._options.keys_of_content else f"{content[:16]}-{index}"
            try:
                shape, usual_row = shaped(row, place.label)
                if shape:
                    self.noted[f"read as {shape}"] += 1
                for part, each in unrolled(usual_row, place.label):
                    yield self._entry_of(each, place, id_column, place_key, part, shape)
            except InputError as error:
                yield error

    def _entry_of(
        self, row: Row, place: Place, id_column: str, place_key: str, part: str, shape: str
    ) -> Entry:
        columns = Columns(row, place.label, self._options.named)
        if self._options.model_column is not None:
            row.columns[MODEL_COLUMNS[0]] = columns.text(MODEL_COLUMNS[0])
        if place.model and not model_of(row.columns):
            row.columns[MODEL_COLUMNS[0]] = place.model
        if not id_column and self._options.keys_of_content:
            return self._entry(columns, self._key_of_content(row.columns), shape)
        key = columns.name(id_column) if id_column else place_key
        return self._entry(columns, f"{key}{part}", shape)

    def _key_of_content(self, columns: Mapping[str, Any]) -> str:
        """The row's content and its place among its equals: rows that are added elsewhere change neither."""
        content = msgspec.json.encode(plain(columns), order="sorted")
        name = hashlib.sha256(content).hexdigest()[:16]
        self._equal[name] += 1
        return f"{name}-{self._equal[name]}"

    def selected(self, place: Place, content: str, id_column: str) -> Iterator[Entry]:
        """Yield the selected entries of a dump that was looked through, when bad rows were reported."""
        for entry in self.entries(place, content, id_column):
            if not isinstance(entry, InputError):
                if self.take(entry):
                    yield entry
            elif not self._options.skip_bad_rows:
                raise entry

    def take(self, entry: Entry) -> bool:
        """Return True for a selected entry. It counts: ask once for each entry, in order."""
        reason = entry.left_out or self._unwanted(entry.key)
        if reason:
            self.left_out[reason] += 1
            self.passed_over.add(entry.key)
            return False
        self.taken[entry.key] = None
        if entry.year is None and entry.problem is not None and _is_of_a_year(entry.problem):
            self.noted[_NO_YEAR] += 1
        if entry.code is None and entry.generation is None:
            self.noted[_EMPTY] += 1
        return True

    def _unwanted(self, key: str) -> str:
        keys, limit = self._selection.keys, self._selection.limit
        if key in self.taken:
            return _TWICE
        too_many = limit is not None and len(self.taken) >= limit
        return _OTHER_ROW if too_many or (keys and key not in keys) else ""

    def check_found(self, where: str) -> None:
        missing = self._selection.keys - self.taken.keys()
        if missing and self._selection.limit is None:
            close = near(min(missing), (*self.taken, *self.passed_over))
            meant = f"Did you mean {close[0]!r}? " if close else ""
            remedy = f"{meant}Keys are in the column `key` of results.jsonl"
            raise InputError(f"no row with the key {min(missing)!r}", where=where, remedy=remedy)

    def _entry(self, columns: Columns, key: str, shape: str) -> Entry:
        usual = next(filter(columns.has, PROBLEM_COLUMNS), PROBLEM_COLUMNS[0])
        problem_id, year = columns.name(usual), columns.year()
        problem, left_out = self._problem(columns, problem_id, year)
        code, generation = self._texts(columns)
        if (language := columns.text("language")) is not None:
            find_language(language, where=columns.where, row=columns.line)
        return Entry(
            line=columns.line,
            key=key,
            problem=problem,
            left_out=left_out,
            year=year,
            subtask=columns.subtask(problem) if problem else None,
            language=language,
            format=shape,
            code=code,
            generation=generation,
            columns=columns.values,
        )

    def _problem(self, columns: Columns, problem_id: str, year: int | None) -> tuple[Problem | None, str]:
        """The problem, or why its rows are left out."""
        if self._wanted and not self._wanted & {problem_id, *_id(self._problems, problem_id)}:
            return None, _OTHER_PROBLEM
        try:
            return self._problems.find(problem_id, year), ""
        except LeftOut as error:
            return None, error.reason
        except InputError as error:
            raise columns.wrong(error.problem, error.field, error.remedy) from error

    def _texts(self, columns: Columns) -> tuple[str | None, str | None]:
        """`code` and what the model wrote, of which one must be there."""
        if self._options.code_column is not None:
            extracted = self._options.always_extract
            return (None, columns.generation("code")) if extracted else (columns.text("code"), None)
        written = next((name for name in _GENERATIONS if columns.has(name)), None)
        if self._options.always_extract and written is None:
            raise columns.missing("`generation` or `messages`")
        if not columns.has("code") and written is None:
            raise columns.missing("`code`, `generation` or `messages`")
        code = None if self._options.always_extract else columns.text("code")
        return code, None if written is None else columns.generation(written)


def _id(problems: Finder, name: str) -> tuple[str, ...]:
    """Return the id of a problem that has several names."""
    try:
        return (problems.find(name).id,)
    except InputError:
        return ()


def _is_of_a_year(problem: Problem) -> bool:
    """Olympiads use short names, which may come again; a problem without subtasks is of no olympiad."""
    return problem.year is not None and bool(problem.subtasks)
