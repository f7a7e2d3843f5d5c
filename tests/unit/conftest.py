"""Being here lets the tests in this folder and below import the modules beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import built_once
from support.runs import recorded

from ioi_eval.model.retry import RetryRule


@pytest.fixture(scope="session")
def recorded_run(shared: Path) -> Path:
    """The run among the examples, with its report: one for the tests of all workers, who only read it."""
    return built_once(shared / "recorded", recorded)


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever is tried again be tried at once."""
    monkeypatch.setattr(RetryRule, "wait_after", lambda rule, attempt: 0.0)


@pytest.fixture(scope="session")
def no_authorities(own_folder: Path) -> Path:
    folder = own_folder / "no-authorities"
    folder.mkdir()
    return folder


@pytest.fixture
def nobody_certified(no_authorities: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let httpx trust nobody. It reads all certificates for each client, also for one that needs none."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(no_authorities))
