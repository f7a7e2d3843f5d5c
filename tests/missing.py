"""What a test needs and a machine may lack."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacks(what: str) -> NoReturn:
    """Skip the test. Where CI runs it, fail: what nobody installed there would be tested by nobody."""
    if os.environ.get("CI", "").lower() in ("", "0", "false"):
        pytest.skip(what, allow_module_level=True)
    pytest.fail(f"missing in CI: {what}", pytrace=False)
