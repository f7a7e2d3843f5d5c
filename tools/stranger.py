"""Runs the code blocks of README.md and the tutorials in an empty Debian, like a new reader.

Called by tools/stranger.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# The script tools/stranger sets the path for this import.
from support.pages import PAGES, ROOT, Block, blocks, matches
from support.pip_registry import for_uv, pip_settings

UID = 1000
HOME = "/home/stranger"
SHARED = "/srv/shared"  # path of a shared folder, which is in no folder that apt writes to
# Only code blocks with the comment "run by tools/stranger" may use the network.
NETWORK_BLOCKS_RUN_BY = "tools/stranger"
BLOCK_TIMEOUT_S = 3600
SUITE = ("./scripts/test", "./scripts/test tests/unit/rules/test_scoring.py")
# Pages of tutorials. The first page installs the packages that all tutorials need.
TUTORIALS = sorted((page for page in PAGES if "/tutorials/" in page), key=lambda page: "dump" not in page)

# Script that enters the Debian system in new namespaces, so that all mounts disappear with them. A plain
# chroot would forbid user namespaces, which the judge uses.
ENTER = """
root=$1 uid=$2 network=$3; shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
while [ "$1" != -- ]; do mount --bind "$1" "$root$SHARED$1"; shift; done; shift
if [ "$network" = no ]; then "$LOOPBACK_UP"; fi
cd "$root"
mkdir -p .before
pivot_root . .before
cd /
umount -l /.before
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
"""
LOOPBACK_UP = f"""#!{sys.executable}
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
"""
# Script that restores exported variables and the working folder of the previous block, as in a terminal.
SESSION = """
set -euo pipefail
sudo() { "$@"; }
if [ -e ~/.terminal ]; then source ~/.terminal; cd "$FOLDER"; fi
source ~/.block
export FOLDER=$PWD
declare -px >~/.terminal
"""


class PageError(Exception):
    """A block of a page failed, or its output differs from the output that the page shows."""


class InstallError(PageError):
    """A command with access to the network failed. The part of the pages is tried again on a new machine."""


def read_pip_settings_and_paths() -> tuple[dict[str, str], tuple[str, ...]]:
    """Return settings for pip and uv, and the local paths that they use, which are mounted below SHARED."""
    shared_paths = set[str]()

    def share_path(match: re.Match[str]) -> str:
        if not Path(match[2]).exists():
            return match[0]
        # A local index of packages contains links to files next to it, so share their folders.
        shared_paths.add(str(Path(match[2]).parent) if match[1] == "file://" else match[2])
        return f"{match[1]}{SHARED}{match[2]}"

    pip_variables = {
        name: re.sub(r"(^|\s|file://)(/\S+)", share_path, value) for name, value in pip_settings().items()
    }
    pip_variables["PIP_FIND_LINKS"] = f"/srv/packages {pip_variables.get('PIP_FIND_LINKS', '')}".strip()
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    pip_options = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "10"}
    return {**proxies, **for_uv(pip_variables), **pip_variables, **pip_options}, tuple(sorted(shared_paths))


@dataclass
class DebianCopy:
    """A copy of an empty Debian. Installed packages stay until the copy is removed."""

    root: Path
    shares: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, empty_system: Path, root: Path, package_folder: Path) -> DebianCopy:
        subprocess.run(["cp", "-a", "--reflink=auto", empty_system, root], check=True)
        (root / HOME[1:]).mkdir()
        os.chown(root / HOME[1:], UID, UID)
        for file_name, line in (
            ("passwd", f"stranger:x:{UID}:{UID}::{HOME}:/bin/bash"),
            ("group", f"stranger:x:{UID}:"),
        ):
            with (root / "etc" / file_name).open("a") as file:
                file.write(f"{line}\n")
        # Let dpkg skip syncing, which is faster; the machine is removed after the test.
        (root / "etc/dpkg/dpkg.cfg.d/unsafe").write_text("force-unsafe-io\n")
        # Let apt try again, because a mirror may close a connection.
        (root / "etc/apt/apt.conf.d/80-retries").write_text('Acquire::Retries "5";\n')
        for file_name in ("resolv.conf", "hosts"):
            (root / "etc" / file_name).write_text((Path("/etc") / file_name).read_text())
        subprocess.run(["cp", "-r", package_folder, root / "srv" / "packages"], check=True)
        settings, shares = read_pip_settings_and_paths()
        for share in shares:
            mount_point = Path(f"{root}{SHARED}{share}")
            (mount_point if Path(share).is_dir() else mount_point.parent).mkdir(parents=True, exist_ok=True)
            if Path(share).is_file():
                mount_point.touch()
        return cls(root, shares, settings)

    def run_command(
        self, command: str, *, root: bool = False, network: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a shell with the variables and the folder of this user's last command."""
        home = "/root" if root else HOME
        (self.root / home[1:] / ".block").write_text(command)
        loopback = self.root.parent / "loopback_up"
        loopback.write_text(LOOPBACK_UP)
        loopback.chmod(0o755)
        command_line = [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
            *([] if network else ["--net"]),
        ]
        command_line += [
            "bash",
            "-euc",
            ENTER,
            "-",
            str(self.root),
            "0" if root else str(UID),
            "yes" if network else "no",
        ]
        command_line += [
            *self.shares,
            "--",
            "env",
            "-i",
            *(f"{name}={value}" for name, value in self._make_environment(home).items()),
        ]
        command_line += ["bash", "-c", f"cd; {SESSION}"]
        return subprocess.run(
            command_line,
            env={**os.environ, "LOOPBACK_UP": str(loopback), "SHARED": SHARED},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=BLOCK_TIMEOUT_S,
        )

    def _make_environment(self, home: str) -> dict[str, str]:
        return {
            "PATH": f"{home}/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": home,
            "USER": "stranger" if home == HOME else "root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            "FOLDER": home,
            **self.settings,
        }

    def run_or_fail(self, label: str, command: str, *, root: bool = False, network: bool = False) -> str:
        """Run a command and return its output; raise PageError if it fails.

        If the command asks for a package, the package is installed, and the command runs again.
        """
        start_time = time.monotonic()
        process = self.run_command(command, root=root, network=network)
        while process.returncode == 2 and (
            package_request := re.search(r"Install it with\n    sudo (.*)\n", process.stderr)
        ):
            print(f"      {label} requests a package: sudo {package_request[1]}", flush=True)
            self.run_or_fail(f"{label}, as requested", f"sudo {package_request[1]}", root=True, network=True)
            process = self.run_command(command, root=root, network=network)
        if process.returncode != 0:
            error_class = InstallError if network else PageError
            free_disk_mib = shutil.disk_usage(self.root).free >> 20
            free_memory_kib = re.findall(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())
            raise error_class(
                f"{label} exited with code {process.returncode}; free: {free_disk_mib}"
                f" MiB of disk, {free_memory_kib} KiB of memory:\n"
                f"{command}\n{process.stdout}\n{process.stderr}"
            )
        print(f"ok    {label} ({time.monotonic() - start_time:.0f} s)", flush=True)
        return process.stdout

    def run_page_blocks(self, page: str, folder: str, *, whole_suite: bool = False) -> None:
        """Run all code blocks of a page in a new folder, and compare their outputs with the page."""
        self.run_or_fail(f"{page}: a folder", f"mkdir -p {folder}; cd {folder}")
        last_output = ""
        for block in blocks(page):
            if block.not_run:
                print(f"      {block} is skipped: {block.not_run}", flush=True)
            elif block.kind == "text":
                self.compare_with_page(block, last_output)
            elif block.kind in ("sh", "python"):
                code = block.code if whole_suite else block.code.replace(*SUITE)
                if page != "README.md":  # only the commands of README run in a clone
                    code = code.replace("pip install . ", "pip install ioi-eval ")
                if block.kind == "python":
                    code = f"python - <<'END'\n{code}END\n"
                last_output = self.run_or_fail(
                    f"{block} {block.code.splitlines()[0]}",
                    code,
                    root=block.code.startswith("sudo "),
                    network=block.run_by == NETWORK_BLOCKS_RUN_BY,
                )

    @staticmethod
    def compare_with_page(block: Block, output: str) -> None:
        expected_output = block.code
        # The text after the command is the expected output of a single command of the block.
        if expected_output.startswith("$ "):
            expected_output = f"{expected_output.partition(chr(10))[2]}...\n"
        if not matches(expected_output, output):
            raise PageError(f"{block} shows\n{expected_output}\nbut the output is:\n{output}")


