"""Requests to an author, their budget and their replies; prompts, filled from a template."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Protocol

import jinja2
import msgspec

from ioi_eval.model.errors import InputError, IoiEvalError
from ioi_eval.model.languages import find
from ioi_eval.model.options import Count, Said
from ioi_eval.model.retry import MODEL
from ioi_eval.model.values import Problem, TaskType, Value
from ioi_eval.store.files import readable

_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class GenerationFailed(IoiEvalError):
    """The model's server, or the agent, wrote nothing. It is asked again."""


class OutOfBudget(IoiEvalError):
    """The budget is spent. Nothing more is asked for."""


class Ask(Value):
    """A request for one program for one problem."""

    key: str
    problem_id: str
    prompt: str
    language: str
    number: int  # among those for the problem
    year: int | None = None
    earlier: tuple[tuple[str, str], ...] = ()  # messages before the prompt: who speaks, and the words


class Sampling(Value):
    """Sampling options for the model; None leaves an option to its server."""

    temperature: Annotated[
        _Amount | None, Said(typed=float, metavar="T", help="The model's temperature.")
    ] = None
    top_p: _Amount | None = None
    max_tokens: Annotated[Count | None, Said(metavar="N", help="The most tokens of one reply.")] = None
    seed: int | None = None  # of the first sample; the next one gets the next number
    extra: Mapping[str, Any] = {}  # any other field of a request


class ModelOptions(Value):
    name: Annotated[str, Said(name="model", short="m", metavar="NAME", help="The model's name.")]
    base_url: Annotated[str, Said(metavar="URL", help="The model's server, without /chat/completions.")]
    system: str = ""  # a message ahead of the prompt
    sampling: Sampling = Sampling()
    timeout: float = 600.0  # seconds for one reply
    attempts: Count = MODEL.max_attempts
    requests_per_minute: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    pause: float = MODEL.first_wait  # seconds before the second attempt; doubled each time


class Text(Value):
    """A reply to an ask."""

    generation: str
    reasoning: str = ""
    code: str | None = None  # where the author says which part is the program: agents do
    language: str = ""  # where it is another one than was asked for
    stop_reason: str = ""
    usage: Mapping[str, Any] = {}
    cost: float | None = None  # money, where prices are known
    settings: Mapping[str, Any] = {}  # of the model, seed included


class Author(Protocol):
    """An author of programs. Raises GenerationFailed, OutOfBudget, or InputError where no other try helps."""

    @property
    def name(self) -> str: ...

    async def write(self, ask: Ask) -> Text: ...


def asks_of(
    problems: Iterable[tuple[Problem, str]], prompt: Callable[[Problem, str], str], *, samples: int
) -> tuple[Ask, ...]:
    """Return as many asks as wanted for each problem in its language: first one for each, then the second."""
    prompts = [(problem, language, prompt(problem, language)) for problem, language in problems]
    return tuple(
        Ask(
            key=key_of(problem, number),
            problem_id=problem.id,
            year=problem.year,
            prompt=text,
            language=language,
            number=number,
        )
        for number in range(samples)
        for problem, language, text in prompts
    )


def key_of(problem: Problem, number: int) -> str:
    year = "" if problem.year is None else f"@{problem.year}"
    return f"{problem.id}{year}#{number}"


def fingerprint(asks: Iterable[Ask], author: str, settings: Mapping[str, Any]) -> str:
    """A hash of all that decides what is written, as far as we decide it."""
    content = [author, settings, [(ask.key, ask.prompt, ask.language) for ask in asks]]
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


_MILLION = 1_000_000
_CHARACTERS = 3  # of a token, at least, where a server does not say how many there were
_GIVEN, _WRITTEN = "prompt_tokens", "completion_tokens"


class BudgetOptions(Value):
    """Limits of spending; None is no limit. Prices are for a million tokens, in any currency."""

    tokens: Count | None = None
    money: _Amount | None = None
    input_price: _Amount | None = None
    output_price: _Amount | None = None


