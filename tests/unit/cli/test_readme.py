"""What README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import CommandLine

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_library_example_runs(cache: Path) -> None:
    (example,) = blocks("python")
    code = f"import tempfile; tempfile.tempdir = {str(cache.parent)!r}\n{example}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("100.0 [")


SCRIPTS = re.findall(r"^(\S+)", "".join(block for block in blocks("sh")), re.M)


@pytest.mark.parametrize("script", sorted({word for word in SCRIPTS if word.startswith("./")}))
def test_scripts_are_there(script: str) -> None:
    assert (ROOT / script).stat().st_mode & 0o111, f"{script} cannot be started"


def test_commands_and_options_are_there(cli: CommandLine) -> None:
    named = set(re.findall(r"ioi-eval (\w+)", README))
    assert named >= {"score", "doctor", "problems", "examples"}
    for command in named:
        shown = cli(command, "--help")
        assert shown.returncode == 0, command
        for line in re.findall(rf"ioi-eval {command} [^\n`]*", README):
            missing = [option for option in re.findall(r"--[a-z-]+", line) if option not in shown.stdout]
            assert missing in ([], ["--help"])


@pytest.mark.parametrize(
    "page", sorted({"README.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))})
)
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_first_result_comes_by_line_twenty() -> None:
    assert any("./scripts/demo" in line for line in README.splitlines()[:20])


def test_continuous_integration_runs_the_same_commands() -> None:
    commands = re.findall(r"^(\./.*) \|\| status=1$", (ROOT / ".ci" / "run").read_text(), re.M)
    assert commands == ["./scripts/test", "./scripts/test --long"]
