"""Dumps of generations: from files to submissions."""

from __future__ import annotations

from ioi_eval.benchmarks.dumps import (
    Dump,
    DumpFile,
    DumpInfo,
    DumpOptions,
    Finder,
    Located,
    Selection,
    check_dump,
    open_dump,
    read_dump,
)
from ioi_eval.benchmarks.official import Official, read_official

__all__ = [
    "Dump",
    "DumpFile",
    "DumpInfo",
    "DumpOptions",
    "Finder",
    "Located",
    "Official",
    "Selection",
    "check_dump",
    "open_dump",
    "read_dump",
    "read_official",
]
