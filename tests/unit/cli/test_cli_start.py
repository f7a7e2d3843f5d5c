"""Imports of commands, help pages, and narrow tables."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.plugins import needs_plugin

from ioi_eval.cli import _USUAL, COMMANDS, console, list_commands, load_command
from ioi_eval.store.resources import examples_folder

HEAVY = {"pandas", "pyarrow", "datasets", "aiohttp", "httpx", "rich", "jinja2", "numpy", "huggingface_hub"}
LOADS = """
import contextlib, io, sys
from ioi_eval.cli import main
for words in " ".join(sys.argv[1:]).split(" + "):
    sys.argv[1:] = words.split()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main()
print(*sys.modules)
"""


@cache
def loaded_by(commands: str, cache: Path) -> set[str]:
    completed = subprocess.run(
        [sys.executable, "-c", LOADS, commands],
        capture_output=True,
        text=True,
        check=True,
        env={"IOI_EVAL_CACHE": str(cache), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
    )
    return set(completed.stdout.split())


@pytest.mark.parametrize("arguments", ["--help", "doctor + problems examples/problems/lanterns"])
def test_command_does_not_import_heavy_modules(arguments: str, shared_cache: Path) -> None:
    modules = loaded_by(arguments, cache=shared_cache)
    assert "ioi_eval.cli" in modules
    assert HEAVY & modules == set()


@pytest.mark.nightly(unless="^[<>]")
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", ">&-", "2>&-"])
def test_command_runs_with_closed_streams(default_cache: Path, closed: str) -> None:
    script = (
        f"exec {sys.executable} -m ioi_eval problems {examples_folder() / 'problems' / 'lanterns'} {closed}"
    )
    completed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")


ASCII = "import sys; sys.stdout.reconfigure(encoding='ascii'); from ioi_eval.cli import main; main()"


@pytest.mark.nightly(unless="options0")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_output_is_utf_8_in_ascii_locale(cli: CommandLine, options: tuple[str, ...]) -> None:
    row = {"problem_id": "a", "model": "Österreich 7b", "passed": True}
    (cli.folder / "rows.jsonl").write_text(json.dumps(row))
    (cli.folder / "ascii.py").write_text(ASCII)
    completed = cli.script(str(cli.folder / "ascii.py"), "report", "rows.jsonl", *options)
    assert completed.returncode == 0 and "Österreich 7b" in completed.stdout, completed.stderr


NO_THREADS = """
import asyncio, errno, sys, threading
from ioi_eval.cli import main
def refuse(self):
    raise RuntimeError("can't start new thread")
async def beside(call):
    async with asyncio.TaskGroup() as group:
        group.create_task(call)
if sys.argv.pop():
    run, asyncio.run = asyncio.run, lambda call: run(beside(call))
