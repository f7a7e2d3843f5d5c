"""Probes: an audit judges solutions on changed problems to find out why they were rejected or accepted."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ioi_eval import Problem, Scorer, Submission, SubmissionResult
from ioi_eval.models import Value
from ioi_eval.sources import problem_digest


class ProbeRecord(Value):
    """A line of the file of probes."""

    probe: str  # hash of the probe's problem and program
    result: SubmissionResult


class ProbeRunner:
    """Judges each probe once, and stores the results in a file for the next call."""

    def __init__(self, scorer: Scorer, path: Path, *, discard_earlier_results: bool) -> None:
        """`path`: the file of results. `discard_earlier_results`: discard the results of earlier calls."""
        self._scorer, self._path = scorer, path
        if discard_earlier_results:
            path.unlink(missing_ok=True)
        self._results = dict(_read_stored_results(path))

    @property
    def slots(self) -> int:
        """Return the number of jobs that run at the same time."""
        return self._scorer.slots

    async def score(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """Return the result of a submission, from an earlier probe if possible.

        Raises JudgeFailure if it cannot be judged; the next call tries again.
        """
        probe_hash = _hash_probe(problem, submission)
        if probe_hash not in self._results:
            result = await self._scorer.score(problem, submission)
            line = msgspec.json.encode(ProbeRecord(probe=probe_hash, result=result)) + b"\n"
            with self._path.open("ab") as file:
                file.write(line)
            self._results[probe_hash] = result
        return self._results[probe_hash]


def _read_stored_results(path: Path) -> Iterator[tuple[str, SubmissionResult]]:
    """Yield the results of earlier probes in a file, with their hashes. Remove an incomplete last line."""
    content = path.read_bytes() if path.exists() else b""
    complete_size = content.rfind(b"\n") + 1
    if complete_size < len(content):
        os.truncate(path, complete_size)
    decoder = msgspec.json.Decoder(ProbeRecord)
    for line in content[:complete_size].splitlines():
        record = decoder.decode(line)
        yield record.probe, record.result


def _hash_probe(problem: Problem, submission: Submission) -> str:
    """Return a hash of everything that the result of a probe depends on."""
    files = [(file.name, file.content.sha256) for file in (*submission.outputs, *submission.files)]
    code = None if submission.code is None else submission.code.encode(errors="surrogatepass")
    hashed_values = [problem_digest(problem), submission.language, code, files]
    return hashlib.sha256(msgspec.json.encode(hashed_values)).hexdigest()
