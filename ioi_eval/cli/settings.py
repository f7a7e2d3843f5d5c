"""The file `ioi-eval.toml`: options for all commands that start in its folder."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ioi_eval.cli import console
from ioi_eval.cli.console import SETTINGS_FILE
from ioi_eval.model.errors import InputError

_NOT_SET = frozenset({"help", "set"})  # options that cannot be set as keys


def read_option_values(
    options: Mapping[str, str], list_all_keys: Callable[[], Iterable[str]]
) -> Mapping[str, Any]:
    """Return the values of a command's options in `ioi-eval.toml`, or {} if the file does not exist.

    Keys are options without their dashes, such as `time-factor = 2`. Options of other commands are ignored.

    Args:
        options: names of the command's parameters, by key.
        list_all_keys: returns the keys of all commands. It is called if the file has other keys.

    Raises:
        InputError: if the file is not TOML, or if a key is not an option of any command.
    """
    try:
        with SETTINGS_FILE.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        remedy = 'Write one option a line, such as: engine = "http://10.0.0.7:2000"'
        raise InputError(
            f"the file is not valid TOML ({error})", where=str(SETTINGS_FILE), remedy=remedy
        ) from error
    for key, value in values.items():
        if isinstance(value, dict):
            remedy = "Write its keys without the table: they hold for all commands that have them"
            raise InputError(
                "TOML tables are not allowed", where=str(SETTINGS_FILE), field=key, remedy=remedy
            )
    used_keys = [key for key in values if key in options and key not in _NOT_SET]
    if other_keys := values.keys() - used_keys:
        _check_keys(sorted(other_keys), {*list_all_keys()} - _NOT_SET)
    if used_keys:
        console.print_message(
            f"{SETTINGS_FILE} sets {', '.join(used_keys)} (unless given on the command line)"
        )
    return {options[key]: values[key] for key in used_keys}


def _check_keys(keys: Iterable[str], valid_keys: Collection[str]) -> None:
    from ioi_eval.model.fields import find_similar_names  # imported here, because help pages do not need it

    for key in keys:
        if key not in valid_keys:
            suggestion = "".join(
                f". Did you mean {similar_key}?" for similar_key in find_similar_names(key, valid_keys)[:1]
            )
            remedy = f"Name an option of a command without its dashes{suggestion}"
            raise InputError(
                "there is no option with this name", where=str(SETTINGS_FILE), field=key, remedy=remedy
            )
