"""Recognize rows that other tools write, by a table of their columns and contents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple

from ioi_eval.benchmarks.row_files import INSPECT, PLACE, FileRow
from ioi_eval.model.errors import FailedRequest
from ioi_eval.model.languages import LANGUAGES
from ioi_eval.rules.extraction import REASONING_TYPES, join_answer_text
from ioi_eval.store.rows import MODEL_COLUMNS

PROBLEM_COLUMNS = ("problem_id", "task_id", "question_id", "ioi_id", "instance_id", "name", "problem")
# Columns that may contain the prompt. If no column names a row's problem, the problem is found by its
# statement in such a column.
PROMPT_COLUMNS = (
    *("prompt", "question", "problem_statement", "statement", "description", "input", "query"),
    *("instruction", "full_prompt", "conversations", "messages"),
)
# Names of columns that may hold replies, but that datasets without replies have as well.
OF_DATASETS = (
    "solution",
    "output",
    "content",
    "output_list",
    "outputs",
)
_MAX_NAME = 200  # maximum length of a problem's name, in characters
# Pattern for names of columns that are not standard, but can only contain a model's output.
_MODEL_COLUMN = re.compile(
    r"(?:generated|gen|predicted|model|llm)_?(?:answer|code|completion|output|program|response|solution|text)s?"
    r"|gen|predictions?",
    re.I,
)
# Names of the standard columns of each field. If a row has several of them, the first column is read.
USUAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "problem_id": PROBLEM_COLUMNS,
        "code": ("code", "solution_code", "code_list"),
        "generation": (
            *("generation", "messages", "completion", "response", "generations", "completions", "responses"),
            *("conversations", *OF_DATASETS),
        ),
        "language": (
            *("language", "programming_language", "programmingLanguage", "prog_lang", "code_language"),
            "lang",
        ),
        MODEL_COLUMNS[0]: MODEL_COLUMNS,
        "year": ("year",),
        "subtask": ("subtask",),
    }
)
KNOWN = frozenset(name for names in USUAL.values() for name in names)
_NO_COLUMNS: Mapping[str, str] = MappingProxyType({})


class RowSchema(NamedTuple):
    """A row schema: the columns by which it is recognized, and the columns that hold the standard fields."""

    name: str
    needs: tuple[str, ...]  # names of the columns that a row must have
    one_of: tuple[str, ...] = ()
    columns: Mapping[str, str] = _NO_COLUMNS  # names of columns, or paths into columns, by field
    prompt: str = ""  # column whose statement identifies the problem if no column names the problem
    language: str = ""  # language of the rows' programs
    ids: bool = True  # True if the column `id` contains the id of the row
    # Function that converts a row to rows with standard columns. None if the columns need no conversion.
    converter: Callable[[FileRow, str], Iterator[FileRow]] | None = None
    # Function that returns True if the values of a row match, which is called only if the column names match.
    values_check: Callable[[Mapping[str, Any]], bool] = lambda columns: True
    # Function that yields the names of a row's problems, if no column contains a name.
    problems: Callable[[Mapping[str, Any]], Iterable[Any]] | None = None

    def matches_columns(self, names: Collection[str]) -> bool:
        """Return True if the column names match this schema."""
        return set(names) >= set(self.needs) and not (self.one_of and set(names).isdisjoint(self.one_of))

    @property
    def columns_by_field(self) -> Mapping[str, str]:
        """Return the columns to read, by field. The result is empty if a converter adds standard columns."""
        return _NO_COLUMNS if self.converter else self.columns

    def convert_row(self, row: FileRow, where: str) -> Iterator[FileRow]:
        """Yield the row as rows with standard columns. If it contains no row, raise an InputError."""
        yield from self.converter(row, where) if self.converter else (row,)


def find_schema(columns: Mapping[str, Any]) -> RowSchema | None:
    """Return the first schema that matches a row, or None."""
    return next(
        (schema for schema in _find_matching_schemas(tuple(columns)) if schema.values_check(columns)), None
    )


@lru_cache(1024)  # cached because all rows of a file usually have the same columns
def _find_matching_schemas(names: tuple[str, ...]) -> tuple[RowSchema, ...]:
    """Return the schemas that match the column names."""
    return tuple(schema for schema in ROW_SCHEMAS if schema.matches_columns(names))


@lru_cache(1024)
def find_standard_columns(names: tuple[str, ...]) -> Mapping[str, str]:
    """Return the standard columns among the names, by field."""
    columns_by_field = {
        field: next((name for name in candidate_columns if name in names), None)
        for field, candidate_columns in USUAL.items()
    }
    if columns_by_field["generation"] == "outputs" and columns_by_field["code"] is not None:
        columns_by_field["generation"] = None  # the column contains outputs of tests, not replies of a model
    if columns_by_field["generation"] in OF_DATASETS and any(map(_MODEL_COLUMN.fullmatch, names)):
        columns_by_field["generation"] = None  # two columns may hold replies, so the user must name one
    if columns_by_field["generation"] is not None and "test_list" in names:
        columns_by_field["code"] = None  # the column contains the reference solution of MBPP
    return {field: name for field, name in columns_by_field.items() if name is not None}


def is_statement(value: Any) -> bool:
    """Return True if the value is a string that is too long for a name or has several lines."""
    return isinstance(value, str) and (len(value) > _MAX_NAME or "\n" in value.strip())


def find_prompt_columns(columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns that may contain the prompt."""
    return tuple(name for name in PROMPT_COLUMNS if name in columns)


