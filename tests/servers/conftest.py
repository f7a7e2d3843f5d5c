"""Real Piston servers, started by scripts/real_servers: pytest tests/servers --real KIND=URL ..."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--real", metavar="KIND=URL", action="append", help="a real Piston: raised, old or stock"
    )


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Without servers there is nothing here."""
    return None if config.getoption("--real", default=None) else True


@pytest.fixture(scope="session")
def real(request: pytest.FixtureRequest) -> dict[str, str]:
    """The URLs of servers, by kind."""
    return dict(each.split("=", 1) for each in request.config.getoption("--real"))


@pytest.fixture
def cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(folder=tmp_path, cache=shared_cache)
