"""Read a dump's rows: find their columns, check them, and select the rows that become submissions."""

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

from ioi_eval.benchmarks.hub import RowFile
from ioi_eval.benchmarks.row_files import FileRow, is_csv, read_rows_or_errors
from ioi_eval.benchmarks.row_schemas import (
    KNOWN,
    OF_DATASETS,
    PROBLEM_COLUMNS,
    PROMPT_COLUMNS,
    USUAL,
    RowSchema,
    extract_replies,
    find_prompt_columns,
    find_schema,
    find_standard_columns,
    is_statement,
)
from ioi_eval.benchmarks.statement_index import NoMatch, StatementIndex
from ioi_eval.model.errors import FailedRequest, InputError, MissingColumn
from ioi_eval.model.fields import Fields, StrictFaults, find_similar_names, parse_name
from ioi_eval.model.languages import find_language
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.values import Problem, Value
from ioi_eval.problems.collection import LeftOut
from ioi_eval.rules.extraction import ANSWERS, CodeRepairs, Extraction, join_answer_text
from ioi_eval.rules.json_tests import parse_list
from ioi_eval.rules.shards import Shard
from ioi_eval.store.packed import NamesByKey, PackedKeys
from ioi_eval.store.rows import MODEL_COLUMNS, as_json_value, read_model_name

_NO_ORIGINS: Mapping[str, str] = MappingProxyType({})
ABSENT = object()  # value of a column that is missing; a null value is None
_CHAT_COLUMN = "messages"  # column with a chat, which may contain only the prompt and no reply
# Column with a reply or, in rows that also have a prompt, with the dataset's reference solution.
_REFERENCE_COLUMN = "solution"
_HIDDEN_CHANNELS = ("analysis", "commentary")  # channels of gpt-oss's replies that do not contain the answer


