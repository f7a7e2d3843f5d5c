"""`ioi-eval.toml` sets options that are absent from the command line."""

from __future__ import annotations

import json

import pytest
from support.command_line import RIGHT, ROOT, CommandLine, row, write_dump

from ioi_eval.cli import list_commands, load_command


def test_settings_file_sets_options_absent_from_command_line(cli: CommandLine, problems: object) -> None:
    write_dump(cli.folder / "d.jsonl", [row("a", RIGHT), row("b", RIGHT)])
    settings = 'problems = "problems"\nlimit = 1\ntime-factor = 2\nhost = "0.0.0.0"\n'
    (cli.folder / "ioi-eval.toml").write_text(settings)
    note = "ioi-eval.toml sets problems, limit, time-factor (unless given on the command line)"
    completed = cli("score", "d.jsonl", "--dry-run", "--json")
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)["rows"] == 1
    assert note in completed.stderr
    assert json.loads(cli("score", "d.jsonl", "--dry-run", "--json", "--limit", "2").stdout)["rows"] == 2


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (("--borderline=0.9:2",), 'borderline = "0.9:2"'),
        (("--cpus-per-slot", "2.5"), "cpus-per-slot = 2.5"),
        (("--no-share",), "share = false"),
        (("--same-compiler",), "same-compiler = true"),
        (("--revision",), 'revision = "..."'),
        (("--checker", "apps"), 'checker = "apps"'),
        (("--references=5",), "references = 5"),
        (("--memory-limit=64",), "memory-limit = 64"),
        (("--allow-suspicious",), "allow-suspicious = true"),
    ],
)
def test_settings_file_key_is_refused_as_option(cli: CommandLine, typed: tuple[str, ...], line: str) -> None:
    (cli.folder / "d.jsonl").touch()
    refused = cli("score", "d.jsonl", "--problems", "p", *typed)
    assert refused.returncode == 2
    assert refused.stderr == (
        f"error: {typed[0].partition('=')[0]}: is not an option of `ioi-eval score`."
        f" Write it into ioi-eval.toml in this folder: {line}\n"
    )


def test_words_after_double_dash_are_not_options(cli: CommandLine) -> None:
    (cli.folder / "--revision").touch()
    refused = cli("score", "--problems", "p", "--", "--revision")
    assert "no folder or file 'p'" in refused.stderr


def test_settings_keys_are_documented() -> None:
    page = (ROOT / "docs" / "environment.md").read_text()
    for name in list_commands():
        for option in load_command(name).params:
            if getattr(option, "hidden", False):
                assert f"| `{max(option.opts, key=len)[2:]}` |" in page


@pytest.mark.parametrize("command", ["judge", "problems"])
def test_option_of_other_commands_is_only_key_of_score(cli: CommandLine, command: str) -> None:
    assert "--checker" in cli(command, "--help-all").stdout
    shown = cli("score", "--help-all").stdout
    assert "--checker" not in shown and "checker" in shown


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('borderline = "2:1"', "error: ioi-eval.toml, field 'borderline': the band '2:1'"),
        ("cpus-per-slot = 2", "error: ioi-eval.toml, field 'cpus-per-slot': this option works with Ray"),
    ],
)
def test_settings_file_with_mistake_is_refused(cli: CommandLine, settings: str, words: str) -> None:
    (cli.folder / "ioi-eval.toml").write_text(settings)
    (cli.folder / "d.jsonl").touch()
    refused = cli("score", "d.jsonl", "--problems", "p")
    assert refused.returncode == 2 and words in refused.stderr
    assert cli("score", "--help").returncode == 0
