"""Values that a shell completes: benchmarks and paths, engines, comparisons, languages and other names.

Values from a fixed list, such as values of `--mode`, are completed by Typer itself.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from typer.models import ArgumentInfo, OptionInfo

Completer = Callable[[str], list[str]]


def add_completions(function: Callable[..., None]) -> None:
    """Set the completion of a command's options and arguments for which this module has a completion."""
    signature = inspect.signature(function, eval_str=True)
    function.__signature__ = signature  # type: ignore[attr-defined]  # or Typer evaluates strings again
    keys: list[str] = []
    for name, parameter in signature.parameters.items():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(info, ArgumentInfo):
                info.autocompletion = _ARGUMENTS.get(str(info.metavar))
            elif isinstance(info, OptionInfo) and info.metavar != "DIR":  # the shell completes DIR itself
                # In an annotation, Typer stores the first name of an option as the default.
                names = [info.default, *(info.param_decls or ())]
                flags = [name for name in names if isinstance(name, str) and name.startswith("--")]
                flag = [*flags, f"--{name.replace('_', '-')}"][0]
                if info.hidden:
                    keys.append(flag[2:].partition("/")[0])
                # The option `--set` comes last, so `keys` already contains all keys.
                info.autocompletion = _make_key_completer(keys) if flag == "--set" else _OPTIONS.get(flag)


def _make_key_completer(keys: Sequence[str]) -> Completer:
    """Return a function that completes KEY=VALUE."""

    def complete_key(incomplete: str) -> list[str]:
        key, equals, value = incomplete.partition("=")
        if not equals:
            return _filter_by_prefix(incomplete, (f"{key}=" for key in keys))
        complete_value = _OPTIONS.get(f"--{key}")
        return (
            [f"{key}={candidate}" for candidate in complete_value(value)]
            if complete_value is not None
            else []
        )

    return complete_key


def _complete_problem_source(incomplete: str) -> list[str]:
    """Complete a source of problems: a benchmark's name or a path."""
    from ioi_eval.benchmarks import benchmarks

    source_names = sorted(benchmark.name for benchmark in benchmarks())
    return [*_filter_by_prefix(incomplete, source_names), *_complete_path(incomplete)]


def _complete_engine(incomplete: str) -> list[str]:
    """Complete an engine, which may be a file with addresses: `@FILE`."""
    from ioi_eval.engines.piston.discovery import KUBERNETES, SLURM
    from ioi_eval.engines.registry import EMBEDDED, RAY
    from ioi_eval.registries import Registry, list_entry_names

    if incomplete.startswith("@"):
        return [f"@{path}" for path in _complete_path(incomplete[1:])]
    engine_names = dict.fromkeys((EMBEDDED, RAY, f"{RAY}://", SLURM, KUBERNETES, "@", "http://", "https://"))
    engine_names.update(dict.fromkeys(list_entry_names(Registry.ENGINES)))
    return _filter_by_prefix(incomplete, engine_names)


def _complete_comparison(incomplete: str) -> list[str]:
    from ioi_eval.model.values import CheckerKind

    return _filter_by_prefix(incomplete, (kind.value for kind in CheckerKind if not kind.is_program))


def _complete_language(incomplete: str) -> list[str]:
    from ioi_eval.model.languages import LANGUAGES

    return _filter_by_prefix(incomplete, (language.name for language in LANGUAGES))


def _complete_python_packages(incomplete: str) -> list[str]:
    from ioi_eval.model.languages import MODULES

    return _complete_last_item(incomplete, ("none", *sorted(MODULES)))


def _complete_columns(incomplete: str) -> list[str]:
    from ioi_eval.cli.options import COLUMN_NAMES

    return _complete_last_item(incomplete, (f"{name}=" for name in COLUMN_NAMES))


def _complete_code_repairs(incomplete: str) -> list[str]:
    from ioi_eval.cli.options import REPAIR_NAMES

    return _complete_last_item(incomplete, REPAIR_NAMES)


def _complete_interpreter(incomplete: str) -> list[str]:
    from ioi_eval.engines.environment import CALLER

    return [*_filter_by_prefix(incomplete, (CALLER,)), *_complete_path(incomplete)]


def _filter_by_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _complete_last_item(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete the last name of a list with commas."""
    prefix, comma, last_item = incomplete.rpartition(",")
    return [prefix + comma + name for name in _filter_by_prefix(last_item, names)]


def _complete_path(incomplete: str) -> list[str]:
    """Return the files and folders that start with `incomplete`. Folders have a slash as suffix.

    A folder that is the only match is followed by its content, so that the shell adds no space to it.
    """
    parent, name_start = os.path.split(incomplete)
    try:
        children = sorted(Path(parent).expanduser().iterdir() if parent else Path().iterdir())
    except OSError:
        return []
    matches = [
        incomplete[: len(incomplete) - len(name_start)] + entry.name + ("/" if entry.is_dir() else "")
        for entry in children
        if entry.name.startswith(name_start) and (name_start or not entry.name.startswith("."))
    ]
    if len(matches) == 1 and matches[0].endswith("/"):
        return _complete_path(matches[0]) or matches
    return matches


_ARGUMENTS: dict[str, Completer] = {"SOURCE": _complete_problem_source, "SOLUTIONS": _complete_problem_source}
_OPTIONS: dict[str, Completer] = {
    "--allow-language": _complete_language,
    "--checker": _complete_comparison,
    "--columns": _complete_columns,
    "--engine": _complete_engine,
    "--language": _complete_language,
    "--packages": _complete_python_packages,
    "--problems": _complete_problem_source,
    "--python": _complete_interpreter,
    "--repair": _complete_code_repairs,
}
