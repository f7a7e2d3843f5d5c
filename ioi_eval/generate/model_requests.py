"""Requests to an author of programs, replies, budgets, and prompts from templates."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Protocol

import jinja2
import msgspec

from ioi_eval.model.errors import InputError, IoiEvalError
from ioi_eval.model.languages import find_language
from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.retry import MODEL
from ioi_eval.model.values import Problem, TaskType, Value
from ioi_eval.store.files import convert_read_errors

_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class GenerationFailed(IoiEvalError):
    """Raised if the model's server or the agent returned no reply. The next call asks again."""


class OutOfBudget(IoiEvalError):
    """Raised if the budget is spent. No further requests are sent."""


class ModelRequest(Value):
    """A request for one program for one problem."""

    key: str
    problem_id: str
    prompt: str
    language: str
    number: int  # number of the request among the requests for the problem
    year: int | None = None
    earlier: tuple[tuple[str, str], ...] = ()  # messages before the prompt, as (role, content)


class Sampling(Value):
    """Sampling options for the model. `None` leaves an option to the model's server."""

    temperature: Annotated[
        _Amount | None,
        CliOption(typed=float, metavar="T", help="Sampling temperature of the model.", key_only=True),
    ] = None
    top_p: _Amount | None = None
    max_tokens: Annotated[
        Count | None, CliOption(metavar="N", help="Maximum number of tokens in one reply.", key_only=True)
    ] = None
    seed: int | None = None  # seed of the first sample; it increases by 1 for each sample
    extra: Mapping[str, Any] = {}  # further fields of the request to the server


class ModelOptions(Value):
    """A model, its server, and how requests are sent."""

    name: Annotated[str, CliOption(name="model", short="m", metavar="NAME", help="Name of the model.")]
    base_url: Annotated[
        str, CliOption(metavar="URL", help="URL of the model's server, without /chat/completions.")
    ]
    system: str = ""  # text of the system message before the prompt; empty for no system message
    sampling: Sampling = Sampling()
    timeout: float = 600.0  # maximum seconds until a reply is complete
    attempts: Count = MODEL.max_attempts
    requests_per_minute: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    pause: float = MODEL.first_wait  # seconds before the second attempt; doubled before each further attempt


class GeneratedReply(Value):
    """A reply to a request."""

    generation: str
    reasoning: str = ""
    code: str | None = None  # program, if the author of the reply returns it separately, as agents do
    language: str = ""  # language of the program, if it is not the language of the request
    stop_reason: str = ""
    usage: Mapping[str, Any] = {}
    cost: float | None = None  # cost of the reply in the currency of the prices, if prices are known
    settings: Mapping[str, Any] = {}  # settings of the model for this request, including the seed


class Author(Protocol):
    """An author of programs: a model or an agent."""

    @property
    def name(self) -> str:
        """Return the author's name."""

    async def write(self, request: ModelRequest) -> GeneratedReply:
        """Return the reply to a request.

        Raises:
            GenerationFailed: There is no reply; the next call may succeed.
            OutOfBudget: The budget is spent.
            InputError: The request can never succeed, for example because of a wrong address.
        """


def make_requests(
    problems: Iterable[tuple[Problem, str]], make_prompt: Callable[[Problem, str], str], *, samples: int
) -> tuple[ModelRequest, ...]:
    """Return `samples` requests for each problem and language, ordered by sample number.

    `make_prompt` returns the prompt for a problem and a language.
    """
    prompts = [(problem, language, make_prompt(problem, language)) for problem, language in problems]
    return tuple(
        ModelRequest(
            key=sample_key(problem, number),
            problem_id=problem.id,
            year=problem.year,
            prompt=prompt,
            language=language,
            number=number,
        )
        for number in range(samples)
        for problem, language, prompt in prompts
    )


def sample_key(problem: Problem, sample_number: int) -> str:
    """Return the key of a problem's sample, such as `sum@2024#0`."""
    year = "" if problem.year is None else f"@{problem.year}"
    return f"{problem.id}{year}#{sample_number}"


def fingerprint(requests: Iterable[ModelRequest], author: str, settings: Mapping[str, Any]) -> str:
    """Return a hash of the requests, the author and its settings."""
    hashed_values = [
        author,
        settings,
        [(request.key, request.prompt, request.language) for request in requests],
    ]
    return hashlib.sha256(msgspec.json.encode(hashed_values, order="deterministic")).hexdigest()


_MILLION = 1_000_000
# Minimum characters per token, to estimate the number of tokens if a server does not report it.
_MIN_TOKEN_CHARACTERS = 3
_INPUT_TOKENS, _OUTPUT_TOKENS = "prompt_tokens", "completion_tokens"


class BudgetOptions(Value):
    """Limits on spending, and prices for a million tokens in any currency. `None` means no limit."""

    tokens: Count | None = None
    money: _Amount | None = None
    input_price: _Amount | None = None
    output_price: _Amount | None = None


