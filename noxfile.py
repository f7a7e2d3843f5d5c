"""The suite on every Python that we support: `pipx run nox`, for one of them with `-s tests-3.13`."""

from __future__ import annotations

import nox

# What does not depend on Python's version runs in ./scripts/test alone.
TESTS = ("tests/unit", "tests/docs", "tests/conformance")

nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13", "3.14", "3.15"])
def tests(session: nox.Session) -> None:
    session.install("--editable", ".[dev]")
    session.run(
        "pytest", "-q", "-n", "2", "--dist", "worksteal", "--tier", "gate", *(session.posargs or TESTS)
    )
