"""The problems that an audit does not trust, and the numbers of a run without them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.text import format_count, visible
from ioi_eval.model.values import Value
from ioi_eval.reports.document import Section, TableBlock, format_number
from ioi_eval.reports.headline import NO_NAME, format_percent_or_dash
from ioi_eval.reports.records import HeadlineRow, Measure, Summary

TRUST = "trust.json"  # name of the file in a run's folder


class Trust(Value):
    """The content of trust.json: the problems that an audit does not trust."""

    audit: str  # path of the audit's file, as on the command line
    sha256: str  # hash of the audit's file
    problems: Mapping[str, str]  # reasons why problems are not trusted, by problem


class _AuditFile(msgspec.Struct):
    """The part of an audit's file that a run uses."""

    untrusted: dict[str, str]


def read_trust_from_audit(audit_file: str | Path) -> Trust:
    """Return the problems that an audit does not trust. Raise InputError if the file is not an audit's."""
    remedy = "Name the audit.json that `ioi-eval audit` wrote"
    try:
        content = Path(audit_file).read_bytes()
        audit = msgspec.json.decode(content, type=_AuditFile)
    except OSError as error:
        raise InputError(
            f"the audit file cannot be read ({error.strerror})", where=str(audit_file), remedy=remedy
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(
            f"the file is not an audit: {error}", where=str(audit_file), remedy=remedy
        ) from error
    return Trust(audit=str(audit_file), sha256=hashlib.sha256(content).hexdigest(), problems=audit.untrusted)


def make_trusted_headline_sentence(run: Summary) -> str:
    """Return a sentence with each model's headline over all problems and over trusted problems."""
    trust = run.trust
    if trust is None:
        return ""
    if not trust.problems:
        return f"{trust.audit} trusts all problems of this run."
    trusted_rows = {row.model: row for row in trust.headline.models}
    numbers = "; ".join(
        f"{visible(row.model or NO_NAME)}"
        f" {_format_value(trusted_rows.get(row.model), trust.headline.measure)}"
        f" (all problems: {_format_value(row, run.headline.measure)})"
        for row in run.headline.models
    )
    excluded_phrase = format_count(len(trust.problems), "problem")
    return (
        f"{run.headline.measure.value} without {excluded_phrase} that {trust.audit} does not trust:"
        f" {numbers}."
    )


def make_trusted_problems_section(run: Summary) -> Section | None:
    """Return the headlines over all and over trusted problems, and a table of the untrusted problems."""
    if (trust := run.trust) is None:
        return None
    return Section(
        title="Trusted problems",
        text=[make_trusted_headline_sentence(run)],
        table=TableBlock(
            heads=["Problem", "Not trusted because"],
            rows=[[name, reason] for name, reason in sorted(trust.problems.items())],
            align="ll",
        )
        if trust.problems
        else None,
        notes=[f"The audit has the SHA-256 {trust.sha256}."],
    )


def _format_value(row: HeadlineRow | None, measure: Measure) -> str:
    value = None if row is None else row.value
    return format_percent_or_dash(value) if measure is Measure.PASS_AT_1 else format_number(value)
