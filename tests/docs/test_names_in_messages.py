"""Messages of the library name arguments, which the command line replaces by options of its commands."""

from __future__ import annotations

import re

from ioi_eval.cli import COMMANDS, console, load_command


def test_translated_options_exist() -> None:
    parameters = [parameter for name in COMMANDS for parameter in load_command(name).params]
    known_options = {
        option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)
    }
    shown = " ".join([*console.REPLACEMENTS.values(), *console.FIELDS.values(), *console.FLAGS.values()])
    assert set(re.findall(r"--[a-z][a-z-]*", shown)) <= known_options
