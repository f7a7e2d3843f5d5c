"""Fixtures of the generation tests. With this file the modules of this folder can be imported."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def over_http(no_certificates: None) -> None:
    """Skip loading TLS certificates, because no test here uses TLS."""
