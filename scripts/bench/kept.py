"""What a worker gains by keeping what classic jobs compile: the jobs of a pipeline in use, over HTTP.

Such a pipeline sends a job for each test, with all sources in it. A part of the measure sends them as they
come; another brings the same scripts along, which a worker then runs as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import aiohttp
import msgspec
from workload import problem, submissions, write_tests

from ioi_eval import Store
from ioi_eval.classic import classic_job
from ioi_eval.engines.jobs.piston_api import decode_reply, encode_request
from ioi_eval.models import Problem, Submission
from ioi_eval.server import Server, ServerOptions, serve


def requests(task: Problem, work: list[Submission], tests: int, *, own_scripts: bool) -> list[bytes]:
    jobs = (
        classic_job(task, test, submission, runtime="ioi_eval" if own_scripts else "cms_ioi")
        for submission in work
        for test in task.tests[:tests]
    )
    # Only the language differs: the files `compile` and `run` are what the worker looks at.
    return [encode_request(msgspec.structs.replace(job, runtime="cms_ioi")) for job in jobs]


async def seconds(server: Server, bodies: list[bytes]) -> float:
    """For each request, with as many under way as a pipeline has."""
    async with aiohttp.ClientSession(server.url) as session:

        async def one(body: bytes) -> None:
            headers = {"Content-Type": "application/json"}
            async with room, session.post("/api/v2/execute", data=body, headers=headers) as reply:
                result = decode_reply(reply.status, await reply.read())
                assert result.run.stdout.strip() == "1", result

        room = asyncio.Semaphore(2 * server.slots)
        started = time.perf_counter()
        await asyncio.gather(*(one(body) for body in bodies))
        return (time.perf_counter() - started) / len(bodies)


async def measure(folder: Path, count: int, tests: int, plain_tests: int) -> None:
    write_tests(folder / "tests", tests)
    print(f"| {count} submissions x {tests} tests, a checker | tests/s | |\n|---|--:|--:|")
    async with serve(store=Store(folder / "store"), options=ServerOptions(port=0)) as server:
        task = problem(folder / "tests", tests, checker=True)
        work = list(submissions(count))
        plain = await seconds(server, requests(task, work[:1], plain_tests, own_scripts=True))
        kept = await seconds(server, requests(task, work, tests, own_scripts=False))
    print(f"| everything compiled for every test | {1 / plain:.1f} | 1 |")
    print(f"| kept between jobs, from an empty cache | {1 / kept:.1f} | {plain / kept:.0f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=5)
    parser.add_argument("--tests", type=int, default=40)
    parser.add_argument("--plain-tests", type=int, default=4, help="of one submission, where all is compiled")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(measure(Path(place), asked.submissions, asked.tests, asked.plain_tests))
