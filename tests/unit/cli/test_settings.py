"""`ioi-eval.toml` sets options that are absent from the command line."""

from __future__ import annotations

import json

import pytest
from support.command_line import RIGHT, CommandLine, row, write_dump


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
    ("arguments", "key"),
    [
        (("--borderline=0.9:2",), "borderline"),
        (("--cpus-per-slot", "2.5"), "cpus-per-slot"),
        (("--no-share",), "share"),
        (("--same-compiler",), "same-compiler"),
        (("--checker", "apps"), "checker"),
    ],
)
def test_key_is_refused_as_option(cli: CommandLine, arguments: tuple[str, ...], key: str) -> None:
    (cli.folder / "d.jsonl").touch()
    refused = cli("score", "d.jsonl", "--problems", "p", *arguments)
    assert refused.returncode == 2
    assert refused.stderr == (
        f"error: {arguments[0].partition('=')[0]}: `ioi-eval score` has no option with this name."
        f" Write --set {key}=value, or set {key} in ioi-eval.toml\n"
    )


def test_command_in_report_contains_values_of_settings_file(cli: CommandLine, problems: object) -> None:
    """The command gives the same results in a folder without the file."""
    write_dump(cli.folder / "d.jsonl", [row("a", RIGHT)])
    settings = 'problems = "problems"\ntime-factor = 2\nshare = false\nlimit = 1\n'
    (cli.folder / "ioi-eval.toml").write_text(settings)
    completed = cli("score", "d.jsonl", "--out", "run", "--limit", "2")
    assert completed.returncode == 0, completed.stderr
    command = (
        "ioi-eval score d.jsonl --out run --limit 2 --set problems=problems --set time-factor=2"
        " --set share=false"
    )
    lines = (cli.folder / "run" / "report.md").read_text().splitlines()
    assert [line.strip() for line in lines if line.strip().startswith("ioi-eval score")] == [command]
    (cli.folder / "ioi-eval.toml").unlink()
    again = cli(*command.split()[1:])
    assert again.returncode == 0, again.stderr
    assert "judged again" not in again.stderr


@pytest.mark.parametrize(
    ("misspelt", "suggestion"),
    [("--checkr", "--set checker=..."), ("--worker", "--repair, --set borderline=..., --workers")],
)
def test_misspelt_option_suggests_keys_with_set(cli: CommandLine, misspelt: str, suggestion: str) -> None:
    (cli.folder / "d.jsonl").touch()
    refused = cli("score", "d.jsonl", misspelt, "3")
    assert refused.returncode == 2
    assert f"no such option: {misspelt} (Possible options: {suggestion}). See" in refused.stderr


def test_unknown_option_with_name_of_a_parameter_suggests_its_option(cli: CommandLine) -> None:
    refused = cli("new", "p", "--kind", "batch")
    assert "no such option: --kind (Possible options: --type). See ioi-eval new" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        ("new p --type bacth", "'config'. Did you mean 'batch'? See ioi-eval new --help"),
        ("score d.jsonl --problems p --set job=bached", "'classic'. Did you mean 'batched'? See"),
        ("score d.jsonl --problems p --log-level zzz", "'debug', 'info', 'warning'. See ioi-eval score"),
        (
            "score d.jsonl --problems p --set checker=tokns",
            "comparison 'tokns'. Did you mean 'tokens'? There",
        ),
        ("score d.jsonl --problems p --repair incldues", "'incldues'. Did you mean 'includes'? Write one"),
        ("score d.jsonl --problems p --language pyhton", "'pyhton'. Did you mean 'python'? Supported are"),
        ("score d.jsonl --problems packges", "the name of a benchmark. Did you mean 'packages'?"),
        ("doctor --engine dokcer", "not a host. Did you mean 'embedded', which is this machine, without"),
        ("doctor --engine http:/a:2000", "'http:/a:2000' is not the address of a server. Write http://"),
        ("run -c c.yaml", "c.yaml, field 'feedback': invalid enum value 'ful'. Did you mean 'full'?"),
    ],
)
def test_misspelt_value_is_refused_with_suggestion(cli: CommandLine, arguments: str, suggestion: str) -> None:
    (cli.folder / "d.jsonl").touch()
    (cli.folder / "packages").mkdir()
    (cli.folder / "c.yaml").write_text("feedback: ful\n")
    refused = cli(*arguments.split())
    assert refused.returncode == 2
    assert suggestion in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "score d.jsonl --problems p --set seed=3",
            "--set seed: it has no effect without --sample. Add --sample",
        ),
        ("problems p --set seed=3", "--set seed: it has no effect without --sample"),
        (
            "score d.jsonl --problems p --set public=true",
            "--set public: it has no effect without --push-to-hub",
        ),
        ("score d.jsonl --problems p --set same-compiler=true", "this option works with servers only"),
        ("validate p --set reach=2", "--set reach: it has no effect without --calibrate"),
        (
            "validate p --calibrate --only slow.cpp",
            "--only: it has no effect with --calibrate. Remove one of them",
        ),
        ("run -b p --feedback none", "--feedback: it has no effect without --turns"),
        ("run -b p --command ./a --set temperature=1", "--set temperature: it has no effect with --command"),
    ],
)
def test_option_without_effect_is_refused(cli: CommandLine, arguments: str, message: str) -> None:
    (cli.folder / "d.jsonl").touch()
    refused = cli(*arguments.split())
    assert refused.returncode == 2
    assert message in refused.stderr


