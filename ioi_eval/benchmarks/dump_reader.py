"""Rows of a dump: columns read with types, found usable, selected, or left out with the reason."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from ioi_eval.benchmarks.asked import StatementIndex, Unclear
from ioi_eval.benchmarks.hub import RowFile
from ioi_eval.benchmarks.row_files import FileRow, is_csv, rows_or_faults
from ioi_eval.benchmarks.shapes import (
    KNOWN,
    OF_DATASETS,
    PROBLEM_COLUMNS,
    PROMPT_COLUMNS,
    USUAL,
    Shape,
    is_statement,
    prompts_in,
    replies_in,
    shape_of,
    usual_columns,
)
from ioi_eval.model.errors import FailedRequest, InputError, MissingColumn
from ioi_eval.model.fields import Fields, Strict, name_of, near
from ioi_eval.model.languages import find as find_language
from ioi_eval.model.nesting import shallow
from ioi_eval.model.options import Count, Said
from ioi_eval.model.values import Problem, Value
from ioi_eval.problems.collection import LeftOut
from ioi_eval.rules.extraction import ANSWERS, Extraction, Repairs, text_of
from ioi_eval.rules.json_tests import list_in
from ioi_eval.rules.shards import Shard
from ioi_eval.store.packed import Keys, NamedKeys
from ioi_eval.store.rows import MODEL_COLUMNS, model_of, plain

_NOTHING: Mapping[str, str] = MappingProxyType({})
ABSENT = object()  # nothing there, not even null
_CHAT = "messages"  # the column of replies that may as well hold what was asked
_DATASETS = "solution"  # one of replies that beside a prompt is the dataset's own
_ASIDE = ("analysis", "commentary")  # channels of gpt-oss that are no answer


class Columns(Fields):
    """A row, whose first fault is raised. Fields are what columns hold: `problem_id` may be in `task_id`."""

    form, remedy = repr, "Expected a text or null"

    def __init__(
        self,
        row: FileRow,
        policy: Strict,
        named: Mapping[str, str],
        origins: Mapping[str, str] = _NOTHING,
        lists: Collection[str] | None = (),
    ) -> None:
        """`named`: columns, or paths into them, by what they hold; they must be there. `origins`: where the
        dump had what a reader has put into usual columns. `lists`: columns whose texts are lists of answers;
        None: any text may be one.
        """
        super().__init__(row.columns, "", policy, row=row.line)
        self.line, self.columns, self.where = row.line, row.columns, policy.where
        self._named, self._origins, self._lists = named, origins, lists
        self.unsplit = False  # a text that holds several answers was taken for one
        self._usual = usual_columns(tuple(row.columns))
        if "generation" not in origins and _is_no_reply(self._usual.get("generation"), row.columns):
            names = (name for name in row.columns if not _is_no_reply(name, row.columns))
            other = usual_columns(tuple(name for name in names if name != _DATASETS)).get("generation")
            self._usual = self._usual if other is None else {**self._usual, "generation": other}
        for what, path in named.items():
            if value_at(row.columns, path) is ABSENT:
                raise self.missing(f"`{path}`", what, (path,))

    def place(self, name: str) -> str:
        own = self._origins.get(name, "")  # several words where it is no column
        return own if own and " " not in own else self.find(name) or name

    def missing(
        self, column: str, what: str, names: Collection[str], or_else: str = "", meant: str = ""
    ) -> MissingColumn:
        """Return the fault that a column is missing.

        Args:
            column: How the message names it.
            what: What it holds.
            names: Columns that would do.
            or_else: The remedy if no option names another column.
            meant: The option and the column that are meant, if that is known from values.
        """
        there = [str(name) for name in self.columns]
        own = {name for each in (_ANSWERED if what in _ANSWERED else (what,)) for name in USUAL.get(each, ())}
        free = {
            path: value
            for path, value in paths_in(self.columns)
            if path not in KNOWN - own  # `model` is no name of a `code`
        }
        if what in _ANSWERED:
            free = {path: value for path, value in free.items() if _may_be_answer(path, value)}
        elif what in USUAL:
            free = {path: value for path, value in free.items() if name_of(value)}
        close = [found for name in names for found in near(name, free) if found not in names]
        if what in _ANSWERED:
            certain = [path for path in free if path not in names and _holds_program(free[path])]
            close = [path for path in close if path in certain] or certain or close
        option = _OPTIONS.get(what, "")
        samples = [name for name in there if _NUMBERED.fullmatch(name)]
        if what == "code" and len(samples) > 1:
            meant = f". Make one column of {samples[0]} to {samples[-1]}: a list such as `completions`"
        elif not option:
            meant = or_else
        elif meant or close:
            meant = f". Did you mean {meant or option + close[0]}?"
        else:
            meant = f". Name the one that is meant with {option}NAME"
        remedy = f"The columns are: {', '.join(there) or 'none'}{meant}"
        return MissingColumn(f"missing column {column}", where=self.where, row=self.line, remedy=remedy)

    def find(self, what: str) -> str | None:
        """Return the column, or the path, of something; None where the row has none."""
        if what in self._named:
            return self._named[what]
        is_own = what not in USUAL and value_at(self.columns, what) is not ABSENT
        return self._usual.get(what) or (what if is_own else None)

    def origin(self, what: str) -> str:
        """Return the dump's own column of something; empty where it has none."""
        return self._origins.get(what) or self.find(what) or ""

    def value(self, column: str) -> Any:
        """Return a column's values; None where there are none."""
        path = self.find(column)
        found = ABSENT if path is None else value_at(self.columns, path)
        if column in _TEXTS:
            found = as_text(found)
            if any(isinstance(part, bytes) for part in (found if isinstance(found, list) else [found])):
                raise self.wrong(column, "bytes that are no text in UTF-8")
        value = None if found is ABSENT else plain(found)
        if column not in _ANSWERED:
            return value
        listed = _listed(value)
        held = replies_in(listed, several=path in _SEVERAL)
        if not isinstance(value, str):
            return held
        # A model may write whatever text it likes, and must not choose by that how many answers it has, nor
        # that its row cannot be used.
        several = _are_answers(path or "", held)
        holds_lists = self._lists is None or path in self._lists
        if several and not (holds_lists and isinstance(listed, list)):
            self.unsplit = True
            return value
        return held if all(map(_is_answer, held if several else [held])) else value

    def words(self, column: str) -> str | None:
        """Return a text with anything in it but white space; None where there is none."""
        value = self.value(column)
        if isinstance(value, list) and isinstance(text := self.columns.get(self.find(column) or ""), str):
            value = text  # of a chat, where no chat is expected
        if value is None or isinstance(value, str):
            return value if value and value.strip() else None
        raise self.misfit(column, "a text")

    def program(self, column: str) -> str | None:
        """Return a program, as an empty text if it is blank; None where there is none."""
        found = self.words(column)
        return "" if found is None and isinstance(self.value(column), str) else found

    def generation(self, column: str) -> str | None:
        """Return the model's reply: a text, or the last answer in a list of chat messages."""
        messages = self.value(column)
        if not isinstance(messages, list):
            return self.words(column)
        answers = [self._content(message, column) for message in messages]
        return next((answer for answer in reversed(answers) if answer is not None), None)

    def _content(self, message: Any, column: str) -> str | None:
        """The text of an assistant's message; None of others'. A text may be in parts."""
        if not _is_message(message):
            raise self.wrong(column, f"{self.shown(message)} is not a message", "Expected {role, content}")
        content = _content_of(message)
        text = text_of(content) if isinstance(content, list) else content or ""
        return text if message["role"].lower() in ANSWERS and message.get("channel") not in _ASIDE else None

    def name(self, column: str, *, or_else: str = "") -> str:
        """A name or a number that must be there. `or_else`: what one may do without it."""
        if self.find(column) is None:
            raise self.missing(f"`{column}`", column, USUAL.get(column, (column,)), or_else)
        value = self.value(column)
        if (name := name_of(value)) is not None:
            return name
        expected = "Expected a text or a whole number"
        if isinstance(value, dict | list):  # as pandas writes a frame
            expected += "; a table by columns has to be written by rows (to_json(orient='records'))"
        raise self.wrong(column, f"{self.shown(value)} is not a name", expected + or_else)

    def model(self, column: str) -> str | None:
        """Return the name of a model: a text or a whole number; None where there is none."""
        value = self.value(column)
        return name_of(value) if isinstance(value, int) else self.words(column)

    def check_model(self) -> None:
        """Raise the fault that a model is told, and not by a name: all such would be one model."""
        option = _OPTIONS[MODEL_COLUMNS[0]]
        for name in MODEL_COLUMNS:
            value = self.value(name) if name in self.columns else None
            if value not in (None, "", [], {}):
                raise self.wrong(
                    name,
                    f"{self.shown(value)} is not the name of a model",
                    f"Expected a text or a whole number; {option}PATH names another column, or a part of one",
                )

    def year(self) -> int | None:
        value = self.value("year")
        if value is None or value == "":
            return None
        digits = re.fullmatch(r"([0-9]{4})(\.0)?", str(value))  # tables with gaps make floats of years
        if digits is None:
            what = f"{self.shown(value)} is not a year"
            raise self.wrong("year", what, "Expected a number such as 2024, or null")
        return int(digits[1])

    def subtask(self, problem: Problem) -> str | None:
        """The problem's own name of the subtask aimed at. Dumps may leave out the number before it."""
        wanted = self.words("subtask")
        if wanted is None:
            return None
        names = [subtask.name for subtask in problem.subtasks]
        fitting = [name for name in names if wanted in (name, name.partition("-")[2])]
        if wanted not in names and len(fitting) != 1:
            there = ", ".join(names) or "none"
            what = f"problem {problem.id!r} has no subtask {wanted!r}"
            raise self.wrong("subtask", what, f"There are: {there}")
        return wanted if wanted in names else fitting[0]


