"""Prints the table of tools/release/kernels: a row for each kernel, user and mixture of layers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

_HEAD = """| Linux | user | layers | what the report says | missing | attempts | successful | other verdicts |
|---|---|---|---|---|--:|--:|--:|"""


def main(folder: Path) -> int:
    files = {path: path.read_bytes() for path in sorted(folder.glob("*/*.json"))}
    wholes = [msgspec.json.decode(content) for content in files.values() if content]
    unfinished = [
        f"{path} is empty: see the guest's messages next to it"
        for path, content in files.items()
        if not content
    ]
    print(_HEAD)
    for whole in sorted(wholes, key=_parse_version):
        print(*_format_rows(whole), sep="\n")
    faults = [*unfinished, *(fault for whole in wholes for fault in _list_faults(whole))]
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


def _parse_version(whole: dict[str, Any]) -> list[int]:
    return [int(number) for number in whole["kernel"].partition("-")[0].partition("+")[0].split(".")]


def _format_rows(whole: dict[str, Any]) -> Iterator[str]:
    report = whole["report"]
    confinement = (
        f"Landlock {report['landlock']}, {len(report['namespaces'])} namespaces, /proc {report['proc']}"
    )
    for name, outcomes in whole["mixtures"].items():
        faults = [fault for all_found in outcomes.values() for fault in map(_find_fault, all_found)]
        won = sum(has_succeeded(fault) for fault in faults)
        unexpected = sum(bool(fault) for fault in faults) - won
        cells = (whole["kernel"], whole["user"], name, confinement, "; ".join(report["missing"]) or "nothing")
        yield f"| {' | '.join(cells)} | {len(faults)} | {won} | {unexpected} |"


def _find_fault(outcome: dict[str, Any]) -> str:
    return str(outcome["fault"])


def has_succeeded(fault: str) -> bool:
    """Return whether the attack succeeded. An unexpected verdict is not a success."""
    return bool(fault) and (not fault.startswith("a verdict of") or "it got points" in fault)


def _list_faults(whole: dict[str, Any]) -> Iterator[str]:
    for mixture, outcomes in whole["mixtures"].items():
        for attack, all_found in outcomes.items():
            for fault in map(_find_fault, all_found):
                if fault:
                    yield f"{whole['kernel']}, {whole['user']}, {mixture}: {attack}: {fault}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
