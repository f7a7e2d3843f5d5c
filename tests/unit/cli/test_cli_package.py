"""`ioi-eval package`: a folder of packages, and an index."""

from __future__ import annotations

import pytest
from support.command_line import CommandLine


def test_package_command_installs_into_folder(cli: CommandLine) -> None:
    completed = cli("package", "packages")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == "packages/ioi_eval/1.0.0\n"
    assert "restart the running servers" in completed.stderr
    assert (cli.folder / "packages" / "ioi_eval" / "1.0.0" / ".ppman-installed").exists()


def test_package_command_writes_index(cli: CommandLine) -> None:
    completed = cli("package", "www", "--index", "http://10.0.0.5:8000")
    assert completed.returncode == 0, completed.stderr
    assert (cli.folder / "www" / "index").read_text() == completed.stdout
    assert completed.stdout.startswith("ioi_eval,1.0.0,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("file/packages",), "cannot be written"),
        (("www", "--index", "10.0.0.5:8000"), "error: --index: servers cannot download packages from"),
        (
            ("www", "--headers", "python"),
            "error: --headers: the standard 'python' has no header to precompile",
        ),
    ],
)
def test_package_command_refuses_invalid_values(
    cli: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    (cli.folder / "file").write_text("")
    completed = cli("package", *arguments)
    assert completed.returncode == 2
    assert message in completed.stderr
