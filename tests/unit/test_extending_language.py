"""The language of docs/extending.md is judged as shown."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from requirements import skip_or_fail_in_ci
from support.cached_lookups import cached_toolchains

from ioi_eval import EmbeddedEngine, JudgeFailure, Scorer, Store, Submission
from ioi_eval.engines.embedded import toolchains
from ioi_eval.model import languages
from ioi_eval.models import Blob, Limits, Problem, Test, Verdict
from ioi_eval.rules.extraction import extract

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
LIMITS = Limits(cpu_time=0.2, wall_time=20.0, memory=256 << 20)
PROBLEM = Problem(
    id="sum", limits=LIMITS, tests=(Test(name="1", input=Blob.of("1 2\n"), answer=Blob.of("3\n")),)
)
RIGHT = 'my ($a, $b) = split " ", <STDIN>;\nprint $a + $b, "\\n";\n'


@pytest.fixture
def perl(monkeypatch: pytest.MonkeyPatch) -> Iterator[languages.Language]:
    section = PAGE.read_text().partition("## A language\n")[2].partition("\n## ")[0]
    namespace: dict[str, languages.Language] = {}
    exec(section.partition("```python\n")[2].partition("```")[0], {"Language": languages.Language}, namespace)
    for module in (languages, toolchains):
        monkeypatch.setattr(module, "LANGUAGES", (*languages.LANGUAGES, namespace["PERL"]))
    original_search = toolchains.find_toolchains
    monkeypatch.setattr(
        "ioi_eval.engines.embedded.engine.find_toolchains",
        lambda python="", *promised_packages: original_search(python, *promised_packages),
    )
    languages.match_language_name.cache_clear()
    yield namespace["PERL"]
    languages.match_language_name.cache_clear()


async def test_program_in_added_language_is_judged(perl: languages.Language, store: Store) -> None:
    if shutil.which("perl", path="/usr/bin:/bin") is None:
        skip_or_fail_in_ci("without perl")
    assert extract(f"So:\n```perl\n{RIGHT}```\n", perl) == RIGHT
    programs = {
        RIGHT: Verdict.AC,
        "print 4": Verdict.WA,
        "die": Verdict.RE,
        "print (": Verdict.CE,
        "1 while 1": Verdict.TLE,
    }
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        for code, verdict in programs.items():
            sent = Submission(key="1", problem_id="sum", code=code, language="Perl 5")
            assert (await scorer.score(PROBLEM, sent)).tests[0].status is verdict


async def test_language_missing_on_machine_is_judge_failure(
    perl: languages.Language, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    remaining_tools = {name: tool for name, tool in cached_toolchains().items() if name != perl.command}
    monkeypatch.setattr("ioi_eval.engines.embedded.engine.find_toolchains", lambda *_: remaining_tools)
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        with pytest.raises(JudgeFailure, match="apt-get install perl"):
            await scorer.score(PROBLEM, Submission(key="1", problem_id="sum", code=RIGHT, language="pl"))
