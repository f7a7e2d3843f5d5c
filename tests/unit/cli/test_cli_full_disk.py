"""Commands on a full disk print a single error line and leave no partial files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import RIGHT, CommandLine, row, write_dump

# A page of the disk stays free, so that files and folders can be created.
_SMALL = """mount -t tmpfs -o size=64k disk "$0" && cd "$0" && cat /dev/zero >fill 2>/dev/null
"$@"; code=$?; ls -A; exit $code"""


def on_a_full_disk(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command on a full disk. Files that it leaves are listed on standard output."""
    small = folder / "small"
    small.mkdir()
    space = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _SMALL, small)
    command = (sys.executable, "-m", "ioi_eval", *arguments)
    completed = subprocess.run((*space, *command), capture_output=True, text=True, check=False)
    if "unshare" in completed.stderr:
        pytest.skip("this user cannot create namespaces")
    return completed


def test_full_disk_at_start_of_run_exits_with_2(tmp_path: Path, problems: Path) -> None:
    dump = write_dump(tmp_path / "d.jsonl", [row("a", RIGHT)])
    completed = on_a_full_disk(tmp_path, "score", dump, "--problems", problems, "--out", "run", "--quiet")
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1), completed.stderr
    assert completed.stderr.startswith(
        "error: run: cannot be written: No space left on device. Choose another --out"
    )


def test_full_disk_for_examples_exits_with_2(tmp_path: Path) -> None:
    completed = on_a_full_disk(tmp_path, "new", "here", "--type", "examples")
    assert (completed.returncode, completed.stderr) == (
        2,
        "error: here: the path cannot be written: No space left on device\n",
    )
    assert completed.stdout.split() == ["fill"]


# Files in it can still be read: the interpreter of the tests may be there.
_NOWHERE = """for disk in /tmp /var/tmp; do
    mount --rbind "$disk" "$disk" && mount -o remount,bind,ro "$disk" || exit
done
cd /tmp; exec "$@\""""


def test_missing_temporary_folder_is_reported() -> None:
    space = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _NOWHERE, "-")
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/proc", "PYTHONPATH": ":".join(sys.path)}
    command = (*space, sys.executable, "-m", "ioi_eval", "doctor")
    completed = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if "unshare" in completed.stderr:
        pytest.skip("this user cannot create namespaces")
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1), completed.stderr
    assert completed.stderr.startswith("error: No usable temporary directory found in ['/tmp', '/var/tmp',")
    assert completed.stderr.endswith(". Make one of them writable, or name a folder in TMPDIR\n")


_SMALL_FILES = """import resource
from ioi_eval.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))
main()
"""


def test_file_size_ulimit_exits_with_2(cli: CommandLine) -> None:
    (cli.folder / "small_files.py").write_text(_SMALL_FILES)
    completed = cli.script(str(cli.folder / "small_files.py"), "doctor")
    message = "error: a file would be larger than this shell allows. Start from one where ulimit -f is"
    assert (completed.returncode, completed.stderr) == (2, f"{message} unlimited\n")