def value_at(columns: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or of a path into one such as `meta.task.id`; else ABSENT.

    A text of JSON is looked into, too.
    """
    if path in columns:
        return columns[path]
    head, dot, rest = path.partition(".")
    within = columns.get(head) if dot else None
    if isinstance(within, str):
        within = _object_in(within)
    if isinstance(within, list):  # `choices.0.text`
        within = {str(index): each for index, each in enumerate(within)}
    return value_at(within, rest) if isinstance(within, dict) else ABSENT


@lru_cache(16)  # several columns are read from one text
def _object_in(text: str) -> Any:
    """Return the object or the list that a text of JSON is; None for other texts."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(shallow(text))
    except (ValueError, RecursionError):
        return None


def paths_in(columns: Mapping[str, Any], depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Yield the columns with what they hold, and the paths into those that are objects, or texts of one."""
    for name, value in columns.items():
        yield str(name), value
        within = _object_in(value) if isinstance(value, str) else value
        if isinstance(within, dict) and depth > 1:
            yield from ((f"{name}.{path}", held) for path, held in paths_in(within, depth - 1))


def as_text(value: Any) -> Any:
    """Return bytes, also in a list, as the text that some writers mean; others as they are."""
    if isinstance(value, list):
        return [as_text(part) for part in value]
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _chat(value: Any) -> Any:
    """Return a chat of ShareGPT, or a list of them, in the words of others; anything else as it is."""
    if not isinstance(value, list):
        return value
    if not value or not all(isinstance(each, dict) and each.keys() >= {"from", "value"} for each in value):
        return [_chat(each) for each in value]
    said = ((each["from"], each["value"]) for each in value)
    return [{"role": who, "content": words} for who, words in said]


def _listed(value: Any) -> Any:
    """Return the chat, or the texts or chats, that a table has as one text; anything else as it is."""
    value = _chat(value)
    if not isinstance(value, str) or not value.rstrip().endswith("]"):
        return value
    if not (listed := _chat(_list_in(value))):
        return value
    chats = listed if all(isinstance(each, list) for each in listed) else [listed]
    said = [message for chat in chats for message in chat]
    are_messages = all(isinstance(message, dict) and "role" in message for message in said)
    return listed if are_messages or all(isinstance(each, str | None) for each in listed) else value


def asked_in(columns: Mapping[str, Any], path: str) -> str:
    """Return what the model was asked: a text, or the messages of a chat that are not the model's."""
    found = value_at(columns, path)
    value = _listed(plain(None if found is ABSENT else as_text(found)))
    while isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]  # of several chats, which begin alike
    return "\n".join(filter(None, map(_asked_by, value if isinstance(value, list) else [value])))


def _asked_by(message: Any) -> str:
    """Return the text of a message that is not the model's; empty for others."""
    if not isinstance(message, dict):
        return message if isinstance(message, str) else ""
    if str(message.get("role") or "user").lower() in ANSWERS:
        return ""
    content = _content_of(message)
    return text_of(content) if isinstance(content, list) else str(content or "")


def _is_message(value: Any) -> bool:
    """Return True for an object with a role and a content: a text, its parts, or none."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    content = _content_of(value)
    parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
    return parts or isinstance(content, str | None)


def _content_of(message: Mapping[str, Any]) -> Any:
    return message.get("content", message.get("parts"))  # Gemini has the latter


def _may_be_answer(path: str, value: Any) -> bool:
    """Return False for what the model was asked, and for what is neither a text nor a list."""
    is_asked = path in PROMPT_COLUMNS or "prompt" in path.lower()
    return isinstance(value, str | list) and not is_asked


def _holds_program(value: Any) -> bool:
    """Return True for a text, or for a list of texts or messages, with a fence or a line of a program."""
    if isinstance(value, list):
        return any(map(_holds_program, value))
    text = _content_of(value) if isinstance(value, dict) else value
    return isinstance(text, str) and _OF_PROGRAM.search(text) is not None


def _is_answer(held: Any) -> bool:
    """Return True for a reply or a chat, or where there is none."""
    return isinstance(held, str | None) or (isinstance(held, list) and all(map(_is_message, held)))


def columns_of_lists(path: Path) -> frozenset[str]:
    """Return the columns of a .csv file that hold lists, which it can hold as texts only.

    Their names say so, and their texts are all lists. A reply alone does not choose its number of tries.
    """
    if not is_csv(path):
        return frozenset()
    rows = (row.columns for row in rows_or_faults(path) if not isinstance(row, InputError))
    held = [
        (name, text.strip() == "[]" or isinstance(_listed(text), list))
        for row in islice(rows, _LOOKED_AT)
        for name, text in row.items()
        if text and _OF_SEVERAL.fullmatch(name)
    ]
    return frozenset(name for name, _ in held) - {name for name, is_list in held if not is_list}


@lru_cache(4)  # a row's texts are looked at again and again, and this takes 100 times as long as all else
def _list_in(text: str) -> list[Any] | None:
    return list_in(text)


def _is_no_reply(name: str | None, columns: Mapping[str, Any]) -> bool:
    """Return True for a column of replies where this row has none, or what the model was asked."""
    if name not in USUAL["generation"]:
        return False
    return columns[name] is None or (name == _CHAT and _asks(columns[name]))


def _asks(messages: Any) -> bool:
    """Return True for a chat that the model is to go on with: its last message is not the model's."""
    chat = _listed(plain(messages))
    last = chat[-1] if isinstance(chat, list) and chat else None
    return isinstance(last, dict) and str(last.get("role")).lower() not in ANSWERS


def _are_answers(column: str, value: Any) -> bool:
    """Return True for a list of answers; one of messages is an answer itself."""
    if not isinstance(value, list):
        return False
    if column == _CHAT:
        return bool(value) and all(isinstance(each, list) for each in value)
    if not value or not all(isinstance(each, dict) and "role" in each for each in value):
        return True
    # A model that answers itself: in columns of several answers each message is one.
    return (
        column in _SEVERAL and len(value) > 1 and all(str(each["role"]).lower() in ANSWERS for each in value)
    )


_SEVERAL = ("generations", "completions", "responses", "output_list", "outputs")
# Names of columns that hold several replies or programs.
_OF_SEVERAL = re.compile(
    r"(?:.*[ _.-])?(?:answers|attempts|candidates|codes|completions|generations|outputs|predictions|programs"
    r"|replies|responses|samples|solutions|texts)|.*_list",
    re.I,
)
_ID_COLUMNS = ("uuid", "id")
_ANSWERED = ("code", "generation")  # of a row whose list of them are submissions
_TEXTS = frozenset({*_ANSWERED, "problem_id", "language", "subtask", MODEL_COLUMNS[0]})
# The options that name columns, as messages have them, by what the columns hold.
_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "problem_id": "problem_column=",
        "code": "code_column=",
        "generation": "code_column=",
        "language": "language_column=",
        MODEL_COLUMNS[0]: "model_column=",
        "year": "year_column=",
        "subtask": "subtask_column=",
    }
)
OTHER_IDS = "Name a column of distinct ids (id_column=NAME), or none (id_column='')"
_NO_COLUMN = ""  # as id_column: rows are known by what is in them
_OTHER_PROBLEM, _OTHER_ROW = "of another problem", "not asked for"
OTHER_SHARD = "of another shard"
ASKED_FOR = frozenset({_OTHER_PROBLEM, _OTHER_ROW, OTHER_SHARD})  # reasons that are the user's own
_TWICE = "the same row is there already"
_EMPTY = "with neither a program nor a reply (null or blank): each counts as `no program`"
_BLANK = (
    "with an empty program and no reply: in Python it is judged, and prints nothing; in other languages it"
    " counts as `no program`"
)
_CALLED = (
    "with a call of a tool and no text: a program in a call is not read, and each counts as `no program`"
)
_CALLS = ("functionCall", "function_call", "tool_call", "tool_calls", "tool_use", "toolUse")
_DOUBTFUL = "lang"
# Columns of a model's samples, each by its number.
_NUMBERED = re.compile(
    r"(?:answer|code|completion|generation|output|response|sample|solution)s?[ _.-]?\d+", re.I
)
_OF_PROGRAM = re.compile(
    r"^ {0,3}```|^#include\b|^(?:from [\w.]+ )?import [\w.]|^def \w+\(|\bint main\(|\bfn main\(", re.M
)
_OF_LANGUAGES = re.compile(r"lang|compiler", re.I)  # columns that may name one
_WHOLE = (
    "whose text is a list of answers: it counts as one, because a model may write such a text"
    " (split_lists=True reads each as a reply)"
)
_LOOKED_AT = 100  # rows of a table that tell which of its columns hold lists as texts
_NO_YEAR = "without a year: each id matches one problem only"


