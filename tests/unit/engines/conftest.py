"""Fixtures of the engines' tests. With this file `engine_helpers` can be imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_helpers import folder_for_boxes


@pytest.fixture
def base() -> Iterator[Path]:
    with folder_for_boxes() as folder:
        yield folder
