"""Rows as other tools write them: one table of what they are told by, and of the columns that hold what."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple

from ioi_eval.benchmarks.row_files import INSPECT, PLACE, FileRow
from ioi_eval.model.errors import FailedRequest
from ioi_eval.model.languages import LANGUAGES
from ioi_eval.rules.extraction import THOUGHTS, text_of
from ioi_eval.store.rows import MODEL_COLUMNS

PROBLEM_COLUMNS = ("problem_id", "task_id", "question_id", "ioi_id", "instance_id", "name", "problem")
# Columns with what a model was asked. Where no column names the problem, its statement in one of these does.
PROMPT_COLUMNS = (
    *("prompt", "question", "problem_statement", "statement", "description", "input", "query"),
    *("instruction", "full_prompt", "conversations", "messages"),
)
OF_DATASETS = ("solution", "output", "content", "output_list", "outputs")  # of replies, and of datasets, too
_LONGEST_NAME = 200  # characters of a problem's name
# Names of columns that nobody agrees on, and that can only be a model's.
_OF_MODELS = re.compile(
    r"(?:generated|gen|predicted|model|llm)_?(?:answer|code|completion|output|program|response|solution|text)s?"
    r"|gen|predictions?",
    re.I,
)
# The usual columns by what they hold; of each the first that a row has.
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


class Shape(NamedTuple):
    """A kind of rows: the columns that tell it, and where it holds what usual columns hold."""

    name: str
    needs: tuple[str, ...]  # all of these
    one_of: tuple[str, ...] = ()
    columns: Mapping[str, str] = _NO_COLUMNS  # or paths into them, by what they hold
    prompt: str = ""  # where no column names the problem: the one whose statement is in this column
    language: str = ""  # of its programs
    ids: bool = True  # `id` names the row
    made: Callable[[FileRow, str], Iterator[FileRow]] | None = (
        None  # rows with usual columns, of those in `columns`
    )
    also: Callable[[Mapping[str, Any]], bool] = lambda columns: True

    def fits(self, names: Collection[str]) -> bool:
        """Return True if rows with these columns can be of this shape; `also` looks at their values."""
        return set(names) >= set(self.needs) and not (self.one_of and set(names).isdisjoint(self.one_of))

    @property
    def named(self) -> Mapping[str, str]:
        """The columns to read, by what they hold, where they are not the usual ones."""
        return _NO_COLUMNS if self.made else self.columns

    def rows(self, row: FileRow, where: str) -> Iterator[FileRow]:
        """Yield the rows with usual columns that a row holds. Raise InputError for one that holds none."""
        yield from self.made(row, where) if self.made else (row,)


def shape_of(columns: Mapping[str, Any]) -> Shape | None:
    """Return the first shape that a row has; None if its usual columns are all that is known of it."""
    return next((shape for shape in _fitting(tuple(columns)) if shape.also(columns)), None)


@lru_cache(1024)  # rows of a file mostly have the same columns
def _fitting(names: tuple[str, ...]) -> tuple[Shape, ...]:
    return tuple(shape for shape in SHAPES if shape.fits(names))


@lru_cache(1024)
def usual_columns(names: tuple[str, ...]) -> Mapping[str, str]:
    """Return the usual columns among the names, by what they hold."""
    found = {what: next((name for name in usual if name in names), None) for what, usual in USUAL.items()}
    if found["generation"] == "outputs" and found["code"] is not None:
        found["generation"] = None  # those of tests, which programs wrote
    if found["generation"] in OF_DATASETS and any(map(_OF_MODELS.fullmatch, names)):
        found["generation"] = None  # one of them has to be named
    if found["generation"] is not None and "test_list" in names:
        found["code"] = None  # MBPP's own program
    return {what: name for what, name in found.items() if name is not None}


def is_statement(value: Any) -> bool:
    """Return True for a text that is too long for the name of a problem, or has several lines."""
    return isinstance(value, str) and (len(value) > _LONGEST_NAME or "\n" in value.strip())


def prompts_in(columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns with what the model was asked."""
    return tuple(name for name in PROMPT_COLUMNS if name in columns)