class Finder(Protocol):
    """A dump's view of the problems. `find` raises InputError; `label` is the id that submissions have."""

    def find(self, problem_id: str, year: int | None = None) -> Problem: ...

    def label(self, problem: Problem) -> str: ...

    def values(self) -> Iterable[Problem]: ...


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
            unset="told by the dump's format, the problem, the reply; the benchmark's; c++",
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
    split_lists: Annotated[
        bool,
        Said(help="Read a text that is a list, as JSON or Python writes it, as several replies."),
    ] = False
    problem_column: Annotated[str | None, Said(metavar="PATH", help="The column with the problem.")] = None
    prompt_column: Annotated[
        str | None,
        Said(
            metavar="PATH",
            help="The column with the problem's statement, word for word, also inside a prompt.",
        ),
    ] = None
    language_column: Annotated[str | None, Said(metavar="PATH", help="The column with the language.")] = None
    model_column: Annotated[str | None, Said(metavar="PATH", help="The column with the model.")] = None
    year_column: Annotated[str | None, Said(metavar="PATH", help="The column with the year.")] = None
    subtask_column: Annotated[
        str | None, Said(metavar="PATH", help="The column with the subtask aimed at.")
    ] = None
    skip_bad_rows: Annotated[bool, Said(help="Leave out rows that cannot be used, and list them.")] = False
    extract: Annotated[
        Extraction, Said(help="Which part of a `generation` is the program: see docs/dumps.md.")
    ] = Extraction.LAST
    repairs: Repairs = Repairs()

    @property
    def named(self) -> dict[str, str]:
        """The columns that were named, by what they hold."""
        paths = {
            what: getattr(self, option[:-1]) for what, option in _OPTIONS.items() if what != "generation"
        }
        return {what: path for what, path in paths.items() if path is not None}


