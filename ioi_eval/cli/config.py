"""The YAML file of `ioi-eval run`: every key checked, flags put over it."""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.benchmarks.benchmark import in_bytes
from ioi_eval.cli.options import SOURCE_HELP
from ioi_eval.contest.rules import Feedback
from ioi_eval.generate import AgentOptions, BudgetOptions, ModelOptions, Sampling
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import nearest
from ioi_eval.model.modules import read_packages
from ioi_eval.model.options import Count, Said
from ioi_eval.model.secret import names_a_secret
from ioi_eval.model.values import Value
from ioi_eval.runs.authors import Asking

_BASE_URL, _MODEL = "OPENAI_BASE_URL", "OPENAI_MODEL"
_Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
_OURS = "`ioi-eval init` writes a file to start from"


class ModelConfig(Sampling):
    name: Annotated[str, Said(name="model", short="m", metavar="NAME", help="The model's name.")] = ""
    base_url: Annotated[str, Said(metavar="URL", help="The model's server, without /chat/completions.")] = ""
    api_key_env: str = "OPENAI_API_KEY"
    system: str = ""
    attempts: Count = 6
    requests_per_minute: _Positive | None = None


# What a file calls otherwise than benchmarks do.
KEYS: Mapping[str, str] = {"sample": "sample_size", "problems": "tasks", "difficulty": "filter_difficulty"}


class Config(BenchmarkOptions, kw_only=True):
    """The configuration of a run. `ioi-eval init` writes these keys with comments; memory is in MiB there."""

    benchmark: Annotated[str, Said(short="b", metavar="SOURCE", help=SOURCE_HELP)] = "apps"
    model: ModelConfig = ModelConfig()
    command: Annotated[str, Said(metavar="TEXT", help="Start this agent instead of asking a model.")] = ""
    samples: Annotated[Count, Said(metavar="N", help="Programs for each problem.")] = 1
    language: str = ""
    prompt: str = ""
    timeout_seconds: Annotated[
        _Positive,
        Said(name="timeout", typed=float, metavar="S", help="Seconds for a reply, or for the agent."),
    ] = 300.0
    concurrency: Annotated[Count, Said(metavar="N", help="Requests or agents at a time.")] = 8
    turns: Annotated[
        Count,
        Said(
            metavar="N",
            help="Programs that a model or an agent may submit for a problem, with feedback in between.",
        ),
    ] = 1
    feedback: Annotated[
        Feedback | None, Said(typed=Feedback, help="What it is told of each.", unset="full")
    ] = None
    feedback_prompt: Annotated[
        str, Said(metavar="PATH", help="The template of the message after a submission.", unset="ours")
    ] = ""
    budget: BudgetOptions = BudgetOptions()
    engine: str = ""
    out: str = ""


_FIELDS = {key: name for name, key in KEYS.items()}
_KNOWN = tuple(KEYS.get(name, name) for name in Config.__struct_fields__)
_FLAGS: Mapping[str, str] = {
    "benchmark": "problems",
    "first": "limit",
    "sample_size": "sample",
    "tasks": "problem",
    "filter_difficulty": "difficulty",
    "model.name": "model",
    "timeout_seconds": "timeout",
}  # others are called as keys are
_COUNTS = frozenset({"first", "sample_size"})
_INNER: Mapping[str, type[Value]] = {"model": ModelConfig, "budget": BudgetOptions}


def read_config(path: Path | None, flags: Mapping[str, Any]) -> Config:
    """The file's values, and over them those that flags give. `model.name` names a value within `model`."""
    values = {} if path is None else _read(path)
    where = "the command line" if path is None else str(path)
    given = {name: value for name, value in flags.items() if value not in (None, [], frozenset())}
    _check_flags(given)
    _choose_author(values, given)
    # How many problems: by the flag, without what a file says otherwise.
    if counts := given.keys() & _COUNTS:
        values = {name: value for name, value in values.items() if name not in _COUNTS - counts}
    for name, value in given.items():
        _put(values, name.split("."), value, where)
    with named_as_typed(given):
        try:
            named = {_FIELDS.get(name, name): value for name, value in values.items()}
            config = msgspec.convert(named, Config, strict=True)
        except msgspec.ValidationError as error:
            raise _wrong(error, where) from error
        _check(config, where)
    return config