def test_seed_without_sample_in_settings_file_is_accepted(cli: CommandLine, problems: object) -> None:
    """The file is for all commands, and for calls with --sample."""
    (cli.folder / "ioi-eval.toml").write_text("seed = 3\n")
    assert cli("problems", "problems").returncode == 0


def test_table_in_settings_file_is_refused(cli: CommandLine) -> None:
    (cli.folder / "d.jsonl").touch()
    (cli.folder / "ioi-eval.toml").write_text("[score]\nlimit = 1\n")
    refused = cli("score", "d.jsonl")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: ioi-eval.toml, field 'score': TOML tables are not allowed."
        " Write its keys without the table: they hold for all commands that have them\n",
    )


def test_message_about_misspelt_command_suggests_similar_command(cli: CommandLine) -> None:
    expected = "error: no such command 'scroe'. Did you mean 'score'? See ioi-eval --help\n"
    assert cli("scroe").stderr == expected


def test_set_option_wins_over_settings_file(cli: CommandLine, problems: object) -> None:
    write_dump(cli.folder / "d.jsonl", [row("a", RIGHT), row("b", RIGHT)])
    cli.set_keys(time_limit=3)
    command = ("score", "d.jsonl", "--problems", "problems", "--dry-run", "--json")
    hours = json.loads(cli(*command).stdout)["cpu_hours"]
    completed = cli(*command, "--set", "share=false", "--set=time-limit=6")
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)["cpu_hours"] == pytest.approx(2 * 2 * hours)
    assert json.loads(cli(*command, "--set", "limit=1").stdout)["rows"] == 1  # options are keys


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (
            "borderlin=1:1",
            "--set: this command has no option with the key 'borderlin'. Did you mean 'borderline'?",
        ),
        ("", "--set: this command has no option with the key ''. There are: "),
        ("set=seed", "--set: this command has no option with the key 'set'. "),
        ("help=true", "--set: this command has no option with the key 'help'. There are: "),
        ("seed", "--set: the key seed needs a value. Write --set seed=value"),
        ("share=no", "--set: the key share needs a value. Write --set share=true or false"),
        ("seed=x", "--set seed: 'x' is not a whole number. See ioi-eval score --help"),
        ("borderline=2:1", "--set borderline: the band '2:1'"),
        ("cpus-per-slot=2", "--set cpus-per-slot: this option works with Ray"),
    ],
)
def test_set_option_with_mistake_is_refused(cli: CommandLine, pair: str, message: str) -> None:
    (cli.folder / "d.jsonl").touch()
    refused = cli("score", "d.jsonl", "--problems", "p", "--set", pair)
    assert refused.returncode == 2 and f"error: {message}" in refused.stderr, refused.stderr


def test_set_is_not_a_key_of_settings_file(cli: CommandLine) -> None:
    (cli.folder / "d.jsonl").touch()
    cli.set_keys(set=["seed=1"])
    refused = cli("score", "d.jsonl", "--problems", "p")
    assert refused.returncode == 2 and "field 'set': there is no option with this name" in refused.stderr


def test_words_after_double_dash_are_not_options(cli: CommandLine) -> None:
    (cli.folder / "--revision").touch()
    refused = cli("score", "--problems", "p", "--", "--revision")
    assert "'p' is not a folder, a file or the name of a benchmark" in refused.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('borderline = "2:1"', "error: ioi-eval.toml, field 'borderline': the band '2:1'"),
        ("cpus-per-slot = 2", "error: ioi-eval.toml, field 'cpus-per-slot': this option works with Ray"),
    ],
)
def test_settings_file_with_mistake_is_refused(cli: CommandLine, settings: str, message: str) -> None:
    (cli.folder / "ioi-eval.toml").write_text(settings)
    (cli.folder / "d.jsonl").touch()
    refused = cli("score", "d.jsonl", "--problems", "p")
    assert refused.returncode == 2 and message in refused.stderr
    assert cli("score", "--help").returncode == 0