class DumpRow(Fields):
    """A row of a dump. Fields are read by meaning: `problem_id` may be in the column `task_id`.

    The first fault in a row is raised.
    """

    form, remedy = repr, "Expected a text or null"

    def __init__(
        self,
        row: FileRow,
        policy: StrictFaults,
        columns_by_field: Mapping[str, str],
        original_columns: Mapping[str, str] = _NO_ORIGINS,
        list_columns: Collection[str] | None = (),
    ) -> None:
        """Create the row.

        Args:
            row: The row as it was read.
            policy: Raises faults.
            columns_by_field: Columns, or paths into them, by field. They must exist in the row.
            original_columns: The dump's columns, by field, if a reader moved values to standard columns.
            list_columns: Columns whose strings may be lists of answers. `None` means all columns.

        Raises:
            MissingColumn: A column in `columns_by_field` does not exist.
        """
        super().__init__(row.columns, "", policy, row=row.line)
        self.line, self.columns, self.where = row.line, row.columns, policy.where
        self._columns_by_field, self._original_columns, self._list_columns = (
            columns_by_field,
            original_columns,
            list_columns,
        )
        self.has_unsplit_list = False  # True if a string with several answers was read as one answer
        self._standard_columns = find_standard_columns(tuple(row.columns))
        if "generation" not in original_columns and _lacks_reply(
            self._standard_columns.get("generation"), row.columns
        ):
            names = (name for name in row.columns if not _lacks_reply(name, row.columns))
            other_column = find_standard_columns(
                tuple(name for name in names if name != _REFERENCE_COLUMN)
            ).get("generation")
            self._standard_columns = (
                self._standard_columns
                if other_column is None
                else {**self._standard_columns, "generation": other_column}
            )
        for field, path in columns_by_field.items():
            if read_value_at(row.columns, path) is ABSENT:
                raise self.missing_column_error(f"`{path}`", field, (path,))

    def full_field_name(self, name: str) -> str:
        """Return the name of a field's column for messages: the column in the dump, if there is one."""
        origin = self._original_columns.get(
            name, ""
        )  # a column name, or a description, which contains spaces
        return origin if origin and " " not in origin else self.find_column(name) or name

    def missing_column_error(
        self,
        column: str,
        missing_field: str,
        names: Collection[str],
        default_remedy: str = "",
        suggestion: str = "",
    ) -> MissingColumn:
        """Return the error for a missing column, with the dump's columns and a suggestion.

        Args:
            column: The column's name in the message.
            missing_field: The field that is missing.
            names: Columns that could hold the field.
            default_remedy: The remedy for fields without an option that names a column.
            suggestion: The suggested option with its column, if the values show it.
        """
        columns = [str(name) for name in self.columns]
        allowed_columns = {
            name
            for field in (_ANSWER_COLUMNS if missing_field in _ANSWER_COLUMNS else (missing_field,))
            for name in USUAL.get(field, ())
        }
        candidate_columns = {
            path: value
            for path, value in walk_nested_columns(self.columns)
            # A standard name of another field is not a misspelling: `model` is not a misspelling of `code`.
            if path not in KNOWN - allowed_columns
        }
        if missing_field in _ANSWER_COLUMNS:
            candidate_columns = {
                path: value for path, value in candidate_columns.items() if _may_be_model_reply(path, value)
            }
        elif missing_field in USUAL:
            candidate_columns = {
                path: value for path, value in candidate_columns.items() if parse_name(value)
            }
        similar_columns = [
            similar_column
            for name in names
            for similar_column in find_similar_names(name, candidate_columns)
            if similar_column not in names
        ]
        if missing_field in _ANSWER_COLUMNS:
            program_columns = [
                path
                for path in candidate_columns
                if path not in names and _contains_program(candidate_columns[path])
            ]
            similar_columns = (
                [path for path in similar_columns if path in program_columns]
                or program_columns
                or similar_columns
            )
        option = _COLUMN_OPTIONS.get(missing_field, "")
        samples = [name for name in columns if _NUMBERED_SAMPLE.fullmatch(name)]
        if missing_field == "code" and len(samples) > 1:
            suggestion = f". Make one column of {samples[0]} to {samples[-1]}: a list such as `completions`"
        elif not option:
            suggestion = default_remedy
        elif suggestion or similar_columns:
            suggestion = f". Did you mean {suggestion or option + similar_columns[0]}?"
        else:
            suggestion = f". Name the right column with {option}NAME"
        remedy = f"The columns are: {', '.join(columns) or 'none'}{suggestion}"
        return MissingColumn(f"missing column {column}", where=self.where, row=self.line, remedy=remedy)

    def find_column(self, field: str) -> str | None:
        """Return the column or path that holds a field, or None if the row has none."""
        if field in self._columns_by_field:
            return self._columns_by_field[field]
        is_column = field not in USUAL and read_value_at(self.columns, field) is not ABSENT
        return self._standard_columns.get(field) or (field if is_column else None)

    def find_original_column(self, field: str) -> str:
        """Return the dump's original column of a field, or an empty string if there is none."""
        return self._original_columns.get(field) or self.find_column(field) or ""

    def raw_value(self, column: str) -> Any:
        """Return a field's value, or None if it is missing.

        Strings that contain a list of answers are returned as lists if the column may hold lists.
        """
        column_path = self.find_column(column)
        raw_value = ABSENT if column_path is None else read_value_at(self.columns, column_path)
        if column in _STRING_COLUMNS:
            raw_value = decode_bytes(raw_value)
            if any(
                isinstance(item, bytes)
                for item in (raw_value if isinstance(raw_value, list) else [raw_value])
            ):
                raise self.make_error(column, "the value contains bytes that are not UTF-8")
        value = None if raw_value is ABSENT else as_json_value(raw_value)
        if column not in _ANSWER_COLUMNS:
            return value
        parsed_value = _parse_list(value)
        answers = extract_replies(parsed_value, has_several_answers=column_path in _LIST_COLUMNS)
        if not isinstance(value, str):
            return answers
        # A string is split into several answers only if its column generally holds lists. Otherwise a model's
        # reply could decide how many answers the row has, or make the row unusable.
        is_list_of_answers = _is_list_of_answers(column_path or "", answers)
        may_hold_lists = self._list_columns is None or column_path in self._list_columns
        if is_list_of_answers and not (may_hold_lists and isinstance(parsed_value, list)):
            self.has_unsplit_list = True
            return value
        return answers if all(map(_is_reply_or_chat, answers if is_list_of_answers else [answers])) else value

    def read_string(self, column: str) -> str | None:
        """Return a field's string, or None if it is missing or blank."""
        value = self.raw_value(column)
        if isinstance(value, list) and isinstance(
            string := self.columns.get(self.find_column(column) or ""), str
        ):
            # The parsed value is a list because the string looks like a chat. This field cannot be a chat.
            value = string
        if value is None or isinstance(value, str):
            return value if value and value.strip() else None
        raise self.mismatch_error(column, "a text")

    def read_program(self, column: str) -> str | None:
        """Return a field's program. A blank program is an empty string, a missing program is None."""
        code = self.read_string(column)
        return "" if code is None and isinstance(self.raw_value(column), str) else code

    def read_reply(self, column: str) -> str | None:
        """Return the model's reply: a string, or the last answer in a list of chat messages."""
        messages = self.raw_value(column)
        if not isinstance(messages, list):
            return self.read_string(column)
        answers = [self._read_assistant_text(message, column) for message in messages]
        return next((answer for answer in reversed(answers) if answer is not None), None)

    def _read_assistant_text(self, message: Any, column: str) -> str | None:
        """Return the text of an assistant's message, which may be in parts. None for other messages."""
        if not _is_chat_message(message):
            raise self.make_error(
                column, f"{self.format_value(message)} is not a chat message", "Expected {role, content}"
            )
        content = _get_message_content(message)
        message_text = join_answer_text(content) if isinstance(content, list) else content or ""
        return (
            message_text
            if message["role"].lower() in ANSWERS and message.get("channel") not in _HIDDEN_CHANNELS
            else None
        )

    def read_name(self, column: str, *, remedy_suffix: str = "") -> str:
        """Return the field's name or number as a string.

        Raises:
            MissingColumn: The field is missing. The remedy ends with `remedy_suffix`.
            InputError: The value is not a name.
        """
        if self.find_column(column) is None:
            raise self.missing_column_error(
                f"`{column}`", column, USUAL.get(column, (column,)), remedy_suffix
            )
        value = self.raw_value(column)
        if (name := parse_name(value)) is not None:
            return name
        expected_values = "Expected a string or a whole number"
        if isinstance(value, dict | list):  # pandas writes a data frame as such a dict by default
            expected_values += "; a table by columns has to be written by rows (to_json(orient='records'))"
        raise self.make_error(
            column, f"{self.format_value(value)} is not a valid name", expected_values + remedy_suffix
        )

    def read_model(self, column: str) -> str | None:
        """Return the model's name, a string or a whole number, or None if it is missing."""
        value = self.raw_value(column)
        return parse_name(value) if isinstance(value, int) else self.read_string(column)

    def require_model_name(self) -> None:
        """Raise an InputError if the row has a model that is not a name.

        Otherwise all rows with such values would count as one model.
        """
        option = _COLUMN_OPTIONS[MODEL_COLUMNS[0]]
        for name in MODEL_COLUMNS:
            value = self.raw_value(name) if name in self.columns else None
            if value not in (None, "", [], {}):
                raise self.make_error(
                    name,
                    f"{self.format_value(value)} is not the name of a model",
                    f"Expected a string or a whole number; {option}PATH selects another column or its part",
                )

    def read_year(self) -> int | None:
        """Return the year, or None if it is missing."""
        value = self.raw_value("year")
        if value is None or value == "":
            return None
        # Pandas turns integers into floats, such as 2024.0, if the column has missing values.
        year_match = re.fullmatch(r"([0-9]{4})(\.0)?", str(value))
        if year_match is None:
            problem = f"{self.format_value(value)} is not a year"
            raise self.make_error("year", problem, "The year must be a number such as 2024, or null")
        return int(year_match[1])

    def read_target_subtask_name(self, problem: Problem) -> str | None:
        """Return the name of the subtask that the submission aims at, or None if the row has none.

        Dumps may omit the number before the subtask's name.
        """
        name_in_row = self.read_string("subtask")
        if name_in_row is None:
            return None
        subtask_names = [subtask.name for subtask in problem.subtasks]
        matching_names = [name for name in subtask_names if name_in_row in (name, name.partition("-")[2])]
        if name_in_row not in subtask_names and len(matching_names) != 1:
            available_names = ", ".join(subtask_names) or "none"
            message = f"problem {problem.id!r} has no subtask {name_in_row!r}"
            raise self.make_error("subtask", message, f"The problem's subtasks are: {available_names}")
        return name_in_row if name_in_row in subtask_names else matching_names[0]


