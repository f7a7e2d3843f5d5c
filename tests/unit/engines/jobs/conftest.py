"""Fixtures for tests of builds."""

from __future__ import annotations

import pytest
from support.builds import LITTLE


@pytest.fixture
def little(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A little header in place of the big one, which compilers find before their own."""
    header = tmp_path_factory.mktemp("little") / "bits" / "stdc++.h"
    header.parent.mkdir()
    header.write_text(LITTLE)
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(header.parents[1]))
