"""`ioi-eval.toml`: options that the command line does not give."""

from __future__ import annotations

import json

import pytest
from support.command_line import RIGHT, CommandLine, row, write_dump


def test_file_gives_options_that_the_command_line_does_not(cli: CommandLine, problems: object) -> None:
    write_dump(cli.folder / "d.jsonl", [row("a", RIGHT), row("b", RIGHT)])
    settings = 'problems = "problems"\nlimit = 1\ntime-factor = 2\nhost = "0.0.0.0"\n'
    (cli.folder / "ioi-eval.toml").write_text(settings)
    told = "ioi-eval.toml gives problems, limit, time-factor, where the command line does not"
    done = cli("score", "d.jsonl", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 1
    assert told in done.stderr
    assert json.loads(cli("score", "d.jsonl", "--dry-run", "--json", "--limit", "2").stdout)["rows"] == 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("limitt = 1", "ioi-eval.toml, field 'limitt': no such option"),
        ("limitt = 1", "Did you mean limit?"),
        ("help = true", "ioi-eval.toml, field 'help': no such option"),
        ("limit", "ioi-eval.toml: no TOML"),
        ('limit = "all"', "--limit: "),
        ("[score]\nlimit = 1", "ioi-eval.toml, field 'score': no such option"),
    ],
)
def test_file_with_a_mistake_is_refused(cli: CommandLine, settings: str, words: str) -> None:
    (cli.folder / "ioi-eval.toml").write_text(settings)
    refused = cli("score", "d.jsonl", "--problems", "p")
    assert refused.returncode == 2 and words in refused.stderr
    assert cli("score", "--help").returncode == 0