def problems_in(columns: Mapping[str, Any], names: Collection[str]) -> Iterator[Any]:
    """Yield what the problems of a row are called; None where only its prompt tells. `names`: all columns."""
    shape = shape_of(columns) or shape_of(dict.fromkeys(names))
    request = columns.get("key") if shape is not None and shape.made is _batch else None
    if shape is not None and shape.prompt and not columns.keys() & set(PROBLEM_COLUMNS):
        yield None
    elif shape is _BY_PROBLEM:
        yield from columns
    elif isinstance(called := columns.get("custom_id", request), str):
        yield next((columns[name] for name in PROBLEM_COLUMNS if name in columns), _SAMPLE.sub("", called))
    elif shape is not None and shape.made is _inspect:
        yield _problem_of_sample(columns)
    else:
        own = (shape.named.get("problem_id"),) if shape is not None else ()
        found = next((columns[name] for name in (*own, *PROBLEM_COLUMNS) if name in columns), None)
        if found is not None or (found := _problem_of_document(columns)) is not None:
            yield None if is_statement(found) else found
        elif prompts_in({*columns, *names}) and columns.keys().isdisjoint(PROBLEM_COLUMNS):
            yield None


def heads() -> frozenset[str]:
    """The columns that `problems_in` looks at."""
    own = (shape.columns.get("problem_id", "") for shape in SHAPES)
    return frozenset({*PROBLEM_COLUMNS, "id", *filter(None, own)})


# --- rows that are made --------------------------------------------------------------------------------

_SAMPLE = re.compile(r"[#/:]\d+\Z")
_AS_JSON = re.compile(r'\s*+\{\s*+"(?:id|object|choices|candidates)"\s*+:')  # no program begins so
_SERVED = ("choices", "output", "candidates", "content")  # lists in answers of servers
# Of an answer in a batch; Gemini has no candidates where it refused the prompt.
_ANSWERED = ("body", "candidates", "promptFeedback", "usageMetadata")
_CHOICE = {"message", "content", "finish_reason", "finishReason"}  # a reply has one of these
# Types of an answer's parts.
_PARTS = THOUGHTS | {"function_call", "output_text", "refusal", "text", "tool_call", "tool_use"}
_PLUS = re.compile(r"(HumanEval|Mbpp)/\d+")
_TOLD = ("problem_id", "year", "language", "subtask")  # what the metadata of a sample may say
_OF_SUFFIX = {suffix: language.name for language in reversed(LANGUAGES) for suffix in language.suffixes}


def _is_batch(columns: Mapping[str, Any]) -> bool:
    """A text in `response` is an answer of its own."""
    response = columns.get("response")
    failed = response is None and "error" in columns
    return failed or (isinstance(response, dict) and not response.keys().isdisjoint(_ANSWERED))


def _batch(row: FileRow, where: str) -> Iterator[FileRow]:
    """Take the answer to a request: OpenAI's in `body`, Anthropic's in `message`, Gemini's as it is."""
    field, called = ("result" if "result" in row.columns else "response"), ("custom_id", "key")
    answer = row.columns.get(field)
    body = answer.get("body", answer.get("message", answer)) if isinstance(answer, dict) else None
    texts = _replies(body) if isinstance(body, dict) else []
    if not isinstance(body, dict) or not texts:
        reason = json.dumps(row.columns.get("error") or body or answer)
        raise FailedRequest(
            f"the request failed: {reason[:200]}",
            where=where,
            row=row.line,
            field=field,
            remedy="Ask again, or leave such rows out",
        )
    name = next(str(row.columns[column]) for column in called if column in row.columns)
    added = _answers(texts)
    if row.columns.keys().isdisjoint(PROBLEM_COLUMNS):
        added["problem_id"] = _SAMPLE.sub("", name)
    if model := body.get("model", body.get("modelVersion")):
        added["model"] = model
    yield FileRow(row.line, {**added, **row.columns})


def _replies(body: Mapping[str, Any]) -> list[str | None]:
    """The replies in an answer; none in that of a failure."""
    if isinstance(output := body.get("output"), list):
        return [text_of(_spoken(output))]
    if isinstance(content := body.get("content"), list):
        return [text_of(content)]
    if isinstance(candidates := body.get("candidates"), list):
        found = [
            candidate.get("content") if isinstance(candidate, dict) else None for candidate in candidates
        ]
        return [text_of(_listed(item.get("parts"))) if isinstance(item, dict) else None for item in found]
    choices = [choice if isinstance(choice, dict) else {} for choice in _listed(body.get("choices") or [])]
    spoken = [(choice, choice.get("message")) for choice in choices]
    said = [
        reply.get("content") if isinstance(reply, dict) else choice.get("text") for choice, reply in spoken
    ]
    return [text_of(each) if isinstance(each, list) else each for each in said]