class Spending:
    """Counts. Requests under way when it is used up are still paid for: they may exceed it."""

    def __init__(self, options: BudgetOptions | None = None) -> None:
        self._options = options or BudgetOptions()
        self.tokens, self.money = 0, 0.0

    def check(self) -> None:
        """Before a request. Raises OutOfBudget."""
        limit = self._options
        if limit.tokens is not None and self.tokens >= limit.tokens:
            raise OutOfBudget(f"the budget of {limit.tokens} tokens is used up ({self.tokens})")
        if limit.money is not None and self.money >= limit.money:
            raise OutOfBudget(f"the budget of {limit.money:g} is used up ({self.money:.4g})")

    def usage(self, counts: Mapping[str, Any], *, given: int, written: int) -> Mapping[str, Any]:
        """Return a server's usage figures. Where they are limited or paid for, missing ones are estimated."""
        sizes = {_GIVEN: given, _WRITTEN: written} if self._options != BudgetOptions() else {}
        missing = {
            name: -(-size // _CHARACTERS) for name, size in sizes.items() if size and not _count(counts, name)
        }
        return {**counts, **missing, "estimated": True} if missing else counts

    def spend(self, usage: Mapping[str, Any]) -> float | None:
        """Counts it; returns its cost, where prices are known."""
        given, written = _count(usage, _GIVEN), _count(usage, _WRITTEN)
        self.tokens += given + written
        prices = self._options.input_price, self._options.output_price
        if prices == (None, None):
            return None
        cost = (given * (prices[0] or 0) + written * (prices[1] or 0)) / _MILLION
        self.money += cost
        return cost


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)  # some gateways write 120.0
    return max(int(value), 0) if isinstance(value, int | float) and math.isfinite(value) else 0


# --- prompts -----------------------------------------------------------------------------------------

_SUFFIX = ".md.j2"
_DEFAULT = "default"
_HEADERS = (".h", ".hpp")
_TAGS = {"c++": "cpp", "pypy": "python"}  # of fenced blocks, where models use another word than the name
_FOLDER = Path(__file__).parent / "templates"
# What a template that asks for what is not there, or for what cannot be done, ends in.
_UNFILLED = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


class Prompts:
    """Fills one template: the user's (a file, or one of ours), else the benchmark's, else the general one.

    `file`: where an agent is to leave its program. A model is asked for a fenced block.
    """

    def __init__(
        self, template: str = "", *, benchmark: str = "", language: str = "c++", file: str = ""
    ) -> None:
        self._language, self._file = find(language), file
        ours = _own_names()
        default = template or (benchmark if benchmark in ours else _DEFAULT)
        named = template in ours or not template
        self._where, self._template = open_template("" if named else template, f"{default}{_SUFFIX}")

    def __call__(self, problem: Problem) -> str:
        if problem.statement is None:
            raise InputError(
                f"problem {problem.id!r} has no statement, so it cannot be put into a prompt",
                where=problem.source or problem.id,
                remedy="Add statement.md to the package (a PDF is not read), or choose other problems",
            )
        limits = problem.limits
        # Those that a program built with a grader includes, by name.
        headers = {
            PurePosixPath(file.name).name: file.content.read().decode(errors="replace").strip()
            for file in problem.grader_files
            if file.name.endswith(_HEADERS)
        }
        words = {
            "problem": problem,
            "statement": problem.statement.read().decode(errors="replace").strip(),
            "language": self._language.name,
            "file": self._file,
            "tag": _TAGS.get(self._language.name, self._language.name),
            "seconds": limits.cpu_time,
            "megabytes": None if limits.memory is None else limits.memory >> 20,
            "starter_code": problem.starter_code.strip(),
            "function": problem.options.function if problem.task_type is TaskType.FUNCTION else "",
            "input_file": problem.options.input_file,
            "output_file": problem.options.output_file,
            "headers": headers,
            "with_grader": problem.options.with_grader,
        }
        return filled(self._template, words, self._where)


def filled(template: jinja2.Template, words: Mapping[str, Any], where: str) -> str:
    """Return a template's text. InputError where it asks for what is not there."""
    try:
        return template.render(words).strip() + "\n"
    except _UNFILLED as error:
        remedy = "Mend it, and try it with ioi_eval.runs.authors.prompts_of(...)"
        raise InputError(f"the template cannot be filled: {error}", where=where, remedy=remedy) from error


def open_template(path: str, default: str) -> tuple[str, jinja2.Template]:
    """Return the name and the template of a file, or where none is named that of ours."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER, encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # what a model reads is no HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )
    if not path:
        return default.removesuffix(_SUFFIX), environment.get_template(default)
    where = str(Path(path))
    try:
        with readable(where, f"Name a file, or one of {', '.join(_own_names())}"):
            return path, environment.from_string(Path(path).read_text(encoding="utf-8"))
    except (jinja2.TemplateError, UnicodeDecodeError) as error:
        remedy = "Write it as Jinja and in UTF-8"
        raise InputError(f"is not a template: {error}", where=where, remedy=remedy) from error


def _own_names() -> list[str]:
    return sorted(path.name.removesuffix(_SUFFIX) for path in _FOLDER.glob(f"[!_]*{_SUFFIX}"))