@contextmanager
def named_as_typed(flags: Mapping[str, Any]) -> Iterator[None]:
    """Blame the flag for a wrong value, where a flag gave it."""
    try:
        yield
    except InputError as error:
        if error.field == "choice":
            filters = (name for name in ("filter_difficulty", "tasks") if flags.get(name))
            error = error.but(field=next(filters, "benchmark"))
        above, _, inner = error.field.partition(".")
        key = KEYS.get(inner, inner) if above == "choice" else None
        name = key or error.field.partition("[")[0]
        if not flags.get(name):
            raise error.but(field=key) from error
        raise error.but(where="", field=flag_of(name)) from error


def flag_of(name: str) -> str:
    return "--" + _FLAGS.get(name, name.rpartition(".")[2]).replace("_", "-")


def _check_flags(flags: Mapping[str, Any]) -> None:
    """Refuse a key or password on the command line, where a list of processes shows it."""
    address = str(flags.get("model.base_url", ""))
    names = re.findall(r"[?&]([^=&]*)=", address)
    if "@" in address or any(name == "key" or names_a_secret(name) for name in names):
        remedy = "Put such an address into OPENAI_BASE_URL or into the file"
        problem = "every user of this machine could read the secret in a command line"
        raise InputError(problem, field="--base-url", remedy=remedy)


def _choose_author(values: dict[str, Any], flags: Mapping[str, Any]) -> None:
    """A command wins over a model, but no command in a file over a model that a flag names."""
    named = flags.keys() & {"model.name", "model.base_url"}
    if named and flags.get("command"):
        raise InputError("a model or a command, not both", field="--command", remedy="Leave one of them out")
    if named:
        values.pop("command", None)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge `<<` without repeated keys: in a few lines that merge each other they fill the memory."""
        super().flatten_mapping(node)
        node.value = list({getattr(key, "value", key): (key, value) for key, value in node.value}.values())


def _read(path: Path) -> dict[str, Any]:
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        remedy = _OURS if isinstance(error, FileNotFoundError) else ""
        raise InputError(
            f"cannot be read ({error.strerror or error})", where=str(path), remedy=remedy
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _no_yaml(error, path) from None
    except ValueError:  # its words may hold a secret
        problem = "it holds a day or a number that does not exist"
        raise InputError(problem, where=str(path), remedy="Write days as 2024-05-31") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InputError("expected keys and values", where=str(path), remedy=_OURS)
    for above, keys, known in _keys(values):
        for key in map(str, keys):
            if key not in known:
                raise InputError(f"unknown key {above + key!r}", where=str(path), remedy=_meant(key, known))
    values = {
        name: value.isoformat() if isinstance(value, date) else value for name, value in _said(values).items()
    }
    match values.get("memory_limit"):
        case int() | float() as mebibytes if math.isfinite(mebibytes):
            values["memory_limit"] = in_bytes(mebibytes)
    match values.get("packages"):
        case str() as packages:
            values["packages"] = read_packages(packages)
    return values


def _no_yaml(error: Exception, path: Path) -> InputError:
    """Name the place of a syntax error, but not the line itself: it may hold a secret."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return InputError(f"is not YAML ({type(error).__name__})", where=str(path), remedy=_OURS)
    problem = f"is not YAML: {error.problem}"
    return InputError(problem, where=str(path), row=mark.line + 1, remedy=_OURS)


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """A key without a value, as one whose lines are all comments, says nothing."""
    said = {name: value for name, value in values.items() if value is not None}
    return {
        name: _said(value) if name in _INNER and isinstance(value, dict) else value
        for name, value in said.items()
    }