def _are_answers(columns: Mapping[str, Any]) -> bool:
    """Return True for an answer whose fields are columns, beside no reply: `messages` are its prompt then."""
    found = columns.get("choices", columns.get("candidates"))
    replies = {*USUAL["code"], *USUAL["generation"]} - {"messages"}
    if not isinstance(found, list) or not columns.keys().isdisjoint(replies):
        return False
    return bool(found) and all(isinstance(each, dict) and each.keys() & _CHOICE for each in found)


def _served(row: FileRow, where: str) -> Iterator[FileRow]:
    named = {"model": name} if (name := row.columns.get("modelVersion")) else {}
    yield FileRow(row.line, {**_answers(_replies(row.columns)), **named, **row.columns})


def _is_served(answer: Mapping[str, Any]) -> bool:
    return any(isinstance(answer.get(name), list) for name in _SERVED)


def replies_in(answer: Any, *, several: bool = False) -> Any:
    """Return the replies in an answer of a server or of vLLM, also as JSON; anything else as it is.

    `several`: a list is rather one of answers than one of an answer's parts.
    """
    if isinstance(answer, str) and _AS_JSON.match(answer):
        with suppress(ValueError, RecursionError):
            held = json.loads(answer)
            return replies_in(held) if _is_served(held) else answer
    if _are_parts(answer, several):
        return text_of(_spoken(answer))
    if not isinstance(answer, dict):
        return answer
    if "role" in answer:
        return [answer]  # a chat of one message
    if isinstance(text := answer.get("text", answer.get("content")), str):
        return text
    found = _replies(answer) if _is_served(answer) else []
    return (found[0] if len(found) == 1 else found) if found else answer


def _are_parts(answer: Any, several: bool) -> bool:
    """Return True for the parts of one answer, as servers have them."""
    if not isinstance(answer, list) or not all(isinstance(part, dict) for part in answer):
        return False
    types = [part.get("type") for part in answer if "role" not in part]  # messages have types, too
    return any(each in _PARTS for each in types) and not (several and set(types) == {"text"})


def _spoken(items: list[Any]) -> Iterator[Any]:
    """Yield the parts of an answer: items, or what the model's messages among them hold."""
    for item in items:
        if not isinstance(item, dict) or item.get("type") != "message":
            yield item
        elif item.get("role", "assistant") == "assistant":
            yield None  # a message stands apart from the one before
            yield from _listed(item.get("content"))


def _harness(row: FileRow, where: str) -> Iterator[FileRow]:
    answers = [text for texts in _listed(row.columns["resps"]) for text in _listed(texts)]
    problem = _problem_of_document(row.columns)
    added = _answers(answers) | ({} if problem is None else {"problem_id": problem})
    yield FileRow(row.line, {**added, **row.columns})


def _answers(found: list[Any]) -> dict[str, Any]:
    return {"generation": found[0] if len(found) == 1 else found}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _problem_of_document(columns: Mapping[str, Any]) -> str | None:
    """The problem of the dataset's row in a log, which may be a text of it."""
    doc = columns.get("doc")
    if isinstance(doc, str):
        try:
            doc = json.loads(doc)
        except ValueError:
            return None
    if not isinstance(doc, dict):
        return None
    return next((str(doc[name]) for name in PROBLEM_COLUMNS if name in doc), None)


def _inspect(row: FileRow, where: str) -> Iterator[FileRow]:
    """Add usual columns to a sample of a log. One that failed holds nothing to judge."""
    columns = row.columns
    if (error := columns.get("error")) and not columns.get("scores"):
        raise FailedRequest(
            f"the sample failed: {str(error)[:200]}",
            where=where,
            row=row.line,
            field="error",
            remedy="Run `inspect eval-retry`, or leave such rows out",
        )
    metadata = columns.get("metadata")
    told = metadata if isinstance(metadata, Mapping) else {}
    copied = {name: told[name] for name in _TOLD if told.get(name) is not None}
    added = {**copied, "problem_id": _problem_of_sample(columns), "solution_number": columns["epoch"]}
    yield FileRow(row.line, {**added, **columns})


def _problem_of_sample(columns: Mapping[str, Any]) -> str:
    """Return a sample's problem: named in its metadata, else the sample's id."""
    metadata = columns.get("metadata")
    named = metadata.get("problem_id") if isinstance(metadata, Mapping) else None
    return str(columns["id"] if named is None else named)


