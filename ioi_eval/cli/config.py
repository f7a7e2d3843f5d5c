"""The YAML file of `ioi-eval run`. Every key is checked, and options win over the file."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml
from msgspec.structs import asdict, replace

from ioi_eval.benchmarks.benchmark import mebibytes_to_bytes
from ioi_eval.cli import console
from ioi_eval.cli.groups import DeclaredOption, find_declared_options
from ioi_eval.cli.options import SOURCE_HELP
from ioi_eval.generate.turns import Feedback, TurnRules, Turns
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import suggest_names
from ioi_eval.model.languages import read_packages
from ioi_eval.model.options import CliOption
from ioi_eval.model.secret import is_secret_name
from ioi_eval.model.values import Value
from ioi_eval.runs import AgentOptions, Asking, BenchmarkOptions, BudgetOptions, ModelOptions, Sampling

_BASE_URL, _MODEL = "OPENAI_BASE_URL", "OPENAI_MODEL"
_Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
_TEMPLATE_REMEDY = "`ioi-eval new --type config` writes a file to start from"


class Config(Value):
    """The configuration of a run. `KEYS` maps the keys of the file to its fields."""

    benchmark: Annotated[str, CliOption(short="b", metavar="SOURCE", help=SOURCE_HELP)] = "apps"
    choice: BenchmarkOptions = BenchmarkOptions()
    model: ModelOptions = ModelOptions(name="", base_url="")
    api_key_env: str = "OPENAI_API_KEY"
    agent: AgentOptions = AgentOptions(command="")
    asking: Asking = Asking()
    timeout_seconds: Annotated[
        _Positive,
        CliOption(
            name="timeout",
            typed=float,
            metavar="S",
            help="Maximum time for one reply of the model, or for one run of the agent, in seconds.",
            key_only=True,
        ),
    ] = 300.0
    turns: Turns = Turns(number=1)
    rules: TurnRules = TurnRules()
    budget: BudgetOptions = BudgetOptions()
    engine: str = ""
    out: str = ""


def _map_keys_to_paths(prefix: str, path: str, struct_type: type[Value], **renamed: str) -> dict[str, str]:
    """Return the path in `Config` of each field of a type, by the field's key in the file.

    `renamed`: keys that differ from their field's name, by field.
    """
    return {prefix + renamed.get(name, name): f"{path}.{name}" for name in struct_type.__struct_fields__}


_RENAMED = {"sample": "sample_size", "problems": "tasks", "difficulty": "filter_difficulty"}
_MODEL_FIELDS = ("name", "base_url", "system", "attempts", "requests_per_minute")
# Path in `Config` of each key in the file. `ioi-eval new --type config` describes the keys.
KEYS: Mapping[str, str] = {
    **{name: name for name in ("benchmark", "timeout_seconds", "engine", "out")},
    **_map_keys_to_paths("", "choice", BenchmarkOptions, **_RENAMED),
    **_map_keys_to_paths("", "asking", Asking),
    "command": "agent.command",
    "turns": "turns.number",
    "feedback": "rules.feedback",
    "feedback_prompt": "turns.template",
    **{f"model.{name}": f"model.{name}" for name in _MODEL_FIELDS},
    **_map_keys_to_paths("model.", "model.sampling", Sampling),
    "model.api_key_env": "api_key_env",
    **_map_keys_to_paths("budget.", "budget", BudgetOptions),
}
_KEYS_BY_PATH = {place: key for key, place in KEYS.items()}
_COUNTS = frozenset({"first", "sample_size"})
# Changes to the `CliOption` of a field for `ioi-eval run`, by the key of the field.
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "benchmark": {"name": "problems", "short": "", "also": ("-b", "--benchmark")},
    "first": {"name": "limit", "also": ("--first",)},
    "sample_size": {
        "also": ("-n",),
        "help": "Only N problems, drawn by a seed; --limit takes the first N. `sample_size` of the file.",
    },
    "tasks": {"also": ("-t", "--task")},
    "filter_difficulty": {"also": ("--filter-difficulty",)},
    "feedback": {"unset": Feedback.FULL.value},
}


def _find_config_options() -> Iterator[DeclaredOption]:
    """Yield the options of all fields of `Config`, with their keys as field names."""
    inner_types = {name: type(value) for name, value in asdict(Config()).items() if isinstance(value, Value)}
    types_by_path: dict[str, type[Value]] = {"": Config, **inner_types, "model.sampling": Sampling}
    for path, kind in types_by_path.items():
        for option in find_declared_options(kind):
            key = _KEYS_BY_PATH.get(f"{path}.{option.field}".lstrip("."))
            if key is not None:
                option_changes = {"name": option.name, **_CHANGES.get(key, {})}
                yield option.with_changes(**option_changes)._replace(field=key)


OPTIONS: Mapping[str, DeclaredOption] = {each.field: each for each in _find_config_options()}


def read_config(path: Path | None, flags: Mapping[str, Any]) -> Config:
    """Return the configuration from a file and from options, which win over the file.

    Args:
        path: the file. `None` means no file.
        flags: the values of options, by key.

    Raises:
        InputError: if the file or a value is invalid.
    """
    values = {} if path is None else _read_file(path)
    where = "the command line" if path is None else str(path)
    given_flags = {name: value for name, value in flags.items() if value not in (None, [], frozenset())}
    _check_url_for_secrets(given_flags)
    # An agent's command in the file is ignored if the command line has an option for a model.
    if given_flags.keys() & {"model.name", "model.base_url"}:
        if given_flags.get("command"):
            problem = "a model and the command of an agent cannot both be given"
            raise InputError(problem, field="--command", remedy="Remove the model or the command")
        values.pop("command", None)
    # An option for the number of problems overrides all keys for this number in the file.
    if given_count_flags := given_flags.keys() & _COUNTS:
        values = {name: value for name, value in values.items() if name not in _COUNTS - given_count_flags}
    values |= given_flags
    with name_option_in_errors(given_flags):
        config_values: dict[str, Any] = msgspec.to_builtins(Config())
        for key, value in values.items():
            *parents, name = KEYS[key].split(".")
            functools.reduce(operator.getitem, parents, config_values)[name] = value
        try:
            config = msgspec.convert(config_values, Config, strict=True)
        except msgspec.ValidationError as error:
            message, _, field_path = str(error).partition(" - at `$.")
            field_path = re.sub(
                r"^[\w.]+", lambda found: _KEYS_BY_PATH.get(found[0], found[0]), field_path
            ).rstrip("`")
            raise InputError(
                f"{message[:1].lower()}{message[1:]}",
                where=where,
                field=field_path,
                remedy=_suggest_choice(field_path, values.get(field_path)),
            ) from error
        _check_values(config, where)
    return config


def _suggest_choice(key: str, value: object) -> str:
    """Return a remedy that suggests values of a key with a fixed list of values, else an empty string."""
    kind = OPTIONS[key].argument_type if key in OPTIONS else None
    if not isinstance(kind, type) or not issubclass(kind, Enum):
        return ""
    return suggest_names(str(value), [member.value for member in kind])


@contextmanager
def name_option_in_errors(flags: Mapping[str, Any], file: Path | None = None) -> Iterator[None]:
    """In an InputError about a value, name its option, otherwise the file and its key."""
    try:
        yield
    except InputError as error:
        if error.field == "choice":
            given_filters = (name for name in ("filter_difficulty", "tasks") if flags.get(name))
            error = error.with_details(field=next(given_filters, "benchmark"))
        field_path = error.field.partition("[")[0]
        key = _KEYS_BY_PATH.get(field_path, field_path)
        if not flags.get(key):
            config_file = file if field_path in _KEYS_BY_PATH else None
            raise error.with_details(
                field=_KEYS_BY_PATH.get(field_path), where=error.where or str(config_file or "")
            ) from error
        label = OPTIONS[key].label if key in OPTIONS else f"--{key}"
        raise console.add_option_name(error.with_details(where=""), label) from error


def _check_url_for_secrets(flags: Mapping[str, Any]) -> None:
    """Raise InputError for a key or password on the command line, which all users can see."""
    address = str(flags.get("model.base_url", ""))
    names = re.findall(r"[?&]([^=&]*)=", address)
    if "@" in address or any(name == "key" or is_secret_name(name) for name in names):
        remedy = "Put such an address into OPENAI_BASE_URL or into the file"
        problem = "every user of this machine could read the secret in a command line"
        raise InputError(problem, field="--base-url", remedy=remedy)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge `<<` without duplicate keys: nested merges of a few lines could fill the memory otherwise."""
        super().flatten_mapping(node)
        node.value = list({getattr(key, "value", key): (key, value) for key, value in node.value}.values())


