"""The list of all benchmarks in docs/benchmarks.md."""

from __future__ import annotations

import re

from support.pages import ROOT

from ioi_eval.benchmarks import benchmarks
from ioi_eval.benchmarks.entries import BenchmarkFromEntry

PAGE = (ROOT / "docs" / "benchmarks.md").read_text()


def test_benchmarks_page_lists_every_benchmark() -> None:
    rows = PAGE.partition("| name | dataset | judged by | languages |")[2].partition("\n\n")[0].splitlines()
    listed = {name: row for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1] if row else "")}
    unlisted = [benchmark for benchmark in benchmarks() if not isinstance(benchmark, BenchmarkFromEntry)]
    assert listed.keys() == {benchmark.name for benchmark in unlisted}
    for benchmark in unlisted:
        assert "Python" not in listed[benchmark.name].split("|")[4] or benchmark.language == "python", (
            benchmark.name
        )
