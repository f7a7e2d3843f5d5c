"""Fixtures of the tests in tests/unit and tests/plugins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from built_programs import built_once

from ioi_eval.integrations.runtime import close_all
from ioi_eval.model.retry import RetryRule
from support.command_line import write_package
from support.runs import extract_recorded_run


@pytest.fixture(scope="session")
def recorded_run(shared: Path) -> Path:
    """The example run with its report. All test processes share it and only read it."""
    return built_once(shared / "recorded", extract_recorded_run)


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    """Return a folder with the package `add`: two numbers, four tests, two subtasks of 40 and 60 points."""
    write_package(tmp_path / "problems" / "add")
    return tmp_path / "problems"


@pytest.fixture
def no_retry_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the waits of all retry rules to 0."""
    monkeypatch.setattr(RetryRule, "delay_s_after", lambda rule, attempt: 0.0)


@pytest.fixture(scope="session")
def empty_certificate_folder(own_folder: Path) -> Path:
    folder = own_folder / "no-authorities"
    folder.mkdir(exist_ok=True)  # tests of two folders have this fixture
    return folder


@pytest.fixture
def no_certificates(empty_certificate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give httpx an empty certificate folder. Reading all certificates for each client is slow."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(empty_certificate_folder))


@pytest.fixture
def closing_reward_runtimes(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the reward runtimes that a test opened when the test ends."""
    monkeypatch.setenv("IOI_EVAL_CACHE", str(shared_cache))
    yield
    close_all()
