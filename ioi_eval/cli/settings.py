"""`ioi-eval.toml`: options of commands that a folder's runs have in common."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ioi_eval.cli import console
from ioi_eval.cli.console import SETTINGS_FILE
from ioi_eval.model.errors import InputError

_NOT_SET = frozenset({"help"})  # options that show a page and end


def option_values(
    options: Mapping[str, str], of_all_commands: Callable[[], Iterable[str]]
) -> Mapping[str, Any]:
    """Return the values that `ioi-eval.toml` in this folder has for a command's options; none if absent.

    Keys are options without their dashes, such as `time-factor = 2`; other commands' options are passed over.

    Args:
        options: The parameters of this command's options, by key.
        of_all_commands: Returns the keys of all commands' options. Called for a key of no option here.

    Raises:
        InputError: The file cannot be read, or a key is no option of any command.
    """
    try:
        with SETTINGS_FILE.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        remedy = 'Write one option a line, such as: engine = "http://10.0.0.7:2000"'
        raise InputError(f"no TOML ({error})", where=str(SETTINGS_FILE), remedy=remedy) from error
    taken = [key for key in values if key in options and key not in _NOT_SET]
    if others := values.keys() - taken:
        _check_keys(sorted(others), {*of_all_commands()} - _NOT_SET)
    if taken:
        console.tell(f"{SETTINGS_FILE} gives {', '.join(taken)}, where the command line does not")
    return {options[key]: values[key] for key in taken}


def _check_keys(keys: Iterable[str], known: Collection[str]) -> None:
    from ioi_eval.model.fields import near  # not for help

    for key in keys:
        if key not in known:
            meant = "".join(f". Did you mean {close}?" for close in near(key, known)[:1])
            remedy = f"Name an option of a command without its dashes{meant}"
            raise InputError("no such option", where=str(SETTINGS_FILE), field=key, remedy=remedy)
