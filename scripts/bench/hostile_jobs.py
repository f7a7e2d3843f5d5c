"""See scripts/bench/hostile."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from ground import prepared
from hostile import QUICK, hostile, normal

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store

_TIMES = 15  # that the normal submission is judged, before and after


async def run(jobs: int, workshop: Path) -> int:
    store = Store(workshop / "store")
    options = JudgeOptions(all_tests=True)
    with prepared(workshop) as ground:
        async with Scorer(EmbeddedEngine(store=store, slots=1), store=store, options=options) as scorer:
            await normal(scorer, 2)
            before = await normal(scorer, _TIMES)
            start = time.monotonic()
            wrong = await hostile(scorer, ground, jobs)
            seconds = time.monotonic() - start
            after = await normal(scorer, _TIMES)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{jobs} jobs, {len(QUICK)} different attacks, {seconds:.0f} s; not as they must be: {len(wrong)}")
    print(f"points before {before.points:.0%}, after {after.points:.0%}")
    print(f"judged in {before.wall:.3f} s before, {after.wall:.3f} s after: {after.wall / before.wall:.2f}")
    print(f"its CPU time {before.cpu:.3f} s before, {after.cpu:.3f} s after: {after.cpu / before.cpu:.2f}")
    return 1 if wrong or after.points != before.points else 0


def main() -> int:
    workshop = Path(tempfile.mkdtemp(prefix="ioi-eval-hostile-", dir="/dev/shm"))
    workshop.chmod(0o711)
    try:
        return asyncio.run(run(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, workshop))
    finally:
        shutil.rmtree(workshop)


if __name__ == "__main__":
    sys.exit(main())
