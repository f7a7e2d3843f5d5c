"""A real Slurm cluster, and the helpers of the command line tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from requirements import skip_or_fail_in_ci

_NEEDED = ("slurmctld", "slurmd", "munged", "sbatch")
_SYSTEM = "/usr/sbin"  # not on every user's PATH


def _missing() -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), _SYSTEM])
    lacking = [name for name in _NEEDED if shutil.which(name, path=path) is None]
    return f"not here: {', '.join(lacking)} (apt-get install slurm-wlm munge)" if lacking else ""


@pytest.fixture
def cluster() -> Iterator[dict[str, str]]:
    """Return the environment variables with which Slurm's commands reach the cluster."""
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons are started by root")
    if reason := _missing():
        skip_or_fail_in_ci(reason)
    script = Path(__file__).with_name("cluster")
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as temporary:  # sockets have short paths
        Path(temporary).chmod(0o711)  # munge needs a folder that all users can enter
        folder = Path(temporary, "cluster")
        try:
            subprocess.run([script, "start", folder], check=True)
            yield {"SLURM_CONF": str(folder / "slurm.conf")}
        finally:
            subprocess.run([script, "stop", folder], check=True)
