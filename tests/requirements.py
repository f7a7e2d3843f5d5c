"""Skips tests whose requirements a machine does not have."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest
from support.cached_lookups import cached_toolchains
from support.engines import find_language

# Languages whose toolchains are optional even in CI.
_SELDOM = {"pascal", "haskell", "javascript", "kotlin", "c#"}


def skip_or_fail_in_ci(what: str) -> NoReturn:
    """Skip the test for this reason. In CI, fail: a requirement missing there would never be tested."""
    if os.environ.get("CI", "").lower() in ("", "0", "false"):
        pytest.skip(what, allow_module_level=True)
    pytest.fail(f"missing in CI: {what}", pytrace=False)


def require_language(name: str) -> None:
    """Skip the test if sandboxes see no toolchain of this language. In CI, fail."""
    language = find_language(name)
    for tool in language.tools:
        if tool not in cached_toolchains():
            skip = pytest.skip if language.name in _SELDOM else skip_or_fail_in_ci
            skip(f"missing in sandboxes: {tool}; {language.remedy}")
