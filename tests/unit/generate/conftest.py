"""Being here lets the tests import the modules beside this file."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def over_http(nobody_certified: None) -> None:
    """Nothing here is asked over TLS."""
