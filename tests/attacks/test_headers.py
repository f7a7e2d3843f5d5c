"""Precompiled headers of others: a source can put nothing into one that another source is built with.

Each of these is built until nothing more is made ahead for it, and each begins almost as the victim does. Then
the victim is built, and must be the very program that it is where nothing was ever made ahead.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lent import LentHere, artifacts_on
from support.builds import plain_problem, submitted

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.contract import Built
from ioi_eval.judge.programs import Artifacts
from ioi_eval.model.job import Ended
from ioi_eval.models import BuildOptions, Job

pytestmark = pytest.mark.once

FEW = "#include <cstdio>\n#include <climits>\n"
BIG = "#include <bits/stdc++.h>\n"
_REST = 'int main() { std::printf("%d %d\\n", INT_MAX, int(sizeof(std::FILE*))); }\n'
# What each puts before, between or behind the includes. `!`: the includes of the victim.
HOSTILE = {
    "a macro before": "#define INT_MAX 1\n!",
    "a macro between": "#include <cstdio>\n#define __INT_MAX__ 1\n#include <climits>\n",
    "a macro behind": "!#undef INT_MAX\n#define INT_MAX 1\n",
    "a pragma": '#pragma pack(1)\n!#pragma GCC optimize("O0")\n',
    "a macro in a comment that goes on": "// \\\n\n#define INT_MAX 1\n!",
    "a macro that a comment hides": "/* */#define INT_MAX 1\n!",
    "digraphs": "%:define INT_MAX 1\n!",
    "lines that are joined": "#def\\\nine INT_MAX 1\n#inc\\\nlude <cstdio>\n#include <climits>\n",
    "another file's name": '#include "climits"\n#include <cstdio>\n#include <climits>\n',
    "a name that climbs": "#include <../include/limits.h>\n#include <cstdio>\n#include <climits>\n",
    "a name with an option": "#include <cstdio> -DINT_MAX=1\n#include <climits>\n",
    "the folder itself": '#include "ioi-eval-headers/included.hpp"\n!#define INT_MAX 1\n',
    "a compiled one": '#pragma GCC pch_preprocess "ioi-eval-headers/included.hpp.gch"\n!',
    "the early one": '!#pragma GCC pch_preprocess "ioi-eval-early/bits/stdc++.h.gch"\n',
    "the checker itself": '!#include "ioi-eval-early/early.so"\n',
    "more that is made early": "!#pragma ioi_eval early\nstruct Poisoned : std::vector<int> {};\n",
    "text of its own": "static int INT_MAX_ = 1;\n!namespace std { static int poisoned; }\n",
    "nothing": "!",
}
MOST = 8  # builds, after which all that can be made for a source is there


def hostile(name: str, begins: str, number: int) -> str:
    return HOSTILE[name].replace("!", begins) + f"static int number{number} = {number};\n" + _REST


class Counting(LentHere):
    """Counts what is made ahead."""

    ahead = 0

    async def run(self, job: Job) -> Ended:
        self.ahead += job.keep != ("submission",)
        return await super().run(job)


async def built(artifacts: Artifacts, source: str) -> Built | str:
    """The program, or the compiler's words where there is none; with all that is made ahead for the next."""
    made = await artifacts.submission(plain_problem(), submitted(source))
    while artifacts.engine.builds.busy:  # noqa: ASYNC110 - made in the background
        await asyncio.sleep(0.01)
    return made if isinstance(made, Built) else made.log


async def attack(artifacts: Artifacts, counting: Counting, begins: str) -> None:
    for name in HOSTILE:
        for number in range(MOST):
            before = counting.ahead
            await built(artifacts, hostile(name, begins, number))
            if counting.ahead == before:
                break
        else:
            pytest.fail(f"{name}: more is made ahead with each build")


@pytest.mark.long
@pytest.mark.parametrize("begins", [FEW, BIG], ids=["own includes", "the big header"])
async def test_nobody_puts_anything_into_a_header(tmp_path: Path, store: Store, begins: str) -> None:
    victim = begins + "int victim = 1;\n" + _REST
    programs = {}
    async with EmbeddedEngine(store=store, slots=2) as engine:
        for name, after in (("attacked", 0), ("alone", None)):
            counting, options = Counting(engine), BuildOptions(precompile_after=after)
            async with artifacts_on(counting, Store(tmp_path / name), options) as artifacts:
                if after is not None:
                    await attack(artifacts, counting, begins)
                made = await built(artifacts, victim)
                assert isinstance(made, Built) and not made.log, made
                programs[name] = made.artifact.sha256
            files = (tmp_path / name).rglob("artifact")
            kept = [path for path in files if path.read_bytes()[:4] == b"gpch"]
            assert bool(kept) is (after is not None), "headers are made for one of the two"
            assert len(kept) >= 3 or after is None or begins != BIG, "the usual one and the early one"
    assert programs["attacked"] == programs["alone"]
