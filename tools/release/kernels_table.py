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
    contents_by_path = {path: path.read_bytes() for path in sorted(folder.glob("*/*.json"))}
    documents = [msgspec.json.decode(content) for content in contents_by_path.values() if content]
    unfinished_messages = [
        f"{path} is empty: see the guest's messages next to it"
        for path, content in contents_by_path.items()
        if not content
    ]
    print(_HEAD)
    for document in sorted(documents, key=_parse_version):
        print(*_format_rows(document), sep="\n")
    faults = [*unfinished_messages, *(fault for document in documents for fault in _list_faults(document))]
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


def _parse_version(document: dict[str, Any]) -> list[int]:
    return [int(number) for number in document["kernel"].partition("-")[0].partition("+")[0].split(".")]


def _format_rows(document: dict[str, Any]) -> Iterator[str]:
    report = document["report"]
    confinement = (
        f"Landlock {report['landlock']}, {len(report['namespaces'])} namespaces, /proc {report['proc']}"
    )
    for name, outcomes in document["mixtures"].items():
        faults = [
            fault for attack_outcomes in outcomes.values() for fault in map(_read_fault, attack_outcomes)
        ]
        success_count = sum(is_successful_attack(fault) for fault in faults)
        unexpected_count = sum(bool(fault) for fault in faults) - success_count
        cells = (
            document["kernel"],
            document["user"],
            name,
            confinement,
            "; ".join(report["missing"]) or "nothing",
        )
        yield f"| {' | '.join(cells)} | {len(faults)} | {success_count} | {unexpected_count} |"


def _read_fault(outcome: dict[str, Any]) -> str:
    return str(outcome["fault"])


def is_successful_attack(fault: str) -> bool:
    """Return True if the attack succeeded. An unexpected verdict is not a success."""
    return bool(fault) and (not fault.startswith("a verdict of") or "it got points" in fault)


def _list_faults(document: dict[str, Any]) -> Iterator[str]:
    for mixture, outcomes in document["mixtures"].items():
        for attack, attack_outcomes in outcomes.items():
            for fault in map(_read_fault, attack_outcomes):
                if fault:
                    yield f"{document['kernel']}, {document['user']}, {mixture}: {attack}: {fault}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
