"""A fixture for tests of contests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def over_http(no_certificates: None) -> None:
    """Skip loading TLS certificates, because no test here uses TLS."""