def _keys(values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], tuple[str, ...]]]:
    """Yield the path, the keys, and the known keys of each table."""
    yield "", values, _KNOWN
    for name, kind in _INNER.items():
        if isinstance(values.get(name), Mapping):
            yield f"{name}.", values[name], kind.__struct_fields__


def _meant(key: str, known: tuple[str, ...]) -> str:
    """The key where it belongs, else the nearest one."""
    places = [f"{name}.{key}" for name, kind in _INNER.items() if key in kind.__struct_fields__]
    places += [key] if key in _KNOWN else []
    return f"Did you mean {places[0]!r}?" if places else nearest(key, known)


def _put(values: dict[str, Any], path: list[str], value: Any, where: str) -> None:
    for name in path[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise InputError("expected keys and values", where=where, field=name)
    values[path[-1]] = value


def _wrong(error: msgspec.ValidationError, where: str) -> InputError:
    text, _, place = str(error).partition(" - at `$.")
    place = re.sub(r"^\w+", lambda found: KEYS.get(found[0], found[0]), place)
    return InputError(f"{text[:1].lower()}{text[1:]}", where=where, field=place.rstrip("`"))


def _check(config: Config, where: str) -> None:
    """Check the values beyond their types. Secrets that are refused are not repeated."""
    if not config.model.api_key_env.isidentifier():
        raise InputError(
            "is not the name of a variable",
            where=where,
            field="model.api_key_env",
            remedy="Name a variable here, and put the key into it: export OPENAI_API_KEY=...",
        )
    if (name := _secret_in(config.command)) is not None:
        raise InputError(
            f"other users and the run's folder would show the value of {name}",
            where=where,
            field="command",
            remedy="Export a variable first, and write $NAME here: an agent gets your environment",
        )
    prices = config.budget.input_price, config.budget.output_price
    if config.budget.money is not None and prices == (None, None):
        raise InputError(
            "a budget in money needs prices",
            where=where,
            field="budget.money",
            remedy="Set budget.input_price and budget.output_price, each for a million tokens",
        )


def _secret_in(command: str) -> str | None:
    """The name of what a shell would set or hand over, where it looks like a secret that is written out."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for word, after in itertools.pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        value = value if equals else after if name.startswith("-") else ""
        if value and not value.startswith(("$", "-")) and names_a_secret(name.lstrip("-")):
            return name
    return None


# --- what a use case takes ---------------------------------------------------------------------------


def choice_of(config: Config) -> BenchmarkOptions:
    return BenchmarkOptions(**{name: getattr(config, name) for name in BenchmarkOptions.__struct_fields__})


def asking_of(config: Config) -> Asking:
    return Asking(
        samples=config.samples,
        language=config.language,
        prompt=config.prompt,
        concurrency=config.concurrency,
    )


def author_of(config: Config, variables: Mapping[str, str]) -> ModelOptions | AgentOptions:
    """An agent, or a model; the environment may name the latter."""
    if config.command:
        return AgentOptions(command=config.command, timeout=config.timeout_seconds)
    model = config.model
    name, base_url = model.name or variables.get(_MODEL, ""), model.base_url or variables.get(_BASE_URL, "")
    for value, field, variable in ((name, "model.name", _MODEL), (base_url, "model.base_url", _BASE_URL)):
        if not value:
            where = f"{field} in the file, {flag_of(field)} or {variable}; or --command for an agent"
            raise InputError(f"no {field.rpartition('.')[2]} of a model is given", remedy=f"Give {where}")
    sampling = {field: getattr(model, field) for field in Sampling.__struct_fields__}
    return ModelOptions(
        name=name,
        base_url=base_url,
        system=model.system,
        sampling=Sampling(**sampling),
        timeout=config.timeout_seconds,
        attempts=model.attempts,
        requests_per_minute=model.requests_per_minute,
    )
