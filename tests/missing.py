"""What a test needs and a machine may lack."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest
from support.engines import find_language
from support.once import toolchains_once

# No machine is asked to have their toolchains, not even where CI runs the tests.
_SELDOM = {"pascal", "haskell", "javascript", "kotlin", "c#"}


def lacks(what: str) -> NoReturn:
    """Skip the test. Where CI runs it, fail: what nobody installed there would be tested by nobody."""
    if os.environ.get("CI", "").lower() in ("", "0", "false"):
        pytest.skip(what, allow_module_level=True)
    pytest.fail(f"missing in CI: {what}", pytrace=False)


def needs(name: str) -> None:
    """Skip the test where boxes see no toolchain of a language, or fail, as `lacks` does."""
    language = find_language(name)
    for tool in language.tools:
        if tool not in toolchains_once():
            say = pytest.skip if language.name in _SELDOM else lacks
            say(f"there is no {tool} that boxes can see: {language.remedy}")
