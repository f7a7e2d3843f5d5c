"""The YAML file of `ioi-eval run`: every key checked, flags put over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ioi_eval.errors import InputError
from ioi_eval.models import Value
from ioi_eval.problems.fields import nearest


class ModelConfig(Value):
    name: str = ""
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    system: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    attempts: int = 6
    requests_per_minute: float | None = None
    extra: Mapping[str, Any] = {}


class BudgetConfig(Value):
    tokens: int | None = None
    money: float | None = None
    input_price: float | None = None
    output_price: float | None = None


class Config(Value):
    """What a run is to do. `ioi-eval init` writes these with comments."""

    benchmark: str = "apps"
    sample_size: int | None = None
    seed: int = 0
    tasks: tuple[str, ...] = ()
    filter_difficulty: tuple[str, ...] = ()
    dataset: str = ""
    split: str = ""
    revision: str = ""
    data_dir: str = ""
    model: ModelConfig = ModelConfig()
    command: str = ""
    samples: int = 1
    language: str = ""
    prompt: str = ""
    timeout_seconds: float = 300.0
    concurrency: int = 8
    budget: BudgetConfig = BudgetConfig()
    engine: str = ""
    time_limit: float | None = None
    out: str = ""


def read_config(path: Path | None, flags: Mapping[str, Any]) -> Config:
    """The file's values, and over them those that flags give. `model.name` names a value within `model`."""
    values = {} if path is None else _read(path)
    where = "the command line" if path is None else str(path)
    for name, value in flags.items():
        if value not in (None, [], ()):
            _put(values, name.split("."), value, where)
    try:
        return _checked(msgspec.convert(values, Config, strict=True), where)
    except msgspec.ValidationError as error:
        raise InputError(*_problem_of(error, where)) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"is no YAML: {' '.join(str(error).split())}", where=str(path)) from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InputError("expected keys and values", where=str(path), remedy="`ioi-eval init` writes one")
    for names, fields in _keys(values):
        _check_known(names, fields, str(path))
    return values


def _keys(values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    yield ("", *map(str, values)), Config.__struct_fields__
    for name, kind in (("model", ModelConfig), ("budget", BudgetConfig)):
        if isinstance(values.get(name), Mapping):
            yield (f"{name}.", *map(str, values[name])), kind.__struct_fields__


def _check_known(names: tuple[str, ...], known: tuple[str, ...], where: str) -> None:
    above, *keys = names
    for key in keys:
        if key not in known:
            raise InputError(
                f"unknown key {above + key!r}", where=where, field=above + key, remedy=nearest(key, known)
            )


def _put(values: dict[str, Any], path: list[str], value: Any, where: str) -> None:
    for name in path[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise InputError("expected keys and values", where=where, field=name)
    values[path[-1]] = value


def _problem_of(error: msgspec.ValidationError, where: str) -> tuple[Any, ...]:
    text, _, place = str(error).partition(" - at `$.")
    return (f"{place.rstrip('`') or 'the file'}: {text[:1].lower()}{text[1:]}", where)


def _checked(config: Config, where: str) -> Config:
    positive = {
        "samples": config.samples,
        "concurrency": config.concurrency,
        "timeout_seconds": config.timeout_seconds,
        "sample_size": config.sample_size,
        "time_limit": config.time_limit,
        "model.attempts": config.model.attempts,
    }
    for name, value in positive.items():
        if value is not None and value <= 0:
            raise InputError(f"{value:g} is not above 0", where=where, field=name)
    return config


def template() -> str:
    """What `ioi-eval init` writes."""
    return (Path(__file__).parent / "config.yaml").read_text()