class Selection(Value):
    """The choice of rows that become submissions. The other rows may name unknown problems."""

    problems: frozenset[str] = frozenset()  # ids; empty: all
    keys: Annotated[
        frozenset[str],  # empty: all
        Said(name="only", metavar="ID", help="Only this submission; may be repeated."),
    ] = frozenset()
    limit: Annotated[Count | None, Said(metavar="N", help="Only the first N submissions.")] = None
    shard: Annotated[
        Shard | None,
        Said(
            typed=str,
            read=Shard.of,
            metavar="I/N",
            help="Only shard I of N: `report` makes one run of the folders of all shards.",
        ),
    ] = None


class UsableRow(NamedTuple):
    """A row that was found usable."""

    line: int
    key: str
    problem: Problem | None  # None: of a problem that is left out
    left_out: str  # why
    year: int | None
    subtask: str | None
    language: str | None  # what the row names
    format: str  # the language of what the row was recognised as
    read_from: Mapping[str, str]  # columns by what they were read as
    code: str | None  # empty: an empty program, which Python takes
    generation: str | None
    columns: dict[str, Any]


class DumpRows:
    """Turns rows into entries, or into an InputError that says where; and keeps count of what is selected."""

    def __init__(
        self, problems: Finder, options: DumpOptions, selection: Selection, taken: NamedKeys | None = None
    ) -> None:
        """`taken`: of a dump that was looked through, the problems by key."""
        self._problems, self._options, self._selection = problems, options, selection
        self._named = options.named
        self._wanted = {name for wanted in selection.problems for name in (wanted, *_id(problems, wanted))}
        self.taken = NamedKeys() if taken is None else taken  # the problems, by key, as submissions name them
        self._passed = None if taken is None else bytearray(len(taken))  # those that came again
        self.passed_over: set[str] = set()
        self._of_other_shards = Keys()
        self.left_out, self.noted = Counter[str](), Counter[str]()
        self.equal = Counter[str]()  # rows without an id so far, by their content

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
        shape = shape_of(columns)
        if shape is not None and not shape.ids:
            return _NO_COLUMN
        if "uuid" not in columns and self._names_problem_by_id(columns):
            return _NO_COLUMN
        return next((name for name in _ID_COLUMNS if name in columns), _NO_COLUMN)

    def _names_problem_by_id(self, columns: Mapping[str, Any]) -> bool:
        named = self._options.problem_column
        if named is not None or self._options.prompt_column is not None:
            return named == "id"
        return columns.keys().isdisjoint(PROBLEM_COLUMNS) and self._is_problem(columns.get("id"))

    def entries(
        self, place: RowFile, content: str, id_column: str, start: tuple[int, int] = (0, 0)
    ) -> Iterator[UsableRow | InputError]:
        """In the place of a row that cannot be used, what is wrong with it.

        `start`: the bytes and lines to pass over, whose rows are known.
        """
        policy = Strict(place.label)
        in_texts = None if self._options.split_lists else columns_of_lists(place.path)
        for index, row in enumerate(rows_or_faults(place.path, start)):
            if isinstance(row, InputError):
                yield row.but(where=place.label)
                continue
            hashed = "" if self._options.keys_of_content else f"{content[:16]}-{index}"
            shape = shape_of(row.columns)
            if shape is not None:
                self.noted[f"read as {shape.name}"] += 1
            try:
                rows = [row] if shape is None else list(shape.rows(row, place.label))
            except InputError as error:
                yield error
                continue
            for usual in rows:
                try:
                    for part, columns in self._unrolled(usual, policy, shape, in_texts, row.columns):
                        yield self._entry(columns, usual.columns, place, id_column, (hashed, part), shape)
                except InputError as error:
                    yield error

    def _unrolled(
        self,
        row: FileRow,
        policy: Strict,
        shape: Shape | None,
        in_texts: Collection[str] | None,
        written: Mapping[str, Any],
    ) -> Iterator[tuple[str, Columns]]:
        """A row of several answers as columns for each, and what is added to its key; others as they are.

        `written`: the dump's own columns.
        """
        named = {**(shape.named if shape is not None else {}), **self._named}
        told = {*self._named, *usual_columns(tuple(written))} - {*_ANSWERED}  # these come before the shape's
        made = shape.columns if shape is not None and shape.made else {}
        origins = {what: column for what, column in made.items() if what not in told}
        columns = Columns(row, policy, named, origins, in_texts)
        held = {what: (column, columns.value(what)) for what in _ANSWERED if (column := columns.find(what))}
        found = {what: (column, value) for what, (column, value) in held.items() if value not in (None, "")}
        self.noted.update([_WHOLE] if columns.unsplit else ())
        lists = {
            what: (column, value) for what, (column, value) in found.items() if _are_answers(column, value)
        }
        if not lists or ("code" in found and "code" not in lists):
            if "code" not in self._named:
                self.noted.update(_unread_replies(row.columns))
            yield "", columns
            return
        lengths = {len(value) for _, value in lists.values()}
        if len(lengths) > 1 or lengths == {0}:
            problem = "an empty list" if lengths == {0} else "lists of different lengths"
            names = ", ".join(column for column, _ in lists.values())
            raise policy.error(problem, "", row=row.line, field=names, remedy="Expected one or more answers")
        gone = {what: column for what, (column, _) in lists.items()}
        others = {name: value for name, value in row.columns.items() if name not in gone.values()}
        rest = {what: path for what, path in named.items() if what not in lists}
        for place in range(lengths.pop()):
            own = {what: value[place] for what, (_, value) in lists.items()}
            yield (
                f"/{place}",
                Columns(FileRow(row.line, {**others, **own}), policy, rest, {**gone, **origins}),
            )

    def go_on_behind(self, submissions: int, equal: Mapping[str, int]) -> None:
        """Pass over so many submissions, and so many rows without an id of each content."""
        if self._passed is not None:
            self._passed[:submissions] = b"\x01" * submissions
        self.equal.update(equal)

    def selected(
        self, place: RowFile, content: str, id_column: str, start: tuple[int, int] = (0, 0)
    ) -> Iterator[UsableRow]:
        """Yield the selected entries of a dump that was looked through, when bad rows were reported."""
        for entry in self.entries(place, content, id_column, start):
            if not isinstance(entry, InputError):
                if self.take(entry):
                    yield entry
            elif not (self._options.skip_bad_rows or isinstance(entry, FailedRequest)):
                raise entry

    def take(self, entry: UsableRow) -> bool:
        """Return True for a selected entry. It counts: ask once for each entry, in order."""
        reason = entry.left_out or self._unwanted(entry.key)
        if reason:
            self.left_out[reason] += 1
            if self._passed is None:
                self.passed_over.add(entry.key)
            return False
        problem = entry.problem
        shard = self._selection.shard
        is_other = shard is not None and not shard.has(entry.key)
        if is_other:
            self.left_out[OTHER_SHARD] += 1
            self._of_other_shards.add(entry.key)
        elif self._passed is None:
            self.taken.add(entry.key, self._problems.label(problem) if problem else "")
        else:
            self._passed[self.taken.place(entry.key)] = True
        # Olympiads use short names, which may come again; a problem without subtasks is of no olympiad.
        if entry.year is None and problem is not None and problem.year is not None and problem.subtasks:
            self.noted[_NO_YEAR] += 1
        if entry.code == "":
            self.noted[_BLANK] += 1
        elif entry.code is None and not (entry.generation or "").strip():
            self.noted[_CALLED if _has_call(entry.columns) else _EMPTY] += 1
        return not is_other

    def is_of_other_shard(self, key: str) -> bool:
        """Return True for a selected row of another shard. Remarks about rows count such rows, too."""
        return key in self._of_other_shards

    def _unwanted(self, key: str) -> str:
        keys, limit = self._selection.keys, self._selection.limit
        place = self.taken.place(key)
        if self._passed is not None:
            return _OTHER_ROW if place < 0 else _TWICE if self._passed[place] else ""
        if place >= 0 or key in self._of_other_shards:
            return _TWICE
        too_many = limit is not None and len(self.taken) + len(self._of_other_shards) >= limit
        return _OTHER_ROW if too_many or (keys and key not in keys) else ""

    def check_found(self, where: str) -> None:
        known = self.taken, self._of_other_shards
        missing = {key for key in self._selection.keys if not any(key in each for each in known)}
        if missing and self._selection.limit is None:
            close = near(min(missing), (*self.taken, *self.passed_over))
            meant = f"Did you mean {close[0]!r}? " if close else ""
            remedy = f"{meant}Keys are in the column `key` of results.jsonl"
            raise InputError(f"no row with the key {min(missing)!r}", where=where, remedy=remedy)

    def _entry(
        self,
        columns: Columns,
        whole: Mapping[str, Any],
        place: RowFile,
        id_column: str,
        identity: tuple[str, str],
        shape: Shape | None,
    ) -> UsableRow:
        if self._options.model_column is not None:
            columns.columns[MODEL_COLUMNS[0]] = columns.model(MODEL_COLUMNS[0])
        if not model_of(columns.columns):
            columns.check_model()
            if place.model:
                columns.columns[MODEL_COLUMNS[0]] = place.model
        if id_column:
            key = columns.name(id_column, or_else=f". {OTHER_IDS}") + identity[1]
        elif identity[0]:
            key = "".join(identity)
        else:  # the content and its place among its equals: rows that are added elsewhere change neither
            content = msgspec.json.encode(plain(columns.columns), order="sorted")
            key = hashlib.sha256(content).hexdigest()[:16]
            self.equal[key] += 1
            key = f"{key}-{self.equal[key]}"
        year = columns.year()
        problem, left_out, named_by = self._problem(columns, whole, year, shape)
        code, generation = self._texts(columns)
        written = generation is not None or columns.find("code") is None  # also where a reply is blank
        replied = code is None and written and self._options.code_column is None
        return UsableRow(
            line=columns.line,
            key=key,
            problem=problem,
            left_out=left_out,
            year=year,
            subtask=columns.subtask(problem) if problem else None,
            language=self._language(columns),
            format=shape.language if shape else "",
            read_from={
                "problem": named_by,
                "reply" if replied else "program": columns.origin("generation" if replied else "code"),
            },
            code=code,
            generation=generation,
            columns=columns.columns,
        )

    @cached_property
    def _statements(self) -> StatementIndex:
        return StatementIndex(self._problems.values())

    def _problem(
        self, columns: Columns, whole: Mapping[str, Any], year: int | None, shape: Shape | None
    ) -> tuple[Problem | None, str, str]:
        """Return the problem, or why its rows are left out, and the column that named it.

        `whole`: the row before its answers became rows.
        """
        path = self._options.prompt_column
        if path is not None:
            if value_at(whole, path) is ABSENT:
                raise columns.missing(f"`{path}`", "prompt", (path,))
            return self._asked(whole, (path,))
        column, by = columns.find("problem_id"), columns.origin("problem_id")
        name = name_of(columns.value("problem_id")) if column else None
        if column is None and self._is_problem(own := columns.columns.get("id")):
            column, by, name = "id", "id", str(own).strip()
        if name is None or not self._is_known(name):
            prompt = shape.prompt if shape is not None and self._options.problem_column is None else ""
            texts = (prompt,) if prompt else (column,) if column else prompts_in(whole)
            found = self._asked(whole, texts)
            if prompt or found[0] is not None or found[1] == _OTHER_PROBLEM:
                return found
            if column is None:
                raise self._without_problem(columns, found[1] if texts else "")
        name = name or columns.name("problem_id")  # raises: it is no name
        if self._wanted and not self._wanted & {name, *_id(self._problems, name)}:
            return None, _OTHER_PROBLEM, by
        try:
            return self._problems.find(name, year), "", by
        except LeftOut as error:
            return None, error.reason, by
        except InputError as error:
            meant = self._meant(columns) if not self._is_known(name) else ""
            remedy = f"Did you mean {meant}? {error.remedy}" if meant else error.remedy
            raise columns.wrong(error.field, error.problem, remedy) from error

    def _is_known(self, name: str) -> bool:
        """Return True for a problem's name, also of one that is left out or needs a year."""
        if is_statement(name):
            return False
        try:
            self._problems.find(name)
        except InputError as error:
            return isinstance(error, LeftOut) or not error.problem.startswith("unknown")
        return True

    def _is_problem(self, value: Any) -> bool:
        """Return True for a problem's name in a column of any name. Numbers may count anything."""
        return isinstance(value, str) and not value.strip().isdigit() and self._is_known(value.strip())

    def _asked(self, whole: Mapping[str, Any], paths: Iterable[str]) -> tuple[Problem | None, str, str]:
        """Return the problem whose statement is in a column, or why there is none, and where it is."""
        reason, by = "", ""
        for path in paths:
            found, by = self._statements.find(asked_in(whole, path)), f"the statement in {path}"
            if isinstance(found, Problem):
                wanted = not self._wanted or found.id in self._wanted
                return (found, "", by) if wanted else (None, _OTHER_PROBLEM, by)
            reason = reason if reason and found is Unclear.NONE else found.value.format(f"`{path}`")
        return None, reason, by

    def _meant(self, columns: Columns) -> str:
        """Return the option and the column that tell the problem, judged by values; empty if none does."""
        paths = [(path, value) for path, value in paths_in(columns.columns) if path not in PROBLEM_COLUMNS]
        for path, value in paths:
            if self._is_problem(value):
                return f"problem_column={path}"
        for path, _ in paths:
            if isinstance(self._statements.find(asked_in(columns.columns, path)), Problem):
                return f"prompt_column={path}"
        return ""

    def _without_problem(self, columns: Columns, reason: str) -> MissingColumn:
        meant = self._meant(columns)
        fault = columns.missing("`problem_id`", "problem_id", PROBLEM_COLUMNS, meant=meant)
        if not reason:
            return fault
        remedy = f"{fault.remedy}; prompt_column=NAME leaves out rows without a statement"
        return MissingColumn(
            f"{fault.problem}, and {reason}", where=fault.where, row=fault.row, remedy=remedy
        )

    def _language(self, columns: Columns) -> str | None:
        """The language that the row names. `lang` may as well be that of the statement."""
        language = columns.words("language")
        if language is None:
            if not self._options.language and columns.find("language") is None:
                self.noted.update(_unread_languages(columns.columns))
            return None
        try:
            find_language(language, where=columns.where, row=columns.line)
        except InputError:
            if columns.find("language") != _DOUBTFUL:
                raise
            self.noted[f"whose `{_DOUBTFUL}` names no language of programs: it does not count"] += 1
            return None
        return language

    def _texts(self, columns: Columns) -> tuple[str | None, str | None]:
        """`code` and what the model wrote, of which one must be there."""
        extracted = self._options.always_extract
        if self._options.code_column is not None:
            return (None, columns.generation("code")) if extracted else (columns.program("code"), None)
        written = columns.find("generation") is not None
        if not written and (extracted or columns.find("code") is None):
            own = () if extracted else ("code",)
            names = (*own, "generation", "messages")
            choice = ", ".join(f"`{name}`" for name in names[:-1]) + f" or `{names[-1]}`"
            raise columns.missing(choice, "code", (*(USUAL["code"] if own else ()), *USUAL["generation"]))
        if not written:
            return columns.program("code"), None
        code = None if extracted else columns.words("code")
        if code is None:
            return None, columns.generation("generation")
        reply = None
        with suppress(InputError):  # what a program is beside may be anything, and is not judged
            reply = columns.generation("generation")
        return code, reply