class BudgetTracker:
    """Counts tokens and cost. Running requests may exceed the budget, because they are finished."""

    def __init__(self, options: BudgetOptions | None = None) -> None:
        self._options = options or BudgetOptions()
        self.used_tokens, self.spent_money = 0, 0.0

    def check_budget(self) -> None:
        """Raise OutOfBudget if the budget is spent. Call it before each request."""
        options = self._options
        if options.tokens is not None and self.used_tokens >= options.tokens:
            raise OutOfBudget(
                f"the budget of {options.tokens} tokens is used up ({self.used_tokens} were used)"
            )
        if options.money is not None and self.spent_money >= options.money:
            raise OutOfBudget(
                f"the money budget of {options.money:g} is used up ({self.spent_money:.4g} were spent)"
            )

    def add_missing_usage(
        self, reported_counts: Mapping[str, Any], *, prompt_characters: int, reply_characters: int
    ) -> Mapping[str, Any]:
        """Return a server's token counts. If there is a budget or a price, estimate missing counts.

        `prompt_characters` and `reply_characters` are the characters of the prompt and of the reply.
        """
        character_counts = (
            {_INPUT_TOKENS: prompt_characters, _OUTPUT_TOKENS: reply_characters}
            if self._options != BudgetOptions()
            else {}
        )
        estimated_counts = {
            name: -(-size // _MIN_TOKEN_CHARACTERS)
            for name, size in character_counts.items()
            if size and not _read_token_count(reported_counts, name)
        }
        return (
            {**reported_counts, **estimated_counts, "estimated": True}
            if estimated_counts
            else reported_counts
        )

    def add_usage_and_get_cost(self, usage: Mapping[str, Any]) -> float | None:
        """Add the usage of a request to the totals. Return its cost, or None if no price is set."""
        input_tokens, output_tokens = (
            _read_token_count(usage, _INPUT_TOKENS),
            _read_token_count(usage, _OUTPUT_TOKENS),
        )
        self.used_tokens += input_tokens + output_tokens
        prices = self._options.input_price, self._options.output_price
        if prices == (None, None):
            return None
        request_cost = (input_tokens * (prices[0] or 0) + output_tokens * (prices[1] or 0)) / _MILLION
        self.spent_money += request_cost
        return request_cost


def _read_token_count(usage: Mapping[str, Any], name: str) -> int:
    """Return a token count, or 0 if it is missing or invalid."""
    value = usage.get(name)  # some gateways report numbers of tokens as floats such as 120.0
    return max(int(value), 0) if isinstance(value, int | float) and math.isfinite(value) else 0


# --- prompts -----------------------------------------------------------------------------------------

_SUFFIX = ".md.j2"
_DEFAULT = "default"
_HEADERS = (".h", ".hpp")
# Tags of fenced blocks for languages whose tag is not their name.
_FENCE_TAGS = {"c++": "cpp", "pypy": "python"}
_TEMPLATE_FOLDER = Path(__file__).parent / "templates"
# Exceptions that a template with missing values or invalid operations may raise.
_TEMPLATE_ERRORS = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


class Prompts:
    """Makes prompts from one template.

    The template is the user's (a file or the name of a built-in template), else the benchmark's, else the
    default template. `file` is the file into which an agent must write its program; a model must write a
    fenced block instead.
    """

    def __init__(
        self, template: str = "", *, benchmark: str = "", language: str = "c++", file: str = ""
    ) -> None:
        self._language, self._file = find_language(language), file
        builtin_names = _list_builtin_templates()
        default_name = template or (benchmark if benchmark in builtin_names else _DEFAULT)
        is_builtin = template in builtin_names or not template
        self._template_name, self._template = load_template(
            "" if is_builtin else template, f"{default_name}{_SUFFIX}"
        )

    def __call__(self, problem: Problem) -> str:
        """Return the prompt for a problem. A problem without a statement is an InputError."""
        if problem.statement is None:
            raise InputError(
                f"problem {problem.id!r} has no statement, so it cannot be put into a prompt",
                where=problem.source or problem.id,
                remedy="Add statement.md to the package (a PDF is not read), or choose other problems",
            )
        limits = problem.limits
        # Headers that programs may include if they are built with a grader, by name.
        header_texts = {
            PurePosixPath(file.name).name: file.content.read().decode(errors="replace").strip()
            for file in problem.grader_files
            if file.name.endswith(_HEADERS)
        }
        template_values = {
            "problem": problem,
            "statement": problem.statement.read().decode(errors="replace").strip(),
            "language": self._language.name,
            "file": self._file,
            "tag": _FENCE_TAGS.get(self._language.name, self._language.name),
            "seconds": limits.cpu_time,
            "megabytes": None if limits.memory is None else limits.memory >> 20,
            "starter_code": problem.starter_code.strip(),
            "function": problem.options.function if problem.task_type is TaskType.FUNCTION else "",
            "input_file": problem.options.input_file,
            "output_file": problem.options.output_file,
            "headers": header_texts,
            "with_grader": problem.options.with_grader,
        }
        return render_template(self._template, template_values, self._template_name)


def render_template(template: jinja2.Template, values: Mapping[str, Any], template_name: str) -> str:
    """Return the rendered template. A template that uses missing values is an InputError."""
    try:
        return template.render(values).strip() + "\n"
    except _TEMPLATE_ERRORS as error:
        remedy = "Correct the template, and try it with ioi_eval.runs.authors.create_prompts(...)"
        raise InputError(
            f"the prompt template cannot be filled: {error}", where=template_name, remedy=remedy
        ) from error


def load_template(path: str, builtin_file: str) -> tuple[str, jinja2.Template]:
    """Return the name and the template in the file `path`, or the built-in template `builtin_file`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATE_FOLDER, encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # prompts are not HTML, so nothing is escaped
        trim_blocks=True,
        lstrip_blocks=True,
    )
    if not path:
        return builtin_file.removesuffix(_SUFFIX), environment.get_template(builtin_file)
    template_path = str(Path(path))
    try:
        with convert_read_errors(
            template_path, f"Name a file, or one of {', '.join(_list_builtin_templates())}"
        ):
            return path, environment.from_string(Path(path).read_text(encoding="utf-8"))
    except (jinja2.TemplateError, UnicodeDecodeError) as error:
        remedy = "Write the template in Jinja and in UTF-8"
        raise InputError(
            f"the file is not a valid template: {error}", where=template_path, remedy=remedy
        ) from error


def _list_builtin_templates() -> list[str]:
    """Return the names of the built-in templates."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in _TEMPLATE_FOLDER.glob(f"[!_]*{_SUFFIX}"))
