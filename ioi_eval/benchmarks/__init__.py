"""Dumps of generations: from files to submissions."""

from __future__ import annotations

from ioi_eval.benchmarks.dumps import (
    Dump,
    DumpFile,
    DumpInfo,
    DumpOptions,
    Finder,
    Selection,
    check_dump,
    open_dump,
    read_dump,
)

__all__ = [
    "Dump",
    "DumpFile",
    "DumpInfo",
    "DumpOptions",
    "Finder",
    "Selection",
    "check_dump",
    "open_dump",
    "read_dump",
]
