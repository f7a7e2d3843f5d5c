"""A token is in nothing that others may read: output, log, report, journal, cache, list of processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import leftovers
from cli_helpers import RIGHT, CommandLine, results, row, write_dump
from test_cli_worker import working

TOKEN = "t0ken-9b6c2f51d7"
# Tells all it can find, in words that become feedback.
CURIOUS = """import os, sys
sys.stderr.write(repr(dict(os.environ)) + " ".join(sys.argv))
sys.exit(1)
"""


@contextmanager
def watched(found: list[str]) -> Iterator[None]:
    """Collects what a list of processes shows of all that we have started."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            found.extend(leftovers.command_lines())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def test_a_token_is_nowhere_to_be_seen(cli: CommandLine, problems: Path, tmp_path: Path) -> None:
    """The worker has it from a file, its client from the environment."""
    (tmp_path / "secret").write_text(TOKEN + "\n")
    client, other = (replace(cli, environment={"IOI_EVAL_TOKEN": text}) for text in (TOKEN, "another"))
    from_file = ("--token-file", tmp_path / "secret")
    rows = [row("a", RIGHT), row("b", CURIOUS, language="python")]
    dump = write_dump(tmp_path / "dump.jsonl", rows)
    shown: list[str] = []
    with watched(shown), working(cli, *from_file) as (worker, port):
        url = f"http://127.0.0.1:{port}"
        scored = client("score", dump, "--problems", problems, "--out", "run", "--engine", url)
        looked = cli("doctor", "--engine", url, *from_file)
        without = other("score", dump, "--problems", problems, "--out", "refused", "--engine", url)
        worker.terminate()
        told = "".join(worker.communicate())
    assert scored.returncode == 0, scored.stderr
    assert results(tmp_path / "run").keys() == {"a", "b"}
    assert without.returncode != 0, "it was the token that opened the door"
    assert "not this worker's token. Put the token that" in without.stderr
    assert any("worker" in line for line in shown), "somebody has looked"
    said = [shown, told, scored.stdout, scored.stderr, looked.stdout, looked.stderr, without.stderr]
    assert TOKEN not in repr(said)
    for folder in (tmp_path, cli.cache):
        files = (path for path in folder.rglob("*") if path.is_file() and path.name != "secret")
        assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