def find_problem_names(columns: Mapping[str, Any], file_columns: Collection[str]) -> Iterator[Any]:
    """Yield the names of a row's problems, or None if only the prompt identifies the problem.

    `columns`: columns of the row that were read. `file_columns`: the names of all columns of the file.
    """
    schema = find_schema(columns) or find_schema(dict.fromkeys(file_columns))
    if schema is not None and schema.prompt and not columns.keys() & set(PROBLEM_COLUMNS):
        yield None
    elif schema is not None and schema.problems is not None:
        yield from schema.problems(columns)
    else:
        schema_columns = (schema.columns_by_field.get("problem_id"),) if schema is not None else ()
        problem_name = next(
            (columns[name] for name in (*schema_columns, *PROBLEM_COLUMNS) if name in columns), None
        )
        if problem_name is not None or (
            problem_name := _find_problem_id_of_request(columns) or _find_problem_id_in_document(columns)
        ):
            yield None if is_statement(problem_name) else problem_name
        elif find_prompt_columns({*columns, *file_columns}) and columns.keys().isdisjoint(PROBLEM_COLUMNS):
            yield None


def list_problem_columns() -> frozenset[str]:
    """Return the columns that `find_problem_names` reads."""
    schema_columns = (schema.columns.get("problem_id", "") for schema in ROW_SCHEMAS)
    return frozenset({*PROBLEM_COLUMNS, "id", *filter(None, schema_columns)})


# --- rows converted to other rows --------------------------------------------------------------------

_SAMPLE_NUMBER = re.compile(r"[#/:]\d+\Z")
# Columns of batch results that contain the id which the user gave to a request.
_REQUEST_ID_COLUMNS = ("custom_id", "key")
# Pattern of the start of a server's answer in JSON. No program starts with it.
_JSON_ANSWER = re.compile(r'\s*+\{\s*+"(?:id|object|choices|candidates)"\s*+:')
_ANSWER_LISTS = (
    "choices",
    "output",
    "candidates",
    "content",
)  # keys under which a server's answer has a list of replies or parts
# Keys of a server's answer in batch results. Gemini omits `candidates` if it refused the prompt.
_BATCH_ANSWER_KEYS = ("body", "candidates", "promptFeedback", "usageMetadata")
# Keys of a choice in a server's answer, which has at least one of them.
_CHOICE_KEYS = {"message", "content", "finish_reason", "finishReason"}
# Types of the parts of a message.
_PART_TYPES = REASONING_TYPES | {"function_call", "output_text", "refusal", "text", "tool_call", "tool_use"}
_EVALPLUS_ID = re.compile(r"(HumanEval|Mbpp)/\d+")
# Names of columns that the metadata of a sample in inspect_ai's log may contain.
_METADATA_COLUMNS = (
    "problem_id",
    "year",
    "language",
    "subtask",
)
_LANGUAGE_OF_SUFFIX = {
    suffix: language.name for language in reversed(LANGUAGES) for suffix in language.suffixes
}


def _is_batch_row(columns: Mapping[str, Any]) -> bool:
    """Return True if the row is a result of a batch: `response` is an object, or the request failed.

    In other rows, `response` is a string: the model's reply.
    """
    response = columns.get("response")
    is_failed = response is None and "error" in columns
    return is_failed or (isinstance(response, dict) and not response.keys().isdisjoint(_BATCH_ANSWER_KEYS))