def _is_by_problem(columns: Mapping[str, Any]) -> bool:
    """Return True for lists of programs, files of them, or a row's columns, under names of problems.

    Under numbers also for single programs.
    """
    if not columns or not columns.keys().isdisjoint(KNOWN):
        return False
    lists = all(
        isinstance(value, list) and all(isinstance(text, str | None) for text in value)
        for value in columns.values()
    )
    texts = all(name.isdecimal() and isinstance(value, str) for name, value in columns.items())
    return (
        lists
        or texts
        or all(
            isinstance(value, dict) and value and all(isinstance(text, str) for text in value.values())
            for value in columns.values()
        )
    )


def _by_problem(row: FileRow, where: str) -> Iterator[FileRow]:
    for problem, held in row.columns.items():
        if isinstance(held, list | str):
            if held:
                yield FileRow(row.line, {"problem_id": problem, "code": held})
            continue
        if not held.keys().isdisjoint(KNOWN):  # columns, such as `code` and `model`
            yield FileRow(row.line, {"problem_id": problem, **held})
            continue
        for name, code in held.items():
            language = _OF_SUFFIX.get(PurePath(name).suffix)
            spoken = {} if language is None else {"language": language}
            yield FileRow(row.line, {"problem_id": problem, "file": name, "code": code, **spoken})


# --- the table -----------------------------------------------------------------------------------------

_BY_PROBLEM = Shape(
    "programs by problem",
    (),
    columns={"problem_id": "each name", "code": "the programs of its list, or of its files"},
    made=_by_problem,
    also=_is_by_problem,
)
# The first that fits holds. docs/dumps.md has this table, made of it.
SHAPES = (
    Shape(
        "OpenAI's batch results",
        ("custom_id", "response"),
        columns={"problem_id": "custom_id", "generation": "response"},
        made=_batch,
        also=_is_batch,
    ),
    Shape(
        "Anthropic's batch results",
        ("custom_id", "result"),
        columns={"problem_id": "custom_id", "generation": "result"},
        made=_batch,
        also=lambda columns: isinstance(columns["result"], dict) and "type" in columns["result"],
    ),
    Shape(
        "Gemini's batch results",
        ("key",),
        ("response", "error"),
        columns={"problem_id": "key", "generation": "response"},
        made=_batch,
        also=_is_batch,
    ),
    Shape(
        "a log of lm-evaluation-harness",
        ("doc", "resps"),
        columns={"problem_id": "doc", "generation": "resps"},
        made=_harness,
    ),
    Shape(
        "a log of inspect_ai",
        (INSPECT, "epoch", "id"),
        columns={"problem_id": "id", "generation": "generation"},
        made=_inspect,
    ),
    # Its `id` is that of the subtask, in the file of every sample, and its `name` is a title.
    Shape("NeMo-Skills' outputs", ("generation", "ioi_id"), ids=False),
    Shape("NeMo-Skills' outputs", ("generation",), ("num_generated_tokens", "release_version")),
    Shape("LiveCodeBench's outputs", ("question_id", "code_list"), language="python"),
    Shape(
        "EvalPlus' samples",
        ("task_id",),
        ("solution", "completion"),
        language="python",
        also=lambda columns: (
            isinstance(columns["task_id"], str) and bool(_PLUS.fullmatch(columns["task_id"]))
        ),
    ),
    Shape(
        "OJBench's replies",
        ("id", "content"),
        columns={"problem_id": "id", "generation": "content"},
        ids=False,
        also=lambda columns: columns.keys().isdisjoint(PROBLEM_COLUMNS),
    ),
    Shape(
        "verl's rollouts",
        ("input", "output", "gts"),
        columns={"problem_id": "gts", "generation": "output"},
        prompt="input",
    ),
    Shape("TRL's completions", ("step", "prompt", "completion"), prompt="prompt"),
    Shape("slime's samples", ("group_index", "prompt", "response"), prompt="prompt"),
    Shape(
        "lighteval's details",
        ("doc", "model_response"),
        columns={"generation": "model_response.text"},
        prompt="doc.query",
    ),
    Shape(
        "lighteval's details",
        ("full_prompt", "predictions"),
        columns={"generation": "predictions"},
        prompt="full_prompt",
    ),
    Shape(
        "CURE's outputs",
        ("question", "full_code_generation"),
        columns={"problem_id": "question", "generation": "full_code_generation"},
        prompt="question",
    ),
    *(
        Shape(
            f"answers of {whose} API",
            (column,),
            columns={"generation": column},
            made=_served,
            also=_are_answers,
        )
        for whose, column in (("OpenAI's", "choices"), ("Gemini's", "candidates"))
    ),
    Shape("lists of replies, one for each problem", (PLACE,), columns={"problem_id": PLACE}),
    _BY_PROBLEM,
)