def _list_uncopied_names(folder: str, names: list[str]) -> set[str]:
    """Return the names of files that are not copied, because a clone would not contain or need them."""
    unwanted_pattern = r"__pycache__|.*\.egg-info"
    if folder == str(ROOT):
        unwanted_pattern += r"|\.git|\.venv.*|\..*_cache|runs|build|dist"
    return {name for name in names if re.fullmatch(unwanted_pattern, name)}


def run_readme_blocks(machine: DebianCopy, whole_suite: bool) -> None:
    """Run the code blocks of README in a copy of this checkout."""
    clone = machine.root / HOME[1:] / "ioi_eval"
    shutil.copytree(ROOT, clone, ignore=_list_uncopied_names, symlinks=True)
    subprocess.run(["chown", "-R", f"{UID}:{UID}", clone], check=True)
    machine.run_page_blocks("README.md", "ioi_eval", whole_suite=whole_suite)


def run_tutorials(machine: DebianCopy) -> None:
    """Run the code blocks of all tutorials in order on a single machine."""
    for page in TUTORIALS:
        machine.run_page_blocks(page, f"~/{Path(page).stem}")


VENV = "python3 -m venv --clear one && . one/bin/activate"
FIRST_RESULT = """
rm -rf first; mkdir first; cd first
ioi-eval new mine --type examples
ioi-eval score mine/generations.jsonl --problems mine/problems --limit 3 --out runs/mine
cd ..
"""
# Script that judges with the binaries in the wheel. The program is in the dump of an example.
WITHOUT_A_COMPILER = """
if type g++ || type cc; then exit 1; fi
ioi-eval doctor | tee doctor.txt
grep -E '^ok +proctor +came with the package' doctor.txt
grep -E '^ok +waiting Python +its library came with the package' doctor.txt
rm -rf bare; ioi-eval new bare --type examples
python - <<'END'
import json, pathlib
program = pathlib.Path("bare/problems/frame/solutions/correct/joined.py").read_text()
row = {"problem_id": "frame", "language": "python", "generation": program}
pathlib.Path("bare/dump.jsonl").write_text(json.dumps(row) + "\\n")
END
ioi-eval score bare/dump.jsonl --problems bare/problems --out runs/bare
grep '"verdict":"AC"' runs/bare/results.jsonl
grep '"interpreter": "forked"' runs/bare/run.json
"""


