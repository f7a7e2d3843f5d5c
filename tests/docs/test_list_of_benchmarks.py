"""The list of all benchmarks in docs/benchmarks.md."""

from __future__ import annotations

import re

from support.pages import ROOT

from ioi_eval.benchmarks import benchmarks
from ioi_eval.benchmarks.entries import ListedBenchmark

PAGE = (ROOT / "docs" / "benchmarks.md").read_text()


def test_benchmarks_page_lists_every_benchmark() -> None:
    rows = PAGE.partition("| name | dataset | judged by | languages |")[2].partition("\n\n")[0].splitlines()
    listed = {name: row for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1] if row else "")}
    own = [one for one in benchmarks() if not isinstance(one, ListedBenchmark)]
    assert listed.keys() == {one.name for one in own}
    for one in own:
        assert "Python" not in listed[one.name].split("|")[4] or one.language == "python", one.name
