"""The blocks of README.md and the tutorials, run in an empty Debian as a reader would.

Called by scripts/stranger.
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

from support.pages import PAGES, ROOT, Block, blocks, matches  # scripts/stranger says where it is
from support.registry import for_uv, pip_settings

UID = 1000
HOME = "/home/stranger"
SHARED = "/srv/shared"  # apt must find nothing mounted where it writes
INSTALLS = "scripts/stranger"  # a block that is run here alone takes a registry
PATIENCE = 3600  # seconds for one block; a machine may be busy
SUITE = ("./scripts/test", "./scripts/test tests/unit/rules/test_scoring.py")
# The first one installs what all need.
TUTORIALS = sorted((page for page in PAGES if "/tutorials/" in page), key=lambda page: "dump" not in page)

# In namespaces of its own, with which all mounts end. A plain chroot would forbid user namespaces, which are
# a layer of the judge.
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
# Exported variables and the folder live on from block to block, as in one terminal.
SESSION = """
set -euo pipefail
sudo() { "$@"; }
if [ -e ~/.terminal ]; then source ~/.terminal; cd "$FOLDER"; fi
source ~/.block
export FOLDER=$PWD
declare -px >~/.terminal
"""


class Surprise(Exception):
    """Something else happened than a page says."""


class NotInstalled(Surprise):
    """What a page installs did not arrive whole: no fault of the page, if a new machine takes it."""


def registry() -> tuple[dict[str, str], tuple[str, ...]]:
    """Settings for pip and uv, and what lies on this machine of all that they name: shown below SHARED."""
    shares = set[str]()

    def shown(match: re.Match[str]) -> str:
        if not Path(match[2]).exists():
            return match[0]
        # The pages of an index lead to files beside it.
        shares.add(str(Path(match[2]).parent) if match[1] == "file://" else match[2])
        return f"{match[1]}{SHARED}{match[2]}"

    pip = {name: re.sub(r"(^|\s|file://)(/\S+)", shown, value) for name, value in pip_settings().items()}
    pip["PIP_FIND_LINKS"] = f"/srv/packages {pip.get('PIP_FIND_LINKS', '')}".strip()
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    more = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "10"}
    return {**proxies, **for_uv(pip), **pip, **more}, tuple(sorted(shares))


@dataclass
class Machine:
    """An empty Debian; what is installed there stays until it is removed."""

    root: Path
    shares: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def copied(cls, empty: Path, root: Path, packages: Path) -> Machine:
        subprocess.run(["cp", "-a", "--reflink=auto", empty, root], check=True)
        (root / HOME[1:]).mkdir()
        os.chown(root / HOME[1:], UID, UID)
        for name, line in (
            ("passwd", f"stranger:x:{UID}:{UID}::{HOME}:/bin/bash"),
            ("group", f"stranger:x:{UID}:"),
        ):
            with (root / "etc" / name).open("a") as file:
                file.write(f"{line}\n")
        # Nothing of it outlives the test.
        (root / "etc/dpkg/dpkg.cfg.d/unsafe").write_text("force-unsafe-io\n")
        # A mirror that hangs up once is no surprise.
        (root / "etc/apt/apt.conf.d/80-retries").write_text('Acquire::Retries "5";\n')
        for name in ("resolv.conf", "hosts"):
            (root / "etc" / name).write_text((Path("/etc") / name).read_text())
        subprocess.run(["cp", "-r", packages, root / "srv" / "packages"], check=True)
        settings, shares = registry()
        for share in shares:
            there = Path(f"{root}{SHARED}{share}")
            (there if Path(share).is_dir() else there.parent).mkdir(parents=True, exist_ok=True)
            if Path(share).is_file():
                there.touch()
        return cls(root, shares, settings)

    def run(
        self, command: str, *, root: bool = False, network: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """In a shell that goes on where the last one of this user ended."""
        home = "/root" if root else HOME
        (self.root / home[1:] / ".block").write_text(command)
        loopback = self.root.parent / "loopback_up"
        loopback.write_text(LOOPBACK_UP)
        loopback.chmod(0o755)
        words = [*("unshare", "--mount", "--pid", "--fork", "--kill-child"), *([] if network else ["--net"])]
        words += [
            "bash",
            "-euc",
            ENTER,
            "-",
            str(self.root),
            "0" if root else str(UID),
            "yes" if network else "no",
        ]
        words += [
            *self.shares,
            "--",
            "env",
            "-i",
            *(f"{name}={value}" for name, value in self._environment(home).items()),
        ]
        words += ["bash", "-c", f"cd; {SESSION}"]
        return subprocess.run(
            words,
            env={**os.environ, "LOOPBACK_UP": str(loopback), "SHARED": SHARED},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def _environment(self, home: str) -> dict[str, str]:
        return {
            "PATH": f"{home}/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": home,
            "USER": "stranger" if home == HOME else "root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            "FOLDER": home,
            **self.settings,
        }

    def must(self, what: str, command: str, *, root: bool = False, network: bool = False) -> str:
        """What it prints; a command that asks for a package to be installed gets it, and is tried again."""
        began = time.monotonic()
        done = self.run(command, root=root, network=network)
        while done.returncode == 2 and (wish := re.search(r"Install it with\n    sudo (.*)\n", done.stderr)):
            print(f"      {what} asks for: sudo {wish[1]}", flush=True)
            self.must(f"{what}, as told", f"sudo {wish[1]}", root=True, network=True)
            done = self.run(command, root=root, network=network)
        if done.returncode != 0:
            kind = NotInstalled if network else Surprise
            disk = shutil.disk_usage(self.root).free >> 20
            memory = re.findall(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())
            raise kind(
                f"{what} ends with {done.returncode}; {disk} MiB of disk are free, {memory} KiB of memory:\n"
                f"{command}\n{done.stdout}\n{done.stderr}"
            )
        print(f"ok    {what} ({time.monotonic() - began:.0f} s)", flush=True)
        return done.stdout

    def follow(self, page: str, folder: str, *, whole_suite: bool = False) -> None:
        """All blocks of a page, from a folder that is made for it."""
        self.must(f"{page}: a folder", f"mkdir -p {folder}; cd {folder}")
        printed = ""
        for block in blocks(page):
            if block.not_run:
                print(f"      {block} is left out: {block.not_run}", flush=True)
            elif block.kind == "text":
                self.compare(block, printed)
            elif block.kind in ("sh", "python"):
                code = block.code if whole_suite else block.code.replace(*SUITE)
                if block.kind == "python":
                    code = f"python - <<'END'\n{code}END\n"
                printed = self.must(
                    f"{block} {block.code.splitlines()[0]}",
                    code,
                    root=block.code.startswith("sudo "),
                    network=block.run_by == INSTALLS,
                )

    @staticmethod
    def compare(block: Block, printed: str) -> None:
        shown = block.code
        if shown.startswith("$ "):  # of one command of several
            shown = f"{shown.partition(chr(10))[2]}...\n"
        if not matches(shown, printed):
            raise Surprise(f"{block} shows\n{shown}\nand this was printed:\n{printed}")


def _not_cloned(folder: str, names: list[str]) -> set[str]:
    """Whatever a clone would not hold, or need not."""
    unwanted = r"__pycache__|.*\.egg-info"
    if folder == str(ROOT):
        unwanted += r"|\.git|\.venv.*|\..*_cache|runs|build|dist"
    return {name for name in names if re.fullmatch(unwanted, name)}


def readme(machine: Machine, whole_suite: bool) -> None:
    clone = machine.root / HOME[1:] / "ioi_eval"
    shutil.copytree(ROOT, clone, ignore=_not_cloned, symlinks=True)
    subprocess.run(["chown", "-R", f"{UID}:{UID}", clone], check=True)
    machine.follow("README.md", "ioi_eval", whole_suite=whole_suite)


def tutorials(machine: Machine) -> None:
    """One after the other on one machine."""
    for page in TUTORIALS:
        machine.follow(page, f"~/{Path(page).stem}")


VENV = "python3 -m venv --clear one && . one/bin/activate"
FIRST_RESULT = """
rm -rf first; mkdir first; cd first
ioi-eval new mine --type examples
ioi-eval score mine/generations.jsonl --problems mine/problems --limit 3 --out runs/mine
cd ..
"""
# By what the wheel brings; the program is one of the examples, in a dump.
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


def installation(machine: Machine) -> None:
    """In each way that README names, up to the first result; the extras are looked up and not downloaded."""
    apt = "apt-get update && apt-get install -y"
    machine.must("python3-venv", f"{apt} --no-install-recommends python3-venv", root=True, network=True)
    ways = {
        "the wheel": f"{VENV} && pip install ioi-eval",
        "the source distribution": f"{VENV} && pip install --no-binary ioi-eval ioi-eval",
        "pipx": "pipx install ioi-eval",
        "uv": "python3 -m venv uv && uv/bin/pip install uv && uv/bin/uv tool install ioi-eval",
    }
    for name, command in ways.items():
        terminal = machine.root / HOME[1:] / ".terminal"
        terminal.unlink(missing_ok=True)
        machine.must(f"installed from {name}", command, network=True)
        if name == "the wheel":
            machine.must("a program in Python judged without a compiler", WITHOUT_A_COMPILER)
            machine.must("g++, pipx", f"{apt} g++ pipx", root=True, network=True)
        machine.must(f"the first result, installed from {name}", FIRST_RESULT)
        if name == "pipx":
            machine.must("pipx takes it away", "pipx uninstall ioi-eval")
    extras = ("datasets", "eval-protocol", "inspect-ai", "ray", "trl")
    wish = " ".join(f"'ioi-eval[{extra}]'" for extra in extras)
    printed = machine.run(
        f"uv/bin/uv pip install --dry-run --python one/bin/python {wish}", network=True
    ).stderr
    for package in ("eval-protocol", "inspect-ai", "ray", "trl"):
        if f" + {package}==" not in printed:
            raise Surprise(f"the extras bring no {package}:\n{printed}")
    print(f"ok    the extras {', '.join(extras)} can be had together", flush=True)


def met(
    part: str, action: Callable[[Machine], None], given: argparse.Namespace
) -> Surprise | subprocess.TimeoutExpired | None:
    """The surprise that a part meets on a machine of its own, printed."""
    print(f"--- {part}", flush=True)
    machine = Machine.copied(given.empty, given.place / part, given.place / "packages")
    try:
        action(machine)
    except (Surprise, subprocess.TimeoutExpired) as error:
        print(f"SURPRISE: {error}", flush=True)
        return error
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", machine.root], check=True)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("empty", type=Path, help="A Debian as debootstrap leaves it.")
    parser.add_argument("place", type=Path, help="A folder with packages/, for what is made here.")
    parser.add_argument("parts", nargs="*", help="readme, tutorials, installation.")
    parser.add_argument("--whole-suite", action="store_true")
    given = parser.parse_args()
    actions: dict[str, Callable[[Machine], None]] = {
        "readme": lambda machine: readme(machine, given.whole_suite),
        "tutorials": tutorials,
        "installation": installation,
    }
    for part in given.parts or actions:
        surprise = met(part, actions[part], given)
        if isinstance(surprise, NotInstalled):
            print("Once more, on a new machine.", flush=True)
            surprise = met(part, actions[part], given)
        if surprise is not None:
            return 1
    print("A stranger meets no surprise.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
