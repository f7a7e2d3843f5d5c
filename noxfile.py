"""The tests that depend on Python's version, with every Python that we support: `pipx run nox`.

`-s tests-3.13` runs them with Python 3.13 only.
"""

from __future__ import annotations

import nox

# Folders of tests that may depend on the version of Python. All other checks are only run by ./scripts/test.
TESTS = ("tests/unit", "tests/docs", "tests/conformance")

nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13", "3.14", "3.15"])
def tests(session: nox.Session) -> None:
    session.install("--editable", ".[dev]")
    session.run(
        "pytest", "-q", "-n", "2", "--dist", "worksteal", "--tier", "gate", *(session.posargs or TESTS)
    )
