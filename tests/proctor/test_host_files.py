"""Host files that a sandbox gets by descriptor cannot be changed, even if the sandbox's user owns them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from harness import BOX_UID, Bench

ATTEMPTS = {
    "written": "echo forged > held",
    "emptied": "python3 -c 'import os; os.truncate(\"held\", 0)'",
    "emptied while it is opened for reading": "python3 -c 'import os; os.open(\"held\", os.O_TRUNC)'",
    "changed in its mode": "chmod 777 held",
}


@pytest.mark.parametrize("profile", ["tool", "stage"])
def test_host_file_of_same_user_is_read_only(bench: Bench, profile: str) -> None:
    file = bench.workshop / f"held-{os.getpid()}"
    file.write_text("as it was")
    file.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(file, BOX_UID, BOX_UID)
    script = "\n".join(f"{attempt} 2>/dev/null && echo {name}" for name, attempt in ATTEMPTS.items())
    boxed = bench.box(f"cat held; {script}", files={"held": file}, profile=profile)
    changed = boxed.stdout.removeprefix("as it was").splitlines()
    # Landlock does not control file modes.
    assert changed == ([] if "namespaces" in bench.layers else ["changed in its mode"]), boxed
    assert file.read_text() == "as it was"
    file.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can pass a file that a sandbox's user cannot open")
def test_unreachable_host_file_does_not_disable_sandbox_layers(bench: Bench, tmp_path: Path) -> None:
    """In a namespace, the uid 65534 represents all unmapped users."""
    file = tmp_path / "held"
    file.write_text("as it was")
    tmp_path.chmod(0o700)
    boxed = replace(bench, uid=65534).box("cat held", files={"held": file})
    assert (boxed.stdout, boxed.report["confinement"]["missing"]) == ("as it was", [])


def test_only_writable_descriptor_can_truncate_file(bench: Bench) -> None:
    """Seccomp enforces it, because Landlock before ABI 3 does not."""
    python = "import os; os.open('mine', os.O_TRUNC | os.{})"
    tries = [python.format("O_RDONLY"), "import os; os.truncate('mine', 0)", python.format("O_WRONLY")]
    script = "\n".join(f'echo mine > mine; python3 -c "{code}" 2>/dev/null; wc -c < mine' for code in tries)
    assert bench.box(script).stdout.split() == ["5", "5", "0"]


def test_file_of_host_path_can_be_executed(bench: Bench) -> None:
    boxed = bench.box("./proctor probe", files={"proctor": Path(bench.proctor)}, profile="stage")
    assert '"v":1' in boxed.stdout