def check_installation(machine: DebianCopy) -> None:
    """Install ioi_eval in each way that README names, and judge a first example with each installation.

    The extras are not installed: uv only finds out which versions they need together.
    """
    apt_install = "apt-get update && apt-get install -y"
    machine.run_or_fail(
        "python3-venv", f"{apt_install} --no-install-recommends python3-venv", root=True, network=True
    )
    commands = {
        "the wheel": f"{VENV} && pip install ioi-eval",
        "the source distribution": f"{VENV} && pip install --no-binary ioi-eval ioi-eval",
        "pipx": "pipx install ioi-eval",
        "uv": "python3 -m venv uv && uv/bin/pip install uv && uv/bin/uv tool install ioi-eval",
    }
    for name, command in commands.items():
        session_file = machine.root / HOME[1:] / ".terminal"
        session_file.unlink(missing_ok=True)
        machine.run_or_fail(f"installed from {name}", command, network=True)
        if name == "the wheel":
            machine.run_or_fail("a program in Python judged without a compiler", WITHOUT_A_COMPILER)
            machine.run_or_fail("g++, pipx", f"{apt_install} g++ pipx", root=True, network=True)
        machine.run_or_fail(f"the first result, installed from {name}", FIRST_RESULT)
        if name == "pipx":
            machine.run_or_fail("pipx uninstalls it", "pipx uninstall ioi-eval")
    extras = ("datasets", "eval-protocol", "inspect-ai", "ray", "trl")
    requirements = " ".join(f"'ioi-eval[{extra}]'" for extra in extras)
    resolver_output = machine.run_command(
        f"uv/bin/uv pip install --dry-run --python one/bin/python {requirements}", network=True
    ).stderr
    for package in ("eval-protocol", "inspect-ai", "ray", "trl"):
        if f" + {package}==" not in resolver_output:
            raise PageError(f"the extras do not include {package}:\n{resolver_output}")
    print(f"ok    the extras {', '.join(extras)} can be installed together", flush=True)


def run_part_on_new_machine(
    part_name: str, action: Callable[[DebianCopy], None], arguments: argparse.Namespace
) -> PageError | subprocess.TimeoutExpired | None:
    """Run a part on a new machine. Print and return its error, or return None."""
    print(f"--- {part_name}", flush=True)
    machine = DebianCopy.create(
        arguments.empty_system, arguments.work_folder / part_name, arguments.work_folder / "packages"
    )
    try:
        action(machine)
    except (PageError, subprocess.TimeoutExpired) as error:
        print(f"ERROR: {error}", flush=True)
        return error
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", machine.root], check=True)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("empty_system", type=Path, help="Folder of a Debian system without further packages.")
    parser.add_argument(
        "work_folder",
        type=Path,
        help="Working folder with a subfolder packages/, which contains the built packages.",
    )
    parser.add_argument(
        "parts", nargs="*", help="Documents whose commands are run: readme, tutorials, installation."
    )
    parser.add_argument("--whole-suite", action="store_true")
    arguments = parser.parse_args()
    actions: dict[str, Callable[[DebianCopy], None]] = {
        "readme": lambda machine: run_readme_blocks(machine, arguments.whole_suite),
        "tutorials": run_tutorials,
        "installation": check_installation,
    }
    for part in arguments.parts or actions:
        error = run_part_on_new_machine(part, actions[part], arguments)
        if isinstance(error, InstallError):
            print("Trying again on a new machine.", flush=True)
            error = run_part_on_new_machine(part, actions[part], arguments)
        if error is not None:
            return 1
    print("The commands of all pages succeeded.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