def _has_call(value: Any) -> bool:
    """Return True for what holds a call of a tool, as servers write it."""
    if isinstance(value, list):
        return any(map(_has_call, value))
    if not isinstance(value, dict):
        return False
    called = value.get("type") in _CALLS or any(value.get(name) for name in _CALLS)
    return called or any(map(_has_call, value.values()))


def _unread_replies(columns: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note of each list of replies in a row of which another column is read."""
    for name in _SEVERAL:
        if name not in OF_DATASETS and isinstance(held := columns.get(name), list) and len(held) > 1:
            note = f"whose column `{name}` holds several replies, and is not read"
            yield f"{note}: name it with code_column=NAME"


def _unread_languages(columns: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note of each column, or part of one, that names a language of programs and is not read."""
    objects = {"": columns, **{f"{name}.": held for name, held in columns.items() if isinstance(held, dict)}}
    for head, held in objects.items():
        for name, value in held.items():
            if isinstance(value, str) and _OF_LANGUAGES.search(name):
                with suppress(InputError):
                    find_language(value)
                    path = f"whose column `{head}{name}`"
                    yield f"{path} names a language, and is not read: name it with language_column=NAME"


def _id(problems: Finder, name: str) -> tuple[str, ...]:
    """Return the id of a problem that has several names."""
    try:
        return (problems.find(name).id,)
    except InputError:
        return ()
