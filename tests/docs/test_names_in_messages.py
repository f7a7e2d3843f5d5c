"""Messages of the library name arguments, which the command line replaces by options of its commands."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import ioi_eval
from ioi_eval.cli import COMMANDS, console, load_command

PACKAGE = Path(ioi_eval.__file__).parent
# An argument in a message: fresh=True, out=FOLDER, problems=...
_ARGUMENT = re.compile(r"(?<![\w?])[a-z][a-z_]+=(?:True|False|[A-Z]{2,}\b|\.\.\.)")


@cache
def texts() -> list[tuple[str, str]]:
    """All strings of the library that can be in a message, each with its file."""
    strings = []
    for path in PACKAGE.rglob("*.py"):
        module_path = path.relative_to(PACKAGE).as_posix()
        if module_path.split("/")[0] in ("cli", "integrations", "_data"):
            continue
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        strings += [
            (module_path, node.value)
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
        ]
    return strings


def test_library_arguments_in_messages_are_translated_to_options() -> None:
    for name in COMMANDS:
        load_command(name)
    untranslated = [
        (module_path, argument)
        for module_path, message in texts()
        if " " in message and "=" in message
        for argument in _ARGUMENT.findall(
            re.sub(r"--(columns|set) [a-z-]+=", "", console.replace_arguments_by_options(message))
        )
    ]
    assert untranslated == []


def test_every_name_that_the_console_replaces_occurs_in_a_message() -> None:
    messages = [message for _, message in texts()]
    assert [
        name for name in console._REPLACEMENTS if not any(name.rstrip("/") in message for message in messages)
    ] == []


def test_translated_options_exist() -> None:
    parameters = [parameter for name in COMMANDS for parameter in load_command(name).params]
    known_options = {
        option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)
    }
    shown = " ".join([*console._REPLACEMENTS.values(), *console._FIELDS.values(), *console.FLAGS.values()])
    assert set(re.findall(r"--[a-z][a-z-]*", shown)) <= known_options