def _convert_batch_row(row: FileRow, where: str) -> Iterator[FileRow]:
    """Yield the row with the replies of a batch request to OpenAI, Anthropic or Gemini.

    Raises:
        FailedRequest: The request failed.
    """
    answer_field = "result" if "result" in row.columns else "response"
    answer = row.columns.get(answer_field)
    answer_body = answer.get("body", answer.get("message", answer)) if isinstance(answer, dict) else None
    replies = _read_replies(answer_body) if isinstance(answer_body, dict) else []
    if not isinstance(answer_body, dict) or not replies:
        reason = json.dumps(row.columns.get("error") or answer_body or answer)
        raise FailedRequest(
            f"the request failed: {reason[:200]}",
            where=where,
            row=row.line,
            field=answer_field,
            remedy="Ask again, or exclude such rows",
        )
    added_columns = _make_generation_column(replies)
    if row.columns.keys().isdisjoint(PROBLEM_COLUMNS):
        added_columns["problem_id"] = _find_problem_id_of_request(row.columns, _REQUEST_ID_COLUMNS)
    if model_name := answer_body.get("model", answer_body.get("modelVersion")):
        added_columns["model"] = model_name
    yield FileRow(row.line, {**added_columns, **row.columns})


def _find_problem_id_of_request(
    columns: Mapping[str, Any], id_columns: Collection[str] = ("custom_id",)
) -> str | None:
    """Return the problem in a batch request's id, or None. A sample's number after the problem is removed."""
    request_id = next((columns[name] for name in id_columns if name in columns), None)
    return None if request_id is None else _SAMPLE_NUMBER.sub("", str(request_id))