threading.Thread.start = refuse
main()
"""


@pytest.mark.parametrize("argument", ["", "beside others"])
def test_thread_limit_error_is_one_line(cli: CommandLine, argument: str) -> None:
    (cli.folder / "no_threads.py").write_text(NO_THREADS)
    completed = cli.script(str(cli.folder / "no_threads.py"), "doctor", argument)
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1), completed.stderr
    assert completed.stderr.startswith(
        "error: can't start new thread: this user, or the container, may have too"
    )


def test_missing_dump_is_reported_before_benchmarks_are_loaded(shared_cache: Path) -> None:
    modules = loaded_by("score nowhere.jsonl --problems ioi", cache=shared_cache)
    ours = {name.split(".")[1] for name in modules if name.startswith("ioi_eval.")}
    assert ours <= {"cli", "model", "registries"}


@pytest.mark.parametrize("dump", ["nowhere.jsonl", "folder/nowhere.csv.gz", "nowhere"])
def test_missing_dump_gives_the_same_message_early_and_late(
    cli: CommandLine, problems: Path, dump: str
) -> None:
    early = cli("score", dump, "--problems", problems)
    late = cli("score", "--problems", problems, dump)
    assert early.returncode == late.returncode == 2
    assert (
        early.stderr
        == late.stderr
        == (f"error: {dump}: no such file or folder. Name the dump's file or folder\n")
    )


def test_help_explains_how_to_install_completion(cli: CommandLine) -> None:
    assert "ioi-eval --install-completion" in cli("--help").stdout


def test_help_loads_no_command(shared_cache: Path) -> None:
    ours = {name for name in loaded_by("--help", cache=shared_cache) if name.startswith("ioi_eval.")}
    light = (
        *("cli", "cli.completion", "cli.console", "cli.settings"),
        *("model", "model.errors", "model.text", "registries"),
    )
    assert ours <= {f"ioi_eval.{name}" for name in light}


def test_worker_loads_no_reports(shared_cache: Path) -> None:
    modules = loaded_by("worker --help", cache=shared_cache)
    assert "ioi_eval.server.server" in modules
    assert "ioi_eval.reports" not in modules


@pytest.mark.parametrize("name", list_commands())
def test_overview_repeats_first_line_of_command_help(name: str) -> None:
    command = load_command(name)
    assert command.help is not None
    assert command.help.startswith(COMMANDS[name].removesuffix("."))
    assert f"Examples:\n  ioi-eval {name}" in command.help


def test_help_shows_options_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    load_command("score").main(["--help-all"], standalone_mode=False)
    help_text = capsys.readouterr().out
    headings = [line.rstrip(":") for line in help_text.splitlines() if line.endswith(":") and line[0] != " "]
    keys = "Keys, for --set KEY=VALUE and ioi-eval.toml"
    assert headings == ["Arguments", "Problems", "Input", "Judging", "Engine", "Output", "Options", keys]
    assert "--set KEY=VALUE" in help_text and "a key of the list below" in " ".join(help_text.split())
    assert help_text.rstrip().endswith("ioi-eval.toml sets them for each call: docs/environment.md.")


@pytest.mark.parametrize(("name", "keys"), [("report", "1 key for --set"), ("score", "22 keys for --set")])
def test_brief_help_shows_the_number_of_keys(
    capsys: pytest.CaptureFixture[str], name: str, keys: str
) -> None:
    load_command(name).main(["--help"], standalone_mode=False)
    assert f"options, and {keys}\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", list_commands())
def test_brief_help_names_options_of_the_command(name: str) -> None:
    flags = {flag for option in load_command(name).params if not option.hidden for flag in option.opts}
    assert {f"--{option_name}" for option_name in _USUAL.get(name, "").split()} <= flags


@pytest.mark.parametrize("name", list_commands())
def test_help_is_one_screen_without_types(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = load_command(name)
    command.main(["--help"], standalone_mode=False)
    brief = capsys.readouterr().out
    command.main(["--help-all"], standalone_mode=False)
    whole = capsys.readouterr().out
    assert len(brief.splitlines()) <= 42, brief
    assert "<list" not in whole and "<str>" not in whole and "<int" not in whole and "x>=" not in whole
    shown = {
        name
        for parameter in command.params
        if (name := f"--{parameter.name.replace('_', '-')}") in parameter.opts
        and not getattr(parameter, "hidden", False)
    }
    assert all(f"{name} " in f"{whole} " or f"{name}\n" in whole for name in shown)
    assert ("--help-all" in brief) == (len(brief) < len(whole))
    assert max(map(len, (brief + whole).splitlines())) <= 80


ROWS = [["a-model-with-a-long-name", "wrong on the very first test of many", "1234567", "89.1"], []]


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_narrow_table_keeps_numbers_and_words_whole(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "get_line_width", lambda: width)
    console.print_table(["model", "why", "tests", "of"], ROWS, right_aligned_heads=["tests", "of"])
    lines = capsys.readouterr().out.splitlines()
    assert "1234567" in lines[1] and "89.1" in lines[1] and lines[-1] == ""
    whole_words = {word_in_row for row in ROWS for cell in row for word_in_row in cell.split()} | set(
        lines[0].split()
    )
    cut = {word_in_row for line in lines for word_in_row in line.split()} - whole_words
    assert cut <= {"a-model-wi…long-name"} and bool(cut) == (width < 60)
    assert max(map(len, lines)) <= max(width, 20 + 10 + 7 + 4 + 6)


def test_wide_characters_in_a_table_occupy_two_columns(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(["model", "n"], [["模型", "1"], ["m\u0308", "22"]], right_aligned_heads=["n"])
    assert capsys.readouterr().out.splitlines() == ["model   n", "模型    1", "m\u0308      22"]


COMPLETED = """
eval "$(ioi-eval --show-completion bash)"
COMP_WORDS=(ioi-eval "$@"); COMP_CWORD=$#
_ioi_eval_completion ioi-eval
echo "${COMPREPLY[@]}"
"""


def test_bash_completes_command_names(shared_cache: Path) -> None:
    scripts = str(Path(sys.executable).parent)
    completed = subprocess.run(
        ["bash", "-c", COMPLETED, "bash", "sc"],
        capture_output=True,
        text=True,
        check=True,
        env={
            "IOI_EVAL_CACHE": str(shared_cache),
            "PATH": f"{scripts}:/usr/bin:/bin",
            "PYTHONPATH": ":".join(sys.path),
        },
    )
    assert completed.stdout.split() == ["score"], completed


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("score d.jsonl --time-", "--time-factor"),
        ("run --feedback f", "full"),
        ("new --type in", "interactive"),
        ("judge a.txt --set checker=s", "checker=stripped checker=stripped-lines"),
        ("validate p --set re", "revision= references= reach="),
        pytest.param("score --engine e", "embedded e2b", marks=needs_plugin("rented")),
        ("score --problems code_contests_", "code_contests_o code_contests_plus"),
        ("score --problems pack", "packages/one.zip packages/two/"),
        ("problems ./packages/t", "./packages/two/"),
        pytest.param("audit code_contests_p", "code_contests_plus", marks=needs_plugin("audit")),
        ("judge a.txt --language py", "python pypy"),
        pytest.param("contest --set allow-language=ru", "allow-language=rust", marks=needs_plugin("contest")),
        ("score --repair header,n", "header,namespace"),
        ("score --columns problem=id,c", "problem=id,code="),
        ("score --packages n", "none networkx numba numpy"),
        ("worker --packages n", ""),
    ],
)
def test_options_and_values_are_completed(cli: CommandLine, typed: str, offered: str) -> None:
    """It sends the request of the shell's completion function."""
    (cli.folder / "packages" / "two").mkdir(parents=True)
    (cli.folder / "packages" / "one.zip").touch()
    typed_line = f"ioi-eval {typed}"
    completion_variables = {
        "COMP_WORDS": typed_line,
        "COMP_CWORD": str(typed_line.count(" ")),
        "_IOI_EVAL_COMPLETE": "complete_bash",
    }
    assert replace(cli, environment=completion_variables)().stdout.split() == offered.split()
