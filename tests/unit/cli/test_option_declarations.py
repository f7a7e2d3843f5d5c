"""An option is declared once, and its help, bounds and messages are derived."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from ioi_eval.cli import console, list_commands, load_command
from ioi_eval.cli.config import KEYS, OPTIONS
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.errors import InputError
from ioi_eval.model.options import CliOption, Count
from ioi_eval.models import Value


def test_replacements_in_messages_contain_no_option_of_flags() -> None:
    for name in list_commands():
        load_command(name)
    for argument, replacement in console.REPLACEMENTS.items():
        name, _, value = argument.partition("=")
        flag = console.FLAGS.get(name)
        assert replacement != (flag if value in ("True", "...") else f"{flag} {value}"), argument


def test_config_key_options_use_metavar_and_help_of_fields() -> None:
    assert OPTIONS.keys() <= KEYS.keys()
    own_fields = {
        option.field for option in OPTIONS.values() if option.cli_option.metavar and option.cli_option.help
    }
    assert {"samples", "model.name", "command", "turns", "tasks", "timeout_seconds"} <= own_fields


class Brewing(Value):
    cups: Annotated[Count, CliOption(metavar="N", help="Cups of tea.")] = 2


class Steeping(Value):
    minutes: Annotated[
        Annotated[float, msgspec.Meta(gt=0, lt=60)] | None, CliOption(metavar="M", help="How long.")
    ] = None
    degrees: Annotated[
        Annotated[float, msgspec.Meta(gt=0)], CliOption(minimum=20, metavar="C", help="How hot.")
    ] = 90.0
    grams: Annotated[float, CliOption(metavar="G", help="How much tea.")] = 2.0


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--minutes=-5", "-5.0 is not more than 0"),
        ("--minutes=0", "0.0 is not more than 0"),
        ("--minutes=60", "60.0 is not less than 60"),
        ("--minutes=nan", "nan is not a finite number"),
        ("--degrees=0.5", ""),
        ("--degrees=-inf", ""),
        ("--grams=nan", "nan is not a finite number"),
        ("--grams=inf", "inf is not a finite number"),
    ],
)
def test_option_enforces_bounds_of_its_field(
    monkeypatch: pytest.MonkeyPatch, typed: str, message: str
) -> None:
    monkeypatch.setattr(console, "FLAGS", dict(console.FLAGS))
    app, steeped = typer.Typer(rich_markup_mode=None), []

    @app.command()
    @command("  tea --minutes 3")
    def tea(steeping: Annotated[Steeping, OptionGroup("Tea")]) -> None:
        """Make tea."""
        steeped.append(steeping)

    run = CliRunner().invoke
    assert run(app, ["--minutes=59.5"]).exit_code == 0 and steeped == [Steeping(minutes=59.5)]
    assert run(app, []).exit_code == 0 and steeped[1:] == [Steeping()]
    refused = run(app, [typed])
    assert refused.exit_code == 2 and f"{typed.partition('=')[0]}': {message}" in refused.output


def test_option_field_adds_option_help_and_name_in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "FLAGS", dict(console.FLAGS))
    app, brewed = typer.Typer(), []

    @app.command()
    @command("  tea --cups 3")
    def tea(brewing: Annotated[Brewing, OptionGroup("Tea")]) -> None:
        """Make tea."""
        brewed.append(brewing)

    run = CliRunner().invoke
    assert run(app, ["--cups", "3"]).exit_code == 0 and brewed == [Brewing(cups=3)]
    assert run(app, ["--cups", "0"]).exit_code == 2
    shown = run(app, ["--help"]).output
    assert "--cups" in shown and "Cups of tea." in shown and "2" in shown
    assert console.replace_arguments_by_options("Give cups=... or cups=N") == "Give --cups or --cups N"
    assert console.format_input_error(InputError("too many", field="cups")) == "--cups: too many"
