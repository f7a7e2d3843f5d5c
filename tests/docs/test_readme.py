"""README's commands print the output that README shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.pages import matches

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


@pytest.mark.usefixtures("default_cache")
def test_readme_library_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = blocks("python")
    monkeypatch.chdir(ROOT)
    exec(example, {"__name__": "__main__"})
    assert capsys.readouterr().out.startswith("100.0 [")


@pytest.mark.nightly
def test_readme_library_example_runs_in_new_interpreter(shared_cache: Path) -> None:
    (example,) = blocks("python")
    code = f"import tempfile; tempfile.tempdir = {str(shared_cache.parent)!r}\n{example}"
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("100.0 [")


@pytest.mark.nightly
def test_score_of_the_examples_prints_the_output_in_readme(cli: CommandLine, tmp_path: Path) -> None:
    (shown,) = blocks("text")
    command = (ROOT / "scripts" / "demo").read_text().partition('bin/ioi-eval" ')[2].partition(" --out")[0]
    arguments = [
        ROOT / argument if argument.startswith("examples/") else argument for argument in command.split()
    ]
    completed = cli(*arguments, "--out", tmp_path)
    assert completed.returncode == 0, completed.stderr
    assert matches(shown.replace("runs/mine", str(tmp_path)), completed.stdout), completed.stdout


SCRIPTS = re.findall(r"^(\S+)", "".join(block for block in blocks("sh")), re.M)


@pytest.mark.parametrize("script", sorted({word for word in SCRIPTS if word.startswith("./")}))
def test_scripts_are_executable(script: str) -> None:
    assert (ROOT / script).stat().st_mode & 0o111, f"{script} cannot be started"


def test_readme_commands_and_options_exist(cli: CommandLine) -> None:
    command_names = set(re.findall(r"ioi-eval (\w+)", README))
    assert command_names
    for command in command_names:
        shown = cli(command, "--help-all")
        assert shown.returncode == 0, command
        for line in re.findall(rf"ioi-eval {command} [^\n`]*", README):
            missing = [option for option in re.findall(r"--[a-z-]+", line) if option not in shown.stdout]
            assert missing in ([], ["--help"], ["--help-all"])


@pytest.mark.parametrize(
    "page", sorted({"README.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))})
)
def test_relative_links_of_page_exist(page: str) -> None:
    page_text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page_text)
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []
