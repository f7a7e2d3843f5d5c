"""Fixtures of the Piston engine's tests."""

from __future__ import annotations

import subprocess

import pytest

from ioi_eval.engines.embedded.toolchains import STAGE_PATH
from ioi_eval.engines.piston import probe


@pytest.fixture(scope="session")
def inspection_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a script that prints at once what the inspection script prints on this machine."""
    command, folder = ["bash", "-c", probe.INSPECTION_SCRIPT], tmp_path_factory.mktemp("inspection")
    environment = {"PATH": STAGE_PATH}
    inspection = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return f"cat <<'PRINTED'\n{inspection.stdout}PRINTED\n"


@pytest.fixture
def quick_probes(inspection_script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect this machine once for all workers, and send each worker few and small requests."""
    monkeypatch.setattr(probe, "INSPECTION_SCRIPT", inspection_script)
    monkeypatch.setattr(probe, "OUTPUT_STEPS", 2)
    monkeypatch.setattr(probe, "BODY_SIZES", probe.BODY_SIZES[:1])