def _list_problem_ids_of_request(columns: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the problem of a batch request, from a standard column or else from the request's id."""
    standard_values = (columns[name] for name in PROBLEM_COLUMNS if name in columns)
    yield next(standard_values, _find_problem_id_of_request(columns, _REQUEST_ID_COLUMNS))


def _read_replies(body: Mapping[str, Any]) -> list[str | None]:
    """Return the replies in a server's answer. The answer of a failed request contains none."""
    if isinstance(output_items := body.get("output"), list):
        return [join_answer_text(_list_answer_parts(output_items))]
    if isinstance(content_parts := body.get("content"), list):
        return [join_answer_text(content_parts)]
    if isinstance(candidates := body.get("candidates"), list):
        contents = [
            candidate.get("content") if isinstance(candidate, dict) else None for candidate in candidates
        ]
        return [
            join_answer_text(_as_list(candidate_content.get("parts")))
            if isinstance(candidate_content, dict)
            else None
            for candidate_content in contents
        ]
    answer_choices = [
        answer_choice if isinstance(answer_choice, dict) else {}
        for answer_choice in _as_list(body.get("choices") or [])
    ]
    choices_with_messages = [
        (answer_choice, answer_choice.get("message")) for answer_choice in answer_choices
    ]
    message_contents = [
        message.get("content") if isinstance(message, dict) else answer_choice.get("text")
        for answer_choice, message in choices_with_messages
    ]
    return [
        join_answer_text(message_content) if isinstance(message_content, list) else message_content
        for message_content in message_contents
    ]


def _has_answer_columns(columns: Mapping[str, Any]) -> bool:
    """Return True if the columns are the fields of a server's answer, without a column of replies."""
    choices = columns.get("choices", columns.get("candidates"))
    reply_columns = {*USUAL["code"], *USUAL["generation"]} - {"messages"}
    if not isinstance(choices, list) or not columns.keys().isdisjoint(reply_columns):
        return False
    return bool(choices) and all(
        isinstance(choice, dict) and choice.keys() & _CHOICE_KEYS for choice in choices
    )


def _convert_answer_row(row: FileRow, where: str) -> Iterator[FileRow]:
    """Yield the row with the replies of a server's answer."""
    model_column = {"model": name} if (name := row.columns.get("modelVersion")) else {}
    yield FileRow(
        row.line, {**_make_generation_column(_read_replies(row.columns)), **model_column, **row.columns}
    )


def _is_model_server_answer(answer: Mapping[str, Any]) -> bool:
    """Return True if the object is the answer of a model's server: it has a list of choices or parts."""
    return any(isinstance(answer.get(name), list) for name in _ANSWER_LISTS)


def extract_replies(answer: Any, *, has_several_answers: bool = False) -> Any:
    """Return the replies in an answer of a model's server or of vLLM, which may be a JSON string.

    Other values are returned unchanged. `has_several_answers`: True if a list of texts contains several
    answers. Otherwise such a list contains the parts of a single answer.
    """
    if isinstance(answer, str) and _JSON_ANSWER.match(answer):
        with suppress(ValueError, RecursionError):
            parsed_answer = json.loads(answer)
            return extract_replies(parsed_answer) if _is_model_server_answer(parsed_answer) else answer
    if _is_list_of_answer_parts(answer, has_several_answers):
        return join_answer_text(_list_answer_parts(answer))
    if not isinstance(answer, dict):
        return answer
    if "role" in answer:
        return [answer]  # a chat with a single message
    if isinstance(reply_text := answer.get("text", answer.get("content")), str):
        return reply_text
    replies = _read_replies(answer) if _is_model_server_answer(answer) else []
    return (replies[0] if len(replies) == 1 else replies) if replies else answer


def _is_list_of_answer_parts(answer: Any, has_several_answers: bool) -> bool:
    """Return True if the value is the list of parts of a single answer."""
    if not isinstance(answer, list) or not all(isinstance(item, dict) for item in answer):
        return False
    # An object with a role is a message and not a part, although it may have a type.
    part_types = [item.get("type") for item in answer if "role" not in item]
    return any(part_type in _PART_TYPES for part_type in part_types) and not (
        has_several_answers and set(part_types) == {"text"}
    )


def _list_answer_parts(items: list[Any]) -> Iterator[Any]:
    """Yield the parts of an answer. Messages of the model are replaced by their content."""
    for item in items:
        if not isinstance(item, dict) or item.get("type") != "message":
            yield item
        elif item.get("role", "assistant") == "assistant":
            yield None  # None separates a message from the previous message
            yield from _as_list(item.get("content"))


def _convert_lm_eval_row(row: FileRow, where: str) -> Iterator[FileRow]:
    """Yield the row of a log of lm-evaluation-harness with its replies and its problem."""
    answers = [response for responses in _as_list(row.columns["resps"]) for response in _as_list(responses)]
    problem = _find_problem_id_in_document(row.columns)
    added_columns = _make_generation_column(answers) | ({} if problem is None else {"problem_id": problem})
    yield FileRow(row.line, {**added_columns, **row.columns})


def _make_generation_column(replies: list[Any]) -> dict[str, Any]:
    """Return the column `generation` with the replies: a list, or the reply if there is only one."""
    return {"generation": replies[0] if len(replies) == 1 else replies}


def _as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else a list that contains it."""
    return value if isinstance(value, list) else [value]


def _find_problem_id_in_document(columns: Mapping[str, Any]) -> str | None:
    """Return the problem in `doc`, the dataset's row in a log, or None. `doc` may be a JSON string."""
    document = columns.get("doc")
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError:
            return None
    if not isinstance(document, dict):
        return None
    return next((str(document[name]) for name in PROBLEM_COLUMNS if name in document), None)


def _convert_inspect_row(row: FileRow, where: str) -> Iterator[FileRow]:
    """Yield the row of a log of inspect_ai with standard columns. A failed sample is a FailedRequest."""
    columns = row.columns
    if (error := columns.get("error")) and not columns.get("scores"):
        raise FailedRequest(
            f"the sample failed: {str(error)[:200]}",
            where=where,
            row=row.line,
            field="error",
            remedy="Run `inspect eval-retry`, or exclude such rows",
        )
    metadata = columns.get("metadata")
    known_metadata = metadata if isinstance(metadata, Mapping) else {}
    copied_columns = {
        name: known_metadata[name] for name in _METADATA_COLUMNS if known_metadata.get(name) is not None
    }
    added_columns = {
        **copied_columns,
        "problem_id": _find_problem_id_of_sample(columns),
        "solution_number": columns["epoch"],
    }
    yield FileRow(row.line, {**added_columns, **columns})


def _find_problem_id_of_sample(columns: Mapping[str, Any]) -> str:
    """Return the problem of a sample: `problem_id` in its metadata, or else the sample's id."""
    metadata = columns.get("metadata")
    problem_id = metadata.get("problem_id") if isinstance(metadata, Mapping) else None
    return str(columns["id"] if problem_id is None else problem_id)


def _is_keyed_by_problem(columns: Mapping[str, Any]) -> bool:
    """Return True if the keys of a JSON object are problems.

    Each value is a list of programs, or an object of strings: a problem's files, or the columns of a row. If
    all keys are numbers, the values may be single programs.
    """
    if not columns or not columns.keys().isdisjoint(KNOWN):
        return False
    are_lists = all(
        isinstance(value, list) and all(isinstance(reply, str | None) for reply in value)
        for value in columns.values()
    )
    are_programs = all(name.isdecimal() and isinstance(value, str) for name, value in columns.items())
    return (
        are_lists
        or are_programs
        or all(
            isinstance(value, dict) and value and all(isinstance(reply, str) for reply in value.values())
            for value in columns.values()
        )
    )


def _convert_object_by_problem(row: FileRow, where: str) -> Iterator[FileRow]:
    """Yield a row for each program in an object whose keys are problems."""
    for problem, value in row.columns.items():
        if isinstance(value, list | str):
            if value:
                yield FileRow(row.line, {"problem_id": problem, "code": value})
            continue
        if not value.keys().isdisjoint(KNOWN):  # the keys are column names, such as `code` and `model`
            yield FileRow(row.line, {"problem_id": problem, **value})
            continue
        for file_name, code in value.items():
            language = _LANGUAGE_OF_SUFFIX.get(PurePath(file_name).suffix)
            language_column = {} if language is None else {"language": language}
            yield FileRow(
                row.line, {"problem_id": problem, "file": file_name, "code": code, **language_column}
            )


# --- the table -----------------------------------------------------------------------------------------

# The schemas of rows; a row has the first schema that matches. The table in docs/dumps.md is generated from
# this table.
ROW_SCHEMAS = (
    RowSchema(
        "OpenAI's batch results",
        ("custom_id", "response"),
        columns={"problem_id": "custom_id", "generation": "response"},
        converter=_convert_batch_row,
        problems=_list_problem_ids_of_request,
        values_check=_is_batch_row,
    ),
    RowSchema(
        "Anthropic's batch results",
        ("custom_id", "result"),
        columns={"problem_id": "custom_id", "generation": "result"},
        converter=_convert_batch_row,
        problems=_list_problem_ids_of_request,
        values_check=lambda columns: isinstance(columns["result"], dict) and "type" in columns["result"],
    ),
    RowSchema(
        "Gemini's batch results",
        ("key",),
        ("response", "error"),
        columns={"problem_id": "key", "generation": "response"},
        converter=_convert_batch_row,
        problems=_list_problem_ids_of_request,
        values_check=_is_batch_row,
    ),
    RowSchema(
        "a log of lm-evaluation-harness",
        ("doc", "resps"),
        columns={"problem_id": "doc", "generation": "resps"},
        converter=_convert_lm_eval_row,
    ),
    RowSchema(
        "a log of inspect_ai",
        (INSPECT, "epoch", "id"),
        columns={"problem_id": "id", "generation": "generation"},
        converter=_convert_inspect_row,
        problems=lambda columns: (_find_problem_id_of_sample(columns),),
    ),
    # In these outputs, `id` is the id of a subtask, which is the same for all samples, and `name` is a title.
    RowSchema("NeMo-Skills' outputs", ("generation", "ioi_id"), ids=False),
    RowSchema("NeMo-Skills' outputs", ("generation",), ("num_generated_tokens", "release_version")),
    RowSchema("LiveCodeBench's outputs", ("question_id", "code_list"), language="python"),
    RowSchema(
        "EvalPlus' samples",
        ("task_id",),
        ("solution", "completion"),
        language="python",
        values_check=lambda columns: (
            isinstance(columns["task_id"], str) and bool(_EVALPLUS_ID.fullmatch(columns["task_id"]))
        ),
    ),
    RowSchema(
        "OJBench's replies",
        ("id", "content"),
        columns={"problem_id": "id", "generation": "content"},
        ids=False,
        values_check=lambda columns: columns.keys().isdisjoint(PROBLEM_COLUMNS),
    ),
    RowSchema(
        "verl's rollouts",
        ("input", "output", "gts"),
        columns={"problem_id": "gts", "generation": "output"},
        prompt="input",
    ),
    RowSchema("TRL's completions", ("step", "prompt", "completion"), prompt="prompt"),
    RowSchema("slime's samples", ("group_index", "prompt", "response"), prompt="prompt"),
    RowSchema(
        "lighteval's details",
        ("doc", "model_response"),
        columns={"generation": "model_response.text"},
        prompt="doc.query",
    ),
    RowSchema(
        "lighteval's details",
        ("full_prompt", "predictions"),
        columns={"generation": "predictions"},
        prompt="full_prompt",
    ),
    RowSchema(
        "CURE's outputs",
        ("question", "full_code_generation"),
        columns={"problem_id": "question", "generation": "full_code_generation"},
        prompt="question",
    ),
    *(
        RowSchema(
            f"answers of {whose} API",
            (column,),
            columns={"generation": column},
            converter=_convert_answer_row,
            values_check=_has_answer_columns,
        )
        for whose, column in (("OpenAI's", "choices"), ("Gemini's", "candidates"))
    ),
    RowSchema("lists of replies, one for each problem", (PLACE,), columns={"problem_id": PLACE}),
    RowSchema(
        "programs by problem",
        (),
        columns={"problem_id": "each name", "code": "the programs of its list, or of its files"},
        converter=_convert_object_by_problem,
        values_check=_is_keyed_by_problem,
        problems=iter,
    ),
)
