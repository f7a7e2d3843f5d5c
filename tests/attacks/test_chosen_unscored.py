"""Submissions that try to be unscored by their own text: each gets a verdict, here and on a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.servers import Fixed

from ioi_eval import EmbeddedEngine, PistonEngine, Scorer, Store
from ioi_eval.models import Blob, Checker, CheckerKind, Limits, NamedBlob, Problem, Submission, Test, Verdict
from ioi_eval.server import Server, ServerOptions

PROBLEM = Problem(
    id="echo",
    limits=Limits.contest(2.0, 256 << 20),
    checker=Checker(kind=CheckerKind.STRIPPED),
    tests=(Test(name="1", input=Blob.of("7\n"), answer=Blob.of("7\n")),),
)
ECHO = '#include <cstdio>\nint main() { int n; std::scanf("%d", &n); std::printf("%d\\n", n); }\n'
# A table that no server can compress, of 12 MB.
NOISE = """
struct Noise { unsigned long a[1500000]; };
constexpr Noise noise() { Noise made{}; unsigned long x = 88172645463325252ul;
  for (auto& one : made.a) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; one = x; } return made; }
extern const Noise made; constinit const Noise made = noise();
"""
PYTHON = {
    "an import behind the end": "raise SystemExit(1)\nimport z3\n",
    "an import of what is missing": "import ortools, z3, cvxpy, shapely\nprint(input())\n",
    "an error that names a package": "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n",
    "blocks in blocks": "".join(f"{' ' * n}try:\n" for n in range(19))
    + f"{' ' * 19}pass\n"
    + "".join(f"{' ' * n}finally: pass\n" for n in reversed(range(19))),
}
NAMES = {
    "a name that is too long": ("b" * 300 + ".h",),
    "a name with a zero": ("b\0.h",),
    "a name twice": ("b.h", "b.h"),
    "a file and a folder": ("b", "b/c.h"),
    "a name above": ("../b.h",),
}


@pytest.fixture(scope="module")
def cache(shared_cache: Path) -> Store:
    return Store(shared_cache)


@pytest.fixture(params=["here", pytest.param("a worker", marks=pytest.mark.long)])
async def scorer(request: pytest.FixtureRequest, cache: Store, tmp_path: Path) -> AsyncIterator[Scorer]:
    engine = EmbeddedEngine(store=cache, slots=1)
    if request.param == "here":
        async with Scorer(engine, store=cache) as opened:
            yield opened
        return
    async with (
        engine,
        Server(engine, ServerOptions(port=0)) as server,
        Scorer(PistonEngine(Fixed([server.url])), store=Store(tmp_path / "store")) as opened,
    ):
        yield opened


async def verdict(scorer: Scorer, code: str, language: str, *names: str) -> Verdict:
    files = tuple(NamedBlob(name=name, content=Blob.of("//\n")) for name in names)
    own = Submission(key="k", problem_id="echo", code=code, language=language, files=files)
    (test,) = (await scorer.score(PROBLEM, own)).tests
    return test.status


async def test_none_is_unscored(scorer: Scorer) -> None:
    """On one engine after the other: a worker is probed once."""
    for name, code in PYTHON.items():
        assert await verdict(scorer, code, "python") in (Verdict.RE, Verdict.CE, Verdict.WA), name
    for name, names in NAMES.items():
        assert await verdict(scorer, ECHO, "c++", *names) is Verdict.CE, name
    # It runs where it fits a request, or is refused: it is scored either way.
    assert await verdict(scorer, NOISE + ECHO, "c++") in (Verdict.AC, Verdict.CE)