def read_value_at(columns: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column or of a path such as `meta.task.id`, or ABSENT.

    Paths may lead into strings that contain JSON.
    """
    if path in columns:
        return columns[path]
    first_key, has_inner_path, inner_path = path.partition(".")
    container = columns.get(first_key) if has_inner_path else None
    if isinstance(container, str):
        container = _parse_json_list_or_object(container)
    if isinstance(container, list):  # `choices.0.text`
        container = {str(index): item for index, item in enumerate(container)}
    return read_value_at(container, inner_path) if isinstance(container, dict) else ABSENT


@lru_cache(16)  # cached because several columns may be read from the same string
def _parse_json_list_or_object(text: str) -> Any:
    """Return the object or list in a JSON string, or None for other strings."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(require_shallow(text))
    except (ValueError, RecursionError):
        return None


def walk_nested_columns(columns: Mapping[str, Any], depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Yield each column with its value, and the path of each nested value with the value.

    Nested values are in objects, and in JSON objects that a string contains.
    `depth`: maximum number of keys in a path.
    """
    for name, value in columns.items():
        yield str(name), value
        container = _parse_json_list_or_object(value) if isinstance(value, str) else value
        if isinstance(container, dict) and depth > 1:
            yield from (
                (f"{name}.{path}", inner_value)
                for path, inner_value in walk_nested_columns(container, depth - 1)
            )


def decode_bytes(value: Any) -> Any:
    """Return bytes decoded as UTF-8, even in lists. Other values are returned unchanged."""
    if isinstance(value, list):
        return [decode_bytes(item) for item in value]
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _convert_sharegpt(value: Any) -> Any:
    """Return a ShareGPT chat, or a list of chats, with the keys `role` and `content`.

    Other values are returned unchanged.
    """
    if not isinstance(value, list):
        return value
    if not value or not all(isinstance(item, dict) and item.keys() >= {"from", "value"} for item in value):
        return [_convert_sharegpt(item) for item in value]
    messages = ((item["from"], item["value"]) for item in value)
    return [{"role": role, "content": content} for role, content in messages]


def _parse_list(value: Any) -> Any:
    """Return the list in a string: a chat, or a list of strings or chats. Other values are unchanged."""
    value = _convert_sharegpt(value)
    if not isinstance(value, str) or not value.rstrip().endswith("]"):
        return value
    if not (items := _convert_sharegpt(_parse_cached_list(value))):
        return value
    chats = items if all(isinstance(item, list) for item in items) else [items]
    messages = [message for chat in chats for message in chat]
    are_messages = all(isinstance(message, dict) and "role" in message for message in messages)
    return items if are_messages or all(isinstance(item, str | None) for item in items) else value


def read_prompt(columns: Mapping[str, Any], path: str) -> str:
    """Return the prompt in a column: a string, or the messages of a chat that are not the model's."""
    raw_value = read_value_at(columns, path)
    value = _parse_list(as_json_value(None if raw_value is ABSENT else decode_bytes(raw_value)))
    while isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]  # use the first chat, because all chats start with the same prompt
    return "\n".join(filter(None, map(_read_prompt_message, value if isinstance(value, list) else [value])))


def _read_prompt_message(message: Any) -> str:
    """Return the text of a message, or an empty string if the model wrote it."""
    if not isinstance(message, dict):
        return message if isinstance(message, str) else ""
    if str(message.get("role") or "user").lower() in ANSWERS:
        return ""
    content = _get_message_content(message)
    return join_answer_text(content) if isinstance(content, list) else str(content or "")


def _is_chat_message(value: Any) -> bool:
    """Return True for a chat message: an object with a role and a content, which may be null or in parts."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    content = _get_message_content(value)
    has_parts = isinstance(content, list) and all(isinstance(item, dict) for item in content)
    return has_parts or isinstance(content, str | None)


def _get_message_content(message: Mapping[str, Any]) -> Any:
    """Return the content of a chat message."""
    return message.get("content", message.get("parts"))  # Gemini's messages have `parts` instead of `content`


def _may_be_model_reply(column_path: str, value: Any) -> bool:
    """Return True if the column may hold an answer: a string or list that is not a prompt."""
    is_prompt = column_path in PROMPT_COLUMNS or "prompt" in column_path.lower()
    return isinstance(value, str | list) and not is_prompt


def _contains_program(value: Any) -> bool:
    """Return True if a string, or a list of strings or messages, contains a code fence or a line of code."""
    if isinstance(value, list):
        return any(map(_contains_program, value))
    message_text = _get_message_content(value) if isinstance(value, dict) else value
    return isinstance(message_text, str) and _PROGRAM_LINE.search(message_text) is not None


def _is_reply_or_chat(value: Any) -> bool:
    """Return True for a reply, a chat or None."""
    return isinstance(value, str | None) or (isinstance(value, list) and all(map(_is_chat_message, value)))


def find_list_columns(path: Path) -> frozenset[str]:
    """Return the columns of a .csv file whose strings are lists of answers.

    Such a column has a plural name, and all its values are lists: the value of a single row is not enough.
    """
    if not is_csv(path):
        return frozenset()
    column_rows = (row.columns for row in read_rows_or_errors(path) if not isinstance(row, InputError))
    columns_with_kinds = [
        (name, value.strip() == "[]" or isinstance(_parse_list(value), list))
        for row in islice(column_rows, _MAX_SAMPLED_ROWS)
        for name, value in row.items()
        if value and _LIST_COLUMN_NAME.fullmatch(name)
    ]
    return frozenset(name for name, _ in columns_with_kinds) - {
        name for name, is_list in columns_with_kinds if not is_list
    }


@lru_cache(4)  # cached because a row's strings are parsed repeatedly, and parsing dominates the run time
def _parse_cached_list(text: str) -> list[Any] | None:
    """Return the list that the string contains, or None."""
    return parse_list(text)


def _lacks_reply(column: str | None, columns: Mapping[str, Any]) -> bool:
    """Return True if `column` is a column of replies, but this row has null or only a prompt in it."""
    if column not in USUAL["generation"]:
        return False
    return columns[column] is None or (column == _CHAT_COLUMN and _ends_with_prompt(columns[column]))


def _ends_with_prompt(messages: Any) -> bool:
    """Return True if the last message of a chat is not the model's, so the chat is only a prompt."""
    chat = _parse_list(as_json_value(messages))
    last_message = chat[-1] if isinstance(chat, list) and chat else None
    return isinstance(last_message, dict) and str(last_message.get("role")).lower() not in ANSWERS


def _is_list_of_answers(column: str, value: Any) -> bool:
    """Return True if the value is a list of answers, and not a chat, which is a single answer."""
    if not isinstance(value, list):
        return False
    if column == _CHAT_COLUMN:
        return bool(value) and all(isinstance(item, list) for item in value)
    if not value or not all(isinstance(item, dict) and "role" in item for item in value):
        return True
    # In a column of lists, several messages of the model are several answers and not a single chat.
    return (
        column in _LIST_COLUMNS
        and len(value) > 1
        and all(str(item["role"]).lower() in ANSWERS for item in value)
    )


_LIST_COLUMNS = ("generations", "completions", "responses", "output_list", "outputs")
# Pattern for names of columns that hold several replies or programs.
_LIST_COLUMN_NAME = re.compile(
    r"(?:.*[ _.-])?(?:answers|attempts|candidates|codes|completions|generations|outputs|predictions|programs"
    r"|replies|responses|samples|solutions|texts)|.*_list",
    re.I,
)
_ID_COLUMNS = ("uuid", "id")
_ANSWER_COLUMNS = ("code", "generation")  # names of fields whose value may be a list of several submissions
_STRING_COLUMNS = frozenset({*_ANSWER_COLUMNS, "problem_id", "language", "subtask", MODEL_COLUMNS[0]})
# Option that names a field's column, by the name of the field, for messages.
_COLUMN_OPTIONS: Mapping[str, str] = MappingProxyType(
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
_NO_COLUMN = ""  # value of id_column for dumps whose rows are identified by their content
_OTHER_PROBLEM, _OTHER_ROW = "of another problem", "not asked for"
OTHER_SHARD = "of another shard"
# Reasons to exclude rows that the user's options do not select.
ASKED_FOR = frozenset({_OTHER_PROBLEM, _OTHER_ROW, OTHER_SHARD})
_DUPLICATE_ROW = "the same row is there already"
_NOTE_NO_PROGRAM = "with neither a program nor a reply (null or blank): each counts as `no program`"
_NOTE_EMPTY_PROGRAM = (
    "with an empty program and no reply: in Python it is judged, and prints nothing; in other languages it"
    " counts as `no program`"
)
_NOTE_TOOL_CALL = (
    "with a call of a tool and no text: a program in a call is not read, and each counts as `no program`"
)
_TOOL_CALL_KEYS = ("functionCall", "function_call", "tool_call", "tool_calls", "tool_use", "toolUse")
_AMBIGUOUS_LANGUAGE_COLUMN = "lang"
# Pattern for names of columns that each hold one numbered sample of a model.
_NUMBERED_SAMPLE = re.compile(
    r"(?:answer|code|completion|generation|output|response|sample|solution)s?[ _.-]?\d+", re.I
)
_PROGRAM_LINE = re.compile(
    r"^ {0,3}```|^#include\b|^(?:from [\w.]+ )?import [\w.]|^def \w+\(|\bint main\(|\bfn main\(", re.M
)
# Pattern for names of columns that may hold a language.
_LANGUAGE_COLUMN_NAME = re.compile(r"lang|compiler", re.I)
_NOTE_UNSPLIT_LIST = (
    "whose text is a list of answers: it counts as one, because a model may write such a text"
    " (split_lists=True reads each as a reply)"
)
_MAX_SAMPLED_ROWS = 100  # number of a table's rows that are searched for columns with lists in strings
_NOTE_NO_YEAR = "without a year: each id matches one problem only"


class ProblemLookup(Protocol):
    """The problems that a dump's rows may name."""

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        """Return the problem, or raise an InputError."""

    def label(self, problem: Problem) -> str:
        """Return the problem's id in submissions."""

    def values(self) -> Iterable[Problem]:
        """Return all problems."""


def check_language_name(name: str) -> str:
    """Return the name unchanged if it is a supported language; otherwise raise an InputError."""
    find_language(name)
    return name


class DumpOptions(Value):
    """Options for reading a dump's rows. Each of them can change results."""

    language: Annotated[
        str,  # name of a language; an empty string means that the language is detected, see rules.languages
        CliOption(
            metavar="NAME",
            help="Language of all rows that do not name a language. Nothing else is used to detect it.",
            unset="detected by the dump's format, the problem or the reply; else the benchmark's, else c++",
            read=check_language_name,
        ),
    ] = ""
    # Language of replies in which no language is detected; empty means the benchmark's language, or else C++.
    default_language: str = ""
    id_column: Annotated[
        str | None,
        CliOption(
            metavar="NAME",
            help="Name of the column with each row's id. An empty name means that rows have no ids.",
            unset="uuid or id",
        ),
    ] = None
    # True if the key of a row without an id is a hash of its content. In older runs (False), the key is the
    # file's hash and the row's index.
    keys_of_content: bool = True
    # The next options are names of columns, or paths into columns. None means the standard column.
    code_column: Annotated[
        str | None,
        CliOption(
            metavar="PATH",
            help="Path of the column with the program (with"
            " always_extract=True, with the reply that contains it);"
            " `a.b` means key b of column a.",
        ),
    ] = None
    always_extract: Annotated[
        bool,
        CliOption(
            help="Extract each program from the column `generation`, even if a column `code` exists.",
            key_only=True,
        ),
    ] = False
    split_lists: Annotated[
        bool,
        CliOption(
            help="If a string contains a JSON or Python list, read its elements as several replies.",
            key_only=True,
        ),
    ] = False
    problem_column: Annotated[
        str | None, CliOption(metavar="PATH", help="Path of the column with the problem's id.")
    ] = None
    prompt_column: Annotated[
        str | None,
        CliOption(
            metavar="PATH",
            help="Path of the column with the exact statement of the problem, alone or inside a prompt.",
        ),
    ] = None
    language_column: Annotated[
        str | None, CliOption(metavar="PATH", help="Path of the column with the program's language.")
    ] = None
    model_column: Annotated[
        str | None, CliOption(metavar="PATH", help="Path of the column with the model's name.")
    ] = None
    year_column: Annotated[
        str | None, CliOption(metavar="PATH", help="Path of the column with the problem's year.")
    ] = None
    subtask_column: Annotated[
        str | None,
        CliOption(metavar="PATH", help="Path of the column with the subtask that the program should solve."),
    ] = None
    skip_bad_rows: Annotated[
        bool, CliOption(help="Skip rows that cannot be judged, and list them, instead of stopping.")
    ] = False
    extract: Annotated[
        Extraction,
        CliOption(help="Rule that selects the program in a model's reply: see docs/dumps.md."),
    ] = Extraction.LAST
    repairs: CodeRepairs = CodeRepairs()

    @property
    def columns_named_by_options(self) -> dict[str, str]:
        """Return the columns that options name, by field."""
        paths_by_field = {
            field: getattr(self, option[:-1])
            for field, option in _COLUMN_OPTIONS.items()
            if field != "generation"
        }
        return {field: path for field, path in paths_by_field.items() if path is not None}


class Selection(Value):
    """The options that select the rows of a dump. Other rows may name unknown problems."""

    problems: frozenset[str] = frozenset()  # ids of the problems to select; empty means all problems
    keys: Annotated[
        frozenset[str],  # ids of the rows to select; empty means all rows
        CliOption(
            name="only", metavar="ID", help="Select only the submission with this key. May be repeated."
        ),
    ] = frozenset()
    limit: Annotated[
        Count | None, CliOption(metavar="N", help="Select only the first N submissions of the dump.")
    ] = None
    shard: Annotated[
        Shard | None,
        CliOption(
            typed=str,
            read=Shard.parse,
            metavar="I/N",
            help="Judge only shard I of N. `ioi-eval report` merges the folders of all shards into one run.",
        ),
    ] = None


class UsableRow(NamedTuple):
    """A row that can be judged, or that names a problem which cannot be judged."""

    line: int
    key: str
    problem: Problem | None  # problem of the row; None if the problem is excluded
    left_out: str  # reason why the problem is excluded; empty if it is included
    year: int | None
    subtask: str | None
    language: str | None  # language that the row names; None if the row names no language
    format: str  # language that the row's schema implies; empty if it implies none
    read_from: Mapping[str, str]  # columns from which the problem and the program were read, by field
    code: str | None  # program of the row; an empty string is an empty program, which is valid in Python
    generation: str | None
    columns: dict[str, Any]


class _ProblemMatch(NamedTuple):
    """The problem that a row names, if it is included."""

    problem: Problem | None
    left_out: str  # reason why the problem is excluded or was not found; empty if there is a problem
    column: str  # column, or description of the statement, that names the problem


class DumpReader:
    """Reads the rows of a dump as usable rows or errors, and selects and counts them."""

    def __init__(
        self,
        problems: ProblemLookup,
        options: DumpOptions,
        selection: Selection,
        selected_keys: NamesByKey | None = None,
    ) -> None:
        """`selected_keys`: for a second pass over a dump, the problems of the selected rows, by key."""
        self._problems, self._options, self._selection = problems, options, selection
        self._columns_by_field = options.columns_named_by_options
        self._selected_ids = {
            name
            for problem_id in selection.problems
            for name in (problem_id, *_find_canonical_id(problems, problem_id))
        }
        # Problem labels of the selected submissions, by the submission's key.
        self.selected_keys = NamesByKey() if selected_keys is None else selected_keys
        # Flags of the selected rows: 1 if the second pass has read the row.
        self._reread_flags = None if selected_keys is None else bytearray(len(selected_keys))
        self.unselected_keys: set[str] = set()
        self._keys_of_other_shards = PackedKeys()
        self.left_out_counts, self.note_counts = Counter[str](), Counter[str]()
        # Number of the rows without an id that were read, by the hash of their content.
        self.equal_row_counts = Counter[str]()

    @property
    def code_column(self) -> str:
        """Return the column of programs."""
        return self._options.code_column or "code"

    def find_id_column(self, path: Path) -> str:
        """Return the column with the ids of a file's rows, or an empty string if there is none.

        It is detected in the first row.
        """
        if self._options.id_column is not None:
            return self._options.id_column
        usable_rows = (row for row in read_rows_or_errors(path) if not isinstance(row, InputError))
        first_row = next(usable_rows, None)
        columns = first_row.columns if first_row else {}
        schema = find_schema(columns)
        if schema is not None and not schema.ids:
            return _NO_COLUMN
        if "uuid" not in columns and self._has_problem_in_id_column(columns):
            return _NO_COLUMN
        return next((name for name in _ID_COLUMNS if name in columns), _NO_COLUMN)

    def _has_problem_in_id_column(self, columns: Mapping[str, Any]) -> bool:
        """Return True if the column `id` holds the problem's id and not the row's."""
        problem_column = self._options.problem_column
        if problem_column is not None or self._options.prompt_column is not None:
            return problem_column == "id"
        return columns.keys().isdisjoint(PROBLEM_COLUMNS) and self._is_problem_name(columns.get("id"))

    def read_entries(
        self, row_file: RowFile, file_hash: str, id_column: str, start: tuple[int, int] = (0, 0)
    ) -> Iterator[UsableRow | InputError]:
        """Yield the usable rows of a file. For a row that cannot be used, yield the error instead.

        Args:
            row_file: The file.
            file_hash: The hash of the file's content.
            id_column: The column with the rows' ids, or an empty string.
            start: Number of bytes and of lines to skip, because their rows were read before.
        """
        policy = StrictFaults(row_file.label)
        list_columns = None if self._options.split_lists else find_list_columns(row_file.path)
        for index, row in enumerate(read_rows_or_errors(row_file.path, start)):
            if isinstance(row, InputError):
                yield row.with_details(where=row_file.label)
                continue
            key_prefix = "" if self._options.keys_of_content else f"{file_hash[:16]}-{index}"
            schema = find_schema(row.columns)
            if schema is not None:
                self.note_counts[f"read as {schema.name}"] += 1
            try:
                standard_rows = [row] if schema is None else list(schema.convert_row(row, row_file.label))
            except InputError as error:
                yield error
                continue
            for standard_row in standard_rows:
                try:
                    for key_suffix, columns in self._split_row_into_submissions(
                        standard_row, policy, schema, list_columns, row.columns
                    ):
                        yield self._make_usable_row(
                            columns,
                            standard_row.columns,
                            row_file,
                            id_column,
                            (key_prefix, key_suffix),
                            schema,
                        )
                except InputError as error:
                    yield error

    def _split_row_into_submissions(
        self,
        row: FileRow,
        policy: StrictFaults,
        schema: RowSchema | None,
        list_columns: Collection[str] | None,
        original_columns: Mapping[str, Any],
    ) -> Iterator[tuple[str, DumpRow]]:
        """Yield the row's submissions: a suffix for the key, and the columns.

        A row with several answers is split. Any other row is a single submission, with an empty suffix.

        Args:
            row: The row with standard columns.
            policy: Raises faults.
            schema: The row's schema, if it was recognized.
            list_columns: Columns whose strings may be lists of answers. `None` means all columns.
            original_columns: The dump's original columns.
        """
        named_columns = {**(schema.columns_by_field if schema is not None else {}), **self._columns_by_field}
        # Fields whose column is named by the user or has a standard name. The schema does not change these
        # fields.
        overriding_fields = {*self._columns_by_field, *find_standard_columns(tuple(original_columns))} - {
            *_ANSWER_COLUMNS
        }
        columns_by_schema = schema.columns if schema is not None and schema.converter else {}
        origins = {
            field: column for field, column in columns_by_schema.items() if field not in overriding_fields
        }
        columns = DumpRow(row, policy, named_columns, origins, list_columns)
        field_values = {
            field: (column, columns.raw_value(field))
            for field in _ANSWER_COLUMNS
            if (column := columns.find_column(field))
        }
        nonempty_values = {
            field: (column, value)
            for field, (column, value) in field_values.items()
            if value not in (None, "")
        }
        self.note_counts.update([_NOTE_UNSPLIT_LIST] if columns.has_unsplit_list else ())
        answer_lists = {
            field: (column, value)
            for field, (column, value) in nonempty_values.items()
            if _is_list_of_answers(column, value)
        }
        if not answer_lists or ("code" in nonempty_values and "code" not in answer_lists):
            if "code" not in self._columns_by_field:
                self.note_counts.update(_describe_unread_replies(row.columns))
            yield "", columns
            return
        list_lengths = {len(value) for _, value in answer_lists.values()}
        if len(list_lengths) > 1 or list_lengths == {0}:
            fault = "an empty list" if list_lengths == {0} else "lists of different lengths"
            column_names = ", ".join(column for column, _ in answer_lists.values())
            raise policy.make_error(
                fault, "", row=row.line, field=column_names, remedy="Expected one or more answers"
            )
        answer_columns = {field: column for field, (column, _) in answer_lists.items()}
        other_columns = {
            name: value for name, value in row.columns.items() if name not in answer_columns.values()
        }
        paths_of_other_fields = {
            field: path for field, path in named_columns.items() if field not in answer_lists
        }
        for index in range(list_lengths.pop()):
            single_answer = {field: value[index] for field, (_, value) in answer_lists.items()}
            yield (
                f"/{index}",
                DumpRow(
                    FileRow(row.line, {**other_columns, **single_answer}),
                    policy,
                    paths_of_other_fields,
                    {**answer_columns, **origins},
                ),
            )

    def skip_earlier_submissions(self, submission_count: int, equal_row_counts: Mapping[str, int]) -> None:
        """Continue after a number of submissions that an earlier call has read.

        `equal_row_counts`: the number of rows without an id, by the hash of their content.
        """
        if self._reread_flags is not None:
            self._reread_flags[:submission_count] = b"\x01" * submission_count
        self.equal_row_counts.update(equal_row_counts)

    def read_selected_rows(
        self, row_file: RowFile, file_hash: str, id_column: str, start: tuple[int, int] = (0, 0)
    ) -> Iterator[UsableRow]:
        """Yield the selected rows of a dump. Bad rows were reported when the dump was read the first time.

        Args:
            row_file: The file.
            file_hash: The hash of the file's content, for the keys of rows without an id.
            id_column: The column with the rows' ids, or an empty string.
            start: Number of bytes and of lines to skip, because their rows were read before.

        Raises:
            InputError: A row cannot be used, and the options do not skip bad rows.
        """
        for entry in self.read_entries(row_file, file_hash, id_column, start):
            if not isinstance(entry, InputError):
                if self.count_row_if_selected(entry):
                    yield entry
            elif not (self._options.skip_bad_rows or isinstance(entry, FailedRequest)):
                raise entry

    def count_row_if_selected(self, entry: UsableRow) -> bool:
        """Count the row as selected or excluded, and return True if it is selected.

        Call this method once for each row, in order.
        """
        reason = entry.left_out or self._find_exclusion_reason(entry.key)
        if reason:
            self.left_out_counts[reason] += 1
            if self._reread_flags is None:
                self.unselected_keys.add(entry.key)
            return False
        problem = entry.problem
        shard = self._selection.shard
        is_in_other_shard = shard is not None and not shard.contains(entry.key)
        if is_in_other_shard:
            self.left_out_counts[OTHER_SHARD] += 1
            self._keys_of_other_shards.add(entry.key)
        elif self._reread_flags is None:
            self.selected_keys.add(entry.key, self._problems.label(problem) if problem else "")
        else:
            self._reread_flags[self.selected_keys.find_key_index(entry.key)] = True
        # Olympiads use the same short name in several years. Only problems of olympiads have subtasks.
        if entry.year is None and problem is not None and problem.year is not None and problem.subtasks:
            self.note_counts[_NOTE_NO_YEAR] += 1
        if entry.code == "":
            self.note_counts[_NOTE_EMPTY_PROGRAM] += 1
        elif entry.code is None and not (entry.generation or "").strip():
            self.note_counts[_NOTE_TOOL_CALL if _has_tool_call(entry.columns) else _NOTE_NO_PROGRAM] += 1
        return not is_in_other_shard

    def belongs_to_other_shard(self, key: str) -> bool:
        """Return True if a selected row belongs to another shard. The counts of notes include such rows."""
        return key in self._keys_of_other_shards

    def _find_exclusion_reason(self, key: str) -> str:
        """Return why the row with this key is not selected, or an empty string."""
        keys, limit = self._selection.keys, self._selection.limit
        index = self.selected_keys.find_key_index(key)
        if self._reread_flags is not None:
            return _OTHER_ROW if index < 0 else _DUPLICATE_ROW if self._reread_flags[index] else ""
        if index >= 0 or key in self._keys_of_other_shards:
            return _DUPLICATE_ROW
        is_over_limit = (
            limit is not None and len(self.selected_keys) + len(self._keys_of_other_shards) >= limit
        )
        return _OTHER_ROW if is_over_limit or (keys and key not in keys) else ""

    def check_selected_keys_exist(self, dump_name: str) -> None:
        """Raise an InputError if a selected key does not exist in the dump with the name `dump_name`."""
        selected_keys = self.selected_keys, self._keys_of_other_shards
        missing_keys = {key for key in self._selection.keys if not any(key in keys for keys in selected_keys)}
        if missing_keys and self._selection.limit is None:
            similar_keys = find_similar_names(min(missing_keys), (*self.selected_keys, *self.unselected_keys))
            suggestion = f"Did you mean {similar_keys[0]!r}? " if similar_keys else ""
            remedy = f"{suggestion}Keys are in the column `key` of results.jsonl"
            raise InputError(
                f"the dump has no row with the key {min(missing_keys)!r}", where=dump_name, remedy=remedy
            )

    def _make_usable_row(
        self,
        dump_row: DumpRow,
        columns_before_split: Mapping[str, Any],
        row_file: RowFile,
        id_column: str,
        key_prefix_and_suffix: tuple[str, str],
        schema: RowSchema | None,
    ) -> UsableRow:
        """Return a usable row.

        Args:
            dump_row: The columns of a submission.
            columns_before_split: The columns of the row before its answers were split.
            row_file: The file.
            id_column: The column with the rows' ids, or an empty string.
            key_prefix_and_suffix: Prefix and suffix of the key of a row without an id.
            schema: The row's schema, if it was recognized.
        """
        if self._options.model_column is not None:
            dump_row.columns[MODEL_COLUMNS[0]] = dump_row.read_model(MODEL_COLUMNS[0])
        if not read_model_name(dump_row.columns):
            dump_row.require_model_name()
            if row_file.model:
                dump_row.columns[MODEL_COLUMNS[0]] = row_file.model
        if id_column:
            key = dump_row.read_name(id_column, remedy_suffix=f". {OTHER_IDS}") + key_prefix_and_suffix[1]
        elif key_prefix_and_suffix[0]:
            key = "".join(key_prefix_and_suffix)
        else:
            # The key is a hash of the row and a number among equal rows, so added rows do not change it.
            row_content = msgspec.json.encode(as_json_value(dump_row.columns), order="sorted")
            key = hashlib.sha256(row_content).hexdigest()[:16]
            self.equal_row_counts[key] += 1
            key = f"{key}-{self.equal_row_counts[key]}"
        year = dump_row.read_year()
        problem, left_out, problem_column = self._find_problem(dump_row, columns_before_split, year, schema)
        code, generation = self._read_code_and_reply(dump_row)
        # A column with a blank reply is a reply column.
        has_reply_column = generation is not None or dump_row.find_column("code") is None
        is_reply = code is None and has_reply_column and self._options.code_column is None
        return UsableRow(
            line=dump_row.line,
            key=key,
            problem=problem,
            left_out=left_out,
            year=year,
            subtask=dump_row.read_target_subtask_name(problem) if problem else None,
            language=self._read_language(dump_row),
            format=schema.language if schema else "",
            read_from={
                "problem": problem_column,
                "reply" if is_reply else "program": dump_row.find_original_column(
                    "generation" if is_reply else "code"
                ),
            },
            code=code,
            generation=generation,
            columns=dump_row.columns,
        )

    @cached_property
    def _statements(self) -> StatementIndex:
        """Return an index of the problems' statements."""
        return StatementIndex(self._problems.values())

    def _find_problem(
        self,
        dump_row: DumpRow,
        columns_before_split: Mapping[str, Any],
        year: int | None,
        schema: RowSchema | None,
    ) -> _ProblemMatch:
        """Return the problem that the row names, or the reason why it is excluded.

        `columns_before_split`: the columns of the row before its answers were split.
        """
        prompt_column = self._options.prompt_column
        if prompt_column is not None:
            if read_value_at(columns_before_split, prompt_column) is ABSENT:
                raise dump_row.missing_column_error(f"`{prompt_column}`", "prompt", (prompt_column,))
            return self._find_problem_by_statement(columns_before_split, (prompt_column,))
        column, source_column = (
            dump_row.find_column("problem_id"),
            dump_row.find_original_column("problem_id"),
        )
        name = parse_name(dump_row.raw_value("problem_id")) if column else None
        if column is None and self._is_problem_name(row_id := dump_row.columns.get("id")):
            column, source_column, name = "id", "id", str(row_id).strip()
        if name is None or not self._is_known_problem(name):
            prompt = schema.prompt if schema is not None and self._options.problem_column is None else ""
            statement_columns = (
                (prompt,) if prompt else (column,) if column else find_prompt_columns(columns_before_split)
            )
            match = self._find_problem_by_statement(columns_before_split, statement_columns)
            if prompt or match.problem is not None or match.left_out == _OTHER_PROBLEM:
                return match
            if column is None:
                raise self._missing_problem_error(dump_row, match.left_out if statement_columns else "")
        name = name or dump_row.read_name("problem_id")  # read_name raises an error if the name is missing
        if self._selected_ids and not self._selected_ids & {name, *_find_canonical_id(self._problems, name)}:
            return _ProblemMatch(None, _OTHER_PROBLEM, source_column)
        try:
            return _ProblemMatch(self._problems.find(name, year), "", source_column)
        except LeftOut as error:
            return _ProblemMatch(None, error.reason, source_column)
        except InputError as error:
            suggestion = self._suggest_problem_option(dump_row) if not self._is_known_problem(name) else ""
            remedy = f"Did you mean {suggestion}? {error.remedy}" if suggestion else error.remedy
            raise dump_row.make_error(error.field, error.problem, remedy) from error

    def _is_known_problem(self, name: str) -> bool:
        """Return True if a problem has this name, even if it is excluded or needs a year."""
        if is_statement(name):
            return False
        try:
            self._problems.find(name)
        except InputError as error:
            return isinstance(error, LeftOut) or not error.problem.startswith("unknown")
        return True

    def _is_problem_name(self, value: Any) -> bool:
        """Return True if the value is a problem's name. Numbers do not count, as they may mean anything."""
        return (
            isinstance(value, str) and not value.strip().isdigit() and self._is_known_problem(value.strip())
        )

    def _find_problem_by_statement(
        self, columns_before_split: Mapping[str, Any], paths: Iterable[str]
    ) -> _ProblemMatch:
        """Return the problem whose statement is in one of the columns, or why no problem was found.

        `columns_before_split`: the columns of the row before its answers were split.
        """
        reason, source_column = "", ""
        for path in paths:
            match, source_column = (
                self._statements.find(read_prompt(columns_before_split, path)),
                f"the statement in {path}",
            )
            if isinstance(match, Problem):
                is_selected = not self._selected_ids or match.id in self._selected_ids
                if not is_selected:
                    return _ProblemMatch(None, _OTHER_PROBLEM, source_column)
                return _ProblemMatch(match, "", source_column)
            reason = reason if reason and match is NoMatch.NONE else match.value.format(f"`{path}`")
        return _ProblemMatch(None, reason, source_column)

    def _suggest_problem_option(self, dump_row: DumpRow) -> str:
        """Return an option that names the column with the problem, or an empty string.

        The column is recognized by its values: names or statements of problems.
        """
        paths_with_values = [
            (path, value)
            for path, value in walk_nested_columns(dump_row.columns)
            if path not in PROBLEM_COLUMNS
        ]
        for path, value in paths_with_values:
            if self._is_problem_name(value):
                return f"problem_column={path}"
        for path, _ in paths_with_values:
            if isinstance(self._statements.find(read_prompt(dump_row.columns, path)), Problem):
                return f"prompt_column={path}"
        return ""

    def _missing_problem_error(self, dump_row: DumpRow, reason: str) -> MissingColumn:
        """Return the error for a row without a problem. `reason`: why its statements name no problem."""
        suggestion = self._suggest_problem_option(dump_row)
        column_error = dump_row.missing_column_error(
            "`problem_id`", "problem_id", PROBLEM_COLUMNS, suggestion=suggestion
        )
        if not reason:
            return column_error
        remedy = f"{column_error.remedy}; prompt_column=NAME leaves out rows without a statement"
        return MissingColumn(
            f"{column_error.problem}, and {reason}",
            where=column_error.where,
            row=column_error.row,
            remedy=remedy,
        )

    def _read_language(self, dump_row: DumpRow) -> str | None:
        """Return the language that the row names, or None. `lang` may be the language of the statement."""
        language = dump_row.read_string("language")
        if language is None:
            if not self._options.language and dump_row.find_column("language") is None:
                self.note_counts.update(_describe_unread_languages(dump_row.columns))
            return None
        try:
            find_language(language, where=dump_row.where, row=dump_row.line)
        except InputError:
            if dump_row.find_column("language") != _AMBIGUOUS_LANGUAGE_COLUMN:
                raise
            self.note_counts[
                f"whose `{_AMBIGUOUS_LANGUAGE_COLUMN}` names no language of programs: it does not count"
            ] += 1
            return None
        return language

    def _read_code_and_reply(self, dump_row: DumpRow) -> tuple[str | None, str | None]:
        """Return the row's program and the model's reply. They must not both be missing."""
        is_extracted = self._options.always_extract
        if self._options.code_column is not None:
            return (
                (None, dump_row.read_reply("code")) if is_extracted else (dump_row.read_program("code"), None)
            )
        has_reply_column = dump_row.find_column("generation") is not None
        if not has_reply_column and (is_extracted or dump_row.find_column("code") is None):
            code_names = () if is_extracted else ("code",)
            column_names = (*code_names, "generation", "messages")
            alternatives = ", ".join(f"`{name}`" for name in column_names[:-1]) + f" or `{column_names[-1]}`"
            raise dump_row.missing_column_error(
                alternatives, "code", (*(USUAL["code"] if code_names else ()), *USUAL["generation"])
            )
        if not has_reply_column:
            return dump_row.read_program("code"), None
        code = None if is_extracted else dump_row.read_string("code")
        if code is None:
            return None, dump_row.read_reply("generation")
        reply = None
        with suppress(InputError):  # the program is judged and not the reply, so the reply may have any type
            reply = dump_row.read_reply("generation")
        return code, reply


def _has_tool_call(value: Any) -> bool:
    """Return True if the value contains a tool call in the form that model servers return."""
    if isinstance(value, list):
        return any(map(_has_tool_call, value))
    if not isinstance(value, dict):
        return False
    is_call = value.get("type") in _TOOL_CALL_KEYS or any(value.get(name) for name in _TOOL_CALL_KEYS)
    return is_call or any(map(_has_tool_call, value.values()))


def _describe_unread_replies(columns: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note for each column with a list of replies that is not read."""
    for name in _LIST_COLUMNS:
        if name not in OF_DATASETS and isinstance(replies := columns.get(name), list) and len(replies) > 1:
            note = f"whose column `{name}` holds several replies, and is not read"
            yield f"{note}: name it with code_column=NAME"


def _describe_unread_languages(columns: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note for each column or nested key that names a programming language and is not read."""
    objects_by_prefix = {
        "": columns,
        **{f"{name}.": container for name, container in columns.items() if isinstance(container, dict)},
    }
    for prefix, container in objects_by_prefix.items():
        for name, value in container.items():
            if isinstance(value, str) and _LANGUAGE_COLUMN_NAME.search(name):
                with suppress(InputError):
                    find_language(value)
                    path = f"whose column `{prefix}{name}`"
                    yield f"{path} names a language, and is not read: name it with language_column=NAME"


def _find_canonical_id(problems: ProblemLookup, name: str) -> tuple[str, ...]:
    """Return a tuple with the id of the problem that has this name. The tuple is empty for unknown names."""
    try:
        return (problems.find(name).id,)
    except InputError:
        return ()
