"""Being here lets the tests import the modules beside this file."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def over_http(no_certificates: None) -> None:
    """Nothing here is asked over TLS."""
