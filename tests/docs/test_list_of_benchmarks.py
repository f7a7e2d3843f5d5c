"""The benchmarks that docs/benchmarks.md names in its first table."""

from __future__ import annotations

import re

from support.pages import ROOT

from ioi_eval.benchmarks import benchmarks


def test_benchmarks_named_on_benchmarks_page_exist() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    rows = page.partition("| name | dataset | judged by | languages |")[2].partition("\n\n")[0].splitlines()
    named = {name for row in rows if row for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named
    assert named - {benchmark.name for benchmark in benchmarks()} == set()