def _read_file(path: Path) -> dict[str, Any]:
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        remedy = _TEMPLATE_REMEDY if isinstance(error, FileNotFoundError) else ""
        raise InputError(
            f"the file cannot be read ({error.strerror or error})", where=str(path), remedy=remedy
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        # The message contains the position of the error, but not the line itself, which may contain a secret.
        error_position = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        if not isinstance(error, yaml.MarkedYAMLError) or error_position is None:
            problem = f"is not YAML ({type(error).__name__})"
            raise InputError(problem, where=str(path), remedy=_TEMPLATE_REMEDY) from None
        problem = f"is not YAML: {error.problem}"
        raise InputError(
            problem, where=str(path), row=error_position.line + 1, remedy=_TEMPLATE_REMEDY
        ) from None
    except ValueError:  # the original error is dropped, because its message may contain a secret
        problem = "contains an invalid date or number"
        raise InputError(problem, where=str(path), remedy="Write dates as 2024-05-31") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InputError("the file must contain keys and values", where=str(path), remedy=_TEMPLATE_REMEDY)
    flat_values: dict[str, Any] = {}
    for name, value in values.items():
        if name not in ("model", "budget"):
            flat_values[str(name)] = value.isoformat() if isinstance(value, date) else value
        elif isinstance(value, dict):
            flat_values |= {f"{name}.{key}": inner_value for key, inner_value in value.items()}
        elif value is not None:
            raise InputError("the value must be an object of keys and values", where=str(path), field=name)
    for key in flat_values:
        if key not in KEYS:
            # Suggest the full key if only its prefix is wrong, otherwise a similar key with this prefix.
            table, dot, name = key.rpartition(".")
            matching_paths = [dotted for dotted in KEYS if dotted.rpartition(".")[2] == name]
            sibling_paths = (dotted for dotted in KEYS if dotted.startswith(table + dot))
            sibling_keys = [
                *dict.fromkeys(dotted.removeprefix(table + dot).partition(".")[0] for dotted in sibling_paths)
            ]
            remedy = (
                f"Did you mean {matching_paths[0]!r}?"
                if matching_paths
                else suggest_names(name, sibling_keys)
            )
            raise InputError(f"unknown key {key!r}", where=str(path), remedy=remedy)
    # Ignore a key without a value, for example a key with only comments below it.
    values = {key: value for key, value in flat_values.items() if value is not None}
    match values.get("memory_limit"):
        case int() | float() as mebibytes if math.isfinite(mebibytes):
            values["memory_limit"] = mebibytes_to_bytes(mebibytes)
    match values.get("packages"):
        case str() as packages:
            values["packages"] = read_packages(packages)
    return values


def _check_values(config: Config, where: str) -> None:
    """Raise InputError for invalid values. The messages do not repeat secrets."""
    if not config.api_key_env.isidentifier():
        raise InputError(
            "the value is not a valid name of an environment variable",
            where=where,
            field="model.api_key_env",
            remedy="Name a variable here, and put the key into it: export OPENAI_API_KEY=...",
        )
    if (name := _find_secret_name(config.agent.command)) is not None:
        raise InputError(
            f"the command would reveal the value of {name} to other users and in the run's folder",
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


# Pattern of an HTTP header that contains a secret itself instead of the name of a variable.
_HEADER = re.compile(r"(authorization|(x-)?api-key): *((bearer|basic|token) +)?+\w", re.IGNORECASE)


def _find_secret_name(command: str) -> str | None:
    """Return the name of a variable, option or header in a command that contains a literal secret."""
    try:
        tokens = shlex.split(command)
    except ValueError:
        tokens = command.split()
    for token, next_token in itertools.pairwise([*tokens, ""]):
        name, equals, value = token.partition("=")
        value = value if equals else next_token if name.startswith("-") else ""
        if value and not value.startswith(("$", "-")) and is_secret_name(name.lstrip("-")):
            return name
    header_match = _HEADER.search(command)
    return header_match and header_match[1]


def choose_author(config: Config, environment: Mapping[str, str]) -> ModelOptions | AgentOptions:
    """Return the agent or the model. Environment variables are used for a missing name or address."""
    if config.agent.command:
        return replace(config.agent, timeout=config.timeout_seconds)
    model = config.model
    name, base_url = (
        model.name or environment.get(_MODEL, ""),
        model.base_url or environment.get(_BASE_URL, ""),
    )
    for value, field, variable in ((name, "model.name", _MODEL), (base_url, "model.base_url", _BASE_URL)):
        if not value:
            possible_sources = (
                f"{field} in the file, {OPTIONS[field].flag} or {variable}; or --command for an agent"
            )
            raise InputError(
                f"the {field.rpartition('.')[2]} of the model is missing", remedy=f"Give {possible_sources}"
            )
    return replace(model, name=name, base_url=base_url, timeout=config.timeout_seconds)
